-- A sine, a square wave, the sine again for longer and a sawtooth, with a little noise that is always the same.
CREATE TABLE wave AS SELECT range AS n, range / 20.0 AS p,
  CASE WHEN range < 300 THEN 0 WHEN range < 600 THEN 1 WHEN range < 1100 THEN 0 ELSE 2 END AS kind,
  sin(range * 12.9898) * 43758.5453 AS hashed FROM range(1400);
CREATE TABLE sensor AS SELECT n, TIMESTAMP '2026-03-01' + INTERVAL 1 SECOND * n AS ts, kind,
  CASE kind WHEN 0 THEN sin(p * 6.2831853) WHEN 1 THEN sign(sin(p * 6.2831853)) ELSE 2 * (p - floor(p)) - 1 END
  + 0.2 * (hashed - floor(hashed)) AS x FROM wave;

SELECT segment, state, start_time, end_time, start_row, row_count, score > 0.8 FROM detect_states((SELECT ts, x FROM sensor), time => 'ts');
-- 1 | 1 | 2026-03-01T00:00:00 | 2026-03-01T00:18:19 | 1 | 1100 | true
-- 2 | 2 | 2026-03-01T00:18:20 | 2026-03-01T00:23:19 | 1101 | 300 | true
SELECT segment, state, start_row, row_count FROM detect_states((SELECT n, x FROM sensor), time => n, window => 40, classifier => 'minirocket');
-- 1 | 1 | 1 | 310
-- 2 | 2 | 311 | 302
-- 3 | 1 | 613 | 496
-- 4 | 3 | 1109 | 292
SELECT segment, state, start_row FROM detect_states((SELECT n, x FROM sensor), time => n, window => 40, seed => 7);
-- 1 | 1 | 1
-- 2 | 2 | 311
-- 3 | 1 | 613
-- 4 | 3 | 1109
SELECT segment, state, start_row FROM detect_states((SELECT n, x FROM sensor), time => n, window => 40, merge => false);
-- 1 | 1 | 1
-- 2 | 2 | 311
-- 3 | 3 | 613
-- 4 | 4 | 1109
SELECT segment, state, start_row FROM detect_states((SELECT n, x FROM sensor), time => n, window => 40, n_states => 2);
-- 1 | 1 | 1
-- 2 | 2 | 1109
SELECT segment, state, start_row FROM detect_states((SELECT n, x FROM sensor), time => n, window => 40, n_states => NULL);
-- error: ProgrammingError: n_states of detect_states() is NULL (line 1, column 39)
SELECT segment, state, start_row, row_count FROM detect_states((SELECT n, x, x * x AS y FROM sensor), time => n, window => 40);
-- 1 | 1 | 1 | 1108
-- 2 | 2 | 1109 | 292

-- Each row gets its state.
SELECT d.state, s.kind, count(*) >= 280 FROM sensor s JOIN detect_states((SELECT ts, x FROM sensor), time => 'ts') d ON s.ts BETWEEN d.start_time AND d.end_time
GROUP BY d.state, s.kind HAVING count(*) > 40;
-- 1 | 0 | true
-- 1 | 1 | true
-- 2 | 2 | true
SELECT half, segment, state, start_row FROM detect_states((SELECT n >= 600 AS half, n, x FROM sensor), time => n, partition_by => half, window => 40);
-- false | 1 | 1 | 1
-- false | 2 | 2 | 311
-- true | 1 | 1 | 1
-- true | 2 | 2 | 509
SELECT k, d.segment, d.state FROM (VALUES (700), (2), (NULL)) v (k), LATERAL detect_states((SELECT n, x FROM sensor WHERE n < k), time => n, window => 40) d;
-- 2 | 1 | 1
-- 700 | 1 | 1
-- 700 | 2 | 2
-- 700 | 3 | 1
SELECT m, count(*) FROM (VALUES (1), (2), (3)) v (m), LATERAL detect_states((SELECT n, x FROM sensor), time => n, window => 40, n_states => m) d GROUP BY m;
-- 1 | 1
-- 2 | 2
-- 3 | 4
SELECT segment, state, start_row, row_count FROM detect_states((SELECT n, x FROM sensor WHERE n NOT BETWEEN 800 AND 820), time => n, window => 40, gaps => 'split');
-- 1 | 1 | 1 | 300
-- 2 | 2 | 301 | 311
-- 3 | 1 | 612 | 189
-- 4 | 3 | 801 | 287
-- 5 | 4 | 1088 | 292
SELECT segment, state, start_row, row_count FROM detect_states((SELECT n, x FROM sensor WHERE n NOT BETWEEN 20 AND 22), time => n, window => 40, gaps => 'interpolate');
-- 1 | 1 | 1 | 307
-- 2 | 2 | 308 | 302
-- 3 | 1 | 610 | 496
-- 4 | 3 | 1106 | 292
SELECT * FROM detect_states((SELECT n, x FROM sensor WHERE n < 30), time => n, window => 40);
-- 1 | 1 | 0 | 29 | 1 | 30 | NULL
SELECT * FROM detect_states((SELECT n, 1 AS x FROM sensor), time => n);
-- 1 | 1 | 0 | 1399 | 1 | 1400 | NULL
SELECT * FROM detect_states((SELECT n, x FROM sensor WHERE n < 1), time => n);
-- 1 | 1 | 0 | 0 | 1 | 1 | NULL
SELECT * FROM detect_states((SELECT n, x FROM sensor WHERE n < 0), time => n);
-- (no rows)

-- Why the first and the third segment became one state.
SELECT step, states, round(cgain, 3), label, segments, predicted_label, windows, round(share, 2), merged_next
FROM state_profile((SELECT n, x FROM sensor), time => n, window => 40) WHERE label <> predicted_label AND (windows > 0 OR merged_next) ORDER BY step, label, predicted_label;
-- 0 | 4 | 0.396 | 1 | [1] | 2 | 1 | 0.07 | false
-- 0 | 4 | 0.396 | 1 | [1] | 3 | 14 | 0.93 | true
-- 0 | 4 | 0.396 | 3 | [3] | 1 | 7 | 0.29 | true
-- 1 | 3 | 0.651 | 1 | [1, 3] | 2 | 1 | 0.03 | false
SELECT step, states, sum(windows), max(cgain) = min(cgain), bool_or(merged_next) FROM state_profile((SELECT n, x FROM sensor), time => n, window => 40, n_states => 1) GROUP BY step, states ORDER BY step;
-- 0 | 4 | 66 | true | true
-- 1 | 3 | 66 | true | true
-- 2 | 2 | 66 | true | true
-- 3 | 1 | 66 | true | false
SELECT count(*) FROM state_profile((SELECT n, x FROM sensor WHERE n < 100), time => n, window => 40);
-- 0

EXPLAIN SELECT state FROM detect_states((SELECT n, x FROM sensor), time => n, classifier => 'minirocket', n_states => 4);
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: state'
-- '  StateRows: detect_states of x over n'
-- '    window: ''auto'''
-- '    gaps: ''error'''
-- '    classifier: ''minirocket'''
-- '    n states: 4'
-- '    ComputeColumns: n, x'
-- '      ScanTable: sensor (n, x)'

SELECT * FROM detect_states((SELECT n, x FROM sensor), time => n, classifier => 'quant');
-- error: ProgrammingError: classifier of detect_states() is 'rocket' or 'minirocket', not 'quant' (VARCHAR) (line 1, column 15)
SELECT * FROM detect_states((SELECT n, x FROM sensor), time => n, merge => false, n_states => 2);
-- error: ProgrammingError: detect_states() merges segments to n_states at most; it cannot with merge => false (line 1, column 15)
SELECT * FROM detect_states((SELECT n, x FROM sensor), time => n, n_states => 0);
-- error: ProgrammingError: n_states of detect_states() is a whole number from 1, not 0 (INTEGER) (line 1, column 15)
SELECT * FROM detect_states((SELECT n, x FROM sensor), time => n, seed => -1);
-- error: ProgrammingError: seed of detect_states() is a whole number from 0, not -1 (INTEGER) (line 1, column 15)
SELECT * FROM detect_states((SELECT n AS state, n, x FROM sensor), time => n, partition_by => state);
-- error: ProgrammingError: partition_by of detect_states(): a column cannot be called 'state', which is another column of the result (line 1, column 15)
