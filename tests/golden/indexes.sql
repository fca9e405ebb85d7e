CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE, l INTEGER[]);
INSERT INTO t VALUES (1, 'x', 1, NULL), (1, 'y', 2, NULL), (NULL, 'z', 3, NULL);

-- An index has a name of its own.
CREATE INDEX i ON t (a, b DESC);
CREATE INDEX i ON t (c);
-- error: ProgrammingError: index 'i' exists already (line 1, column 14)
CREATE INDEX IF NOT EXISTS i ON t (c);
CREATE INDEX t ON t (c);
-- error: ProgrammingError: table 't' exists already (line 1, column 14)
CREATE INDEX j ON t (d);
-- error: ProgrammingError: column 'd' does not exist in 't' (line 1, column 22)
CREATE INDEX j ON nothing (a);
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 19)
CREATE INDEX j ON t (a, a);
-- error: ProgrammingError: an index of table 't' names column 'a' twice (line 1, column 19)
CREATE INDEX j ON t (l);
-- error: NotSupportedError: column 'l' of table 't' is INTEGER[], which cannot be part of an index (line 1, column 22)

-- A unique one is enforced; NULL equals nothing.
CREATE UNIQUE INDEX u ON t (a);
-- error: IntegrityError: table 't', row 2: the unique key 'u' (a) = (1) is that of row 1
CREATE UNIQUE INDEX u ON main.t USING btree (b ASC);
INSERT INTO t (b) VALUES ('y');
-- error: IntegrityError: table 't', row 1: the unique key 'u' (b) = ('y') is in the table already
UPDATE t SET b = 'x';
-- error: IntegrityError: table 't', updated row 2: the unique key 'u' (b) = ('x') is that of updated row 1
INSERT INTO t (a, b) VALUES (2, NULL), (2, NULL);
INSERT INTO t (a, b, c) VALUES (3, 'y', 0) ON CONFLICT (b) DO UPDATE SET c = excluded.c + 9;
INSERT INTO t (a, b) VALUES (3, 'y') ON CONFLICT DO NOTHING;
SELECT a, b, c FROM t;
-- 1 | 'x' | 1.0
-- 1 | 'y' | 9.0
-- 2 | NULL | NULL
-- 2 | NULL | NULL
-- NULL | 'z' | 3.0
DESCRIBE t;
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | 'UNI' | NULL | NULL
-- 'c' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'l' | 'INTEGER[]' | 'YES' | NULL | NULL | NULL
SELECT * FROM indexes();
-- 'i' | 't' | 'a, b DESC' | false
-- 'u' | 't' | 'b' | true
SELECT count(*) FROM information_schema.table_constraints;
-- 0

-- A foreign key needs a constraint.
CREATE TABLE r (b VARCHAR REFERENCES t (b));
-- error: ProgrammingError: the foreign key (b) of table 'r' refers to (b), which is neither the primary key nor a unique key of table 't' (line 1, column 14)

-- Columns that are renamed, changed and dropped.
ALTER TABLE t RENAME COLUMN b TO name;
SELECT * FROM indexes();
-- 'i' | 't' | 'a, name DESC' | false
-- 'u' | 't' | 'name' | true
ALTER TABLE t ALTER COLUMN name TYPE VARCHAR USING 'same';
-- error: IntegrityError: table 't', row 2: the unique key 'u' (name) = ('same') is that of row 1
ALTER TABLE t DROP COLUMN a;
SELECT * FROM indexes();
-- 'u' | 't' | 'name' | true

-- REINDEX finds nothing to do.
REINDEX;
REINDEX u;
REINDEX INDEX u;
REINDEX TABLE t;
REINDEX INDEX nothing;
-- error: ProgrammingError: index 'nothing' does not exist (line 1, column 15)
REINDEX TABLE nothing;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 15)

DROP INDEX u, nothing;
-- error: ProgrammingError: index 'nothing' does not exist (line 1, column 15)
DROP INDEX IF EXISTS u, nothing;
INSERT INTO t (name) VALUES ('x'), ('x');
SELECT * FROM indexes();
-- (no rows)
BEGIN;
CREATE INDEX i ON t (name);
ROLLBACK;
DROP INDEX i;
-- error: ProgrammingError: index 'i' does not exist (line 1, column 12)

-- What is not there.
CREATE INDEX j ON t USING ivf (c);
-- error: NotSupportedError: column 'c' of table 't' is DOUBLE, but an ivf index needs FLOAT[n], DOUBLE[n], FLOAT16[n], TINYINT[n], BIT or BLOB (line 1, column 32)
CREATE INDEX j ON t (lower(name));
-- error: NotSupportedError: an index of an expression is not supported
CREATE INDEX j ON t (c) WHERE c > 1;
-- error: NotSupportedError: an index of some rows, CREATE INDEX ... WHERE, is not supported
CREATE INDEX ON t (c);
-- error: ProgrammingError: syntax error at line 1, column 14: unexpected 'ON', expected the name of an index
SELECT * FROM indexes(1);
-- error: ProgrammingError: indexes() takes no arguments, not 1 (line 1, column 15)

-- Where NULLs stand in the order of an index matters to no query.
CREATE TABLE sorted (a INTEGER, b INTEGER);

CREATE INDEX sorted_a ON sorted (a NULLS FIRST, b DESC NULLS LAST);

CREATE INDEX sorted_b ON sorted (a NULLS);
-- error: ProgrammingError: syntax error at line 1, column 41: the statement ends too early, expected FIRST or LAST
