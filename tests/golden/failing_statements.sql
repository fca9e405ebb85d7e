-- A statement that fails leaves the transaction as it was before the statement, whatever it is.
CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL);

CREATE TABLE shop (id INTEGER PRIMARY KEY, nation INTEGER REFERENCES nation, rent INTEGER CHECK (rent > 0));

CREATE VIEW rents AS SELECT nation, sum(rent) AS total FROM shop GROUP BY nation;

INSERT INTO nation VALUES (1, 'Italy');

BEGIN;

INSERT INTO nation VALUES (2, 'Peru');

INSERT INTO shop VALUES (1, 1, 10), (2, 2, 20);

INSERT INTO shop VALUES (3, 1, 30), (4, 9, 40);
-- error: IntegrityError: table 'shop', row 2: the foreign key (nation) = (9) has no row in 'nation' (id)

INSERT INTO shop VALUES (3, 1, 30), (1, 1, 0) ON CONFLICT (id) DO UPDATE SET rent = 0;
-- error: IntegrityError: table 'shop', row 2: the check (rent > 0) does not hold: (rent) = (0)

INSERT INTO shop VALUES (3, 1, 30) RETURNING 1 / (id - 3);
-- error: DataError: division by zero

UPDATE shop SET rent = rent - 10;
-- error: IntegrityError: table 'shop', updated row 1: the check (rent > 0) does not hold: (rent) = (0)

UPDATE shop SET rent = 100 / (id - 2);
-- error: DataError: division by zero

DELETE FROM nation;
-- error: IntegrityError: table 'nation': the key (id) = (1) cannot be deleted: the foreign key (nation) of table 'shop' refers to it

DELETE FROM shop WHERE 1 / (id - 2) = 0;
-- error: DataError: division by zero

COPY shop FROM '$TMP/nothing.csv';
-- error: OperationalError: file '$TMP/nothing.csv' does not exist

COPY shop TO '$TMP/nowhere/shop.csv';
-- error: OperationalError: file '$TMP/nowhere/shop.csv' cannot be written: no such file or directory

TRUNCATE nation;
-- error: IntegrityError: table 'nation' cannot be truncated: the foreign key (nation) of table 'shop' refers to it; TRUNCATE both, or use CASCADE

CREATE TABLE shop (a INTEGER);
-- error: ProgrammingError: table 'shop' exists already (line 1, column 14)

CREATE TABLE x AS SELECT 100 / (id - 2) FROM shop;
-- error: DataError: division by zero

CREATE TABLE x (a INTEGER DEFAULT 'y');
-- error: DataError: column 'a': 'y' is not a valid INTEGER

ALTER TABLE shop ADD COLUMN a INTEGER DEFAULT 1, ADD COLUMN b INTEGER NOT NULL;
-- error: IntegrityError: table 'shop', row 1: column 'b' is NOT NULL, but has no value

ALTER TABLE shop DROP COLUMN rent;
-- error: ProgrammingError: table 'shop' cannot be changed so: the view 'rents' needs it; CASCADE drops it too (line 1, column 13)

ALTER TABLE shop RENAME COLUMN id TO key, DROP COLUMN nothing;
-- error: ProgrammingError: column 'nothing' does not exist in 'shop'; did you mean 'nation'? (line 1, column 55)

DROP TABLE nation;
-- error: IntegrityError: table 'nation' cannot be dropped: the foreign key (nation) of table 'shop' refers to it

DROP TABLE shop, nothing;
-- error: ProgrammingError: table 'nothing' does not exist; did you mean 'nation'? (line 1, column 18)

DROP VIEW nothing;
-- error: ProgrammingError: view 'nothing' does not exist (line 1, column 11)

CREATE VIEW bad AS SELECT nothing FROM shop;
-- error: ProgrammingError: column 'nothing' does not exist in 'shop'; did you mean 'nation'? (line 1, column 27)

CREATE BVH bad ON shop (SCAN (nothing));
-- error: ProgrammingError: column 'nothing' does not exist in 'shop' or the tables that its foreign keys reach; did you mean 'nation'? (line 1, column 31)

DROP BVH nothing;
-- error: ProgrammingError: BVH 'nothing' does not exist (line 1, column 10)

SET nothing = 1;
-- error: ProgrammingError: setting 'nothing' does not exist (line 1, column 5)

SELECT 1 / (id - 2) FROM shop;
-- error: DataError: division by zero

SELEC 1;
-- error: ProgrammingError: syntax error at line 1, column 1: unexpected 'SELEC'; did you mean 'SELECT'?

CHECKPOINT;
-- error: ProgrammingError: CHECKPOINT cannot run inside a transaction

VACUUM;
-- error: ProgrammingError: VACUUM cannot run inside a transaction

BEGIN;
-- error: ProgrammingError: a transaction is active already

ROLLBACK TO nothing;
-- error: ProgrammingError: savepoint 'nothing' does not exist (line 1, column 13)

-- What came before them is there.
SELECT * FROM shop ORDER BY id;
-- 1 | 1 | 10
-- 2 | 2 | 20

SELECT * FROM rents ORDER BY nation;
-- 1 | 10
-- 2 | 20

COMMIT;

SELECT * FROM shop ORDER BY id;
-- 1 | 1 | 10
-- 2 | 2 | 20

SELECT count(*) FROM nation;
-- 2
