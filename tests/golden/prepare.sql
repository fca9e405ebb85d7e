CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, d DATE);
INSERT INTO t VALUES (1, 'x', '2026-01-01'), (2, 'y', '2026-01-02');

-- A statement with a name, and values for its parameters each time.
PREPARE by_a AS SELECT b FROM t WHERE a = ?;
EXECUTE by_a(1);
-- 'x'
EXECUTE by_a(1 + 1);
-- 'y'
EXECUTE by_a('2');
-- 'y'
EXECUTE BY_A (NULL);
-- (no rows)
PREPARE everything AS FROM t ORDER BY a;
EXECUTE everything;
-- 1 | 'x' | 2026-01-01
-- 2 | 'y' | 2026-01-02
EXECUTE everything();
-- 1 | 'x' | 2026-01-01
-- 2 | 'y' | 2026-01-02
PREPARE twice AS SELECT $1 || '-' || $2 || '-' || $1;
EXECUTE twice('a', upper('b'));
-- 'a-B-a'

-- Values by name, as in DuckDB.
PREPARE sums AS SELECT $x + :y AS total;
EXECUTE sums(x := 1, y => 2.5);
-- 3.5
EXECUTE sums(y := 1, x := DATE '2026-01-01');
-- 2026-01-02

-- Types of the parameters, as in PostgreSQL.
PREPARE typed (INTEGER, DATE) AS SELECT typeof($1), typeof($2), $2 + $1;
EXECUTE typed('5', '2026-01-01');
-- 'INTEGER' | 'DATE' | 2026-01-06
EXECUTE typed(5.4, NULL);
-- 'INTEGER' | 'DATE' | NULL
EXECUTE typed('five', '2026-01-01');
-- error: DataError: 'five' is not a valid INTEGER
EXECUTE typed(1);
-- error: ProgrammingError: 'typed' takes 2 values, not 1 (line 1, column 9)
EXECUTE typed(a := 1, b := 2);
-- error: ProgrammingError: the parameters of 'typed' have types and no names (line 1, column 9)

-- Lists.
PREPARE some AS SELECT count(*) FROM t WHERE a = ANY ($1);
EXECUTE some([1, 2, 3]);
-- 2
EXECUTE some(ARRAY[2]);
-- 1
EXECUTE some([]);
-- 0

-- Changes; RETURNING gives rows.
PREPARE add AS INSERT INTO t VALUES ($1, $2, $3) RETURNING a, d;
EXECUTE add(3, 'z', '2026-01-03');
-- 3 | 2026-01-03
EXECUTE add(3, 'z', '2026-01-03');
-- error: IntegrityError: table 't', row 1: the primary key (a) = (3) is in the table already
PREPARE change AS UPDATE t SET b = b || $1 WHERE a = $2;
EXECUTE change('!', 3);
PREPARE remove AS WITH gone AS (SELECT $1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM gone);
EXECUTE remove(2);
EXECUTE everything;
-- 1 | 'x' | 2026-01-01
-- 3 | 'z!' | 2026-01-03

-- A transaction that is rolled back leaves prepared statements, not what they did.
BEGIN;
PREPARE inside AS SELECT 'inside';
EXECUTE remove(1);
ROLLBACK;
EXECUTE inside;
-- 'inside'
EXECUTE by_a(1);
-- 'x'

-- A name is of one statement; names in it are looked up when it runs.
PREPARE by_a AS SELECT 1;
-- error: ProgrammingError: statement 'by_a' is prepared already; DEALLOCATE it first (line 1, column 9)
DEALLOCATE by_a;
EXECUTE by_a(1);
-- error: ProgrammingError: prepared statement 'by_a' does not exist (line 1, column 9)
PREPARE by_a AS SELECT * FROM later;
EXECUTE by_a;
-- error: ProgrammingError: table 'later' does not exist
CREATE TABLE later AS SELECT 7 AS seven;
EXECUTE by_a;
-- 7
DROP TABLE later;
EXECUTE by_a;
-- error: ProgrammingError: table 'later' does not exist
DEALLOCATE PREPARE by_a;
DEALLOCATE by_a;
-- error: ProgrammingError: prepared statement 'by_a' does not exist (line 1, column 12)
PREPARE "By A" AS SELECT 8;
EXECUTE "By A";
-- 8
EXECUTE by_aa;
-- error: ProgrammingError: prepared statement 'by_aa' does not exist; did you mean 'By A'? (line 1, column 9)
DEALLOCATE ALL;
EXECUTE everything;
-- error: ProgrammingError: prepared statement 'everything' does not exist (line 1, column 9)

-- EXPLAIN.
PREPARE q AS SELECT b FROM t WHERE a = $1 AND b <> $2;
EXPLAIN EXECUTE q(1, 'c');
-- has: FilterRows: ((a = 1) AND (b <> 'c'))
EXPLAIN ANALYZE EXECUTE q(1, 'c');
-- has: gave: 1 row
EXPLAIN EXECUTE nothing;
-- error: ProgrammingError: prepared statement 'nothing' does not exist (line 1, column 17)

-- Wrong use.
EXECUTE q;
-- error: ProgrammingError: the statement has 2 parameters, but 0 values were given
EXECUTE q(1);
-- error: ProgrammingError: the statement has 2 parameters, but 1 value was given
EXECUTE q(1, 2, 3);
-- error: ProgrammingError: the statement has 2 parameters, but 3 values were given
EXECUTE q(1, b := 2);
-- error: ProgrammingError: the values of EXECUTE all have a name, or none has
EXECUTE q(x := 1, x := 2);
-- error: ProgrammingError: parameter 'x' is given twice (line 1, column 11)
EXECUTE q(x := 1, y := 2);
-- error: ProgrammingError: parameter 1 needs a sequence of values, not a mapping
EXECUTE q(a, b);
-- error: ProgrammingError: column 'a' does not exist (line 1, column 11)
EXECUTE q((SELECT 1), 'x');
-- error: NotSupportedError: a subquery in an argument of q() is not supported (line 1, column 19)
EXECUTE q(count(*), 'x');
-- error: ProgrammingError: an argument of q() cannot contain the aggregate count (line 1, column 11)
EXECUTE q(random(), 'x');
-- error: NotSupportedError: random() in q() is not supported
EXECUTE q(1 / 0, 'x');
-- error: DataError: division by zero
EXECUTE q(1, 'x') AND more;
-- error: ProgrammingError: syntax error at line 1, column 19: unexpected 'AND', expected the end of the statement
EXECUTE q(1;
-- error: ProgrammingError: syntax error at line 1, column 12: the statement ends too early, expected ')'
PREPARE r AS CREATE TABLE u (a INTEGER);
-- error: NotSupportedError: PREPARE of CREATE is not supported
PREPARE r AS EXPLAIN SELECT 1;
-- error: NotSupportedError: PREPARE of EXPLAIN is not supported
PREPARE r AS PREPARE s AS SELECT 1;
-- error: NotSupportedError: PREPARE of PREPARE is not supported
PREPARE r AS EXECUTE q(1, 'x');
-- error: NotSupportedError: PREPARE of EXECUTE is not supported
PREPARE r AS SELEC 1;
-- error: ProgrammingError: syntax error at line 1, column 14: unexpected 'SELEC'; did you mean 'SELECT'?
PREPARE r AS SELECT * FROM WHERE;
-- error: ProgrammingError: syntax error at line 1, column 28: unexpected 'WHERE'
PREPARE r AS;
-- error: ProgrammingError: syntax error at line 1, column 13: the statement ends too early
PREPARE r SELECT 1;
-- error: ProgrammingError: syntax error at line 1, column 11: unexpected 'SELECT', expected 'AS'
PREPARE r (TEXTT) AS SELECT $1;
-- error: ProgrammingError: type 'TEXTT' does not exist; did you mean 'TEXT'? (line 1, column 12)
PREPARE AS SELECT 1;
-- error: ProgrammingError: syntax error at line 1, column 9: unexpected 'AS', expected the name of the statement
DEALLOCATE;
-- error: ProgrammingError: syntax error at line 1, column 11: the statement ends too early, expected the name of a prepared statement
SELECT * FROM (EXECUTE q(1, 'x')) AS e;
-- error: ProgrammingError: table 'EXECUTE' does not exist (line 1, column 16)
EXPLAIN SELEC 1;
-- error: ProgrammingError: syntax error at line 1, column 9: unexpected 'SELEC'; did you mean 'SELECT'?

-- Values that are maps, lists and structs, in plans that are kept.
PREPARE joined AS SELECT map_concat($1, $2, $3);

EXECUTE joined(MAP([1, 2, 7], ['a', 'b', 'c']), MAP([], []), MAP([2, 3], ['x', 'y']));
-- {1: 'a', 2: 'x', 7: 'c', 3: 'y'}

EXECUTE joined(MAP([1], ['z']), MAP([], []), MAP([], []));
-- {1: 'z'}

PREPARE same AS SELECT $1 AS value;

EXECUTE same(MAP {[1]: {'x': [2]}});
-- [([1], {'x': [2]})]

EXECUTE same([{'a': [1]}, {'a': NULL}]);
-- [{'a': [1]}, {'a': None}]

SELECT DISTINCT column_names FROM duckdb_indexes() UNION SELECT ['a', 'b'];
-- ['a', 'b']

-- A query with a lambda is read by a subquery, too.
WITH c AS (SELECT list_transform([1, 2], lambda x: x + 1) AS l) SELECT (SELECT count(*) FROM c WHERE l[1] = a) FROM (VALUES (2), (5)) AS t (a), c;
-- 0
-- 1
