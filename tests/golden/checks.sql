CREATE TABLE item (
  id INTEGER PRIMARY KEY,
  price DECIMAL(8, 2) CHECK (price > 0),
  discount DECIMAL(8, 2) CONSTRAINT small_discount CHECK (discount BETWEEN 0 AND 50),
  name VARCHAR CHECK (length(name) > 1 AND item.name <> 'xx'),
  CHECK (price > discount),
  CONSTRAINT even CHECK (id % 2 = 0 OR name IS NULL));

INSERT INTO item VALUES (2, 10, 5, 'ab'), (3, 10, 9.99, NULL);

-- A check that is NULL passes.
INSERT INTO item VALUES (4, NULL, NULL, NULL), (5, NULL, 50, NULL);

INSERT INTO item VALUES (6, 0, NULL, NULL);
-- error: IntegrityError: table 'item', row 1: the check (price > 0) does not hold: (price) = (0.00)

INSERT INTO item VALUES (6, 100, 10, NULL), (8, 100, 51, NULL);
-- error: IntegrityError: table 'item', row 2: the check 'small_discount' (discount BETWEEN 0 AND 50) does not hold: (discount) = (51.00)

INSERT INTO item VALUES (6, 10, 10, NULL);
-- error: IntegrityError: table 'item', row 1: the check (price > discount) does not hold: (discount, price) = (10.00, 10.00)

INSERT INTO item VALUES (7, 10, 1, 'abc');
-- error: IntegrityError: table 'item', row 1: the check 'even' (id % 2 = 0 OR name IS NULL) does not hold: (id, name) = (7, 'abc')

INSERT INTO item VALUES (8, 10, 1, 'a');
-- error: IntegrityError: table 'item', row 1: the check (length(name) > 1 AND name <> 'xx') does not hold: (name) = ('a')

INSERT INTO item VALUES (8, 10, 1, 'xx');
-- error: IntegrityError: table 'item', row 1: the check (length(name) > 1 AND name <> 'xx') does not hold: (name) = ('xx')

UPDATE item SET price = price - 5 WHERE id = 2;
-- error: IntegrityError: table 'item', updated row 1: the check (price > discount) does not hold: (discount, price) = (5.00, 5.00)

UPDATE item SET discount = discount * 2;
-- error: IntegrityError: table 'item', updated row 4: the check 'small_discount' (discount BETWEEN 0 AND 50) does not hold: (discount) = (100.00)

UPDATE item SET price = price - 4.5 WHERE id = 2;

INSERT INTO item VALUES (8, 1, 0, 'ok'), (10, -1, 0, 'ok');
-- error: IntegrityError: table 'item', row 2: the check (price > 0) does not hold: (price) = (-1.00)

COPY (SELECT 12 AS id, 5.00 AS price, 4.00 AS discount, 'cd' AS name UNION ALL SELECT 14, 5.00, 6.00, 'ef') TO '$TMP/items.csv';

COPY item FROM '$TMP/items.csv';
-- error: IntegrityError: table 'item', row 2: the check (price > discount) does not hold: (discount, price) = (6.00, 5.00)

SELECT * FROM item ORDER BY id;
-- 2 | 5.50 | 5.00 | 'ab'
-- 3 | 10.00 | 9.99 | NULL
-- 4 | NULL | NULL | NULL
-- 5 | NULL | 50.00 | NULL

-- A failing division is no false check.
CREATE TABLE ratio (a INTEGER, b INTEGER, CHECK (a / b > 0));

INSERT INTO ratio VALUES (1, 0);
-- error: DataError: division by zero

INSERT INTO ratio VALUES (4, 2), (1, NULL);

SELECT * FROM ratio;
-- 1 | NULL
-- 4 | 2

-- What a check cannot be.
CREATE TABLE w (a INTEGER CHECK (b > 0));
-- error: ProgrammingError: column 'b' does not exist in 'w' (line 1, column 34)

CREATE TABLE w (a DATE CHECK (a));
-- error: ProgrammingError: CHECK needs a condition, not 'a' (DATE) (line 1, column 17)

CREATE TABLE w (a INTEGER CHECK (sum(a) > 0));
-- error: ProgrammingError: CHECK cannot contain the aggregate sum

CREATE TABLE w (a INTEGER CHECK (a IN (SELECT id FROM item)));
-- error: ProgrammingError: a CHECK of table 'w' can't have a query in it (line 1, column 14)

CREATE TABLE w (a INTEGER CHECK (a > $1));
-- error: ProgrammingError: a CHECK of table 'w' can't have parameters (line 1, column 14)

CREATE TABLE w (a INTEGER CHECK (ratio.a > 0));
-- error: ProgrammingError: table 'ratio' is not in FROM (line 1, column 34)

CREATE TABLE w (a INTEGER CHECK (rank() OVER () > 0));
-- error: ProgrammingError: a CHECK of table 'w' can't have a window function in it (line 1, column 14)

CREATE TABLE w (a INTEGER CONSTRAINT c CHECK (a > 0), CONSTRAINT c UNIQUE (a));
-- error: ProgrammingError: table 'w' has two constraints named 'c' (line 1, column 14)

-- The names of other constraints are used too.
CREATE TABLE named (
  a INTEGER CONSTRAINT named_key PRIMARY KEY, b INTEGER CONSTRAINT one_b UNIQUE,
  c INTEGER CONSTRAINT to_item REFERENCES item (id) ON DELETE RESTRICT ON UPDATE NO ACTION);

INSERT INTO named VALUES (1, 1, 2);

INSERT INTO named VALUES (1, 2, 2);
-- error: IntegrityError: table 'named', row 1: the primary key 'named_key' (a) = (1) is in the table already

INSERT INTO named VALUES (2, 1, 2);
-- error: IntegrityError: table 'named', row 1: the unique key 'one_b' (b) = (1) is in the table already

INSERT INTO named VALUES (2, 2, 100);
-- error: IntegrityError: table 'named', row 1: the foreign key 'to_item' (c) = (100) has no row in 'item' (id)

-- An error in a check or a default names its place in the statement.
CREATE TABLE misplaced (a INTEGER CHECK (a > nothing));
-- error: ProgrammingError: column 'nothing' does not exist in 'misplaced' (line 1, column 46)
CREATE TABLE misplaced (a INTEGER, b INTEGER DEFAULT nothing);
-- error: ProgrammingError: column 'nothing' does not exist (line 1, column 54)
