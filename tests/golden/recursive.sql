WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 100) SELECT sum(n), count(*) FROM t;
-- 5050 | 100

-- A tree from its root.
CREATE TABLE part (id INTEGER PRIMARY KEY, parent INTEGER, name VARCHAR, weight INTEGER);

INSERT INTO part VALUES (1, NULL, 'car', 0), (2, 1, 'engine', 200), (3, 1, 'wheel', 20), (4, 2, 'piston', 3), (5, 4, 'ring', 1);

WITH RECURSIVE below AS (
  SELECT id, name, 0 AS depth, name AS path FROM part WHERE parent IS NULL
  UNION ALL
  SELECT part.id, part.name, depth + 1, path || ' > ' || part.name FROM part JOIN below ON parent = below.id)
SELECT depth, path FROM below ORDER BY path;
-- 0 | 'car'
-- 1 | 'car > engine'
-- 2 | 'car > engine > piston'
-- 3 | 'car > engine > piston > ring'
-- 1 | 'car > wheel'

WITH RECURSIVE up(id, parent) AS (
  SELECT id, parent FROM part WHERE name = 'ring' UNION ALL SELECT p.id, p.parent FROM part p, up WHERE p.id = up.parent)
SELECT name, weight FROM up JOIN part USING (id) ORDER BY weight;
-- 'car' | 0
-- 'ring' | 1
-- 'piston' | 3
-- 'engine' | 200

-- UNION drops what was there before, so a cycle ends.
CREATE TABLE edge (source INTEGER, target INTEGER);

INSERT INTO edge VALUES (1, 2), (2, 3), (3, 1), (3, 4), (5, 5);

WITH RECURSIVE reach(source, target) AS (
  SELECT * FROM edge UNION SELECT reach.source, edge.target FROM reach JOIN edge ON reach.target = edge.source)
SELECT source, count(*), max(target) FROM reach GROUP BY source ORDER BY source;
-- 1 | 4 | 4
-- 2 | 4 | 4
-- 3 | 4 | 4
-- 5 | 1 | 5
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT (n * 2) % 7 FROM t) SELECT n FROM t ORDER BY n;
-- 1
-- 2
-- 4
WITH RECURSIVE t(n) AS (SELECT NULL::INTEGER UNION SELECT n FROM t) SELECT n FROM t;
-- NULL
WITH RECURSIVE t(n) AS (VALUES (1), (1), (2) UNION SELECT 1 FROM t) SELECT n FROM t ORDER BY n;
-- 1
-- 2

-- The query above takes what it needs, and no more is computed.
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 3;
-- 1
-- 2
-- 3
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n * n AS sq FROM t WHERE n % 2 = 0 LIMIT 3 OFFSET 1;
-- 16
-- 36
-- 64
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 0;
-- (no rows)

-- Several columns, several references, a query in the step, another recursion.
WITH RECURSIVE fib(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib WHERE n < 10)
SELECT n, a FROM fib ORDER BY n DESC LIMIT 3;
-- 10 | 34
-- 9 | 21
-- 8 | 13
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT x.n + y.n FROM t x, t y WHERE x.n < 20) SELECT n FROM t ORDER BY n;
-- 1
-- 2
-- 4
-- 8
-- 16
-- 32
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL (WITH u AS (SELECT n + 1 AS m FROM t) SELECT p.m FROM u p JOIN u q ON p.m = q.m WHERE p.m < 4))
SELECT n FROM t ORDER BY n;
-- 1
-- 2
-- 3
WITH RECURSIVE
  i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 3),
  j(n, m) AS (SELECT n, 10 FROM i UNION ALL SELECT n, m + 10 FROM j WHERE m < 20)
SELECT n, m FROM j ORDER BY n, m;
-- 1 | 10
-- 1 | 20
-- 2 | 10
-- 2 | 20
-- 3 | 10
-- 3 | 20
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT x.n, y.n FROM t x, t y WHERE x.n + y.n = 4 ORDER BY 1;
-- 1 | 3
-- 2 | 2
-- 3 | 1
WITH RECURSIVE t(n) AS (SELECT 0 WHERE false UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t;
-- 0
WITH RECURSIVE t AS (SELECT 1 AS n UNION SELECT 2) SELECT n FROM t ORDER BY n;
-- 1
-- 2
WITH RECURSIVE t(d) AS (SELECT DISTINCT 1 UNION ALL SELECT DISTINCT d + 1 FROM t, part WHERE d < 3) SELECT d FROM t ORDER BY d;
-- 1
-- 2
-- 3
SELECT id, (WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n * 2 FROM t WHERE n < 100) SELECT max(n) FROM t) AS m FROM part WHERE id < 3 ORDER BY id;
-- 1 | 128
-- 2 | 128

-- The base decides the types; the step is cast to them where no value changes.
WITH RECURSIVE t(n) AS (SELECT 1::BIGINT UNION ALL SELECT (n * 1000)::BIGINT FROM t WHERE n < 1000000) SELECT n FROM t ORDER BY n;
-- 1
-- 1000
-- 1000000
WITH RECURSIVE t(n) AS (SELECT 1.00::DECIMAL(10, 2) UNION ALL SELECT n + 0.5 FROM t WHERE n < 2) SELECT n FROM t ORDER BY n;
-- 1.00
-- 1.50
-- 2.00
WITH RECURSIVE t(n, s) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, NULL FROM t WHERE n < 2) SELECT * FROM t ORDER BY n;
-- 1 | 'a'
-- 2 | NULL
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n * 100000 FROM t) SELECT n FROM t;
-- error: DataError: the result of the multiplication is out of range for INTEGER
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 0.5 FROM t WHERE n < 3) SELECT n FROM t;
-- error: ProgrammingError: column 'n' of the recursive query 't' has the type INTEGER, but DECIMAL(12,1) in its step; cast one of them (line 1, column 18)
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n, n FROM t) SELECT n FROM t;
-- error: ProgrammingError: the recursive query 't' has 1 columns, but its step has 2 (line 1, column 16)

-- What PostgreSQL refuses is refused.
WITH RECURSIVE t(n) AS (SELECT n FROM t UNION ALL SELECT 1) SELECT n FROM t;
-- error: ProgrammingError: the recursive query 't' refers to itself where it must not: only the query behind its UNION can (line 1, column 39)
WITH RECURSIVE t(n) AS (SELECT n + 1 FROM t) SELECT n FROM t;
-- error: ProgrammingError: the recursive query 't' refers to itself where it must not: only the query behind its UNION can (line 1, column 43)

-- The step may aggregate the rows added last, join them on any side and have them in expressions.
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT max(n) + 1 FROM t HAVING max(n) < 4) SELECT n FROM t ORDER BY n;
-- 1
-- 2
-- 3
-- 4
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT t.n FROM part LEFT JOIN t ON t.n = id) SELECT n FROM t ORDER BY n;
-- 1
-- NULL
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT id FROM part WHERE id IN (SELECT n + 1 FROM t)) SELECT n FROM t ORDER BY n;
-- 1
-- 2
-- 3
-- 4
-- 5
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT (SELECT max(n) FROM t) + 1 FROM t WHERE EXISTS (FROM t AS u WHERE u.n = t.n AND n < 3)) SELECT n FROM t ORDER BY n;
-- 1
-- 2
-- 3

WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT 5) SELECT n FROM t;
-- error: ProgrammingError: the recursive query 't' cannot have LIMIT; the query that reads it can (line 1, column 16)
WITH t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t;
-- error: ProgrammingError: table 't' does not exist (line 1, column 52)

-- A recursion with keys in the step of another one goes through its own steps each time.
WITH RECURSIVE r (m) AS (SELECT 2 UNION ALL (WITH RECURSIVE s (x) USING KEY (x) AS (SELECT 7 FROM r WHERE m = 2 UNION SELECT x + 1 FROM s WHERE x < 9) SELECT x FROM s)) SELECT * FROM r ORDER BY m;
-- 2
-- 7
-- 8
-- 9

WITH RECURSIVE r (m) AS (SELECT 1 UNION ALL (WITH RECURSIVE s (x) USING KEY (x) AS (SELECT m + 1 FROM r WHERE m < 4 UNION SELECT s.x + r.m FROM s, r WHERE x < 6) SELECT x FROM s)) SELECT count(*), sum(m) FROM r;
-- 25 | 187

-- What is not folded is made again of all rows, many of them too.
WITH RECURSIVE r (k, d) USING KEY (k, avg(d)) AS (SELECT i, 1.0::DOUBLE FROM range(1000) AS x (i) UNION ALL SELECT k + 1000, d FROM r WHERE k < 20000) SELECT count(*), sum(d) FROM r;
-- 21000 | 21000.0
