CREATE TABLE t (id INTEGER, v FLOAT[3], a INTEGER[], s VARCHAR[], n INTEGER[][], d DOUBLE[2], b BOOLEAN[], p DECIMAL(9,2)[], w INTERVAL[]);
INSERT INTO t VALUES
  (1, [1, 2, 3], [1, 2], ['a', 'b'], [[1], [2]], [0.1, 2], [true], [1.10], [INTERVAL 1 MONTH]),
  (2, [1, 2, 3], [1, NULL], ['a', NULL], [[1], NULL], [0.1, 2], [false], [1.1], [INTERVAL 30 DAY]),
  (3, [0, 2, 3], [1, 2], ['ab'], [[1, 2]], ['nan'::DOUBLE, 0], [true], [1.11], [INTERVAL 31 DAY]),
  (4, [-0.0::FLOAT, 2, 3], [1, NULL], ['a', NULL], [[1], NULL], ['nan'::DOUBLE, 0], [NULL::BOOLEAN], [], []),
  (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (6, NULL, [], [], [], NULL, [], NULL, NULL);

-- Groups. -0.0 is 0.0, NaN is NaN, and NULL in a list is NULL there.
SELECT min(id), count(*) FROM t GROUP BY v;
-- 1 | 2
-- 3 | 2
-- 5 | 2
SELECT min(id), count(*) FROM t GROUP BY a;
-- 1 | 2
-- 2 | 2
-- 5 | 1
-- 6 | 1
SELECT min(id), count(*) FROM t GROUP BY s;
-- 1 | 1
-- 2 | 2
-- 3 | 1
-- 5 | 1
-- 6 | 1
SELECT min(id), count(*) FROM t GROUP BY n;
-- 1 | 1
-- 2 | 2
-- 3 | 1
-- 5 | 1
-- 6 | 1
SELECT min(id), count(*) FROM t GROUP BY d;
-- 1 | 2
-- 3 | 2
-- 5 | 2
SELECT min(id), count(*) FROM t GROUP BY b;
-- 1 | 2
-- 2 | 1
-- 4 | 1
-- 5 | 1
-- 6 | 1
SELECT min(id), count(*) FROM t GROUP BY p;
-- 1 | 2
-- 3 | 1
-- 4 | 1
-- 5 | 2
SELECT min(id), count(*) FROM t GROUP BY w;
-- 1 | 2
-- 3 | 1
-- 4 | 1
-- 5 | 2
SELECT min(id), count(*) FROM t GROUP BY v, a;
-- 1 | 1
-- 2 | 1
-- 3 | 1
-- 4 | 1
-- 5 | 1
-- 6 | 1
SELECT v, sum(id) FROM t GROUP BY v HAVING v IS NOT NULL;
-- (0.0, 2.0, 3.0) | 7
-- (1.0, 2.0, 3.0) | 3
SELECT DISTINCT v FROM t WHERE id <> 4;
-- (0.0, 2.0, 3.0)
-- (1.0, 2.0, 3.0)
-- NULL
SELECT count(DISTINCT v), count(DISTINCT a), count(DISTINCT s) FROM t;
-- 2 | 3 | 4
SELECT v[1] AS x, count(*) FROM t GROUP BY GROUPING SETS ((v), ()) ORDER BY x, 2;
-- 0.0 | 2
-- 1.0 | 2
-- NULL | 2
-- NULL | 6
SELECT DISTINCT v FROM t WHERE false;
-- (no rows)
SELECT DISTINCT [x, 1] FROM range(3) AS r (x);
-- [0, 1]
-- [1, 1]
-- [2, 1]

-- Joins and set operations.
SELECT x.id, y.id FROM t x JOIN t y ON x.v = y.v WHERE x.id < y.id;
-- 1 | 2
-- 3 | 4
SELECT x.id, y.id FROM t x JOIN t y ON x.s = y.s WHERE x.id < y.id;
-- 2 | 4
SELECT x.id, y.id FROM t x JOIN t y ON x.n = y.n AND x.d = y.d WHERE x.id <= y.id;
-- 1 | 1
-- 2 | 2
-- 3 | 3
-- 4 | 4
SELECT x.id, y.id FROM t x JOIN t y ON x.w = y.w WHERE x.id < y.id;
-- 1 | 2
SELECT x.id, y.id FROM t x JOIN t y ON x.v IS NOT DISTINCT FROM y.v WHERE x.id < y.id;
-- 1 | 2
-- 3 | 4
-- 5 | 6
SELECT x.id, y.id FROM t x JOIN (SELECT id, d::FLOAT[2] AS f FROM t) y ON x.d::FLOAT[2] = y.f WHERE x.id < y.id;
-- 1 | 2
-- 3 | 4
SELECT id FROM t WHERE v IN (SELECT v FROM t WHERE id = 3);
-- 3
-- 4
SELECT id FROM t WHERE a NOT IN (SELECT a FROM t WHERE id < 3);
-- 6
SELECT a FROM t INTERSECT SELECT [1, 2];
-- [1, 2]
SELECT a FROM t EXCEPT SELECT [1, 2];
-- NULL
-- [1, None]
-- []
SELECT v FROM t WHERE id < 4 UNION SELECT [0, 2, 3];
-- (0.0, 2.0, 3.0)
-- (1.0, 2.0, 3.0)
WITH RECURSIVE r AS (SELECT [1] AS l UNION SELECT list_append(l, 1) FROM r WHERE len(l) < 3) SELECT l FROM r;
-- [1, 1, 1]
-- [1, 1]
-- [1]

-- Windows and the first of each.
SELECT id, row_number() OVER (PARTITION BY v ORDER BY id) FROM t ORDER BY id;
-- 1 | 1
-- 2 | 2
-- 3 | 1
-- 4 | 2
-- 5 | 1
-- 6 | 2
SELECT id, count(*) OVER (PARTITION BY a, s) FROM t ORDER BY id;
-- 1 | 1
-- 2 | 2
-- 3 | 1
-- 4 | 2
-- 5 | 1
-- 6 | 1
SELECT DISTINCT ON (v) id FROM t ORDER BY id;
-- 1
-- 3
-- 5

-- A subquery may read them of the row outside.
SELECT id, (SELECT count(*) FROM t i WHERE i.v = o.v) FROM t o;
-- 1 | 2
-- 2 | 2
-- 3 | 2
-- 4 | 2
-- 5 | 0
-- 6 | 0
SELECT id, (SELECT sum(x) FROM unnest(o.a) AS u (x)) FROM t o;
-- 1 | 3
-- 2 | 1
-- 3 | 3
-- 4 | 1
-- 5 | NULL
-- 6 | NULL
SELECT id FROM t o WHERE EXISTS (SELECT 1 FROM t i WHERE i.id <> o.id AND i.s = o.s AND len(o.s) = 2);
-- 2
-- 4
SELECT id, (SELECT max(i.id) FROM t i WHERE array_distance(i.v, o.v) < 2) FROM t o;
-- 1 | 4
-- 2 | 4
-- 3 | 4
-- 4 | 4
-- 5 | NULL
-- 6 | NULL

-- They are compared element by element; min() of them is refused.
SELECT v FROM t ORDER BY v;
-- (0.0, 2.0, 3.0)
-- (-0.0, 2.0, 3.0)
-- (1.0, 2.0, 3.0)
-- (1.0, 2.0, 3.0)
-- NULL
-- NULL
SELECT min(v) FROM t;
-- (0.0, 2.0, 3.0)
SELECT id FROM t WHERE v < [1, 2, 3];
-- 3
-- 4
