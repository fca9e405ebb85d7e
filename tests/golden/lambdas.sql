-- Functions of lists that take a lambda, and list comprehensions.
CREATE TABLE t (id INTEGER, l INTEGER[], a INTEGER, s VARCHAR[]);

INSERT INTO t VALUES (1, [1, 2, 3], 10, ['a', 'b']), (2, [], 20, []), (3, NULL, 30, NULL), (4, [5, NULL], NULL, ['x', NULL]),
  (5, [7], 50, ['zz']);

-- The row beside is read once a row.
SELECT id, list_transform(l, lambda x: x + a), list_filter(l, lambda x: x > id), list_reduce(l, lambda x, y: x + y, a)
  FROM t ORDER BY id;
-- 1 | [11, 12, 13] | [2, 3] | 16
-- 2 | [] | [] | 20
-- 3 | NULL | NULL | NULL
-- 4 | [None, None] | [5] | NULL
-- 5 | [57] | [7] | 57

SELECT id, [x || id FOR x IN s], [x || i FOR x, i IN s], [x * i FOR x, i IN l IF i > 1] FROM t ORDER BY id;
-- 1 | ['a1', 'b1'] | ['a1', 'b2'] | [4, 9]
-- 2 | [] | [] | []
-- 3 | NULL | NULL | NULL
-- 4 | ['x4', None] | ['x1', None] | [None]
-- 5 | ['zz5'] | ['zz1'] | []

-- The arrow, and the other names.
SELECT list_apply([1, 2], x -> x * 2), array_transform([1], x -> x), array_apply([1], (x, i) -> x + i),
  array_filter([1, 2], x -> x > 1), filter([1, 2], x -> x < 2), array_reduce([1, 2], (x, y) -> x * y), reduce([5], (x, y) -> x);
-- [2, 4] | [1] | [2] | [2] | [1] | 2 | 5

-- An arrow behind what the other side does not name is that of JSON.
SELECT list_transform(['{"a": 1}'], lambda j: j -> 'a'), upper('{"a": "x"}' ->> 'a');
-- ['1'] | 'X'

-- The place of an element is one parameter more; of list_reduce() it is that of the next element.
SELECT list_transform([4, 5], lambda x, i: x * i), list_filter([4, 5], lambda x, i: i = 2),
  list_reduce([10, 20, 30], lambda a, b, i: a * 100 + b + i * 1000);
-- [4, 10] | [5] | 305030

-- The result so far may be wider than an element.
SELECT list_reduce([1, 2], lambda x, y: x + y + 0.5), list_reduce([1, 2.5], lambda x, y: x + y), list_reduce(['a', 'b'], lambda x, y: x || y, '');
-- 3.5 | 3.5 | 'ab'

SELECT list_reduce([1, NULL, 3], lambda x, y: x + y), list_reduce([1, NULL, 3], lambda x, y: coalesce(x, 0) + coalesce(y, 0)),
  list_reduce([]::INTEGER[], lambda x, y: x + y, 7), list_reduce(NULL::INTEGER[], lambda x, y: x + y, 7);
-- NULL | 4 | 7 | NULL

SELECT list_reduce([]::INTEGER[], lambda x, y: x + y);
-- error: DataError: list_reduce() of an empty list needs an initial value

SELECT list_reduce([2147483647, 1], lambda x, y: x + y);
-- error: DataError: the result of the addition is out of range for INTEGER

-- Lambdas within lambdas, structs, lists of lists, subqueries of the row.
SELECT id, list_transform(l, lambda x: list_transform(l, lambda y: x * y + a)) FROM t ORDER BY id;
-- 1 | [[11, 12, 13], [12, 14, 16], [13, 16, 19]]
-- 2 | []
-- 3 | NULL
-- 4 | [[None, None], [None, None]]
-- 5 | [[99]]

SELECT list_transform([{'a': 1}, {'a': 2}], lambda r: r.a + 1), list_filter([[1, 2], [3]], lambda l: list_contains(l, 3)),
  list_transform(map_entries(MAP {'k': 1}), lambda e: e.key), list_reduce([[1], [2, 3]], lambda x, y: list_concat(x, y));
-- [2, 3] | [[3]] | ['k'] | [1, 2, 3]

SELECT id, list_transform(l, lambda x: x + (SELECT max(u.id) FROM t u WHERE u.a < t.a)) FROM t ORDER BY id;
-- 1 | [None, None, None]
-- 2 | []
-- 3 | NULL
-- 4 | [None, None]
-- 5 | [10]

-- What a branch does not need is not computed, and NULL is no error.
SELECT list_transform([1, 0], lambda x: CASE WHEN x <> 0 THEN 10 // x END), list_transform([NULL, 1], lambda x: x + 1),
  list_transform([], lambda x: x), list_transform([1, 2], lambda x: NULL), list_transform(NULL, lambda x: x);
-- [10, None] | [None, 2] | [] | [None, None] | NULL

SELECT list_transform([1, 0], lambda x: 10 // x);
-- error: DataError: division by zero

-- Anywhere that an expression stands.
SELECT count(*), list_transform(l, lambda x: x // 2) AS halves FROM t GROUP BY list_transform(l, lambda x: x // 2) ORDER BY count(*), len(halves);
-- 1 | []
-- 1 | [3]
-- 1 | [2, None]
-- 1 | [0, 1, 1]
-- 1 | NULL

SELECT a, list_transform(list(id), lambda x: x * a) FROM t WHERE len(list_filter(l, lambda x: x > 1)) > 0 GROUP BY a ORDER BY a;
-- 10 | [10]
-- 50 | [250]
-- NULL | [None]

CREATE TABLE c (l INTEGER[] CHECK (len(list_filter(l, lambda x: x > 0)) = len(l)));

INSERT INTO c VALUES ([1, 2]);

INSERT INTO c VALUES ([1, -2]);
-- error: IntegrityError: table 'c', row 1: the check (len(list_filter(l, lambda x: x > 0)) = len(l)) does not hold: (l) = ([1, -2])

ALTER TABLE c RENAME COLUMN l TO x;

INSERT INTO c VALUES ([-1]);
-- error: IntegrityError: table 'c', row 1: the check (len(list_filter("x", lambda x: x > 0)) = len("x")) does not hold: (x) = ([-1])

CREATE VIEW v AS SELECT id, list_transform(l, lambda x: x * 2) AS twice FROM t;

SELECT * FROM v WHERE id = 1;
-- 1 | [2, 4, 6]

EXPLAIN SELECT list_transform(l, lambda x: x + id) FROM t;
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: list_transform(l, lambda x, id: (x + id), id) AS list_transform(l, lambda x: x + id)'
-- '  ScanTable: t (id, l)'

-- A parameter hides a column of its name, and is not a table.
SELECT list_transform(l, lambda id: id) FROM t WHERE id = 1;
-- [1, 2, 3]

SELECT list_transform(l, lambda x: t.a + x) FROM t WHERE id = 1;
-- [11, 12, 13]

SELECT lambda FROM (SELECT 1 AS lambda);
-- 1

SELECT list_transform([1], lambda x: y);
-- error: ProgrammingError: column 'y' does not exist (line 1, column 38)

SELECT list_transform([1], lambda x: (SELECT x));
-- error: ProgrammingError: column 'x' does not exist (line 1, column 46)

SELECT list_transform([1], lambda x: sum(x));
-- error: ProgrammingError: a lambda cannot contain the aggregate sum (line 1, column 38)

SELECT list_transform([1], lambda x, y, z: x);
-- error: ProgrammingError: the lambda of list_transform() has 1 or 2 parameters, not 3 (line 1, column 8)

SELECT list_reduce([1], lambda x: x);
-- error: ProgrammingError: the lambda of list_reduce() has 2 or 3 parameters, not 1 (line 1, column 8)

SELECT list_transform([1], lambda x, X: x);
-- error: ProgrammingError: a lambda has two parameters named 'X' (line 1, column 8)

SELECT list_transform(1, lambda x: x);
-- error: ProgrammingError: list_transform() needs a list, not 1 (INTEGER) (line 1, column 8)

SELECT list_transform([1], 5);
-- error: ProgrammingError: list_transform() needs a lambda, such as lambda x: x + 1 (line 1, column 8)

SELECT list_transform([1]);
-- error: ProgrammingError: list_transform() takes 2 arguments, not 1 (line 1, column 8)

SELECT list_filter([1], lambda x: x || 'a');
-- error: ProgrammingError: the condition of list_filter() needs a condition, not an expression (VARCHAR) (line 1, column 8)

SELECT upper(lambda x: x);
-- error: ProgrammingError: SELECT cannot contain a lambda, which is for functions such as list_transform() (line 1, column 21)

SELECT list_transform([1], lambda x);
-- error: ProgrammingError: syntax error at line 1, column 35: unexpected 'x', expected ')'

-- apply() is one of their names, and no word.
SELECT apply([1, 2], lambda x: x + 1), apply([1], x -> x * 3), apply.apply FROM (SELECT 1 AS apply) AS apply;
-- [2, 3] | [3] | 1
