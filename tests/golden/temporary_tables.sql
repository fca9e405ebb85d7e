CREATE TABLE t (x INTEGER);

INSERT INTO t VALUES (1);

-- A temporary table hides the table of its name, as main.t too.
CREATE TEMP TABLE t (y INTEGER PRIMARY KEY, z VARCHAR DEFAULT 'd');

INSERT INTO t (y) VALUES (10), (11);

SELECT * FROM T ORDER BY y;
-- 10 | 'd'
-- 11 | 'd'

SELECT y FROM main.t ORDER BY y;
-- 10
-- 11

SELECT x, y FROM raydb.t AS own, temp.t AS mine WHERE y = 10;
-- 1 | 10

SELECT x FROM raydb.main.t;
-- 1

INSERT INTO t (y) SELECT x + 100 FROM raydb.t RETURNING *;
-- 101 | 'd'

UPDATE t SET z = 'u' FROM raydb.t AS o WHERE y = o.x + 9;

DELETE FROM temp.t WHERE y = 11;

SELECT * FROM t ORDER BY y;
-- 10 | 'u'
-- 101 | 'd'

INSERT INTO t (y) VALUES (10);
-- error: IntegrityError: table 't', row 1: the primary key (y) = (10) is in the table already

INSERT INTO t (y) VALUES (10) ON CONFLICT (y) DO UPDATE SET z = 'again';

SELECT z FROM t WHERE y = 10;
-- 'again'

SELECT x FROM raydb.t;
-- 1

-- Views: a temporary one may read both, a lasting one nothing that is temporary.
CREATE TEMPORARY VIEW both_tables AS SELECT y, x FROM t, raydb.t AS own;

SELECT * FROM both_tables ORDER BY y;
-- 10 | 1
-- 101 | 1

CREATE VIEW lasting AS SELECT y FROM t;
-- error: ProgrammingError: column 'y' does not exist in 't' (line 1, column 31)

CREATE VIEW lasting AS SELECT y FROM temp.t;
-- error: ProgrammingError: schema 'temp' does not exist, and no database is attached as 'temp' (line 1, column 38)

CREATE VIEW lasting AS SELECT x FROM t;

SELECT * FROM lasting;
-- 1

DROP TABLE t;
-- error: ProgrammingError: table 't' cannot be dropped: the view 'both_tables' needs it; CASCADE drops it too (line 1, column 12)

DROP VIEW both_tables;

-- What is defined on it is temporary too.
CREATE UNIQUE INDEX i ON t (z);

INSERT INTO t VALUES (12, 'd');
-- error: IntegrityError: table 't', row 1: the unique key 'i' (z) = ('d') is in the table already

DROP INDEX i;

ALTER TABLE t ADD COLUMN q DOUBLE;

DESCRIBE t;
-- 'q' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'y' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
-- 'z' | 'VARCHAR' | 'YES' | NULL | '''d''' | NULL

CREATE TEMP TABLE child (y INTEGER REFERENCES t (y) ON DELETE CASCADE);

INSERT INTO child VALUES (10), (99);
-- error: IntegrityError: table 'child', row 2: the foreign key (y) = (99) has no row in 't' (y)

INSERT INTO child VALUES (10);

DELETE FROM t WHERE y = 10;

SELECT count(*) FROM child;
-- 0

DROP TABLE child;

CREATE TEMP TABLE numbered (id INTEGER GENERATED ALWAYS AS IDENTITY, name VARCHAR);

INSERT INTO numbered (name) VALUES ('a'), ('b') RETURNING *;
-- 1 | 'a'
-- 2 | 'b'

CREATE OR REPLACE TEMP TABLE numbered AS SELECT range AS r FROM range(5);

SELECT sum(r) FROM numbered;
-- 10

CREATE TEMP TABLE IF NOT EXISTS numbered (r INTEGER);

CREATE TEMP TABLE numbered (r INTEGER);
-- error: ProgrammingError: table 'numbered' exists already (line 1, column 19)

-- Transactions are those of all tables.
BEGIN;

INSERT INTO numbered VALUES (7);

INSERT INTO raydb.t VALUES (2);

SAVEPOINT s;

DELETE FROM numbered;

ROLLBACK TO s;

SELECT count(*) FROM numbered;
-- 6

ROLLBACK;

SELECT (SELECT count(*) FROM numbered), (SELECT count(*) FROM raydb.t);
-- 5 | 1

SHOW TABLES;
-- 'lasting'
-- 'numbered'
-- 't'

SELECT table_catalog, table_name, table_type FROM information_schema.tables ORDER BY ALL;
-- 'raydb' | 'lasting' | 'VIEW'
-- 'raydb' | 't' | 'BASE TABLE'
-- 'temp' | 'numbered' | 'LOCAL TEMPORARY'
-- 'temp' | 't' | 'LOCAL TEMPORARY'

SELECT table_name, temporary FROM duckdb_tables() ORDER BY ALL;
-- 'numbered' | true
-- 't' | false
-- 't' | true

SELECT name FROM pragma_table_info('numbered');
-- 'r'

TRUNCATE numbered;

EXPLAIN INSERT INTO numbered VALUES (1);
-- 'path: general (the query has no aggregate)'
-- 'InsertRows: numbered (r)'
-- '  ConstantRows: 1 row'

DROP TABLE t;

SELECT * FROM t;
-- 1

DROP TABLE IF EXISTS temp.nope;

DROP TABLE numbered, t;
-- error: ProgrammingError: what one statement changes is in one database

CREATE TEMP TABLE other.t (x INTEGER);
-- error: ProgrammingError: what is temporary is in the database 'temp', not in 'other' (line 1, column 8)

CREATE TEMP BVH b ON t (SCAN (x));
-- error: NotSupportedError: CREATE TEMP BVH is not supported

DETACH temp;
-- error: ProgrammingError: database 'temp' is the connection's own; it stays (line 1, column 8)

-- Databases in memory.
ATTACH ':memory:' AS side;

CREATE TABLE side.a (x INTEGER PRIMARY KEY);

INSERT INTO side.a VALUES (1), (2);

SELECT a.x, t.x FROM side.a JOIN t USING (x);
-- 1 | 1

USE side;

CREATE TABLE b AS SELECT x + 1 AS y FROM a;

CREATE VIEW v AS SELECT sum(y) AS s FROM b;

SELECT s FROM side.v;
-- 5

BEGIN;

INSERT INTO b VALUES (9);

INSERT INTO raydb.t VALUES (9);
-- error: OperationalError: the transaction has changed database 'side', so it cannot change 'raydb': one transaction changes one database, and temporary tables

ROLLBACK;

USE raydb;

SELECT s FROM side.v;
-- 5

SHOW TABLES FROM side;
-- 'a'
-- 'b'
-- 'v'

DETACH side;

SELECT * FROM side.a;
-- error: ProgrammingError: schema 'side' does not exist, and no database is attached as 'side' (line 1, column 15)

-- Sequences and types, also where a query alone asks for them.
CREATE TEMP SEQUENCE steps START 10;

SELECT nextval('steps'), nextval('steps'), currval('steps');
-- 10 | 11 | 11

CREATE TEMP TYPE mood AS ENUM ('ok', 'sad');

CREATE LOCAL TEMP TABLE felt (m mood, n INTEGER DEFAULT nextval('steps'));

INSERT INTO felt (m) VALUES ('sad') RETURNING n;
-- 12

SELECT m, 'ok'::mood < m FROM felt;
-- 'sad' | true

CREATE LOCAL TABLE felt (m INTEGER);
-- error: ProgrammingError: syntax error at line 1, column 14: unexpected 'TABLE', expected 'TEMPORARY'

DROP TYPE mood;
-- error: ProgrammingError: type 'mood' cannot be dropped: column 'm' of table 'felt' needs it (line 1, column 11)

DROP TABLE felt; DROP TYPE mood; DROP SEQUENCE steps;

SELECT nextval('steps');
-- error: ProgrammingError: sequence 'steps' does not exist (line 1, column 16)
