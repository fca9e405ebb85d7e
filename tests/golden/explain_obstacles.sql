-- Every obstacle is named: what a BVH lacks, what keeps a star from a pass, how many groups there may be.
CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_name VARCHAR, s_city VARCHAR);
CREATE TABLE sale (ticket INTEGER NOT NULL, shop INTEGER REFERENCES shop, other INTEGER, tags INTEGER[], amount DECIMAL(30, 2), price INTEGER);
INSERT INTO shop SELECT i, 'shop ' || i, 'city ' || i % 7 FROM range(400) AS r (i);
INSERT INTO sale SELECT i, i % 400, i % 400, [1], (i || '00000000000000000')::DECIMAL(30, 2), i % 9 FROM range(120000) AS r (i);

-- Both of two obstacles, each with its column.
EXPLAIN SELECT ticket, sum(amount) FROM sale GROUP BY ticket;
-- has: path: general
-- has: there is no BVH on 'sale'
-- has: SUM over DECIMAL(30,2) may not fit 64 bits
-- has: ticket may have a group for each row

-- A wide decimal whose values are small.
EXPLAIN SELECT sum(price::DECIMAL(30, 2)) FROM sale;
-- has: FusedTableScan: sum(

-- A number of groups, of what they are made, and how many a pass has.
EXPLAIN SELECT a.s_name, s.price, s.ticket % 100000, count(*) FROM sale AS s JOIN shop AS a ON s.shop = a.s_id GROUP BY 1, 2, 3;
-- has: there is no BVH on 'sale'
-- has: may have a group for each row

-- A join that is not on a declared key, and which.
EXPLAIN SELECT sum(price) FROM sale JOIN shop ON other = s_id;
-- has: path: general
-- has: 'shop' is not joined to 'sale' on a declared foreign key

CREATE BVH cities ON sale (SCAN (s_city), AGGREGATE (price));

-- What the BVH would fetch, for how many rows, and what that and the scan in its place cost.
EXPLAIN SELECT s_name, sum(price) FROM sale JOIN shop ON shop = s_id WHERE s_city <> 'city 1' GROUP BY s_name;
-- has: FusedTableScan
-- has: no bvh: BVH 'cities' would fetch s_name for 
-- has: rows: about 
-- has: ms, a scan 

-- How the aggregates of a query run.
EXPLAIN SELECT * FROM (SELECT sum(price) AS a FROM sale JOIN shop ON shop = s_id WHERE s_city = 'city 1') AS one, (SELECT sum(amount) AS b FROM sale) AS two;
-- has: path: fused
-- has: aggregates: 1 on a BVH, 1 in general

EXPLAIN (FORMAT JSON) SELECT max(price) FROM sale GROUP BY shop;
-- has: "ways": {"by a scan": 1}

-- Tuples of a table that is larger than the facts are not numbered for a pass over these; one column of it is.
CREATE TABLE receipt (r_id INTEGER PRIMARY KEY, kind INTEGER, till INTEGER);
CREATE TABLE line (receipt INTEGER REFERENCES receipt, price INTEGER);
INSERT INTO receipt SELECT i, i % 5, i % 11 FROM range(130000) AS r (i);
INSERT INTO line SELECT i, i % 9 FROM range(110000) AS r (i);
EXPLAIN SELECT kind, till, sum(price) FROM line JOIN receipt ON receipt = r_id GROUP BY kind, till;
-- has: path: general
-- has: the keys lie in 'receipt', which has more rows than 'line'

EXPLAIN SELECT kind, sum(price) FROM line JOIN receipt ON receipt = r_id GROUP BY kind;
-- has: FusedTableScan
