-- x.f() of a parameter of a macro.
CREATE MACRO loud(s) AS s.upper();
CREATE MACRO both(s) AS s.upper().lower() || s.left(1);
CREATE MACRO first_of(t) AS TABLE SELECT a.lower() AS a FROM query_table(t) LIMIT 1;
SELECT loud('a'), both('Ab'), loud(x) FROM (VALUES ('q')) AS v(x);
-- 'A' | 'abA' | 'Q'
CREATE TABLE word AS SELECT 'Ada' AS a;
FROM first_of('word');
-- 'ada'
SELECT json_exists('{"a": [{"b": 1}, {"c": 2}]}', '$.a[*].b') AS some, json_exists('{"a": [{"b": 1}, {"c": 2}]}', '$.a[*].z') AS none, json_exists(NULL, '$.*') AS nothing;
-- [True] | [] | NULL
FROM query_table('nothing.csv');
-- error: OperationalError: file 'nothing.csv' does not exist
FROM query_table('no/thing');
-- error: ProgrammingError: file 'no/thing' has no extension; the format may be flat, parquet, csv, tbl, json, arrow or xlsx, by the extension (line 1, column 18)
