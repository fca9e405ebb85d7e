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

-- A row that a left join does not have has no partner either, though its key is never NULL.
CREATE TABLE land (l_id INTEGER PRIMARY KEY);

CREATE TABLE town (t_id INTEGER PRIMARY KEY, land INTEGER NOT NULL REFERENCES land (l_id));

CREATE TABLE trip (town INTEGER REFERENCES town (t_id), days INTEGER);

INSERT INTO land VALUES (1);

INSERT INTO town VALUES (10, 1);

INSERT INTO trip VALUES (10, 1), (NULL, 2), (NULL, NULL);

CREATE BVH trips ON trip (SCAN (days));

SELECT count(*), sum(days) FROM trip LEFT JOIN town ON town = t_id WHERE EXISTS (SELECT 1 FROM land WHERE l_id = town.land) OR days > 5;
-- 1 | 1

SELECT count(*), sum(days) FROM trip LEFT JOIN town ON town = t_id WHERE EXISTS (SELECT 1 FROM land WHERE l_id = town.land);
-- 1 | 1

SELECT count(*), sum(days) FROM trip LEFT JOIN town ON town = t_id WHERE NOT EXISTS (SELECT 1 FROM land WHERE l_id = town.land);
-- 2 | 2

SELECT count(*) FROM trip LEFT JOIN town ON town = t_id AND days < 9 WHERE town.land NOT IN (SELECT l_id FROM land) OR EXISTS (SELECT 1 FROM land WHERE l_id = town.land);
-- 1

SELECT count(*), count(l_id) FROM trip LEFT JOIN town ON town = t_id LEFT JOIN land ON town.land = l_id;
-- 3 | 1
