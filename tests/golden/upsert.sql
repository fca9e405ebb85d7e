CREATE TABLE stock (id INTEGER PRIMARY KEY, name VARCHAR UNIQUE, n INTEGER NOT NULL DEFAULT 1 CHECK (n >= 0));

INSERT INTO stock VALUES (1, 'nut', 10), (2, 'bolt', 20), (3, NULL, 30);

-- DO NOTHING: any key, or the one that is named.
INSERT INTO stock VALUES (1, 'new', 0), (4, 'bolt', 0), (5, 'cap', 50) ON CONFLICT DO NOTHING;

INSERT INTO stock VALUES (1, 'x', 0) ON CONFLICT (id) DO NOTHING;

INSERT INTO stock VALUES (6, 'nut', 0) ON CONFLICT (id) DO NOTHING;
-- error: IntegrityError: table 'stock', row 1: the unique key (name) = ('nut') is in the table already

SELECT * FROM stock ORDER BY id;
-- 1 | 'nut' | 10
-- 2 | 'bolt' | 20
-- 3 | NULL | 30
-- 5 | 'cap' | 50

-- A row of the statement conflicts with one that is inserted before, not with one that is skipped.
INSERT INTO stock VALUES (7, 'a', 1), (7, 'b', 2), (8, 'b', 3), (9, 'a', 4), (10, NULL, 5), (11, NULL, 6)
ON CONFLICT DO NOTHING RETURNING id, name;
-- 10 | NULL
-- 11 | NULL
-- 7 | 'a'
-- 8 | 'b'

-- DO UPDATE sees both rows.
INSERT INTO stock VALUES (1, 'x', 5), (20, 'hook', 7), (2, 'y', 6)
ON CONFLICT (id) DO UPDATE SET n = stock.n + excluded.n, name = upper(stock.name) RETURNING id, name, n, n * 2 AS twice;
-- 1 | 'NUT' | 15 | 30
-- 2 | 'BOLT' | 26 | 52
-- 20 | 'hook' | 7 | 14

INSERT INTO stock AS s (id, n) VALUES (1, 1), (2, 100) ON CONFLICT (id) DO UPDATE SET n = n + excluded.n WHERE excluded.n < s.n RETURNING *;
-- 1 | 'NUT' | 16

INSERT INTO stock (name, id) VALUES ('hook', 21) ON CONFLICT (name) DO UPDATE SET (id, n) = (excluded.id, DEFAULT);

INSERT INTO stock SELECT id, name, 0 FROM stock WHERE id < 3 ON CONFLICT ON CONSTRAINT stock_pkey DO UPDATE SET n = excluded.n;

SELECT * FROM stock WHERE id < 3 OR id > 19 ORDER BY id;
-- 1 | 'NUT' | 0
-- 2 | 'BOLT' | 0
-- 21 | 'hook' | 1

-- OR REPLACE and OR IGNORE.
CREATE TABLE kv (k VARCHAR PRIMARY KEY, v INTEGER DEFAULT 7);

INSERT OR REPLACE INTO kv VALUES ('a', 1), ('b', 2);

INSERT OR REPLACE INTO kv (k) VALUES ('a');

INSERT OR IGNORE INTO kv VALUES ('b', 9), ('c', 3), ('c', 4);

SELECT * FROM kv ORDER BY k;
-- 'a' | 7
-- 'b' | 2
-- 'c' | 3

-- REPLACE INTO is INSERT OR REPLACE INTO.
CREATE TABLE seen (k INTEGER PRIMARY KEY, v VARCHAR);

REPLACE INTO seen VALUES (1, 'a'), (2, 'b');

replace into seen (k, v) VALUES (1, 'c') RETURNING *;
-- 1 | 'c'

WITH more AS (SELECT 3 AS k) REPLACE INTO seen SELECT k, 'd' FROM more;

PREPARE put AS REPLACE INTO seen VALUES ($1, $2);

EXECUTE put(2, 'e');

SELECT * REPLACE (upper(v) AS v) FROM seen ORDER BY k;
-- 1 | 'C'
-- 2 | 'E'
-- 3 | 'D'

REPLACE seen VALUES (1, 'x');
-- error: ProgrammingError: syntax error at line 1, column 1: unexpected 'REPLACE'; did you mean 'PREPARE'?

REPLACE INTO seen VALUES (1, 'x') ON CONFLICT DO NOTHING;
-- error: ProgrammingError: INSERT OR REPLACE takes no ON CONFLICT

-- A NULL equals no other one.
CREATE TABLE pair (a INTEGER, b INTEGER, n INTEGER, UNIQUE (a, b));

INSERT INTO pair VALUES (1, NULL, 1), (1, 2, 1);

INSERT INTO pair VALUES (1, NULL, 2), (1, 2, 2), (NULL, 2, 2) ON CONFLICT (b, a) DO UPDATE SET n = 5;

SELECT * FROM pair ORDER BY a, b, n;
-- 1 | 2 | 5
-- 1 | NULL | 1
-- 1 | NULL | 2
-- NULL | 2 | 2

-- The same row twice.
INSERT INTO kv VALUES ('a', 1), ('a', 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
-- error: ProgrammingError: ON CONFLICT DO UPDATE cannot affect a row of table 'kv' a second time: two rows of the statement have its key (line 1, column 13)

INSERT INTO kv VALUES ('z', 1), ('z', 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v;
-- error: ProgrammingError: ON CONFLICT DO UPDATE cannot affect a row of table 'kv' a second time: two rows of the statement have its key (line 1, column 13)

INSERT INTO kv VALUES ('a', 1), ('a', 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v WHERE excluded.v > 1;

INSERT INTO kv VALUES ('z', 1), ('z', 2) ON CONFLICT DO NOTHING;

SELECT * FROM kv ORDER BY k;
-- 'a' | 2
-- 'b' | 2
-- 'c' | 3
-- 'z' | 1

-- Constraints hold; an error changes nothing.
INSERT INTO stock VALUES (30, 'new', 1), (1, 'x', -1) ON CONFLICT (id) DO UPDATE SET n = excluded.n;
-- error: IntegrityError: table 'stock', row 2: the check (n >= 0) does not hold: (n) = (-1)

INSERT INTO stock VALUES (30, 'new', 1), (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET n = -excluded.n;
-- error: IntegrityError: table 'stock', updated row 1: the check (n >= 0) does not hold: (n) = (-1)

INSERT INTO stock VALUES (30, 'new', 1), (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET name = 'BOLT';
-- error: IntegrityError: table 'stock', updated row 1: the unique key (name) = ('BOLT') is in the table already

INSERT INTO stock VALUES (1, 'x', NULL) ON CONFLICT (id) DO UPDATE SET n = 5;
-- error: IntegrityError: table 'stock', row 1: column 'n' is NOT NULL, but has no value

INSERT INTO stock VALUES (31, 'NUT', 1) ON CONFLICT (id) DO NOTHING;
-- error: IntegrityError: table 'stock', row 1: the unique key (name) = ('NUT') is in the table already

SELECT count(*) FROM stock WHERE id >= 30;
-- 0

-- Keys that other tables refer to keep their rows.
CREATE TABLE orders (stock INTEGER REFERENCES stock (id), pieces INTEGER);

INSERT INTO orders VALUES (1, 3), (2, 4);

INSERT INTO stock VALUES (1, 'renamed', 9) ON CONFLICT (id) DO UPDATE SET name = excluded.name;

SELECT name, sum(pieces) FROM orders JOIN stock ON stock = id GROUP BY name ORDER BY name;
-- 'BOLT' | 4
-- 'renamed' | 3

-- What is wrong.
INSERT INTO stock VALUES (1, 'x', 1) ON CONFLICT DO UPDATE SET n = 1;
-- error: ProgrammingError: table 'stock' has 2 primary and unique keys: ON CONFLICT (columns) DO UPDATE says which one is meant (line 1, column 13)

INSERT OR REPLACE INTO stock VALUES (1, 'x', 1);
-- error: ProgrammingError: table 'stock' has 2 primary and unique keys: ON CONFLICT (columns) DO UPDATE says which one is meant (line 1, column 24)

INSERT INTO stock VALUES (1, 'x', 1) ON CONFLICT (n) DO NOTHING;
-- error: ProgrammingError: ON CONFLICT (n): there is no such primary or unique key of table 'stock' (line 1, column 13)

INSERT INTO stock VALUES (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET m = 1;
-- error: ProgrammingError: column 'm' does not exist in 'stock' (line 1, column 69)

INSERT INTO stock VALUES (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET n = other.n;
-- error: ProgrammingError: table 'other' is not in FROM (line 1, column 73)

INSERT INTO stock VALUES (1, 'x', 1) ON CONFLICT ON CONSTRAINT nothing DO NOTHING;
-- error: ProgrammingError: table 'stock' has no primary or unique key with the name 'nothing' (line 1, column 13)

INSERT OR REPLACE INTO kv VALUES ('a', 1) ON CONFLICT DO NOTHING;
-- error: ProgrammingError: INSERT OR REPLACE takes no ON CONFLICT

INSERT OR FAIL INTO kv VALUES ('a', 1);
-- error: ProgrammingError: syntax error at line 1, column 11: unexpected 'FAIL', expected REPLACE or IGNORE

INSERT INTO pair VALUES (1, 2, 3) ON CONFLICT (a) DO NOTHING;
-- error: ProgrammingError: ON CONFLICT (a): there is no such primary or unique key of table 'pair' (line 1, column 13)
