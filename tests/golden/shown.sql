-- SHOW, DESCRIBE and SUMMARIZE in place of a query.
CREATE TABLE t AS SELECT 1 AS a, 'x' AS b;
CREATE VIEW v AS SELECT 1 AS c;
CREATE TEMP TABLE x AS SELECT 1 AS d;
CREATE SCHEMA s;
CREATE TABLE s.q AS SELECT 1 AS c;
FROM (SHOW TABLES);
-- 't'
-- 'v'
-- 'x'
FROM (SHOW TABLES FROM s);
-- 'q'
FROM (SHOW TABLES FROM raydb.S);
-- 'q'
SELECT * FROM (SHOW ALL TABLES) ORDER BY name;
-- 'raydb' | 's' | 'q' | ['c'] | ['INTEGER'] | false
-- 'raydb' | 'main' | 't' | ['a', 'b'] | ['INTEGER', 'VARCHAR'] | false
-- 'raydb' | 'main' | 'v' | ['c'] | ['INTEGER'] | false
-- 'temp' | 'main' | 'x' | ['d'] | ['INTEGER'] | true
FROM (SHOW DATABASES);
-- 'raydb'
-- 'temp'
FROM (SHOW SCHEMAS);
-- 'raydb' | 'main' | true
-- 'raydb' | 's' | false
SHOW SCHEMAS;
-- 'raydb' | 'main' | true
-- 'raydb' | 's' | false
FROM (DESCRIBE t);
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
FROM (DESC SELECT 1 AS z);
-- 'z' | 'INTEGER' | 'YES' | NULL | NULL | NULL
FROM (SHOW t);
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
SELECT count(*) FROM (SHOW SELECT 42 AS v) JOIN (SHOW TABLES) ON lower(name) = lower(column_name);
-- 1
WITH names AS (SHOW TABLES), columns AS (DESCRIBE s.q), both AS (SUMMARIZE t) SELECT count(*), any_value(columns.column_name) FROM names, columns, both;
-- 6 | 'c'
CREATE VIEW w AS FROM (SHOW TABLES FROM s);
FROM w;
-- 'q'
SHOW t;
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
SHOW s.q;
-- 'c' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SHOW SELECT 1 AS z;
-- 'z' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SELECT count(*) FROM (SHOW ALL TABLES);
-- 5
SHOW nothing;
-- error: ProgrammingError: setting 'nothing' does not exist (line 1, column 6)
FROM (SHOW nothing);
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 12)
DESCRIBE 'nothing.csv';
-- error: OperationalError: file 'nothing.csv' does not exist
SUMMARIZE 'nothing.csv';
-- error: OperationalError: file 'nothing.csv' does not exist
CREATE TABLE show (show INTEGER, describe INTEGER);
INSERT INTO show VALUES (1, 2);
SELECT (show + 1), (show), (show IS NULL) FROM (show);
-- 2 | 1 | false
CREATE SCHEMA "o'x";
CREATE TABLE "o'x".y AS SELECT 1 AS c;
FROM (SHOW TABLES FROM "o'x");
-- 'y'
FROM (SHOW "tables");
-- error: ProgrammingError: table 'tables' does not exist (line 1, column 12)
CREATE TABLE "tables" (k INTEGER);
FROM (SHOW "tables");
-- 'k' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SHOW "tables";
-- 'k' | 'INTEGER' | 'YES' | NULL | NULL | NULL
FROM (SHOW 'tables.csv');
-- error: OperationalError: file 'tables.csv' does not exist
SHOW 'tables.csv';
-- error: OperationalError: file 'tables.csv' does not exist
FROM (SUMMARIZE 'nothing.csv');
-- error: OperationalError: file 'nothing.csv' does not exist
SELECT 1, ('show' 'a');
-- 1 | 'showa'

SELECT * FROM (SHOW TABLES FROM nowhere);
-- error: DataError: schema 'nowhere' does not exist

SELECT * FROM (SHOW TABLES FROM nowhere.main);
-- error: DataError: schema 'nowhere.main' does not exist
