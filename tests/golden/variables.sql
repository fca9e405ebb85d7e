CREATE TABLE sale (id INTEGER, price DECIMAL(9, 2), day DATE, mood ENUM ('good', 'bad'));
INSERT INTO sale VALUES (1, 1.50, '2026-05-17', 'good'), (2, 20.00, '2026-05-18', 'bad'), (3, 5.25, NULL, NULL);

SELECT getvariable('limit'), typeof(getvariable('limit'));
-- NULL | 'NULL'
SET VARIABLE "Limit" = 5.00;
SELECT getvariable('limit'), typeof(getvariable('LIMIT'));
-- 5.00 | 'DECIMAL(3,2)'
SELECT id FROM sale WHERE price > getvariable('limit') ORDER BY id;
-- 2
-- 3

-- The same text has the value that is set when it runs.
SET VARIABLE limit TO 10;
SELECT id FROM sale WHERE price > getvariable('limit') ORDER BY id;
-- 2
SELECT id FROM sale WHERE price > getvariable('limit') AND id < 3 ORDER BY id;
-- 2
SELECT id FROM sale WHERE price > getvariable('limit') AND id < 4 ORDER BY id;
-- 2
SET VARIABLE limit = 1;
SELECT id FROM sale WHERE price > getvariable('limit') AND id < 3 ORDER BY id;
-- 1
-- 2
SELECT id FROM sale WHERE price > getvariable('limit') AND id < 5 ORDER BY id;
-- 1
-- 2
-- 3

-- A value may come of a query, and have any type.
SET VARIABLE days = (SELECT list(day ORDER BY id) FROM sale);
SELECT getvariable('days'), getvariable('days')[2], typeof(getvariable('days'));
-- [datetime.date(2026, 5, 17), datetime.date(2026, 5, 18), None] | 2026-05-18 | 'DATE[]'
SELECT id FROM sale WHERE list_contains(getvariable('days'), day) ORDER BY id;
-- 1
-- 2
SET VARIABLE worst = (SELECT mood FROM sale WHERE id = 2);
SELECT id FROM sale WHERE mood = getvariable('worst');
-- 2
SET VARIABLE s = {'a': 1, 'b': [1.5, NULL]};
SELECT getvariable('s'), getvariable('s').b[1];
-- {'a': 1, 'b': [Decimal('1.5'), None]} | 1.5
SET VARIABLE nothing = NULL;
SELECT getvariable('nothing') IS NULL;
-- true
SET VARIABLE next = getvariable('limit') + 1;
SELECT getvariable('next');
-- 2
CREATE VIEW cheap AS SELECT id FROM sale WHERE price < getvariable('next');
SELECT id FROM cheap;
-- 1
PREPARE dear AS SELECT id FROM sale WHERE price > getvariable('next') AND id < $1 ORDER BY id;
EXECUTE dear(9);
-- 2
-- 3
SET VARIABLE next = 6;
SELECT id FROM cheap ORDER BY id;
-- 1
-- 3
EXECUTE dear(9);
-- 2
RESET VARIABLE next;
SELECT id FROM cheap;
-- (no rows)
EXECUTE dear(9);
-- (no rows)

SET VARIABLE x = (SELECT id FROM sale);
-- error: DataError: a subquery used as an expression gave more than one row
SET VARIABLE x = price;
-- error: ProgrammingError: column 'price' does not exist (line 1, column 18)
SET VARIABLE x 5;
-- error: ProgrammingError: syntax error at line 1, column 16: unexpected '5', expected 'TO'
SET VARIABLE = 5;
-- error: ProgrammingError: syntax error at line 1, column 14: unexpected '=', expected the name of a variable
SET VARIABLE x = 1 / 0;
-- error: DataError: division by zero
SET VARIABLE x = 'a'::INTEGER;
-- error: DataError: 'a' is not a valid INTEGER (line 1, column 18)
SELECT getvariable('x'), getvariable('a' || id) FROM sale;
-- error: NotSupportedError: getvariable() needs a constant string, not an expression (VARCHAR) (line 1, column 26)

-- What is kept in the database reads none: other connections have other variables.
SET VARIABLE more = 10;
CREATE TABLE kept (a INTEGER, b INTEGER AS (a + getvariable('more')));
-- error: ProgrammingError: the generated column 'b' cannot read variable 'more': other connections have other variables (line 1, column 31)
CREATE TABLE kept (a INTEGER, CHECK (a < getvariable('more')));
-- error: ProgrammingError: CHECK cannot read variable 'more': other connections have other variables (line 1, column 54)
CREATE TABLE kept (a INTEGER PRIMARY KEY, b INTEGER DEFAULT getvariable('more'));
INSERT INTO kept (a) VALUES (1);
ALTER TABLE kept ADD CHECK (a < getvariable('more'));
-- error: ProgrammingError: CHECK cannot read variable 'more': other connections have other variables (line 1, column 45)
ALTER TABLE kept ADD COLUMN c INTEGER AS (a + getvariable('more'));
-- error: ProgrammingError: the generated column 'c' cannot read variable 'more': other connections have other variables (line 1, column 29)
CREATE BVH sums ON kept (SCAN (a), GROUP BY (a), AGGREGATE (b + getvariable('more')));
-- error: ProgrammingError: BVH 'sums' cannot read variable 'more': other connections have other variables (line 1, column 65)
CREATE SEQUENCE numbers;
CREATE BVH sums ON kept (SCAN (a), GROUP BY (a), AGGREGATE (b + random()));
-- error: ProgrammingError: AGGREGATE of a BVH needs expressions whose value is that of the row alone, at all times: (CAST(b AS DOUBLE) + random())
CREATE BVH sums ON kept (SCAN (a), GROUP BY (a), AGGREGATE (b + nextval('numbers')));
-- error: ProgrammingError: AGGREGATE of a BVH needs expressions whose value is that of the row alone, at all times: (CAST(b AS BIGINT) + nextval('numbers')) (line 1, column 73)
SELECT a, b, nextval('numbers') FROM kept;
-- 1 | 10 | 1
