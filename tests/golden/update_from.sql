CREATE TABLE rate (city VARCHAR, factor INTEGER);

CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR, rent INTEGER, note VARCHAR DEFAULT 'none');

INSERT INTO rate VALUES ('Oslo', 2), ('Lyon', 3), ('Rome', NULL);

INSERT INTO shop VALUES (1, 'Oslo', 10, 'a'), (2, 'Lyon', 20, 'b'), (3, 'Bari', 30, 'c'), (4, 'Rome', 40, 'd');

UPDATE shop SET rent = rent * factor FROM rate WHERE shop.city = rate.city;

SELECT id, rent FROM shop ORDER BY id;
-- 1 | 20
-- 2 | 60
-- 3 | 30
-- 4 | NULL

UPDATE shop AS s SET note = r.city || f.city FROM rate AS r, rate f WHERE s.city = r.city AND f.factor > r.factor RETURNING s.id, note, f.factor;
-- 1 | 'OsloLyon' | 3

UPDATE shop SET rent = total FROM (SELECT city, sum(factor) AS total FROM rate GROUP BY city) AS q JOIN rate USING (city) WHERE q.city = shop.city AND total IS NOT NULL;

SELECT id, rent FROM shop ORDER BY id;
-- 1 | 2
-- 2 | 3
-- 3 | 30
-- 4 | NULL

-- One of several partners is taken; all of them are the same here.
INSERT INTO rate VALUES ('Oslo', 2);

UPDATE shop SET rent = 100 + factor FROM rate WHERE rate.city = shop.city AND shop.id = 1 RETURNING id, rent;
-- 1 | 102

DELETE FROM shop AS s USING rate WHERE rate.city = s.city AND factor = 2 RETURNING s.id, rate.factor;
-- 1 | 2

DELETE FROM shop USING rate r, rate q WHERE r.city = shop.city AND q.city = r.city AND r.factor IS NULL;

SELECT * FROM shop ORDER BY id;
-- 2 | 'Lyon' | 3 | 'b'
-- 3 | 'Bari' | 30 | 'c'

-- Several columns at once, DEFAULT, subqueries.
UPDATE shop SET (rent, note) = (rent + 1, DEFAULT), city = (SELECT min(city) FROM rate) WHERE id = 2;

UPDATE shop SET (rent, note) = ROW(7, 'row') WHERE id = 3;

SELECT * FROM shop ORDER BY id;
-- 2 | 'Lyon' | 4 | 'none'
-- 3 | 'Bari' | 7 | 'row'

UPDATE shop SET rent = (SELECT sum(factor) FROM rate WHERE rate.city = shop.city), note = 'sub' WHERE EXISTS (SELECT 1 FROM rate WHERE rate.city = shop.city);

DELETE FROM shop WHERE id NOT IN (SELECT id FROM shop WHERE note = 'sub');

SELECT * FROM shop ORDER BY id;
-- 2 | 'Lyon' | 3 | 'sub'

WITH q AS (SELECT 2 AS id, 55 AS rent) UPDATE shop SET rent = q.rent FROM q WHERE q.id = shop.id;

WITH q AS (SELECT 5 AS id) INSERT INTO shop (id) SELECT id FROM q RETURNING *;
-- 5 | NULL | NULL | 'none'

WITH q AS (SELECT 5 AS id) DELETE FROM shop USING q WHERE q.id = shop.id RETURNING q.id;
-- 5

SELECT * FROM shop ORDER BY id;
-- 2 | 'Lyon' | 55 | 'sub'

-- A fact table with a BVH.
CREATE TABLE sale (city VARCHAR, amount INTEGER);

INSERT INTO sale VALUES ('Oslo', 1), ('Oslo', 2), ('Lyon', 4);

CREATE BVH sales ON sale (SCAN (city), GROUP BY (city), AGGREGATE (amount));

INSERT INTO sale VALUES ('Lyon', 8);

UPDATE shop SET rent = total FROM (SELECT city, sum(amount) AS total FROM sale GROUP BY city) AS t WHERE t.city = shop.city;

SELECT id, rent FROM shop;
-- 2 | 12

UPDATE sale SET amount = amount + (SELECT sum(amount) FROM sale) WHERE city = 'Oslo';

SELECT city, sum(amount) FROM sale GROUP BY city;
-- 'Lyon' | 12
-- 'Oslo' | 33

-- What is wrong.
UPDATE shop SET rent = 1 FROM shop WHERE id = 1;
-- error: ProgrammingError: table name 'shop' is used twice in FROM; give one of them an alias (line 1, column 8)

UPDATE shop SET rent = city FROM rate;
-- error: ProgrammingError: column 'city' is ambiguous: it is in 'shop' and in 'rate' (line 1, column 24)

UPDATE shop SET rent = 1 FROM nothing;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 31)

UPDATE shop SET rate.factor = 1 FROM rate;
-- error: ProgrammingError: SET needs the name of a column alone: 'factor', not rate.factor (line 1, column 22)

UPDATE shop SET (rent, note) = (1, 'x', 2);
-- error: ProgrammingError: SET names 2 columns in (rent, note), but gives 3

UPDATE shop SET (rent, rent) = (1, 2);
-- error: ProgrammingError: column 'rent' is named twice in UPDATE (line 1, column 18)

UPDATE shop SET (rent, note) = (SELECT 1, 'x');
-- error: NotSupportedError: SET (a, b) = (SELECT 1, 'x') is not supported (line 1, column 43)

DELETE FROM shop USING shop;
-- error: ProgrammingError: table name 'shop' is used twice in FROM; give one of them an alias (line 1, column 13)

DELETE FROM rate, shop;
-- error: NotSupportedError: a join in UPDATE or DELETE is not supported

CREATE TABLE several (i INTEGER);

INSERT INTO several VALUES (1), (2), (3);

DELETE FROM several USING (VALUES (1), (2)) AS a (i), (VALUES (2), (3)) AS b (i) WHERE several.i = a.i AND several.i = b.i RETURNING *;
-- 2 | 2 | 2

DELETE FROM several USING (SELECT 1 AS i) AS a, several AS other, (VALUES (5)) AS c (k) WHERE several.i = a.i AND other.i > several.i AND k > 4 RETURNING several.i;
-- 1
