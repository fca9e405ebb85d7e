-- Another number for each row and call, and each is computed once.
SELECT count(DISTINCT random()), min(random()) >= 0, max(random()) < 1 FROM range(1000);
-- 1000 | true | true
SELECT random() = random();
-- false
SELECT count(*) FROM (SELECT random() AS x FROM range(100)) AS t WHERE x <> x OR x IS NULL;
-- 0
SELECT count(*), count(DISTINCT x) FROM (SELECT random() AS x FROM range(100)) AS t WHERE x + 1 = x + 1;
-- 100 | 100
WITH c AS (SELECT random() AS x FROM range(3)) SELECT count(*) FROM (SELECT * FROM c INTERSECT SELECT * FROM c) AS t;
-- 3
SELECT count(*) BETWEEN 400 AND 600 FROM range(1000) WHERE random() < 0.5;
-- true
SELECT count(DISTINCT x) FROM (SELECT (SELECT random()) AS x FROM range(10)) AS t;
-- 1

-- A condition on it stays where it is written.
SELECT count(*) BETWEEN 2000 AND 3000 FROM range(50) AS a, range(100) AS b WHERE random() < 0.5 AND a.range >= 0;
-- true
SELECT count(DISTINCT g) FROM (SELECT a.range AS g, random() AS r FROM range(20) AS a, range(100) AS b) AS t WHERE r < 0.5;
-- 20

-- A seed makes the numbers repeat.
SELECT setseed(0.25);
-- NULL
CREATE TABLE first AS SELECT random() AS x FROM range(5);
SELECT setseed(0.25);
-- NULL
CREATE TABLE second AS SELECT random() AS x FROM range(5);
SELECT count(*) FROM first NATURAL JOIN second;
-- 5

-- The plan is kept, its numbers are not.
CREATE TABLE t (a DOUBLE DEFAULT random());
INSERT INTO t SELECT random() FROM range(3);
INSERT INTO t SELECT random() FROM range(3);
INSERT INTO t DEFAULT VALUES;
SELECT count(DISTINCT a) FROM t;
-- 7
EXPLAIN SELECT sum(a) FROM t WHERE random() < 0.5;
-- 'path: general (it calls random())'
-- 'ComputeColumns: sum AS sum(a)'
-- '  HashAggregate: sum(a)'
-- '    general path: it calls random()'
-- '    FilterRows: (random() < 0.5)'
-- '      ScanTable: t (a)'

SELECT * FROM t LIMIT CAST(random() * 5 AS INTEGER);
-- error: NotSupportedError: random() in LIMIT is not supported
SELECT * FROM range(CAST(random() * 5 AS INTEGER));
-- error: NotSupportedError: random() in range() is not supported (line 1, column 15)
SELECT random(1);
-- error: ProgrammingError: random() takes 0 arguments, not 1 (line 1, column 8)
SELECT setseed('a');
-- error: ProgrammingError: setseed() needs a number, not 'a' (VARCHAR) (line 1, column 8)
