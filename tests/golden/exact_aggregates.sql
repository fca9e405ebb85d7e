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
-- error: DataError: 3 is not one of the numbers from 0 to 2

SELECT bitstring_agg(i) FROM t;
-- error: ProgrammingError: bitstring_agg() takes 3 arguments, not 1 (line 1, column 8)

SELECT bitstring_agg(n, -100, 100)::VARCHAR = repeat('0', 101) || '1' || repeat('0', 99), bitstring_agg(n::UBIGINT, 0, 2)::VARCHAR FROM (VALUES (1::TINYINT)) AS v (n);
-- true | '010'

SELECT bitstring_agg(i, 4, 0) FROM t;
-- error: ProgrammingError: bitstring_agg() takes 1 to 134,217,728 numbers, not those from 4 to 0 (line 1, column 8)

SELECT bitstring_agg(i, NULL, 4) FROM t;
-- error: ProgrammingError: bitstring_agg() needs the least and the greatest number, integers that are constants (line 1, column 8)

SELECT bitstring_agg(x, 0, 4) FROM t;
-- error: ProgrammingError: bitstring_agg() needs integers, not DOUBLE (line 1, column 8)

SELECT fsum(x) OVER () FROM t;
-- error: NotSupportedError: fsum() with OVER is not supported (line 1, column 8)

SELECT max(i, 2) OVER () FROM t;
-- [4, 3]
-- [4, 3]
-- [4, 3]
-- [4, 3]
-- [4, 3]

SELECT i, rank_dense() OVER (ORDER BY g) FROM t ORDER BY i;
-- 1 | 1
-- 2 | 1
-- 3 | 1
-- 4 | 2
-- NULL | 2

SET memory_limit = '100MB';

SELECT g, bitstring_agg(i, 0, 100000000) FROM t GROUP BY g;
-- error: OperationalError: reading the bits of bitstring_agg() needs about 200 MB, and memory_limit is 100 MB; raise it with SET memory_limit or ask for less

RESET memory_limit;
