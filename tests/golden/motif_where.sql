-- Conditions on the edges of motifs, edges that are not there, lists, and counts by vertex and window.
CREATE TABLE pays (id INTEGER, s VARCHAR, d VARCHAR, amount DECIMAL(10, 2), x DOUBLE, kind VARCHAR, t TIMESTAMP, day DATE, n BIGINT);
INSERT INTO pays
SELECT i, 'v' || i * 7919 % 13 % 5, 'v' || i * 104729 % 11 % 5, i * 37 % 50 / 2.0,
       CASE WHEN i % 7 = 0 THEN 'NaN'::DOUBLE WHEN i % 5 = 0 THEN NULL ELSE i % 4 END,
       CASE i % 3 WHEN 0 THEN 'wire' WHEN 1 THEN 'cash' END,
       TIMESTAMP '2026-03-02 00:00:00' + i * INTERVAL 1 HOUR, DATE '2026-03-02' + (i / 24)::INTEGER, i
FROM (SELECT range::INTEGER AS i FROM range(60));
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 12 HOUR);
-- 25
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 12 HOUR, where => 'e1.kind = ''wire''');
-- 6
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 12 HOUR, where => 'e2.amount BETWEEN 0.5 * e1.amount AND 2 * e1.amount AND e1.amount > 3');
-- 8
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 12 HOUR, where => 'e1.amount + e2.amount > e3.amount OR e1.kind IS NULL');
-- 24
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 12 HOUR, where => 'a < b AND a <> ''v3''');
-- 11

-- NaN is the greatest number, and NULL is not known.
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, where => 'e1.x < e2.x');
-- 17
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, where => 'NOT e1.x < e2.x');
-- 33
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, where => 'NULL');
-- 0

-- An error of a value that another condition leaves out is none.
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, where => 'e1.id <> 0 AND 10 // e1.id < e2.id');
-- 78
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, where => '10 // e1.id < e2.id');
-- error: DataError: division by zero
EXPLAIN SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a--b, b->c', delta => INTERVAL 12 HOUR, min_gap => INTERVAL 1 HOUR, where => 'e1.kind = ''wire'' AND e1.amount < e2.amount AND e1.x + e2.x > 3');
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: count'
-- '  MotifRows: count of a--b, b->c'
-- '    motifs: 2 directed ones with different vertices'
-- '    e1 is found where: (kind = ''wire'')'
-- '    compared on the way: amount of e1 < amount of e2'
-- '    asked of whole instances: ((e1.x + e2.x) > 3.0)'
-- '    least gap: 01:00:00'
-- '    within: 12:00:00'
-- '    ties: strict'
-- '    method: exact where that is expected to take few steps, else timest to 0.05 with confidence 0.95, in 60 seconds'
-- '    graph: kept with ''pays'''
-- '    ScanTable: pays (s, d, amount, x, kind, t)'

-- Gaps, edges either way, edges that are not there, vertices that may be the same, no time at all.
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, min_gap => INTERVAL 3 HOUR, max_gap => INTERVAL 8 HOUR);
-- 42
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a--b, b->c', delta => INTERVAL 12 HOUR);
-- 132
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, !b->a, b->c', delta => INTERVAL 12 HOUR);
-- 56
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, !c->*', delta => INTERVAL 12 HOUR);
-- 18
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, vertices => 'any');
-- 99
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 'day', motif => '{a->b, b->c}', delta => 0);
-- 137
SELECT count, edges FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, since => TIMESTAMP '2026-03-04 00:00:00');
-- 21 | 24
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 'n', motif => 'a->b, b->c', delta => 12, since => 48);
-- 21
SELECT count, edges, skipped_rows FROM motif_count((SELECT nullif(s, 'v0') AS s, d, t, n FROM pays), src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, since => TIMESTAMP '2026-03-04 00:00:00');
-- 13 | 19 | 5
SELECT kind, m.count FROM (VALUES (1)) AS one (kind), LATERAL motif_count((SELECT s, d, t::TIMESTAMPTZ AS at FROM pays), src => s, dst => d, time => at, motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, since => TIMESTAMPTZ '2026-03-04 00:00:00+00') m
UNION ALL SELECT 2, count FROM motif_count((SELECT s, d, t::TIMESTAMP_NS AS at FROM pays), src => s, dst => d, time => at, motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, since => TIMESTAMP '2026-03-04 00:00:00')
UNION ALL SELECT 3, count FROM motif_count((SELECT s, d, n::TINYINT AS at FROM pays), src => s, dst => d, time => at, motif => 'a->b, b->c', delta => 12, since => 48)
UNION ALL SELECT 4, count FROM motif_count(pays, src => s, dst => d, time => day, motif => '{a->b, b->c}', delta => 0, since => DATE '2026-03-04')
UNION ALL SELECT 5, count FROM motif_count((SELECT s, d, n::TINYINT AS at FROM pays), src => s, dst => d, time => at, motif => 'a->b, b->c', delta => 1000, since => 48)
UNION ALL SELECT 6, count(*) FROM motif_list((SELECT s, d, n::TINYINT AS at FROM pays), src => s, dst => d, time => at, motif => 'a->b, b->c', delta => 1000) WHERE last_time >= 48
UNION ALL SELECT 7, m.count FROM (VALUES (12)) AS p (within), LATERAL motif_count(pays, src => s, dst => d, time => n, motif => 'a->b, b->c', delta => p.within, since => 48) m
UNION ALL SELECT 8, count FROM motif_count((SELECT s, d, n::UBIGINT AS at FROM pays), src => s, dst => d, time => at, motif => 'a->b, b->c', delta => 100, since => 48)
ORDER BY 1;
-- 1 | 21
-- 2 | 21
-- 3 | 21
-- 4 | 22
-- 5 | 79
-- 6 | 79
-- 7 | 21
-- 8 | 79
EXPLAIN SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 'n', motif => 'a->b, b->c', delta => 12, since => 48);
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: count'
-- '  MotifRows: count of a->b, b->c'
-- '    within: 12'
-- '    ties: strict'
-- '    method: exact where that is expected to take few steps, else timest to 0.05 with confidence 0.95, in 60 seconds'
-- '    graph: built for this query, of the rows that may belong to what is new'
-- '    FilterRows: (n >= 36)'
-- '      ScanTable: pays (s, d, n)'

-- Lists, and counts by vertex and window.
SELECT * FROM motif_list(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a', delta => INTERVAL 6 HOUR) LIMIT 3;
-- 1 | 'v2' | 'v1' | 'v4' | 20 | 21 | 25 | 2026-03-02T19:00:00 | 2026-03-03T00:00:00
-- 2 | 'v1' | 'v0' | 'v3' | 26 | 27 | 31 | 2026-03-03T01:00:00 | 2026-03-03T06:00:00
SELECT count(*), count(DISTINCT a), min(first_time), max(last_time) FROM motif_list(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR);
-- 78 | 5 | 2026-03-02T01:00:00 | 2026-03-04T11:00:00
SELECT instance, a FROM motif_list(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR) WHERE b = 'v2' LIMIT 2 OFFSET 1;
-- 18 | 'v0'
-- 3 | 'v4'
SELECT q.h, m.a, m.e1_row FROM (VALUES (1), (3)) AS q (h), LATERAL motif_list(pays, src => s, dst => d, time => n, motif => 'a->b, b->a', delta => q.h) m;
-- 1 | 'v0' | 14
-- 1 | 'v0' | 36
-- 1 | 'v0' | 58
-- 1 | 'v1' | 30
-- 1 | 'v1' | 8
-- 1 | 'v2' | 2
-- 1 | 'v2' | 24
-- 1 | 'v2' | 54
-- 1 | 'v3' | 18
-- 1 | 'v3' | 48
-- 1 | 'v4' | 42
-- 3 | 'v0' | 10
-- 3 | 'v0' | 14
-- 3 | 'v0' | 36
-- 3 | 'v0' | 53
-- 3 | 'v0' | 58
-- 3 | 'v1' | 30
-- 3 | 'v1' | 4
-- 3 | 'v1' | 47
-- 3 | 'v1' | 8
-- 3 | 'v2' | 2
-- 3 | 'v2' | 24
-- 3 | 'v2' | 41
-- 3 | 'v2' | 54
-- 3 | 'v3' | 18
-- 3 | 'v3' | 35
-- 3 | 'v3' | 48
-- 3 | 'v4' | 29
-- 3 | 'v4' | 42
SELECT a, count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, by => 'a');
-- 'v0' | 15
-- 'v1' | 18
-- 'v2' | 17
-- 'v3' | 12
-- 'v4' | 16
SELECT "window", count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, every => INTERVAL 1 DAY);
-- 2026-03-02T00:00:00 | 33
-- 2026-03-03T00:00:00 | 35
-- 2026-03-04T00:00:00 | 10
SELECT "window", c, count FROM motif_count(pays, src => 's', dst => 'd', time => 'day', motif => 'a->b, b->c', delta => 1, every => 7, by => 'C') LIMIT 2;
-- 2026-03-02 | 'v0' | 21
-- 2026-03-02 | 'v3' | 21
SELECT shuffled_mean > 0, shuffled_std > 0, z_score IS NOT NULL FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => INTERVAL 12 HOUR, shuffles => 5);
-- true | true | true

-- What is wrong is said in a sentence.
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e9.amount > 1');
-- error: ProgrammingError: where of motif_count(): there is no 'e9'; there are e1, e2 (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.amont > 1');
-- error: ProgrammingError: where of motif_count(): column 'amont' does not exist in 'e1'; did you mean 'amount'? (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'amount > 1');
-- error: ProgrammingError: where of motif_count(): column 'amount' does not exist in 'e1' or 'e2' (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.t');
-- error: ProgrammingError: where of motif_count() needs a condition, not 't' (TIMESTAMP) (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.amount > ''x''');
-- error: DataError: where of motif_count(): 'x' is not a valid DECIMAL (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.amount >');
-- error: ProgrammingError: where of motif_count(): syntax error at line 1, column 12: the statement ends too early (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.amount > 1; SELECT 1');
-- error: ProgrammingError: where of motif_count(): it is one condition, such as 'e2.amount < e1.amount' (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.amount > (SELECT 1)');
-- error: NotSupportedError: a subquery in where of motif_count() is not supported (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'e1.amount > random()');
-- error: NotSupportedError: where of motif_count(): random() is not supported (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => 'sum(e1.amount) > 1');
-- error: ProgrammingError: where of motif_count() cannot contain the aggregate sum (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c', delta => '1 day', where => NULL);
-- error: ProgrammingError: where of motif_count() is NULL (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, !c->d, b->c', delta => '1 day');
-- error: ProgrammingError: motif of motif_count(): the vertex 'd' of '!c->d' is in no other edge; * stands for any vertex (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => '!a->b', delta => '1 day');
-- error: ProgrammingError: motif of motif_count(): it has no edge but one that is not there (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, *->a', delta => '1 day');
-- error: ProgrammingError: motif of motif_count(), character 7: expected a vertex after ',', found '*' (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(8)', delta => '1 day', vertices => 'any');
-- error: NotSupportedError: motif of motif_count(): edges either way and vertices that may be the same make it more than 64 motifs, which are counted one by one (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', min_gap => 3);
-- error: ProgrammingError: min_gap of motif_count() is an interval, such as INTERVAL 1 DAY, for the TIMESTAMP column 't', not 3 (INTEGER) (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', max_gap => INTERVAL -1 DAY);
-- error: ProgrammingError: max_gap of motif_count() is at least 0, not '-1 days' (INTERVAL) (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', since => 'yesterday');
-- error: ProgrammingError: since of motif_count() is a time of the TIMESTAMP column 't', not 'yesterday' (VARCHAR) (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', by => 'z');
-- error: ProgrammingError: by of motif_count() is a vertex of the motif, which has a, b, c; not 'z' (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', every => INTERVAL 0 DAY);
-- error: ProgrammingError: every of motif_count() is more than '00:00:00' (INTERVAL) (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', by => 'a', shuffles => 5);
-- error: NotSupportedError: shuffles of motif_count() is not supported beside by and every (line 1, column 19)
SELECT count FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', shuffles => 1);
-- error: ProgrammingError: shuffles of motif_count() is a whole number from 2, not 1 (INTEGER) (line 1, column 19)
SELECT * FROM motif_list(pays, src => 's', dst => 'd', time => 't', motif => 'path(3)', delta => '1 day', method => 'exact');
-- error: ProgrammingError: motif_list() takes no argument 'method'; it takes src, dst, time, motif, delta, where, vertices, min_gap, max_gap, since, ties (line 1, column 15)
SELECT m.count FROM (VALUES ('path(3)')) AS p (text), LATERAL motif_count(pays, src => s, dst => d, time => n, motif => p.text, delta => 3, where => 'e1.id > 3') m;
-- error: NotSupportedError: where of motif_count() is about the edges of one motif, and motif differs by row (line 1, column 63)
