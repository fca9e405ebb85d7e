CREATE TABLE lineorder (lo_orderkey INTEGER, lo_price INTEGER, lo_tax INTEGER, "Mixed Case" INTEGER);

CREATE TABLE customer (c_custkey INTEGER, c_name VARCHAR, lo_tax INTEGER);

INSERT INTO lineorder VALUES (1, 10, 2, 5);

INSERT INTO customer VALUES (1, 'Ann', 3);

-- name_case.sql has what letters of other case mean.
SELECT LO_Price FROM LineOrder;
-- 10
SELECT "Mixed Case", "lo_price" FROM "lineorder";
-- 5 | 10
SELECT l.lo_price, lineorder.lo_tax FROM lineorder AS l;
-- error: ProgrammingError: table 'lineorder' is not in FROM; did you mean its alias 'l'? (line 1, column 20)
SELECT L.lo_price FROM lineorder AS l;
-- 10

-- The nearest right name.
SELECT lo_pric FROM lineorder;
-- error: ProgrammingError: column 'lo_pric' does not exist in 'lineorder'; did you mean 'lo_price'? (line 1, column 8)
SELECT l.lo_pric FROM lineorder AS l, customer;
-- error: ProgrammingError: column 'lo_pric' does not exist in 'l'; did you mean 'lo_price'? (line 1, column 8)
SELECT c_nam FROM lineorder, customer;
-- error: ProgrammingError: column 'c_nam' does not exist in 'lineorder' or 'customer'; did you mean 'c_name'? (line 1, column 8)
SELECT zebra FROM lineorder;
-- error: ProgrammingError: column 'zebra' does not exist in 'lineorder' (line 1, column 8)
SELECT "LO_PRICE" FROM lineorder;
-- 10
SELECT 1 FROM lineordr;
-- error: ProgrammingError: table 'lineordr' does not exist; did you mean 'lineorder'? (line 1, column 15)
SELECT x.c_name FROM customer AS c;
-- error: ProgrammingError: table 'x' is not in FROM (line 1, column 8)
SELECT lo_tax FROM lineorder, customer;
-- error: ProgrammingError: column 'lo_tax' is ambiguous: it is in 'lineorder' and in 'customer' (line 1, column 8)
SELECT lineorder.lo_tax, customer.lo_tax FROM lineorder, customer;
-- 2 | 3
SELECT summ(lo_tax) FROM lineorder;
-- error: ProgrammingError: function 'summ' does not exist; did you mean 'sum'? (line 1, column 8)
SELECT lo_price FROM lineorder WHERE lo_tax = 2 GROUP BY nothing;
-- error: ProgrammingError: column 'nothing' does not exist in 'lineorder' (line 1, column 58)

-- Syntax.
SELEC 1;
-- error: ProgrammingError: syntax error at line 1, column 1: unexpected 'SELEC'; did you mean 'SELECT'?
SELECT FROM;
-- error: ProgrammingError: syntax error at line 1, column 12: the statement ends too early
SELECT 1 +;
-- error: ProgrammingError: syntax error at line 1, column 11: the statement ends too early
SELECT 'open;
-- error: ProgrammingError: syntax error at line 1, column 8: this string does not end
SELECT (1;
-- error: ProgrammingError: syntax error at line 1, column 10: the statement ends too early, expected ')'
SELECT 1 2;
-- error: ProgrammingError: syntax error at line 1, column 10: unexpected '2'

-- SQL that RayDB does not run is refused by name.
CALL lineorder();
-- error: NotSupportedError: the table function lineorder() is not supported (line 1, column 6)
SELECT lo_price FROM lineorder;
-- 10

SELECT range < 3, CASE WHEN range < 3 THEN 'a' ELSE 'b' END FROM range(2, 4);
-- false | 'b'
-- true | 'a'

SELECT map < 3, list < 3, struct <= 3, date < 3 FROM (SELECT 1 AS map, 3 AS list, 3 AS struct, 4 AS date);
-- true | false | true | false
