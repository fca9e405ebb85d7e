-- Macros: names for expressions and for queries.
CREATE TABLE s (a INTEGER, b VARCHAR);

INSERT INTO s VALUES (1, 'x'), (2, 'y'), (2, NULL);

CREATE MACRO add(a, b := 5) AS a + b;

SELECT add(3), add(3, 6), add(3, b := 6), add(b => 1, a => 2), add(add(1), 2) * 2;
-- 8 | 9 | 9 | 3 | 16

SELECT add(a, a) AS twice, count(*) FROM s GROUP BY add(a, a) ORDER BY add(a, a);
-- 2 | 1
-- 4 | 2

UPDATE s SET a = add(a, 10) WHERE add(a) = 6 RETURNING add(a);
-- 16

INSERT INTO s VALUES (add(-4), 'back') RETURNING a;
-- 1

DELETE FROM s WHERE a = 11 RETURNING b;
-- 'x'

-- Names of columns are those of the calls as they are written.
SELECT * FROM (SELECT add(1), 1 + add(a) FROM s LIMIT 1) ORDER BY "add(1)";
-- 6 | 8

SELECT * REPLACE (add(a) AS a), s.* REPLACE (add(a, 1) AS a) FROM s LIMIT 1;
-- 7 | 'y' | 3 | 'y'

-- Several definitions.
CREATE FUNCTION m() AS 0, (a) AS a, (a, b) AS a + b, (a, b, c, by := 1) AS (a + b + c) / by;

SELECT m(), m(1), m(1, 2), m(1, 2, 3), m(1, 2, 3, by := 2), m(1, c := 5, b := 0);
-- 0 | 1 | 3 | 6 | 3 | 6

-- Queries in expressions, aggregates, windows, lambdas, fields.
CREATE MACRO below(x) AS (SELECT max(a) FROM s WHERE a < x);

SELECT a, below(a) FROM s ORDER BY a;
-- 1 | NULL
-- 2 | 1
-- 2 | 1

CREATE MACRO mean(x) AS sum(x) / count(x);

SELECT mean(a) FROM s;
-- 1

CREATE MACRO total(x) AS sum(x);

SELECT total(a), total(DISTINCT a), total(a) FILTER (WHERE b IS NULL) FROM s;
-- 5 | 3 | 2

SELECT a, total(a) OVER (ORDER BY a) FROM s ORDER BY a;
-- 1 | 1
-- 2 | 5
-- 2 | 5

SELECT mean(DISTINCT a) FROM s;
-- error: ProgrammingError: mean() is more than one function, so it takes no DISTINCT, FILTER or OVER

SELECT mean(a) OVER () FROM s;
-- error: ProgrammingError: mean() is more than one function, so it takes no DISTINCT, FILTER or OVER

CREATE MACRO plus(l, x) AS list_transform(l, x -> x + 1) || [x];

SELECT plus([1, 2], 10);
-- [2, 3, 10]

CREATE MACRO field(x) AS x.p.q;

SELECT field({'p': {'q': 7}});
-- 7

-- A column of an argument is one of the query around the call, also within queries of the body.
CREATE MACRO has_more(x, by := 0) AS EXISTS (SELECT 1 FROM s WHERE a > x + by);

SELECT a FROM s WHERE has_more(s.a) OR has_more(a, by := -1) ORDER BY a;
-- 1
-- 2
-- 2

CREATE MACRO smaller(n) AS TABLE SELECT a, n AS n FROM s WHERE a < n;

SELECT s.a, found.* FROM s, smaller(a) AS found ORDER BY ALL;
-- 2 | 1 | 2
-- 2 | 1 | 2

SELECT a, below(below(a) + 1) FROM s ORDER BY a;
-- 1 | NULL
-- 2 | 1
-- 2 | 1

-- As a method; a macro hides a function, which its body may call.
SELECT a.add(1), s.a.add(2) FROM s ORDER BY ALL;
-- 2 | 3
-- 3 | 4
-- 3 | 4

CREATE MACRO upper(x) AS '<' || upper(x) || '>';

SELECT upper('a'), 'b'.upper();
-- '<A>' | '<B>'

DROP MACRO upper;

SELECT upper('a');
-- 'A'

-- Types of parameters.
CREATE MACRO typed(x INTEGER, y VARCHAR := 'q') AS x || y;

SELECT typed('5'), typed(1.6, 2);
-- '5q' | '22'

SELECT typed('five');
-- error: DataError: 'five' is not a valid INTEGER (line 1, column 14)

-- Tables.
CREATE MACRO lines(n, step := 1) AS TABLE SELECT range AS i, n AS n FROM range(0, n, step);

FROM lines(2);
-- 0 | 2
-- 1 | 2

SELECT l.i, k FROM lines(4, step := 2) AS l, lines(1) AS other(k);
-- 0 | 0
-- 2 | 0

SELECT s.a, i FROM s, lines(s.a) WHERE b IS NOT NULL ORDER BY ALL;
-- 1 | 0
-- 2 | 0
-- 2 | 1

CREATE MACRO top(k) AS TABLE (WITH ordered AS (FROM s ORDER BY a DESC) FROM ordered LIMIT k);

SELECT count(*) FROM top(2);
-- 2

CREATE MACRO pair(x, y) AS TABLE VALUES (x, y), (y, x);

FROM pair(1, 2);
-- 1 | 2
-- 2 | 1

-- A constant that stands in several places of a macro, and one in a single place.
CREATE MACRO until(n) AS TABLE SELECT a, n AS n FROM s WHERE a < n;

SELECT * FROM until(2);
-- 1 | 2

SELECT * FROM until(3);
-- 1 | 3
-- 2 | 3
-- 2 | 3

CREATE MACRO is_small(x, most) AS x < most;

SELECT count(*) FROM s WHERE is_small(a, 2);
-- 1

SELECT count(*) FROM s WHERE is_small(a, 3);
-- 3

-- Views call them when they are read.
CREATE VIEW v AS SELECT add(a) AS more FROM s;

SELECT max(more) FROM v;
-- 7

CREATE OR REPLACE MACRO add(a, b := 100) AS a + b;

SELECT max(more) FROM v;
-- 102

CREATE MACRO IF NOT EXISTS add(a) AS 0;

SELECT add(1);
-- 101

-- Schemas, temporary macros, prepared statements.
CREATE SCHEMA k;

CREATE MACRO k.f(x) AS x * 2;

SELECT k.f(4), main.add(1);
-- 8 | 101

SELECT f(4);
-- error: ProgrammingError: function 'f' does not exist; did you mean 'if'? (line 1, column 8)

CREATE TEMP MACRO shout(x) AS x || '!';

SELECT shout('a');
-- 'a!'

PREPARE p AS SELECT m($1, 5);

EXECUTE p(3);
-- 8

SELECT routine_schema, routine_name, routine_definition FROM information_schema.routines ORDER BY ALL LIMIT 4;
-- 'k' | 'f' | '(x) AS x * 2'
-- 'main' | 'add' | '(a, b := 100) AS a + b'
-- 'main' | 'below' | '(x) AS (SELECT max(a) FROM s WHERE a < x)'
-- 'main' | 'field' | '(x) AS x.p.q'

SELECT function_name, function_type, parameters, macro_definition FROM duckdb_functions() WHERE function_type LIKE '%macro' AND function_name IN ('m', 'until') ORDER BY ALL;
-- 'm' | 'macro' | [] | '0'
-- 'm' | 'macro' | ['a'] | 'a'
-- 'm' | 'macro' | ['a', 'b'] | 'a + b'
-- 'm' | 'macro' | ['a', 'b', 'c', 'by'] | '(a + b + c) / by'
-- 'until' | 'table_macro' | ['n'] | 'SELECT a, n AS n FROM s WHERE a < n'

DROP MACRO until;

DROP MACRO TABLE lines;

DROP MACRO IF EXISTS nothing;

-- What is wrong.
FROM lines(2);
-- error: NotSupportedError: the table function lines() is not supported; did you mean 'indexes'? (line 1, column 6)

SELECT add();
-- error: ProgrammingError: add() takes (a, b), not such arguments (line 1, column 8)

SELECT add(1, 2, 3);
-- error: ProgrammingError: add() takes (a, b), not such arguments (line 1, column 8)

SELECT add(1, a := 2);
-- error: ProgrammingError: add() takes (a, b), not such arguments (line 1, column 8)

SELECT add(a := 1, a := 2);
-- error: ProgrammingError: parameter 'a' of add() is given twice (line 1, column 8)

SELECT add(a := 1, 2);
-- error: ProgrammingError: add() has an argument without a name behind one (line 1, column 8)

SELECT add(c := 1);
-- error: ProgrammingError: add() takes (a, b), not such arguments (line 1, column 8)

CREATE MACRO add(a) AS a;
-- error: ProgrammingError: macro 'add' exists already (line 1, column 14)

CREATE MACRO bad(x) AS x + y;
-- error: ProgrammingError: the macro 'bad' has no parameter 'y', and no FROM with such a column (line 1, column 14)

CREATE MACRO bad(x, x) AS x;
-- error: ProgrammingError: the macro 'bad' has two parameters 'x' (line 1, column 14)

CREATE MACRO bad(x := 1, y) AS x;
-- error: ProgrammingError: parameter 'y' of the macro 'bad' needs a default: one before it has one (line 1, column 26)

CREATE MACRO bad(x := y) AS x;
-- error: ProgrammingError: the default of parameter 'x' cannot have columns (line 1, column 18)

CREATE MACRO bad() AS *;
-- error: ProgrammingError: the macro 'bad' is an expression: * is none (line 1, column 14)

CREATE MACRO bad(a) AS a, (b) AS b;
-- error: ProgrammingError: the macro 'bad' is defined twice for 1 argument (line 1, column 14)

CREATE MACRO bad(a) AS a, (a, b) AS TABLE SELECT a;
-- error: ProgrammingError: the macro 'bad' gives a table or a value, not both (line 1, column 14)

CREATE MACRO bad(a) AS $1;
-- error: ProgrammingError: a macro can't have parameters

CREATE MACRO bad(a);
-- error: ProgrammingError: syntax error at line 1, column 20: the statement ends too early, expected 'AS'

CREATE MACRO bad(a) AS TABLE SELEC 1;
-- error: ProgrammingError: syntax error at line 1, column 30: unexpected 'SELEC', expected SELECT

DROP MACRO bad;
-- error: ProgrammingError: macro 'bad' does not exist (line 1, column 12)

CREATE MACRO loop(x) AS CASE WHEN x > 0 THEN loop(x - 1) ELSE 0 END;

SELECT loop(3);
-- error: ProgrammingError: the macro 'loop' calls itself (line 1, column 8)

CREATE MACRO grow(x) AS x + x;

SELECT grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(grow(1)))))))))))))))));
-- error: NotSupportedError: the macro 'grow' makes the statement too large (line 1, column 8)

-- A macro behind a dot has what stands before it, a parameter too, as its first argument.
CREATE MACRO next_of(v) AS v + 1;

CREATE MACRO tens(v, w) AS v * 10 + w;

CREATE MACRO dotted(x, y := next_of(4)) AS x.next_of().tens(y.next_of());

SELECT dotted(n), dotted(n, 2), dotted(7) FROM (SELECT 3 AS n, 1 AS x, 1 AS y);
-- 46 | 43 | 86

CREATE MACRO summed(x) AS sum(x.next_of());

SELECT summed(n) FROM (VALUES (3, 100), (4, 200)) AS v (n, x);
-- 9

CREATE MACRO of_field(s) AS s.x.next_of();

SELECT of_field({'x': 1}) FROM (SELECT {'x': 5} AS s);
-- 2

CREATE MACRO one_row(x) AS TABLE SELECT x.next_of() AS k;

FROM one_row(4);
-- 5
