-- MERGE: rows of a source that update, delete and insert rows of a table.
CREATE TABLE stock (item INTEGER PRIMARY KEY, count INTEGER DEFAULT 0 CHECK (count >= 0), note VARCHAR);

CREATE TABLE sale (item INTEGER, sold INTEGER);

INSERT INTO stock VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');

INSERT INTO sale VALUES (1, 4), (2, 20), (4, 7);

MERGE INTO stock USING sale ON stock.item = sale.item WHEN MATCHED AND sold = count THEN DELETE WHEN MATCHED THEN UPDATE SET count = count - sold WHEN NOT MATCHED THEN INSERT (item, note) VALUES (sale.item, 'new: ' || sold) RETURNING merge_action, *, sold;
-- 'DELETE' | 2 | 20 | 'b' | 20
-- 'INSERT' | 4 | 0 | 'new: 7' | 7
-- 'UPDATE' | 1 | 6 | 'a' | 4

FROM stock ORDER BY item;
-- 1 | 6 | 'a'
-- 3 | 30 | 'c'
-- 4 | 0 | 'new: 7'

-- Names and columns that USING makes one.
MERGE INTO stock AS s USING (SELECT item, 100 AS more FROM sale) AS n USING (item) WHEN MATCHED AND item < 4 THEN UPDATE SET (count, note) = (count + more, DEFAULT);

FROM stock ORDER BY item;
-- 1 | 106 | NULL
-- 3 | 30 | 'c'
-- 4 | 0 | 'new: 7'

-- Rows that the source does not have; a WHEN that is all there is of a case.
MERGE INTO stock USING (VALUES (1), (3)) v(item) USING (item) WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN DO NOTHING RETURNING *;
-- 4 | 0 | 'new: 7'

WITH added(item, count) AS (VALUES (5, 50), (3, 33)) MERGE INTO stock USING added ON stock.item = added.item WHEN NOT MATCHED BY TARGET THEN INSERT BY NAME WHEN MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED BY SOURCE THEN UPDATE SET note = 'old' RETURNING merge_action, item, count, note;
-- 'INSERT' | 5 | 50 | NULL
-- 'UPDATE' | 1 | 106 | 'old'
-- 'UPDATE' | 3 | 33 | 'c'

-- All columns by their places; DEFAULT VALUES.
MERGE INTO stock USING (VALUES (6, 60, 'f')) v ON item = column1 WHEN NOT MATCHED THEN INSERT *;

MERGE INTO stock USING (VALUES (6, 66, 'g')) v ON item = column1 WHEN MATCHED THEN UPDATE SET *;

CREATE TABLE log (at INTEGER DEFAULT 7, what VARCHAR DEFAULT 'nothing');

MERGE INTO log USING (VALUES (1), (2)) v(x) ON false WHEN NOT MATCHED AND x = 2 THEN INSERT DEFAULT VALUES RETURNING *;
-- 7 | 'nothing'

FROM stock ORDER BY item;
-- 1 | 106 | 'old'
-- 3 | 33 | 'c'
-- 5 | 50 | NULL
-- 6 | 66 | 'g'

-- The first WHEN that holds is the one; NULL holds nowhere.
MERGE INTO stock USING (VALUES (1, NULL), (3, true)) v(item, flag) USING (item) WHEN MATCHED AND flag THEN UPDATE SET note = 'flag' WHEN MATCHED AND NOT flag THEN DELETE WHEN MATCHED THEN UPDATE SET note = 'rest' RETURNING item, note;
-- 1 | 'rest'
-- 3 | 'flag'

-- Each row that matches is told once, and a source may match nothing.
MERGE INTO stock USING sale ON false WHEN MATCHED THEN DELETE;

MERGE INTO stock USING (VALUES (1), (1)) v(item) USING (item) WHEN MATCHED THEN DELETE;
-- error: ProgrammingError: MERGE cannot affect a row of table 'stock' a second time: two rows of the source match it (line 1, column 12)

MERGE INTO stock USING (VALUES (1, 1), (1, 2)) v(item, k) USING (item) WHEN MATCHED AND k = 2 THEN UPDATE SET count = k RETURNING count;
-- 2

-- ERROR, and error().
MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED THEN ERROR 'there is no item ' || item;
-- error: DataError: there is no item 2

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED AND item > 100 THEN ERROR WHEN NOT MATCHED AND error('not reached') IS NULL AND false THEN INSERT (item) VALUES (item);

SELECT CASE WHEN item > 100 THEN error('too many') ELSE item END FROM stock ORDER BY item LIMIT 1;
-- 1

SELECT error('no ' || item) FROM stock ORDER BY item LIMIT 1;
-- error: DataError: no 5

-- Constraints hold, and nothing is written where one does not.
MERGE INTO stock USING sale USING (item) WHEN MATCHED THEN UPDATE SET count = -1 WHEN NOT MATCHED THEN INSERT (item) VALUES (item);
-- error: IntegrityError: table 'stock', updated row 1: the check (count >= 0) does not hold: (count) = (-1)

MERGE INTO stock USING (VALUES (9), (9)) v(item) USING (item) WHEN NOT MATCHED THEN INSERT (item) VALUES (item);
-- error: IntegrityError: table 'stock', row 2: the primary key (item) = (9) is that of row 1

FROM stock ORDER BY item;
-- 1 | 2 | 'rest'
-- 3 | 33 | 'flag'
-- 5 | 50 | NULL
-- 6 | 66 | 'g'

-- A key that goes may come again.
MERGE INTO stock USING (VALUES (1, 5)) v(item, other) ON stock.item IN (v.item, v.other) AND stock.item <> v.item WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (item) VALUES (other);

MERGE INTO stock USING (VALUES (1), (5)) v(item) ON stock.item = v.item AND v.item <> 5 WHEN NOT MATCHED BY SOURCE AND item = 5 THEN DELETE WHEN NOT MATCHED THEN INSERT (item, note) VALUES (v.item, 'again');

FROM stock ORDER BY item;
-- 1 | 2 | 'rest'
-- 3 | 33 | 'flag'
-- 5 | 0 | 'again'
-- 6 | 66 | 'g'

-- A cascade that takes a row which the statement changes too.
CREATE TABLE part (id INTEGER PRIMARY KEY, whole INTEGER REFERENCES part (id) ON DELETE CASCADE, note VARCHAR);

INSERT INTO part VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 2, 'c'), (4, NULL, 'd');

MERGE INTO part USING (VALUES (1), (3)) s(id) USING (id) WHEN MATCHED AND id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET note = 'x';
-- error: IntegrityError: table 'part': a foreign key deletes or changes a row that the statement changes too

MERGE INTO part USING (VALUES (1), (4)) s(id) USING (id) WHEN MATCHED AND id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET note = 'x';

FROM part;
-- 4 | NULL | 'x'

-- What is wrong.
MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED THEN DELETE;
-- error: ProgrammingError: WHEN NOT MATCHED cannot DELETE

MERGE INTO stock USING sale USING (item) WHEN MATCHED THEN INSERT;
-- error: ProgrammingError: WHEN MATCHED cannot INSERT

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED BY SOURCE THEN UPDATE;
-- error: ProgrammingError: WHEN NOT MATCHED BY SOURCE THEN UPDATE needs SET column = value

MERGE INTO stock USING sale USING (item) WHEN MATCHED THEN DELETE WHEN MATCHED THEN DO NOTHING;
-- error: ProgrammingError: a WHEN MATCHED without a condition stands before another one

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED THEN INSERT VALUES (item, count, note);
-- error: ProgrammingError: column 'count' does not exist in 'sale' (line 1, column 85)

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED BY SOURCE AND sold > 1 THEN DELETE;
-- error: ProgrammingError: column 'sold' does not exist in 'stock' (line 1, column 73)

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED THEN INSERT;
-- error: ProgrammingError: the source of MERGE has 2 columns, but INSERT INTO 'stock' needs 3; there is none for column 'note' (line 1, column 12)

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED THEN INSERT BY NAME;
-- error: ProgrammingError: column 'sold' does not exist in 'stock'

MERGE INTO stock USING sale USING (item) WHEN NOT MATCHED THEN INSERT (item, item) VALUES (1, 2);
-- error: ProgrammingError: column 'item' is named twice in INSERT (line 1, column 36)

MERGE INTO stock USING sale USING (item) WHEN MATCHED THEN UPDATE SET kount = 1;
-- error: ProgrammingError: column 'kount' does not exist in 'stock'; did you mean 'count'? (line 1, column 71)

MERGE INTO stock USING sale USING (item) WHEN MATCHED THEN UPDATE SET count = 'many' || sold;
-- error: ProgrammingError: column 'count' has the type INTEGER, but its value is an expression (VARCHAR) (line 1, column 71)

MERGE INTO stock USING stock USING (item) WHEN MATCHED THEN DELETE;
-- error: ProgrammingError: table name 'stock' is used twice in FROM; give one of them an alias (line 1, column 12)

MERGE INTO nothing USING sale USING (item) WHEN MATCHED THEN DELETE;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 12)

MERGE INTO stock USING sale USING (item);
-- error: ProgrammingError: syntax error at line 1, column 41: the statement ends too early

MERGE INTO stock USING sale WHEN MATCHED THEN DELETE;
-- error: ProgrammingError: syntax error at line 1, column 29: unexpected 'WHEN'

MERGE INTO stock USING sale USING (item) WHEN MATCHED THEN TRUNCATE;
-- error: ProgrammingError: syntax error at line 1, column 60: unexpected 'TRUNCATE'

CREATE VIEW v AS SELECT * FROM stock;

MERGE INTO v USING sale USING (item) WHEN MATCHED THEN DELETE;
-- error: ProgrammingError: 'v' is a view, not a table (line 1, column 12)

EXPLAIN MERGE INTO stock USING sale USING (item) WHEN MATCHED AND sold = count THEN DELETE WHEN MATCHED THEN UPDATE SET count = sold RETURNING item;
-- 'path: general (the query has no aggregate)'
-- 'MergeRows: stock'
-- '  when matched: DELETE, UPDATE'
-- '  returning: item'
-- '  ConcatenateRows: 2 sources'
-- '    ComputeColumns: ''DELETE'' AS merge_action, row number, item, count, note, item'
-- '      FilterRows: (when = 0)'
-- '        SharedRows: merge'
-- '          ComputeColumns: sold, item, count, note, row number, case(((NOT (row number IS NULL) AND NOT (True IS NULL)) AND (sold = count)), 0, (NOT (row number IS NULL) AND NOT (True IS NULL)), 1, NULL) AS when'
-- '            HashJoin: INNER item = item'
-- '              ScanTable: stock (item, count, note, row number)'
-- '              ScanTable: sale (item, sold)'
-- '    ComputeColumns: ''UPDATE'' AS merge_action, row number, item, sold AS count, note, item'
-- '      FilterRows: (when = 1)'
-- '        SharedRows: merge, as above'

-- The number of a row is one of the table's, as in other statements.
CREATE TABLE numbered (id INTEGER, val INTEGER);

INSERT INTO numbered VALUES (1, 10), (2, 20), (3, 30);

MERGE INTO numbered AS n USING (VALUES (3)) AS s (id) ON n.id = s.id WHEN MATCHED THEN UPDATE SET val = 31 RETURNING n.rowid, n.id, val;
-- 2 | 3 | 31

MERGE INTO numbered AS n USING (VALUES (2)) AS s (id) ON n.id = s.id WHEN MATCHED THEN DELETE RETURNING rowid, n.id, val;
-- 1 | 2 | 20

MERGE INTO numbered AS n USING (VALUES (7)) AS s (id) ON n.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (7, 70) RETURNING rowid, n.id;
-- NULL | 7
