CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR);

CREATE TABLE shop (id INTEGER PRIMARY KEY, nation INTEGER REFERENCES nation, rent INTEGER);

CREATE TABLE visit (shop INTEGER REFERENCES shop);

CREATE BVH rents ON shop (SCAN (name), GROUP BY (name), AGGREGATE (rent));

INSERT INTO nation VALUES (1, 'Italy'), (2, 'Peru');

INSERT INTO shop VALUES (1, 1, 10), (2, 2, 20);

INSERT INTO visit VALUES (1), (1);

TRUNCATE visit;

SELECT count(*) FROM visit;
-- 0

-- Tables that are referred to, even by tables without rows.
TRUNCATE TABLE shop;
-- error: IntegrityError: table 'shop' cannot be truncated: the foreign key (shop) of table 'visit' refers to it; TRUNCATE both, or use CASCADE

TRUNCATE nation, shop;
-- error: IntegrityError: table 'shop' cannot be truncated: the foreign key (shop) of table 'visit' refers to it; TRUNCATE both, or use CASCADE

SELECT count(*) FROM shop;
-- 2

TRUNCATE shop, visit;

SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- (no rows)

INSERT INTO shop VALUES (1, 2, 5);

SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- 'Peru' | 5

EXPLAIN SELECT name, sum(rent) FROM shop JOIN nation ON nation = nation.id GROUP BY name;
-- has: path: fused

BEGIN;

TRUNCATE TABLE nation CASCADE;

SELECT (SELECT count(*) FROM nation) + (SELECT count(*) FROM shop) AS n;
-- 0

INSERT INTO shop VALUES (1, 1, 1);
-- error: IntegrityError: table 'shop', row 1: the foreign key (nation) = (1) has no row in 'nation' (id)

ROLLBACK;

SELECT count(*) FROM shop;
-- 1

CREATE VIEW v AS SELECT * FROM shop;

TRUNCATE v;
-- error: ProgrammingError: 'v' is a view, not a table (line 1, column 10)

TRUNCATE nothing;
-- error: ProgrammingError: table 'nothing' does not exist; did you mean 'nation'? (line 1, column 10)

TRUNCATE shop RESTART IDENTITY;
-- error: IntegrityError: table 'shop' cannot be truncated: the foreign key (shop) of table 'visit' refers to it; TRUNCATE both, or use CASCADE
