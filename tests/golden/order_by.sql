CREATE TABLE t (id INTEGER, a INTEGER, b VARCHAR);

INSERT INTO t VALUES (1, 3, 'b'), (2, 1, 'a'), (3, NULL, 'C'), (4, 2, NULL), (5, 1, 'b');

SELECT id FROM t ORDER BY id DESC;
-- 5
-- 4
-- 3
-- 2
-- 1
SELECT id FROM t ORDER BY a, b;
-- 2
-- 5
-- 4
-- 1
-- 3
SELECT id FROM t ORDER BY a DESC, b DESC;
-- 3
-- 1
-- 4
-- 5
-- 2
SELECT b FROM t ORDER BY b, id;
-- 'C'
-- 'a'
-- 'b'
-- 'b'
-- NULL

-- By position, by alias, by an expression, by a column that is not selected.
SELECT id, a FROM t ORDER BY 2, 1;
-- 2 | 1
-- 5 | 1
-- 4 | 2
-- 1 | 3
-- 3 | NULL
SELECT id, -a AS minus FROM t ORDER BY minus, id;
-- 1 | -3
-- 4 | -2
-- 2 | -1
-- 5 | -1
-- 3 | NULL
SELECT id FROM t ORDER BY a * a - 4 * a, id;
-- 4
-- 1
-- 2
-- 5
-- 3
SELECT b, sum(a) FROM t GROUP BY b ORDER BY sum(a) DESC, b;
-- 'C' | NULL
-- 'b' | 4
-- NULL | 2
-- 'a' | 1
SELECT b FROM t GROUP BY b ORDER BY count(*) DESC, b DESC;
-- 'b'
-- NULL
-- 'a'
-- 'C'

SELECT id FROM t ORDER BY id LIMIT 2;
-- 1
-- 2
SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 3;
-- 4
-- 5
SELECT id FROM t ORDER BY id OFFSET 4;
-- 5
SELECT id FROM t ORDER BY id LIMIT 0;
-- (no rows)
SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 10;
-- (no rows)
SELECT id FROM t ORDER BY a DESC NULLS LAST, id LIMIT 1;
-- 1
SELECT count(*) FROM t LIMIT 1;
-- 5

SELECT id FROM t ORDER BY 3;
-- error: ProgrammingError: ORDER BY position 3 is not in the SELECT list, which has 1
SELECT id FROM t ORDER BY c;
-- error: ProgrammingError: column 'c' does not exist in 't' (line 1, column 27)
SELECT id FROM t LIMIT -1;
-- error: ProgrammingError: LIMIT must not be negative, as -1 is
SELECT id FROM t LIMIT 'two';
-- error: ProgrammingError: LIMIT needs an integer, not 'two' (VARCHAR) (line 1, column 24)

CREATE TABLE missing (a INTEGER);

INSERT INTO missing VALUES (1), (NULL), (2);

SELECT a FROM missing ORDER BY a;
-- 1
-- 2
-- NULL

SET default_null_order = 'nulls_first';

SELECT a FROM missing ORDER BY a;
-- NULL
-- 1
-- 2

SELECT a FROM missing ORDER BY a DESC;
-- NULL
-- 2
-- 1

SELECT a FROM missing ORDER BY a NULLS LAST;
-- 1
-- 2
-- NULL

SELECT a, row_number() OVER (ORDER BY a) FROM missing ORDER BY 2;
-- NULL | 1
-- 1 | 2
-- 2 | 3

SELECT list(a ORDER BY a) FROM missing;
-- [None, 1, 2]

SET default_null_order = 'NULLS LAST';

SELECT a FROM missing ORDER BY a DESC;
-- 2
-- 1
-- NULL

SHOW default_null_order;
-- 'nulls_last'

SET default_null_order = 'nowhere';
-- error: ProgrammingError: default_null_order is one of nulls_are_large, nulls_are_small, nulls_first, nulls_last, not 'nowhere' (line 1, column 26)

RESET default_null_order;

SELECT a FROM missing ORDER BY a DESC;
-- NULL
-- 2
-- 1

-- Comments may stand amid the words.
SELECT x, row_number() OVER (PARTITION /* a */ BY x ORDER /* b */ BY x) AS n, list(x ORDER/**/BY x) AS l
  FROM (VALUES (2), (1), (2)) AS t (x) GROUP -- c
  BY x ORDER /* d */ BY x DESC;
-- 1 | 1 | [1]
-- 2 | 1 | [2, 2]

SELECT 'order /* no */ by' AS "order" ORDER /* by */ BY "order";
-- 'order /* no */ by'
