CREATE TABLE t (a INTEGER, b VARCHAR);

INSERT INTO t VALUES (1, 'x'), (2, 'y');

FROM t ORDER BY a;
-- 1 | 'x'
-- 2 | 'y'
FROM t SELECT b WHERE a = 2;
-- 'y'
FROM t SELECT count(*), max(b);
-- 2 | 'y'
FROM t WHERE a > 1;
-- 2 | 'y'
SELECT b FROM (FROM t WHERE a = 1) AS s;
-- 'x'
FROM t JOIN (VALUES (1, 'p')) AS v(n, s) ON n = a SELECT s, b;
-- 'p' | 'x'
TABLE t ORDER BY a DESC;
-- 2 | 'y'
-- 1 | 'x'
FROM t UNION ALL FROM t ORDER BY a;
-- 1 | 'x'
-- 1 | 'x'
-- 2 | 'y'
-- 2 | 'y'
SELECT a, b FROM t LIMIT 0;
-- (no rows)
VALUES (1, 'a'), (2, NULL);
-- 1 | 'a'
-- 2 | NULL
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, s) WHERE n = 2;
-- 2 | 'b'
SELECT a FROM t WHERE (a, b) IN (VALUES (1, 'x'), (2, 'x'));
-- 1
SELECT 1 + 1 WHERE true;
-- 2
SELECT 1 + 1 WHERE 1 > 2;
-- (no rows)

FROM nothing;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 6)
TABLE nothing;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 7)
SELECT a.b FROM t;
-- error: ProgrammingError: table 'a' is not in FROM (line 1, column 8)
VALUES (1), (1, 2);
-- error: ProgrammingError: row 2 of VALUES has 2 values, but the first row has 1

-- SUMMARIZE is a query, SHOW and DESCRIBE are none, whatever tables are called.
CREATE TABLE "summarize" (a INTEGER);
CREATE TABLE show (a INTEGER);
INSERT INTO "summarize" VALUES (1);
INSERT INTO show VALUES (2);
FROM (SUMMARIZE t);
-- 'a' | 'INTEGER' | '1' | '2' | 2 | '1.5' | '0.7071067811865476' | '1' | '1' | '2' | 2 | 0.00
-- 'b' | 'VARCHAR' | 'x' | 'y' | 2 | NULL | NULL | NULL | NULL | NULL | 2 | 0.00
SELECT * FROM t, (summarize t) AS s;
-- 1 | 'x' | 'a' | 'INTEGER' | '1' | '2' | 2 | '1.5' | '0.7071067811865476' | '1' | '1' | '2' | 2 | 0.00
-- 1 | 'x' | 'b' | 'VARCHAR' | 'x' | 'y' | 2 | NULL | NULL | NULL | NULL | NULL | 2 | 0.00
-- 2 | 'y' | 'a' | 'INTEGER' | '1' | '2' | 2 | '1.5' | '0.7071067811865476' | '1' | '1' | '2' | 2 | 0.00
-- 2 | 'y' | 'b' | 'VARCHAR' | 'x' | 'y' | 2 | NULL | NULL | NULL | NULL | NULL | 2 | 0.00
SELECT count(*) FROM t JOIN ((SUMMARIZE t)) AS s ON true;
-- 4
FROM (SHOW tables);
-- 'show'
-- 'summarize'
-- 't'
FROM (SHOW t) AS s;
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
FROM (DESCRIBE t);
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
CREATE VIEW v AS SELECT * FROM (SUMMARIZE t);
FROM (summarize);
-- error: ProgrammingError: syntax error at line 1, column 16: unexpected ')'
FROM (show);
-- 2
FROM ("summarize" t);
-- 1
FROM ("show" AS s);
-- 2
FROM summarize s;
-- error: NotSupportedError: SUMMARIZE is not supported (line 1, column 16)
FROM ("summarize" s JOIN show h ON s.a < h.a);
-- 1 | 2
