CREATE TABLE transfers (id INTEGER PRIMARY KEY, s VARCHAR, d VARCHAR, t TIMESTAMP, day DATE, n BIGINT);
INSERT INTO transfers
  SELECT range, chr(97 + range * 7 % 5), chr(97 + range * 3 % 4), TIMESTAMP '2026-01-01' + INTERVAL 1 HOUR * range,
         DATE '2026-01-01' + CAST(floor(range / 24.0) AS INTEGER), range
  FROM range(100);
CREATE TABLE patterns (name VARCHAR, text VARCHAR, hours INTEGER, span INTERVAL);
INSERT INTO patterns VALUES ('circle', 'cycle(3)', 24, INTERVAL 1 DAY), ('chain', 'a->b, b->c', 24, INTERVAL 1 DAY),
  ('fork', 'a->b, {b->c, b->d}', 48, INTERVAL 2 DAY), ('chain again', 'path(3)', 24, INTERVAL 1 DAY);

-- A table of patterns: one graph for all of them.
SELECT p.name, m.count, m.method FROM patterns p, LATERAL motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => p.text, delta => p.hours) m;
-- 'chain again' | 206 | 'exact'
-- 'chain' | 206 | 'exact'
-- 'circle' | 91 | 'exact'
-- 'fork' | 930 | 'exact'
SELECT p.name, m.count FROM patterns p, motif_count(transfers, src => s, dst => d, time => t, motif => p.text, delta => p.span) m;
-- 'chain again' | 206
-- 'chain' | 206
-- 'circle' | 91
-- 'fork' | 930
SELECT p.name, m.count FROM patterns p JOIN LATERAL motif_count(transfers, src => s, dst => d, time => day, motif => text, delta => 1 + hours / 48) m ON m.count > 500;
-- 'fork' | 800
SELECT h, m.count FROM range(1, 30, 7) AS r (h), LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => 'cycle(3)', delta => h) m;
-- 1 | 0
-- 15 | 28
-- 22 | 71
-- 29 | 109
-- 8 | 10
SELECT w, m.count FROM (VALUES ('strict'), ('index')) AS v (w), LATERAL motif_count(transfers, src => s, dst => d, time => day, motif => 'path(3)', delta => 1, ties => w) m;
-- 'index' | 268
-- 'strict' | 165
SELECT w, m.method, m.converged FROM (VALUES ('exact'), ('timest')) AS v (w), LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => 'path(3)', delta => 24, method => w) m;
-- 'exact' | 'exact' | true
-- 'timest' | 'timest' | true
SELECT name, (SELECT count FROM motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours)) AS found FROM patterns p;
-- 'chain again' | 206
-- 'chain' | 206
-- 'circle' | 91
-- 'fork' | 930
SELECT name FROM patterns p WHERE (SELECT count FROM motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours)) > 100;
-- 'chain again'
-- 'chain'
-- 'fork'
SELECT sum(m.count) FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours) m;
-- 1433
SELECT count FROM motif_count(transfers, src => s, dst => d, time => n, motif => (SELECT text FROM patterns WHERE name = 'circle'), delta => (SELECT max(hours) FROM patterns));
-- 232
EXPLAIN SELECT p.name, m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours, rel_error => p.hours / 1e3) m;
-- has: MotifRows: count of text
-- has: within: hours
-- has: graph: kept with 'transfers'
-- has: timest to (CAST(hours AS DOUBLE) / 1000.0) with confidence 0.95
EXPLAIN ANALYZE SELECT p.name, m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours) m;
-- has: ran: 4 searches: 4 exact
-- has: ScanTable: transfers (s, d, n)

-- Rows of their own for each row: a window, a vertex, the last few.
SELECT x, m.count, m.edges FROM range(0, 100, 25) AS w (x), LATERAL motif_count((SELECT * FROM transfers WHERE n >= w.x AND n < w.x + 50), src => s, dst => d, time => n, motif => 'path(3)', delta => 24) m;
-- 0 | 80 | 50
-- 25 | 88 | 50
-- 50 | 95 | 50
-- 75 | 32 | 25
SELECT count, edges FROM motif_count((SELECT * FROM transfers WHERE n >= 25 AND n < 75), src => s, dst => d, time => n, motif => 'path(3)', delta => 24);
-- 88 | 50
SELECT a.s, m.count, m.edges FROM (SELECT DISTINCT s FROM transfers) a, LATERAL motif_count((SELECT * FROM transfers e WHERE e.s = a.s OR e.d = a.s), src => s, dst => d, time => n, motif => 'cycle(2)', delta => 24) m;
-- 'a' | 31 | 40
-- 'b' | 27 | 40
-- 'c' | 27 | 40
-- 'd' | 31 | 40
-- 'e' | 0 | 20
SELECT x, p.name, m.count FROM range(0, 100, 50) AS w (x), patterns p, LATERAL motif_count((SELECT * FROM transfers WHERE n BETWEEN w.x AND w.x + 39), src => s, dst => d, time => n, motif => p.text, delta => p.hours) m;
-- 0 | 'chain again' | 65
-- 0 | 'chain' | 65
-- 0 | 'circle' | 25
-- 0 | 'fork' | 128
-- 50 | 'chain again' | 63
-- 50 | 'chain' | 63
-- 50 | 'circle' | 24
-- 50 | 'fork' | 112
SELECT x, m.edges, m.count FROM (VALUES (10), (20), (0)) AS w (x), LATERAL motif_count((SELECT * FROM transfers ORDER BY n DESC LIMIT 30), src => s, dst => d, time => n, motif => 'path(3)', delta => x + 1) m;
-- 10 | 30 | 29
-- 20 | 30 | 43
-- 0 | 30 | 5
SELECT a.s, m.edges FROM (SELECT DISTINCT s FROM transfers) a, LATERAL motif_count((SELECT * FROM transfers e WHERE e.s = a.s ORDER BY n LIMIT 7), src => s, dst => d, time => n, motif => 'star_out(2)', delta => 24) m;
-- 'a' | 7
-- 'b' | 7
-- 'c' | 7
-- 'd' | 7
-- 'e' | 7
SELECT x, m.count, m.exact, m.edges FROM (VALUES (-1)) AS w (x), LATERAL motif_count((SELECT * FROM transfers WHERE n < w.x), src => s, dst => d, time => n, motif => 'path(3)', delta => 24) m;
-- -1 | 0 | true | 0
EXPLAIN ANALYZE SELECT x, m.count FROM range(0, 100, 25) AS w (x), LATERAL motif_count((SELECT * FROM transfers WHERE n >= w.x AND n < w.x + 50), src => s, dst => d, time => n, motif => 'path(3)', delta => 24) m;
-- has: graph: built for each row that has edges of its own
-- has: ran: 4 searches: 4 exact, graph built in

-- The order of rows decides between edges of one time, and is that of the rows or of ORDER BY.
CREATE TABLE same_day (s INTEGER, d INTEGER, n INTEGER, place INTEGER);
INSERT INTO same_day VALUES (1, 2, 5, 1), (2, 3, 5, 2), (3, 4, 5, 3);
SELECT x, m.count FROM (VALUES (1), (2)) AS v (x), LATERAL motif_count((SELECT * FROM same_day WHERE place >= x), src => s, dst => d, time => n, motif => 'path(3)', delta => 1, ties => 'index') m;
-- 1 | 2
-- 2 | 1
SELECT x, m.count FROM (VALUES (1), (2)) AS v (x), LATERAL motif_count((SELECT * FROM same_day WHERE place >= x ORDER BY place DESC), src => s, dst => d, time => n, motif => 'path(3)', delta => 1, ties => 'index') m;
-- 1 | 0
-- 2 | 0
SELECT x, m.a, m.b, m.c, m.e1_row, m.e2_row FROM (VALUES (1), (2)) AS v (x), LATERAL motif_sample((SELECT * FROM same_day WHERE s >= 2 OR x = 1), src => s, dst => d, time => n, motif => 'path(3)', delta => 1, ties => 'index', n => 1, seed => 2) m;
-- 1 | 2 | 3 | 4 | 2 | 3
-- 2 | 2 | 3 | 4 | 1 | 2
SELECT x, m.e1_row, m.e2_row FROM (VALUES (2)) AS v (x), LATERAL motif_sample((SELECT * FROM same_day WHERE place >= x ORDER BY place DESC), src => s, dst => d, time => place, motif => 'path(3)', delta => 1, n => 1) m;
-- 2 | 2 | 1

-- Samples: several rows, or none.
SELECT h, count(*), max(m.last_time - m.first_time) <= h FROM range(1, 25, 8) AS r (h), LATERAL motif_sample(transfers, src => s, dst => d, time => n, motif => 'cycle(3)', delta => h, n => 1 + h / 8) m GROUP BY h;
-- 17 | 3 | true
-- 9 | 2 | true
SELECT h, m.instance FROM range(1, 25, 8) AS r (h) LEFT JOIN LATERAL motif_sample(transfers, src => s, dst => d, time => n, motif => 'cycle(3)', delta => h, n => 1) m ON true;
-- 1 | NULL
-- 17 | 1
-- 9 | 1

-- A NULL asks nothing.
INSERT INTO patterns VALUES ('unknown', NULL, 24, NULL), ('endless', 'cycle(3)', NULL, NULL);
SELECT p.name, m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours) m;
-- 'chain again' | 206
-- 'chain' | 206
-- 'circle' | 91
-- 'fork' | 930
-- warning: rows without an answer because an argument is NULL: 2
SELECT p.name, m.count FROM patterns p LEFT JOIN LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours) m ON true;
-- 'chain again' | 206
-- 'chain' | 206
-- 'circle' | 91
-- 'endless' | NULL
-- 'fork' | 930
-- 'unknown' | NULL
DELETE FROM patterns WHERE text IS NULL OR hours IS NULL;

-- What is wrong with a value is said with the motif.
INSERT INTO patterns VALUES ('typo', 'a->b, b-c', 24, INTERVAL 1 DAY);
SELECT p.name, m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.hours) m;
-- error: DataError: motif of motif_count(), character 8: unexpected '-'; it is like 'a->b, b->c, c->a' (motif 'a->b, b-c')
SELECT p.name, m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => 'path(3)', delta => p.hours - 30) m;
-- error: DataError: delta of motif_count() is at least 0, not -6 (INTEGER)
SELECT p.name, m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => 'path(3)', delta => 24, method => p.name) m;
-- error: DataError: method of motif_count() is 'auto', 'exact' or 'timest', not 'circle' (VARCHAR)

-- What cannot differ by row, and arguments that do not fit.
SELECT m.a FROM patterns p, LATERAL motif_sample(transfers, src => s, dst => d, time => n, motif => p.text, delta => 24) m;
-- error: NotSupportedError: motif of motif_sample() is the same for all rows, since the result has a column for each of its vertices; 'text' (VARCHAR) is not (line 1, column 37)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => p.name, dst => d, time => n, motif => 'path(3)', delta => 24) m;
-- error: ProgrammingError: src of motif_count() is the name of a column of its rows, such as src => 'payer'; another table cannot give it (line 1, column 41)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => p.name || 'x', dst => d, time => n, motif => 'path(3)', delta => 24) m;
-- error: ProgrammingError: src of motif_count() is the name of a column of its rows, such as src => 'payer'; another table cannot give it (line 1, column 41)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.hours, delta => 24) m;
-- error: ProgrammingError: motif of motif_count() is a text, not 'hours' (INTEGER) (line 1, column 41)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => p.span) m;
-- error: ProgrammingError: delta of motif_count() is a whole number for the column 'n', not 'span' (INTERVAL) (line 1, column 41)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => t, motif => p.text, delta => p.hours) m;
-- error: ProgrammingError: delta of motif_count() is an interval for the TIMESTAMP column 't', not 'hours' (INTEGER) (line 1, column 41)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.txt, delta => 24) m;
-- error: ProgrammingError: column 'txt' does not exist in 'p'; did you mean 'text'? (line 1, column 104)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => q.text, delta => 24) m;
-- error: ProgrammingError: table 'q' is not in FROM (line 1, column 104)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => 'path(3)', delta => p.hours, rel_error => p.name) m;
-- error: ProgrammingError: rel_error of motif_count() is a number, not 'name' (VARCHAR) (line 1, column 41)
SELECT m.count FROM patterns p RIGHT JOIN LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => 24) m ON true;
-- error: ProgrammingError: 'text' is not visible in the right side of a RIGHT JOIN; only an inner or a LEFT JOIN has a row for it (line 1, column 116)
SELECT m.count FROM LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => p.text, delta => 24) m, patterns p;
-- error: ProgrammingError: table 'p' is not in FROM (line 1, column 92)
SELECT m.count FROM patterns p, LATERAL motif_count(p, src => s, dst => d, time => n, motif => 'path(3)', delta => 24) m;
-- error: ProgrammingError: table 'p' does not exist (line 1, column 53)
SELECT m.count FROM patterns p, LATERAL motif_count(transfers, src => s, dst => d, time => n, motif => 'path(3)', delta => CAST(random() * 10 AS INTEGER) + p.hours) m;
-- error: NotSupportedError: random() in motif_count() is not supported (line 1, column 41)
