CREATE TABLE t (id INTEGER, l INTEGER[], m VARCHAR[]);
INSERT INTO t VALUES (1, [1, 2], ['a']), (2, [], ['x', 'y', 'z']), (3, NULL, NULL), (4, [NULL, 7], ['q']);

-- In FROM it sees the sources before it; a row without elements is left out.
SELECT id, x FROM t, unnest(t.l) AS u (x);
-- 1 | 1
-- 1 | 2
-- 4 | 7
-- 4 | NULL
SELECT id, unnest FROM t, unnest(l);
-- 1 | 1
-- 1 | 2
-- 4 | 7
-- 4 | NULL
SELECT id, u FROM t CROSS JOIN LATERAL unnest(m) AS u WHERE id = 2;
-- 2 | 'x'
-- 2 | 'y'
-- 2 | 'z'
SELECT id, x FROM t JOIN unnest(l) AS u (x) ON x > 1;
-- 1 | 2
-- 4 | 7
SELECT count(*) FROM t, unnest(l);
-- 4
SELECT id, sum(x), count(*) FROM t, unnest(l) AS u (x) GROUP BY id;
-- 1 | 3 | 2
-- 4 | 7 | 2

-- A LEFT JOIN keeps it.
SELECT id, x FROM t LEFT JOIN unnest(l) AS u (x) ON true;
-- 1 | 1
-- 1 | 2
-- 2 | NULL
-- 3 | NULL
-- 4 | 7
-- 4 | NULL
SELECT id, x FROM t LEFT JOIN unnest(l) AS u (x) ON x > 1;
-- 1 | 2
-- 2 | NULL
-- 3 | NULL
-- 4 | 7
SELECT id, x FROM t RIGHT JOIN unnest(l) AS u (x) ON true;
-- error: ProgrammingError: 'l' is not visible in the right side of a RIGHT JOIN; only an inner or a LEFT JOIN has a row for it (line 1, column 39)

-- Several lists side by side, and the numbers of the elements.
SELECT id, x, y, n FROM t LEFT JOIN unnest(l, m) WITH ORDINALITY AS u (x, y, n) ON true ORDER BY id, n;
-- 1 | 1 | 'a' | 1
-- 1 | 2 | NULL | 2
-- 2 | NULL | 'x' | 1
-- 2 | NULL | 'y' | 2
-- 2 | NULL | 'z' | 3
-- 3 | NULL | NULL | NULL
-- 4 | NULL | 'q' | 1
-- 4 | 7 | NULL | 2
SELECT * FROM unnest([3, 4]) WITH ORDINALITY;
-- 3 | 1
-- 4 | 2
SELECT * FROM unnest([1], ['a', 'b']) AS u (x, y) ORDER BY y;
-- 1 | 'a'
-- NULL | 'b'

-- Lists of lists, vectors and expressions.
SELECT x FROM unnest([[1], [2, 3], NULL]) AS u (y), unnest(y) AS v (x);
-- 1
-- 2
-- 3
SELECT sum(x) FROM (VALUES (CAST([1, 2] AS FLOAT[2])), (NULL), (CAST([3, 4] AS FLOAT[2]))) AS v (f), unnest(f) AS u (x);
-- 10.0
SELECT a.id, b.id, x FROM t AS a, t AS b, unnest(a.l || b.l) AS u (x) WHERE a.id = 1 AND b.id = 4;
-- 1 | 4 | 1
-- 1 | 4 | 2
-- 1 | 4 | 7
-- 1 | 4 | NULL
SELECT x FROM unnest(string_split('a-b', '-')) AS u (x);
-- 'a'
-- 'b'
SELECT * FROM unnest(CAST(NULL AS INTEGER[]));
-- (no rows)
SELECT id, x FROM t, unnest(CASE WHEN id = 1 THEN [(SELECT max(id) FROM t)] END) AS u (x);
-- 1 | 4

-- In the select list it repeats the row, behind windows and before DISTINCT and ORDER BY.
SELECT unnest([1, 2]), 'a';
-- 1 | 'a'
-- 2 | 'a'
SELECT id, unnest(l) FROM t;
-- 1 | 1
-- 1 | 2
-- 4 | 7
-- 4 | NULL
SELECT id, unnest(l), unnest(m) FROM t;
-- 1 | 1 | 'a'
-- 1 | 2 | NULL
-- 2 | NULL | 'x'
-- 2 | NULL | 'y'
-- 2 | NULL | 'z'
-- 4 | 7 | NULL
-- 4 | NULL | 'q'
SELECT id, unnest(l) * 2 AS d FROM t ORDER BY d DESC LIMIT 3;
-- 4 | NULL
-- 4 | 14
-- 1 | 4
SELECT DISTINCT unnest(l) AS x FROM t ORDER BY x;
-- 1
-- 2
-- 7
-- NULL
SELECT unnest(list(id ORDER BY id)) + 10, count(*) FROM t;
-- 11 | 4
-- 12 | 4
-- 13 | 4
-- 14 | 4
SELECT id, row_number() OVER (ORDER BY id), unnest(l) FROM t;
-- 1 | 1 | 1
-- 1 | 1 | 2
-- 4 | 4 | NULL
-- 4 | 4 | 7

-- Filters of the other columns run before it.
EXPLAIN SELECT id, x FROM t, unnest(l) AS u (x) WHERE id = 1 AND x > 0;
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id, unnest AS x'
-- '  FilterRows: (unnest > 0)'
-- '    UnnestRows: l'
-- '      FilterRows: (id = 1)'
-- '        ScanTable: t (id, l)'

-- Where it cannot stand.
SELECT id FROM t WHERE unnest(l) = 1;
-- error: ProgrammingError: WHERE cannot contain unnest(), which is for FROM and the select list (line 1, column 24)
SELECT unnest(l) AS x FROM t WHERE x = 1;
-- error: ProgrammingError: WHERE cannot contain unnest(): write FROM t, unnest(t.list) AS u(x)
SELECT sum(unnest(l)) FROM t;
-- error: ProgrammingError: an aggregate cannot contain unnest(), which is for FROM and the select list (line 1, column 12)
SELECT unnest(unnest([[1]]));
-- error: ProgrammingError: unnest() cannot contain unnest(), which is for FROM and the select list (line 1, column 15)
SELECT unnest(id) FROM t;
-- error: ProgrammingError: unnest() needs a list, not 'id' (INTEGER) (line 1, column 8)
SELECT * FROM t, unnest(id);
-- error: ProgrammingError: unnest() needs a list, not 'id' (INTEGER) (line 1, column 25)
SELECT unnest(l, l) FROM t;
-- error: ProgrammingError: unnest() takes a list here, and recursive := true or max_depth := a number (line 1, column 8)
SELECT id, (SELECT sum(x) FROM unnest(t.l) AS u (x)) FROM t;
-- 1 | 3
-- 2 | NULL
-- 3 | NULL
-- 4 | 7

-- Lists in lists, structs in them and in structs, level by level.
SELECT unnest([[1, NULL], NULL, [], [3]], recursive := true) + 1 AS x;
-- 2
-- 4
-- NULL

SELECT unnest([[[1, 2]], [[3], [4]]], max_depth := 2) AS x;
-- [1, 2]
-- [3]
-- [4]

SELECT unnest({'a': 1, 'b': {'c': 2}}, recursive := true);
-- 1 | 2

SELECT * FROM (SELECT unnest([[{'a': 1, 'b': {'c': 5}}], [{'a': 2, 'b': {'c': 6}}]], recursive := true)) WHERE c > a;
-- 1 | 5
-- 2 | 6

SELECT * FROM (SELECT unnest([{'a': 1, 'b': {'c': 5}}], max_depth := 2)) WHERE b.c > a;
-- 1 | {'c': 5}

SELECT n, unnest(l, recursive := true) FROM (VALUES (1, [[1, 2]]), (2, [[3], [4]])) AS t (n, l) ORDER BY ALL;
-- 1 | 1
-- 1 | 2
-- 2 | 3
-- 2 | 4

SELECT unnest([1, 2], recursive := false);
-- 1
-- 2

SELECT unnest(1, recursive := true);
-- error: ProgrammingError: unnest() needs a list, not 1 (INTEGER) (line 1, column 8)

SELECT unnest([1], depth := 5);
-- error: ProgrammingError: unnest() takes a list here, and recursive := true or max_depth := a number (line 1, column 8)

SELECT unnest([[[1, 2]]], max_depth := -1);
-- error: ProgrammingError: unnest() takes a list here, and recursive := true or max_depth := a number (line 1, column 8)

SELECT unnest([1], max_depth := 0);
-- error: ProgrammingError: unnest() takes a list here, and recursive := true or max_depth := a number (line 1, column 8)

-- A LEFT JOIN keeps the rows whose lists have no element that its condition holds for.
SELECT k, x FROM (VALUES (1, [1, 5]), (2, [2]), (3, NULL)) AS t (k, a) LEFT JOIN unnest(a) AS u (x) ON x > k + 1 ORDER BY k;
-- 1 | 5
-- 2 | NULL
-- 3 | NULL

SELECT k, x, n FROM (VALUES (1, [1, 5]), (2, [2])) AS t (k, a) LEFT JOIN unnest(a) WITH ORDINALITY AS u (x, n) ON x > 3 ORDER BY k;
-- 1 | 5 | 2
-- 2 | NULL | NULL
