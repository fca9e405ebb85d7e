-- A row of an iteration takes the place of that of its key; the next one reads what changed.
WITH RECURSIVE t(a, b) USING KEY (a) AS (SELECT 1, 3 UNION SELECT a, b - 1 FROM t WHERE b > 0) SELECT * FROM t;
-- 1 | 0
WITH RECURSIVE t(a, b) USING KEY (a) AS (SELECT 1, 3 UNION SELECT a, b FROM t) SELECT * FROM t;
-- 1 | 3
WITH RECURSIVE t(a, b) USING KEY (a, b) AS (SELECT 1, 3 UNION ALL SELECT a, b - 1 FROM t WHERE b > 1) SELECT * FROM t ORDER BY b;
-- 1 | 1
-- 1 | 2
-- 1 | 3
WITH RECURSIVE t(k, n) USING KEY (t.K) AS (VALUES (NULL, 1), (NULL, 2) UNION SELECT k, n + 1 FROM t WHERE n < 4) SELECT * FROM t;
-- NULL | 4

-- Aggregates fold rows into that of their key, and have types of their own.
WITH RECURSIVE t(k, lo, latest) USING KEY (k, min(lo)) AS (VALUES (1, 5, 0) UNION SELECT k, lo - 1, latest + 1 FROM t WHERE lo > 3) SELECT * FROM t;
-- 1 | 3 | 2
WITH RECURSIVE t(k, total) USING KEY (k, sum(total)) AS (VALUES (1, 1), (1, 2) UNION SELECT k, 1 FROM t WHERE total < 7) SELECT *, typeof(total) FROM t;
-- 1 | 7 | 'BIGINT'
WITH RECURSIVE t(k, v) USING KEY (k, min(abs(v)) AS v) AS (VALUES (1, -5) UNION SELECT k + 1, -v FROM t WHERE k < 2) SELECT * FROM t ORDER BY k;
-- 1 | 5
-- 2 | 5
WITH RECURSIVE t(k, b, c) USING KEY (k, max(b) AS c, min(b)) AS (VALUES (1, 1, 2) UNION ALL SELECT k, b + 1, 0 FROM t WHERE b < 4) SELECT * FROM t;
-- 1 | 1 | 4
WITH RECURSIVE t(k, n, v) USING KEY (k, count(n), avg(v)) AS (VALUES (1, 0, 1), (2, 0, 8) UNION SELECT k, 0, n FROM t WHERE n < 4) SELECT * FROM t ORDER BY k;
-- 1 | 4 | 1.75
-- 2 | 4 | 3.5
WITH RECURSIVE t(k, s) USING KEY (k, list(s)) AS (VALUES ([1], 'a') UNION SELECT k, s[1] || 'b' FROM t WHERE len(s) < 3) SELECT * FROM t;
-- [1] | ['a', 'ab', 'ab']
WITH RECURSIVE t(k, total, types) USING KEY (k, sum(total)) AS (VALUES (1, 5, '') UNION ALL SELECT k, 1, types || typeof(total) FROM t WHERE len(types) < 14) SELECT * FROM t;
-- 1 | 7 | 'INTEGERINTEGER'

-- recurring.t has the rows of all keys as the last iteration left them.
CREATE TABLE edge AS SELECT * FROM (VALUES (1, 2, 9), (1, 3, 1), (3, 2, 2), (2, 4, 1), (10, 11, 5)) AS z(source, target, weight);
WITH RECURSIVE near(node, distance, via) USING KEY (node) AS (
  SELECT 1, 0, NULL::INTEGER
  UNION
  (SELECT DISTINCT ON (target) target, n.distance + weight AS d, n.node
   FROM near AS n JOIN edge ON n.node = source LEFT JOIN recurring.near AS r ON r.node = target
   WHERE r.node IS NULL OR n.distance + weight < r.distance ORDER BY target, d))
SELECT * FROM near ORDER BY node;
-- 1 | 0 | NULL
-- 2 | 3 | 3
-- 3 | 1 | 1
-- 4 | 4 | 2
WITH RECURSIVE both(a, b) AS (SELECT source, target FROM edge UNION ALL SELECT target, source FROM edge),
component(node, least) USING KEY (node, min(least)) AS (SELECT a, a FROM both UNION SELECT b, least FROM component JOIN both ON node = a)
SELECT * FROM component ORDER BY node;
-- 1 | 1
-- 2 | 1
-- 3 | 1
-- 4 | 1
-- 10 | 10
-- 11 | 10
WITH RECURSIVE t(k, b) USING KEY (k) AS (VALUES (1, 1) UNION SELECT max(k) + 1, sum(b)::INTEGER FROM recurring.t HAVING max(k) < 6) SELECT * FROM t ORDER BY k;
-- 1 | 1
-- 2 | 1
-- 3 | 2
-- 4 | 4
-- 5 | 8
-- 6 | 16
WITH RECURSIVE t(k) USING KEY (k) AS (VALUES (1) UNION SELECT k + 1 FROM t WHERE NOT EXISTS (FROM recurring.t AS r WHERE r.k = 5)) SELECT max(k) FROM t;
-- 5
WITH RECURSIVE pair(a, b) AS (SELECT source, target FROM edge UNION SELECT x.a, y.b FROM recurring.pair AS x JOIN recurring.pair AS y ON x.b = y.a) SELECT * FROM pair ORDER BY ALL;
-- 1 | 2
-- 1 | 3
-- 1 | 4
-- 2 | 4
-- 3 | 2
-- 3 | 4
-- 10 | 11

-- For each outer row, in a view, prepared.
SELECT x, (WITH RECURSIVE t(k, b) USING KEY (k, sum(b)) AS (SELECT 1, x UNION SELECT k, b::INTEGER FROM t WHERE b < 10) SELECT b FROM t) AS b FROM (VALUES (1), (2), (3)) AS z(x) ORDER BY x;
-- 1 | 16
-- 2 | 16
-- 3 | 12
CREATE VIEW last AS WITH RECURSIVE t(k, b) USING KEY (k, max(b) AS b) AS (VALUES (1, 1) UNION SELECT k, b + 1 FROM t WHERE b < 5) SELECT * FROM t;
SELECT * FROM last;
-- 1 | 5
PREPARE below AS WITH RECURSIVE t(k, b) USING KEY (k, sum(b)) AS (VALUES (1, 1) UNION SELECT k, b::INTEGER FROM t WHERE b < ?) SELECT * FROM t;
EXECUTE below(10);
-- 1 | 16
EXECUTE below(1000);
-- 1 | 1024
EXPLAIN WITH RECURSIVE t(k, b) USING KEY (k) AS (VALUES (1, 1) UNION SELECT k, r.b + 1 FROM t JOIN recurring.t AS r USING (k) WHERE t.b < 5) SELECT * FROM t;
-- 'path: general (it reads a recursive query; it reads a recursive query)'
-- 'aggregates: 2 in general'
-- 'ComputeColumns: k, b'
-- '  KeyedRecursiveRows: UNION by k'
-- '    ComputeColumns: column1, column2'
-- '      ConstantRows: 1 row'
-- '    ComputeColumns: k, (b + 1) AS b'
-- '      HashJoin: INNER k = k'
-- '        WorkingRows: all so far: k, b'
-- '        FilterRows: (b < 5)'
-- '          WorkingRows: k, b'
-- '    ComputeColumns: k, last AS b'
-- '      HashAggregate: last(b) by k'
-- '        general path: it reads a recursive query'
-- '        WorkingRows: k, b'
-- '    ComputeColumns: k, last AS b'
-- '      HashAggregate: last(b) by k'
-- '        general path: it reads a recursive query'
-- '        WorkingRows: k, b'

-- A query without itself in its step is one aggregate.
WITH RECURSIVE t(k, v) USING KEY (k, sum(v)) AS (VALUES (1, 1), (1, 1) UNION VALUES (1, 1)) SELECT * FROM t;
-- 1 | 3

WITH RECURSIVE t(a, b) USING KEY (x) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: 't' has no column 'x' for USING KEY (line 1, column 16)
WITH RECURSIVE t(a, b) USING KEY () AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: USING KEY of 't' has no key; it needs a column (line 1, column 16)
WITH RECURSIVE t(a, b) USING KEY (max(b)) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: USING KEY of 't' has no key; it needs a column (line 1, column 16)
WITH RECURSIVE t(a, b) USING KEY (a + 1) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: USING KEY takes columns and calls of aggregates, which alone can have an alias, not 'a + 1'
WITH RECURSIVE t(a, b) USING KEY (a, count(*)) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: count() in USING KEY needs an alias, which names its column
WITH RECURSIVE t(a, b) USING KEY (a, sum(DISTINCT b)) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: NotSupportedError: DISTINCT and ORDER BY of an aggregate in USING KEY are not supported
WITH RECURSIVE t(a, b) USING KEY (a, max(b) FILTER (WHERE b > 1)) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: NotSupportedError: FILTER of an aggregate in USING KEY is not supported
WITH RECURSIVE t(a, b) USING KEY (a, max(b), min(b)) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: USING KEY has two aggregates for the column 'b'; give one of them an alias, the name of another column (line 1, column 21)
WITH RECURSIVE t(a, b) USING KEY (a, max(a)) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: the column 'a' is a key in USING KEY and an aggregate as well (line 1, column 18)
WITH RECURSIVE t(a, b) USING KEY (s.a) AS (SELECT 1, 3 UNION SELECT * FROM t) SELECT * FROM t;
-- error: ProgrammingError: USING KEY of 't' cannot name 's' (line 1, column 16)
WITH RECURSIVE t(a, b) USING KEY (a) AS (SELECT 1, 3) SELECT * FROM t;
-- error: ProgrammingError: 't' has USING KEY, which needs UNION or UNION ALL in it (line 1, column 16)
WITH t(a, b) USING KEY (a) AS (SELECT 1, 3 UNION SELECT 1, 4) SELECT * FROM t;
-- error: ProgrammingError: 't' has USING KEY, but WITH is not RECURSIVE (line 1, column 6)
SELECT * FROM recurring.t;
-- error: ProgrammingError: schema 'recurring' does not exist, and no database is attached as 'recurring' (line 1, column 15)
WITH RECURSIVE r(n, m) USING KEY (not) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 38: unexpected ')'
WITH RECURSIVE r(n, m) USING KEY (n, from) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 38: unexpected 'from', expected ')'
WITH RECURSIVE r(n, m) USING KEY (lambda x: x) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 43: unexpected ':', expected ')'
WITH RECURSIVE r(n, m) USING KEY (n, [ x) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 38: unexpected '[', expected ')'
WITH RECURSIVE r(n, m) USING KEY (n, case) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 38: unexpected 'case'
WITH RECURSIVE r(n, m) USING KEY (n, extract(year int)) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 46: unexpected 'year'
WITH RECURSIVE r(n, m) USING KEY (n FROM e) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 37: unexpected 'FROM', expected ')'
WITH RECURSIVE r(n, m) USING KEY (DISTINCT n) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: syntax error at line 1, column 35: unexpected 'DISTINCT'
WITH RECURSIVE r(n, m) USING KEY (?) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: USING KEY can't have parameters
WITH RECURSIVE r(n, m) USING KEY ($1) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: USING KEY can't have parameters
WITH RECURSIVE r(n, m) USING KEY (n, max($x) AS m) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: USING KEY can't have parameters
WITH RECURSIVE r(n, m) USING KEY (SELECT 1) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- error: ProgrammingError: USING KEY takes columns and calls of aggregates, which alone can have an alias, not '(SELECT 1)'
WITH RECURSIVE r(n, m) USING KEY (;
-- error: ProgrammingError: syntax error at line 1, column 35: the statement ends too early, expected ')'
WITH RECURSIVE r(n, m) USING KEY (n, max(coalesce(m, len($$a$$))) AS m) AS (SELECT 1, 2 UNION SELECT n, m FROM r) SELECT * FROM r;
-- 1 | 2
