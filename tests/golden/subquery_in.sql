CREATE TABLE emp (id INTEGER PRIMARY KEY, name VARCHAR, dept INTEGER, boss INTEGER, pay INTEGER);

CREATE TABLE dept (id INTEGER, name VARCHAR, floor INTEGER);

CREATE TABLE nothing (id INTEGER, name VARCHAR);

INSERT INTO emp VALUES (1, 'ann', 10, NULL, 100), (2, 'bob', 10, 1, 80), (3, 'cid', 20, 1, 90),
    (4, 'dee', 20, 3, NULL), (5, 'eve', NULL, 3, 70);

INSERT INTO dept VALUES (10, 'sales', 1), (20, 'stock', 2), (30, 'staff', NULL), (NULL, 'ghost', 2);

SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE floor = 2);
-- 'cid'
-- 'dee'
SELECT name FROM emp WHERE dept NOT IN (SELECT id FROM dept WHERE floor = 1);
-- 'cid'
-- 'dee'
SELECT name FROM dept WHERE id IN (SELECT dept FROM emp);
-- 'sales'
-- 'stock'

-- A NULL among the values: nothing is outside of them for certain.
SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp);
-- (no rows)
SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp WHERE dept IS NOT NULL);
-- 'staff'
SELECT name, id IN (SELECT dept FROM emp), id NOT IN (SELECT dept FROM emp) FROM dept;
-- 'ghost' | NULL | NULL
-- 'sales' | true | false
-- 'staff' | NULL | NULL
-- 'stock' | true | false
SELECT name, id IN (SELECT dept FROM emp WHERE dept IS NOT NULL) FROM dept;
-- 'ghost' | NULL
-- 'sales' | true
-- 'staff' | false
-- 'stock' | true

-- No value at all: NULL is not in nothing, for certain.
SELECT name FROM dept WHERE id IN (SELECT id FROM nothing);
-- (no rows)
SELECT name FROM dept WHERE id NOT IN (SELECT id FROM nothing);
-- 'ghost'
-- 'sales'
-- 'staff'
-- 'stock'
SELECT name, id IN (SELECT id FROM nothing) FROM dept;
-- 'ghost' | false
-- 'sales' | false
-- 'staff' | false
-- 'stock' | false
SELECT NULL IN (SELECT id FROM nothing), NULL IN (SELECT id FROM emp), 1 IN (SELECT NULL);
-- false | NULL | NULL

-- As a part of a condition.
SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE floor = 2) OR pay = 100;
-- 'ann'
-- 'cid'
-- 'dee'
SELECT name FROM emp WHERE NOT (dept IN (SELECT id FROM dept WHERE floor = 2) OR pay = 100);
-- (no rows)
SELECT name FROM dept WHERE (id IN (SELECT dept FROM emp)) IS NULL;
-- 'ghost'
-- 'staff'
SELECT name, CASE WHEN id IN (SELECT dept FROM emp) THEN 'used' ELSE 'free' END FROM dept;
-- 'ghost' | 'free'
-- 'sales' | 'used'
-- 'staff' | 'free'
-- 'stock' | 'used'
SELECT id IN (SELECT dept FROM emp) AS used, count(*) FROM dept GROUP BY used;
-- NULL | 2
-- true | 2

-- Correlated.
SELECT name FROM emp e WHERE 'bob' IN (SELECT name FROM emp WHERE boss = e.id);
-- 'ann'
SELECT name FROM emp e WHERE pay NOT IN (SELECT pay FROM emp o WHERE o.dept = e.dept AND o.id <> e.id);
-- 'ann'
-- 'bob'
-- 'eve'
SELECT name, pay IN (SELECT pay FROM emp o WHERE o.dept = e.dept AND o.id <> e.id) FROM emp e;
-- 'ann' | false
-- 'bob' | false
-- 'cid' | NULL
-- 'dee' | NULL
-- 'eve' | false
SELECT name, pay IN (SELECT pay FROM emp o WHERE o.id < e.id) FROM emp e;
-- 'ann' | false
-- 'bob' | false
-- 'cid' | false
-- 'dee' | NULL
-- 'eve' | NULL

-- Other queries: VALUES, set operations, groups, LIMIT, common table expressions.
SELECT name FROM emp WHERE id IN (VALUES (1), (4), (NULL));
-- 'ann'
-- 'dee'
SELECT name FROM emp WHERE id IN (SELECT 1 UNION SELECT boss FROM emp);
-- 'ann'
-- 'cid'
SELECT name FROM emp WHERE dept IN (SELECT dept FROM emp GROUP BY dept HAVING count(*) > 1);
-- 'ann'
-- 'bob'
-- 'cid'
-- 'dee'
SELECT name FROM emp WHERE id IN (SELECT id FROM emp ORDER BY pay DESC NULLS LAST LIMIT 2);
-- 'ann'
-- 'cid'
WITH high AS (SELECT id FROM dept WHERE floor > 1) SELECT name FROM emp WHERE dept IN (SELECT id FROM high);
-- 'cid'
-- 'dee'
SELECT name FROM emp WHERE dept IN (SELECT DISTINCT id FROM dept);
-- 'ann'
-- 'bob'
-- 'cid'
-- 'dee'

-- Constants adapt to the column of the query; other types do not.
SELECT 'ann' IN (SELECT name FROM emp), '1' IN (SELECT id FROM emp);
-- true | true
SELECT name FROM emp WHERE name IN (SELECT id FROM emp);
-- error: ProgrammingError: cannot compare 'name' (VARCHAR) with 'id' (INTEGER) (line 1, column 28)
SELECT name FROM emp WHERE id IN (SELECT id, name FROM emp);
-- error: ProgrammingError: the subquery has 2 columns, but is compared with 1 (line 1, column 28)

UPDATE emp SET pay = 0 WHERE dept NOT IN (SELECT id FROM dept WHERE id IS NOT NULL AND floor = 1);

DELETE FROM emp WHERE id IN (SELECT boss FROM emp);

SELECT * FROM emp;
-- 2 | 'bob' | 10 | 1 | 80
-- 4 | 'dee' | 20 | 3 | 0
-- 5 | 'eve' | NULL | 3 | 70
EXPLAIN SELECT name FROM emp WHERE id NOT IN (SELECT boss FROM emp WHERE boss IS NOT NULL);
-- has: HashJoin: ANTI id = boss
EXPLAIN SELECT name FROM emp WHERE dept IN (SELECT id FROM dept);
-- has: HashJoin: SEMI dept = id
