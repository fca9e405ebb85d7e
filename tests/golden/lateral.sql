CREATE TABLE a (id INTEGER, n INTEGER);

CREATE TABLE b (id INTEGER, v INTEGER);

INSERT INTO a VALUES (1, 2), (2, NULL), (3, 5), (NULL, 1);

INSERT INTO b VALUES (1, 10), (1, 20), (1, 30), (3, 40), (NULL, 50);

-- A derived table that reads the row before it.
SELECT a.id, l.v FROM a, LATERAL (SELECT v FROM b WHERE b.id = a.id) l;
-- 1 | 10
-- 1 | 20
-- 1 | 30
-- 3 | 40
SELECT a.id, l.v FROM a CROSS JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l;
-- 1 | 10
-- 1 | 20
-- 1 | 30
-- 3 | 40
SELECT a.id, l.v FROM a JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l ON l.v > 10;
-- 1 | 20
-- 1 | 30
-- 3 | 40
SELECT a.id, l.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l ON TRUE;
-- 1 | 10
-- 1 | 20
-- 1 | 30
-- 2 | NULL
-- 3 | 40
-- NULL | NULL
SELECT a.id, l.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l ON l.v > 10 * a.n;
-- 1 | 30
-- 2 | NULL
-- 3 | NULL
-- NULL | NULL

-- What it computes is NULL where there is no partner.
SELECT a.id, l.* FROM a LEFT JOIN LATERAL (SELECT v, a.n + 1 AS m, 'x' AS c FROM b WHERE b.id = a.id) l ON TRUE;
-- 1 | 10 | 3 | 'x'
-- 1 | 20 | 3 | 'x'
-- 1 | 30 | 3 | 'x'
-- 2 | NULL | NULL | NULL
-- 3 | 40 | 6 | 'x'
-- NULL | NULL | NULL | NULL
SELECT a.id, l.c, l.s FROM a, LATERAL (SELECT count(*) AS c, sum(v) AS s FROM b WHERE b.id = a.id) l;
-- 1 | 3 | 60
-- 2 | 0 | NULL
-- 3 | 1 | 40
-- NULL | 0 | NULL
SELECT a.id, l.c FROM a LEFT JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.id = a.id) l ON l.c > 1;
-- 1 | 3
-- 2 | NULL
-- 3 | NULL
-- NULL | NULL
SELECT a.id, l.c FROM a JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.id = a.id HAVING count(*) < 2) l ON TRUE;
-- 2 | 0
-- 3 | 1
-- NULL | 0

-- The first rows for each row.
SELECT a.id, l.v FROM a, LATERAL (SELECT v FROM b WHERE b.id = a.id ORDER BY v DESC LIMIT 2) l;
-- 1 | 20
-- 1 | 30
-- 3 | 40
SELECT a.id, l.v FROM a, LATERAL (SELECT v FROM b WHERE b.id <= a.id ORDER BY v LIMIT 1 OFFSET 1) l;
-- 1 | 20
-- 2 | 20
-- 3 | 20
SELECT a.id, l.v FROM a, LATERAL (SELECT v FROM b WHERE b.id = a.id LIMIT a.n) l;
-- error: NotSupportedError: LIMIT needs a constant (line 1, column 42)

-- Without a table: expressions with a name, which the next ones can use.
SELECT a.id, p.x, q.y FROM a, LATERAL (SELECT a.n * 2 AS x) p, LATERAL (SELECT p.x + a.id AS y) q;
-- 1 | 4 | 5
-- 2 | NULL | NULL
-- 3 | 10 | 13
-- NULL | 2 | NULL
SELECT a.id, l.x FROM a, LATERAL (VALUES (a.n), (a.id * 100)) l(x);
-- 1 | 100
-- 1 | 2
-- 2 | 200
-- 2 | NULL
-- 3 | 300
-- 3 | 5
-- NULL | 1
-- NULL | NULL
SELECT a.id, l.x FROM a, LATERAL (SELECT a.n UNION ALL SELECT v FROM b WHERE b.id = a.id) l(x);
-- 1 | 10
-- 1 | 2
-- 1 | 20
-- 1 | 30
-- 2 | NULL
-- 3 | 40
-- 3 | 5
-- NULL | 1
SELECT a.id, l.k, l.c FROM a, LATERAL (SELECT v > 15 AS k, count(*) AS c FROM b WHERE b.id <= a.id GROUP BY k) l;
-- 1 | false | 1
-- 1 | true | 2
-- 2 | false | 1
-- 2 | true | 2
-- 3 | false | 1
-- 3 | true | 3
SELECT a.id, l.d FROM a, LATERAL (SELECT DISTINCT b.id AS d FROM b WHERE b.id <> a.id) l;
-- 1 | 3
-- 2 | 1
-- 2 | 3
-- 3 | 1
SELECT a.id, l.v, l.r FROM a, LATERAL (SELECT v, row_number() OVER (ORDER BY v DESC) AS r FROM b WHERE b.id <= a.id) l;
-- 1 | 10 | 3
-- 2 | 10 | 3
-- 3 | 10 | 4
-- 1 | 20 | 2
-- 2 | 20 | 2
-- 3 | 20 | 3
-- 1 | 30 | 1
-- 2 | 30 | 1
-- 3 | 30 | 2
-- 3 | 40 | 1
SELECT a.id, l.i, l.v FROM a, LATERAL (SELECT o.id AS i, v FROM a o LEFT JOIN b ON o.id = b.id AND b.v > 10 * a.n) l WHERE a.id = 1;
-- 1 | 1 | 30
-- 1 | 2 | NULL
-- 1 | 3 | 40
-- 1 | NULL | NULL

-- Subqueries in ON decide on partners.
SELECT a.id, l.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l ON l.v IN (SELECT 10 * n FROM a);
-- 1 | 10
-- 1 | 20
-- 2 | NULL
-- 3 | NULL
-- NULL | NULL
SELECT a.id, l.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l ON EXISTS (SELECT 1 FROM a o WHERE o.n > a.n AND 10 * o.id <= l.v);
-- 1 | 30
-- 2 | NULL
-- 3 | NULL
-- NULL | NULL

-- It sees everything before it, behind commas and joins too; the word may be left out.
SELECT a.id, b.v, l.s FROM a, b, LATERAL (SELECT a.id + b.v AS s) l WHERE a.id = b.id;
-- 1 | 10 | 11
-- 1 | 20 | 21
-- 1 | 30 | 31
-- 3 | 40 | 43
SELECT a.id, b.v, l.s FROM a JOIN b ON a.id = b.id CROSS JOIN LATERAL (SELECT a.id + b.v AS s) l;
-- 1 | 10 | 11
-- 1 | 20 | 21
-- 1 | 30 | 31
-- 3 | 40 | 43
SELECT a.id, d.v FROM a, (SELECT v FROM b WHERE b.id = a.id) d;
-- 1 | 10
-- 1 | 20
-- 1 | 30
-- 3 | 40
SELECT a.id, (SELECT max(l.s) FROM b, LATERAL (SELECT b.v + a.n AS s) l WHERE b.id = a.id) FROM a;
-- 1 | 32
-- 2 | NULL
-- 3 | 45
-- NULL | NULL
SELECT a.id, l.e FROM a, LATERAL (SELECT EXISTS (SELECT 1 FROM b WHERE b.id = a.id) AS e) l;
-- 1 | true
-- 2 | false
-- 3 | true
-- NULL | false
SELECT a.id, l.v FROM a, LATERAL (SELECT v FROM b WHERE b.id = a.id AND v > (SELECT avg(v) FROM b WHERE b.id = a.id)) l;
-- 1 | 30

SELECT * FROM a RIGHT JOIN LATERAL (SELECT v FROM b WHERE b.id = a.id) l ON TRUE;
-- error: ProgrammingError: 'id' is not visible in the right side of a RIGHT JOIN; only an inner or a LEFT JOIN has a row for it (line 1, column 61)
SELECT * FROM a FULL JOIN LATERAL (SELECT a.n) l ON TRUE;
-- error: ProgrammingError: 'n' is not visible in the right side of a FULL JOIN; only an inner or a LEFT JOIN has a row for it (line 1, column 45)
SELECT * FROM LATERAL (SELECT a.n) l, a;
-- error: ProgrammingError: table 'a' is not in FROM (line 1, column 31)
SELECT * FROM a, LATERAL (SELECT a.nn) l;
-- error: ProgrammingError: column 'nn' does not exist in 'a'; did you mean 'n'? (line 1, column 34)

-- A comma binds weaker than JOIN: what reads a table before it is no side of a join that keeps its rows.
SELECT * FROM (VALUES (1), (2)) AS a (x), LATERAL (SELECT a.x AS l) AS s RIGHT JOIN (VALUES (1), (5)) AS g (w) ON s.l = g.w;
-- error: NotSupportedError: RIGHT JOIN behind what reads a table before a comma is not supported; put it into a subquery

-- A comma binds weaker than JOIN, beside LATERAL too: USING takes columns from behind it, and `*` has those before it first.
SELECT * FROM (SELECT 1 AS x) AS a, LATERAL (SELECT a.x + 1 AS y) AS b JOIN (SELECT 2 AS y, 3 AS z) AS c USING (y);
-- 1 | 2 | 3

SELECT * FROM (SELECT 1 AS x) AS a, (SELECT 1 AS y) AS b JOIN LATERAL (SELECT a.x AS y, b.y + 1 AS z) AS c USING (y), LATERAL (SELECT z + x AS s) AS d;
-- 1 | 1 | 2 | 3

SELECT * FROM (SELECT 1 AS x) AS a, LATERAL (SELECT a.x AS y) AS b JOIN (SELECT 1 AS x) AS c USING (x);
-- error: ProgrammingError: column 'x' does not exist in 'b' (line 1, column 28)

SELECT * FROM (SELECT 1 AS x) AS a, LATERAL (SELECT a.x AS y) AS b JOIN (SELECT 1 AS z) AS c ON a.x = c.z;
-- 1 | 1 | 1
