CREATE TABLE t (a INTEGER PRIMARY KEY);

-- A rollback undoes everything since BEGIN, also tables and BVHs.
BEGIN;

INSERT INTO t VALUES (1), (2);

CREATE TABLE u (b INTEGER);

CREATE BVH x ON t (SCAN (a), AGGREGATE (a));

SELECT count(*) FROM t;
-- 2
ROLLBACK;

SELECT count(*) FROM t;
-- 0
SELECT count(*) FROM u;
-- error: ProgrammingError: table 'u' does not exist (line 1, column 22)
DROP BVH x;
-- error: ProgrammingError: BVH 'x' does not exist (line 1, column 10)

-- A commit keeps it.
BEGIN TRANSACTION;

INSERT INTO t VALUES (1);

COMMIT;

SELECT a FROM t;
-- 1

-- A statement that fails changes nothing; those before it stay in the transaction.
BEGIN;

INSERT INTO t VALUES (2);

INSERT INTO t VALUES (3), (2);
-- error: IntegrityError: table 't', row 2: the primary key (a) = (2) is in the table already
SELECT a FROM t;
-- 1
-- 2
DROP TABLE t;

ROLLBACK;

SELECT a FROM t;
-- 1

-- Out of place.
COMMIT;
-- error: ProgrammingError: no transaction is active
ROLLBACK;
-- error: ProgrammingError: no transaction is active
BEGIN;

BEGIN;
-- error: ProgrammingError: a transaction is active already
COMMIT;

-- What only reads changes temporary tables at most.
BEGIN TRANSACTION READ ONLY;

CREATE TEMP TABLE counted AS SELECT 1 AS x;

CREATE TABLE counts (x INTEGER);
-- error: OperationalError: the transaction was begun with READ ONLY

COMMIT;

START TRANSACTION READ WRITE;

CREATE TABLE counts AS FROM counted;

COMMIT;

BEGIN READ SOMETHING;
-- error: ProgrammingError: syntax error at line 1, column 12: unexpected 'SOMETHING', expected ONLY or WRITE

FROM counts;
-- 1
