-- Aggregates that see their rows in order, and those of WITHIN GROUP.
CREATE TABLE t (id INTEGER, g INTEGER, x INTEGER, s VARCHAR, day DATE);

INSERT INTO t VALUES (1, 1, 30, 'c', '2024-01-01'), (2, 1, 10, 'a', '2024-01-03'), (3, 1, 20, NULL, '2024-01-02'), (4, 2, 5, 'z', NULL), (5, 2, NULL, 'y', '2024-01-10'), (6, 3, NULL, NULL, NULL);

SELECT g, string_agg(s, ',' ORDER BY x), string_agg(s, '' ORDER BY id DESC), string_agg(s, NULL ORDER BY id) FROM t GROUP BY g ORDER BY g;
-- 1 | 'a,c' | 'ac' | 'ca'
-- 2 | 'z,y' | 'yz' | 'zy'
-- 3 | NULL | NULL | NULL
SELECT string_agg(s ORDER BY s), group_concat(s, ' ' ORDER BY s DESC), listagg(x, ';' ORDER BY x) FROM t;
-- 'a,c,y,z' | 'z y c a' | '5;10;20;30'
SELECT g, array_agg(x ORDER BY x DESC), array_agg(x ORDER BY x NULLS FIRST), list(s ORDER BY g, id) FROM t GROUP BY g ORDER BY g;
-- 1 | [30, 20, 10] | [10, 20, 30] | ['c', 'a', None]
-- 2 | [None, 5] | [None, 5] | ['z', 'y']
-- 3 | [None] | [None] | [None]
SELECT first(id ORDER BY x), last(id ORDER BY x), last(x ORDER BY id), any_value(x ORDER BY id DESC), arg_max(s, g ORDER BY id DESC) FROM t;
-- 4 | 6 | NULL | 5 | 'y'
SELECT sum(x ORDER BY s), count(* ) FROM t;
-- 65 | 6

-- quantile_cont interpolates, quantile_disc takes a value that is there.
SELECT g, median(x), quantile_cont(x, 0.25), quantile_disc(x, 0.25), quantile_disc(s, 0.5), mode(x) FROM t GROUP BY g ORDER BY g;
-- 1 | 20.0 | 15.0 | 10 | 'a' | 10
-- 2 | 5.0 | 5.0 | 5 | 'y' | 5
-- 3 | NULL | NULL | NULL | NULL | NULL
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY x), percentile_cont(0.25) WITHIN GROUP (ORDER BY x DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY day), percentile_disc(0.5) WITHIN GROUP (ORDER BY day DESC), mode() WITHIN GROUP (ORDER BY g) FROM t;
-- 8.75 | 22.5 | 2024-01-02 | 2024-01-03 | 1
SELECT median(day), quantile_cont(x, 0), quantile_cont(x, 1), quantile_disc(x, 0), quantile_disc(x, 1), median(x / 4.0) FROM t;
-- 2024-01-02T12:00:00 | 5.0 | 30.0 | 5 | 30 | 3.75
SELECT mode(x) FROM (VALUES (3), (1), (3), (1), (2)) v (x);
-- 1

SELECT quantile_cont(x, 1.5) FROM t;
-- error: ProgrammingError: quantile_cont() needs a fraction from 0 to 1, not 1.5 (line 1, column 8)
SELECT quantile_cont(x, g) FROM t;
-- error: NotSupportedError: quantile_cont() of a fraction that is not a constant is not supported (line 1, column 8)
SELECT quantile_cont(s, 0.5) FROM t;
-- error: ProgrammingError: quantile_cont() needs a number, not 's' (VARCHAR) (line 1, column 8)
SELECT percentile_cont(0.5) FROM t;
-- error: ProgrammingError: percentile_cont() needs WITHIN GROUP (ORDER BY ...) (line 1, column 8)
SELECT sum(x) WITHIN GROUP (ORDER BY x) FROM t;
-- error: ProgrammingError: sum() does not take WITHIN GROUP (line 1, column 8)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x, g) FROM t;
-- error: ProgrammingError: percentile_cont() takes one ORDER BY, that of WITHIN GROUP, of one key (line 1, column 8)
SELECT percentile_cont(0.5, 1) WITHIN GROUP (ORDER BY x) FROM t;
-- error: ProgrammingError: percentile_cont() takes 1 argument, not 2 (line 1, column 8)
SELECT string_agg(s, s) FROM t;
-- error: NotSupportedError: string_agg() with a separator that is not a constant is not supported (line 1, column 8)
SELECT string_agg(s, 1) FROM t;
-- error: ProgrammingError: string_agg() needs a string to separate, not 1 (INTEGER) (line 1, column 8)
SELECT array_agg(x ORDER BY id LIMIT 2) FROM t;
-- error: NotSupportedError: LIMIT in an aggregate is not supported (line 1, column 18)

-- Quantiles of a list of fractions are a list.
CREATE TABLE q AS FROM (VALUES (1, 10, 'a', DATE '2026-01-01'), (1, 20, 'b', DATE '2026-01-05'), (2, NULL, NULL, NULL), (1, 40, 'b', NULL)) q (g, x, t, d);
SELECT g, quantile_cont(x, [0.25, 0.5]), quantile_disc(t, [0, 1.0]), quantile_cont(d, [0.5]) FROM q GROUP BY g ORDER BY g;
-- 1 | [15.0, 20.0] | ['a', 'b'] | [datetime.datetime(2026, 1, 3, 0, 0)]
-- 2 | NULL | NULL | NULL
SELECT percentile_cont([0.25, 0.5]) WITHIN GROUP (ORDER BY x DESC), percentile_disc([0.5]) WITHIN GROUP (ORDER BY t) FROM q;
-- [30.0, 20.0] | ['b']
SELECT quantile(x, []), typeof(quantile_cont(x, [])), quantile_cont(x, [0.5]) FILTER (WHERE x > 50), quantile_disc(DISTINCT t, [0.5, 1]) FROM q;
-- [] | 'DOUBLE[]' | NULL | ['a', 'b']
SELECT x, quantile_cont(x, [0, 1]) OVER (ORDER BY x) FROM q WHERE x > 0 ORDER BY x;
-- 10 | [10.0, 10.0]
-- 20 | [10.0, 20.0]
-- 40 | [10.0, 40.0]
SELECT quantile_cont(x, [0.5, 2]) FROM q;
-- error: ProgrammingError: quantile_cont() needs a fraction from 0 to 1, not 2 (line 1, column 8)
SELECT quantile_cont(x, [0.5, NULL]) FROM q;
-- error: ProgrammingError: quantile_cont() needs a fraction from 0 to 1, not NULL (line 1, column 8)
SELECT quantile_cont(t, [0.5]) FROM q;
-- error: ProgrammingError: quantile_cont() needs a number, not 't' (VARCHAR) (line 1, column 8)

SELECT g, histogram(x), histogram(t) FROM q GROUP BY g ORDER BY g;
-- 1 | {10: 1, 20: 1, 40: 1} | {'a': 1, 'b': 2}
-- 2 | NULL | NULL
SELECT histogram(DISTINCT t), histogram(t) FILTER (WHERE x > 10), histogram(t)['b'], histogram(d), typeof(histogram(x)) FROM q;
-- {'a': 1, 'b': 1} | {'b': 2} | 2 | {datetime.date(2026, 1, 1): 1, datetime.date(2026, 1, 5): 1} | 'MAP(INTEGER, UBIGINT)'
SELECT t, histogram(t) OVER (ORDER BY x) FROM q WHERE x > 0 ORDER BY x;
-- 'a' | {'a': 1}
-- 'b' | {'a': 1, 'b': 1}
-- 'b' | {'a': 1, 'b': 2}
SELECT histogram(v) FROM (VALUES (0.0::DOUBLE), (-0.0::DOUBLE), ('nan'::DOUBLE), ('nan'::DOUBLE), (1)) t (v);
-- {0.0: 2, 1.0: 1, nan: 2}
SELECT histogram([x]) FROM q;
-- error: NotSupportedError: histogram() of INTEGER[] is not supported (line 1, column 8)
SELECT histogram(x, 3) FROM q;
-- error: ProgrammingError: histogram() needs a list, not 3 (INTEGER) (line 1, column 8)
SELECT histogram(x) FROM q WHERE histogram(x) IS NULL;
-- error: ProgrammingError: WHERE cannot contain the aggregate histogram (line 1, column 34)

-- Quantiles from the other end, as WITHIN GROUP has them.
SELECT quantile_disc(x, 0.8 ORDER BY x DESC), percentile_disc(0.8) WITHIN GROUP (ORDER BY x DESC), quantile_disc(x, 0.8), quantile_cont(x, 0.8 ORDER BY x DESC) FROM (VALUES (2), (1)) t (x);
-- 1 | 1 | 2 | 1.2

SELECT mode(x ORDER BY x DESC) FROM range(2) t (x);
-- error: NotSupportedError: mode() of values in descending order is not supported (line 1, column 8)

SELECT count(), count() FILTER (WHERE x > 1) FROM range(3) t (x);
-- 3 | 1

-- Between two times lies a time.
SELECT median(x), quantile_cont(x, 0.25), quantile_cont(x, [0, 1]), percentile_cont(0.75) WITHIN GROUP (ORDER BY x DESC)
  FROM (VALUES (TIME '10:00'), (TIME '11:00'), (NULL)) AS t (x);
-- datetime.time(10, 30) | datetime.time(10, 15) | [datetime.time(10, 0), datetime.time(11, 0)] | datetime.time(10, 15)

SELECT x, median(x) OVER (ORDER BY x) FROM (VALUES (TIME '10:00'), (TIME '10:00:00.000001'), (TIME '23:59:59.999999')) AS t (x) ORDER BY x;
-- datetime.time(10, 0) | datetime.time(10, 0)
-- datetime.time(10, 0, 0, 1) | datetime.time(10, 0)
-- datetime.time(23, 59, 59, 999999) | datetime.time(10, 0, 0, 1)
