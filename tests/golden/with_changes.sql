-- WITH whose queries change rows: they run in the order in which they are written.
CREATE TABLE t (i INTEGER PRIMARY KEY, j INTEGER);

CREATE TABLE log (i INTEGER, j INTEGER);

INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);

WITH gone AS (DELETE FROM t WHERE i > 3 RETURNING *) INSERT INTO log SELECT * FROM gone;

FROM log;
-- 4 | 40

-- Each sees what those before it have changed, and so does the query.
WITH added AS (INSERT INTO t VALUES (5, 50) RETURNING i AS new), twice AS (UPDATE t SET j = j * 2 WHERE i IN (FROM added) RETURNING *) SELECT added.new, twice.j, (SELECT count(*) FROM t) FROM added, twice;
-- 5 | 100 | 4

-- A query that stands before a change is asked before it.
WITH before AS (SELECT count(*) AS n FROM t), gone AS (DELETE FROM t WHERE i = 5), after AS (SELECT count(*) AS n FROM t) SELECT before.n, after.n FROM before, after;
-- 4 | 3

WITH a(x, y) AS (SELECT i, j FROM t WHERE i < 3), moved AS (MERGE INTO log USING a ON i = x WHEN NOT MATCHED THEN INSERT VALUES (x, y) RETURNING merge_action, i) SELECT * FROM moved ORDER BY i;
-- 'INSERT' | 1
-- 'INSERT' | 2

-- WITH within a part, and a part of a part.
WITH outer_part AS (WITH inner_part AS (DELETE FROM log WHERE i = 1 RETURNING i) UPDATE t SET j = j + 1 FROM inner_part WHERE t.i = inner_part.i RETURNING t.*) SELECT * FROM outer_part;
-- 1 | 11

-- RETURNING knows the queries of WITH.
WITH x AS (SELECT 5 AS v), y AS (INSERT INTO log SELECT v, v FROM x RETURNING i + (SELECT v FROM x) AS s) SELECT s, v FROM x, y;
-- 10 | 5

DELETE FROM log WHERE i = 5;

-- One that nobody reads runs too; without RETURNING it has no rows.
WITH gone AS (DELETE FROM log) SELECT count(*) FROM log;
-- 0

WITH gone AS (DELETE FROM log) SELECT * FROM gone;
-- error: ProgrammingError: 'gone' has no RETURNING, so there are no rows of it (line 1, column 6)

WITH gone AS (DELETE FROM log), more AS (INSERT INTO log SELECT 1, 1 FROM gone) SELECT 1;
-- error: ProgrammingError: 'gone' has no RETURNING, so there are no rows of it (line 1, column 6)

-- All of it is done or nothing.
WITH added AS (INSERT INTO t VALUES (6, 60) RETURNING i) INSERT INTO t SELECT 1, i FROM added;
-- error: IntegrityError: table 't', row 1: the primary key (i) = (1) is in the table already

WITH added AS (INSERT INTO t VALUES (6, 60) RETURNING i) SELECT i // 0, nothing FROM added;
-- error: ProgrammingError: column 'nothing' does not exist in 'added' (line 1, column 73)

SELECT count(*) FROM t;
-- 3

BEGIN;

WITH added AS (INSERT INTO t VALUES (7, 70) RETURNING *) UPDATE t SET j = added.j FROM added WHERE t.i = 1 RETURNING t.*;
-- 1 | 70

ROLLBACK;

FROM t ORDER BY i;
-- 1 | 11
-- 2 | 20
-- 3 | 30

-- Values of all types.
CREATE TYPE mood AS ENUM ('calm', 'glad');

CREATE TABLE kinds (e mood, u UUID, d DECIMAL(10, 2), s STRUCT(a INTEGER, m mood), l VARCHAR[], t TIMESTAMPTZ, v INTERVAL, b BLOB, h HUGEINT);

WITH added AS (INSERT INTO kinds VALUES ('glad', '0b9c8f4e-5d43-4f3a-9c1a-1f2e3d4c5b6a', 1.25, {'a': 1, 'm': 'calm'}, ['x', NULL], '2026-01-02 03:04:05+00', INTERVAL '1 month 2 days', 'ab', 12345678901234567890123456789012345678) RETURNING *) SELECT *, typeof(COLUMNS(*)) FROM added;
-- 'glad' | UUID('0b9c8f4e-5d43-4f3a-9c1a-1f2e3d4c5b6a') | 1.25 | {'a': 1, 'm': 'calm'} | ['x', None] | 2026-01-02T03:04:05+00:00 | MonthDayNano(months=1, days=2, nanoseconds=0) | b'ab' | 12345678901234567890123456789012345678 | 'ENUM(''calm'', ''glad'')' | 'UUID' | 'DECIMAL(10,2)' | 'STRUCT(a INTEGER, m ENUM(''calm'', ''glad''))' | 'VARCHAR[]' | 'TIMESTAMP WITH TIME ZONE' | 'INTERVAL' | 'BLOB' | 'HUGEINT'

WITH added AS (INSERT INTO kinds (e) VALUES ('calm') RETURNING *) SELECT e, e < 'glad', s FROM added;
-- 'calm' | true | NULL

-- Names of parts.
WITH x AS (DELETE FROM log RETURNING i), x AS (DELETE FROM t RETURNING i) SELECT 1;
-- error: ProgrammingError: WITH defines 'x' twice (line 1, column 6)

WITH log AS (INSERT INTO log VALUES (8, 8) RETURNING *) SELECT * FROM log;
-- 8 | 8

CREATE TABLE "rows of x" (i INTEGER);

WITH "x" AS (DELETE FROM log RETURNING i) SELECT * FROM x;
-- error: ProgrammingError: the table 'rows of x' is called as a part; rename it

FROM log;
-- 8 | 8

-- Where they cannot stand.
SELECT (WITH x AS (DELETE FROM log RETURNING i) SELECT i FROM x);
-- error: ProgrammingError: DELETE in WITH stands at the top of a statement, not in a query within it or in a view (line 1, column 14)

CREATE VIEW v AS WITH x AS (DELETE FROM log RETURNING i) SELECT i FROM x;
-- error: ProgrammingError: the view 'v' is a statement that changes rows, not a query (line 1, column 13)

CREATE TABLE c AS WITH x AS (DELETE FROM log RETURNING i) SELECT i FROM x;
-- error: ProgrammingError: DELETE in WITH stands at the top of a statement, not in a query within it or in a view

WITH RECURSIVE x AS (DELETE FROM log RETURNING i) SELECT i FROM x;
-- error: NotSupportedError: DELETE in WITH RECURSIVE is not supported

EXPLAIN WITH x AS (DELETE FROM log RETURNING i) SELECT i FROM x;
-- error: NotSupportedError: EXPLAIN of a statement whose WITH changes rows is not supported

WITH x AS (TRUNCATE log) SELECT 1;
-- error: NotSupportedError: ALIAS is not supported

FROM log;
-- 8 | 8
