-- FILTER (WHERE ...) chooses the rows of one aggregate; it comes before the argument is computed.
CREATE TABLE t (g INTEGER, x INTEGER, s VARCHAR);

INSERT INTO t VALUES (1, 0, 'a'), (1, 2, 'b'), (1, NULL, 'c'), (2, 5, NULL), (2, 0, 'e');

SELECT g, count(*), count(*) FILTER (WHERE x > 0), sum(x) FILTER (WHERE s > 'a'), min(s) FILTER (WHERE x IS NULL) FROM t GROUP BY g ORDER BY g;
-- 1 | 3 | 1 | 2 | 'c'
-- 2 | 2 | 1 | 0 | NULL
SELECT count(*) FILTER (WHERE NULL), count(*) FILTER (WHERE x = 0 OR NULL), sum(x) FILTER (WHERE FALSE), avg(x) FILTER (WHERE TRUE) FROM t;
-- 0 | 2 | NULL | 1.75

-- A row that is filtered out cannot fail.
SELECT sum(10 / x) FILTER (WHERE x <> 0) FROM t;
-- 7
SELECT g, sum(100 / x) FILTER (WHERE x <> 0), max(s::INTEGER) FILTER (WHERE s = '1') FROM t GROUP BY g ORDER BY g;
-- 1 | 50 | NULL
-- 2 | 20 | NULL
SELECT sum(10 / x) FROM t;
-- error: DataError: division by zero

-- With DISTINCT, ORDER BY, WITHIN GROUP and HAVING.
SELECT count(DISTINCT x) FILTER (WHERE x < 5), string_agg(s, '' ORDER BY s DESC) FILTER (WHERE g = 1), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 0) FROM t;
-- 2 | 'cba' | 2
SELECT g FROM t GROUP BY g HAVING count(*) FILTER (WHERE x = 0) = 1 ORDER BY g;
-- 1
-- 2
SELECT count_if(x = 0) FILTER (WHERE g = 1) FROM t;
-- 1

SELECT count(*) FILTER (WHERE [x]) FROM t;
-- error: ProgrammingError: FILTER needs a condition, not an expression (INTEGER[]) (line 1, column 8)
SELECT count(*) FILTER (WHERE sum(x) > 1) FROM t;
-- error: ProgrammingError: an aggregate cannot contain the aggregate sum (line 1, column 31)
SELECT count(*) FILTER (WHERE y > 1) FROM t;
-- error: ProgrammingError: column 'y' does not exist in 't' (line 1, column 31)
SELECT x FILTER (WHERE x > 1) FROM t;
-- error: ProgrammingError: syntax error at line 1, column 17: unexpected '('
