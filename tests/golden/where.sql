CREATE TABLE item (id INTEGER, brand VARCHAR, price DECIMAL(6, 2), sold DATE, weight DOUBLE, fresh BOOLEAN);

INSERT INTO item VALUES
  (1, 'apex', 10.00, '1994-01-01', 0.5, TRUE),
  (2, 'Apex', 10.50, '1994-02-28', 1.5, FALSE),
  (3, 'bolt', 99.99, '1995-12-31', 2.5, TRUE),
  (4, 'corex', -1.00, '1996-02-29', -0.5, NULL),
  (5, NULL, NULL, NULL, NULL, FALSE);

SELECT id FROM item WHERE price = 10;
-- 1
SELECT id FROM item WHERE price = 10.5;
-- 2
SELECT id FROM item WHERE price = 10.505;
-- (no rows)
SELECT id FROM item WHERE price <> 10;
-- 2
-- 3
-- 4
SELECT id FROM item WHERE price != 10;
-- 2
-- 3
-- 4
SELECT id FROM item WHERE price < 10;
-- 4
SELECT id FROM item WHERE price <= 10;
-- 1
-- 4
SELECT id FROM item WHERE price > 10.001;
-- 2
-- 3
SELECT id FROM item WHERE 10.5 <= price;
-- 2
-- 3
SELECT id FROM item WHERE price > 1e1;
-- 2
-- 3
SELECT id FROM item WHERE id > 2.5;
-- 3
-- 4
-- 5
SELECT id FROM item WHERE id = 2.5;
-- (no rows)
SELECT id FROM item WHERE id < 10000000000;
-- 1
-- 2
-- 3
-- 4
-- 5
SELECT id FROM item WHERE weight <= 0.5;
-- 1
-- 4

-- BETWEEN includes both ends; turned around it is empty.
SELECT id FROM item WHERE price BETWEEN 10 AND 10.5;
-- 1
-- 2
SELECT id FROM item WHERE price BETWEEN 10.5 AND 10;
-- (no rows)
SELECT id FROM item WHERE price NOT BETWEEN 10 AND 10.5;
-- 3
-- 4
SELECT id FROM item WHERE sold BETWEEN '1994-01-02' AND '1995-12-31';
-- 2
-- 3
SELECT id FROM item WHERE sold >= DATE '1996-02-29';
-- 4

-- Text compares byte by byte: capitals come first.
SELECT id FROM item WHERE brand = 'apex';
-- 1
SELECT id FROM item WHERE brand < 'apex';
-- 2
SELECT id FROM item WHERE brand >= 'b';
-- 3
-- 4
SELECT id FROM item WHERE brand > 'zzz';
-- (no rows)
SELECT id FROM item WHERE brand BETWEEN 'a' AND 'bolt';
-- 1
-- 3

SELECT id FROM item WHERE brand IN ('bolt', 'apex', 'nobody');
-- 1
-- 3
SELECT id FROM item WHERE brand NOT IN ('bolt', 'apex', 'nobody');
-- 2
-- 4
SELECT id FROM item WHERE id IN (3);
-- 3
SELECT id FROM item WHERE id IN (1, 1, 99);
-- 1

SELECT id FROM item WHERE fresh;
-- 1
-- 3
SELECT id FROM item WHERE NOT fresh;
-- 2
-- 5
SELECT id FROM item WHERE fresh = FALSE;
-- 2
-- 5
SELECT id FROM item WHERE fresh IS NULL;
-- 4

-- AND binds tighter than OR, NOT tighter than both.
SELECT id FROM item WHERE id = 1 OR id = 2 AND price > 100;
-- 1
SELECT id FROM item WHERE (id = 1 OR id = 2) AND price > 10.25;
-- 2
SELECT id FROM item WHERE NOT id = 1 AND price > 0;
-- 2
-- 3
SELECT id FROM item WHERE NOT (id = 1 OR price > 50);
-- 2
-- 4
SELECT id FROM item WHERE TRUE;
-- 1
-- 2
-- 3
-- 4
-- 5
SELECT id FROM item WHERE FALSE;
-- (no rows)
SELECT id FROM item WHERE 1 = 2 OR id = 4;
-- 4

-- Columns and expressions on both sides.
SELECT id FROM item WHERE price > id * 10;
-- 3
SELECT id FROM item WHERE weight = id - 0.5;
-- 1
-- 2
-- 3
SELECT id FROM item WHERE sum(price) > 1;
-- error: ProgrammingError: WHERE cannot contain the aggregate sum (line 1, column 27)

-- a number is true unless it is 0, as in DuckDB and SQLite; a text says which it is
SELECT x FROM (VALUES (1), (0), (-2), (NULL)) AS v (x) WHERE x;
-- -2
-- 1
SELECT x FROM (VALUES (1.5), (0.0), (NULL)) AS v (x) WHERE NOT x;
-- 0.0
SELECT 1 WHERE 'true' AND 2.5e0 AND 1;
-- 1
SELECT 1 WHERE 'perhaps';
-- error: DataError: 'perhaps' is not a valid BOOLEAN
SELECT 0 AND NULL, 3 OR NULL, NOT 5, 2 IS TRUE, 'no' IS TRUE, CASE WHEN 0.0 THEN 'yes' ELSE 'no' END;
-- false | true | false | true | false | 'no'
SELECT count(*) FILTER (WHERE x), count(*) FILTER (WHERE x % 2) FROM range(5) AS t (x);
-- 4 | 2
SELECT a.x FROM range(3) AS a (x) JOIN range(2) AS b (y) ON a.x * b.y ORDER BY 1;
-- 1
-- 2
SELECT max(x) AS most FROM range(3) AS t (x) HAVING sum(x) - 3;
-- (no rows)
CREATE TABLE positive (n INTEGER CHECK (n));
INSERT INTO positive VALUES (7), (NULL);
INSERT INTO positive VALUES (0);
-- error: IntegrityError: table 'positive', row 1: the check (n) does not hold: (n) = (0)
SELECT 1 WHERE INTERVAL '1 day';
-- error: ProgrammingError: WHERE needs a condition, not '1 day' (INTERVAL) (line 1, column 25)
