-- Views and BVHs hold on to what they need.
CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR, size INTEGER);

CREATE TABLE sale (city INTEGER REFERENCES city, amount INTEGER, day INTEGER, note VARCHAR);

INSERT INTO city VALUES (1, 'Oslo', 5), (2, 'Lyon', 6);

INSERT INTO sale VALUES (1, 10, 1, 'a'), (2, 20, 1, 'b'), (1, 40, 2, 'c');

CREATE VIEW days AS SELECT day, sum(amount) AS total FROM sale GROUP BY day;

CREATE VIEW large AS SELECT day FROM days WHERE total > 30;

CREATE BVH sales ON sale (SCAN (name, day), AGGREGATE (amount));

ALTER TABLE sale RENAME COLUMN day TO date;
-- error: ProgrammingError: table 'sale' cannot be changed so: the BVH 'sales' needs it (column 'day' does not exist in 'sale' or the tables that its foreign keys reach) (line 1, column 13)

ALTER TABLE sale DROP COLUMN day;
-- error: ProgrammingError: table 'sale' cannot be changed so: the BVH 'sales' needs it; CASCADE drops it too (line 1, column 13)

ALTER TABLE sale RENAME TO sales;
-- error: ProgrammingError: table 'sale' cannot be changed so: the BVH 'sales' needs it (table 'sale' does not exist; did you mean 'sales'?) (line 1, column 13)

ALTER TABLE city DROP COLUMN name;
-- error: ProgrammingError: table 'city' cannot be changed so: the BVH 'sales' needs it; CASCADE drops it too (line 1, column 13)

ALTER TABLE city RENAME COLUMN name TO title;
-- error: ProgrammingError: table 'city' cannot be changed so: the BVH 'sales' needs it (column 'name' does not exist in 'sale' or the tables that its foreign keys reach) (line 1, column 13)

ALTER VIEW days RENAME TO dates;
-- error: ProgrammingError: view 'days' cannot be renamed: the view 'large' needs it (table 'days' does not exist; did you mean 'dates'?) (line 1, column 12)

DROP VIEW days;
-- error: ProgrammingError: view 'days' cannot be dropped: the view 'large' needs it; CASCADE drops it too (line 1, column 11)

DROP TABLE sale;
-- error: ProgrammingError: table 'sale' cannot be dropped: the view 'days' needs it; CASCADE drops it too (line 1, column 12)

DROP TABLE city;
-- error: IntegrityError: table 'city' cannot be dropped: the foreign key (city) of table 'sale' refers to it

-- What they do not need may change.
ALTER TABLE sale DROP COLUMN note;

ALTER TABLE city RENAME COLUMN id TO key;

ALTER TABLE city RENAME COLUMN size TO people;

ALTER TABLE sale RENAME COLUMN city TO place;

ALTER TABLE city RENAME TO town;

ALTER TABLE sale ALTER amount TYPE BIGINT USING amount * 2, ADD COLUMN tax INTEGER DEFAULT 1;

SELECT name, sum(amount) FROM sale JOIN town ON place = key GROUP BY name;
-- 'Lyon' | 40
-- 'Oslo' | 100

EXPLAIN SELECT name, sum(amount) FROM sale JOIN town ON place = key GROUP BY name;
-- has: path: fused

INSERT INTO sale VALUES (2, 1, 3, 0);

SELECT name, sum(amount) FROM sale JOIN town ON place = key GROUP BY name;
-- 'Lyon' | 41
-- 'Oslo' | 100

EXPLAIN SELECT name, sum(amount) FROM sale JOIN town ON place = key GROUP BY name;
-- has: path: fused

SELECT * FROM large;
-- 1
-- 2

-- A rollback brings everything back.
BEGIN;

ALTER TABLE town DROP COLUMN name CASCADE;

SELECT name FROM bvhs();
-- (no rows)

ALTER TABLE sale DROP COLUMN day CASCADE;

SELECT * FROM large;
-- error: ProgrammingError: table 'large' does not exist (line 1, column 15)

ROLLBACK;

SELECT name FROM bvhs();
-- 'sales'

SELECT * FROM large;
-- 1
-- 2

-- CASCADE takes them along.
DROP VIEW days CASCADE;

SELECT * FROM large;
-- error: ProgrammingError: table 'large' does not exist (line 1, column 15)

DROP TABLE town CASCADE;

SELECT name FROM bvhs();
-- (no rows)

INSERT INTO sale VALUES (99, 1, 3, 0);

CREATE VIEW v AS SELECT 1 AS a FROM sale;

CREATE VIEW w AS SELECT a FROM v;

CREATE TABLE other (a INTEGER);

DROP TABLE sale, other;
-- error: ProgrammingError: tables 'sale', 'other' cannot be dropped: the view 'v' needs it; CASCADE drops it too (line 1, column 12)

DROP TABLE sale, nothing CASCADE;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 18)

DROP TABLE sale, other CASCADE;

SELECT * FROM w;
-- error: ProgrammingError: table 'w' does not exist (line 1, column 15)

SELECT * FROM other;
-- error: ProgrammingError: table 'other' does not exist (line 1, column 15)

DROP TABLE IF EXISTS sale, other;

-- A view that is replaced must still serve those on it.
CREATE VIEW v AS SELECT 1 AS a;

CREATE VIEW w AS SELECT a FROM v;

CREATE OR REPLACE VIEW v AS SELECT 2 AS b;
-- error: ProgrammingError: view 'v' cannot be replaced: the view 'w' needs it (column 'a' does not exist in 'v') (line 1, column 24)

CREATE OR REPLACE VIEW v AS SELECT 2 AS b, 3 AS a;

SELECT * FROM w;
-- 3

CREATE OR REPLACE VIEW v AS SELECT a FROM w;
-- error: ProgrammingError: in the view 'w': table 'v' does not exist (line 1, column 43)

CREATE VIEW IF NOT EXISTS w AS SELECT 9 AS z;

CREATE VIEW IF NOT EXISTS x (p, q) AS SELECT a, b, a + b FROM v;

SELECT * FROM x;
-- 3 | 2 | 5

DESCRIBE x;
-- 'a + b' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'p' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'q' | 'INTEGER' | 'YES' | NULL | NULL | NULL

CREATE VIEW y (p, q) AS SELECT 1;
-- error: ProgrammingError: 'y' has 1 columns, but its alias names 2 (line 1, column 13)

DROP VIEW w, v;
-- error: ProgrammingError: views 'w', 'v' cannot be dropped: the view 'x' needs it; CASCADE drops it too (line 1, column 11)

DROP VIEW w, v, x;

DROP VIEW x;
-- error: ProgrammingError: view 'x' does not exist (line 1, column 11)

DROP VIEW IF EXISTS x;

ALTER VIEW IF EXISTS x RENAME TO y;

CREATE VIEW x AS SELECT 1 AS a;

ALTER VIEW x RENAME TO y;

SELECT * FROM y;
-- 1

CREATE TABLE z (a INTEGER);

ALTER VIEW z RENAME TO zz;
-- error: ProgrammingError: 'z' is a table, not a view (line 1, column 12)

ALTER TABLE y RENAME TO yy;
-- error: ProgrammingError: 'y' is a view, not a table (line 1, column 13)

ALTER VIEW y RENAME TO z;
-- error: ProgrammingError: table 'z' exists already (line 1, column 24)

DROP VIEW z;
-- error: ProgrammingError: 'z' is a table, not a view (line 1, column 11)

DROP TABLE y;
-- error: ProgrammingError: 'y' is a view, not a table (line 1, column 12)
