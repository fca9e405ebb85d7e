-- Distances, lengths, sums and averages of vectors, with the names and operators of pgvector, too.
SELECT [3, 4] <+> [1, 1], list_l1_distance([0, 0], [3, -4]), array_l1_distance([1]::FLOAT[1], [3]), l1_distance([0.5], [0]);
-- 5.0 | 7.0 | 2.0 | 0.5
SELECT l2_distance([0, 0], [3, 4]), cosine_distance([1, 0], [0, 2]), inner_product([1, 2], [3, 4]), negative_inner_product([1, 2], [3, 4]);
-- 5.0 | 1.0 | 11.0 | -11.0
SELECT '101'::BIT <~> '011', '101' <~> '011'::BIT, hamming_distance('0', '1'::BIT), jaccard_distance('0110'::BIT, '0011'::BIT);
-- 2 | 2 | 1 | 0.6666666666666667
SELECT hamming_distance(a, b), jaccard_distance(a, b), a <~> '111' FROM (VALUES (1, '101'::BIT, '111'::BIT), (2, NULL, '1'), (3, '000', '000'), (4, '001', '110')) t (n, a, b) ORDER BY n;
-- 1 | 0.33333333333333337 | 1
-- NULL | NULL | NULL
-- 0 | 1.0 | 3
-- 3 | 1.0 | 2
SELECT l2_norm([3, 4]), vector_norm([]::FLOAT[]), list_norm(NULL::FLOAT[2]), array_norm([1e200, 1e200]), typeof(l2_norm([1]::FLOAT[1]));
-- 5.0 | 0.0 | NULL | 1.414213562373095e+200 | 'DOUBLE'
SELECT normalize([3, 4]), l2_normalize([3, 4]::FLOAT[2]), list_normalize([0.0, 0.0]), array_normalize(NULL::FLOAT[2]), typeof(normalize([3, 4]::INTEGER[2]));
-- [0.6, 0.8] | (0.6000000238418579, 0.800000011920929) | [0.0, 0.0] | NULL | 'DOUBLE[2]'
SELECT n, normalize(v), normalize(w) FROM (VALUES (1, [3, 4]::FLOAT[2], [1, 1]), (2, NULL, []), (3, [0, -5], NULL)) t (n, v, w) ORDER BY n;
-- 1 | (0.6000000238418579, 0.800000011920929) | [0.7071067811865475, 0.7071067811865475]
-- 2 | NULL | []
-- 3 | (0.0, -1.0) | NULL
SELECT 1 + [3, 4] <+> [1, 1], [3, 4] <-> [0, 0] * 2, [3, 4] <+> [1, 1] = 5, -('1'::BIT <~> '0');
-- 6.0 | 10.0 | true | -1
CREATE VIEW near AS SELECT [1, 2]::FLOAT[2] <+> [3, 4] AS far, '1'::BIT <~> '0' AS bits;
SELECT * FROM near;
-- 4.0 | 1
SELECT sql FROM duckdb_views() WHERE view_name = 'near';
-- 'SELECT [1, 2]::FLOAT[2] <+> [3, 4] AS far, ''1''::BIT <~> ''0'' AS bits'

-- What they refuse.
SELECT [1, 2] <+> [1];
-- error: DataError: array_l1_distance() needs two lists of the same length
SELECT [1]::FLOAT[1] <+> [1, 2]::FLOAT[2];
-- error: ProgrammingError: array_l1_distance() needs lists of one length, not a list (FLOAT[1]) and a list (FLOAT[2]) (line 1, column 9)
SELECT [1, NULL] <+> [1, 2];
-- error: DataError: array_l1_distance() of a list that contains NULL is not defined
SELECT [1, 2] <+> 'x';
-- error: ProgrammingError: array_l1_distance() needs a list, not 'x' (VARCHAR) (line 1, column 9)
SELECT ['a'] <+> ['b'];
-- error: ProgrammingError: array_l1_distance() needs lists of numbers, not a list (VARCHAR[]) (line 1, column 9)
SELECT '101'::BIT <~> '01';
-- error: DataError: hamming_distance() needs bits of one length, not of 3 and 2
SELECT '101'::BIT <~> 5;
-- error: ProgrammingError: hamming_distance() needs a BIT, not 5 (INTEGER) (line 1, column 8)
SELECT 'abc' <~> 'abd';
-- error: DataError: 'abc' is not a valid BIT (line 1, column 8)
SELECT jaccard_distance('12', '11'::BIT);
-- error: DataError: '12' is not a valid BIT (line 1, column 8)
SELECT hamming_distance('1'::BIT);
-- error: ProgrammingError: hamming_distance() takes 2 arguments, not 1 (line 1, column 8)
SELECT normalize('abc');
-- error: ProgrammingError: normalize() needs a list, not 'abc' (VARCHAR) (line 1, column 8)
SELECT normalize(5);
-- error: ProgrammingError: normalize() needs a list, not 5 (INTEGER) (line 1, column 8)
SELECT normalize(['a']);
-- error: ProgrammingError: normalize() needs a list of numbers, not a list (VARCHAR[]) (line 1, column 8)
SELECT normalize([3, NULL]);
-- error: DataError: normalize() of a list that contains NULL is not defined
SELECT l2_norm([3, NULL]);
-- error: DataError: l2_norm() of a list that contains NULL is not defined
SELECT normalize([1], [2]);
-- error: ProgrammingError: normalize() takes 1 argument, not 2 (line 1, column 8)

-- Sums and averages are vectors of the same type.
CREATE TABLE t (id INTEGER, kind INTEGER, v FLOAT[3], w DOUBLE[2]);
INSERT INTO t VALUES (1, 1, [1, 2, 3], [1, 1]), (2, 1, [3, 4, 5], [2, 3]), (3, 2, NULL, NULL), (4, 2, [1, 1, 1], [0.1, 0.2]), (5, 3, NULL, NULL);
SELECT sum(v), avg(v), sum(w), avg(w), typeof(avg(v)), typeof(sum(w)) FROM t;
-- (5.0, 7.0, 9.0) | (1.6666666269302368, 2.3333332538604736, 3.0) | (3.1, 4.2) | (1.0333333333333334, 1.4000000000000001) | 'FLOAT[3]' | 'DOUBLE[2]'
SELECT kind, avg(v), sum(w), count(v) FROM t GROUP BY kind ORDER BY kind;
-- 1 | (2.0, 3.0, 4.0) | (3.0, 4.0) | 2
-- 2 | (1.0, 1.0, 1.0) | (0.1, 0.2) | 1
-- 3 | NULL | NULL | 0
SELECT kind, sum(v) FROM t GROUP BY ROLLUP (kind) ORDER BY kind;
-- 1 | (4.0, 6.0, 8.0)
-- 2 | (1.0, 1.0, 1.0)
-- 3 | NULL
-- NULL | (5.0, 7.0, 9.0)
SELECT avg(v) FILTER (WHERE id > 1), sum(DISTINCT v), sum(v) FILTER (WHERE id > 9) FROM t;
-- (2.0, 2.5, 3.0) | (5.0, 7.0, 9.0) | NULL
SELECT id, sum(v) OVER (PARTITION BY kind ORDER BY id), avg(w) OVER () FROM t ORDER BY id;
-- 1 | (1.0, 2.0, 3.0) | (1.0333333333333334, 1.4000000000000001)
-- 2 | (4.0, 6.0, 8.0) | (1.0333333333333334, 1.4000000000000001)
-- 3 | NULL | (1.0333333333333334, 1.4000000000000001)
-- 4 | (1.0, 1.0, 1.0) | (1.0333333333333334, 1.4000000000000001)
-- 5 | NULL | (1.0333333333333334, 1.4000000000000001)
SELECT kind FROM t GROUP BY kind ORDER BY avg(v) <-> [1, 1, 1] LIMIT 1;
-- 2
SELECT id FROM t ORDER BY v <-> (SELECT avg(v) FROM t) LIMIT 1;
-- 1
SELECT normalize(avg(v)) = normalize(sum(v)) FROM t WHERE kind = 1;
-- true
SELECT sum(v) FROM t WHERE false;
-- NULL
SELECT avg(v), sum(v) FROM (VALUES ([3e38]::FLOAT[1]), ([-3e38])) s (v);
-- (0.0,) | (0.0,)
SELECT avg(v) FROM (VALUES ([3e38]::FLOAT[1]), ([3e38])) s (v);
-- (3.0000000054977558e+38,)
SELECT sum(v) FROM (VALUES ([3e38]::FLOAT[1]), ([3e38])) s (v);
-- error: DataError: 6.0000000109955115e+38 is out of range for REAL
SELECT sum(v) FROM (VALUES ([1, NULL]::FLOAT[2])) s (v);
-- error: DataError: sum() of a vector that contains NULL is not defined
SELECT avg([1, 2]);
-- error: ProgrammingError: avg() needs a number, not a list (INTEGER[]) (line 1, column 8)
SELECT sum(v), avg(v), typeof(avg(v)) FROM (VALUES ([100, -128]::TINYINT[2]), ([101, 127]::TINYINT[2]), (NULL)) s (v);
-- (201.0, -1.0) | (100.5, -0.5) | 'DOUBLE[2]'
SELECT avg(v) FROM (VALUES ([1, NULL]::TINYINT[2])) s (v);
-- error: DataError: avg() of a vector that contains NULL is not defined
SELECT sum(v) FROM (VALUES ([1, 2]::INTEGER[2])) s (v);
-- error: ProgrammingError: sum() needs a number, not 'column1' (INTEGER[2]) (line 1, column 8)
SELECT stddev(v) FROM t;
-- error: ProgrammingError: stddev() needs a number, not 'v' (FLOAT[3]) (line 1, column 8)
