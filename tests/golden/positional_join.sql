-- The first rows of both sides as one, the second ones, and so on.
CREATE TABLE a (x INTEGER);
INSERT INTO a VALUES (1), (2);
CREATE TABLE b (y INTEGER, z VARCHAR);
INSERT INTO b VALUES (1, 'a'), (2, 'b'), (3, 'c');
SELECT * FROM a POSITIONAL JOIN b;
-- 1 | 1 | 'a'
-- 2 | 2 | 'b'
-- NULL | 3 | 'c'
SELECT * FROM b POSITIONAL JOIN a WHERE x = 2;
-- 2 | 'b' | 2
SELECT * FROM (SELECT 1 AS p) POSITIONAL JOIN (SELECT 2 AS q) POSITIONAL JOIN range(2) AS r (n);
-- 1 | 2 | 0
-- NULL | NULL | 1
SELECT count(*), count(x), sum(y) FROM a positional join b;
-- 3 | 2 | 6
SELECT * FROM a POSITIONAL JOIN b ON x = y;
-- error: ProgrammingError: a POSITIONAL JOIN takes no condition
SELECT * FROM a POSITIONAL JOIN a;
-- error: ProgrammingError: table name 'a' is used twice in FROM; give one of them an alias (line 1, column 15)

-- The word is a name elsewhere.
SELECT positional FROM (SELECT 1 AS positional) positional;
-- 1
SELECT positional.x FROM a AS positional JOIN b ON positional.x = y;
-- 1
-- 2
