CREATE TABLE t (a INTEGER);

INSERT INTO t VALUES (1), (2), (3), (4), (5);

SELECT a FROM t ORDER BY a LIMIT 1 + 1;
-- 1
-- 2
SELECT a FROM t ORDER BY a LIMIT ALL OFFSET 3;
-- 4
-- 5
SELECT a FROM t ORDER BY a LIMIT NULL OFFSET 4;
-- 5
SELECT a FROM t ORDER BY a LIMIT 0;
-- (no rows)
SELECT a FROM t ORDER BY a OFFSET 2 * 2;
-- 5
SELECT a FROM t ORDER BY a FETCH FIRST 2 ROWS ONLY;
-- 1
-- 2
SELECT a FROM t ORDER BY a OFFSET 1 ROW FETCH NEXT ROW ONLY;
-- 2
SELECT a FROM t ORDER BY a DESC LIMIT 2 OFFSET 9;
-- (no rows)
SELECT count(*) FROM (SELECT a FROM t LIMIT 3) AS s;
-- 3
SELECT count(*) FROM (SELECT * FROM (SELECT a FROM t LIMIT 4) AS p LIMIT 3 OFFSET 2) AS s;
-- 2
SELECT count(*) FROM (SELECT a FROM t UNION ALL SELECT a FROM t LIMIT 7) AS s;
-- 7
SELECT a, b FROM (SELECT a FROM t UNION ALL SELECT 6) AS s LEFT JOIN (VALUES (6, 'six')) AS v(n, b) ON n = a ORDER BY a DESC LIMIT 2;
-- 6 | 'six'
-- 5 | NULL
SELECT count(*) FROM (SELECT a FROM t LEFT JOIN (VALUES (1), (1), (2)) AS v(n) ON n <= a LIMIT 4) AS s;
-- 4
VALUES (3), (1), (2) ORDER BY 1 LIMIT 2;
-- 1
-- 2
SELECT a FROM t WHERE a > (SELECT a FROM t ORDER BY a LIMIT 1 OFFSET 2) ORDER BY a;
-- 4
-- 5

SELECT a FROM t LIMIT -1;
-- error: ProgrammingError: LIMIT must not be negative, as -1 is
SELECT a FROM t LIMIT 1 - 2;
-- error: ProgrammingError: LIMIT must not be negative, as -1 is
SELECT a FROM t LIMIT 1.5;
-- error: ProgrammingError: LIMIT needs an integer, not 1.5 (DECIMAL(2,1))
SELECT a FROM t LIMIT 'x';
-- error: ProgrammingError: LIMIT needs an integer, not 'x' (VARCHAR) (line 1, column 23)
SELECT a FROM t LIMIT a;
-- error: ProgrammingError: column 'a' does not exist (line 1, column 23)
SELECT a FROM t LIMIT 10 PERCENT;
-- (no rows)
SELECT a FROM t LIMIT 1 / 0;
-- error: DataError: LIMIT: division by zero
SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES;
-- error: NotSupportedError: WITH TIES is not supported

SELECT 1 LIMIT 1 OFFSET ((SELECT 0) + 0);
-- 1

SELECT * FROM (SELECT sum(range) FROM range(100000000000)) LIMIT 0;
-- (no rows)
