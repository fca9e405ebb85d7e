-- ROWS counts rows, GROUPS counts groups of peers, RANGE compares the key.
CREATE TABLE t (id INTEGER, k INTEGER, x INTEGER);

INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 3, 4), (4, 4, 8), (5, 4, 16), (6, 7, 32), (7, NULL, 64);

SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), sum(x) OVER (ORDER BY id ROWS 2 PRECEDING), sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t ORDER BY id;
-- 1 | 3 | 1 | 127
-- 2 | 7 | 3 | 126
-- 3 | 14 | 7 | 124
-- 4 | 28 | 14 | 120
-- 5 | 56 | 28 | 112
-- 6 | 112 | 56 | 96
-- 7 | 96 | 112 | 64

-- A frame without rows gives NULL, and a count of 0.
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING), count(*) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING), max(x) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 4 PRECEDING) FROM t ORDER BY id;
-- 1 | 12 | 0 | NULL
-- 2 | 24 | 0 | NULL
-- 3 | 48 | 1 | NULL
-- 4 | 96 | 2 | NULL
-- 5 | 64 | 2 | NULL
-- 6 | NULL | 2 | NULL
-- 7 | NULL | 2 | NULL

SELECT id, sum(x) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING), sum(x) OVER (ORDER BY k DESC RANGE BETWEEN 3 PRECEDING AND CURRENT ROW), sum(x) OVER (ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) FROM t ORDER BY id;
-- 1 | 3 | 31 | NULL
-- 2 | 3 | 31 | NULL
-- 3 | 28 | 28 | 3
-- 4 | 28 | 56 | 7
-- 5 | 28 | 56 | 7
-- 6 | 32 | 32 | 31
-- 7 | 64 | 64 | 127

-- The rows whose key is NULL are their own peers, and in reach of UNBOUNDED only.
SELECT id, sum(x) OVER (ORDER BY k NULLS FIRST RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING), sum(x) OVER (ORDER BY k NULLS FIRST RANGE BETWEEN 100 PRECEDING AND 100 FOLLOWING) FROM t ORDER BY id;
-- 1 | 63 | 63
-- 2 | 63 | 63
-- 3 | 60 | 63
-- 4 | 60 | 63
-- 5 | 60 | 63
-- 6 | 32 | 63
-- 7 | 127 | 64

SELECT id, sum(x) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW), sum(x) OVER (ORDER BY k GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), sum(x) OVER (ORDER BY k GROUPS CURRENT ROW) FROM t ORDER BY id;
-- 1 | 3 | 28 | 3
-- 2 | 3 | 28 | 3
-- 3 | 7 | 56 | 4
-- 4 | 28 | 96 | 24
-- 5 | 28 | 96 | 24
-- 6 | 56 | 64 | 32
-- 7 | 96 | NULL | 64

SELECT id, sum(x) OVER (ORDER BY k RANGE CURRENT ROW), sum(x) OVER (RANGE CURRENT ROW), sum(x) OVER (ORDER BY k RANGE UNBOUNDED PRECEDING) FROM t ORDER BY id;
-- 1 | 3 | 127 | 3
-- 2 | 3 | 127 | 3
-- 3 | 4 | 127 | 7
-- 4 | 24 | 127 | 31
-- 5 | 24 | 127 | 31
-- 6 | 32 | 127 | 63
-- 7 | 64 | 127 | 127

-- EXCLUDE
SELECT id, sum(x) OVER (w RANGE UNBOUNDED PRECEDING EXCLUDE NO OTHERS), sum(x) OVER (w RANGE UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), sum(x) OVER (w RANGE UNBOUNDED PRECEDING EXCLUDE GROUP), sum(x) OVER (w RANGE UNBOUNDED PRECEDING EXCLUDE TIES) FROM t WINDOW w AS (ORDER BY k) ORDER BY id;
-- 1 | 3 | 2 | NULL | 1
-- 2 | 3 | 1 | NULL | 2
-- 3 | 7 | 3 | 3 | 7
-- 4 | 31 | 23 | 7 | 15
-- 5 | 31 | 15 | 7 | 23
-- 6 | 63 | 31 | 31 | 63
-- 7 | 127 | 63 | 63 | 127
SELECT id, sum(x) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW), sum(x) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP), sum(x) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES), first_value(id) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES), last_value(id) OVER (ORDER BY k, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM t ORDER BY id;
-- 1 | 6 | 4 | 5 | 1 | NULL
-- 2 | 5 | 4 | 6 | 2 | 1
-- 3 | 27 | 27 | 31 | 1 | 2
-- 4 | 52 | 36 | 44 | 3 | 3
-- 5 | 44 | 36 | 52 | 3 | 4
-- 6 | 88 | 88 | 120 | 4 | 5
-- 7 | 32 | 32 | 96 | 6 | 6

-- An offset may be any constant; decimals, doubles, dates and timestamps have ranges too.
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 3 - 2 PRECEDING AND CURRENT ROW), sum(x) OVER (ORDER BY k RANGE BETWEEN 0.5 PRECEDING AND 2.5 FOLLOWING), sum(x) OVER (ORDER BY k::DOUBLE RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id;
-- 1 | 1 | 7 | 3
-- 2 | 3 | 7 | 3
-- 3 | 6 | 28 | 4
-- 4 | 12 | 24 | 28
-- 5 | 24 | 24 | 28
-- 6 | 48 | 32 | 32
-- 7 | 96 | 64 | 64
SELECT id, sum(x) OVER (ORDER BY k / 10.0 RANGE BETWEEN 0.25 PRECEDING AND 0.25 FOLLOWING) FROM t ORDER BY id;
-- 1 | 7
-- 2 | 7
-- 3 | 31
-- 4 | 28
-- 5 | 28
-- 6 | 32
-- 7 | 64
SELECT d, sum(n) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1 month' PRECEDING AND CURRENT ROW), sum(n) OVER (ORDER BY d DESC RANGE BETWEEN INTERVAL '2' DAY PRECEDING AND INTERVAL '1' DAY FOLLOWING) FROM (VALUES (DATE '2024-01-31', 1), (DATE '2024-02-01', 2), (DATE '2024-02-29', 4), (DATE '2024-03-01', 8), (NULL, 16)) v (d, n) ORDER BY d;
-- 2024-01-31 | 1 | 3
-- 2024-02-01 | 3 | 3
-- 2024-02-29 | 7 | 12
-- 2024-03-01 | 14 | 12
-- NULL | 16 | 16
SELECT n, count(*) OVER (ORDER BY s RANGE BETWEEN INTERVAL '90 minutes' PRECEDING AND INTERVAL '30 minutes' FOLLOWING) FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00', 1), (TIMESTAMP '2024-01-01 01:00:00', 2), (TIMESTAMP '2024-01-01 01:30:00', 3), (TIMESTAMP '2024-01-01 04:00:00', 4)) v (s, n) ORDER BY n;
-- 1 | 1
-- 2 | 3
-- 3 | 3
-- 4 | 1

-- An offset beyond the numbers of the key reaches to the end.
SELECT k, count(*) OVER (ORDER BY k RANGE BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 FOLLOWING) FROM (VALUES (9223372036854775807), (0), (-9223372036854775807)) v (k) ORDER BY k;
-- -9223372036854775807 | 2
-- 0 | 3
-- 9223372036854775807 | 2
SELECT k, count(*) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM (VALUES ('NaN'::DOUBLE), ('inf'::DOUBLE), ('-inf'::DOUBLE), (1.5), (NULL)) v (k) ORDER BY k;
-- -inf | 1
-- 1.5 | 1
-- inf | 1
-- nan | 1
-- NULL | 1

-- The same as a running sum by hand: minima and sums of doubles over moving frames.
SELECT id, min(x) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING), sum(d) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (SELECT id, x, CASE WHEN id = 3 THEN 'inf'::DOUBLE WHEN id = 5 THEN 1e300 ELSE id / 2.0 END AS d FROM t) ORDER BY id;
-- 1 | 1 | 0.5
-- 2 | 1 | 1.5
-- 3 | 1 | inf
-- 4 | 2 | inf
-- 5 | 4 | 1e+300
-- 6 | 8 | 1e+300
-- 7 | 16 | 6.5

-- What goes wrong.
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: the offset of a frame must not be negative (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND NULL FOLLOWING) FROM t;
-- error: ProgrammingError: the offset of a frame must not be NULL (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN 1.5 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: ROWS needs an integer as the offset, not 1.5 (DECIMAL(2,1)) (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN x PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: the offset of a frame must be a constant (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED FOLLOWING AND UNBOUNDED FOLLOWING) FROM t;
-- error: ProgrammingError: a frame cannot start with UNBOUNDED FOLLOWING (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED PRECEDING) FROM t;
-- error: ProgrammingError: a frame cannot end with UNBOUNDED PRECEDING (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM t;
-- error: ProgrammingError: a frame from CURRENT ROW cannot end with PRECEDING (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: a frame from FOLLOWING cannot end with CURRENT ROW (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id ROWS 1 FOLLOWING) FROM t;
-- error: ProgrammingError: a frame from FOLLOWING cannot end with CURRENT ROW (line 1, column 8)
SELECT sum(x) OVER (RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: RANGE with an offset needs exactly one key in ORDER BY (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id, k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: RANGE with an offset needs exactly one key in ORDER BY (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id::VARCHAR RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: RANGE cannot add 1 (INTEGER) to an expression (VARCHAR) (line 1, column 8)
SELECT sum(x) OVER (ORDER BY id RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: RANGE cannot add '1 day' (INTERVAL) to 'id' (INTEGER) (line 1, column 8)
SELECT sum(x) OVER (ORDER BY DATE '2024-01-01' + id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: RANGE cannot add 1 (INTEGER) to an expression (DATE) (line 1, column 8)
SELECT sum(x) OVER (ORDER BY DATE '2024-01-01' + id RANGE BETWEEN INTERVAL '-1' DAY PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: the offset of a frame must not be negative (line 1, column 8)
SELECT sum(x) OVER (PARTITION BY k GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;
-- error: ProgrammingError: GROUPS needs an ORDER BY in the window (line 1, column 8)
