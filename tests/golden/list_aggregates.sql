-- Any aggregate of the elements of lists.
CREATE TABLE t (i INTEGER, l INTEGER[], s VARCHAR[]);
INSERT INTO t VALUES (1, [1, 2, 4], ['a', 'b']), (2, [5], []), (3, [], NULL), (4, NULL, [NULL]), (5, [7, NULL, 7], ['x', NULL]);
SELECT i, list_aggregate(l, 'stddev'), list_aggr(l, 'median'), array_aggr(l, 'product'), list_aggr(s, 'string_agg', '-') FROM t ORDER BY i;
-- 1 | 1.5275252316519468 | 2.0 | 8.0 | 'a-b'
-- 2 | NULL | 5.0 | 5.0 | NULL
-- 3 | NULL | NULL | NULL | NULL
-- 4 | NULL | NULL | NULL | NULL
-- 5 | 0.0 | 7.0 | 49.0 | 'x'
SELECT i, list_aggregate(l, 'count'), list_count(l), list_aggr(l, 'histogram'), list_mad(l), list_quantile_disc(l, 0.5) FROM t ORDER BY i;
-- 1 | 3 | 3 | {1: 1, 2: 1, 4: 1} | 1.0 | 2
-- 2 | 1 | 1 | {5: 1} | 0.0 | 5
-- 3 | 0 | 0 | NULL | NULL | NULL
-- 4 | NULL | NULL | NULL | NULL | NULL
-- 5 | 2 | 2 | {7: 2} | 0.0 | 7
SELECT list_stddev_pop([1, 3]), list_string_agg(['a', 'b'], '+'), list_entropy([1, 2]), list_histogram(['a', 'a']), list_skewness([1, 2, 9]) > 0;
-- 1.0 | 'a+b' | 1.0 | {'a': 2} | true
SELECT list_aggr([[1], [2]], 'list'), list_aggr([{'a': 1}], 'first'), list_var_pop([1, 2]::INTEGER[2]);
-- [[1], [2]] | {'a': 1} | 0.25
SELECT sum(list_median(l)) FROM t;
-- 14.0
SELECT i FROM t WHERE list_aggr(l, 'var_pop') > 0;
-- 1
SELECT list_aggr([1], 'nothing');
-- error: ProgrammingError: list_aggr() needs the name of an aggregate, not 'nothing' (VARCHAR) (line 1, column 8)
SELECT list_aggr([1], 'covar_pop');
-- error: ProgrammingError: covar_pop() takes 2 arguments, not 1 (line 1, column 8)
SELECT list_aggr(1, 'stddev');
-- error: ProgrammingError: list_aggr() needs a list, not 1 (INTEGER) (line 1, column 8)
SELECT list_nothing([1]);
-- error: ProgrammingError: function 'list_nothing' does not exist; did you mean 'list_contains'? (line 1, column 8)

-- mad is the median of the distances from the median.
SELECT mad(i), mad(i * 1.5), mad(i) FILTER (WHERE i > 9) FROM t;
-- 1.0 | 1.5 | NULL
SELECT i % 2, mad(i) FROM t GROUP BY 1 ORDER BY 1;
-- 0 | 1.0
-- 1 | 2.0
SELECT mad(d), mad(d::TIMESTAMP) FROM (VALUES (DATE '2020-01-01'), (DATE '2020-02-01'), (DATE '2020-02-05')) v (d);
-- datetime.timedelta(days=4) | datetime.timedelta(days=4)
SELECT mad(x), mad(-x) FROM (VALUES ('inf'::DOUBLE), (1), (2)) v (x);
-- 1.0 | 1.0
SELECT mad('a');
-- error: ProgrammingError: mad() needs numbers, dates or timestamps, not VARCHAR (line 1, column 8)

-- repeat is of lists, too, and of rows.
SELECT repeat([1, 2], 2), repeat([]::INTEGER[], 3), repeat(['a'], -1), repeat(x'ab', 2), repeat('ab', 2);
-- [1, 2, 1, 2] | [] | [] | b'\xab\xab' | 'abab'
SELECT i, repeat(l, 2), repeat(s, 0) FROM t ORDER BY i;
-- 1 | [1, 2, 4, 1, 2, 4] | []
-- 2 | [5, 5] | []
-- 3 | [] | NULL
-- 4 | NULL | []
-- 5 | [7, None, 7, 7, None, 7] | []
FROM repeat('a', 3);
-- 'a'
-- 'a'
-- 'a'
SELECT * FROM repeat([1, 2], 2) AS r;
-- [1, 2]
-- [1, 2]
FROM repeat('a', -1);
-- error: ProgrammingError: count of repeat() is a whole number from 0, not -1 (INTEGER) (line 1, column 6)
FROM repeat(NULL, 2);
-- NULL
-- NULL

-- nothing but NULLs
SELECT list_aggregate([NULL], 'histogram'), list_histogram([]), hash(1) = hash(1);
-- NULL | NULL | true
SELECT hash();
-- error: ProgrammingError: hash() takes at least one argument, not 0 (line 1, column 8)
