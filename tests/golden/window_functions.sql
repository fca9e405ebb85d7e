-- lag, lead, first_value, last_value, nth_value, with IGNORE NULLS; aggregates of every kind with OVER.
CREATE TABLE t (id INTEGER, g INTEGER, x INTEGER, s VARCHAR);

INSERT INTO t VALUES (1, 1, NULL, 'a'), (2, 1, 20, NULL), (3, 1, 10, 'c'), (4, 2, 5, 'd'), (5, 2, NULL, 'e'), (6, 2, NULL, NULL), (7, 2, 7, 'g');

SELECT id, lag(x) OVER w, lead(x) OVER w, lag(id, 2) OVER w, lead(id, 2, -1) OVER w, lag(s, 1, 'none') OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id) ORDER BY id;
-- 1 | NULL | 20 | NULL | 3 | 'none'
-- 2 | NULL | 10 | NULL | -1 | 'a'
-- 3 | 20 | NULL | 1 | -1 | NULL
-- 4 | NULL | NULL | NULL | 6 | 'none'
-- 5 | 5 | NULL | NULL | 7 | 'd'
-- 6 | NULL | 7 | 4 | -1 | 'e'
-- 7 | NULL | NULL | 5 | -1 | NULL

-- The offset may vary by row, be 0 or negative; a NULL offset gives NULL.
SELECT id, lag(id, 0) OVER w, lag(id, -1) OVER w, lead(id, id % 3) OVER w, lag(id, NULL) OVER w, lag(id, x, 0) OVER w FROM t WINDOW w AS (ORDER BY id) ORDER BY id;
-- 1 | 1 | 2 | 2 | NULL | NULL
-- 2 | 2 | 3 | 4 | NULL | 0
-- 3 | 3 | 4 | 3 | NULL | 0
-- 4 | 4 | 5 | 5 | NULL | 0
-- 5 | 5 | 6 | 7 | NULL | NULL
-- 6 | 6 | 7 | 6 | NULL | NULL
-- 7 | 7 | NULL | NULL | NULL | 0

-- The default takes part in the type of the result.
SELECT id, lag(x, 1, 0.5) OVER (ORDER BY id), lead(x, 1, NULL) OVER (ORDER BY id) FROM t ORDER BY id;
-- 1 | 0.5 | 20
-- 2 | NULL | 10
-- 3 | 20.0 | 5
-- 4 | 10.0 | NULL
-- 5 | 5.0 | NULL
-- 6 | NULL | 7
-- 7 | NULL | NULL

-- IGNORE NULLS, in either place; RESPECT NULLS is what happens anyway.
SELECT id, lag(x) IGNORE NULLS OVER w, lead(x IGNORE NULLS) OVER w, lag(x, 2 IGNORE NULLS) OVER w, lag(x) RESPECT NULLS OVER w FROM t WINDOW w AS (ORDER BY id) ORDER BY id;
-- 1 | NULL | 20 | NULL | NULL
-- 2 | NULL | 10 | NULL | NULL
-- 3 | 20 | 5 | NULL | 20
-- 4 | 10 | 7 | 20 | 10
-- 5 | 5 | 7 | 10 | 5
-- 6 | 5 | 7 | 10 | NULL
-- 7 | 5 | NULL | 10 | NULL

SELECT id, first_value(x) OVER w, last_value(x) OVER w, nth_value(x, 2) OVER w, nth_value(s, 3) OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id) ORDER BY id;
-- 1 | NULL | NULL | NULL | NULL
-- 2 | NULL | 20 | 20 | NULL
-- 3 | NULL | 10 | 20 | 'c'
-- 4 | 5 | 5 | NULL | NULL
-- 5 | 5 | NULL | NULL | NULL
-- 6 | 5 | NULL | NULL | NULL
-- 7 | 5 | 7 | NULL | NULL
SELECT id, first_value(x) IGNORE NULLS OVER w, last_value(x IGNORE NULLS) OVER w, nth_value(x, 2) IGNORE NULLS OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY id;
-- 1 | 20 | 10 | 10
-- 2 | 20 | 10 | 10
-- 3 | 20 | 10 | 10
-- 4 | 5 | 7 | 7
-- 5 | 5 | 7 | 7
-- 6 | 5 | 7 | 7
-- 7 | 5 | 7 | 7
SELECT id, first(s) OVER (ORDER BY id ROWS 1 PRECEDING), last(s) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM t ORDER BY id;
-- 1 | 'a' | NULL
-- 2 | 'a' | 'c'
-- 3 | NULL | 'd'
-- 4 | 'c' | 'e'
-- 5 | 'd' | NULL
-- 6 | 'e' | 'g'
-- 7 | NULL | 'g'

-- FILTER, DISTINCT and other aggregates.
SELECT id, count(*) FILTER (WHERE x > 6) OVER w, sum(x) FILTER (WHERE g = 2) OVER w, max(x) FILTER (WHERE FALSE) OVER w FROM t WINDOW w AS (ORDER BY id) ORDER BY id;
-- 1 | 0 | NULL | NULL
-- 2 | 1 | NULL | NULL
-- 3 | 2 | NULL | NULL
-- 4 | 2 | 5 | NULL
-- 5 | 2 | 5 | NULL
-- 6 | 2 | 5 | NULL
-- 7 | 3 | 12 | NULL
SELECT id, sum(10 / (id - 3)) FILTER (WHERE id <> 3) OVER () FROM t WHERE id < 5 ORDER BY id;
-- 1 | -5
-- 2 | -5
-- 3 | -5
-- 4 | -5
SELECT id, count(DISTINCT g) OVER (ORDER BY id), sum(DISTINCT g) OVER (ORDER BY id), count(DISTINCT x) OVER (PARTITION BY g) FROM t ORDER BY id;
-- 1 | 1 | 1 | 2
-- 2 | 1 | 1 | 2
-- 3 | 1 | 1 | 2
-- 4 | 2 | 3 | 2
-- 5 | 2 | 3 | 2
-- 6 | 2 | 3 | 2
-- 7 | 2 | 3 | 2
SELECT id, string_agg(s, '-') OVER (PARTITION BY g ORDER BY id), median(x) OVER (PARTITION BY g ORDER BY id), bool_or(x > 15) OVER (ORDER BY id), stddev_pop(x) OVER (ORDER BY id) FROM t ORDER BY id;
-- 1 | 'a' | NULL | NULL | NULL
-- 2 | 'a' | 20.0 | true | 0.0
-- 3 | 'a-c' | 15.0 | true | 5.0
-- 4 | 'd' | 5.0 | true | 6.236095644623236
-- 5 | 'd-e' | 5.0 | true | 6.236095644623236
-- 6 | 'd-e' | 5.0 | true | 6.236095644623236
-- 7 | 'd-e-g' | 6.0 | true | 5.766281297335398
SELECT id, array_agg(x) OVER (ORDER BY id ROWS 1 PRECEDING), any_value(x) OVER (ORDER BY id), arg_max(s, id) OVER (ORDER BY id), mode(g) OVER () FROM t ORDER BY id;
-- 1 | [None] | NULL | 'a' | 2
-- 2 | [None, 20] | 20 | 'a' | 2
-- 3 | [20, 10] | 20 | 'c' | 2
-- 4 | [10, 5] | 20 | 'd' | 2
-- 5 | [5, None] | 20 | 'e' | 2
-- 6 | [None, None] | 20 | 'e' | 2
-- 7 | [None, 7] | 20 | 'g' | 2

SELECT nth_value(x, 0) OVER (ORDER BY id) FROM t;
-- error: DataError: nth_value() needs a number above zero
SELECT nth_value(x) OVER (ORDER BY id) FROM t;
-- error: ProgrammingError: nth_value() takes 2 arguments, not 1 (line 1, column 8)
SELECT lag(x, 'a') OVER (ORDER BY id) FROM t;
-- error: ProgrammingError: lag() needs an integer, not 'a' (VARCHAR) (line 1, column 8)
SELECT lag(x, 1, 'a') OVER (ORDER BY id) FROM t;
-- error: DataError: 'a' is not a valid INTEGER (line 1, column 8)
SELECT lag(x, 1, 2, 3) OVER (ORDER BY id) FROM t;
-- error: ProgrammingError: lag() takes 1 to 3 arguments, not 4 (line 1, column 8)
SELECT lag(DISTINCT x) OVER (ORDER BY id) FROM t;
-- error: ProgrammingError: lag() takes no DISTINCT, as it is no aggregate (line 1, column 8)
SELECT rank() IGNORE NULLS OVER (ORDER BY id) FROM t;
-- error: ProgrammingError: rank() has no NULLs to ignore or respect (line 1, column 8)
SELECT sum(x) IGNORE NULLS OVER (ORDER BY id) FROM t;
-- error: ProgrammingError: sum() takes neither IGNORE NULLS nor RESPECT NULLS (line 1, column 8)
SELECT sum(x) IGNORE NULLS FROM t;
-- error: ProgrammingError: sum() takes neither IGNORE NULLS nor RESPECT NULLS (line 1, column 8)
SELECT string_agg(s, ',' ORDER BY id) OVER () FROM t;
-- 'a,c,d,e,g'
-- 'a,c,d,e,g'
-- 'a,c,d,e,g'
-- 'a,c,d,e,g'
-- 'a,c,d,e,g'
-- 'a,c,d,e,g'
-- 'a,c,d,e,g'

-- An ORDER BY of its own orders the rows of a frame that is the whole partition, and says nothing where order does not matter.
SELECT x, list(x ORDER BY x DESC) OVER (PARTITION BY g) AS a, string_agg(x::VARCHAR, ',' ORDER BY x DESC) OVER () AS b,
    first(x ORDER BY x DESC) OVER () AS c, nth_value(x, 2 ORDER BY x DESC) OVER () AS d, sum(x ORDER BY x) OVER (ORDER BY x) AS e,
    list(DISTINCT x ORDER BY x DESC) FILTER (WHERE x > 1) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS f
  FROM (VALUES (1, 1), (2, 1), (3, 2), (3, 2)) AS t (x, g) ORDER BY x;
-- 1 | [2, 1] | '3,3,2,1' | 3 | 3 | 1 | [3, 2]
-- 2 | [2, 1] | '3,3,2,1' | 3 | 3 | 3 | [3, 2]
-- 3 | [3, 3] | '3,3,2,1' | 3 | 3 | 9 | [3, 2]
-- 3 | [3, 3] | '3,3,2,1' | 3 | 3 | 9 | [3, 2]

-- Of a frame that is less it is that of the window, or an error.
SELECT x, list(x ORDER BY x) OVER (ORDER BY x) AS a FROM (VALUES (2), (1)) AS t (x) ORDER BY x;
-- 1 | [1]
-- 2 | [1, 2]

SELECT list(x ORDER BY x DESC) OVER (ORDER BY x) FROM (VALUES (2), (1)) AS t (x);
-- error: NotSupportedError: ORDER BY in list() with OVER is not supported here; it goes behind OVER (line 1, column 8)

SELECT lead(x ORDER BY x) OVER () FROM (VALUES (2), (1)) AS t (x);
-- error: NotSupportedError: ORDER BY in lead() with OVER is not supported here; it goes behind OVER (line 1, column 8)

SELECT mode(x ORDER BY x DESC) OVER () FROM (VALUES (2), (1)) AS t (x);
-- error: NotSupportedError: ORDER BY in mode() with OVER is not supported here; it goes behind OVER (line 1, column 8)
