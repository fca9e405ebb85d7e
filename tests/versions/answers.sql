-- What every database of make.py answers; in the form of the golden files.
SELECT * FROM country ORDER BY id;
-- 1 | 'Norway' | 'xx'
-- 2 | 'France' | 'xx'
SELECT * FROM shop ORDER BY id;
-- 1 | 'Oslo' | 1
-- 2 | 'Trondheim' | 1
-- 3 | 'Lyon' | 2
-- 4 | 'Nice' | 2
SELECT count(*), sum(amount), min(day), max(day), count(DISTINCT note) FROM sale;
-- 3422 | 173129.00 | 2025-01-01 | 2026-01-02 | 7
SELECT amount FROM sale WHERE note = 'logged';
-- 1000.50
SELECT city, count(*), sum(amount) FROM sale JOIN shop ON shop = shop.id JOIN country ON country = country.id WHERE name = 'Norway' AND day < '2025-03-01' GROUP BY city ORDER BY city;
-- 'Oslo' | 138 | 6454.50
-- 'Trondheim' | 137 | 6667.25
SELECT * FROM by_city ORDER BY city;
-- 'Lyon' | 44008.25
-- 'Nice' | 43758.75
-- 'Oslo' | 41246.00
-- 'Trondheim' | 42115.50
SELECT * FROM "Types" ORDER BY b;
-- true | -128 | 32767 | 7 | 9223372036854775807 | -99999999999999999999999999999999999999 | 1.5 | -2.25 | 999.9 | -123456789012345678901234567890123.45678 | 'ä''é' | b'\x00\xff' | 1970-01-01 | datetime.time(23, 59, 59, 999999) | 2026-11-22T01:02:03.000004 | MonthDayNano(months=1, days=2, nanoseconds=0) | [1, None, 3] | (0.5, -1.0)
-- NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
SELECT * FROM late;
-- 1
-- 2
SELECT id FROM vector_search(item, place, [30, 2], k => 3);
-- 100
-- 30
-- 31
SELECT name, table_name, scan, group_by, aggregate FROM bvhs() WHERE name = 'sales';
-- 'sales' | 'sale' | '"name", day' | 'city' | 'amount'
SELECT name, table_name, lists, vectors FROM vector_indexes() WHERE table_name = 'item';
-- 'near' | 'item' | 3 | 60
SELECT index_name, k, fnr, seed FROM index_calibrations();
-- 'near' | 2 | 0.3 | 1
SELECT * FROM indexes() WHERE table_name IN ('sale', 'item');
-- 'by_note' | 'sale' | 'note' | false
-- 'near' | 'item' | 'place' | false
DESCRIBE shop;
-- 'city' | 'VARCHAR' | 'YES' | NULL | '''nowhere''' | NULL
-- 'country' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'id' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
DESCRIBE "Types";
-- 'at' | 'TIME' | 'YES' | NULL | NULL | NULL
-- 'b' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'd38' | 'DECIMAL(38,5)' | 'YES' | NULL | NULL | NULL
-- 'd4' | 'DECIMAL(4,1)' | 'YES' | NULL | NULL | NULL
-- 'day' | 'DATE' | 'YES' | NULL | NULL | NULL
-- 'f4' | 'REAL' | 'YES' | NULL | NULL | NULL
-- 'f8' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'gap' | 'INTERVAL' | 'YES' | NULL | NULL | NULL
-- 'i1' | 'TINYINT' | 'YES' | NULL | NULL | NULL
-- 'i16' | 'HUGEINT' | 'YES' | NULL | NULL | NULL
-- 'i2' | 'SMALLINT' | 'YES' | NULL | NULL | NULL
-- 'i4' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'i8' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'l' | 'INTEGER[]' | 'YES' | NULL | NULL | NULL
-- 't' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'ts' | 'TIMESTAMP' | 'YES' | NULL | NULL | NULL
-- 'v' | 'FLOAT[2]' | 'YES' | NULL | NULL | NULL
-- 'x' | 'BLOB' | 'YES' | NULL | NULL | NULL
INSERT INTO shop VALUES (5, 'Nowhere', 9);
-- error: IntegrityError: table 'shop', row 1: the foreign key (country) = (9) has no row in 'country' (id)
INSERT INTO shop VALUES (4, 'Twice', 1);
-- error: IntegrityError: table 'shop', row 1: the primary key (id) = (4) is in the table already
INSERT INTO shop VALUES (0, 'Zero', 1);
-- error: IntegrityError: table 'shop', row 1: the check (id > 0) does not hold: (id) = (0)
INSERT INTO country VALUES (3, 'Norway', 'no');
-- error: IntegrityError: table 'country', row 1: the unique key (name) = ('Norway') is in the table already
