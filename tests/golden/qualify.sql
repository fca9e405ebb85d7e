CREATE TABLE t (a INTEGER, b INTEGER);

INSERT INTO t VALUES (1, 10), (1, 20), (2, 5), (2, 6), (3, NULL);

SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b DESC) = 1 ORDER BY a;
-- 1 | 20
-- 2 | 6
-- 3 | NULL
SELECT a, b, rank() OVER (ORDER BY b) AS k FROM t QUALIFY k <= 2 ORDER BY k;
-- 2 | 5 | 1
-- 2 | 6 | 2
SELECT a, sum(b) AS s FROM t GROUP BY a QUALIFY sum(b) > avg(sum(b)) OVER () ORDER BY a;
-- 1 | 30
SELECT a, b FROM t WHERE b > 5 QUALIFY count(*) OVER (PARTITION BY a) > 1 ORDER BY b;
-- 1 | 10
-- 1 | 20
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 1 QUALIFY row_number() OVER (ORDER BY a DESC) = 1;
-- 2 | 2
SELECT DISTINCT a FROM t QUALIFY count(*) OVER (PARTITION BY a) = 2 ORDER BY a;
-- 1
-- 2
SELECT a, b FROM t QUALIFY row_number() OVER w = 2 WINDOW w AS (PARTITION BY a ORDER BY b) ORDER BY a;
-- 1 | 20
-- 2 | 6
SELECT a FROM t QUALIFY row_number() OVER (ORDER BY b) > 1 ORDER BY b LIMIT 1;
-- 2

SELECT a FROM t QUALIFY a > 1;
-- error: ProgrammingError: QUALIFY needs a window function; WHERE and HAVING do without
SELECT a FROM t WHERE row_number() OVER () = 1;
-- error: ProgrammingError: WHERE cannot contain the window function row_number (line 1, column 23)
SELECT row_number() OVER () AS k FROM t WHERE k = 1;
-- error: ProgrammingError: WHERE cannot contain the window function row_number
SELECT a FROM t GROUP BY a HAVING row_number() OVER () = 1;
-- error: ProgrammingError: HAVING cannot contain the window function row_number (line 1, column 35)
SELECT a FROM t QUALIFY list(a) OVER (ORDER BY b);
-- error: ProgrammingError: QUALIFY needs a condition, not 'list' (INTEGER[]) (line 1, column 25)

-- A window that is used nowhere still has to be right.
SELECT a FROM t WHERE a = 3 WINDOW w AS (ORDER BY b);
-- 3
SELECT a FROM t WINDOW w AS (ORDER BY nothing);
-- error: ProgrammingError: column 'nothing' does not exist in 't' (line 1, column 39)
SELECT a FROM t WINDOW w AS (ORDER BY a), w AS (ORDER BY b);
-- error: ProgrammingError: WINDOW defines 'w' twice (line 1, column 24)
