CREATE TABLE trades (id INTEGER, sym VARCHAR, t INTEGER);

CREATE TABLE quotes (sym VARCHAR, t INTEGER, price DOUBLE);

CREATE TABLE no_quotes (sym VARCHAR, t INTEGER, price DOUBLE);

INSERT INTO trades VALUES (1, 'a', 10), (2, 'a', 15), (3, 'b', 10), (4, 'a', 5), (5, NULL, 20), (6, 'a', NULL);

INSERT INTO quotes VALUES ('a', 15, 3.5), ('a', 8, 1.5), ('a', 10, 2.5), ('b', 11, 9.5), (NULL, 1, 7.5), ('a', NULL, 8.5);

SELECT id, q.t, price FROM trades ASOF JOIN quotes q ON trades.sym = q.sym AND trades.t >= q.t ORDER BY id;
-- 1 | 10 | 2.5
-- 2 | 15 | 3.5

SELECT id, q.t, price FROM trades ASOF JOIN quotes q ON trades.sym = q.sym AND trades.t > q.t ORDER BY id;
-- 1 | 8 | 1.5
-- 2 | 10 | 2.5

SELECT id, q.t, price FROM trades ASOF JOIN quotes q ON trades.sym = q.sym AND trades.t <= q.t ORDER BY id;
-- 1 | 10 | 2.5
-- 2 | 15 | 3.5
-- 3 | 11 | 9.5
-- 4 | 8 | 1.5

SELECT id, q.t, price FROM trades ASOF JOIN quotes q ON trades.sym = q.sym AND trades.t < q.t ORDER BY id;
-- 1 | 15 | 3.5
-- 3 | 11 | 9.5
-- 4 | 8 | 1.5

SELECT id, q.t, price FROM trades ASOF LEFT JOIN quotes q ON trades.sym = q.sym AND trades.t >= q.t ORDER BY id;
-- 1 | 10 | 2.5
-- 2 | 15 | 3.5
-- 3 | NULL | NULL
-- 4 | NULL | NULL
-- 5 | NULL | NULL
-- 6 | NULL | NULL

SELECT id, q.t, price FROM trades ASOF LEFT OUTER JOIN quotes q ON q.t <= trades.t AND q.sym = trades.sym ORDER BY id;
-- 1 | 10 | 2.5
-- 2 | 15 | 3.5
-- 3 | NULL | NULL
-- 4 | NULL | NULL
-- 5 | NULL | NULL
-- 6 | NULL | NULL

SELECT * FROM trades ASOF LEFT JOIN quotes USING (sym, t) ORDER BY id;
-- 'a' | 10 | 1 | 2.5
-- 'a' | 15 | 2 | 3.5
-- 'b' | 10 | 3 | NULL
-- 'a' | 5 | 4 | NULL
-- NULL | 20 | 5 | NULL
-- 'a' | NULL | 6 | NULL

SELECT id, q.t FROM trades ASOF JOIN quotes q USING (t) ORDER BY id;
-- 1 | 10
-- 2 | 15
-- 3 | 10
-- 4 | 1
-- 5 | 15

SELECT id FROM trades ASOF SEMI JOIN quotes q USING (sym, t) ORDER BY id;
-- 1
-- 2

SELECT id FROM trades ASOF ANTI JOIN quotes q USING (sym, t) ORDER BY id;
-- 3
-- 4
-- 5
-- 6

-- Without a key; over expressions; of right rows that a condition chooses.
SELECT id, q.t FROM trades ASOF JOIN quotes q ON trades.t >= q.t ORDER BY id;
-- 1 | 10
-- 2 | 15
-- 3 | 10
-- 4 | 1
-- 5 | 15

SELECT id, q.t FROM trades ASOF JOIN quotes q ON upper(trades.sym) = upper(q.sym) AND trades.t + 1 >= q.t ORDER BY id;
-- 1 | 10
-- 2 | 15
-- 3 | 11

SELECT id, q.t FROM trades ASOF JOIN quotes q ON trades.sym = q.sym AND trades.t >= q.t AND q.price < 2 ORDER BY id;
-- 1 | 8
-- 2 | 8

SELECT id, q.t FROM trades ASOF JOIN quotes q ON trades.sym = q.sym AND trades.t >= q.t::DOUBLE WHERE id < 3 AND q.t > 8 ORDER BY id;
-- 1 | 10
-- 2 | 15

SELECT a.x, b.x FROM (VALUES ('c'), ('a'), ('')) a(x) ASOF LEFT JOIN (VALUES ('b'), ('a')) b(x) ON a.x >= b.x ORDER BY a.x;
-- '' | NULL
-- 'a' | 'a'
-- 'c' | 'b'

SELECT a.x, b.x FROM (VALUES (1.5), (9007199254740993)) a(x) ASOF JOIN (VALUES (1.25), (9007199254740992.5)) b(x) ON a.x >= b.x ORDER BY a.x;
-- 1.5 | 1.25
-- 9007199254740993.0 | 9007199254740992.50

-- Several times one after the other, and aggregated.
SELECT id, p.t, n.t FROM trades ASOF LEFT JOIN quotes p ON trades.sym = p.sym AND trades.t > p.t ASOF LEFT JOIN quotes n ON trades.sym = n.sym AND trades.t < n.t ORDER BY id;
-- 1 | 8 | 15
-- 2 | 10 | NULL
-- 3 | NULL | 11
-- 4 | NULL | 8
-- 5 | NULL | NULL
-- 6 | NULL | NULL

SELECT sym, count(*), sum(price) FROM trades ASOF JOIN quotes USING (sym, t) GROUP BY sym ORDER BY sym;
-- 'a' | 2 | 6.0

SELECT o, (SELECT sum(price) FROM (SELECT * FROM trades WHERE id > o) s ASOF JOIN quotes USING (sym, t)) FROM (VALUES (0), (1), (NULL)) x(o);
-- 0 | 6.0
-- 1 | 3.5
-- NULL | NULL

SELECT id FROM trades ASOF JOIN no_quotes q USING (sym, t);
-- (no rows)

SELECT id, price FROM trades ASOF LEFT JOIN no_quotes q USING (sym, t) ORDER BY id;
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
-- 5 | NULL
-- 6 | NULL

EXPLAIN SELECT id, price FROM trades ASOF LEFT JOIN quotes q ON trades.sym = q.sym AND trades.t >= q.t WHERE id > 1;
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id, price'
-- '  AsofJoin: LEFT sym = sym AND t >= t'
-- '    FilterRows: (id > 1)'
-- '      ScanTable: trades (id, sym, t)'
-- '    ScanTable: quotes (sym, t, price)'

SELECT 1 FROM trades ASOF JOIN quotes q ON trades.sym = q.sym;
-- error: ProgrammingError: an ASOF JOIN needs one inequality of its two sides (>=, >, <= or <), not none

SELECT 1 FROM trades ASOF JOIN quotes q ON trades.t >= q.t AND trades.id > q.t;
-- error: ProgrammingError: an ASOF JOIN needs one inequality of its two sides (>=, >, <= or <), not 2

SELECT 1 FROM trades ASOF JOIN quotes q ON trades.t >= q.t AND trades.sym <> q.sym;
-- error: ProgrammingError: (sym <> sym) is no condition of an ASOF JOIN: it takes equalities and one inequality of its two sides, and conditions on the right one

SELECT 1 FROM trades ASOF JOIN quotes q ON trades.t >= q.t AND trades.id > 1;
-- error: ProgrammingError: (id > 1) is no condition of an ASOF JOIN: it takes equalities and one inequality of its two sides, and conditions on the right one

SELECT 1 FROM trades ASOF RIGHT JOIN quotes q ON trades.t >= q.t;
-- error: NotSupportedError: ASOF RIGHT JOIN is not supported; ASOF and ASOF LEFT are

SELECT 1 FROM trades ASOF JOIN quotes q ON trades.t >= q.t AND q.price < (SELECT 2);
-- error: NotSupportedError: a subquery in ON of an ASOF JOIN is not supported

SELECT 1 FROM trades ASOF JOIN LATERAL (SELECT trades.t AS u) q ON trades.t >= q.u;
-- error: NotSupportedError: LATERAL in an ASOF JOIN is not supported

SELECT 1 FROM trades ASOF JOIN quotes q;
-- error: ProgrammingError: JOIN needs ON or USING
