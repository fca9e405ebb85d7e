CREATE TABLE t (
  id INTEGER PRIMARY KEY, n INTEGER DEFAULT 1 + 2, s VARCHAR NOT NULL DEFAULT 'a' || 'b', d DATE DEFAULT '2026-05-01',
  m DECIMAL(6, 2) DEFAULT -1.5, b BOOLEAN DEFAULT NULL, x INTEGER);

-- Columns that an INSERT does not name have their default.
INSERT INTO t (id) VALUES (1);

INSERT INTO t (x, id) SELECT 7, 2;

INSERT INTO t VALUES (3, DEFAULT, 'c', DEFAULT, 2, true, DEFAULT);

SELECT * FROM t ORDER BY id;
-- 1 | 3 | 'ab' | 2026-05-01 | -1.50 | NULL | NULL
-- 2 | 3 | 'ab' | 2026-05-01 | -1.50 | NULL | 7
-- 3 | 3 | 'c' | 2026-05-01 | 2.00 | true | NULL

-- NULL that is written stays NULL.
INSERT INTO t (id, n, s) VALUES (4, NULL, NULL);
-- error: IntegrityError: table 't', row 1: column 's' is NOT NULL, but has no value

INSERT INTO t (id, n) VALUES (4, NULL);

SELECT n, s FROM t WHERE id = 4;
-- NULL | 'ab'

INSERT INTO t DEFAULT VALUES;
-- error: IntegrityError: table 't', row 1: column 'id' is NOT NULL, but has no value

UPDATE t SET n = DEFAULT, x = DEFAULT, m = m + 1 WHERE id IN (2, 4);

SELECT id, n, m, x FROM t WHERE id IN (2, 4) ORDER BY id;
-- 2 | 3 | -0.50 | NULL
-- 4 | 3 | -0.50 | NULL

CREATE TABLE u (a INTEGER DEFAULT 5, b VARCHAR DEFAULT upper('x'));

INSERT INTO u DEFAULT VALUES;

INSERT INTO u BY NAME SELECT 'y' AS b;

INSERT INTO u BY NAME SELECT 'z' AS c;
-- error: ProgrammingError: column 'c' does not exist in 'u' (line 1, column 37)

SELECT * FROM u;
-- 5 | 'X'
-- 5 | 'y'

-- COPY with a list of columns.
COPY (SELECT 8 AS id UNION ALL SELECT 9) TO '$TMP/ids.csv';

COPY t (id) FROM '$TMP/ids.csv';

SELECT * FROM t WHERE id >= 8 ORDER BY id;
-- 8 | 3 | 'ab' | 2026-05-01 | -1.50 | NULL | NULL
-- 9 | 3 | 'ab' | 2026-05-01 | -1.50 | NULL | NULL

-- The time of the statement.
CREATE TABLE log (id INTEGER, at TIMESTAMP DEFAULT now(), day DATE DEFAULT current_date);

INSERT INTO log (id) VALUES (1), (2);

SELECT count(*), count(DISTINCT at), count(at), count(day) FROM log;
-- 2 | 1 | 2 | 2

-- A default is checked when it is written down.
CREATE TABLE w (a INTEGER DEFAULT 'x');
-- error: DataError: column 'a': 'x' is not a valid INTEGER

CREATE TABLE w (a INTEGER DEFAULT b, b INTEGER);
-- error: ProgrammingError: column 'b' does not exist (line 1, column 35)

CREATE TABLE w (a INTEGER DEFAULT (SELECT 1));
-- error: ProgrammingError: the default of column 'a' can't have a query in it (line 1, column 17)

CREATE TABLE w (a INTEGER DEFAULT count(*));
-- error: ProgrammingError: DEFAULT cannot contain the aggregate count

CREATE TABLE w (a INTEGER DEFAULT $1);
-- error: ProgrammingError: the default of column 'a' can't have parameters (line 1, column 17)

CREATE TABLE w (a DATE DEFAULT 5);
-- error: ProgrammingError: column 'a' has the type DATE, but its value is 5 (INTEGER) (line 1, column 17)

CREATE TABLE w (a TINYINT DEFAULT 1000);

INSERT INTO w DEFAULT VALUES;
-- error: DataError: 1000 is out of range for TINYINT

INSERT INTO u (a) VALUES (DEFAULT + 1);
-- error: ProgrammingError: syntax error at line 1, column 35: unexpected '+', expected ')'

SELECT DEFAULT;
-- error: ProgrammingError: column 'DEFAULT' does not exist (line 1, column 8)

INSERT INTO u (a) DEFAULT VALUES;
-- error: ProgrammingError: DEFAULT VALUES takes no list of columns
