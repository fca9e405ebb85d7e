CREATE TABLE t (a INTEGER PRIMARY KEY);

BEGIN;

INSERT INTO t VALUES (1);

SAVEPOINT one;

INSERT INTO t VALUES (2);

CREATE TABLE u (b INTEGER);

SAVEPOINT two;

DROP TABLE t;

ROLLBACK TO two;

SELECT a FROM t ORDER BY a;
-- 1
-- 2

ROLLBACK TO SAVEPOINT one;

SELECT a FROM t;
-- 1

SELECT * FROM u;
-- error: ProgrammingError: table 'u' does not exist (line 1, column 15)

-- The savepoint is still there, those after it are not.
ROLLBACK TRANSACTION TO two;
-- error: ProgrammingError: savepoint 'two' does not exist (line 1, column 25)

INSERT INTO t VALUES (3);

ROLLBACK TO one;

INSERT INTO t VALUES (4);

RELEASE SAVEPOINT one;

ROLLBACK TO one;
-- error: ProgrammingError: savepoint 'one' does not exist (line 1, column 13)

COMMIT;

SELECT a FROM t ORDER BY a;
-- 1
-- 4

-- A savepoint hides an earlier one of its name until it is released.
BEGIN WORK;

SAVEPOINT s;

INSERT INTO t VALUES (5);

SAVEPOINT s;

INSERT INTO t VALUES (6);

ROLLBACK TO s;

RELEASE s;

ROLLBACK TO s;

SELECT a FROM t ORDER BY a;
-- 1
-- 4

INSERT INTO t VALUES (1);
-- error: IntegrityError: table 't', row 1: the primary key (a) = (1) is in the table already

INSERT INTO t VALUES (7);

END;

SELECT a FROM t ORDER BY a;
-- 1
-- 4
-- 7

BEGIN;

DELETE FROM t;

ABORT;

SELECT count(*) FROM t;
-- 3

-- Out of place.
SAVEPOINT s;
-- error: ProgrammingError: no transaction is active

RELEASE s;
-- error: ProgrammingError: no transaction is active

ROLLBACK TO s;
-- error: ProgrammingError: no transaction is active

BEGIN;

SAVEPOINT here;

ROLLBACK TO heer;
-- error: ProgrammingError: savepoint 'heer' does not exist; did you mean 'here'? (line 1, column 13)

RELEASE SAVEPOINT;
-- error: ProgrammingError: syntax error at line 1, column 18: the statement ends too early, expected the name of a savepoint

ROLLBACK AND CHAIN;
-- error: ProgrammingError: syntax error at line 1, column 10: unexpected 'AND', expected the end of the statement

ROLLBACK;
