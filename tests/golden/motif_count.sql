CREATE TABLE transfers (id INTEGER PRIMARY KEY, s VARCHAR, d VARCHAR, t TIMESTAMP, day DATE, n BIGINT);
INSERT INTO transfers
  SELECT range, chr(97 + range * 7 % 5), chr(97 + range * 3 % 4), TIMESTAMP '2026-01-01' + INTERVAL 1 HOUR * range,
         DATE '2026-01-01' + CAST(floor(range / 24.0) AS INTEGER), range
  FROM range(100);

-- One row; an exact count has no error.
SELECT estimate, std_error, ci_low, ci_high, exact, converged, samples, nonzero, method, tree, total_weight, count
FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 1 DAY);
-- 91.0 | 0.0 | 91.0 | 91.0 | true | true | 0 | 0 | 'exact' | NULL | NULL | 91
SELECT edges, vertices, skipped_rows, duplicates, self_loops, seconds >= 0
FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => INTERVAL 1 DAY);
-- 100 | 5 | 0 | 0 | 20 | true
DESCRIBE SELECT * FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => INTERVAL 1 DAY);
-- 'ci_high' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'ci_low' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'converged' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'count' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'duplicates' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'edges' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'estimate' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'exact' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'method' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'nonzero' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'samples' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'seconds' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'self_loops' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'skipped_rows' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'std_error' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'total_weight' | 'DOUBLE' | 'YES' | NULL | NULL | NULL
-- 'tree' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'vertices' | 'BIGINT' | 'YES' | NULL | NULL | NULL

-- Times may be TIMESTAMP, DATE or integers, and delta is an interval, days or a number.
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day');
-- 206
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 206
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'day', motif => 'path(3)', delta => 1);
-- 165
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'day', motif => 'path(3)', delta => INTERVAL 36 HOUR);
-- 165
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'day', motif => 'path(3)', delta => 1, ties => 'index');
-- 268
SELECT count FROM motif_count(transfers, src => s, dst => D, time => "t", motif => 'path(3)', delta => INTERVAL '90 minutes');
-- 15

-- The names of vertices and spaces make no difference; what the text of a shape stands for.
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => ' Payer->2 ,2 -> X', delta => 24);
-- 206
SELECT a.count = b.count, a.count FROM
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'scatter_gather(2)', delta => 24) a,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->b, a->c, b->d, c->d', delta => 24) b;
-- true | 40
SELECT a.count = b.count, a.count FROM
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'bipartite(2,2)', delta => 24) a,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->c, a->d, b->c, b->d', delta => 24) b;
-- true | 95
SELECT a.count = b.count, a.count FROM
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'clique(4)', delta => 48) a,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->b, a->c, a->d, b->c, b->d, c->d', delta => 48) b;
-- true | 124
SELECT a.count = b.count, a.count FROM
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'star_in(2)', delta => 24) a,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'b->a, c->a', delta => 24) b;
-- true | 262
SELECT a.count = b.count, a.count FROM
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'star_out(2)', delta => 24) a,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->b, a->c', delta => 24) b;
-- true | 162

-- Edges in braces are in no order: both orders of b->c and b->d count.
SELECT a.count = b.count + c.count, a.count FROM
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->b, {b->c, b->d}', delta => 24) a,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->b, b->c, b->d', delta => 24) b,
  motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'a->b, b->d, b->c', delta => 24) c;
-- true | 316

-- The first argument: a table, a view, a common table expression or a query.
CREATE VIEW early AS SELECT * FROM transfers WHERE n < 50;
SELECT count FROM motif_count(early, src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 80
SELECT count FROM motif_count((SELECT * FROM transfers WHERE n < 50), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 80
WITH e AS (SELECT s AS payer, d AS payee, n AS number FROM transfers WHERE n < 50)
SELECT count FROM motif_count(e, src => 'payer', dst => 'payee', time => 'number', motif => 'path(3)', delta => 24);
-- 80
SELECT count FROM motif_count((SELECT * FROM transfers ORDER BY n LIMIT 50), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 80
SELECT count FROM motif_count((SELECT x.s, y.d, x.n FROM transfers x JOIN transfers y ON x.id = y.id WHERE x.n < 50), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 80
COPY (SELECT s, d, n FROM transfers) TO '$TMP/edges.parquet';
COPY (SELECT s, d, n FROM transfers WHERE n < 50) TO '$TMP/edges.csv';
SELECT count FROM motif_count('$TMP/edges.parquet', src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 206
SELECT count FROM motif_count('$TMP/edges.csv', src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 80
SELECT count FROM motif_count(read_parquet('$TMP/edges.parquet'), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 206
SELECT count FROM motif_count((transfers), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 206
SELECT count FROM motif_count((FROM '$TMP/edges.parquet' WHERE n < 50), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- 80
SELECT count FROM motif_count((VALUES ('a', 'b', 1), ('b', 'a', 2)), src => column1, dst => column2, time => column3, motif => 'cycle(2)', delta => 24);
-- 1
SELECT count FROM motif_count('$TMP/nothing.parquet', src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- error: OperationalError: file '$TMP/nothing.parquet' does not exist
SELECT count FROM motif_count(5, src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- error: ProgrammingError: motif_count() takes a table, a file or a query in parentheses; what follows is named, such as src => 'payer' (line 1, column 19)
SELECT count FROM motif_count(unnest([1]), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- error: ProgrammingError: motif_count() takes a table, a file or a query in parentheses; what follows is named, such as src => 'payer' (line 1, column 19)
SELECT count FROM motif_count(lower('x'), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- error: NotSupportedError: the table function lower() is not supported (line 1, column 31)
SELECT count FROM motif_count(range(3), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24);
-- error: ProgrammingError: column 's' (src of motif_count()) does not exist; the columns are range (line 1, column 19)
SELECT round(sum(estimate)), count(*) FROM motif_count(early, src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24) AS m;
-- 80.0 | 1
SELECT (SELECT count FROM motif_count(early, src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 24)) + 1 AS more;
-- 81

-- Rows that are no edges: NULLs are counted; self-loops are in no motif.
INSERT INTO transfers VALUES (100, NULL, 'a', TIMESTAMP '2026-01-02', DATE '2026-01-02', 1), (101, 'a', NULL, TIMESTAMP '2026-01-02', DATE '2026-01-02', 1),
  (102, 'a', 'b', NULL, NULL, NULL), (103, 'a', 'a', TIMESTAMP '2026-01-02', DATE '2026-01-02', 1), (104, 'd', 'd', TIMESTAMP '2026-01-01 03:00:00', NULL, 3);
SELECT count, edges, vertices, skipped_rows, duplicates, self_loops
FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day');
-- 206 | 102 | 5 | 3 | 0 | 22
SELECT count, exact, edges FROM motif_count((SELECT * FROM transfers WHERE false), src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day');
-- 0 | true | 0
SELECT count, edges, skipped_rows FROM motif_count((SELECT * FROM transfers WHERE n IS NULL), src => 's', dst => 'd', time => 'n', motif => 'path(3)', delta => 5);
-- 0 | 0 | 1

-- EXPLAIN
EXPLAIN SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->b,{b->c,b->d}', delta => INTERVAL '1 day 2 hours');
-- has: MotifRows: count of a->b, {b->c, b->d}
-- has: within: 1 day 02:00:00
-- has: ties: strict
-- has: method: exact where that is expected to take few steps, else timest to 0.05 with confidence 0.95, in 60 seconds
-- has: graph: kept with 'transfers'
-- has: ScanTable: transfers (s, d, t)
EXPLAIN ANALYZE SELECT count FROM motif_count((SELECT * FROM transfers WHERE id < 50), src => 's', dst => 'd', time => 'n', motif => 'cycle(3)', delta => 5, method => 'exact');
-- has: graph: built, then kept with 'transfers' until that changes
-- has: ran: exact,
-- has: graph built in
EXPLAIN SELECT count FROM motif_count((SELECT * FROM transfers LIMIT 3), src => 's', dst => 'd', time => 'day', motif => 'cycle(3)', delta => 5, method => 'timest', rel_error => 0.1, max_seconds => 5);
-- has: within: 5 days
-- has: method: timest to 0.1 with confidence 0.95, in 5 seconds
-- has: graph: built for this query, whose edges are not the rows of one table

-- What is wrong with a motif is said in a sentence.
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->b, c->d', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): it is not connected, no edges lead from 'a' to 'c' (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->b, b-c', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(), character 8: unexpected '-'; it is like 'a->b, b->c, c->a' (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->b, b', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(), character 8: expected '->' after 'b', the text ends (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->b->c', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(), character 5: expected ',' after 'b', found '->'; an edge is written 'a->b' (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => '{a->b, b->c', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(), character 12: expected '}' after 'c', the text ends (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => '', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): it has no edge; it is like 'a->b, b->c, c->a' (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'a->a', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): the edge 'a->a' leads from a vertex to itself (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(9)', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): it has 9 vertices, and at most 8 are possible (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'clique(6)', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): it has 15 edges, and at most 12 are possible (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'clique(1)', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): the size of clique() is at least 2, not 1 (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'circle(3)', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): there is no shape 'circle'; did you mean 'cycle'? (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(), character 6: expected '->' after 'cycle', the text ends; a shape has its size with it, such as cycle(4) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'bipartite(2)', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count(): bipartite() takes 2 sizes, not 1 (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 3, delta => INTERVAL 1 DAY);
-- error: ProgrammingError: motif of motif_count() is a text, not 3 (INTEGER) (line 1, column 19)

-- So is what is wrong with an argument.
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => INTERVAL -1 DAY);
-- error: ProgrammingError: delta of motif_count() is at least 0, not '-1 days' (INTERVAL) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'cycle(3)', delta => -1);
-- error: ProgrammingError: delta of motif_count() is at least 0, not -1 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'cycle(3)', delta => INTERVAL 1 DAY);
-- error: ProgrammingError: delta of motif_count() is a whole number for the BIGINT column 'n', not '1 day' (INTERVAL) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'n', motif => 'cycle(3)', delta => 1.5);
-- error: ProgrammingError: delta of motif_count() is a whole number for the BIGINT column 'n', not 1.5 (DECIMAL(2,1)) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => 1);
-- error: ProgrammingError: delta of motif_count() is an interval, such as INTERVAL 1 DAY, for the TIMESTAMP column 't', not 1 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => INTERVAL 1 MONTH);
-- error: ProgrammingError: delta of motif_count() has months or years, which differ in length; give it in days (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => 'a while');
-- error: ProgrammingError: delta of motif_count() is an interval, such as INTERVAL 1 DAY, for the TIMESTAMP column 't', not 'a while' (VARCHAR) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 'day', motif => 'cycle(3)', delta => INTERVAL -12 HOUR);
-- error: ProgrammingError: delta of motif_count() is at least 0, not '-12:00:00' (INTERVAL) (line 1, column 19)
SELECT count FROM motif_count((SELECT *, n * 1.5 AS x FROM transfers), src => 's', dst => 'd', time => 'x', motif => 'cycle(3)', delta => 1);
-- error: ProgrammingError: column 'x' of motif_count() is DECIMAL(22,1); times are integers, TIMESTAMP or DATE (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 's', motif => 'cycle(3)', delta => 1);
-- error: ProgrammingError: column 's' of motif_count() is VARCHAR; times are integers, TIMESTAMP or DATE (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'n', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: src and dst of motif_count(): cannot compare 's' (VARCHAR) with 'n' (BIGINT) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 'payer', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: column 'payer' (src of motif_count()) does not exist; the columns are id, s, d, t, day, n (line 1, column 19)
SELECT count FROM motif_count((SELECT s, s, d, t FROM transfers), src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: column 's' (src of motif_count()) is there twice (line 1, column 19)
SELECT count FROM motif_count((SELECT [s] AS s, [d] AS d, t FROM transfers), src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: NotSupportedError: column 's' of motif_count() is VARCHAR[], and vertices of that type are not supported (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)');
-- error: ProgrammingError: motif_count() needs delta => (line 1, column 19)
SELECT count FROM motif_count(transfers, 's', 'd', 't', 'cycle(3)', '1 day');
-- error: ProgrammingError: motif_count() takes a table, a file or a query in parentheses; what follows is named, such as src => 'payer' (line 1, column 19)
SELECT count FROM motif_count(src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: motif_count() takes a table, a file or a query in parentheses; what follows is named, such as src => 'payer' (line 1, column 19)
SELECT count FROM motif_count(transfers, src => NULL, dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: src of motif_count() is NULL (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: argument 'src' of motif_count() is given twice (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', rel_eror => 0.1);
-- error: ProgrammingError: motif_count() takes no argument 'rel_eror'; did you mean 'rel_error'? (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', rel_error => 0);
-- error: ProgrammingError: rel_error of motif_count() is a number between 1e-09 and 1, not 0 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', confidence => 95);
-- error: ProgrammingError: confidence of motif_count() is a number between 0 and 1, not 95 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', ties => 'loose');
-- error: ProgrammingError: ties of motif_count() is 'strict' or 'index', not 'loose' (VARCHAR) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', method => 'guess');
-- error: ProgrammingError: method of motif_count() is 'auto', 'exact' or 'timest', not 'guess' (VARCHAR) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', seed => 1.5);
-- error: ProgrammingError: seed of motif_count() is a whole number from 0, not 1.5 (DECIMAL(2,1)) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', max_seconds => -1);
-- error: ProgrammingError: max_seconds of motif_count() is a number above 0, not -1 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', rel_error => 0.1, confidence => 0.9, method => 'exact');
-- 91
-- warning: rel_error of motif_count() has no effect: method => 'exact' counts every instance
-- warning: confidence of motif_count() has no effect: method => 'exact' counts every instance
-- warning: rows left out because a source, a target or a time is NULL: 3
SELECT count(*) FROM motif_sample(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', rel_error => 0.1);
-- 10
-- warning: rel_error of motif_sample() has no effect: motif_sample() gives instances and no estimate
-- warning: rows left out because a source, a target or a time is NULL: 3
SELECT count FROM motif_count(transfers, src => t.s, dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: src of motif_count() is the name of a column of its rows, such as src => 'payer'; another table cannot give it (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 1, dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: src of motif_count() is a text, not 1 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => NULL);
-- error: ProgrammingError: delta of motif_count() is NULL (line 1, column 19)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => day);
-- error: ProgrammingError: column 'day' does not exist (line 1, column 109)
SELECT count FROM motif_count(transfers, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day', n => 3);
-- error: ProgrammingError: motif_count() takes no argument 'n'; it takes src, dst, time, motif, delta, where, vertices, min_gap, max_gap, since, ties, rel_error, confidence, method, seed, max_seconds, by, every, shuffles (line 1, column 19)
SELECT count FROM motif_count(transfer, src => 's', dst => 'd', time => 't', motif => 'cycle(3)', delta => '1 day');
-- error: ProgrammingError: table 'transfer' does not exist; did you mean 'transfers'? (line 1, column 31)
SELECT count FROM motif_counts(transfers, src => 's');
-- error: NotSupportedError: the table function motif_counts() is not supported; did you mean 'motif_count'? (line 1, column 19)

-- Times that lie too far apart for 64 bits.
CREATE TABLE far (s INTEGER, d INTEGER, n BIGINT);
INSERT INTO far VALUES (1, 2, -9223372036854775807), (2, 1, 9223372036854775807);
SELECT count FROM motif_count(far, src => 's', dst => 'd', time => 'n', motif => 'cycle(2)', delta => 1);
-- error: DataError: the times from -9223372036854775807 to 9223372036854775807 span more than 64 bits
UPDATE far SET n = -1 WHERE s = 1;
SELECT count FROM motif_count(far, src => 's', dst => 'd', time => 'n', motif => 'cycle(2)', delta => 1);
-- error: DataError: the times from -1 to 9223372036854775807 span more than 64 bits
DELETE FROM far; INSERT INTO far VALUES (1, 2, 9223372036854775800), (2, 1, 9223372036854775807);
SELECT count FROM motif_count(far, src => 's', dst => 'd', time => 'n', motif => 'cycle(2)', delta => 9223372036854775807);
-- 1
SELECT count FROM motif_count(far, src => 's', dst => 'd', time => 'n', motif => 'cycle(2)', delta => 6);
-- 0

SELECT motif_count(1);
-- error: ProgrammingError: motif_count() gives rows, so it stands in FROM (line 1, column 8)
