CREATE TABLE sale (city VARCHAR NOT NULL, amount DECIMAL(8, 2), day DATE);

INSERT INTO sale VALUES ('Oslo', 1.5, '2026-05-01'), ('Oslo', 2, NULL), ('Lyon', 4, '2026-05-02');

CREATE TABLE totals AS SELECT city, sum(amount) AS total, count(*) FROM sale GROUP BY city;

SELECT * FROM totals ORDER BY city;
-- 'Lyon' | 4.00 | 1
-- 'Oslo' | 3.50 | 2

DESCRIBE totals;
-- 'city' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'count(*)' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'total' | 'DECIMAL(38,2)' | 'YES' | NULL | NULL | NULL

CREATE TABLE named (place, money) AS SELECT city, amount, day FROM sale;

SELECT place, money, day FROM named ORDER BY money;
-- 'Oslo' | 1.50 | 2026-05-01
-- 'Oslo' | 2.00 | NULL
-- 'Lyon' | 4.00 | 2026-05-02

CREATE TABLE empty AS SELECT * FROM sale WITH NO DATA;

SELECT count(*) FROM empty;
-- 0

INSERT INTO empty SELECT * FROM sale;

CREATE TABLE full_table AS FROM sale WITH DATA;

SELECT count(*) FROM full_table;
-- 3

CREATE TABLE pairs AS VALUES (1, 'x'), (2, NULL);

SELECT column1, column2 FROM pairs;
-- 1 | 'x'
-- 2 | NULL

CREATE TABLE nulls AS WITH q AS (SELECT NULL AS a) SELECT a FROM q;

DESCRIBE nulls;
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL

-- The rows are its own.
DELETE FROM sale WHERE city = 'Oslo';

SELECT sum(total) FROM totals;
-- 7.50

-- Names that are taken.
CREATE TABLE totals AS SELECT 1 AS a;
-- error: ProgrammingError: table 'totals' exists already (line 1, column 14)

CREATE TABLE IF NOT EXISTS totals AS SELECT 1 AS a;

SELECT count(*) FROM totals;
-- 2

CREATE OR REPLACE TABLE totals AS SELECT city, total * 2 AS total FROM totals;

SELECT * FROM totals ORDER BY city;
-- 'Lyon' | 8.00
-- 'Oslo' | 7.00

CREATE OR REPLACE TABLE totals (a INTEGER PRIMARY KEY);

SELECT * FROM totals;
-- (no rows)

CREATE VIEW twice AS SELECT a * 2 AS b FROM totals;

CREATE OR REPLACE TABLE totals (b INTEGER);
-- error: ProgrammingError: table 'totals' cannot be replaced: the view 'twice' needs it (column 'a' does not exist in 'totals') (line 1, column 25)

CREATE OR REPLACE TABLE totals (a BIGINT PRIMARY KEY, c VARCHAR);

SELECT * FROM twice;
-- (no rows)

CREATE TABLE part (a BIGINT REFERENCES totals);

CREATE OR REPLACE TABLE totals (a BIGINT PRIMARY KEY);
-- error: IntegrityError: table 'totals' cannot be dropped: the foreign key (a) of table 'part' refers to it

CREATE OR REPLACE TABLE twice (a INTEGER);
-- error: ProgrammingError: view 'twice' exists already (line 1, column 25)

CREATE TABLE x AS SELECT 1 AS a, 2 AS a;
-- error: ProgrammingError: table 'x' has two columns named 'a' (line 1, column 14)

CREATE TABLE x (a, b) AS SELECT 1;
-- error: ProgrammingError: CREATE TABLE 'x' names 2 columns, but the query has 1 (line 1, column 14)

CREATE TABLE x AS SELECT nothing FROM sale;
-- error: ProgrammingError: column 'nothing' does not exist in 'sale' (line 1, column 26)

CREATE TABLE x AS SELECT 1 / 0;
-- error: DataError: division by zero

SELECT * FROM x;
-- error: ProgrammingError: table 'x' does not exist (line 1, column 15)

CREATE TABLE x AS;
-- error: ProgrammingError: syntax error at line 1, column 18: the statement ends too early

CREATE TABLE x;
-- error: ProgrammingError: syntax error at line 1, column 15: the statement ends too early, expected '(' or 'AS'

CREATE OR REPLACE TABLE IF NOT EXISTS x (a INTEGER);
-- error: ProgrammingError: CREATE OR REPLACE TABLE takes no IF NOT EXISTS
