-- advise_bvh: the BVHs to create for a workload.
CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER, d_month INTEGER);

CREATE TABLE shop (s_id INTEGER PRIMARY KEY, city VARCHAR, nation VARCHAR, region VARCHAR);

CREATE TABLE sale (ordered INTEGER REFERENCES day (d_id), s_id INTEGER REFERENCES shop (s_id), quantity INTEGER, price INTEGER, tax INTEGER);

INSERT INTO day SELECT range, 2020 + range / 360, range / 30 FROM range(1440);

INSERT INTO shop SELECT range, 'C' || range % 100, 'N' || range % 20, 'R' || range % 5 FROM range(400);

INSERT INTO sale SELECT range * 7 % 1440, range * 13 % 400, range % 50, range % 1000, range % 9 FROM range(20000);

-- What the queries filter by goes to SCAN, what they add up to AGGREGATE. A key goes to SCAN too where
-- that makes few cells, because then no code of it is stored.
SELECT * FROM advise_bvh('SELECT nation, sum(price * quantity) FROM sale JOIN shop ON sale.s_id = shop.s_id JOIN day ON ordered = d_id WHERE d_year = 2021 AND quantity < 10 GROUP BY nation');
-- 'sale_1' | 'CREATE BVH sale_1 ON sale (SCAN (d_year, quantity, nation), AGGREGATE ((price * quantity)));' | [1] | 998 | 20000 | 192008 | '4000 cells; its queries read 4.99 % of the rows'

-- Queries share a BVH where that makes none of them slower, and all BVHs together smaller.
SELECT statement, queries FROM advise_bvh('
    SELECT sum(price) FROM sale JOIN day ON ordered = d_id WHERE d_year = 2021
  ; SELECT sum(price) FROM sale JOIN day ON ordered = d_id WHERE d_month = 7
  ; SELECT region, sum(price) FROM sale JOIN shop ON sale.s_id = shop.s_id WHERE nation = ''N3'' GROUP BY region
  ; SELECT count(*), sum(tax) FROM sale WHERE quantity = 3
');
-- 'CREATE BVH sale_1 ON sale (SCAN (nation, d_year, d_month), GROUP BY (region), AGGREGATE (price));' | [1, 2, 3]
-- 'CREATE BVH sale_2 ON sale (SCAN (quantity), AGGREGATE (tax));' | [4]

SELECT statement, queries FROM advise_bvh(max_bvhs => 1, workload => '
    SELECT sum(price) FROM sale JOIN day ON ordered = d_id WHERE d_year = 2021
  ; SELECT region, sum(price) FROM sale JOIN shop ON sale.s_id = shop.s_id WHERE nation = ''N3'' GROUP BY region
');
-- 'CREATE BVH sale_1 ON sale (SCAN (d_year, nation), GROUP BY (region), AGGREGATE (price));' | [1, 2]

-- What the memory has no room for is left out; a query may then need a scan.
SELECT name, queries, size_bytes <= 200000, reason FROM advise_bvh('
    SELECT sum(price) FROM sale JOIN day ON ordered = d_id WHERE d_year = 2021
  ; SELECT sum(tax) FROM sale JOIN shop ON sale.s_id = shop.s_id WHERE nation = ''N3''
', '200KB');
-- 'sale_1' | [1, 2] | true | '80 cells; its queries read 15 % of the rows'

SELECT name, queries, size_bytes <= 130000, reason FROM advise_bvh('
    SELECT sum(price) FROM sale JOIN day ON ordered = d_id WHERE d_year = 2021
  ; SELECT sum(tax) FROM sale JOIN shop ON sale.s_id = shop.s_id WHERE nation = ''N3''
', '130KB');
-- 'sale_1' | [2] | true | '20 cells; its queries read 5 % of the rows'
-- NULL | [1] | NULL | 'no BVH within the limits is faster than a scan of ''sale'''

SELECT name, queries, reason FROM advise_bvh('SELECT sum(price) FROM sale WHERE quantity = 3', '1KB');
-- NULL | [1] | 'no BVH within the limits is faster than a scan of ''sale'''

-- A SCAN of too many cells takes a coarser level of a hierarchy; the finer one still filters rows.
SELECT statement, reason FROM advise_bvh('SELECT sum(price) FROM sale JOIN shop ON sale.s_id = shop.s_id JOIN day ON ordered = d_id WHERE city = ''C3'' AND d_month BETWEEN 7 AND 9 AND quantity = 5 AND tax = 1');
-- 'CREATE BVH sale_1 ON sale (SCAN (d_year, tax, quantity, city), GROUP BY (d_month), AGGREGATE (price));' | '180000 cells; its queries read 0 % of the rows'

-- The statements do what is said of them.
CREATE BVH sale_1 ON sale (SCAN (d_year, quantity, nation), AGGREGATE ((price * quantity)));

EXPLAIN SELECT nation, sum(price * quantity) FROM sale JOIN shop ON sale.s_id = shop.s_id JOIN day ON ordered = d_id WHERE d_year = 2021 AND quantity < 10 GROUP BY nation;
-- has: bvh: sale_1
-- has: coverage: X 1 of 1, Y 1 of 1, Z 2 of 2
-- has: estimated rows: 998 of 20000

-- Names are free ones, and quoted where they have to be; foreign keys tell the roles of a table apart.
CREATE TABLE "Trip" ("from" INTEGER REFERENCES shop (s_id), "to" INTEGER REFERENCES shop (s_id), "Km driven" INTEGER);

INSERT INTO "Trip" SELECT range % 400, range * 3 % 400, range % 100 FROM range(5000);

SELECT name, statement FROM advise_bvh('
    SELECT b.city, sum("Km driven") FROM "Trip" JOIN shop a ON "from" = a.s_id JOIN shop b ON "to" = b.s_id WHERE a.region = ''R1'' GROUP BY b.city
  ; SELECT sum(price) FROM sale WHERE quantity > 3
') ORDER BY name;
-- 'Trip_1' | 'CREATE BVH Trip_1 ON Trip (SCAN ("from".region, to.city), AGGREGATE ("Km driven"));'
-- 'sale_2' | 'CREATE BVH sale_2 ON sale (SCAN (quantity), AGGREGATE (price));'

CREATE BVH "Trip_1" ON "Trip" (SCAN ("from".region, to.city), AGGREGATE ("Km driven"));

-- What no BVH can serve is listed with the reason.
SELECT queries, name, reason FROM advise_bvh('
    SELECT price FROM sale
  ; SELECT sum(price) FROM sale FULL JOIN day ON ordered = d_id
  ; SELECT sum(price) FROM sale JOIN day ON tax = d_id WHERE d_year = 2021
  ; SELECT count(*) FROM sale
  ; SELECT median(price) FROM sale WHERE quantity = 3
  ; CREATE TABLE t (a INTEGER)
  ; SELECT count(*) FROM bvhs()
  ; SELECT sum(price) FROM sale WHERE quantity = 3
');
-- [1] | NULL | 'it has no aggregate'
-- [2] | NULL | 'an outer join keeps rows without a partner'
-- [3] | NULL | '''day'' is not joined to ''sale'' on a declared foreign key'
-- [4] | NULL | 'it filters, groups and adds up nothing that a BVH encodes'
-- [5, 8] | 'sale_2' | '1000 cells; its queries read 2 % of the rows'
-- [6] | NULL | 'it is not a query'
-- [7] | NULL | 'it reads what is not a table of the database'

-- A part of a larger query is served too.
SELECT queries, statement FROM advise_bvh('
  WITH of_city AS (SELECT city, sum(price) AS total FROM sale JOIN shop ON sale.s_id = shop.s_id WHERE region = ''R1'' GROUP BY city)
  SELECT city FROM of_city WHERE total > (SELECT avg(total) FROM of_city) ORDER BY total LIMIT 3
');
-- [1] | 'CREATE BVH sale_2 ON sale (SCAN (region, city), AGGREGATE (price));'

-- The workload may be in a file.
COPY (SELECT 'SELECT sum(price) FROM sale WHERE quantity = 3' AS q) TO '$TMP/q.csv' (HEADER false);

SELECT queries, statement FROM advise_bvh('$TMP/q.csv');
-- [1] | 'CREATE BVH sale_2 ON sale (SCAN (quantity), AGGREGATE (price));'

-- Tables without rows have nothing to tell.
CREATE TABLE nothing (a INTEGER, b INTEGER);

SELECT queries, reason FROM advise_bvh('SELECT sum(b) FROM nothing WHERE a = 1');
-- [1] | '''nothing'' has no rows'

-- What is wrong is named, with the number of the query.
SELECT * FROM advise_bvh('$TMP/none.sql');
-- error: OperationalError: file '$TMP/none.sql' does not exist

SELECT * FROM advise_bvh('$TMP');
-- error: OperationalError: file '$TMP' cannot be read: is a directory

SELECT * FROM advise_bvh('SELECT 1; SELECT 2; SELECT FROM sale WHERE');
-- error: ProgrammingError: query 3 of the workload: syntax error at line 1, column 43: the statement ends too early

SELECT * FROM advise_bvh('SELECT 1; SELECT sum(prize) FROM sale');
-- error: ProgrammingError: query 2 of the workload: column 'prize' does not exist in 'sale'; did you mean 'price'? (line 1, column 22)

SELECT * FROM advise_bvh('SELECT sum(price) FROM sale WHERE quantity = ?');
-- error: ProgrammingError: query 1 of the workload: the statement has 1 parameter, but 0 values were given

SELECT * FROM advise_bvh('SELECT ''abc');
-- error: ProgrammingError: the workload: syntax error at line 1, column 8: this string does not end

SELECT * FROM advise_bvh('');
-- error: ProgrammingError: the workload has no query

SELECT * FROM advise_bvh(';');
-- error: ProgrammingError: the workload has no query

SELECT * FROM advise_bvh('SELECT 1', memory => '3 apples');
-- error: ProgrammingError: memory is like '2GB', '500MB', '80%' or 'none', not '3 apples'

SELECT * FROM advise_bvh('SELECT 1', memory => '-2GB');
-- error: ProgrammingError: memory is like '2GB', '500MB', '80%' or 'none', not '-2GB'

SELECT * FROM advise_bvh('SELECT 1', memory => 2);
-- error: ProgrammingError: the memory of advise_bvh() is a size such as '2GB', not 2

SELECT * FROM advise_bvh('SELECT 1', max_bvhs => 0);
-- error: ProgrammingError: max_bvhs is a number of BVHs from 1, not 0

SELECT * FROM advise_bvh('SELECT 1', max_bvhs => 'two');
-- error: ProgrammingError: max_bvhs is a number of BVHs from 1, not two

SELECT * FROM advise_bvh('SELECT 1', memroy => '2GB');
-- error: ProgrammingError: advise_bvh() takes no argument 'memroy'; did you mean 'memory'? (line 1, column 38)

SELECT * FROM advise_bvh(memory => '2GB', 'SELECT 1');
-- error: ProgrammingError: the arguments of advise_bvh() without a name go first

SELECT * FROM advise_bvh('SELECT 1', workload => 'SELECT 2');
-- error: ProgrammingError: argument 'workload' of advise_bvh() is given twice (line 1, column 38)

SELECT * FROM advise_bvh('SELECT 1', '1GB', 3, 4);
-- error: ProgrammingError: advise_bvh() takes at most 3 arguments

SELECT * FROM advise_bvh();
-- error: ProgrammingError: advise_bvh() takes a workload: the text of its queries or the path of a file of them

SELECT * FROM advise_bvh(7);
-- error: ProgrammingError: advise_bvh() takes a workload: the text of its queries or the path of a file of them

SELECT * FROM sale, advise_bvh(sale.tax);
-- error: ProgrammingError: table 'sale' is not in FROM (line 1, column 32)

SET external_access = 'off';

SELECT * FROM advise_bvh('queries.sql');
-- error: OperationalError: file 'queries.sql' cannot be accessed: external_access is off for this connection
