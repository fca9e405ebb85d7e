CREATE TABLE country (id INTEGER PRIMARY KEY, name VARCHAR);

CREATE TABLE city (id INTEGER PRIMARY KEY, country INTEGER REFERENCES country ON DELETE CASCADE, twin INTEGER REFERENCES city (id) ON DELETE CASCADE);

CREATE TABLE shop (city INTEGER REFERENCES city (id) ON DELETE CASCADE, rent INTEGER);

CREATE TABLE guide (country INTEGER REFERENCES country (id));

CREATE BVH rents ON shop (SCAN (name), AGGREGATE (rent));

INSERT INTO country VALUES (1, 'Italy'), (2, 'Peru'), (3, 'Chad');

INSERT INTO city VALUES (10, 1, NULL), (11, 1, 10), (20, 2, 11), (21, 2, NULL), (30, 3, 30);

INSERT INTO shop VALUES (10, 1), (11, 2), (20, 4), (21, 8), (30, 16), (NULL, 32);

INSERT INTO guide VALUES (3);

-- Rows that refer to deleted rows go too, and those that refer to them.
DELETE FROM country WHERE id = 1;

SELECT id FROM city ORDER BY id;
-- 21
-- 30

SELECT * FROM shop;
-- 21 | 8
-- 30 | 16
-- NULL | 32

SELECT name, sum(rent) FROM shop JOIN city ON city = city.id JOIN country ON country = country.id GROUP BY name;
-- 'Chad' | 16
-- 'Peru' | 8

EXPLAIN SELECT name, sum(rent) FROM shop JOIN city ON city = city.id JOIN country ON country = country.id GROUP BY name;
-- has: path: fused

-- All or nothing: another table's key holds the country back.
DELETE FROM country;
-- error: IntegrityError: table 'country': the key (id) = (3) cannot be deleted: the foreign key (country) of table 'guide' refers to it

SELECT count(*) FROM shop;
-- 3

BEGIN;

DELETE FROM guide;

DELETE FROM country RETURNING name;
-- 'Chad'
-- 'Peru'

SELECT count(*) FROM city;
-- 0

SELECT * FROM shop;
-- NULL | 32

ROLLBACK;

SELECT count(*) FROM shop;
-- 3

-- A row that refers to itself.
DELETE FROM city WHERE id = 30;

SELECT * FROM shop;
-- 21 | 8
-- NULL | 32

-- Keys that are referred to stay as they are.
UPDATE city SET id = 22 WHERE id = 21;
-- error: IntegrityError: table 'city': the key (id) = (21) cannot be changed: the foreign key (city) of table 'shop' refers to it
