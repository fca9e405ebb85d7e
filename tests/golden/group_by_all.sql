CREATE TABLE t (a INTEGER, b VARCHAR, c INTEGER);

INSERT INTO t VALUES (1, 'x', 10), (1, 'y', 20), (2, 'x', 30), (2, 'x', 40);

SELECT a, sum(c) FROM t GROUP BY ALL ORDER BY a;
-- 1 | 30
-- 2 | 70
SELECT b, a, count(*) FROM t GROUP BY ALL ORDER BY ALL;
-- 'x' | 1 | 1
-- 'x' | 2 | 2
-- 'y' | 1 | 1
SELECT a % 2 AS odd, sum(c) AS s FROM t GROUP BY ALL ORDER BY ALL DESC;
-- 1 | 30
-- 0 | 70
SELECT sum(c) FROM t GROUP BY ALL;
-- 100
SELECT DISTINCT a FROM t GROUP BY ALL ORDER BY a;
-- 1
-- 2
SELECT a, b FROM t GROUP BY ALL ORDER BY a, b;
-- 1 | 'x'
-- 1 | 'y'
-- 2 | 'x'
SELECT a, sum(c), rank() OVER (ORDER BY sum(c) DESC) AS k FROM t GROUP BY ALL ORDER BY k;
-- 2 | 70 | 1
-- 1 | 30 | 2
SELECT b, a FROM t ORDER BY ALL;
-- 'x' | 1
-- 'x' | 2
-- 'x' | 2
-- 'y' | 1

-- Aliases of the select list work in every clause, after the columns of FROM.
SELECT a AS k, sum(c) AS s FROM t GROUP BY k HAVING s > 30 ORDER BY s;
-- 2 | 70
SELECT upper(b) AS u, count(*) FROM t GROUP BY lower(u) || '!', u ORDER BY u;
-- 'X' | 3
-- 'Y' | 1
SELECT a + 1 AS k, k * 2 AS d FROM t WHERE k = 3;
-- 3 | 6
-- 3 | 6
SELECT c AS a, count(*) FROM t GROUP BY a, c ORDER BY a;
-- 10 | 1
-- 20 | 1
-- 30 | 1
-- 40 | 1
SELECT -a AS c FROM t WHERE c > 20 ORDER BY c;
-- -2
-- -2
SELECT b AS a, a AS b FROM t ORDER BY a, b, c;
-- 'x' | 1
-- 'x' | 2
-- 'x' | 2
-- 'y' | 1
SELECT a, (SELECT max(c) FROM t AS u WHERE u.a = t.a) AS m FROM t WHERE m > 20 ORDER BY a;
-- 2 | 40
-- 2 | 40
SELECT (SELECT max(c) FROM t AS u WHERE u.a = t.a) AS m, m + 1 AS n, count(*) FROM t GROUP BY m HAVING m > 20 ORDER BY m;
-- 40 | 41 | 2

-- HAVING works without GROUP BY: all rows are one group.
SELECT sum(c) FROM t HAVING count(*) > 3;
-- 100
SELECT sum(c) FROM t HAVING count(*) > 4;
-- (no rows)
SELECT 'one' FROM t HAVING true;
-- 'one'

SELECT a, a + sum(c) FROM t GROUP BY ALL ORDER BY a;
-- 1 | 31
-- 2 | 72
SELECT b + sum(c) FROM t GROUP BY ALL;
-- error: ProgrammingError: cannot add 'sum' (BIGINT) to 'b' (VARCHAR) (line 1, column 8)
SELECT sum(c) AS s FROM t WHERE s > 3;
-- error: ProgrammingError: WHERE cannot contain the aggregate sum
SELECT sum(c) AS s, max(s) FROM t;
-- error: ProgrammingError: max() cannot contain an aggregate or a window function
SELECT sum(max(c)) FROM t;
-- error: ProgrammingError: an aggregate cannot contain the aggregate max (line 1, column 12)
SELECT sum(c) AS s FROM t GROUP BY s;
-- error: ProgrammingError: GROUP BY cannot contain an aggregate
SELECT a AS k, b AS k FROM t WHERE k = 1;
-- error: ProgrammingError: column 'k' is ambiguous: the select list has two (line 1, column 36)
SELECT k * 2, a AS k FROM t;
-- error: ProgrammingError: column 'k' does not exist in 't' (line 1, column 8)
SELECT a FROM t HAVING count(*) > 1;
-- error: ProgrammingError: column 'a' must be in GROUP BY or inside an aggregate (line 1, column 8)
