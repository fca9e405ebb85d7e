CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR UNIQUE);

CREATE TABLE shop (id INTEGER PRIMARY KEY, nation INTEGER REFERENCES nation, rent INTEGER, CHECK (rent > 0 AND shop.rent < 1000));

INSERT INTO nation VALUES (1, 'Italy'), (2, 'Peru');

INSERT INTO shop VALUES (1, 1, 10), (2, 2, 20), (3, NULL, 40), (4, 1, 80);

DELETE FROM shop WHERE id = 4;

UPDATE shop SET rent = 5 WHERE id = 1;

-- ADD COLUMN: rows that are there get the default.
ALTER TABLE shop ADD COLUMN note VARCHAR;

ALTER TABLE shop ADD city VARCHAR NOT NULL DEFAULT 'Rome', ADD COLUMN size SMALLINT DEFAULT 1 + 1 CHECK (size > 0);

SELECT * FROM shop ORDER BY id;
-- 1 | 1 | 5 | NULL | 'Rome' | 2
-- 2 | 2 | 20 | NULL | 'Rome' | 2
-- 3 | NULL | 40 | NULL | 'Rome' | 2

INSERT INTO shop (id, size) VALUES (5, 7);

SELECT * FROM shop WHERE id = 5;
-- 5 | NULL | NULL | NULL | 'Rome' | 7

ALTER TABLE shop ADD COLUMN note INTEGER;
-- error: ProgrammingError: column 'note' exists already in 'shop' (line 1, column 29)

ALTER TABLE shop ADD COLUMN IF NOT EXISTS note INTEGER;

ALTER TABLE shop ADD COLUMN bad INTEGER NOT NULL;
-- error: IntegrityError: table 'shop', row 1: column 'bad' is NOT NULL, but has no value

ALTER TABLE shop ADD COLUMN bad INTEGER DEFAULT 5 CHECK (bad > 5);
-- error: IntegrityError: table 'shop', row 1: the check (bad > 5) does not hold: (bad) = (5)

ALTER TABLE shop ADD COLUMN bad INTEGER DEFAULT 1 UNIQUE;
-- error: IntegrityError: table 'shop', row 2: the unique key (bad) = (1) is that of row 1

ALTER TABLE shop ADD COLUMN bad INTEGER DEFAULT 9 REFERENCES nation;
-- error: IntegrityError: table 'shop', row 1: the foreign key (bad) = (9) has no row in 'nation' (id)

ALTER TABLE shop ADD COLUMN bad INTEGER DEFAULT id;
-- error: ProgrammingError: column 'id' does not exist (line 1, column 49)

ALTER TABLE shop ADD COLUMN home INTEGER DEFAULT 2 REFERENCES nation;

SELECT name, count(*) FROM shop JOIN nation ON home = nation.id GROUP BY name;
-- 'Peru' | 4

-- RENAME COLUMN: keys, checks and defaults follow.
ALTER TABLE nation RENAME COLUMN id TO "Key";

ALTER TABLE shop RENAME nation TO land;

ALTER TABLE shop RENAME COLUMN rent TO cost;

ALTER TABLE shop RENAME COLUMN size TO area;

INSERT INTO shop (id, land) VALUES (6, 3);
-- error: IntegrityError: table 'shop', row 1: the foreign key (land) = (3) has no row in 'nation' (Key)

UPDATE shop SET cost = -cost WHERE id = 2;
-- error: IntegrityError: table 'shop', updated row 1: the check ("cost" > 0 AND "cost" < 1000) does not hold: (cost) = (-20)

INSERT INTO shop (id) VALUES (6);

SELECT * FROM shop WHERE id > 4;
-- 5 | NULL | NULL | NULL | 'Rome' | 7 | 2
-- 6 | NULL | NULL | NULL | 'Rome' | 2 | 2

SELECT name, sum(cost) FROM shop JOIN nation ON land = "Key" GROUP BY name;
-- 'Italy' | 5
-- 'Peru' | 20

ALTER TABLE shop RENAME COLUMN nothing TO a;
-- error: ProgrammingError: column 'nothing' does not exist in 'shop' (line 1, column 32)

ALTER TABLE shop RENAME COLUMN cost TO land;
-- error: ProgrammingError: column 'land' exists already in 'shop' (line 1, column 40)

ALTER TABLE shop RENAME COLUMN cost TO "row number";
-- error: ProgrammingError: a column cannot have the name 'row number', which is reserved (line 1, column 40)

-- Defaults and NOT NULL.
ALTER TABLE shop ALTER COLUMN note SET DEFAULT 'new', ALTER city DROP DEFAULT, ALTER COLUMN city DROP NOT NULL;

INSERT INTO shop (id) VALUES (7);

SELECT note, city, area FROM shop WHERE id = 7;
-- 'new' | NULL | 2

ALTER TABLE shop ALTER note SET NOT NULL;
-- error: IntegrityError: table 'shop', row 1: column 'note' is NOT NULL, but has no value

UPDATE shop SET note = 'old' WHERE note IS NULL;

ALTER TABLE shop ALTER note SET NOT NULL;

UPDATE shop SET note = NULL;
-- error: IntegrityError: table 'shop', updated row 1: column 'note' is NOT NULL, but has no value

ALTER TABLE shop ALTER id DROP NOT NULL;
-- error: ProgrammingError: column 'id' of table 'shop' is in the primary key, so it is NOT NULL (line 1, column 24)

ALTER TABLE shop ALTER cost SET DEFAULT 'x';
-- error: DataError: column 'cost': 'x' is not a valid INTEGER

ALTER TABLE shop ALTER nothing SET DEFAULT 1;
-- error: ProgrammingError: column 'nothing' does not exist in 'shop' (line 1, column 24)

-- Types.
ALTER TABLE shop ALTER COLUMN cost TYPE DECIMAL(8, 2) USING cost / 2;

ALTER TABLE shop ALTER cost SET DATA TYPE DOUBLE, ALTER area TYPE VARCHAR USING area || ' m';
-- error: ProgrammingError: cannot compare 'area' (VARCHAR) with 0 (INTEGER) (line 1, column 57)

ALTER TABLE shop ALTER area TYPE BIGINT;

SELECT id, cost, area FROM shop ORDER BY id;
-- 1 | 2.00 | 2
-- 2 | 10.00 | 2
-- 3 | 20.00 | 2
-- 5 | NULL | 7
-- 6 | NULL | 2
-- 7 | NULL | 2

ALTER TABLE shop ALTER city TYPE INTEGER;
-- error: ProgrammingError: column 'city' has the type INTEGER, but its value is 'city' (VARCHAR) (line 1, column 24)

ALTER TABLE shop ALTER city TYPE INTEGER USING CAST(city AS INTEGER);
-- error: DataError: 'Rome' is not a valid INTEGER

ALTER TABLE shop ALTER land TYPE VARCHAR USING 'x';
-- error: NotSupportedError: the type of column 'land' cannot be changed: the foreign key (land) of table 'shop' needs it (line 1, column 24)

ALTER TABLE shop ALTER land TYPE BIGINT;

ALTER TABLE shop ALTER id TYPE INTEGER USING 1;
-- error: IntegrityError: table 'shop', row 2: the primary key (id) = (1) is that of row 1

ALTER TABLE shop ALTER cost TYPE INTEGER USING -5;
-- error: IntegrityError: table 'shop', row 1: the check ("cost" > 0 AND "cost" < 1000) does not hold: (cost) = (-5)

SELECT name, sum(cost) FROM shop JOIN nation ON land = "Key" GROUP BY name;
-- 'Italy' | 2.00
-- 'Peru' | 10.00

DESCRIBE shop;
-- 'area' | 'BIGINT' | 'YES' | NULL | '1 + 1' | NULL
-- 'city' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'cost' | 'DECIMAL(8,2)' | 'YES' | NULL | NULL | NULL
-- 'home' | 'INTEGER' | 'YES' | NULL | '2' | NULL
-- 'id' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
-- 'land' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'note' | 'VARCHAR' | 'NO' | NULL | '''new''' | NULL

-- Constraints.
ALTER TABLE shop ADD CONSTRAINT cheap CHECK (cost < 10);
-- error: IntegrityError: table 'shop', row 2: the check 'cheap' (cost < 10) does not hold: (cost) = (10.00)

ALTER TABLE shop ADD CONSTRAINT cheap CHECK (cost < 100), ADD UNIQUE (city);
-- error: IntegrityError: table 'shop', row 3: the unique key (city) = ('Rome') is that of row 2

ALTER TABLE shop ADD CHECK (id > 0), ADD CONSTRAINT both_keys UNIQUE (id, land);

INSERT INTO shop (id, cost) VALUES (0, 5);
-- error: IntegrityError: table 'shop', row 1: the check (id > 0) does not hold: (id) = (0)

INSERT INTO shop (id, cost) VALUES (8, 500);

ALTER TABLE shop ADD CONSTRAINT cheap CHECK (cost < 1000);

ALTER TABLE shop ADD PRIMARY KEY (land);
-- error: ProgrammingError: table 'shop' has a primary key already (line 1, column 13)

ALTER TABLE shop DROP CONSTRAINT shop_pkey;

ALTER TABLE shop ADD CONSTRAINT keys PRIMARY KEY (id);

INSERT INTO shop (id) VALUES (7);
-- error: IntegrityError: table 'shop', row 1: the primary key 'keys' (id) = (7) is in the table already

ALTER TABLE shop DROP CONSTRAINT cheap, DROP CONSTRAINT both_keys;

ALTER TABLE shop DROP CONSTRAINT cheap;
-- error: ProgrammingError: table 'shop' has no constraint 'cheap' (line 1, column 13)

ALTER TABLE shop DROP CONSTRAINT IF EXISTS cheap;

ALTER TABLE shop DROP CONSTRAINT keyz;
-- error: ProgrammingError: table 'shop' has no constraint 'keyz'; did you mean 'keys'? (line 1, column 13)

ALTER TABLE nation DROP CONSTRAINT nation_pkey;
-- error: IntegrityError: constraint 'nation_pkey' of table 'nation' cannot be dropped: the foreign key (land) of table 'shop' refers to it; CASCADE drops it too

ALTER TABLE nation DROP CONSTRAINT nation_pkey CASCADE;

INSERT INTO shop (id, land) VALUES (9, 99);

ALTER TABLE nation ADD PRIMARY KEY ("Key");

ALTER TABLE shop ADD FOREIGN KEY (land) REFERENCES nation;
-- error: IntegrityError: table 'shop', row 8: the foreign key (land) = (99) has no row in 'nation' (Key)

UPDATE shop SET land = 2 WHERE id = 9;

ALTER TABLE shop ADD CONSTRAINT to_nation FOREIGN KEY (land) REFERENCES nation;

ALTER TABLE shop ADD FOREIGN KEY (land) REFERENCES nation (name);
-- error: ProgrammingError: column 'land' of table 'shop' is BIGINT, but column 'name' of table 'nation', to which it refers, is VARCHAR (line 1, column 35)

DELETE FROM nation WHERE "Key" = 2;
-- error: IntegrityError: table 'nation': the key (Key) = (2) cannot be deleted: the foreign key (land) of table 'shop' refers to it

-- DROP COLUMN: constraints on the column alone go with it.
ALTER TABLE shop DROP COLUMN home, DROP area;

ALTER TABLE shop DROP COLUMN home;
-- error: ProgrammingError: column 'home' does not exist in 'shop' (line 1, column 30)

ALTER TABLE shop DROP COLUMN IF EXISTS home;

ALTER TABLE shop ADD UNIQUE (id, note);

ALTER TABLE shop DROP COLUMN note;
-- error: ProgrammingError: column 'note' of table 'shop' cannot be dropped: the constraint 'shop_id_note_key' needs it; CASCADE drops it too (line 1, column 30)

ALTER TABLE shop DROP COLUMN note CASCADE;

ALTER TABLE nation DROP COLUMN "Key";
-- error: IntegrityError: column 'Key' of table 'nation' cannot be dropped: the foreign key (land) of table 'shop' refers to it; CASCADE drops it too

ALTER TABLE nation DROP COLUMN "Key" CASCADE;

ALTER TABLE nation DROP COLUMN name;
-- error: ProgrammingError: column 'name' is the only one of table 'nation' (line 1, column 32)

INSERT INTO shop (id, land) VALUES (10, 99);

SELECT * FROM shop ORDER BY id;
-- 1 | 1 | 2.00 | 'Rome'
-- 2 | 2 | 10.00 | 'Rome'
-- 3 | NULL | 20.00 | 'Rome'
-- 5 | NULL | NULL | 'Rome'
-- 6 | NULL | NULL | 'Rome'
-- 7 | NULL | NULL | NULL
-- 8 | NULL | 500.00 | NULL
-- 9 | 2 | NULL | NULL
-- 10 | 99 | NULL | NULL

-- A column that is dropped may come again.
ALTER TABLE shop ADD COLUMN note INTEGER;

SELECT id, note FROM shop WHERE id < 3 ORDER BY id;
-- 1 | NULL
-- 2 | NULL

-- RENAME TO.
ALTER TABLE nation RENAME TO country;

ALTER TABLE country RENAME TO shop;
-- error: ProgrammingError: table 'shop' exists already (line 1, column 31)

ALTER TABLE nation RENAME TO x;
-- error: ProgrammingError: table 'nation' does not exist (line 1, column 13)

ALTER TABLE IF EXISTS nation RENAME TO x;

SELECT * FROM country;
-- 'Italy'
-- 'Peru'

CREATE TABLE tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES tree (id));

INSERT INTO tree VALUES (1, NULL), (2, 1);

ALTER TABLE tree RENAME TO forest;

INSERT INTO forest VALUES (3, 2), (4, 9);
-- error: IntegrityError: table 'forest', row 2: the foreign key (up) = (9) has no row in 'forest' (id)

DELETE FROM forest WHERE id = 1;
-- error: IntegrityError: table 'forest': the key (id) = (1) cannot be deleted: the foreign key (up) of table 'forest' refers to it

ALTER TABLE forest RENAME id TO number;

DELETE FROM forest WHERE number = 1;
-- error: IntegrityError: table 'forest': the key (number) = (1) cannot be deleted: the foreign key (up) of table 'forest' refers to it

ALTER TABLE forest DROP COLUMN number;
-- error: IntegrityError: column 'number' of table 'forest' cannot be dropped: the foreign key (up) of table 'forest' refers to it; CASCADE drops it too

ALTER TABLE forest DROP COLUMN up;

-- What is wrong or not supported.
ALTER TABLE shop;
-- error: ProgrammingError: syntax error at line 1, column 17: the statement ends too early, expected ADD, DROP, RENAME or ALTER

ALTER TABLE shop OWNER TO me;
-- error: NotSupportedError: ALTER TABLE ... OWNER is not supported

ALTER TABLE shop RENAME CONSTRAINT a TO b;
-- error: NotSupportedError: RENAME CONSTRAINT is not supported

ALTER TABLE shop RENAME TO a, ADD COLUMN b INTEGER;
-- error: ProgrammingError: RENAME TO stands alone in an ALTER TABLE

ALTER TABLE shop ADD COLUMN a;
-- error: ProgrammingError: ADD COLUMN needs the name and the type of a column

ALTER TABLE shop ADD COLUMN a INTEGER b;
-- error: ProgrammingError: syntax error at line 1, column 39: unexpected 'b'

ALTER TABLE shop ADD COLUMN a NOTYPE;
-- error: ProgrammingError: type 'NOTYPE' does not exist (line 1, column 31)

ALTER TABLE shop ALTER COLUMN id TYPE;
-- error: ProgrammingError: syntax error at line 1, column 38: the statement ends too early, expected a type

ALTER TABLE shop ALTER COLUMN cost TYPE INTEGER USING $1;
-- error: ProgrammingError: USING can't have parameters

ALTER INDEX i RENAME TO j;
-- error: NotSupportedError: ALTER INDEX is not supported
