CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, code VARCHAR UNIQUE);

CREATE TABLE shop (
  id INTEGER, nation INTEGER REFERENCES nation (id), city VARCHAR NOT NULL, rent DECIMAL(6, 2),
  PRIMARY KEY (id, city));

INSERT INTO nation VALUES (1, 'Italy', 'IT'), (2, 'France', NULL), (3, 'Peru', NULL);

-- Columns in another order; those left out are NULL.
INSERT INTO nation (name, id) VALUES ('Chile', 4);

SELECT * FROM nation;
-- 1 | 'Italy' | 'IT'
-- 2 | 'France' | NULL
-- 3 | 'Peru' | NULL
-- 4 | 'Chile' | NULL
INSERT INTO shop VALUES (1, 1, 'Rome', 10), (1, NULL, 'Bari', 1 + 0.5), (2, 1, 'Rome', NULL);

-- Rows from a query.
INSERT INTO shop (id, nation, city) SELECT id + 10, id, name FROM nation WHERE id > 2;

SELECT * FROM shop;
-- 1 | 1 | 'Rome' | 10.00
-- 1 | NULL | 'Bari' | 1.50
-- 2 | 1 | 'Rome' | NULL
-- 13 | 3 | 'Peru' | NULL
-- 14 | 4 | 'Chile' | NULL

-- An error changes nothing, not even with the rows that are right.
INSERT INTO nation VALUES (5, 'Spain', 'ES'), (1, 'Italia', 'XX');
-- error: IntegrityError: table 'nation', row 2: the primary key (id) = (1) is in the table already
INSERT INTO nation VALUES (5, 'Spain', 'ES'), (5, 'Spain', 'ES');
-- error: IntegrityError: table 'nation', row 2: the primary key (id) = (5) is that of row 1
INSERT INTO nation VALUES (5, 'Spain', 'ES'), (NULL, 'Cuba', 'CU');
-- error: IntegrityError: table 'nation', row 2: column 'id' is NOT NULL, but has no value
INSERT INTO nation VALUES (5, NULL, 'ES');
-- error: IntegrityError: table 'nation', row 1: column 'name' is NOT NULL, but has no value
INSERT INTO nation (id) VALUES (5);
-- error: IntegrityError: table 'nation', row 1: column 'name' is NOT NULL, but has no value
INSERT INTO nation VALUES (5, 'Spain', 'ES'), (6, 'Italy', 'IT');
-- error: IntegrityError: table 'nation', row 2: the unique key (code) = ('IT') is in the table already
INSERT INTO shop VALUES (3, 1, 'Rome', 1), (4, 9, 'Rome', 1);
-- error: IntegrityError: table 'shop', row 2: the foreign key (nation) = (9) has no row in 'nation' (id)
INSERT INTO shop VALUES (3, 1, 'Rome', 1), (1, 2, 'Bari', 1);
-- error: IntegrityError: table 'shop', row 2: the primary key (id, city) = (1, 'Bari') is in the table already
INSERT INTO nation VALUES (5, 'Spain', 'ES'), (6, 'Chad');
-- error: ProgrammingError: row 2 of VALUES has 2 values, but INSERT INTO 'nation' needs 3; there is none for column 'code' (line 1, column 13)
INSERT INTO nation VALUES (5, 'Spain');
-- error: ProgrammingError: row 1 of VALUES has 2 values, but INSERT INTO 'nation' needs 3; there is none for column 'code' (line 1, column 13)
INSERT INTO nation (id, nmae) VALUES (5, 'Spain');
-- error: ProgrammingError: column 'nmae' does not exist in 'nation'; did you mean 'name'? (line 1, column 25)
INSERT INTO nation (id, id) VALUES (5, 5);
-- error: ProgrammingError: column 'id' is named twice in INSERT (line 1, column 21)
INSERT INTO nation VALUES ('five', 'Spain', 'ES');
-- error: DataError: column 'id': 'five' is not a valid INTEGER
INSERT INTO nation VALUES (TRUE, 'Spain', 'ES');
-- error: ProgrammingError: column 'id' has the type INTEGER, but its value is True (BOOLEAN)
INSERT INTO nation VALUES (3000000000, 'Spain', 'ES');
-- error: DataError: 3000000000 is out of range for INTEGER
INSERT INTO shop VALUES (3, 1, 'Rome', 99999);
-- error: DataError: 99999 is out of range for DECIMAL(6,2)
INSERT INTO natoin VALUES (5, 'Spain', 'ES');
-- error: ProgrammingError: table 'natoin' does not exist; did you mean 'nation'? (line 1, column 13)
SELECT count(*), max(id) FROM nation;
-- 4 | 4
SELECT count(*), max(id) FROM shop;
-- 5 | 14

-- A key with a NULL equals no other and points nowhere.
INSERT INTO nation VALUES (5, 'Cuba', NULL);

INSERT INTO shop VALUES (3, NULL, 'Rome', 1);

SELECT count(*) FROM shop WHERE nation IS NULL;
-- 2

-- Tables.
CREATE TABLE nation (id INTEGER);
-- error: ProgrammingError: table 'nation' exists already (line 1, column 14)
CREATE TABLE IF NOT EXISTS nation (id INTEGER);

CREATE TABLE t (a INTEGER, A VARCHAR);
-- error: ProgrammingError: table 't' has two columns that differ by case, 'a' and 'A' (line 1, column 14)
CREATE TABLE t (a INTEGER, PRIMARY KEY (b));
-- error: ProgrammingError: column 'b' does not exist in 't' (line 1, column 41)
CREATE TABLE t (a INTEGER REFERENCES nations (id));
-- error: ProgrammingError: table 'nations' does not exist; did you mean 'nation'? (line 1, column 38)
CREATE TABLE t (a VARCHAR REFERENCES nation (name));
-- error: ProgrammingError: the foreign key (a) of table 't' refers to (name), which is neither the primary key nor a unique key of table 'nation' (line 1, column 14)
CREATE TABLE t (a VARCHAR REFERENCES nation (id));
-- error: ProgrammingError: column 'a' of table 't' is VARCHAR, but column 'id' of table 'nation', to which it refers, is INTEGER (line 1, column 17)
DROP TABLE nation;
-- error: IntegrityError: table 'nation' cannot be dropped: the foreign key (nation) of table 'shop' refers to it
DROP TABLE shop;

DROP TABLE nation;

DROP TABLE nation;
-- error: ProgrammingError: table 'nation' does not exist (line 1, column 12)
DROP TABLE IF EXISTS nation;

SELECT count(*) FROM nation;
-- error: ProgrammingError: table 'nation' does not exist (line 1, column 22)
