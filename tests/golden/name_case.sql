-- Names keep the case in which they were made, and are found in any.
CREATE TABLE Orders (Id INTEGER PRIMARY KEY, CustomerName VARCHAR, Amount INTEGER DEFAULT 7, CHECK (AMOUNT > 0), CONSTRAINT Names UNIQUE (customername));

INSERT INTO ORDERS (ID, customername, aMount) VALUES (1, 'Ann', 10), (2, 'Bob', 20);

SHOW TABLES;
-- 'Orders'
DESCRIBE orders;
-- 'Amount' | 'INTEGER' | 'YES' | NULL | '7' | NULL
-- 'CustomerName' | 'VARCHAR' | 'YES' | 'UNI' | NULL | NULL
-- 'Id' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
SELECT table_name, column_name FROM Information_Schema.Columns ORDER BY ordinal_position;
-- 'Orders' | 'Id'
-- 'Orders' | 'CustomerName'
-- 'Orders' | 'Amount'
SELECT constraint_name, check_clause FROM information_schema.check_constraints;
-- 'Orders_Amount_check' | 'AMOUNT > 0'
-- 'Orders_Id_not_null' | 'Id IS NOT NULL'
SELECT constraint_name, column_name FROM information_schema.key_column_usage ORDER BY 1;
-- 'Names' | 'CustomerName'
-- 'Orders_pkey' | 'Id'

-- A result has the names as they were made, an alias as it is written.
DESCRIBE SELECT customername, o.ID, AMOUNT AS Total, sum(amount) OVER () FROM orders AS O;
-- 'CustomerName' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'Total' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'sum(amount) OVER ()' | 'BIGINT' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT * FROM oRDERS;
-- 'Amount' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'CustomerName' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT X, y, Z FROM (VALUES (1, 2, 3)) AS t(x, Y, z);
-- 'Y' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'x' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'z' | 'INTEGER' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT (SELECT Amount FROM orders LIMIT 1) AS One, (((ID))) FROM orders;
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'One' | 'INTEGER' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT ID FROM orders GROUP BY id;
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT 1 AS Total, TOTAL;
-- 'TOTAL' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'Total' | 'INTEGER' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT (SELECT o.ID) FROM orders o;
-- '(SELECT o.ID)' | 'INTEGER' | 'YES' | NULL | NULL | NULL
DESCRIBE SELECT d.* FROM orders o, LATERAL (SELECT o.ID, AMOUNT) AS d;
-- 'Amount' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SUMMARIZE ORDERS;
-- 'Amount' | 'INTEGER' | '10' | '20' | 2 | '15.0' | '7.0710678118654755' | '10' | '10' | '20' | 2 | 0.00
-- 'CustomerName' | 'VARCHAR' | 'Ann' | 'Bob' | 2 | NULL | NULL | NULL | NULL | NULL | 2 | 0.00
-- 'Id' | 'INTEGER' | '1' | '2' | 2 | '1.5' | '0.7071067811865476' | '1' | '1' | '2' | 2 | 0.00

-- Quoted names too, where no other has exactly that name.
SELECT "ID", "ORDERS"."amount" FROM "ORDERS" ORDER BY "id";
-- 1 | 10
-- 2 | 20

-- Clauses.
SELECT O.iD FROM orders o WHERE o.CUSTOMERNAME = 'Ann' AND "O".AMOUNT = 10;
-- 1
SELECT amount AS Total, count(*) FROM orders GROUP BY TOTAL HAVING total > 5 ORDER BY ToTaL DESC;
-- 20 | 1
-- 10 | 1
SELECT customername, ROW_NUMBER() OVER (w ORDER BY ID) AS Place FROM orders WINDOW W AS (PARTITION BY CUSTOMERNAME) QUALIFY PLACE = 1 ORDER BY 1;
-- 'Ann' | 1
-- 'Bob' | 1
SELECT 1 FROM orders WINDOW w AS (), W AS ();
-- error: ProgrammingError: WINDOW defines 'W' twice (line 1, column 29)
SELECT row_number() OVER v FROM orders WINDOW Other AS ();
-- error: ProgrammingError: window 'v' does not exist (line 1, column 8)
SELECT DISTINCT ON (CUSTOMERNAME) id FROM orders ORDER BY customername DESC;
-- 2
-- 1
SELECT * EXCLUDE (CUSTOMERNAME) REPLACE (AMOUNT + 1 AS amount) FROM orders ORDER BY ALL;
-- 1 | 11
-- 2 | 21
DESCRIBE SELECT * RENAME (AMOUNT AS Price) FROM orders;
-- 'CustomerName' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'Price' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SELECT * EXCLUDE (Name) FROM orders;
-- error: ProgrammingError: EXCLUDE names 'Name', no column of * (line 1, column 19)
SELECT max(COLUMNS(* EXCLUDE (ID))) FROM orders;
-- 'Bob' | 20
WITH Big AS (SELECT * FROM orders WHERE amount > 10) SELECT big.ID FROM BIG;
-- 2
WITH a AS (SELECT 1), A AS (SELECT 2) SELECT 1;
-- error: ProgrammingError: WITH defines 'A' twice (line 1, column 6)
WITH RECURSIVE Up(N) AS (SELECT 1 UNION ALL SELECT n + 1 FROM UP WHERE N < 3) SELECT sum(n) FROM uP;
-- 6
SELECT U.X, Ordinality FROM unnest([5, 6]) WITH ORDINALITY AS u(x) ORDER BY 2;
-- 5 | 1
-- 6 | 2
SELECT Range FROM RANGE(2) ORDER BY range;
-- 0
-- 1
SELECT 1 FROM orders a, orders A;
-- error: ProgrammingError: table name 'a' is used twice in FROM; give one of them an alias (line 1, column 22)

-- Joins: USING and NATURAL have the name of the left column.
CREATE TABLE Line (id INTEGER, ORDERID INTEGER REFERENCES orders (iD), Price INTEGER);

INSERT INTO line VALUES (1, 1, 5), (2, 2, 6);

DESCRIBE SELECT * FROM orders NATURAL JOIN line;
-- 'Amount' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'CustomerName' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'ORDERID' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'Price' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SELECT ID, price FROM Orders JOIN Line USING (iD) ORDER BY ID;
-- 1 | 5
-- 2 | 6
SELECT id FROM orders RIGHT JOIN LINE USING (Id) ORDER BY Id;
-- 1
-- 2
SELECT price FROM orders o JOIN line ON O.ID = LINE.orderId WHERE CUSTOMERNAME = 'Bob';
-- 6
SELECT ID FROM orders JOIN line ON orders.id = line.id;
-- error: ProgrammingError: column 'ID' is ambiguous: it is in 'Orders' and in 'Line' (line 1, column 8)
SELECT 1 FROM orders JOIN line USING (id, ID);
-- error: ProgrammingError: column 'ID' is named twice in USING (line 1, column 39)
SELECT * FROM orders SEMI JOIN line ON orders.ID = ORDERID ORDER BY id;
-- 1 | 'Ann' | 10
-- 2 | 'Bob' | 20

-- Set operations: the first query names the columns.
DESCRIBE SELECT ID FROM orders UNION SELECT id FROM line;
-- 'Id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SELECT Amount, ID FROM orders UNION ALL BY NAME SELECT id, AMOUNT FROM orders ORDER BY ID, amount;
-- 10 | 1
-- 10 | 1
-- 20 | 2
-- 20 | 2
SELECT 1 AS a, 2 AS A UNION BY NAME SELECT 1 AS a;
-- error: ProgrammingError: UNION BY NAME: a query has two columns 'A' (line 1, column 13)

-- Changes.
UPDATE orders SET AMOUNT = amount + 1, CUSTOMERNAME = 'Cid' WHERE ID = 2 RETURNING customername, amount AS New;
-- 'Cid' | 21
UPDATE orders SET amount = 1, AMOUNT = 2;
-- error: ProgrammingError: column 'Amount' is named twice in UPDATE (line 1, column 19)
UPDATE ORDERS SET Amount = Price FROM Line WHERE ORDERID = Orders.ID AND orders.id = 2;
INSERT INTO orders (id, ID) VALUES (1, 2);
-- error: ProgrammingError: column 'Id' is named twice in INSERT (line 1, column 21)
INSERT INTO orders BY NAME SELECT 3 AS ID, 'Eve' AS customername;
INSERT INTO orders VALUES (3, 'Eva', 9) ON CONFLICT (ID) DO UPDATE SET CustomerName = Excluded.CUSTOMERNAME WHERE ORDERS.amount < 100 RETURNING ID, Customername;
-- 3 | 'Eva'
INSERT INTO orders VALUES (9, 'Eva', 9) ON CONFLICT ON CONSTRAINT NAMES DO NOTHING;
INSERT INTO orders VALUES (1, 'Zoe', -1);
-- error: IntegrityError: table 'Orders', row 1: the check (AMOUNT > 0) does not hold: (Amount) = (-1)
DELETE FROM Line USING orders WHERE orderid = orders.ID AND amount = 10 RETURNING ID;
-- error: ProgrammingError: column 'ID' is ambiguous: it is in 'Line' and in 'Orders' (line 1, column 83)
SELECT * FROM orders ORDER BY 1;
-- 1 | 'Ann' | 10
-- 2 | 'Cid' | 6
-- 3 | 'Eva' | 7

-- Definitions.
CREATE TABLE IF NOT EXISTS ORDERS (x INTEGER);

CREATE TABLE orders (x INTEGER);
-- error: ProgrammingError: table 'Orders' exists already (line 1, column 14)
CREATE VIEW "ORDERS" AS SELECT 1;
-- error: ProgrammingError: table 'Orders' exists already (line 1, column 13)
CREATE VIEW Big AS SELECT CUSTOMERNAME, Amount FROM ORDERS WHERE AMOUNT > 5;

DESCRIBE big;
-- 'Amount' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'CustomerName' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
SELECT * FROM BIG ORDER BY customername;
-- 'Ann' | 10
-- 'Cid' | 6
-- 'Eva' | 7
CREATE OR REPLACE VIEW bIG (Who) AS SELECT CustomerName FROM orders;

SHOW TABLES;
-- 'Line'
-- 'Orders'
-- 'bIG'
CREATE INDEX ByAmount ON ORDERS (AMOUNT, iD DESC);

SELECT name, table_name, columns FROM indexes();
-- 'ByAmount' | 'Orders' | 'Amount, Id DESC'
CREATE INDEX BYAMOUNT ON orders (id);
-- error: ProgrammingError: index 'ByAmount' exists already (line 1, column 14)
CREATE BVH Sales ON LINE (SCAN (customername), AGGREGATE (PRICE));

SELECT name, table_name, scan, aggregate FROM bvhs();
-- 'Sales' | 'Line' | 'CustomerName' | 'Price'
CREATE BVH sales ON line (AGGREGATE (price));
-- error: ProgrammingError: BVH 'Sales' exists already (line 1, column 12)
EXPLAIN SELECT sum(PRICE) FROM Line JOIN ORDERS ON orders.ID = orderID WHERE CUSTOMERNAME = 'Cid';
-- has: bvh: Sales
ALTER TABLE orders DROP COLUMN CUSTOMERNAME;
-- error: ProgrammingError: table 'Orders' cannot be changed so: the BVH 'Sales' needs it; CASCADE drops it too (line 1, column 13)
ALTER TABLE orders RENAME COLUMN AMOUNT TO amount;

ALTER TABLE orders RENAME COLUMN amount TO ID;
-- error: ProgrammingError: column 'Id' exists already in 'Orders' (line 1, column 44)
ALTER TABLE orders ADD COLUMN AMOUNT INTEGER;
-- error: ProgrammingError: column 'amount' exists already in 'Orders' (line 1, column 31)
ALTER TABLE orders ADD COLUMN IF NOT EXISTS AMOUNT INTEGER;

ALTER TABLE orders ALTER COLUMN AMOUNT SET DEFAULT 8;

ALTER TABLE orders ADD CONSTRAINT Small CHECK (AMOUNT < 1000);

INSERT INTO orders VALUES (10, 'Kim', 1000);
-- error: IntegrityError: table 'Orders', row 1: the check 'Small' (AMOUNT < 1000) does not hold: (amount) = (1000)
ALTER TABLE orders DROP CONSTRAINT small;

ALTER TABLE Orders RENAME TO orders;

DESCRIBE Orders;
-- 'CustomerName' | 'VARCHAR' | 'YES' | 'UNI' | NULL | NULL
-- 'Id' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
-- 'amount' | 'INTEGER' | 'YES' | NULL | '8' | NULL
SELECT * FROM big ORDER BY who;
-- 'Ann'
-- 'Cid'
-- 'Eva'
TRUNCATE orders, ORDERS;
-- error: IntegrityError: table 'orders' cannot be truncated: the foreign key (ORDERID) of table 'Line' refers to it; TRUNCATE both, or use CASCADE
DROP VIEW BIG;

DROP BVH sALES;

DROP INDEX byAmount;

DROP TABLE line, Orders, LINE;

SHOW TABLES;
-- (no rows)
DROP TABLE IF EXISTS ORDERS;

-- A table has no two columns that differ by case alone.
CREATE TABLE t (a INTEGER, "A" INTEGER);
-- error: ProgrammingError: table 't' has two columns that differ by case, 'a' and 'A' (line 1, column 14)
CREATE TABLE t AS SELECT 1 AS a, 2 AS "A";
-- error: ProgrammingError: table 't' has two columns that differ by case, 'a' and 'A' (line 1, column 14)
CREATE TABLE t (Id INTEGER PRIMARY KEY, FOREIGN KEY (Idd) REFERENCES t);
-- error: ProgrammingError: column 'Idd' does not exist in 't'; did you mean 'Id'? (line 1, column 54)
CREATE TABLE t (a INTEGER) WITH (B.encoding = plain);
-- error: ProgrammingError: column 'B' does not exist in 't' (line 1, column 34)

-- Queries, files and frames may have them; then the name needs its quotes.
SELECT "a", t."A" FROM (SELECT 1 AS a, 2 AS "A") AS t;
-- 1 | 2
SELECT a FROM (SELECT 1 AS a, 2 AS "A") AS t;
-- error: ProgrammingError: column 'a' is ambiguous: there are 'a' and 'A', which differ by case; write the one that is meant in double quotes (line 1, column 8)
SELECT T.A FROM (SELECT 1 AS a, 2 AS "A") AS t;
-- error: ProgrammingError: column 'A' is ambiguous: there are 'a' and 'A', which differ by case; write the one that is meant in double quotes (line 1, column 8)
SELECT "b" FROM (SELECT 1 AS "Bb", 2 AS "bB", 3 AS "B") AS t;
-- 3
SELECT "bb" FROM (SELECT 1 AS "Bb", 2 AS "bB", 3 AS "B") AS t;
-- error: ProgrammingError: column 'bb' is ambiguous: there are 'Bb' and 'bB', which differ by case; write the one that is meant in double quotes (line 1, column 8)
SELECT 1 AS a, 2 AS "A" ORDER BY A;
-- error: ProgrammingError: column 'A' is ambiguous: there are 'a' and 'A', which differ by case; write the one that is meant in double quotes (line 1, column 13)
SELECT * EXCLUDE ("A") FROM (SELECT 1 AS a, 2 AS "A") AS t;
-- 1
SELECT * EXCLUDE (A) FROM (SELECT 1 AS a, 2 AS "A") AS t;
-- error: ProgrammingError: column 'A' is ambiguous: there are 'a' and 'A', which differ by case; write the one that is meant in double quotes (line 1, column 19)
SELECT max(COLUMNS(*)) FROM (SELECT 1 AS a, 2 AS "A") AS t;
-- 1 | 2
SELECT * FROM (SELECT 1 AS a, 2 AS "A") AS t NATURAL JOIN (SELECT 1 AS a, 2 AS "A") AS u;
-- 1 | 2
SELECT * FROM (SELECT 1 AS a, 2 AS "A") AS t NATURAL JOIN (SELECT 1 AS a) AS u;
-- error: ProgrammingError: column 'a' is ambiguous: there are 'a' and 'A', which differ by case; write the one that is meant in double quotes (line 1, column 28)
SELECT * FROM (SELECT 1 AS a, 2 AS "A") AS t JOIN (SELECT 2 AS a) AS u USING ("A");
-- 2 | 1
SELECT * FROM (SELECT 1 AS a, 2 AS "A") AS t JOIN (SELECT 2 AS a) AS u USING (A);
-- error: ProgrammingError: column 'A' is ambiguous: there are 'a' and 'A', which differ by case; write the one that is meant in double quotes (line 1, column 28)

-- Other letters than a to z; ß and ss are not the same.
SELECT ÄPFEL, größe FROM (SELECT 1 AS Äpfel, 2 AS GrößE) AS t;
-- 1 | 2
SELECT grösse FROM (SELECT 2 AS Größe) AS t;
-- error: ProgrammingError: column 'grösse' does not exist in 't'; did you mean 'Größe'? (line 1, column 8)

-- Fields of structs.
DESCRIBE SELECT s.NAME, T.S.name AS Alias, S['NAME'] FROM (SELECT {'Name': 'a'} AS S) AS t;
-- 'Alias' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'Name' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'S[''NAME'']' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
SELECT s.a FROM (SELECT {'A': 1}::STRUCT("A" INTEGER) AS s) AS t;
-- 1
SELECT {'a': 1, 'A': 2};
-- error: ProgrammingError: a struct has two fields named 'A' (line 1, column 14)

-- Functions, settings, parameters, prepared statements, savepoints, files.
SELECT "LOWER"('A'), "Sum"(1);
-- 'a' | 1
SET Memory_Limit = '1GB';

SHOW MEMORY_LIMIT;
-- '1GB'
PREPARE Double AS SELECT 2 * $Number AS Twice;

EXECUTE DOUBLE(number := 4);
-- 8
PREPARE double AS SELECT 1;
-- error: ProgrammingError: statement 'double' is prepared already; DEALLOCATE it first (line 1, column 9)
DEALLOCATE dOUBLE;

BEGIN;
SAVEPOINT Here;
ROLLBACK TO here;
COMMIT;

CREATE TABLE Pair (A INTEGER, "b c" VARCHAR DEFAULT 'd');

COPY PAIR (a) FROM '$TMP/none.csv';
-- error: OperationalError: file '$TMP/none.csv' does not exist
COPY (SELECT 1 AS a, 'x' AS "B C") TO '$TMP/pair.csv';

COPY pair FROM '$TMP/pair.csv';

COPY pair (B) FROM '$TMP/pair.csv';
-- error: ProgrammingError: column 'B' does not exist in 'Pair'
COPY PAIR ("B C", A) TO '$TMP/pair.json' (Format JSON);

SELECT A, "B C" FROM '$TMP/pair.json';
-- 1 | 'x'
SELECT a, NOSUCH FROM Pair;
-- error: ProgrammingError: column 'NOSUCH' does not exist in 'Pair' (line 1, column 11)
SELECT p.NOSUCH FROM Pair AS p;
-- error: ProgrammingError: column 'NOSUCH' does not exist in 'p' (line 1, column 8)
SELECT 1 FROM Pairs;
-- error: ProgrammingError: table 'Pairs' does not exist; did you mean 'Pair'? (line 1, column 15)
SELECT pair.a FROM Pair AS Q;
-- error: ProgrammingError: table 'pair' is not in FROM; did you mean its alias 'Q'? (line 1, column 8)
