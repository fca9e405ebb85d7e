CREATE TABLE emp (id INTEGER PRIMARY KEY, name VARCHAR, dept INTEGER, boss INTEGER, pay INTEGER);

CREATE TABLE dept (id INTEGER, name VARCHAR, floor INTEGER);

CREATE TABLE nothing (id INTEGER, name VARCHAR);

INSERT INTO emp VALUES (1, 'ann', 10, NULL, 100), (2, 'bob', 10, 1, 80), (3, 'cid', 20, 1, 90),
    (4, 'dee', 20, 3, NULL), (5, 'eve', NULL, 3, 70);

INSERT INTO dept VALUES (10, 'sales', 1), (20, 'stock', 2), (30, 'staff', NULL), (NULL, 'ghost', 2);

SELECT name FROM emp WHERE pay > ANY (SELECT pay FROM emp WHERE dept = 20);
-- 'ann'
SELECT name FROM emp WHERE pay > SOME (SELECT pay FROM emp WHERE dept = 10);
-- 'ann'
-- 'cid'
SELECT name FROM emp WHERE pay >= ALL (SELECT pay FROM emp WHERE pay IS NOT NULL);
-- 'ann'

-- = ANY is IN, <> ALL is NOT IN.
SELECT name FROM emp WHERE dept = ANY (SELECT id FROM dept WHERE floor = 2);
-- 'cid'
-- 'dee'
SELECT name FROM dept WHERE id <> ALL (SELECT dept FROM emp WHERE dept IS NOT NULL);
-- 'staff'

-- NULL: ALL is false where one comparison is false, ANY is true where one is true, and NULL else.
SELECT name, pay > ALL (SELECT pay FROM emp WHERE dept = 20), pay > ANY (SELECT pay FROM emp WHERE dept = 20) FROM emp;
-- 'ann' | NULL | true
-- 'bob' | false | NULL
-- 'cid' | false | NULL
-- 'dee' | NULL | NULL
-- 'eve' | false | NULL
SELECT name, pay <= ALL (SELECT pay FROM emp), pay <= ANY (SELECT pay FROM emp) FROM emp;
-- 'ann' | false | true
-- 'bob' | false | true
-- 'cid' | false | true
-- 'dee' | NULL | NULL
-- 'eve' | NULL | true

-- Over no rows ALL is true and ANY is false, for NULL too.
SELECT NULL > ALL (SELECT id FROM nothing), NULL > ANY (SELECT id FROM nothing);
-- true | false
SELECT count(*) FROM emp WHERE pay = ALL (SELECT id FROM nothing);
-- 5

-- Correlated.
SELECT name FROM emp e WHERE pay >= ALL (SELECT pay FROM emp o WHERE o.dept = e.dept AND pay IS NOT NULL);
-- 'ann'
-- 'cid'
-- 'eve'
SELECT name, pay > ALL (SELECT pay FROM emp o WHERE o.boss = e.id) FROM emp e;
-- 'ann' | true
-- 'bob' | true
-- 'cid' | NULL
-- 'dee' | true
-- 'eve' | true
SELECT name, pay < ANY (SELECT pay FROM emp o WHERE o.id < e.id) FROM emp e;
-- 'ann' | false
-- 'bob' | true
-- 'cid' | true
-- 'dee' | NULL
-- 'eve' | true
SELECT name FROM emp e WHERE id = ANY (SELECT boss FROM emp WHERE dept = e.dept);
-- 'ann'
-- 'cid'
SELECT name FROM emp WHERE (pay > 85) = ANY (VALUES (TRUE));
-- 'ann'
-- 'cid'

SELECT name FROM emp WHERE id = ANY (ARRAY[1, 2]);
-- 'ann'
-- 'bob'
SELECT name FROM emp WHERE id = ALL (SELECT id, name FROM emp);
-- error: ProgrammingError: the subquery has 2 columns, but is compared with 1 (line 1, column 28)
SELECT name FROM emp WHERE name < ANY (SELECT id FROM emp);
-- error: ProgrammingError: cannot compare 'name' (VARCHAR) with 'id' (INTEGER) (line 1, column 28)
