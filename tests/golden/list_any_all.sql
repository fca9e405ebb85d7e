-- ANY, SOME and ALL of a list, as in PostgreSQL and DuckDB.
SELECT 1 = ANY ([1, 2]), 3 = ANY (ARRAY[1, 2]), 1 = SOME ([1]), 1 < ANY ([0, 3]), 5 <= ANY ([1, 2]);
-- true | false | true | true | false
SELECT 1 <> ALL ([2, 3]), 1 <> ALL ([1, 3]), 1 < ALL ([2, 3]), 1 = ALL ([1, 1]), 2 >= ALL ([1, 3]);
-- true | false | true | true | false
SELECT NOT 1 = ANY ([1]), 1.5 = ANY ([1, 2]), '1' = ANY ([1]), 1 = ANY ([1, '2']), 'a' = ANY (['a', 'b']);
-- false | false | true | true | true

-- NULL: ANY is true where one comparison is, ALL is false where one is, and NULL else.
SELECT 3 = ANY ([1, NULL]), 1 = ANY ([1, NULL]), NULL = ANY ([1]), 1 <> ALL ([2, NULL]), 1 <> ALL ([1, NULL]);
-- NULL | true | NULL | NULL | false

-- Of an empty list ANY is false and ALL is true, of NULL too.
SELECT 1 = ANY ([]), NULL = ANY ([]), 1 <> ALL ([]), 1 > ALL ([]);
-- false | false | true | true

-- A NULL for the list gives NULL, as in PostgreSQL; in DuckDB it is an empty list.
SELECT 1 = ANY (NULL), 1 = ANY (NULL::INTEGER[]), 1 <> ALL (NULL::INTEGER[]);
-- NULL | NULL | NULL

CREATE TABLE t (x INTEGER, l INTEGER[], w VARCHAR, ws VARCHAR[], d DOUBLE, ds DOUBLE[]);
INSERT INTO t VALUES (1, [1, 2], 'a', ['a'], 'NaN', [1, 'NaN'::DOUBLE]), (2, [3], 'b', [NULL, 'c'], 0.0, [-0.0]),
    (NULL, [1], NULL, ['x'], 1, []), (4, NULL, 'd', NULL, NULL, [1]), (5, [], 'e', [], 2, [NULL]);

-- Lists of the rows.
SELECT x, x = ANY (l), x <> ALL (l), x < ANY (l), x <= ALL (l) FROM t ORDER BY x NULLS LAST;
-- 1 | true | false | true | true
-- 2 | false | true | true | true
-- 4 | NULL | NULL | NULL | NULL
-- 5 | false | true | false | true
-- NULL | NULL | NULL | NULL | NULL
SELECT w, w = ANY (ws), w <> ALL (ws), w > ANY (ws), w <= ALL (ws) FROM t ORDER BY w NULLS LAST;
-- 'a' | true | false | false | true
-- 'b' | NULL | NULL | NULL | NULL
-- 'd' | NULL | NULL | NULL | NULL
-- 'e' | false | true | false | true
-- NULL | NULL | NULL | NULL | NULL
SELECT x, d = ANY (ds), d >= ALL (ds) FROM t ORDER BY x NULLS LAST;
-- 1 | true | true
-- 2 | true | true
-- 4 | NULL | NULL
-- 5 | NULL | NULL
-- NULL | false | true
SELECT x FROM t WHERE x = ANY (l) OR 3 = ANY (l);
-- 1
-- 2
SELECT x FROM t WHERE x = ANY ([x + 1, 5, NULL]) ORDER BY x;
-- 5
SELECT count(*) FILTER (WHERE 1 = ANY (l)), bool_or(x = ANY (l)) FROM t;
-- 2 | true
SELECT a.x, b.x FROM t a JOIN t b ON a.x = ANY (b.l) ORDER BY ALL;
-- 1 | 1
-- 1 | NULL
-- 2 | 1
SELECT x FROM t WHERE x IN (1, 4) AND x <> ALL ([4]);
-- 1
SELECT x FROM t WHERE l = ANY ([[1, 2], [3]]) ORDER BY x;
-- 1
-- 2
SELECT DATE '2026-01-02' = ANY (['2026-01-02', '2026-01-03']), 2::SMALLINT = ANY ([1, 2]::BIGINT[]);
-- true | true

-- A query is a list of rows; cast, it is the list of its one row.
SELECT 1 = ANY (SELECT 1), 1 = ANY ((SELECT [1, 2])::INTEGER[]), x = ANY ((SELECT l FROM t WHERE x = 1)::INTEGER[]) FROM t WHERE x < 5 ORDER BY x;
-- true | true | true
-- true | true | true
-- true | true | false

UPDATE t SET x = -x WHERE x = ANY ([1, 2]);
DELETE FROM t WHERE x <> ALL ([-1, -2]);
SELECT x FROM t ORDER BY x NULLS LAST;
-- -2
-- -1
-- NULL

-- Wrong use.
SELECT 1 = ANY (5);
-- error: ProgrammingError: IN, ANY and ALL need a list or a query, not 5 (INTEGER) (line 1, column 8)
SELECT 1 = ANY ('{1,2}');
-- error: ProgrammingError: IN, ANY and ALL need a list or a query, not '{1,2}' (VARCHAR) (line 1, column 8)
SELECT 1 = ANY (['x']);
-- error: DataError: 'x' is not a valid INTEGER (line 1, column 8)
SELECT x = ANY (ws) FROM t;
-- error: ProgrammingError: cannot compare 'element' (VARCHAR) with 'x' (INTEGER) (line 1, column 8)
SELECT DATE '2026-01-01' < ANY ([1]);
-- error: ProgrammingError: cannot compare 2026-01-01 (DATE) with 1 (INTEGER) (line 1, column 13)
SELECT (1, 2) = ANY ([1]);
-- error: ProgrammingError: a row of 2 values cannot be compared with one of 1 (line 1, column 9)
SELECT [1] < ANY ([[1]]);
-- false
SELECT 'a' LIKE ANY (['a%']);
-- error: NotSupportedError: ANY (...) is not supported (line 1, column 23)
SELECT 1 = ANY ([1], [2]);
-- error: ProgrammingError: IN, ANY and ALL need a list or a query, not a struct (STRUCT(f1 INTEGER[], f2 INTEGER[])) (line 1, column 8)
SELECT 1 = ALL ([1], [2]);
-- error: ProgrammingError: function 'all' does not exist (line 1, column 12)
SELECT ANY ([1]);
-- error: NotSupportedError: ANY (...) is not supported (line 1, column 14)
SELECT 1 + ANY ([1]);
-- error: NotSupportedError: ANY (...) is not supported (line 1, column 18)
