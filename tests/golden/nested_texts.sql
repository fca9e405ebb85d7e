-- Lists, structs and maps read from text.
SELECT '[[1, 2], NULL, [NULL, 4]]'::INT[][], '[]'::INT[][], '[[]]'::INT[][], '{{1},{2,3}}'::INT[][];
-- [[1, 2], None, [None, 4]] | [] | [[]] | [[1], [2, 3]]
SELECT '[a, ''b, c'', "d", NULL, ''NULL'', "it''s"]'::VARCHAR[], '[''it''''s'', ''it\''s'', a\,b]'::VARCHAR[];
-- ['a', 'b, c', 'd', None, 'NULL', "it's"] | ["it's", "it's", 'a\\', 'b']
SELECT '{''a'': 1, b: x}'::STRUCT(a INT, b VARCHAR), '{B: [1, 2]}'::STRUCT(a INT, b INT[]), '(1, "x, y")'::STRUCT(a INT, b VARCHAR);
-- {'a': 1, 'b': 'x'} | {'a': None, 'b': [1, 2]} | {'a': 1, 'b': 'x, y'}
SELECT '{a: 10:37:00, b: {c: 2026-05-17}}'::STRUCT(a TIME, b STRUCT(c DATE));
-- {'a': datetime.time(10, 37), 'b': {'c': datetime.date(2026, 5, 17)}}
SELECT '{k=1, ''l, m''=NULL}'::MAP(VARCHAR, INT), '{}'::MAP(INT, INT), '{[1]={2=3}}'::MAP(INT[], MAP(INT, INT));
-- {'k': 1, 'l, m': None} | {} | [([1], {2: 3})]
SELECT '[[1, 2], [3]]'::INT[2][];
-- error: DataError: '[[1, 2], [3]]' is not a valid INTEGER[2][] (line 1, column 8)
SELECT '{z: 1}'::STRUCT(a INT);
-- error: DataError: '{z: 1}' is not a valid STRUCT(a INTEGER) (line 1, column 8)
SELECT '{a: 1, a: 2}'::STRUCT(a INT);
-- error: DataError: '{a: 1, a: 2}' is not a valid STRUCT(a INTEGER) (line 1, column 8)
SELECT '(1, 2)'::STRUCT(a INT);
-- error: DataError: '(1, 2)' is not a valid STRUCT(a INTEGER) (line 1, column 8)
SELECT '{a: 1'::STRUCT(a INT);
-- error: DataError: '{a: 1' is not a valid STRUCT(a INTEGER) (line 1, column 8)
SELECT '[1,,2]'::INT[];
-- error: DataError: '[1,,2]' is not a valid INTEGER[] (line 1, column 8)
SELECT '[(]'::VARCHAR[];
-- error: DataError: '[(]' is not a valid VARCHAR[] (line 1, column 8)
SELECT '[it''s]'::VARCHAR[];
-- error: DataError: '[it's]' is not a valid VARCHAR[] (line 1, column 8)
SELECT '{1}'::MAP(INT, INT);
-- error: DataError: '{1}' is not a valid MAP(INTEGER, INTEGER) (line 1, column 8)
SELECT '{NULL=1}'::MAP(INT, INT);
-- error: DataError: '{NULL=1}' is not a valid MAP(INTEGER, INTEGER) (line 1, column 8)
SELECT TRY_CAST('[[1], [x]]' AS INT[][]), TRY_CAST('{a: x}' AS STRUCT(a INT)), TRY_CAST('x' AS MAP(INT, INT));
-- NULL | NULL | NULL
CREATE TABLE t (l VARCHAR[], s STRUCT(a VARCHAR, b DOUBLE[])[], m MAP(VARCHAR, DATE));
INSERT INTO t VALUES (['a,b', 'c', NULL, 'it''s', '', ' x', 'NULL', '[', '"'], [{'a': 'x: y', 'b': [1.5, NULL]}, NULL], MAP {'k=1': DATE '2026-05-17'}), (NULL, NULL, NULL), ([], [], MAP {});
SELECT l::VARCHAR::VARCHAR[] IS NOT DISTINCT FROM l, s::VARCHAR::STRUCT(a VARCHAR, b DOUBLE[])[] IS NOT DISTINCT FROM s, m::VARCHAR::MAP(VARCHAR, DATE) IS NOT DISTINCT FROM m FROM t;
-- true | true | true
-- true | true | true
-- true | true | true
