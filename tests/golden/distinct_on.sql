CREATE TABLE log (device VARCHAR, at INTEGER, value INTEGER);

INSERT INTO log VALUES ('a', 1, 10), ('a', 3, 30), ('a', 2, 20), ('b', 5, 50), ('b', 4, NULL), (NULL, 6, 60), (NULL, 7, 70);

-- The latest row of each device.
SELECT DISTINCT ON (device) device, at, value FROM log ORDER BY device, at DESC;
-- 'a' | 3 | 30
-- 'b' | 5 | 50
-- NULL | 7 | 70
SELECT DISTINCT ON (device) * FROM log ORDER BY device, value;
-- 'a' | 1 | 10
-- 'b' | 5 | 50
-- NULL | 6 | 60
SELECT DISTINCT ON (device) value FROM log ORDER BY device DESC, at;
-- 60
-- NULL
-- 10

-- Keys may be several, expressions, positions and aliases.
SELECT DISTINCT ON (device, at % 2) device, at FROM log ORDER BY device, at % 2, at;
-- 'a' | 2
-- 'a' | 1
-- 'b' | 4
-- 'b' | 5
-- NULL | 6
-- NULL | 7
SELECT DISTINCT ON (1) at % 2 AS odd, at FROM log ORDER BY 1, 2;
-- 0 | 2
-- 1 | 1
SELECT DISTINCT ON (odd) at % 2 AS odd, at FROM log ORDER BY odd, at DESC;
-- 0 | 6
-- 1 | 7
SELECT DISTINCT ON (device) device, at FROM log ORDER BY device, at LIMIT 1 OFFSET 1;
-- 'b' | 4
SELECT DISTINCT ON (count(*)) count(*), device FROM log GROUP BY device ORDER BY 1, device;
-- 2 | 'b'
-- 3 | 'a'
SELECT count(*) FROM (SELECT DISTINCT ON (device) at FROM log) AS t;
-- 3
SELECT DISTINCT at % 3 FROM log ORDER BY 1;
-- 0
-- 1
-- 2
SELECT ALL at % 3 FROM log WHERE at < 5 ORDER BY 1;
-- 0
-- 1
-- 1
-- 2

SELECT DISTINCT ON (nothing) device FROM log;
-- error: ProgrammingError: column 'nothing' does not exist in 'log' (line 1, column 21)
SELECT DISTINCT ON (4) device FROM log;
-- error: ProgrammingError: DISTINCT ON position 4 is not in the SELECT list, which has 1
SELECT DISTINCT device FROM log ORDER BY at;
-- error: ProgrammingError: ORDER BY of SELECT DISTINCT can only use selected columns
