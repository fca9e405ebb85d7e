-- Sums that are rounded once, values of extremes with NULLs, bits of numbers, first values by frames.
CREATE TABLE t (g INTEGER, i INTEGER, x DOUBLE, s VARCHAR);

INSERT INTO t VALUES (1, 1, 1e100, 'a'), (1, 2, 1.0, 'b'), (1, 3, -1e100, NULL), (2, 4, 0.1, 'd'), (2, NULL, 0.2, 'e');

SELECT sum(x), fsum(x), kahan_sum(x), favg(x) FROM t WHERE g = 1;
-- 0.0 | 1.0 | 1.0 | 0.3333333333333333

SELECT g, fsum(x), favg(x), fsum(DISTINCT i), fsum(x) FILTER (WHERE i > 3) FROM t GROUP BY g ORDER BY g;
-- 1 | 1.0 | 0.3333333333333333 | 6.0 | NULL
-- 2 | 0.30000000000000004 | 0.15000000000000002 | 4.0 | 0.1

SELECT fsum(x), favg(x) FROM t WHERE false;
-- NULL | NULL

SELECT fsum(x), favg(x) FROM (VALUES ('inf'::DOUBLE), (1.0)) AS v (x);
-- inf | inf

SELECT g, arg_max(s, i), arg_max_null(s, i), arg_min_null(s, i) FROM t GROUP BY g ORDER BY g;
-- 1 | 'b' | NULL | 'a'
-- 2 | 'd' | 'd' | 'd'

SELECT arg_max_null(s, i) FILTER (WHERE i < 3) FROM t;
-- 'b'

SELECT g, bitstring_agg(i, 0, 4)::VARCHAR FROM t GROUP BY g ORDER BY g;
-- 1 | '01110'
-- 2 | '00001'

SELECT bitstring_agg(i, 0, 2) FROM t;
-- error: DataError: there is no bit 3 of 3: the first one is bit 0

SELECT bitstring_agg(i) FROM t;
-- error: ProgrammingError: bitstring_agg() takes 3 arguments, not 1 (line 1, column 8)

SELECT i, max(i, 2) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), min(s, 2) OVER (PARTITION BY g) FROM t ORDER BY i;
-- 1 | [1] | ['a', 'b']
-- 2 | [2, 1] | ['a', 'b']
-- 3 | [3, 2] | ['a', 'b']
-- 4 | [4, 3] | ['d', 'e']
-- NULL | [4, 3] | ['d', 'e']

SELECT i, rank_dense() OVER (ORDER BY g) FROM t ORDER BY i;
-- 1 | 1
-- 2 | 1
-- 3 | 1
-- 4 | 2
-- NULL | 2
