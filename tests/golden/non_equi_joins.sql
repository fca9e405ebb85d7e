CREATE TABLE a (id INTEGER, lo INTEGER, hi INTEGER, t DOUBLE);

CREATE TABLE b (id INTEGER, v INTEGER, t DOUBLE);

INSERT INTO a VALUES (1, 0, 10, 1.5), (2, 10, 20, NULL), (3, 5, NULL, 'NaN'), (4, 30, 20, -0.0);

INSERT INTO b VALUES (1, 5, 0.0), (2, 10, 1.5), (3, 10, 'NaN'), (4, NULL, 2.0), (5, 25, NULL);

-- One comparison.
SELECT a.id, b.id FROM a JOIN b ON a.lo < b.v;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 1 | 5
-- 2 | 5
-- 3 | 2
-- 3 | 3
-- 3 | 5
SELECT a.id, b.id FROM a JOIN b ON a.lo <= b.v;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 1 | 5
-- 2 | 2
-- 2 | 3
-- 2 | 5
-- 3 | 1
-- 3 | 2
-- 3 | 3
-- 3 | 5
SELECT a.id, b.id FROM a JOIN b ON b.v > a.hi;
-- 1 | 5
-- 2 | 5
-- 4 | 5
SELECT a.id, b.id FROM a JOIN b ON a.hi >= b.v;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 2 | 1
-- 2 | 2
-- 2 | 3
-- 4 | 1
-- 4 | 2
-- 4 | 3
SELECT a.id, b.id FROM a JOIN b ON a.lo + 5 < b.v - 5;
-- 1 | 5
-- 2 | 5
-- 3 | 5
SELECT a.id, b.id FROM a JOIN b ON a.t < b.t;
-- 1 | 3
-- 1 | 4
-- 4 | 2
-- 4 | 3
-- 4 | 4
SELECT a.id, b.id FROM a JOIN b ON a.t <= b.t;
-- 1 | 2
-- 1 | 3
-- 1 | 4
-- 3 | 3
-- 4 | 1
-- 4 | 2
-- 4 | 3
-- 4 | 4
SELECT x.id, y.id FROM b x JOIN b y ON x.v < y.v AND x.id <> y.id;
-- 1 | 2
-- 1 | 3
-- 1 | 5
-- 2 | 5
-- 3 | 5

-- A value between two others, of either side.
SELECT a.id, b.id FROM a JOIN b ON b.v BETWEEN a.lo AND a.hi;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 2 | 2
-- 2 | 3
SELECT b.id, a.id FROM b JOIN a ON b.v >= a.lo AND b.v < a.hi;
-- 1 | 1
-- 2 | 2
-- 3 | 2
SELECT a.id, b.id FROM a, b WHERE a.lo <= b.v AND b.v <= a.hi AND a.id + b.id > 3;
-- 1 | 3
-- 2 | 2
-- 2 | 3
SELECT x.id, y.id FROM a x JOIN a y ON x.lo < y.hi AND y.lo < x.hi AND x.id < y.id;
-- (no rows)

-- Rows without a partner.
SELECT a.id, b.id FROM a LEFT JOIN b ON b.v BETWEEN a.lo AND a.hi;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 2 | 2
-- 2 | 3
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a RIGHT JOIN b ON b.v BETWEEN a.lo AND a.hi;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 2 | 2
-- 2 | 3
-- NULL | 4
-- NULL | 5
SELECT a.id, b.id FROM a FULL JOIN b ON b.v BETWEEN a.lo AND a.hi;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 2 | 2
-- 2 | 3
-- 3 | NULL
-- 4 | NULL
-- NULL | 4
-- NULL | 5
SELECT a.id, b.id FROM a FULL JOIN b ON a.lo > b.v;
-- 1 | NULL
-- 2 | 1
-- 3 | NULL
-- 4 | 1
-- 4 | 2
-- 4 | 3
-- 4 | 5
-- NULL | 4
SELECT id FROM a SEMI JOIN b ON b.v BETWEEN a.lo AND a.hi;
-- 1
-- 2
SELECT id FROM a ANTI JOIN b ON b.v BETWEEN a.lo AND a.hi;
-- 3
-- 4
SELECT id FROM b SEMI JOIN a ON b.v < a.lo;
-- 1
-- 2
-- 3
-- 5
SELECT id FROM b ANTI JOIN a ON b.v < a.lo;
-- 4
SELECT id, EXISTS (SELECT 1 FROM b WHERE b.v > a.hi) FROM a;
-- 1 | true
-- 2 | true
-- 3 | false
-- 4 | true

-- Inequality, OR, constants, no condition.
SELECT a.id, b.id FROM a JOIN b ON a.lo <> b.v;
-- 1 | 1
-- 1 | 2
-- 1 | 3
-- 1 | 5
-- 2 | 1
-- 2 | 5
-- 3 | 2
-- 3 | 3
-- 3 | 5
-- 4 | 1
-- 4 | 2
-- 4 | 3
-- 4 | 5
SELECT a.id, b.id FROM a JOIN b ON a.lo = b.v OR a.hi = b.v;
-- 1 | 2
-- 1 | 3
-- 2 | 2
-- 2 | 3
-- 3 | 1
SELECT a.id, b.id FROM a LEFT JOIN b ON a.id = 1 AND b.id > 3;
-- 1 | 4
-- 1 | 5
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a LEFT JOIN b ON FALSE;
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT count(*) FROM a LEFT JOIN b ON TRUE;
-- 20
SELECT count(*) FROM a, b, a c;
-- 80
SELECT a.id, b.id FROM a JOIN b ON a.id = b.id AND a.lo < b.v;
-- 1 | 1
-- 3 | 3
SELECT a.id, n.id FROM a LEFT JOIN (SELECT * FROM b WHERE id > 9) n ON a.lo < n.v;
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL

-- Keys that may be NULL.
SELECT a.id, b.id FROM a JOIN b ON a.hi IS NOT DISTINCT FROM b.v;
-- 1 | 2
-- 1 | 3
-- 3 | 4
SELECT a.id, b.id FROM a FULL JOIN b ON a.t IS NOT DISTINCT FROM b.t;
-- 1 | 2
-- 2 | 5
-- 3 | 3
-- 4 | 1
-- NULL | 4
