-- Arrays: lists whose type tells their length, of any type.
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE t (i INTEGER, a INT[3], b VARCHAR[2][2], c STRUCT(x INT, y VARCHAR)[2], d INT[2][], e INT[][2],
  f DATE[2], g DECIMAL(5, 2)[2], h BOOLEAN[1], u UUID[1], m MAP(INT, INT)[1], n mood[2], o BLOB[1]);
SELECT column_name, column_type FROM (DESCRIBE t);
-- 'a' | 'INTEGER[3]'
-- 'b' | 'VARCHAR[2][2]'
-- 'c' | 'STRUCT(x INTEGER, y VARCHAR)[2]'
-- 'd' | 'INTEGER[2][]'
-- 'e' | 'INTEGER[][2]'
-- 'f' | 'DATE[2]'
-- 'g' | 'DECIMAL(5,2)[2]'
-- 'h' | 'BOOLEAN[1]'
-- 'i' | 'INTEGER'
-- 'm' | 'MAP(INTEGER, INTEGER)[1]'
-- 'n' | 'ENUM(''sad'', ''ok'')[2]'
-- 'o' | 'BLOB[1]'
-- 'u' | 'UUID[1]'
INSERT INTO t VALUES (1, [1, 2, 3], [['a', 'b'], ['c', NULL]], [{'x': 1, 'y': 'p'}, NULL], [[1, 2], [3, 4]], [[1], [2, 3]],
  ['2026-05-17', NULL], [1.5, 2.25], [true], ['00000000-0000-0000-0000-000000000001'], [MAP {1: 2}], ['ok', 'sad'], [x'61']);
INSERT INTO t (i) VALUES (2);
INSERT INTO t VALUES (3, [1, NULL, 3], [NULL, ['x', 'y']], [NULL, NULL], [], [[], NULL], [NULL, NULL], [NULL, NULL], [NULL],
  [NULL], [NULL], [NULL, NULL], [NULL]);
INSERT INTO t (i, a) VALUES (4, '[1, 2, 4]'), (5, array_value(1, 2, 3));
SELECT * FROM t ORDER BY a, i;
-- 1 | (1, 2, 3) | (('a', 'b'), ('c', None)) | ({'x': 1, 'y': 'p'}, None) | [(1, 2), (3, 4)] | ([1], [2, 3]) | (datetime.date(2026, 5, 17), None) | (Decimal('1.50'), Decimal('2.25')) | (True,) | (UUID('00000000-0000-0000-0000-000000000001'),) | ({1: 2},) | ('ok', 'sad') | (b'a',)
-- 5 | (1, 2, 3) | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 4 | (1, 2, 4) | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 3 | (1, None, 3) | (None, ('x', 'y')) | (None, None) | [] | ([], None) | (None, None) | (None, None) | (None,) | (None,) | (None,) | (None, None) | (None,)
-- 2 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL

-- A list of another length is no such array.
INSERT INTO t (i, a) VALUES (6, [1, 2]);
-- error: DataError: a list of 2 elements does not fit INTEGER[3]
INSERT INTO t (i, a) VALUES (6, '[1, 2]');
-- error: DataError: column 'a': '[1, 2]' is not a valid INTEGER[3]
UPDATE t SET a = [1] WHERE i = 1;
-- error: DataError: a list of 1 element does not fit INTEGER[3]
SELECT [1, 2]::INT[3];
-- error: DataError: a list of 2 elements does not fit INTEGER[3]
SELECT [range, 1]::INT[3] FROM range(2);
-- error: DataError: a list of 2 elements does not fit INTEGER[3]
SELECT array_value(1, 2, 3)::INT[2];
-- error: DataError: a list of 3 elements does not fit INTEGER[2]
SELECT TRY_CAST([1, 2] AS INT[3]), TRY_CAST('[1, 2]' AS INT[3]), TRY_CAST(array_value(1, 2, 3) AS INT[2]);
-- NULL | NULL | NULL
SELECT array_value(1, 2) = array_value(1, 2, 3);
-- error: ProgrammingError: cannot compare a list (INTEGER[2]) with a list (INTEGER[3]) (line 1, column 8)
SELECT array_value(1, 2) UNION ALL SELECT array_value(1, 2, 3);
-- error: ProgrammingError: column 'array_value(1, 2)' of UNION: cannot combine a list (INTEGER[2]) with a list (INTEGER[3])
CREATE TABLE bad (a INT[0]);
-- error: ProgrammingError: the type INT[0] is not one: an array has a length of 1 to 100000
CREATE TABLE bad (a INT[100001]);
-- error: ProgrammingError: the type INT[100001] is not one: an array has a length of 1 to 100000
CREATE TABLE bad (a INT[2] PRIMARY KEY);
-- error: NotSupportedError: column 'a' of table 'bad' is INTEGER[2], which cannot be part of a primary key (line 1, column 19)

-- Literals and casts.
SELECT array_value(1, 2.5), typeof(array_value(1, 2.5)), array_value('a', NULL), array_value(NULL, 1) IS NULL;
-- (Decimal('1.0'), Decimal('2.5')) | 'DECIMAL(2,1)[2]' | ('a', None) | false
SELECT array_value(array_value(1), array_value(2)), typeof(array_value(array_value(1), array_value(2))), typeof([array_value(1)]);
-- ((1,), (2,)) | 'INTEGER[1][2]' | 'INTEGER[1][]'
SELECT array_value();
-- error: ProgrammingError: array_value() takes at least one argument, not 0 (line 1, column 8)
SELECT array_value(i, i + 1), typeof(array_value(i, i + 1)) FROM t WHERE i < 3 ORDER BY i;
-- (1, 2) | 'INTEGER[2]'
-- (2, 3) | 'INTEGER[2]'
SELECT a::INT[], a::BIGINT[3], a::VARCHAR[3], a::VARCHAR, b::VARCHAR, (a::INT[])::INT[3] FROM t WHERE i < 4 ORDER BY i;
-- [1, 2, 3] | (1, 2, 3) | ('1', '2', '3') | '[1, 2, 3]' | '[[a, b], [c, NULL]]' | (1, 2, 3)
-- NULL | NULL | NULL | NULL | NULL | NULL
-- [1, None, 3] | (1, None, 3) | ('1', None, '3') | '[1, NULL, 3]' | '[NULL, [x, y]]' | (1, None, 3)
SELECT c::STRUCT(x BIGINT, y VARCHAR)[2], c::STRUCT(y VARCHAR)[] FROM t WHERE i < 4 ORDER BY i;
-- ({'x': 1, 'y': 'p'}, None) | [{'y': 'p'}, None]
-- NULL | NULL
-- (None, None) | [None, None]
SELECT '[[1, 2], [3, 4]]'::INT[2][2], '[{a: 1, b: "x, y"}, NULL]'::STRUCT(a INT, b VARCHAR)[2];
-- ((1, 2), (3, 4)) | ({'a': 1, 'b': 'x, y'}, None)

-- Comparing, groups, joins, sets.
SELECT i FROM t WHERE a = [1, 2, 3] ORDER BY i;
-- 1
-- 5
SELECT i FROM t WHERE a IN ([1, 2, 3], [1, 2, 4]) OR a > [1, 3, 0] ORDER BY i;
-- 1
-- 3
-- 4
-- 5
SELECT a, count(*) FROM t GROUP BY a ORDER BY a;
-- (1, 2, 3) | 2
-- (1, 2, 4) | 1
-- (1, None, 3) | 1
-- NULL | 1
SELECT b, c, count(*) FROM t GROUP BY b, c ORDER BY b, c;
-- (('a', 'b'), ('c', None)) | ({'x': 1, 'y': 'p'}, None) | 1
-- (None, ('x', 'y')) | (None, None) | 1
-- NULL | NULL | 3
SELECT l.i, r.i FROM t l JOIN t r ON l.a = r.a ORDER BY 1, 2;
-- 1 | 1
-- 1 | 5
-- 3 | 3
-- 4 | 4
-- 5 | 1
-- 5 | 5
SELECT l.i, r.i FROM t l JOIN t r ON l.c = r.c ORDER BY 1, 2;
-- 1 | 1
-- 3 | 3
SELECT DISTINCT a FROM t ORDER BY a;
-- (1, 2, 3)
-- (1, 2, 4)
-- (1, None, 3)
-- NULL
SELECT a FROM t UNION SELECT [7, 8, 9] ORDER BY 1;
-- (1, 2, 3)
-- (1, 2, 4)
-- (1, None, 3)
-- (7, 8, 9)
-- NULL
SELECT a FROM t INTERSECT SELECT [1, 2, 3]::INT[3];
-- (1, 2, 3)
SELECT count(DISTINCT a), list(a ORDER BY i), first(b ORDER BY i) FROM t;
-- 3 | [(1, 2, 3), None, (1, None, 3), (1, 2, 4), (1, 2, 3)] | (('a', 'b'), ('c', None))
SELECT i, lag(a) OVER (ORDER BY i), row_number() OVER (PARTITION BY a ORDER BY i) FROM t ORDER BY i;
-- 1 | NULL | 1
-- 2 | (1, 2, 3) | 1
-- 3 | NULL | 1
-- 4 | (1, None, 3) | 1
-- 5 | (1, 2, 4) | 2

-- Functions of lists take arrays, and give lists.
SELECT i, unnest(a) FROM t WHERE i IN (1, 2, 3) ORDER BY i;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 3 | 1
-- 3 | NULL
-- 3 | 3
SELECT unnest(b) FROM t WHERE i = 1;
-- ('a', 'b')
-- ('c', None)
SELECT x FROM t, unnest(c) u (x) WHERE i = 1;
-- NULL
-- {'x': 1, 'y': 'p'}
SELECT a[2], a[-1], a[9], a[2:3], b[1][2], c[1].x, e[2] FROM t WHERE i = 1;
-- 2 | 3 | NULL | [2, 3] | 'b' | 1 | [2, 3]
SELECT len(a), list_sort(a, 'DESC'), a || [4], list_contains(a, 3), list_sum(a), list_transform(a, lambda x: x * 10) FROM t WHERE i < 4 ORDER BY i;
-- 3 | [3, 2, 1] | [1, 2, 3, 4] | true | 6 | [10, 20, 30]
-- NULL | NULL | [4] | NULL | NULL | NULL
-- 3 | [3, 1, None] | [1, None, 3, 4] | true | 4 | [10, None, 30]
SELECT typeof(list_sort(a)), typeof(a || a), typeof(a[1:2]), typeof(flatten(b)), flatten(b) FROM t WHERE i = 1;
-- 'INTEGER[]' | 'INTEGER[]' | 'INTEGER[]' | 'VARCHAR[]' | ['a', 'b', 'c', None]
SELECT array_distance(array_value(1, 2), array_value(4, 6)), array_inner_product([1, 2]::FLOAT[2], array_value(3, 4));
-- 5.0 | 11.0
SELECT array_cross_product([1, 0, 0]::FLOAT[3], [0, 1, 0]::FLOAT[3]), typeof(array_cross_product([1, 0, 0]::FLOAT[3], [0, 1, 0]::FLOAT[3]));
-- (0.0, 0.0, 1.0) | 'FLOAT[3]'
SELECT array_cross_product(a, [1, 1, 1]) FROM t WHERE i IN (1, 2) ORDER BY i;
-- (-1.0, 2.0, -1.0)
-- NULL
SELECT array_cross_product(a, [1, 1, 1]) FROM t WHERE i = 3;
-- error: DataError: array_cross_product() of an array that contains NULL is not defined
SELECT array_cross_product([1, 2], [3, 4]);
-- error: DataError: a list of 2 elements does not fit DOUBLE[3]
SELECT coalesce(a, [0, 0, 0]), CASE WHEN i = 1 THEN a ELSE [9, 9, 9] END FROM t WHERE i < 3 ORDER BY i;
-- (1, 2, 3) | (1, 2, 3)
-- (0, 0, 0) | (9, 9, 9)
SELECT to_json(a), to_json(c) FROM t WHERE i = 1;
-- '[1,2,3]' | '[{"x":1,"y":"p"},null]'

-- Tables change, and files keep the type.
UPDATE t SET a = [7, 8, 9] WHERE i = 1 RETURNING a;
-- (7, 8, 9)
DELETE FROM t WHERE a = [7, 8, 9] RETURNING i;
-- 1
ALTER TABLE t ADD COLUMN k INT[2] DEFAULT [1, 2];
ALTER TABLE t ALTER COLUMN a TYPE BIGINT[];
SELECT i, typeof(a), a, k FROM t WHERE i = 3;
-- 3 | 'BIGINT[]' | [1, None, 3] | (1, 2)
COPY t TO '$TMP/arrays.parquet';
CREATE TABLE p AS FROM '$TMP/arrays.parquet';
SELECT typeof(b), typeof(c), typeof(d), typeof(e), typeof(u), typeof(k) FROM p LIMIT 1;
-- 'VARCHAR[2][2]' | 'STRUCT(x INTEGER, y VARCHAR)[2]' | 'INTEGER[2][]' | 'INTEGER[][2]' | 'UUID[1]' | 'INTEGER[2]'
FROM p EXCEPT SELECT * REPLACE (n::VARCHAR[2] AS n) FROM t;
-- (no rows)
COPY t TO '$TMP/arrays.flat';
FROM '$TMP/arrays.flat' EXCEPT SELECT * REPLACE (n::VARCHAR[2] AS n) FROM t;
-- (no rows)
COPY (SELECT i, b, c, f FROM t) TO '$TMP/arrays.json';
CREATE TABLE j (i INT, b VARCHAR[2][2], c STRUCT(x INT, y VARCHAR)[2], f DATE[2]);
COPY j FROM '$TMP/arrays.json';
FROM j EXCEPT SELECT i, b, c, f FROM t;
-- (no rows)
CREATE TABLE k (b VARCHAR[1][2]);
INSERT INTO k SELECT b FROM p;
-- error: DataError: a list of 2 elements does not fit VARCHAR[1]
