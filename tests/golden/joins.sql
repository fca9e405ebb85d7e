CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR, country VARCHAR);

CREATE TABLE shop (id INTEGER PRIMARY KEY, city INTEGER REFERENCES city (id), name VARCHAR);

CREATE TABLE rent (city INTEGER, amount INTEGER);

INSERT INTO city VALUES (1, 'Rome', 'IT'), (2, 'Bari', 'IT'), (3, 'Lyon', 'FR');

INSERT INTO shop VALUES (10, 1, 'a'), (11, 1, 'b'), (12, 3, 'c'), (13, NULL, 'd');

INSERT INTO rent VALUES (1, 100), (1, 200), (4, 400), (NULL, 900);

-- A comma and JOIN ... ON say the same.
SELECT shop.name, city.name FROM shop, city WHERE shop.city = city.id;
-- 'a' | 'Rome'
-- 'b' | 'Rome'
-- 'c' | 'Lyon'
SELECT s.name, c.name FROM shop AS s JOIN city AS c ON s.city = c.id;
-- 'a' | 'Rome'
-- 'b' | 'Rome'
-- 'c' | 'Lyon'
SELECT s.name, c.name FROM shop s INNER JOIN city c ON c.id = s.city AND c.country = 'FR';
-- 'c' | 'Lyon'
SELECT s.name, c.name FROM shop s CROSS JOIN city c WHERE s.id = 13;
-- 'd' | 'Rome'
-- 'd' | 'Bari'
-- 'd' | 'Lyon'
SELECT count(*) FROM shop, city;
-- 12

-- Joins that multiply rows, and conditions that are no equality.
SELECT s.name, r.amount FROM shop s, rent r WHERE s.city = r.city;
-- 'a' | 100
-- 'a' | 200
-- 'b' | 100
-- 'b' | 200
SELECT s.name, r.amount FROM shop s JOIN rent r ON s.city = r.city AND r.amount > 150;
-- 'a' | 200
-- 'b' | 200
SELECT a.id, b.id FROM city a JOIN city b ON a.id < b.id;
-- 1 | 2
-- 1 | 3
-- 2 | 3
SELECT a.name, b.name FROM city a, city b WHERE a.country = b.country AND a.id < b.id;
-- 'Rome' | 'Bari'

-- Outer joins keep the rows without a partner.
SELECT s.name, c.name FROM shop s LEFT JOIN city c ON s.city = c.id;
-- 'a' | 'Rome'
-- 'b' | 'Rome'
-- 'c' | 'Lyon'
-- 'd' | NULL
SELECT s.name, c.name FROM shop s RIGHT JOIN city c ON s.city = c.id;
-- 'a' | 'Rome'
-- 'b' | 'Rome'
-- 'c' | 'Lyon'
-- NULL | 'Bari'
SELECT s.name, c.name FROM shop s FULL OUTER JOIN city c ON s.city = c.id;
-- 'a' | 'Rome'
-- 'b' | 'Rome'
-- 'c' | 'Lyon'
-- 'd' | NULL
-- NULL | 'Bari'

-- ON decides who is a partner, WHERE which rows remain.
SELECT s.name, c.name FROM shop s LEFT JOIN city c ON s.city = c.id AND c.country = 'FR';
-- 'a' | NULL
-- 'b' | NULL
-- 'c' | 'Lyon'
-- 'd' | NULL
SELECT s.name, c.name FROM shop s LEFT JOIN city c ON s.city = c.id WHERE c.country = 'FR';
-- 'c' | 'Lyon'
SELECT s.name, c.name FROM shop s LEFT JOIN city c ON s.city = c.id WHERE c.id IS NULL;
-- 'd' | NULL
SELECT c.name, count(s.id), count(*) FROM city c LEFT JOIN shop s ON s.city = c.id GROUP BY c.name;
-- 'Bari' | 0 | 1
-- 'Lyon' | 1 | 1
-- 'Rome' | 2 | 2

-- USING joins on columns of one name, which are one column of the result.
SELECT city, s.name, amount FROM shop s JOIN rent r USING (city);
-- 1 | 'a' | 100
-- 1 | 'a' | 200
-- 1 | 'b' | 100
-- 1 | 'b' | 200
SELECT * FROM rent LEFT JOIN shop USING (city);
-- 1 | 100 | 10 | 'a'
-- 1 | 100 | 11 | 'b'
-- 1 | 200 | 10 | 'a'
-- 1 | 200 | 11 | 'b'
-- 4 | 400 | NULL | NULL
-- NULL | 900 | NULL | NULL

-- Three tables; stars; an empty side.
SELECT s.name, c.country, r.amount
FROM shop s JOIN city c ON s.city = c.id LEFT JOIN rent r ON r.city = c.id;
-- 'a' | 'IT' | 100
-- 'a' | 'IT' | 200
-- 'b' | 'IT' | 100
-- 'b' | 'IT' | 200
-- 'c' | 'FR' | NULL
SELECT * FROM shop s JOIN city c ON s.city = c.id WHERE s.id = 12;
-- 12 | 3 | 'c' | 3 | 'Lyon' | 'FR'
SELECT c.*, s.id FROM shop s JOIN city c ON s.city = c.id WHERE s.id = 12;
-- 3 | 'Lyon' | 'FR' | 12
SELECT s.name FROM shop s JOIN city c ON s.city = c.id WHERE c.country = 'US';
-- (no rows)
SELECT s.name, c.name FROM shop s LEFT JOIN city c ON s.city = c.id AND c.country = 'US' WHERE s.id < 12;
-- 'a' | NULL
-- 'b' | NULL

SELECT name FROM shop, city WHERE shop.city = city.id;
-- error: ProgrammingError: column 'name' is ambiguous: it is in 'shop' and in 'city' (line 1, column 8)
SELECT s.name FROM shop s JOIN city c ON s.city = c.name;
-- error: ProgrammingError: cannot compare 'city' (INTEGER) with 'name' (VARCHAR) (line 1, column 42)
SELECT * FROM shop s JOIN city s ON TRUE;
-- error: ProgrammingError: table name 's' is used twice in FROM; give one of them an alias (line 1, column 20)
