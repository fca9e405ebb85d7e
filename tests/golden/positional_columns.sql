-- #1 is the first column of FROM.
CREATE TABLE t AS SELECT 1 AS a, 'x' AS b;
CREATE TABLE u AS SELECT 1 AS a, 'y' AS c;
SELECT #2, #1 + 1 FROM t WHERE #1 = 1;
-- 'x' | 2
SELECT #1, #2, #3, #4 FROM t JOIN u USING (a);
-- 1 | 'x' | 1 | 'y'
SELECT * FROM t JOIN u ON #1 = #3;
-- 1 | 'x' | 1 | 'y'
SELECT #2, count(*) FROM t GROUP BY #2 HAVING sum(#1) = 1;
-- 'x' | 1
SELECT sum(a) OVER (ORDER BY #2) FROM t;
-- 1
SELECT #1::VARCHAR, (SELECT #2 FROM u) FROM t;
-- '1' | 'y'
DESCRIBE SELECT #2, #1 FROM (SELECT 1 AS q, 2 AS r) AS s(x, y);
-- 'q' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'r' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SELECT b AS z, a FROM t UNION ALL SELECT 'a', 7 ORDER BY #2 DESC;
-- 'a' | 7
-- 'x' | 1
SELECT DISTINCT ON (#1) b FROM t;
-- 'x'
SELECT 5 # 1;
-- 4
CREATE VIEW w AS SELECT #2 FROM u;
SELECT c FROM w;
-- 'y'
SELECT #0 FROM t;
-- error: ProgrammingError: #0 is no column of FROM, which has 2
SELECT #3 FROM t;
-- error: ProgrammingError: #3 is no column of FROM, which has 2
SELECT #1;
-- error: ProgrammingError: #1 is no column of FROM, which has 0
SELECT (SELECT #1) FROM t;
-- error: ProgrammingError: #1 is no column of FROM, which has 0
SELECT a FROM t ORDER BY #4;
-- error: ProgrammingError: ORDER BY position 4 is not in the SELECT list, which has 1
SELECT t.#1 FROM t;
-- error: ProgrammingError: syntax error at line 1, column 10: unexpected '#'
SELECT #a FROM t;
-- error: ProgrammingError: syntax error at line 1, column 9: unexpected 'a'
SELECT #1.5 FROM t;
-- error: ProgrammingError: syntax error at line 1, column 13: unexpected 'FROM'
CREATE TABLE c (x INTEGER, a INTEGER, b INTEGER CHECK (#2 > 0));
-- error: ProgrammingError: a CHECK of table 'c' can't have #2 in it; name the column (line 1, column 14)
CREATE TABLE c (x INTEGER, CHECK (#1 > 0));
-- error: ProgrammingError: a CHECK of table 'c' can't have #1 in it; name the column (line 1, column 14)
CREATE TABLE c (x INTEGER DEFAULT (#1));
-- error: ProgrammingError: the default of column 'x' can't have #1 in it; name the column (line 1, column 17)
CREATE TABLE c (x INTEGER, y INTEGER GENERATED ALWAYS AS (#1 + 1));
-- error: ProgrammingError: the generated column 'y' can't have #1 in it; name the column (line 1, column 28)
ALTER TABLE t ADD CHECK (#1 > 0);
-- error: ProgrammingError: a CHECK of table 't' can't have #1 in it; name the column (line 1, column 13)
ALTER TABLE t ALTER COLUMN a SET DEFAULT #1;
-- error: ProgrammingError: the default of column 'a' can't have #1 in it; name the column (line 1, column 28)
