-- Two triangles and an edge between them.
CREATE TABLE pays AS SELECT * FROM (VALUES ('ann', 'bob'), ('bob', 'cat'), ('cat', 'ann'), ('dan', 'eve'), ('eve', 'fay'), ('fay', 'dan'), ('cat', 'dan')) v (payer, payee);

SELECT * FROM partition_graph((SELECT payer, payee FROM pays), k => 2);
-- 'ann' | 0 | 0
-- 'bob' | 0 | 0
-- 'cat' | 0 | 0
-- 'dan' | 1 | 1
-- 'eve' | 1 | 1
-- 'fay' | 1 | 1
SELECT list_sort(list(node)) AS nodes, count(DISTINCT cluster) FROM partition_graph(pays, k => 2) GROUP BY part ORDER BY nodes;
-- ['ann', 'bob', 'cat'] | 1
-- ['dan', 'eve', 'fay'] | 1
SELECT * FROM partition_stats((SELECT payer, payee FROM pays), k => 2);
-- 0 | 3 | 1 | 4 | 1 | 1.0 | 1.3333333333333333 | 1.0 | 1
-- 1 | 3 | 1 | 4 | 1 | 1.0 | 1.3333333333333333 | 1.0 | 1
SELECT part, nodes, copies, edges, cut_edges, replication_factor FROM partition_stats(pays, k => 2, directed => true);
-- 0 | 3 | 0 | 3 | 0 | 1.1666666666666667
-- 1 | 3 | 1 | 4 | 1 | 1.1666666666666667
SELECT * FROM partition_stats(pays, parts => (SELECT unnest(['ann', 'bob', 'cat', 'dan', 'eve', 'fay']), unnest([0, 1, 2, 0, 1, 2])));
-- 0 | 2 | 4 | 5 | 5 | 1.0 | 3.0 | 1.0 | 7
-- 1 | 2 | 4 | 4 | 4 | 1.0 | 3.0 | 1.0 | 7
-- 2 | 2 | 4 | 5 | 5 | 1.0 | 3.0 | 1.0 | 7
SELECT max(part), count(*) FROM partition_graph(pays, k => 1);
-- 0 | 6

-- More parts than nodes: some have none.
SELECT count(DISTINCT part), count(*) FROM partition_graph(pays, k => 9);
-- 6 | 6
SELECT part, nodes FROM partition_stats(pays, k => 9) WHERE nodes = 0;
-- 6 | 0
-- 7 | 0
-- 8 | 0

-- A table of nodes has those without edges, too; an edge to itself and one that is there twice are edges.
SELECT count(*), count(part) FROM partition_graph(pays, k => 3, nodes => (SELECT payer FROM pays UNION ALL SELECT 'zoe'));
-- 7 | 7
SELECT node FROM partition_graph((VALUES (1, 1), (2, 3), (2, 3), (3, 2)), k => 2) ORDER BY node;
-- 1
-- 2
-- 3
SELECT nodes, copies, edges FROM partition_stats((VALUES (1, 1), (2, 3), (2, 3), (3, 2)), k => 1);
-- 3 | 0 | 4
CREATE TABLE person (name VARCHAR);
INSERT INTO person VALUES ('ann'), ('bob'), ('cat'), ('dan'), ('eve'), ('fay'), ('gus');
SELECT sum(nodes), max(load) <= 1.05 FROM partition_stats(pays, k => 2, nodes => person);
-- 7 | true

-- Balance is kept with none to spare, and where one block has all edges.
SELECT max(nodes), min(nodes) FROM partition_stats(pays, k => 4, balance => 1);
-- 2 | 1
SELECT max(nodes) FROM partition_stats((SELECT 0, range FROM range(1000)), k => 7, balance => 1.0);
-- 143

-- A partition for each row, of the same edges or of some of its own.
SELECT v.k, count(*), max(part) FROM (VALUES (2), (3)) v (k), LATERAL partition_graph(pays, k => v.k) GROUP BY v.k ORDER BY 1;
-- 2 | 6 | 1
-- 3 | 6 | 2
SELECT v.n, s.nodes, s.edges FROM (VALUES ('ann'), ('eve'), ('zoe')) v (n), LATERAL partition_stats((SELECT payer, payee FROM pays WHERE payer >= v.n), k => 1) s ORDER BY 1;
-- 'ann' | 6 | 7
-- 'eve' | 3 | 2
-- 'zoe' | 0 | 0
SELECT count(*) FROM partition_graph(pays, k => (SELECT count(*) FROM person));
-- 6

-- No edges.
SELECT * FROM partition_graph((SELECT 1, 2 WHERE false), k => 2);
-- (no rows)
SELECT * FROM partition_stats((SELECT 1, 2 WHERE false), k => 2);
-- 0 | 0 | 0 | 0 | 0 | 0.0 | NULL | 0.0 | 0
-- 1 | 0 | 0 | 0 | 0 | 0.0 | NULL | 0.0 | 0
SELECT node FROM partition_graph((SELECT 1, 2 WHERE false), k => 2, nodes => (SELECT 5));
-- 5
SELECT * FROM partition_stats((SELECT 1, 2 WHERE false), parts => (SELECT 1, 2 WHERE false));
-- (no rows)

EXPLAIN SELECT node, part FROM partition_graph(pays, k => 2, refine => 3, nodes => person);
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: node, part'
-- '  PartitionRows: partition of payer - payee, nodes'
-- '    k: 2'
-- '    balance: 1.05'
-- '    refine: 3'
-- '    seed: 1'
-- '    ConcatenateRows: 2 sources'
-- '      ComputeColumns: 1 AS kind, name AS node, NULL AS other, NULL AS part'
-- '        ScanTable: person (name)'
-- '      ComputeColumns: 0 AS kind, payer AS node, payee AS other, NULL AS part'
-- '        ScanTable: pays (payer, payee)'
EXPLAIN SELECT * FROM partition_stats(pays, parts => (SELECT name, 0 FROM person));
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: part, nodes, copies, edges, cut_edges, load, replication_factor, greatest_load, edges_cut'
-- '  PartitionRows: parts of payer - payee, parts'
-- '    directed: false'
-- '    ConcatenateRows: 2 sources'
-- '      ComputeColumns: 2 AS kind, name AS node, NULL AS other, CAST(0 AS BIGINT) AS part'
-- '        ScanTable: person (name)'
-- '      ComputeColumns: 0 AS kind, payer AS node, payee AS other, NULL AS part'
-- '        ScanTable: pays (payer, payee)'

-- Errors.
SELECT * FROM partition_graph(pays);
-- error: ProgrammingError: partition_graph() needs k => (line 1, column 15)
SELECT * FROM partition_stats(pays);
-- error: ProgrammingError: partition_stats() needs k => or parts => (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 0);
-- error: ProgrammingError: k of partition_graph() is a whole number from 1, not 0 (INTEGER) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 'two');
-- error: ProgrammingError: k of partition_graph() is a whole number from 1, not 'two' (VARCHAR) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => NULL);
-- error: ProgrammingError: k of partition_graph() is NULL (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, balance => 0.9);
-- error: ProgrammingError: balance of partition_graph() is a number from 1, not 0.9 (DECIMAL(1,1)) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, balance => 'inf'::DOUBLE);
-- error: ProgrammingError: balance of partition_graph() is a number from 1, not inf (DOUBLE) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, balance => 'nan'::DOUBLE);
-- error: ProgrammingError: balance of partition_graph() is a number from 1, not nan (DOUBLE) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, refine => -1);
-- error: ProgrammingError: refine of partition_graph() is a whole number from 0, not -1 (INTEGER) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, seed => 1.5);
-- error: ProgrammingError: seed of partition_graph() is a whole number from 0, not 1.5 (DECIMAL(2,1)) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, directed => true);
-- error: ProgrammingError: partition_graph() takes no argument 'directed'; it takes k, balance, refine, seed, nodes (line 1, column 15)
SELECT * FROM partition_graph(pays, parts => 2);
-- error: ProgrammingError: partition_graph() takes no argument 'parts'; it takes k, balance, refine, seed, nodes (line 1, column 15)
SELECT * FROM partition_graph('pays', k => 2);
-- error: ProgrammingError: file 'pays' has no extension; the format may be flat, parquet, csv, tbl, json, arrow or xlsx, by the extension (line 1, column 31)
SELECT * FROM partition_graph(k => 2);
-- error: ProgrammingError: partition_graph() takes a table, a file or a query in parentheses with the two ends of each edge; what follows is named, such as k => 8 (line 1, column 15)
SELECT * FROM partition_graph((SELECT payer FROM pays), k => 2);
-- error: ProgrammingError: the edges of partition_graph() have two columns, where each begins and ends, not 1 (line 1, column 15)
SELECT * FROM partition_graph((SELECT *, 1 AS weight FROM pays), k => 2);
-- error: ProgrammingError: the edges of partition_graph() have two columns, where each begins and ends, not 3 (line 1, column 15)
SELECT * FROM partition_graph((SELECT payer, length(payee) FROM pays), k => 2);
-- error: ProgrammingError: the nodes of partition_graph(): cannot compare 'payer' (VARCHAR) with 'length(payee)' (BIGINT) (line 1, column 15)
SELECT * FROM partition_graph((SELECT [payer], [payee] FROM pays), k => 2);
-- error: NotSupportedError: column 'array[payer]' of partition_graph() is VARCHAR[], and nodes of that type are not supported (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, nodes => (SELECT name, 1 FROM person));
-- error: ProgrammingError: nodes of partition_graph() have one column, not 2 (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, nodes => (SELECT range FROM range(3)));
-- error: ProgrammingError: the nodes of partition_graph(): cannot compare 'payer' (VARCHAR) with 'range' (BIGINT) (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, nodes => 5);
-- error: ProgrammingError: nodes of partition_graph() is a table, a file or a query in parentheses (line 1, column 15)
SELECT * FROM partition_graph(pays, k => 2, nodes => persons);
-- error: ProgrammingError: table 'persons' does not exist; did you mean 'person'? (line 1, column 54)
SELECT * FROM partition_graph(pays, k => 2, nodes => (SELECT name FROM person WHERE name < 'eve'));
-- error: DataError: an edge of partition_graph() is from 'dan' to 'eve', and nodes have no 'eve'
SELECT * FROM partition_stats(pays, parts => (SELECT name, 0 FROM person WHERE name < 'fay'));
-- error: DataError: an edge of partition_stats() is from 'eve' to 'fay', and parts have no 'fay'
SELECT * FROM partition_stats(pays, parts => (SELECT name, -1 FROM person));
-- error: DataError: parts of partition_stats() have a part -1; parts are numbered from 0
SELECT * FROM partition_stats(pays, parts => (SELECT name, 'a' FROM person));
-- error: ProgrammingError: column ''a'' of parts of partition_stats() is VARCHAR; parts are whole numbers (line 1, column 15)
SELECT * FROM partition_stats(pays, parts => (SELECT name FROM person));
-- error: ProgrammingError: parts of partition_stats() have two columns, a node and its part, not 1 (line 1, column 15)
SELECT * FROM partition_stats(pays, parts => (SELECT name, unnest([0, 1]) FROM person));
-- error: DataError: parts of partition_stats() have two parts for the node 'ann'
SELECT * FROM partition_stats(pays, parts => (SELECT name, 0 FROM person), k => 2);
-- error: ProgrammingError: partition_stats() takes no k beside parts, which say where each node is (line 1, column 15)
SELECT v.k FROM (VALUES (2), (0)) v (k), LATERAL partition_graph(pays, k => v.k);
-- error: DataError: k of partition_graph() is a whole number from 1, not 0 (INTEGER)
