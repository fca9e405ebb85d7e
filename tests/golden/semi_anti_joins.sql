CREATE TABLE a (x INTEGER, y INTEGER);

CREATE TABLE b (x INTEGER, y INTEGER);

INSERT INTO a VALUES (1, 1), (1, 2), (2, 2), (3, NULL), (NULL, 4);

INSERT INTO b VALUES (1, 1), (1, 9), (2, NULL), (NULL, 4);

-- The left rows with a partner, each once, and those without.
SELECT * FROM a SEMI JOIN b ON a.x = b.x;
-- 1 | 1
-- 1 | 2
-- 2 | 2
SELECT * FROM a ANTI JOIN b ON a.x = b.x;
-- 3 | NULL
-- NULL | 4
SELECT * FROM a LEFT SEMI JOIN b USING (x);
-- 1 | 1
-- 1 | 2
-- 2 | 2
SELECT * FROM a ANTI JOIN b USING (x, y);
-- 1 | 2
-- 2 | 2
-- 3 | NULL
-- NULL | 4
SELECT * FROM a NATURAL SEMI JOIN b;
-- 1 | 1
SELECT * FROM a NATURAL ANTI JOIN b;
-- 1 | 2
-- 2 | 2
-- 3 | NULL
-- NULL | 4

-- Any condition.
SELECT * FROM a SEMI JOIN b ON a.x < b.x;
-- 1 | 1
-- 1 | 2
SELECT * FROM a ANTI JOIN b ON a.x < b.x;
-- 2 | 2
-- 3 | NULL
-- NULL | 4
SELECT * FROM a SEMI JOIN b ON a.x = b.x AND a.y < b.y;
-- 1 | 1
-- 1 | 2
SELECT * FROM a ANTI JOIN b ON a.x = b.x AND a.y < b.y;
-- 2 | 2
-- 3 | NULL
-- NULL | 4
SELECT * FROM a SEMI JOIN b ON a.x = b.x OR a.y = b.y;
-- 1 | 1
-- 1 | 2
-- 2 | 2
-- NULL | 4
SELECT * FROM a ANTI JOIN b ON a.x = b.x AND a.y > 1;
-- 1 | 1
-- 3 | NULL
-- NULL | 4
SELECT * FROM a ANTI JOIN b ON a.x = b.x AND b.y IS NULL;
-- 1 | 1
-- 1 | 2
-- 3 | NULL
-- NULL | 4
SELECT * FROM a SEMI JOIN b ON a.x IS NOT DISTINCT FROM b.x;
-- 1 | 1
-- 1 | 2
-- 2 | 2
-- NULL | 4
SELECT * FROM a SEMI JOIN b ON TRUE;
-- 1 | 1
-- 1 | 2
-- 2 | 2
-- 3 | NULL
-- NULL | 4
SELECT * FROM a ANTI JOIN b ON FALSE;
-- 1 | 1
-- 1 | 2
-- 2 | 2
-- 3 | NULL
-- NULL | 4
SELECT * FROM a SEMI JOIN b ON a.x = 1;
-- 1 | 1
-- 1 | 2
SELECT * FROM a SEMI JOIN b ON a.x IN (SELECT x FROM b WHERE y > 5);
-- 1 | 1
-- 1 | 2

-- In a row with other joins, and with filters above.
SELECT a.x, c.y FROM a SEMI JOIN b ON a.x = b.x JOIN a c ON c.x = a.x WHERE a.y = 1;
-- 1 | 1
-- 1 | 2
SELECT x, count(*) FROM a SEMI JOIN b USING (x) GROUP BY x;
-- 1 | 2
-- 2 | 1
SELECT a.x FROM a ANTI JOIN b USING (x) ANTI JOIN (VALUES (3)) AS c(x) USING (x);
-- NULL

SELECT b.y FROM a SEMI JOIN b ON a.x = b.x;
-- error: ProgrammingError: table 'b' is not in FROM (line 1, column 8)
SELECT * FROM a SEMI JOIN b;
-- error: ProgrammingError: JOIN needs ON or USING
SELECT * FROM a RIGHT SEMI JOIN b ON a.x = b.x;
-- error: NotSupportedError: RIGHT SEMI JOIN is not supported; swap its sides
SELECT * FROM a SEMI JOIN LATERAL (SELECT a.x) l ON TRUE;
-- error: ProgrammingError: 'x' is not visible in the right side of a SEMI JOIN; only an inner or a LEFT JOIN has a row for it (line 1, column 45)
