CREATE TABLE emp (id INTEGER PRIMARY KEY, name VARCHAR, dept INTEGER, boss INTEGER, pay INTEGER);

CREATE TABLE dept (id INTEGER, name VARCHAR, floor INTEGER);

CREATE TABLE nothing (id INTEGER, name VARCHAR);

INSERT INTO emp VALUES (1, 'ann', 10, NULL, 100), (2, 'bob', 10, 1, 80), (3, 'cid', 20, 1, 90),
    (4, 'dee', 20, 3, NULL), (5, 'eve', NULL, 3, 70);

INSERT INTO dept VALUES (10, 'sales', 1), (20, 'stock', 2), (30, 'staff', NULL), (NULL, 'ghost', 2);

SELECT name FROM dept WHERE EXISTS (SELECT * FROM emp WHERE emp.dept = dept.id);
-- 'sales'
-- 'stock'
SELECT name FROM dept WHERE NOT EXISTS (SELECT * FROM emp WHERE emp.dept = dept.id);
-- 'ghost'
-- 'staff'
SELECT name, EXISTS (SELECT 1 FROM emp WHERE emp.dept = dept.id) AS used FROM dept;
-- 'ghost' | false
-- 'sales' | true
-- 'staff' | false
-- 'stock' | true

-- Uncorrelated.
SELECT EXISTS (SELECT 1 FROM emp), EXISTS (SELECT 1 FROM nothing), NOT EXISTS (SELECT 1 FROM nothing);
-- true | false | true
SELECT name FROM dept WHERE EXISTS (SELECT 1 FROM nothing);
-- (no rows)
SELECT count(*) FROM dept WHERE NOT EXISTS (SELECT 1 FROM emp WHERE pay > 1000);
-- 4
SELECT EXISTS (VALUES (1)), EXISTS (TABLE nothing);
-- true | false

-- With other conditions on both sides, and without an equality.
SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM emp o WHERE o.dept = e.dept AND o.pay < e.pay);
-- 'ann'
SELECT name FROM emp e WHERE NOT EXISTS (SELECT 1 FROM emp o WHERE o.pay > e.pay);
-- 'ann'
-- 'dee'
SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM emp o WHERE o.dept = e.dept OR o.boss = e.id);
-- 'ann'
-- 'bob'
-- 'cid'
-- 'dee'
SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM dept d WHERE e.dept = 20 AND d.floor = 1);
-- 'cid'
-- 'dee'
SELECT name FROM emp e WHERE EXISTS (SELECT 1 WHERE e.pay > 85);
-- 'ann'
-- 'cid'

-- What is selected, its order and its number do not matter; LIMIT 0 and HAVING do.
SELECT name FROM dept WHERE EXISTS (SELECT NULL FROM emp WHERE emp.dept = dept.id ORDER BY pay LIMIT 1);
-- 'sales'
-- 'stock'
SELECT name FROM dept WHERE EXISTS (SELECT 1 FROM emp WHERE emp.dept = dept.id LIMIT 0);
-- (no rows)
SELECT name FROM dept WHERE EXISTS (SELECT 1 FROM emp WHERE emp.dept = dept.id OFFSET 1);
-- 'sales'
-- 'stock'
SELECT name FROM dept WHERE EXISTS (SELECT count(*) FROM emp WHERE emp.dept = dept.id);
-- 'ghost'
-- 'sales'
-- 'staff'
-- 'stock'
SELECT name FROM dept WHERE EXISTS (SELECT count(*) FROM emp WHERE emp.dept = dept.id HAVING count(pay) = 1);
-- 'stock'
SELECT name FROM dept WHERE EXISTS (SELECT dept FROM emp WHERE emp.dept = dept.id GROUP BY dept HAVING min(pay) < 85);
-- 'sales'

-- Inside each other: the departments all of whose people earn something.
SELECT name FROM dept d WHERE NOT EXISTS (
    SELECT 1 FROM emp e WHERE e.dept = d.id AND NOT EXISTS (SELECT 1 FROM emp o WHERE o.id = e.id AND o.pay > 0));
-- 'ghost'
-- 'sales'
-- 'staff'

-- The innermost query reads the outermost row.
SELECT name FROM dept d WHERE EXISTS (
    SELECT 1 FROM emp e WHERE e.dept = d.id AND EXISTS (SELECT 1 FROM emp o WHERE o.boss = e.id AND o.dept <> d.id));
-- 'sales'

SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM dept WHERE id = e.dept) OR NOT EXISTS (SELECT 1 FROM emp o WHERE o.boss = e.id);
-- 'ann'
-- 'bob'
-- 'cid'
-- 'dee'
-- 'eve'
SELECT count(*) FROM emp e WHERE EXISTS (SELECT 1 FROM emp o WHERE o.boss = e.id) AND EXISTS (SELECT 1 FROM dept d WHERE d.id = e.dept);
-- 2
SELECT floor, count(*) FROM dept d WHERE EXISTS (SELECT 1 FROM emp WHERE dept = d.id) GROUP BY floor;
-- 1 | 1
-- 2 | 1
DELETE FROM emp WHERE NOT EXISTS (SELECT 1 FROM dept WHERE dept.id = emp.dept);

SELECT name FROM emp;
-- 'ann'
-- 'bob'
-- 'cid'
-- 'dee'
EXPLAIN SELECT name FROM dept WHERE EXISTS (SELECT 1 FROM emp WHERE emp.dept = dept.id AND emp.pay <> dept.floor);
-- has: HashJoin: SEMI id = dept
-- has: also: (pay <> floor)
