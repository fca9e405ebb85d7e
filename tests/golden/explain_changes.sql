CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR UNIQUE, rent DOUBLE DEFAULT 5);
CREATE TABLE sale (shop INTEGER REFERENCES shop ON DELETE CASCADE, amount INTEGER CHECK (amount > 0));
INSERT INTO shop VALUES (1, 'Oslo', 1), (2, 'Rome', 2);
INSERT INTO sale VALUES (1, 10), (2, 20);

-- The plan of the rows to write, and what they would change.
EXPLAIN INSERT INTO shop (id, city) VALUES (3, 'Bari');
-- 'path: general (the query has no aggregate)'
-- 'InsertRows: shop (id, city)'
-- '  ConstantRows: 1 row'
EXPLAIN INSERT INTO shop SELECT amount, 'x', 1 FROM sale WHERE amount > 15 RETURNING id, rent;
-- 'path: general (the query has no aggregate)'
-- 'InsertRows: shop (id, city, rent)'
-- '  returning: id, rent'
-- '  ComputeColumns: amount AS id, ''x'' AS city, 1.0 AS rent, amount AS id, 1.0 AS rent'
-- '    FilterRows: (amount > 15)'
-- '      ScanTable: sale (amount)'
EXPLAIN INSERT INTO shop VALUES (1, 'Bari', 1) ON CONFLICT (id) DO UPDATE SET city = excluded.city;
-- 'path: general (the query has no aggregate)'
-- 'InsertRows: shop (id, city, rent)'
-- '  on conflict: (id) DO UPDATE'
-- '  ConstantRows: 1 row'
EXPLAIN INSERT OR IGNORE INTO shop VALUES (1, 'Bari', 1);
-- 'path: general (the query has no aggregate)'
-- 'InsertRows: shop (id, city, rent)'
-- '  on conflict: (id), (city) DO NOTHING'
-- '  ConstantRows: 1 row'
EXPLAIN UPDATE shop SET rent = rent * 2, city = upper(city) WHERE id = 1;
-- 'path: general (the query has no aggregate)'
-- 'UpdateRows: shop (rent, city)'
-- '  ComputeColumns: row number, id, upper(city) AS city, (rent * 2.0) AS rent'
-- '    FilterRows: (id = 1)'
-- '      ScanTable: shop (id, city, rent, row number)'
EXPLAIN UPDATE shop SET (city, rent) = ('a', 1) FROM sale WHERE shop = id RETURNING *;
-- 'path: general (the query has no aggregate)'
-- 'UpdateRows: shop (city, rent)'
-- '  returning: *'
-- '  ComputeColumns: row number, id, ''a'' AS city, 1.0 AS rent, id, ''a'' AS city, 1.0 AS rent, shop, amount'
-- '    HashJoin: INNER id = shop'
-- '      ScanTable: shop (id, row number)'
-- '      ScanTable: sale (shop, amount)'
EXPLAIN DELETE FROM shop WHERE city LIKE 'R%';
-- 'path: general (the query has no aggregate)'
-- 'DeleteRows: shop'
-- '  cascades to: sale'
-- '  ComputeColumns: row number'
-- '    FilterRows: (city LIKE ''R%'')'
-- '      ScanTable: shop (city, row number)'
EXPLAIN DELETE FROM sale USING shop WHERE shop = id AND rent > 1;
-- 'path: general (the query has no aggregate)'
-- 'DeleteRows: sale'
-- '  ComputeColumns: row number'
-- '    HashJoin: INNER shop = id'
-- '      ScanTable: sale (shop, row number)'
-- '      FilterRows: (rent > 1.0)'
-- '        ScanTable: shop (id, rent)'
EXPLAIN WITH far AS (SELECT 2 AS id) DELETE FROM shop WHERE id IN (SELECT id FROM far);
-- 'path: general (the query has no aggregate)'
-- 'DeleteRows: shop'
-- '  cascades to: sale'
-- '  ComputeColumns: row number'
-- '    HashJoin: SEMI id = id'
-- '      ScanTable: shop (id, row number)'
-- '      ComputeColumns: 2 AS id'
-- '        ConstantRows: 1 row'
EXPLAIN (FORMAT JSON) DELETE FROM shop;
-- has: "node": "DeleteRows"
-- has: "change": {"cascades to": "sale"}
EXPLAIN (FORMAT HTML) UPDATE shop SET rent = 0;
-- has: UpdateRows

-- ANALYZE runs what gives the rows. In PostgreSQL and DuckDB it writes them, too; here nothing changes.
EXPLAIN ANALYZE DELETE FROM shop WHERE id = 1;
-- has: DeleteRows: shop
-- has: gave: 1 row in
EXPLAIN (ANALYZE, FORMAT TEXT) INSERT INTO shop VALUES (3, 'Bari', 1), (3, 'Bari', 1);
-- has: gave: 2 rows in
EXPLAIN ANALYZE UPDATE shop SET rent = 1 / (id - 1) WHERE id > 1;
-- has: gave: 1 row in
FROM shop ORDER BY id;
-- 1 | 'Oslo' | 1.0
-- 2 | 'Rome' | 2.0
FROM sale ORDER BY shop;
-- 1 | 10
-- 2 | 20
BEGIN;
EXPLAIN ANALYZE DELETE FROM shop;
-- has: gave: 2 rows in
COMMIT;
SELECT count(*) FROM shop;
-- 2

-- Errors are those of the statement.
EXPLAIN DELETE FROM shopp;
-- error: ProgrammingError: table 'shopp' does not exist; did you mean 'shop'? (line 1, column 21)
EXPLAIN UPDATE shop SET rentt = 1;
-- error: ProgrammingError: column 'rentt' does not exist in 'shop'; did you mean 'rent'? (line 1, column 25)
EXPLAIN INSERT INTO shop (id, id) VALUES (1, 2);
-- error: ProgrammingError: column 'id' is named twice in INSERT (line 1, column 27)
EXPLAIN INSERT INTO shop VALUES (1) ON CONFLICT (rent) DO NOTHING;
-- error: ProgrammingError: row 1 of VALUES has 1 values, but INSERT INTO 'shop' needs 3; there is none for column 'city' (line 1, column 21)
EXPLAIN ANALYZE UPDATE shop SET rent = 1 / (id - 1);
-- error: DataError: division by zero
EXPLAIN INSERT INTO shop;
-- error: ProgrammingError: INSERT needs VALUES, a query or DEFAULT VALUES
EXPLAIN DELETE shop;
-- error: ProgrammingError: syntax error at line 1, column 16: unexpected 'shop', expected 'FROM'
EXPLAIN CREATE TABLE u (a INTEGER);
-- error: NotSupportedError: EXPLAIN CREATE is not supported
EXPLAIN CREATE TABLE u AS SELECT 1;
-- error: NotSupportedError: EXPLAIN CREATE is not supported
EXPLAIN COPY shop TO 'x.csv';
-- error: NotSupportedError: EXPLAIN COPY is not supported
EXPLAIN EXPLAIN SELECT 1;
-- error: NotSupportedError: EXPLAIN EXPLAIN is not supported
EXPLAIN;
-- error: ProgrammingError: syntax error at line 1, column 8: the statement ends too early, expected a query, INSERT, UPDATE, DELETE or EXECUTE
EXPLAIN ANALYZE;
-- error: ProgrammingError: syntax error at line 1, column 16: the statement ends too early, expected a query, INSERT, UPDATE, DELETE or EXECUTE
