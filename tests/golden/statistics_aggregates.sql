-- Variances, correlations and regressions are DOUBLE, and stable far from zero.
CREATE TABLE t (g INTEGER, y INTEGER, x DECIMAL(4, 1), d DOUBLE);

INSERT INTO t VALUES (1, 1, 1.0, 1000000001), (1, 3, 2.0, 1000000002), (1, 5, 3.0, 1000000003), (1, 4, NULL, NULL), (2, 2, 5.0, 7), (3, 2, 1.0, 'NaN'), (3, 2, 2.0, 1), (4, NULL, NULL, NULL);

SELECT g, var_pop(y), var_samp(y), stddev_pop(y), stddev_samp(y) FROM t GROUP BY g ORDER BY g;
-- 1 | 2.1875 | 2.9166666666666665 | 1.479019945774904 | 1.707825127659933
-- 2 | 0.0 | NULL | 0.0 | NULL
-- 3 | 0.0 | 0.0 | 0.0 | 0.0
-- 4 | NULL | NULL | NULL | NULL
SELECT stddev(d), variance(d), var_pop(d) FROM t WHERE g = 1;
-- 1.0 | 1.0 | 0.6666666666666666
SELECT g, stddev_pop(d), var_samp(d) FROM t GROUP BY g ORDER BY g;
-- 1 | 0.816496580927726 | 1.0
-- 2 | 0.0 | NULL
-- 3 | nan | nan
-- 4 | NULL | NULL

-- Only the pairs without a NULL count; a correlation without variance is NULL.
SELECT g, covar_pop(y, x), covar_samp(y, x), corr(y, x), regr_count(y, x) FROM t GROUP BY g ORDER BY g;
-- 1 | 1.3333333333333333 | 2.0 | 1.0 | 3
-- 2 | 0.0 | NULL | NULL | 1
-- 3 | 0.0 | 0.0 | NULL | 2
-- 4 | NULL | NULL | NULL | 0
SELECT g, regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), regr_avgx(y, x), regr_avgy(y, x) FROM t GROUP BY g ORDER BY g;
-- 1 | 2.0 | -1.0 | 1.0 | 2.0 | 3.0
-- 2 | NULL | NULL | NULL | 5.0 | 2.0
-- 3 | 0.0 | 2.0 | 1.0 | 1.5 | 2.0
-- 4 | NULL | NULL | NULL | NULL | NULL
SELECT g, regr_sxx(y, x), regr_sxy(y, x), regr_syy(y, x) FROM t GROUP BY g ORDER BY g;
-- 1 | 2.0 | 4.0 | 8.0
-- 2 | 0.0 | 0.0 | 0.0
-- 3 | 0.5 | 0.0 | 0.0
-- 4 | NULL | NULL | NULL
SELECT round(skewness(y), 6), round(kurtosis(y), 6), entropy(g) FROM t;
-- 0.706455 | -0.3255 | 1.75
SELECT stddev(y), corr(y, x), entropy(y), regr_count(y, x) FROM t WHERE FALSE;
-- NULL | NULL | 0.0 | 0

SELECT stddev(TRUE) FROM t;
-- error: ProgrammingError: stddev() needs a number, not True (BOOLEAN) (line 1, column 8)
SELECT corr(x) FROM t;
-- error: ProgrammingError: corr() takes 2 arguments, not 1 (line 1, column 8)
SELECT corr(x, 'a') FROM t;
-- error: ProgrammingError: corr() needs a number, not 'a' (VARCHAR) (line 1, column 8)
