-- Names of columns may have the schema of the table that is changed before them.
CREATE SCHEMA depot;

CREATE TABLE depot.stock (item INTEGER PRIMARY KEY, pieces INTEGER);

CREATE TABLE depot.delivery (item INTEGER, pieces INTEGER);

INSERT INTO depot.stock VALUES (1, 10), (2, 20) RETURNING depot.stock.item;
-- 1
-- 2

INSERT INTO depot.delivery VALUES (2, 5), (3, 7);

UPDATE depot.stock SET pieces = depot.stock.pieces + 1 WHERE depot.stock.item = 1 RETURNING depot.stock.pieces;
-- 11

UPDATE depot.stock SET pieces = depot.stock.pieces + depot.delivery.pieces
  FROM depot.delivery WHERE depot.delivery.item = depot.stock.item RETURNING depot.stock.*;
-- 2 | 25

MERGE INTO depot.stock USING depot.delivery ON depot.stock.item = depot.delivery.item
  WHEN MATCHED THEN UPDATE SET pieces = depot.stock.pieces + depot.delivery.pieces
  WHEN NOT MATCHED THEN INSERT (item, pieces) VALUES (depot.delivery.item, depot.delivery.pieces)
  RETURNING depot.stock.item, merge_action;
-- 2 | 'UPDATE'
-- 3 | 'INSERT'

INSERT INTO depot.stock VALUES (3, 100) ON CONFLICT (item)
  DO UPDATE SET pieces = depot.stock.pieces + excluded.pieces RETURNING depot.stock.pieces;
-- 107

DELETE FROM depot.stock USING depot.delivery
  WHERE depot.stock.item = depot.delivery.item AND depot.delivery.item = 3 RETURNING depot.stock.item;
-- 3

-- An alias hides the name.
UPDATE depot.stock AS s SET pieces = depot.stock.pieces;
-- error: ProgrammingError: table 'stock' is not in FROM; did you mean its alias 's'? (line 1, column 38)

DELETE FROM depot.stock WHERE shop.stock.item = 1;
-- error: ProgrammingError: table 'shop.stock' is not in FROM (line 1, column 31)

-- One column may be in parentheses too, and its value in those of a row.
UPDATE depot.stock SET (pieces) = 1 WHERE item = 1;

UPDATE depot.stock SET (pieces) = ROW(2) WHERE item = 2;

UPDATE depot.stock SET (pieces) = (1, 2);
-- error: ProgrammingError: SET names 1 columns in (pieces), but gives 2

SELECT * FROM depot.stock ORDER BY item;
-- 1 | 1
-- 2 | 2
