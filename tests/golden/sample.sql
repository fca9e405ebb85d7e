CREATE TABLE t AS SELECT range AS x, range % 4 AS g FROM range(150000);

SELECT count(*) FROM t USING SAMPLE 10;
-- 10
SELECT count(*) FROM t USING SAMPLE 100 ROWS;
-- 100
SELECT count(*) FROM t TABLESAMPLE RESERVOIR (20 ROWS) WHERE x >= 0;
-- 20
SELECT count(*) FROM range(10) USING SAMPLE 100 ROWS;
-- 10
SELECT * FROM range(10) USING SAMPLE 0 ROWS;
-- (no rows)
SELECT count(*) FROM t TABLESAMPLE 0%;
-- 0
SELECT count(*) FROM t TABLESAMPLE 100 PERCENT;
-- 150000
SELECT count(*) BETWEEN 74000 AND 76000, count(DISTINCT x) = count(*) FROM t TABLESAMPLE BERNOULLI (50);
-- true | true
SELECT g, count(*) BETWEEN 3300 AND 4200 FROM t AS s TABLESAMPLE 10% GROUP BY g ORDER BY g;
-- 0 | true
-- 1 | true
-- 2 | true
-- 3 | true
SELECT count(*) FROM t JOIN (SELECT 1 AS g UNION ALL SELECT 2) AS v TABLESAMPLE 1 ROWS ON t.g = v.g USING SAMPLE 50 ROWS;
-- 50
SELECT count(*) < 60 FROM t WHERE g = 1 USING SAMPLE 100 ROWS;
-- true
SELECT sum(x) = (SELECT sum(x) FROM t USING SAMPLE 10% (bernoulli, 42)) FROM t USING SAMPLE 10% (bernoulli, 42);
-- true
SELECT sum(x) = (SELECT sum(x) FROM t TABLESAMPLE SYSTEM (10) REPEATABLE (7)) FROM t TABLESAMPLE SYSTEM (10) REPEATABLE (8);
-- false
SELECT * FROM (SELECT x FROM t USING SAMPLE RESERVOIR (3 ROWS) REPEATABLE (7)) ORDER BY x;
-- 27351
-- 49789
-- 127432
SELECT (SELECT sum(x) FROM t USING SAMPLE 1000 ROWS) = (SELECT sum(x) FROM t USING SAMPLE 1000 ROWS);
-- false

SELECT count(*) FROM t USING SAMPLE 200%;
-- error: ProgrammingError: a sample has 0 to 100 percent of the rows, not 200
SELECT count(*) FROM t USING SAMPLE 1.5 ROWS;
-- error: ProgrammingError: a sample has a whole number of rows, not 1.5
SELECT count(*) FROM t USING SAMPLE 'x';
-- error: ProgrammingError: a sample needs a number of rows or a percentage, such as 10%
SELECT count(*) FROM t TABLESAMPLE BLOCK (10);
-- error: NotSupportedError: a sample by BLOCK is not supported (line 1, column 22)
SELECT count(*) FROM t TABLESAMPLE (BUCKET 1 OUT OF 5);
-- error: NotSupportedError: BUCKET NUMERATOR is not supported (line 1, column 22)
