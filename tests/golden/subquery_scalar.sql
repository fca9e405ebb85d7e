CREATE TABLE emp (id INTEGER PRIMARY KEY, name VARCHAR, dept INTEGER, boss INTEGER, pay INTEGER);

CREATE TABLE dept (id INTEGER, name VARCHAR, floor INTEGER);

CREATE TABLE nothing (id INTEGER, name VARCHAR);

INSERT INTO emp VALUES (1, 'ann', 10, NULL, 100), (2, 'bob', 10, 1, 80), (3, 'cid', 20, 1, 90),
    (4, 'dee', 20, 3, NULL), (5, 'eve', NULL, 3, 70);

INSERT INTO dept VALUES (10, 'sales', 1), (20, 'stock', 2), (30, 'staff', NULL), (NULL, 'ghost', 2);

-- A scalar subquery is a value wherever one may stand.
SELECT (SELECT 7), (SELECT max(pay) FROM emp) + 1;
-- 7 | 101
SELECT name FROM emp WHERE pay = (SELECT max(pay) FROM emp);
-- 'ann'
SELECT name, pay - (SELECT avg(pay) FROM emp) AS over_average FROM emp ORDER BY name;
-- 'ann' | 15.0
-- 'bob' | -5.0
-- 'cid' | 5.0
-- 'dee' | NULL
-- 'eve' | -15.0
SELECT dept, max(pay) FROM emp GROUP BY dept HAVING max(pay) > (SELECT avg(pay) FROM emp);
-- 10 | 100
-- 20 | 90
SELECT name FROM emp ORDER BY (SELECT floor FROM dept WHERE dept.id = emp.dept), name DESC;
-- 'bob'
-- 'ann'
-- 'dee'
-- 'cid'
-- 'eve'
SELECT name, CASE WHEN pay > (SELECT avg(pay) FROM emp) THEN 'more' ELSE 'less' END FROM emp;
-- 'ann' | 'more'
-- 'bob' | 'less'
-- 'cid' | 'more'
-- 'dee' | 'less'
-- 'eve' | 'less'
SELECT coalesce((SELECT floor FROM dept WHERE id = 30), (SELECT min(floor) FROM dept));
-- 1
SELECT upper((SELECT name FROM dept WHERE id = 20));
-- 'STOCK'
SELECT e.name, d.name FROM emp e JOIN dept d ON e.dept = d.id AND e.pay >= (SELECT min(pay) FROM emp) + 20;
-- 'ann' | 'sales'
-- 'cid' | 'stock'
SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id AND e.pay > (SELECT avg(pay) FROM emp);
-- 'ann' | 'sales'
-- 'bob' | NULL
-- 'cid' | 'stock'
-- 'dee' | NULL
-- 'eve' | NULL
VALUES ((SELECT count(*) FROM emp), 'all'), (0, 'none');
-- 0 | 'none'
-- 5 | 'all'
SELECT count(*) FILTER (WHERE pay > (SELECT avg(pay) FROM emp)) FROM emp;
-- 2
SELECT sum((SELECT floor FROM dept WHERE dept.id = emp.dept)) FROM emp;
-- 6
SELECT name FROM emp WHERE pay BETWEEN (SELECT min(pay) FROM emp) AND (SELECT avg(pay) FROM emp);
-- 'bob'
-- 'eve'

-- No row is NULL; more than one row is an error, also where CASE would not ask for the value.
SELECT (SELECT name FROM nothing), (SELECT name FROM nothing) IS NULL;
-- NULL | true
SELECT (SELECT sum(id) FROM nothing), (SELECT count(*) FROM nothing);
-- NULL | 0
SELECT name FROM emp WHERE pay > (SELECT id FROM nothing);
-- (no rows)
SELECT (SELECT name FROM emp);
-- error: DataError: a subquery used as an expression gave more than one row
SELECT (SELECT name FROM emp WHERE pay > 95);
-- 'ann'
SELECT (SELECT name FROM emp ORDER BY pay DESC NULLS LAST LIMIT 1);
-- 'ann'
SELECT CASE WHEN FALSE THEN (SELECT name FROM emp) ELSE 'x' END;
-- 'x'
SELECT (SELECT id, name FROM emp);
-- error: ProgrammingError: a subquery used as an expression must have one column, not 2 (line 1, column 16)

-- Inside each other, with views and common table expressions.
SELECT (SELECT (SELECT max(floor) FROM dept) + max(pay) FROM emp);
-- 102
WITH rich AS (SELECT * FROM emp WHERE pay >= 90) SELECT (SELECT count(*) FROM rich), (SELECT max(name) FROM rich);
-- 2 | 'cid'
SELECT (WITH rich AS (SELECT * FROM emp WHERE pay >= 90) SELECT count(*) FROM rich);
-- 2
CREATE VIEW poor AS SELECT name, pay FROM emp WHERE pay < (SELECT avg(pay) FROM emp);

SELECT * FROM poor WHERE pay = (SELECT min(pay) FROM poor);
-- 'eve' | 70

-- In statements that change tables.
CREATE TABLE note (id INTEGER, what VARCHAR);

INSERT INTO note VALUES ((SELECT max(id) FROM emp) + 1, (SELECT name FROM dept WHERE id = 30));

INSERT INTO note SELECT id, (SELECT d.name FROM dept d WHERE d.id = emp.dept) FROM emp WHERE pay > (SELECT avg(pay) FROM emp);

SELECT * FROM note;
-- 1 | 'sales'
-- 3 | 'stock'
-- 6 | 'staff'
UPDATE note SET what = (SELECT name FROM emp WHERE emp.id = note.id) WHERE id < (SELECT count(*) FROM dept);

SELECT * FROM note;
-- 1 | 'ann'
-- 3 | 'cid'
-- 6 | 'staff'
DELETE FROM note WHERE id > (SELECT avg(id) FROM note);

SELECT * FROM note;
-- 1 | 'ann'
-- 3 | 'cid'

-- Names that are known nowhere.
SELECT (SELECT max(pai) FROM emp);
-- error: ProgrammingError: column 'pai' does not exist in 'emp'; did you mean 'pay'? (line 1, column 20)
SELECT name FROM emp WHERE pay > (SELECT avg(pay) FROM empp);
-- error: ProgrammingError: table 'empp' does not exist; did you mean 'emp'? (line 1, column 56)
SELECT name FROM emp LIMIT (SELECT 2);
-- 'ann'
-- 'bob'
