CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER, d_month VARCHAR);

CREATE TABLE sale (ordered INTEGER REFERENCES day (d_id), shipped INTEGER REFERENCES day (d_id), amount INTEGER, city VARCHAR);

CREATE TABLE lonely (a INTEGER, b INTEGER);

-- A BVH over an empty table.
CREATE BVH years ON sale (SCAN (city), GROUP BY (city), AGGREGATE (amount));

SELECT city, sum(amount) FROM sale GROUP BY city;
-- (no rows)
SELECT count(*), sum(amount) FROM sale;
-- 0 | NULL

INSERT INTO day VALUES (1, 1994, 'Jan'), (2, 1994, 'Feb'), (3, 1995, 'Jan');

INSERT INTO sale VALUES (1, 2, 10, 'Rome'), (2, 3, 20, 'Rome'), (3, 3, 40, NULL), (NULL, NULL, 80, 'Oslo');

SELECT city, sum(amount) FROM sale GROUP BY city;
-- 'Oslo' | 80
-- 'Rome' | 30
-- NULL | 40
SELECT sum(amount) FROM sale WHERE city >= 'P';
-- 30

SELECT name, table_name, scan, group_by, aggregate FROM bvhs();
-- 'years' | 'sale' | 'city' | 'city' | 'amount'

CREATE BVH years ON sale (SCAN (city), AGGREGATE (amount));
-- error: ProgrammingError: BVH 'years' exists already (line 1, column 12)
CREATE BVH x ON sael (SCAN (city), AGGREGATE (amount));
-- error: ProgrammingError: table 'sael' does not exist; did you mean 'sale'? (line 1, column 17)
CREATE BVH x ON sale (SCAN (ctiy), AGGREGATE (amount));
-- error: ProgrammingError: column 'ctiy' does not exist in 'sale' or the tables that its foreign keys reach; did you mean 'city'? (line 1, column 29)
CREATE BVH x ON sale (SCAN (city), AGGREGATE (amuont * 2));
-- error: ProgrammingError: column 'amuont' does not exist in 'sale' or the tables that its foreign keys reach; did you mean 'amount'? (line 1, column 47)
CREATE BVH x ON sale (SCAN (city, city), AGGREGATE (amount));
-- error: ProgrammingError: column 'city' is listed twice in SCAN (line 1, column 29)
CREATE BVH x ON sale (SCAN (d_year), AGGREGATE (amount));
-- error: ProgrammingError: column 'd_year' is ambiguous: write 'ordered.d_year' or 'shipped.d_year' (line 1, column 29)
CREATE BVH x ON lonely (SCAN (d_year), AGGREGATE (a));
-- error: ProgrammingError: column 'd_year' does not exist in 'lonely' or the tables that its foreign keys reach (line 1, column 31)
CREATE BVH x ON sale (SCAN (city), AGGREGATE (sum(amount)));
-- error: ProgrammingError: AGGREGATE of a BVH cannot contain the aggregate sum (line 1, column 47)
CREATE BVH x ON sale (AGGREGATE (city));
-- error: ProgrammingError: AGGREGATE of a BVH needs numbers or dates, not 'city' (VARCHAR) (line 1, column 34)
CREATE BVH x ON sale ();
-- error: ProgrammingError: syntax error at line 1, column 23: unexpected ')', expected SCAN, GROUP BY or AGGREGATE
CREATE BVH x ON sale (SCAN (city), SORT (amount));
-- error: ProgrammingError: syntax error at line 1, column 36: unexpected 'SORT', expected SCAN, GROUP BY or AGGREGATE

-- Two roles of one table are told apart by the foreign key's column.
CREATE BVH roles ON sale (SCAN (shipped.d_year, ordered.d_year), GROUP BY (shipped.d_month), AGGREGATE (amount));

SELECT s.d_month, sum(amount)
FROM sale, day AS o, day AS s
WHERE ordered = o.d_id AND shipped = s.d_id AND o.d_year = 1994 AND s.d_year = 1995
GROUP BY s.d_month;
-- 'Jan' | 20
SELECT o.d_year, sum(amount) FROM sale JOIN day AS o ON ordered = o.d_id GROUP BY o.d_year;
-- 1994 | 30
-- 1995 | 40
SELECT s.d_year, sum(amount) FROM sale JOIN day AS s ON sale.shipped = s.d_id GROUP BY s.d_year;
-- 1994 | 10
-- 1995 | 60

DROP BVH rolse;
-- error: ProgrammingError: BVH 'rolse' does not exist; did you mean 'roles'? (line 1, column 10)
DROP BVH IF EXISTS rolse;

DROP BVH roles;

DROP BVH roles;
-- error: ProgrammingError: BVH 'roles' does not exist (line 1, column 10)

-- A BVH goes with its table.
DROP TABLE sale;

DROP BVH years;
-- error: ProgrammingError: BVH 'years' does not exist (line 1, column 10)

-- A table that refers to itself.
CREATE TABLE worker (id INTEGER PRIMARY KEY, name VARCHAR, pay INTEGER, boss INTEGER REFERENCES worker (id));

INSERT INTO worker VALUES (1, 'Ann', 100, NULL), (2, 'Bob', 50, 1), (3, 'Cid', 20, 2), (4, 'Dan', 10, 2);

CREATE BVH pays ON worker (SCAN (name), AGGREGATE (pay));

SELECT sum(pay) FROM worker WHERE name > 'B';
-- 80
SELECT b.name, sum(w.pay) FROM worker w JOIN worker b ON w.boss = b.id GROUP BY b.name;
-- 'Ann' | 50
-- 'Bob' | 30

-- A measure has 64 bits. New rows that do not fit stay beside the BVH; the answers stay right.
CREATE TABLE wide (g INTEGER, d DECIMAL(38, 2));

CREATE BVH sums ON wide (SCAN (g), AGGREGATE (d));

INSERT INTO wide VALUES (1, 1.50);

EXPLAIN SELECT g, sum(d) FROM wide GROUP BY g;
-- has: path: fused
INSERT INTO wide VALUES (1, 99999999999999999999999999);

SELECT g, sum(d) FROM wide GROUP BY g;
-- 1 | 100000000000000000000000000.50
EXPLAIN SELECT g, sum(d) FROM wide GROUP BY g;
-- has: path: fused
-- has: DeltaScan: sum(d) by g

CHECKPOINT;

SELECT g, sum(d) FROM wide GROUP BY g;
-- 1 | 100000000000000000000000000.50
SELECT row_count, newer_rows, merge FROM bvhs() WHERE name = 'sums';
-- 0 | 2 | 'failed: the measure d of a BVH: a DECIMAL has more digits than 64 bits hold'

-- An average is taken of a sum, which may need more digits.
EXPLAIN SELECT g, avg(d) FROM wide GROUP BY g;
-- has: path: general
-- has: the sum that AVG over DECIMAL(38,2) needs may not fit 38 digits
SELECT g, avg(d) FROM wide GROUP BY g;
-- 1 | 5e+25
CREATE BVH more ON wide (SCAN (g), AGGREGATE (d));
-- error: DataError: the measure d of a BVH: a DECIMAL has more digits than 64 bits hold
