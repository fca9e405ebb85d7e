CREATE TABLE t (id INTEGER, a TIME, b TIMESTAMP);

INSERT INTO t VALUES (1, '10:00', '2024-01-01 10:00'), (2, '09:59:59.5', '1969-12-31 23:59:59.5'),
  (3, NULL, NULL), (4, '10:00:00', TIMESTAMP '2024-01-01 10:00:00'), (5, '23:59:59', DATE '2024-02-29');

SELECT id, a::VARCHAR, b::VARCHAR FROM t ORDER BY id;
-- 1 | '10:00:00' | '2024-01-01 10:00:00'
-- 2 | '09:59:59.5' | '1969-12-31 23:59:59.5'
-- 3 | NULL | NULL
-- 4 | '10:00:00' | '2024-01-01 10:00:00'
-- 5 | '23:59:59' | '2024-02-29 00:00:00'

SELECT id FROM t ORDER BY a DESC NULLS LAST, id;
-- 5
-- 1
-- 4
-- 2
-- 3

SELECT id FROM t WHERE a >= '10:00' AND b > DATE '2023-12-31' ORDER BY id;
-- 1
-- 4
-- 5

SELECT min(a)::VARCHAR, max(a)::VARCHAR, min(b), max(b), count(DISTINCT a), count(DISTINCT b) FROM t;
-- '09:59:59.5' | '23:59:59' | 1969-12-31T23:59:59.500000 | 2024-02-29T00:00:00 | 3 | 3

SELECT a::VARCHAR, count(*) FROM t GROUP BY a ORDER BY a;
-- '09:59:59.5' | 1
-- '10:00:00' | 2
-- '23:59:59' | 1
-- NULL | 1

SELECT x.id, y.id FROM t x JOIN t y ON x.b = y.b AND x.a = y.a WHERE x.id < y.id;
-- 1 | 4

SELECT id, b::DATE, b::TIME::VARCHAR, b::DATE = b FROM t ORDER BY id;
-- 1 | 2024-01-01 | '10:00:00' | false
-- 2 | 1969-12-31 | '23:59:59.5' | false
-- 3 | NULL | NULL | NULL
-- 4 | 2024-01-01 | '10:00:00' | false
-- 5 | 2024-02-29 | '00:00:00' | true

SELECT extract(hour FROM a), extract(minute FROM a), extract(second FROM a), extract(epoch FROM a)
FROM t ORDER BY id;
-- 10 | 0 | 0.000000 | 36000.000000
-- 9 | 59 | 59.500000 | 35999.500000
-- NULL | NULL | NULL | NULL
-- 10 | 0 | 0.000000 | 36000.000000
-- 23 | 59 | 59.000000 | 86399.000000

SELECT extract(year FROM a) FROM t;
-- error: ProgrammingError: 'a' (TIME) has no part 'year' (line 1, column 26)

SELECT a + 1 FROM t;
-- error: ProgrammingError: cannot add 1 (INTEGER) to 'a' (TIME) (line 1, column 8)

SELECT a = b FROM t;
-- error: ProgrammingError: cannot compare 'a' (TIME) with 'b' (TIMESTAMP) (line 1, column 8)

SELECT DATE '2024-01-01' + TIME '10:30', make_time(10, 11, 12.5)::VARCHAR, TIME '10:00'::INTERVAL;
-- 2024-01-01T10:30:00 | '10:11:12.5' | datetime.timedelta(seconds=36000)
