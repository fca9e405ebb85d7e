-- LIMIT n % keeps a share of the rows, as many whole rows as it has; OFFSET is a number of rows.
CREATE TABLE t (x INTEGER);
INSERT INTO t VALUES (3), (1), (4), (2);
SELECT x FROM t ORDER BY x LIMIT 50%;
-- 1
-- 2
SELECT x FROM t ORDER BY x DESC LIMIT 30 PERCENT OFFSET 1;
-- 3
SELECT x FROM t ORDER BY x LIMIT 10.5%;
-- (no rows)
SELECT x FROM t ORDER BY x LIMIT 100%;
-- 1
-- 2
-- 3
-- 4
SELECT x FROM t ORDER BY x LIMIT 0%;
-- (no rows)
SELECT x FROM t ORDER BY x LIMIT (25 * 3) %;
-- error: NotSupportedError: LIMIT of a share that is no constant is not supported
SELECT count(*) FROM (FROM range(1000) LIMIT 0.5%);
-- 5
SELECT x FROM t LIMIT 101%;
-- error: ProgrammingError: LIMIT takes 0 to 100 percent, not 101
SELECT x FROM t LIMIT -1%;
-- error: ProgrammingError: LIMIT takes 0 to 100 percent, not -1
SELECT x FROM t LIMIT 'a' %;
-- error: ProgrammingError: LIMIT takes a number of percent, not 'a' (VARCHAR) (line 1, column 23)
SELECT x FROM t LIMIT (SELECT 50) %;
-- error: NotSupportedError: LIMIT of a share that is no constant is not supported
SELECT x FROM t ORDER BY x FETCH FIRST 50 PERCENT ROWS ONLY;
-- error: NotSupportedError: PERCENT is not supported
PREPARE p AS SELECT x FROM t ORDER BY x LIMIT $1 %;
EXECUTE p(75);
-- 1
-- 2
-- 3
EXECUTE p(25);
-- 1
