CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, code VARCHAR UNIQUE);

CREATE TABLE shop (
  id INTEGER PRIMARY KEY, nation INTEGER REFERENCES nation (id), twin INTEGER REFERENCES shop (id),
  city VARCHAR, rent DECIMAL(6, 2));

CREATE BVH rents ON shop (SCAN (name, city), GROUP BY (name), AGGREGATE (rent));

INSERT INTO nation VALUES (1, 'Italy', 'IT'), (2, 'France', 'FR'), (3, 'Peru', NULL);

INSERT INTO shop VALUES
  (1, 1, NULL, 'Rome', 10), (2, 1, 1, 'Bari', 20), (3, 2, 1, 'Paris', 40), (4, NULL, 4, NULL, 80);

-- The assignments see the old values.
UPDATE shop SET rent = rent + id, city = city || ' ' || rent WHERE nation = 1;

SELECT * FROM shop;
-- 1 | 1 | NULL | 'Rome 10.00' | 11.00
-- 2 | 1 | 1 | 'Bari 20.00' | 22.00
-- 3 | 2 | 1 | 'Paris' | 40.00
-- 4 | NULL | 4 | NULL | 80.00
SELECT name, sum(rent), count(*) FROM shop, nation WHERE nation = nation.id GROUP BY name;
-- 'France' | 40.00 | 1
-- 'Italy' | 33.00 | 2
EXPLAIN SELECT name, sum(rent), count(*) FROM shop, nation WHERE nation = nation.id GROUP BY name;
-- has: path: fused

-- Values take the types of their columns; the table may have another name.
UPDATE shop AS s SET rent = '9.5', city = NULL WHERE s.city LIKE 'Bari%';

SELECT city, rent FROM shop WHERE id = 2;
-- NULL | 9.50

-- A dimension's rows change under the fact rows that refer to them.
UPDATE nation SET name = upper(name), code = name WHERE id < 3;

SELECT name, code, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name, code;
-- 'FRANCE' | 'France' | 40.00
-- 'ITALY' | 'Italy' | 20.50

-- Two rows swap their unique keys in one statement.
UPDATE nation SET code = CASE id WHEN 1 THEN 'France' ELSE 'Italy' END WHERE id IN (1, 2);

SELECT id, code FROM nation;
-- 1 | 'France'
-- 2 | 'Italy'
-- 3 | NULL

-- No row matches: NULL is not true.
UPDATE shop SET rent = 0 WHERE nation = NULL;

DELETE FROM shop WHERE nation <> 1 AND nation <> 2;

SELECT count(*), count(nation), sum(rent) FROM shop;
-- 4 | 3 | 140.50

-- Keys that are referred to stay.
DELETE FROM nation WHERE id = 2;
-- error: IntegrityError: table 'nation': the key (id) = (2) cannot be deleted: the foreign key (nation) of table 'shop' refers to it
UPDATE nation SET id = id + 10;
-- error: IntegrityError: table 'nation': the key (id) = (2) cannot be changed: the foreign key (nation) of table 'shop' refers to it
DELETE FROM shop WHERE id = 1;
-- error: IntegrityError: table 'shop': the key (id) = (1) cannot be deleted: the foreign key (twin) of table 'shop' refers to it
UPDATE shop SET id = 9 WHERE id = 1;
-- error: IntegrityError: table 'shop': the key (id) = (1) cannot be changed: the foreign key (twin) of table 'shop' refers to it

-- Keys that are not referred to may go, and come again.
UPDATE nation SET id = 4 WHERE id = 3;

DELETE FROM nation WHERE id = 4;

INSERT INTO nation VALUES (3, 'Chad', NULL), (4, 'Cuba', 'Italia');

INSERT INTO shop VALUES (5, 3, 2, 'Abéché', 7);

-- A row that refers to itself moves with its key, and rows that refer to each other go together.
UPDATE shop SET id = 14, twin = 14 WHERE id = 4;

DELETE FROM shop WHERE id IN (2, 5);

SELECT id, twin FROM shop;
-- 1 | NULL
-- 3 | 1
-- 14 | 14

-- An error changes nothing.
UPDATE nation SET name = NULL WHERE id = 1;
-- error: IntegrityError: table 'nation', updated row 1: column 'name' is NOT NULL, but has no value
UPDATE nation SET code = 'x';
-- error: IntegrityError: table 'nation', updated row 2: the unique key (code) = ('x') is that of updated row 1
UPDATE nation SET code = 'Italia' WHERE id = 1;
-- error: IntegrityError: table 'nation', updated row 1: the unique key (code) = ('Italia') is in the table already
UPDATE shop SET nation = id;
-- error: IntegrityError: table 'shop', updated row 3: the foreign key (nation) = (14) has no row in 'nation' (id)
UPDATE shop SET rent = rent * 1000;
-- error: DataError: 40000.00 is out of range for DECIMAL(6,2)
DELETE FROM shop WHERE 1 / (id - 1) > 0;
-- error: DataError: division by zero
UPDATE nation SET nmae = 'x';
-- error: ProgrammingError: column 'nmae' does not exist in 'nation'; did you mean 'name'? (line 1, column 19)
UPDATE nation SET id = 1, id = 2;
-- error: ProgrammingError: column 'id' is named twice in UPDATE (line 1, column 19)
UPDATE nation SET id = name;
-- error: ProgrammingError: column 'id' has the type INTEGER, but its value is 'name' (VARCHAR) (line 1, column 19)
UPDATE nation SET id = 'one';
-- error: DataError: column 'id': 'one' is not a valid INTEGER
UPDATE nation SET id = sum(id);
-- error: ProgrammingError: SET cannot contain the aggregate sum (line 1, column 24)
UPDATE nation SET id = 1 WHERE nmae = 'x';
-- error: ProgrammingError: column 'nmae' does not exist in 'nation'; did you mean 'name'? (line 1, column 32)
UPDATE natoin SET id = 1;
-- error: ProgrammingError: table 'natoin' does not exist; did you mean 'nation'? (line 1, column 8)
DELETE FROM natoin;
-- error: ProgrammingError: table 'natoin' does not exist; did you mean 'nation'? (line 1, column 13)
DELETE FROM nation WHERE [id];
-- error: ProgrammingError: WHERE needs a condition, not an expression (INTEGER[])
DELETE FROM nation WHERE count(*) > 1;
-- error: ProgrammingError: WHERE cannot contain the aggregate count (line 1, column 26)
CREATE VIEW v AS SELECT * FROM nation;

DELETE FROM v;
-- error: ProgrammingError: 'v' is a view, not a table (line 1, column 13)

-- What is wrong or not supported is named.
UPDATE shop SET shop.rent = 1;
-- error: ProgrammingError: SET needs the name of a column alone: 'rent', not shop.rent (line 1, column 22)
UPDATE shop;
-- error: ProgrammingError: UPDATE needs SET column = value
UPDATE shop SET rent = 1, WHERE id = 1;
-- error: ProgrammingError: syntax error at line 1, column 27: unexpected 'WHERE'
DELETE FROM shop ORDER BY id LIMIT 1;
-- error: NotSupportedError: ORDER BY is not supported
DELETE shop;
-- error: ProgrammingError: syntax error at line 1, column 8: unexpected 'shop', expected 'FROM'
VACUUM shop;
-- error: NotSupportedError: VACUUM of one table, or with an option, is not supported
CREATE TABLE r ("row number" INTEGER);
-- error: ProgrammingError: a column cannot have the name 'row number', which is reserved (line 1, column 17)

-- A rollback brings the rows back.
BEGIN;

DELETE FROM shop;

UPDATE nation SET id = id + 100;

SELECT count(*), sum(rent) FROM shop;
-- 0 | NULL
VACUUM;
-- error: ProgrammingError: VACUUM cannot run inside a transaction
ROLLBACK;

SELECT id, nation, twin, rent FROM shop;
-- 1 | 1 | NULL | 11.00
-- 3 | 2 | 1 | 40.00
-- 14 | NULL | 14 | 80.00
SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- 'FRANCE' | 40.00
-- 'ITALY' | 11.00

-- VACUUM leaves the rows as they are.
VACUUM;

SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- 'FRANCE' | 40.00
-- 'ITALY' | 11.00
DELETE FROM nation WHERE id = 2;
-- error: IntegrityError: table 'nation': the key (id) = (2) cannot be deleted: the foreign key (nation) of table 'shop' refers to it
DELETE FROM shop WHERE nation = 2;

DELETE FROM nation WHERE id > 1;

SELECT id, name FROM nation;
-- 1 | 'ITALY'
SELECT * FROM shop LIMIT 1;
-- 1 | 1 | NULL | 'Rome 10.00' | 11.00

-- All rows.
DELETE FROM shop;

DELETE FROM nation;

SELECT count(*), sum(rent) FROM shop;
-- 0 | NULL
SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- (no rows)
VACUUM;

SELECT count(*), sum(rent) FROM shop;
-- 0 | NULL
INSERT INTO nation VALUES (1, 'Malta', NULL);

INSERT INTO shop VALUES (1, 1, 1, 'Mdina', 3);

SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- 'Malta' | 3.00
