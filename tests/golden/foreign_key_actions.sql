-- What becomes of rows that refer to a row which is deleted or gets another key.

CREATE TABLE country (id INTEGER PRIMARY KEY, name VARCHAR);

CREATE TABLE city (id INTEGER PRIMARY KEY, country INTEGER DEFAULT 3 REFERENCES country ON DELETE SET DEFAULT ON UPDATE CASCADE, twin INTEGER REFERENCES city ON DELETE SET NULL ON UPDATE CASCADE);

CREATE TABLE shop (city INTEGER REFERENCES city ON DELETE CASCADE ON UPDATE CASCADE, rent INTEGER, place AS (city * 100), CHECK (city < 90));

CREATE BVH rents ON shop (SCAN (name), AGGREGATE (rent));

INSERT INTO country VALUES (1, 'Italy'), (2, 'Peru'), (3, 'Chad');

INSERT INTO city VALUES (10, 1, 10), (11, 1, 10), (20, 2, 11), (30, 3, NULL);

INSERT INTO shop VALUES (10, 1), (11, 2), (20, 4), (30, 8), (NULL, 16);

UPDATE country SET id = 7 WHERE id = 2;

SELECT * FROM city ORDER BY id;
-- 10 | 1 | 10
-- 11 | 1 | 10
-- 20 | 7 | 11
-- 30 | 3 | NULL

SELECT name, sum(rent) FROM shop JOIN city ON city = city.id JOIN country ON country = country.id GROUP BY name;
-- 'Chad' | 8
-- 'Italy' | 3
-- 'Peru' | 4

DELETE FROM country WHERE id = 1;

SELECT * FROM city ORDER BY id;
-- 10 | 3 | 10
-- 11 | 3 | 10
-- 20 | 7 | 11
-- 30 | 3 | NULL

SELECT name, sum(rent) FROM shop JOIN city ON city = city.id JOIN country ON country = country.id GROUP BY name;
-- 'Chad' | 11
-- 'Peru' | 4

DELETE FROM country WHERE id = 3;
-- error: IntegrityError: table 'country': the key (id) = (3) cannot be deleted: the foreign key (country) of table 'city' refers to it

UPDATE city SET id = id + 40 WHERE id < 20;

SELECT * FROM city ORDER BY id;
-- 20 | 7 | 51
-- 30 | 3 | NULL
-- 50 | 3 | 50
-- 51 | 3 | 50

SELECT * FROM shop ORDER BY rent;
-- 50 | 1 | 5000
-- 51 | 2 | 5100
-- 20 | 4 | 2000
-- 30 | 8 | 3000
-- NULL | 16 | NULL

-- A CHECK of a row that follows, and all or nothing.

UPDATE city SET id = id + 40;
-- error: IntegrityError: table 'shop': the check (city < 90) does not hold for a row that a foreign key changes: (city) = (90)

SELECT * FROM shop ORDER BY rent;
-- 50 | 1 | 5000
-- 51 | 2 | 5100
-- 20 | 4 | 2000
-- 30 | 8 | 3000
-- NULL | 16 | NULL

DELETE FROM city WHERE id = 50;

SELECT * FROM city ORDER BY id;
-- 20 | 7 | 51
-- 30 | 3 | NULL
-- 51 | 3 | NULL

SELECT * FROM shop ORDER BY rent;
-- 51 | 2 | 5100
-- 20 | 4 | 2000
-- 30 | 8 | 3000
-- NULL | 16 | NULL

INSERT INTO city VALUES (20, 7, 20) ON CONFLICT (id) DO UPDATE SET id = 21;

MERGE INTO country USING (VALUES (7, 8), (3, 4)) AS s (id, new) ON country.id = s.id
    WHEN MATCHED AND s.id = 7 THEN UPDATE SET id = new
    WHEN NOT MATCHED THEN INSERT VALUES (new, 'new');

SELECT * FROM city ORDER BY id;
-- 21 | 8 | 51
-- 30 | 3 | NULL
-- 51 | 3 | NULL

MERGE INTO country USING (VALUES (8)) AS s (id) ON country.id = s.id WHEN MATCHED THEN DELETE;

SELECT * FROM city ORDER BY id;
-- 21 | 3 | 51
-- 30 | 3 | NULL
-- 51 | 3 | NULL

EXPLAIN DELETE FROM country;
-- 'path: general (the query has no aggregate)'
-- 'DeleteRows: country'
-- '  cascades to: city, shop'
-- '  ComputeColumns: row number'
-- '    ScanTable: country (row number)'

-- A MERGE whose keys would change a row that it changes too.

MERGE INTO city USING (VALUES (51), (21)) AS s (id) ON city.id = s.id
    WHEN MATCHED AND s.id = 51 THEN DELETE WHEN MATCHED THEN UPDATE SET country = 3;
-- error: IntegrityError: table 'city': a foreign key deletes or changes a row that the statement changes too

-- Keys of several columns, of which one is NULL; a key that does not fit; a default that changes.

CREATE TABLE pair (a BIGINT, b INTEGER, PRIMARY KEY (a, b));

CREATE TABLE one (a SMALLINT, b INTEGER DEFAULT random()::INTEGER, FOREIGN KEY (a, b) REFERENCES pair ON UPDATE CASCADE ON DELETE SET DEFAULT);

INSERT INTO pair VALUES (1, 1), (1, 2);

INSERT INTO one VALUES (1, 1), (1, NULL), (NULL, 2);

UPDATE pair SET a = 5;

SELECT * FROM one ORDER BY ALL;
-- 1 | NULL
-- 5 | 1
-- NULL | 2

UPDATE pair SET a = 100000 WHERE b = 1;
-- error: DataError: column 'a' cannot hold the key that it follows: Integer value 100000 not in range: -32768 to 32767

DELETE FROM pair WHERE b = 1;
-- error: NotSupportedError: SET DEFAULT of a foreign key needs a constant, but the default of column 'b' of table 'one' is none (line 1, column 24)

CREATE TABLE strict (a BIGINT NOT NULL, b INTEGER, FOREIGN KEY (a, b) REFERENCES pair ON DELETE SET NULL);

INSERT INTO strict VALUES (5, 2);

DELETE FROM pair WHERE b = 2;
-- error: IntegrityError: table 'strict', updated row 1: column 'a' is NOT NULL, but has no value

SELECT constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints;
-- 'city_country_fkey' | 'CASCADE' | 'SET DEFAULT'
-- 'city_twin_fkey' | 'CASCADE' | 'SET NULL'
-- 'one_a_b_fkey' | 'CASCADE' | 'SET DEFAULT'
-- 'shop_city_fkey' | 'CASCADE' | 'CASCADE'
-- 'strict_a_b_fkey' | 'NO ACTION' | 'SET NULL'

CREATE TABLE refused (a INTEGER REFERENCES country ON DELETE SET NULL (a));
-- error: ProgrammingError: syntax error at line 1, column 71: unexpected '('

CREATE TABLE refused (a INTEGER REFERENCES country MATCH FULL ON DELETE SET NULL);
-- error: NotSupportedError: MATCH FULL of a foreign key is not supported
