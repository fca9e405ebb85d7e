CREATE TABLE a (id INTEGER, k VARCHAR, p INTEGER);

CREATE TABLE b (k VARCHAR, id INTEGER, q INTEGER);

CREATE TABLE c (r INTEGER);

INSERT INTO a VALUES (1, 'x', 10), (2, 'y', 20), (3, NULL, 30);

INSERT INTO b VALUES ('x', 1, 100), ('z', 2, 200), (NULL, 3, 300), ('w', 4, 400);

INSERT INTO c VALUES (7);

-- The columns with the same names are one, and come first.
SELECT * FROM a NATURAL JOIN b;
-- 1 | 'x' | 10 | 100
SELECT * FROM a NATURAL INNER JOIN b;
-- 1 | 'x' | 10 | 100
SELECT * FROM a NATURAL LEFT JOIN b;
-- 1 | 'x' | 10 | 100
-- 2 | 'y' | 20 | NULL
-- 3 | NULL | 30 | NULL
SELECT * FROM a NATURAL RIGHT JOIN b;
-- 1 | 'x' | 10 | 100
-- 2 | 'z' | NULL | 200
-- 3 | NULL | NULL | 300
-- 4 | 'w' | NULL | 400
SELECT * FROM a NATURAL FULL OUTER JOIN b;
-- 1 | 'x' | 10 | 100
-- 2 | 'y' | 20 | NULL
-- 2 | 'z' | NULL | 200
-- 3 | NULL | 30 | NULL
-- 3 | NULL | NULL | 300
-- 4 | 'w' | NULL | 400
SELECT id, k, p, q FROM a NATURAL JOIN b WHERE k = 'x';
-- 1 | 'x' | 10 | 100
SELECT a.id, b.id, id FROM a NATURAL FULL JOIN b;
-- 1 | 1 | 1
-- 2 | NULL | 2
-- 3 | NULL | 3
-- NULL | 2 | 2
-- NULL | 3 | 3
-- NULL | 4 | 4

-- Without a common name it is a cross join.
SELECT id, r FROM a NATURAL JOIN c;
-- 1 | 7
-- 2 | 7
-- 3 | 7

-- USING names the columns; several joins; a full join's column is that of either side.
SELECT * FROM a JOIN b USING (id);
-- 1 | 'x' | 10 | 'x' | 100
-- 2 | 'y' | 20 | 'z' | 200
-- 3 | NULL | 30 | NULL | 300
SELECT * FROM a JOIN b USING (id, k);
-- 1 | 'x' | 10 | 100
SELECT * FROM a LEFT JOIN b USING (id, k);
-- 1 | 'x' | 10 | 100
-- 2 | 'y' | 20 | NULL
-- 3 | NULL | 30 | NULL
SELECT id, a.k, b.k, p, q FROM a FULL JOIN b USING (id);
-- 1 | 'x' | 'x' | 10 | 100
-- 2 | 'y' | 'z' | 20 | 200
-- 3 | NULL | NULL | 30 | 300
-- 4 | NULL | 'w' | NULL | 400
SELECT id, p, q, s FROM a FULL JOIN b USING (id) FULL JOIN (VALUES (4, 'd'), (5, 'e')) AS d(id, s) USING (id);
-- 1 | 10 | 100 | NULL
-- 2 | 20 | 200 | NULL
-- 3 | 30 | 300 | NULL
-- 4 | NULL | 400 | 'd'
-- 5 | NULL | NULL | 'e'

-- Joins in parentheses, with a name and new names for their columns.
SELECT * FROM (a NATURAL JOIN b);
-- 1 | 'x' | 10 | 100
SELECT t.id, t.q FROM (a JOIN b USING (id)) AS t;
-- 1 | 100
-- 2 | 200
-- 3 | 300
SELECT one, two FROM (a JOIN b USING (id)) AS t(one, two);
-- 1 | 'x'
-- 2 | 'y'
-- 3 | NULL
SELECT a.p, b.q, c.r FROM a JOIN (b CROSS JOIN c) ON a.id = b.id;
-- 10 | 100 | 7
-- 20 | 200 | 7
-- 30 | 300 | 7
SELECT a.p, b.q, c.r FROM (a JOIN (b JOIN c ON TRUE) ON a.id = b.id);
-- 10 | 100 | 7
-- 20 | 200 | 7
-- 30 | 300 | 7
SELECT a.p, b.q, c.r FROM a JOIN b JOIN c ON TRUE ON a.id = b.id;
-- 10 | 100 | 7
-- 20 | 200 | 7
-- 30 | 300 | 7

SELECT t.k FROM (a JOIN b USING (id)) AS t;
-- error: ProgrammingError: column 'k' is ambiguous: 't' has two (line 1, column 8)
SELECT a.id FROM (a JOIN b USING (id)) AS t;
-- error: ProgrammingError: table 'a' is not in FROM (line 1, column 8)
SELECT * FROM a NATURAL JOIN b ON TRUE;
-- error: ProgrammingError: NATURAL JOIN takes no ON or USING
SELECT * FROM a NATURAL CROSS JOIN b;
-- error: ProgrammingError: a join is NATURAL or CROSS, not both
SELECT * FROM a JOIN b USING (p);
-- error: ProgrammingError: column 'p' does not exist in 'b' (line 1, column 31)
SELECT * FROM a POSITIONAL JOIN b;
-- 1 | 'x' | 10 | 'x' | 1 | 100
-- 2 | 'y' | 20 | 'z' | 2 | 200
-- 3 | NULL | 30 | NULL | 3 | 300
-- NULL | NULL | NULL | 'w' | 4 | 400

SELECT * FROM (VALUES (1)) AS v(a) JOIN (VALUES (1)) AS w(a) USING (a, a);
-- error: ProgrammingError: column 'a' is named twice in USING (line 1, column 33)
