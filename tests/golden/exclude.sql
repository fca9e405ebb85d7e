CREATE TABLE t (a INTEGER, b INTEGER, c VARCHAR);

CREATE TABLE u (a INTEGER, d INTEGER);

INSERT INTO t VALUES (1, 2, 'x');

INSERT INTO u VALUES (1, 9);

SELECT * EXCLUDE (b) FROM t;
-- 1 | 'x'
SELECT * EXCLUDE c FROM t;
-- 1 | 2
SELECT t.* EXCLUDE (a), d FROM t JOIN u USING (a);
-- 2 | 'x' | 9
SELECT * EXCLUDE (a) FROM t, u;
-- 2 | 'x' | 9
SELECT * REPLACE (a + 10 AS a, upper(c) AS c) FROM t;
-- 11 | 2 | 'X'
SELECT * EXCLUDE (b) REPLACE (c || '!' AS c) FROM t;
-- 1 | 'x!'
SELECT z, b FROM (SELECT * RENAME (a AS z) FROM t) AS r;
-- 1 | 2
SELECT count(*) FROM (SELECT * EXCLUDE (a, b) FROM t) AS r;
-- 1

SELECT * EXCLUDE (nothing) FROM t;
-- error: ProgrammingError: EXCLUDE names 'nothing', no column of * (line 1, column 19)
SELECT * EXCLUDE (a, b, c) FROM t;
-- error: ProgrammingError: EXCLUDE leaves no column of *
SELECT * REPLACE (1 AS d) FROM t;
-- error: ProgrammingError: REPLACE names 'd', no column of * (line 1, column 24)
SELECT * EXCLUDE (a) REPLACE (1 AS a) FROM t;
-- error: ProgrammingError: column 'a' is excluded from * and changed at once (line 1, column 19)
SELECT count(* EXCLUDE (a)) FROM t;
-- error: NotSupportedError: EXCLUDE is not supported (line 1, column 8)
SELECT *;
-- error: ProgrammingError: SELECT * needs a table in FROM
SELECT v.* FROM t;
-- error: ProgrammingError: table 'v' is not in FROM (line 1, column 8)
