-- WINDOW names windows; one may build on another that comes before it.
CREATE TABLE t (id INTEGER, g INTEGER, x INTEGER);

INSERT INTO t VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30), (4, 2, 40), (5, 2, 50);

SELECT id, sum(x) OVER w, count(*) OVER w FROM t WINDOW w AS (PARTITION BY g) ORDER BY id;
-- 1 | 30 | 2
-- 2 | 30 | 2
-- 3 | 120 | 3
-- 4 | 120 | 3
-- 5 | 120 | 3
SELECT id, sum(x) OVER (w ORDER BY id DESC), sum(x) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (PARTITION BY g) ORDER BY id;
-- 1 | 30 | 10
-- 2 | 20 | 30
-- 3 | 120 | 30
-- 4 | 90 | 70
-- 5 | 50 | 90
SELECT id, sum(x) OVER b, sum(x) OVER (b ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM t WINDOW a AS (PARTITION BY g), b AS (a ORDER BY id) ORDER BY id;
-- 1 | 10 | 30
-- 2 | 30 | 20
-- 3 | 30 | 70
-- 4 | 70 | 90
-- 5 | 120 | 50
SELECT id, rank() OVER W FROM t WINDOW w AS (ORDER BY x DESC) ORDER BY id;
-- 1 | 5
-- 2 | 4
-- 3 | 3
-- 4 | 2
-- 5 | 1

SELECT sum(x) OVER v FROM t WINDOW w AS (PARTITION BY g);
-- error: ProgrammingError: window 'v' does not exist (line 1, column 8)
SELECT sum(x) OVER (w PARTITION BY id) FROM t WINDOW w AS (ORDER BY g);
-- error: ProgrammingError: PARTITION BY cannot be added to the window 'w' (line 1, column 8)
SELECT sum(x) OVER (w ORDER BY id) FROM t WINDOW w AS (ORDER BY g);
-- error: ProgrammingError: the window 'w' has an ORDER BY already (line 1, column 8)
SELECT sum(x) OVER (w ORDER BY id) FROM t WINDOW w AS (PARTITION BY g ROWS 1 PRECEDING);
-- error: ProgrammingError: the window 'w' has a frame; nothing can be added to it (line 1, column 8)
SELECT sum(x) OVER b FROM t WINDOW b AS (a), a AS (ORDER BY g);
-- error: ProgrammingError: window 'a' does not exist (line 1, column 8)
SELECT sum(x) OVER a FROM t WINDOW a AS (a ORDER BY g);
-- error: ProgrammingError: window 'a' does not exist (line 1, column 8)
SELECT sum(x) OVER w FROM t WINDOW w AS (PARTITION BY g), w AS (ORDER BY g);
-- error: ProgrammingError: WINDOW defines 'w' twice (line 1, column 20)
