CREATE TABLE sale (nation VARCHAR, year INTEGER, amount INTEGER);

INSERT INTO sale VALUES ('CHINA', 1994, 10), ('CHINA', 1995, 20), ('JAPAN', 1994, 5), ('JAPAN', 1995, -5);

-- A view is its query: it sees new rows.
CREATE VIEW nations AS SELECT nation, sum(amount) AS total FROM sale GROUP BY nation;

SELECT nation, total FROM nations;
-- 'CHINA' | 30
-- 'JAPAN' | 0
INSERT INTO sale VALUES ('JAPAN', 1996, 7);

SELECT total FROM nations WHERE nation = 'JAPAN';
-- 7
SELECT max(total), count(*) FROM nations;
-- 30 | 2
SELECT s.year, n.total FROM sale s JOIN nations n ON s.nation = n.nation WHERE s.amount < 6;
-- 1994 | 7
-- 1995 | 7

CREATE VIEW large AS SELECT * FROM nations WHERE total > 10;

SELECT * FROM large;
-- 'CHINA' | 30

CREATE VIEW large AS SELECT 1 AS a;
-- error: ProgrammingError: view 'large' exists already (line 1, column 13)
CREATE VIEW sale AS SELECT 1 AS a;
-- error: ProgrammingError: table 'sale' exists already (line 1, column 13)
CREATE VIEW broken AS SELECT nothing FROM sale;
-- error: ProgrammingError: column 'nothing' does not exist in 'sale'; did you mean 'nation'? (line 1, column 30)
INSERT INTO large VALUES ('PERU', 1);
-- error: ProgrammingError: 'large' is a view, not a table (line 1, column 13)
DROP VIEW larg;
-- error: ProgrammingError: view 'larg' does not exist; did you mean 'large'? (line 1, column 11)
DROP VIEW large;

SELECT * FROM large;
-- error: ProgrammingError: table 'large' does not exist (line 1, column 15)

-- Derived tables and WITH.
SELECT y, n FROM (SELECT year AS y, count(*) AS n FROM sale GROUP BY year) AS years WHERE n > 1;
-- 1994 | 2
-- 1995 | 2
SELECT max(n) FROM (SELECT count(*) AS n FROM sale GROUP BY year) AS years;
-- 2
WITH years AS (SELECT year, sum(amount) AS total FROM sale GROUP BY year)
SELECT year FROM years WHERE total >= 15 ORDER BY year;
-- 1994
-- 1995
WITH a AS (SELECT nation, amount FROM sale WHERE year = 1994), b AS (SELECT nation FROM a WHERE amount > 5)
SELECT a.nation, a.amount FROM a, b WHERE a.nation = b.nation;
-- 'CHINA' | 10
SELECT x.nation FROM (SELECT nation, amount FROM sale ORDER BY amount DESC LIMIT 1) AS x;
-- 'CHINA'
