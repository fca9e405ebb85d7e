-- Databases beside the own one.
ATTACH '$TMP/other.raydb' AS o;

CREATE TABLE o.t (x INTEGER, s VARCHAR);

INSERT INTO o.t VALUES (1, 'a'), (2, 'b');

CREATE TABLE own (x INTEGER);

INSERT INTO own VALUES (2), (3);

SELECT * FROM o.t ORDER BY x;
-- 1 | 'a'
-- 2 | 'b'

SELECT own.x, t.s FROM own LEFT JOIN o.main.t ON own.x = t.x ORDER BY 1;
-- 2 | 'b'
-- 3 | NULL

INSERT INTO own SELECT x + 10 FROM o.t;

UPDATE o.t SET s = 'c' WHERE x IN (FROM own);

USE o;

SELECT * FROM t ORDER BY x;
-- 1 | 'a'
-- 2 | 'c'

DETACH o;
-- error: ProgrammingError: database 'o' is the current one; USE another one first (line 1, column 8)

USE raydb;

DETACH o;

SELECT * FROM o.t;
-- error: ProgrammingError: schema 'o' does not exist, and no database is attached as 'o' (line 1, column 15)

-- Read only.
ATTACH '$TMP/other.raydb' AS again (READ_ONLY);

SELECT s FROM again.t ORDER BY x;
-- 'a'
-- 'c'

INSERT INTO again.t VALUES (3, 'd');
-- error: OperationalError: database 'again' is attached, and so read-only

ATTACH ':memory:' AS m;

CREATE TABLE m.t AS FROM again.t;

SELECT count(*) FROM m.t;
-- 2

SHOW DATABASES;
-- 'again'
-- 'm'
-- 'raydb'

ATTACH '$TMP/missing/there.raydb' AS w;
-- error: OperationalError: directory '$TMP/missing' does not exist

DETACH nothing;
-- error: ProgrammingError: database 'nothing' is not attached (line 1, column 8)
