CREATE TABLE a (id INTEGER, k INTEGER, s VARCHAR);

CREATE TABLE b (id INTEGER, k INTEGER, s VARCHAR);

CREATE TABLE none (id INTEGER, k INTEGER);

INSERT INTO a VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, NULL), (4, NULL, 'x');

INSERT INTO b VALUES (1, 1, 'x'), (2, 3, 'x'), (3, NULL, 'z'), (4, 1, 'y');

SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k;
-- 1 | 1
-- 1 | 4
-- 2 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a RIGHT JOIN b ON a.k = b.k;
-- 1 | 1
-- 1 | 4
-- 2 | 1
-- 2 | 4
-- NULL | 2
-- NULL | 3
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k;
-- 1 | 1
-- 1 | 4
-- 2 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
-- NULL | 2
-- NULL | 3
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND a.s = b.s;
-- 1 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
-- NULL | 2
-- NULL | 3

-- Conditions of ON on one side do not drop its own rows.
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k AND a.id > 1;
-- 1 | NULL
-- 2 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k AND b.id > 1;
-- 1 | 4
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a RIGHT JOIN b ON a.k = b.k AND a.id > 1;
-- 2 | 1
-- 2 | 4
-- NULL | 2
-- NULL | 3
SELECT a.id, b.id FROM a RIGHT JOIN b ON a.k = b.k AND b.id > 1;
-- 1 | 4
-- 2 | 4
-- NULL | 1
-- NULL | 2
-- NULL | 3
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND a.id > 1 AND b.id > 1;
-- 1 | NULL
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
-- NULL | 1
-- NULL | 2
-- NULL | 3

-- Conditions of WHERE do; where they reject NULL, the join is a stronger one.
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE b.id > 1;
-- 1 | 4
-- 2 | 4
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE b.id IS NULL;
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE coalesce(b.id, 0) < 2;
-- 1 | 1
-- 2 | 1
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE NOT (b.id > 1);
-- 1 | 1
-- 2 | 1
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE b.id > 1 OR a.id = 3;
-- 1 | 4
-- 2 | 4
-- 3 | NULL
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k WHERE a.s = 'x';
-- 1 | 1
-- 1 | 4
-- 4 | NULL
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k WHERE b.s = 'x';
-- 1 | 1
-- 2 | 1
-- NULL | 2
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k WHERE a.id + b.id > 2;
-- 1 | 4
-- 2 | 1
-- 2 | 4
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k WHERE a.id IS NULL OR b.id IS NULL;
-- 3 | NULL
-- 4 | NULL
-- NULL | 2
-- NULL | 3
EXPLAIN SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE b.id > 1;
-- has: HashJoin: INNER
EXPLAIN SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k WHERE b.id > 1;
-- has: HashJoin: RIGHT
EXPLAIN SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k WHERE b.id > 1 OR a.id = 3;
-- has: HashJoin: LEFT

-- Joins of joins.
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN b c ON b.s = c.s;
-- 1 | 1 | 1
-- 1 | 1 | 2
-- 1 | 4 | 4
-- 2 | 1 | 1
-- 2 | 1 | 2
-- 2 | 4 | 4
-- 3 | NULL | NULL
-- 4 | NULL | NULL
SELECT a.id, b.id, c.id FROM a LEFT JOIN (b JOIN a c ON b.s = c.s) ON a.k = b.k;
-- 1 | 1 | 1
-- 1 | 1 | 4
-- 1 | 4 | 2
-- 2 | 1 | 1
-- 2 | 1 | 4
-- 2 | 4 | 2
-- 3 | NULL | NULL
-- 4 | NULL | NULL
SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON a.k = b.k JOIN b c ON b.s = c.s;
-- 1 | 1 | 1
-- 1 | 1 | 2
-- 1 | 4 | 4
-- 2 | 1 | 1
-- 2 | 1 | 2
-- 2 | 4 | 4
SELECT a.id, b.id, c.id FROM a FULL JOIN b ON a.k = b.k LEFT JOIN a c ON c.id = b.id WHERE c.s = 'x';
-- 1 | 1 | 1
-- 1 | 4 | 4
-- 2 | 1 | 1
-- 2 | 4 | 4
SELECT a.id, b.id, c.id FROM a RIGHT JOIN b ON a.k = b.k FULL JOIN a c ON c.s = a.s;
-- 1 | 1 | 1
-- 1 | 1 | 4
-- 1 | 4 | 1
-- 1 | 4 | 4
-- 2 | 1 | 2
-- 2 | 4 | 2
-- NULL | 2 | NULL
-- NULL | 3 | NULL
-- NULL | NULL | 3

-- An empty side.
SELECT a.id, none.k FROM a LEFT JOIN none ON a.k = none.k;
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT a.id, none.k FROM a RIGHT JOIN none ON a.k = none.k;
-- (no rows)
SELECT a.id, none.k FROM none FULL JOIN a ON a.k = none.k;
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT count(*) FROM none LEFT JOIN a ON TRUE;
-- 0

-- Subqueries in ON.
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k AND b.id IN (SELECT id FROM a WHERE s = 'x');
-- 1 | 1
-- 1 | 4
-- 2 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k AND EXISTS (SELECT 1 FROM b c WHERE c.id = a.id AND c.s = 'y');
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND a.id > (SELECT min(id) FROM b);
-- 1 | NULL
-- 2 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
-- NULL | 2
-- NULL | 3
SELECT a.id, b.id FROM a LEFT JOIN b ON EXISTS (SELECT 1 FROM a c WHERE c.id = a.id AND c.k = b.k);
-- 1 | 1
-- 1 | 4
-- 2 | 1
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND EXISTS (SELECT 1 FROM b c WHERE c.id > a.id AND c.s = b.s);
-- 1 | 1
-- 1 | 4
-- 2 | 4
-- 3 | NULL
-- 4 | NULL
-- NULL | 2
-- NULL | 3
SELECT id FROM a ANTI JOIN b ON (SELECT count(*) FROM b c WHERE c.k = a.k AND c.s = b.s) > 0;
-- 3
-- 4
