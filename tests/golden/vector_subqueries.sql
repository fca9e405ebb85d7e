CREATE TABLE items (id INTEGER PRIMARY KEY, kind VARCHAR, v FLOAT[3]);
INSERT INTO items SELECT range, CASE WHEN range % 2 = 0 THEN 'even' ELSE 'odd' END, [range % 3, range % 5, range % 7]::FLOAT[3] FROM range(105);
CREATE INDEX near ON items USING ivf (v) WITH (lists = 5, seed = 1);
CREATE TABLE queries (id INTEGER, v FLOAT[3]);
INSERT INTO queries VALUES (1, [1, 2, 3]), (2, [0, 0, 0]), (3, [1, 2, 3]), (4, NULL), (5, [2, 4, 6.25]);

-- A search for each row: the distinct vectors are searched for in one batch.
SELECT id, (SELECT id FROM vector_search(items, v, q.v, k => 1, exact => true)) FROM queries q;
-- 1 | 52
-- 2 | 0
-- 3 | 52
-- 4 | NULL
-- 5 | 104
SELECT id, (SELECT max(distance) FROM vector_search(items, v, q.v, k => 3, exact => true)) FROM queries q;
-- 1 | 1.0
-- 2 | 1.0
-- 3 | 1.0
-- 4 | NULL
-- 5 | 1.0307764064044151
SELECT id, (SELECT list(i.id ORDER BY i.rank) FROM vector_search(items, v, q.v, k => 3, exact => true) i) FROM queries q;
-- 1 | [52, 17, 31]
-- 2 | [0, 15, 21]
-- 3 | [52, 17, 31]
-- 4 | NULL
-- 5 | [104, 34, 83]
SELECT id, (SELECT i.id FROM vector_search(items, v, q.v, k => 5, exact => true) i ORDER BY i.id DESC LIMIT 1) FROM queries q;
-- 1 | 67
-- 2 | 70
-- 3 | 67
-- 4 | NULL
-- 5 | 104
SELECT id, (SELECT count(*) FROM vector_search((SELECT * FROM items WHERE kind = 'odd'), v, q.v, k => 4) i WHERE i.distance < 2) FROM queries q;
-- 1 | 4
-- 2 | 4
-- 3 | 4
-- 4 | 0
-- 5 | 4
EXPLAIN SELECT id, (SELECT id FROM vector_search(items, v, q.v, k => 1, nprobe => 2)) FROM queries q;
-- has: NearestRows: 1 nearest to v by l2
-- has: HashAggregate: distinct v
SELECT id FROM queries q WHERE EXISTS (SELECT 1 FROM vector_search(items, v, q.v, k => 1, exact => true) WHERE distance > 0.1);
-- 5
SELECT id FROM queries q WHERE NOT EXISTS (SELECT 1 FROM vector_search(items, v, q.v, k => 1, exact => true) WHERE distance > 0.1);
-- 1
-- 2
-- 3
-- 4
SELECT id FROM queries q WHERE 52 IN (SELECT id FROM vector_search(items, v, q.v, k => 2, exact => true));
-- 1
-- 3
SELECT id FROM queries q WHERE 52 NOT IN (SELECT id FROM vector_search(items, v, q.v, k => 2, exact => true));
-- 2
-- 4
-- 5
SELECT id FROM queries q WHERE q.id = ANY (SELECT rank FROM vector_search(items, v, q.v, k => 3, exact => true));
-- 1
-- 2
-- 3
SELECT q.id, d.id FROM queries q LEFT JOIN LATERAL vector_search(items, v, q.v, k => 3, exact => true) d ON d.id > 50 AND d.rank < 3;
-- 1 | 52
-- 2 | NULL
-- 3 | 52
-- 4 | NULL
-- 5 | 104
SELECT q.id, d.n FROM queries q, LATERAL (SELECT count(*) AS n FROM vector_search(items, v, q.v, k => 3, exact => true) WHERE distance < 1.5) d;
-- 1 | 3
-- 2 | 3
-- 3 | 3
-- 4 | 0
-- 5 | 3
SELECT id, (SELECT id FROM vector_search(items, v, q.v, k => 2)) FROM queries q WHERE id = 1;
-- error: DataError: a subquery used as an expression gave more than one row
SELECT id, (SELECT id, rank FROM vector_search(items, v, q.v, k => 1)) FROM queries q;
-- error: ProgrammingError: a subquery used as an expression must have one column, not 2 (line 1, column 20)

-- The rows to search may differ by row: all that there are for one are compared.
SELECT q.id, d.id FROM queries q, LATERAL vector_search((SELECT * FROM items WHERE id > 10 * q.id), v, q.v, k => 1) d;
-- 1 | 52
-- 2 | 21
-- 3 | 52
-- 5 | 104
SELECT q.id, d.id, d.rank, d.guarantee FROM queries q, LATERAL vector_search((SELECT * FROM items i WHERE i.id % 5 = q.id), v, q.v, k => 2) d;
-- 1 | 16 | 2 | 'exact'
-- 1 | 31 | 1 | 'exact'
-- 2 | 42 | 1 | 'exact'
-- 2 | 7 | 2 | 'exact'
-- 3 | 3 | 2 | 'exact'
-- 3 | 73 | 1 | 'exact'
SELECT q.id, d.id FROM queries q LEFT JOIN LATERAL vector_search((SELECT * FROM items i WHERE i.id > 20 * q.id AND i.kind = 'odd'), v, q.v, k => 1) d ON true;
-- 1 | 31
-- 2 | 85
-- 3 | 67
-- 4 | NULL
-- 5 | 103
SELECT q.id, (SELECT id FROM vector_search((SELECT * FROM items i WHERE i.id > q.id), v, q.v, k => 1)) FROM queries q;
-- 1 | 52
-- 2 | 15
-- 3 | 52
-- 4 | NULL
-- 5 | 104
SELECT q.id, k.kind, d.id FROM queries q, (VALUES ('odd'), ('even'), (NULL)) k (kind), LATERAL vector_search((SELECT * FROM items i WHERE i.kind = k.kind AND i.id > 0), v, q.v, k => 1) d WHERE q.id < 3;
-- 1 | 'even' | 52
-- 1 | 'odd' | 17
-- 2 | 'even' | 70
-- 2 | 'odd' | 15
SELECT q.id, d.id FROM queries q, LATERAL vector_search((SELECT * FROM items WHERE id > q.id), v, q.v, k => 1, nprobe => 2) d WHERE q.id = 1;
-- 1 | 52
-- warning: nprobe => 2 has no effect: only rows that are the same for all vectors have an index, and all rows are compared
SELECT q.id, d.id FROM queries q, LATERAL vector_search((SELECT * FROM items WHERE id > q.id), v, q.v, k => 1, fnr => 0.1) d;
-- error: ProgrammingError: vector_search() with fnr needs rows of one table, which an ivf index has
SELECT q.id, d.id FROM queries q, LATERAL vector_search((SELECT * FROM items WHERE id > q.idd), v, q.v, k => 1) d;
-- error: ProgrammingError: column 'idd' does not exist in 'q'; did you mean 'id'? (line 1, column 89)

-- The metric is that of the column's index, there as elsewhere.
DROP INDEX near;
CREATE INDEX products ON items USING ivf (v) WITH (lists = 5, metric = 'ip');
SELECT q.id, d.id, d.distance FROM queries q, LATERAL vector_search((SELECT id AS n, * FROM items WHERE id > 10 * q.id), v, q.v, k => 1) d WHERE q.id = 1;
-- 1 | 104 | -28.0
SELECT id, distance FROM vector_search((SELECT * FROM items WHERE id > 10), v, [1, 2, 3], k => 1);
-- 104 | -28.0

-- k may be another for each row.
SELECT q.id, d.id FROM queries q, LATERAL vector_search(items, v, q.v, k => q.id) d;
-- 1 | 104
-- 2 | 2
-- 2 | 3
-- 3 | 104
-- 3 | 34
-- 3 | 69
-- 5 | 104
-- 5 | 13
-- 5 | 34
-- 5 | 69
-- 5 | 83

-- Any source of FROM can be searched.
COPY items TO '$TMP/items.parquet';
SELECT id FROM vector_search('$TMP/items.parquet', v, [1, 2, 3], k => 1);
-- 52
SELECT id FROM vector_search(read_parquet('$TMP/items.parquet'), v, [1, 2, 3], k => 1);
-- 52
SELECT id FROM vector_search((FROM '$TMP/items.parquet' WHERE kind = 'odd'), v, [1, 2, 3], k => 1);
-- 17
SELECT rank FROM vector_search((VALUES ([1, 2]::FLOAT[2])), column1, [1, 2], k => 1);
-- 1
SELECT id FROM vector_search((items), v, [1, 2, 3], k => 1, exact => true);
-- 104
SELECT id FROM vector_search('$TMP/nothing.parquet', v, [1, 2, 3], k => 1);
-- error: OperationalError: file '$TMP/nothing.parquet' does not exist
SELECT id FROM vector_search(range(3), v, [1, 2, 3], k => 1);
-- error: ProgrammingError: column 'v' of vector_search() does not exist; the columns are range (line 1, column 16)
