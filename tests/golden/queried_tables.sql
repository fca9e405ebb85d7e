-- query() and query_table(): what texts mean in FROM.
CREATE TABLE t (i INTEGER, s VARCHAR);

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL);

CREATE TABLE u (s VARCHAR, i INTEGER);

INSERT INTO u VALUES ('z', 9);

FROM query('SELECT i * 10 AS x FROM t') WHERE x > 10 ORDER BY x;
-- 20
-- 30

SELECT q.a FROM query('SELECT 1, 2') AS q (a, b);
-- 1

FROM query_table('t') ORDER BY i;
-- 1 | 'a'
-- 2 | 'b'
-- 3 | NULL

SELECT count(*), (SELECT max(i) FROM query_table('main.u')) FROM query_table('"t"');
-- 3 | 9

SELECT count(*) FROM query_table(['t', 't']);
-- 6

FROM query_table(['t', 'u'], true) ORDER BY i;
-- 1 | 'a'
-- 2 | 'b'
-- 3 | NULL
-- 9 | 'z'

-- Arguments of macros, variables, queries in queries.
CREATE MACRO rows_of(name, least) AS TABLE FROM query('FROM ' || name || ' WHERE i >= ' || least);

FROM rows_of('t', 2) ORDER BY i;
-- 2 | 'b'
-- 3 | NULL

CREATE MACRO size(name) AS (SELECT count(*) FROM query_table(name));

SELECT size('t'), size('u'), size('t') + size('u');
-- 3 | 1 | 4

CREATE MACRO sizes(first, second) AS size(first) * 100 + size(second);

SELECT sizes('t', 'u');
-- 301

CREATE MACRO part(name) AS TABLE WITH rows AS (FROM rows_of(name, 3)) SELECT * FROM rows;

FROM part('t');
-- 3 | NULL

SET VARIABLE name = 't';

SELECT count(*) FROM query_table(getvariable('name'));
-- 3

SET VARIABLE name = 'u';

SELECT count(*) FROM query_table(getvariable('name'));
-- 1

FROM query('FROM query(''SELECT 5 AS five'')');
-- 5

CREATE VIEW v AS SELECT i FROM query_table('t');

SELECT sum(i) FROM v;
-- 6

SELECT column_name FROM information_schema.columns WHERE table_name = 'v';
-- 'i'

SET VARIABLE five = (FROM query('SELECT 5'));

SELECT getvariable('five');
-- 5

FROM u, LATERAL query('SELECT 7 AS seven');
-- 'z' | 9 | 7

FROM query('PIVOT t ON s USING sum(i)');
-- 1 | 2

-- The same shape with other constants is another query.
SELECT a FROM query('SELECT 1 AS a') WHERE a = 1;
-- 1

SELECT a FROM query('SELECT 2 AS a') WHERE a = 2;
-- 2

SELECT a FROM query('SELECT 3 AS a') WHERE a = 3;
-- 3

-- They have no names of their own.
SELECT * FROM query('SELECT 1 AS a'), query('SELECT 2 AS b');
-- 1 | 2

SELECT query.a FROM query('SELECT 1 AS a');
-- error: ProgrammingError: table 'query' is not in FROM (line 1, column 8)

-- A name within the text has any signs.
CREATE TABLE "odd name" (x INTEGER);

SELECT count(*) FROM query_table('odd name'), query_table('main."odd name"');
-- 0

FROM query_table('values');
-- error: ProgrammingError: table 'values' does not exist (line 1, column 18)

CREATE MACRO query(n) AS (SELECT count(*) FROM query_table(n));

SELECT query('t');
-- 3

FROM query('SELECT query(''u'')');
-- 1

DROP MACRO query;

-- A column or a table may have such a name.
CREATE TABLE query (query INTEGER);

SELECT query FROM query;
-- (no rows)

FROM query_table('nope');
-- error: ProgrammingError: table 'nope' does not exist (line 1, column 18)

FROM query_table('t, t');
-- error: ProgrammingError: table 't, t' does not exist (line 1, column 18)

FROM query_table('(SELECT 1)');
-- error: ProgrammingError: table '(SELECT 1)' does not exist (line 1, column 18)

FROM query_table('');
-- error: ProgrammingError: '' in query_table() is no name of a table (line 1, column 6)

FROM query_table([]);
-- error: ProgrammingError: query_table() takes the name of a table or a list of names, and whether columns are matched by name (line 1, column 6)

FROM query_table(NULL);
-- error: ProgrammingError: query_table() takes the name of a table or a list of names, and whether columns are matched by name (line 1, column 6)

FROM query_table('t', 'u');
-- error: ProgrammingError: query_table() takes the name of a table or a list of names, and whether columns are matched by name (line 1, column 6)

FROM query_table();
-- error: ProgrammingError: query_table() takes 1 to 2 arguments (line 1, column 6)

FROM query('DELETE FROM t');
-- error: ProgrammingError: syntax error at line 1, column 1: unexpected 'DELETE', expected SELECT (line 1, column 6)

FROM query('SELECT 1; SELECT 2');
-- error: ProgrammingError: query() takes one query, and the text has 2 (line 1, column 6)

FROM query('');
-- error: ProgrammingError: query() takes one query, and the text has 0 (line 1, column 6)

FROM query(1);
-- error: ProgrammingError: query() takes the text of a query (line 1, column 6)

FROM query($1);
-- error: ProgrammingError: query() can't have parameters (line 1, column 6)

CREATE MACRO again(name) AS TABLE FROM query('FROM again(1)');

FROM again(1);
-- error: ProgrammingError: the macro 'again' calls itself (line 1, column 6)
