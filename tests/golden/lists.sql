SELECT [1, 2, 3], ARRAY[1, 2, 3], [], [1, NULL], ['a', 'b'], [[1], [2, 3]], [1, 2.5];
-- [1, 2, 3] | [1, 2, 3] | [] | [1, None] | ['a', 'b'] | [[1], [2, 3]] | [Decimal('1.0'), Decimal('2.5')]

SELECT [1, 'a'];
-- error: DataError: 'a' is not a valid INTEGER (line 1, column 9)

CREATE TABLE t (id INTEGER, a INTEGER[], s VARCHAR[], v FLOAT[3]);

INSERT INTO t VALUES (1, [3, 1, 2], ['x', 'y'], [1, 2, 3]), (2, [], [], [0.5, 0, -0.5]), (3, NULL, NULL, NULL),
  (4, [1, NULL, 1], ['x', NULL], '[1, 1, 1]'), (5, ARRAY[7], ARRAY['it''s'], ARRAY[1, 0, 0]);

SELECT * FROM t ORDER BY id;
-- 1 | [3, 1, 2] | ['x', 'y'] | (1.0, 2.0, 3.0)
-- 2 | [] | [] | (0.5, 0.0, -0.5)
-- 3 | NULL | NULL | NULL
-- 4 | [1, None, 1] | ['x', None] | (1.0, 1.0, 1.0)
-- 5 | [7] | ["it's"] | (1.0, 0.0, 0.0)

INSERT INTO t (v) VALUES ([1, 2]);
-- error: DataError: a list of 2 elements does not fit FLOAT[3]

INSERT INTO t (a) VALUES (['one']);
-- error: DataError: column 'a': 'one' is not a valid INTEGER

INSERT INTO t (a) VALUES (1);
-- error: ProgrammingError: column 'a' has the type INTEGER[], but its value is 1 (INTEGER) (line 1, column 16)

-- Subscripts count from 1, or from -1 at the end, and outside there is NULL.
SELECT id, a[1], a[2], a[0], a[-1], a[4], s[1], v[3], a[id] FROM t ORDER BY id;
-- 1 | 3 | 1 | NULL | 2 | NULL | 'x' | 3.0 | 3
-- 2 | NULL | NULL | NULL | NULL | NULL | NULL | -0.5 | NULL
-- 3 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 4 | 1 | NULL | NULL | 1 | NULL | 'x' | 1.0 | NULL
-- 5 | 7 | NULL | NULL | 7 | NULL | 'it''s' | 0.0 | NULL

SELECT id, a[1:2], a[2:], a[:1], a[3:2], v[2:3] FROM t ORDER BY id;
-- 1 | [3, 1] | [1, 2] | [3] | [] | [2.0, 3.0]
-- 2 | [] | [] | [] | [] | [0.0, -0.5]
-- 3 | NULL | NULL | NULL | NULL | NULL
-- 4 | [1, None] | [None, 1] | [1] | [] | [1.0, 1.0]
-- 5 | [7] | [] | [7] | [] | [0.0, 0.0]

SELECT [1, 2][1], [[1, 2], [3]][2][1], a['x'] FROM t;
-- error: ProgrammingError: a subscript is an integer, not 'x' (VARCHAR) (line 1, column 40)

SELECT id, len(a), array_length(a), array_length(a, 1), cardinality(s), len(v) FROM t ORDER BY id;
-- 1 | 3 | 3 | 3 | 2 | 3
-- 2 | 0 | 0 | 0 | 0 | 3
-- 3 | NULL | NULL | NULL | NULL | NULL
-- 4 | 3 | 3 | 3 | 2 | 3
-- 5 | 1 | 1 | 1 | 1 | 3

SELECT id, list_contains(a, 1), array_contains(s, 'x'), list_position(a, 1), list_contains(a, NULL) FROM t ORDER BY id;
-- 1 | true | true | 2 | NULL
-- 2 | false | false | NULL | NULL
-- 3 | NULL | NULL | NULL | NULL
-- 4 | true | true | 1 | NULL
-- 5 | false | false | NULL | NULL

SELECT id, list_append(a, 9), array_prepend(0, a), list_concat(a, [5, 6]), a || 4, a || [5], 0 || a FROM t ORDER BY id;
-- 1 | [3, 1, 2, 9] | [0, 3, 1, 2] | [3, 1, 2, 5, 6] | [3, 1, 2, 4] | [3, 1, 2, 5] | [0, 3, 1, 2]
-- 2 | [9] | [0] | [5, 6] | [4] | [5] | [0]
-- 3 | [9] | [0] | [5, 6] | [4] | [5] | [0]
-- 4 | [1, None, 1, 9] | [0, 1, None, 1] | [1, None, 1, 5, 6] | [1, None, 1, 4] | [1, None, 1, 5] | [0, 1, None, 1]
-- 5 | [7, 9] | [0, 7] | [7, 5, 6] | [7, 4] | [7, 5] | [0, 7]

SELECT id, list_sort(a), list_reverse_sort(a), list_reverse(a), list_distinct(a) FROM t ORDER BY id;
-- 1 | [1, 2, 3] | [3, 2, 1] | [2, 1, 3] | [3, 1, 2]
-- 2 | [] | [] | [] | []
-- 3 | NULL | NULL | NULL | NULL
-- 4 | [1, 1, None] | [1, 1, None] | [1, None, 1] | [1]
-- 5 | [7] | [7] | [7] | [7]

SELECT id, list_sum(a), list_min(a), list_max(a), list_avg(a), list_aggregate(a, 'sum') FROM t ORDER BY id;
-- 1 | 6 | 1 | 3 | 2.0 | 6
-- 2 | NULL | NULL | NULL | NULL | NULL
-- 3 | NULL | NULL | NULL | NULL | NULL
-- 4 | 2 | 1 | 1 | 1.0 | 2
-- 5 | 7 | 7 | 7 | 7.0 | 7

SELECT id, array_to_string(a, '-'), array_to_string(s, ', '), list_aggregate(s, 'string_agg', '+') FROM t ORDER BY id;
-- 1 | '3-1-2' | 'x, y' | 'x+y'
-- 2 | '' | '' | NULL
-- 3 | NULL | NULL | NULL
-- 4 | '1-1' | 'x' | 'x'
-- 5 | '7' | 'it''s' | 'it''s'

SELECT string_split('a,b,,c', ','), str_split('abc', '-'), split(NULL, ','), list_value(1, 2), list_value();
-- ['a', 'b', '', 'c'] | ['abc'] | NULL | [1, 2] | []

SELECT string_split(t, s), s FROM (VALUES ('a-b', '-'), ('héa', ''), ('', ''), (NULL, ''), ('a+-b', '+-'), ('a', NULL), ('', '-')) AS v (t, s);
-- NULL | ''
-- NULL | NULL
-- [''] | '-'
-- ['a', 'b'] | '+-'
-- ['a', 'b'] | '-'
-- ['h', 'é', 'a'] | ''
-- [] | ''

SELECT string_split('a', 1);
-- error: ProgrammingError: string_split() needs a string, not 1 (INTEGER) (line 1, column 8)

SELECT id, array_distance(v, [1, 2, 3]::FLOAT[3]), list_distance(v, [1, 1, 1]), array_inner_product(v, [1, 2, 3]),
  round(array_cosine_distance(v, [1, 2, 3]::FLOAT[3]), 6) FROM t ORDER BY id;
-- 1 | 0.0 | 2.23606797749979 | 14.0 | 0.0
-- 2 | 4.06201920231798 | 1.8708286933869707 | -1.0 | 1.377964
-- 3 | NULL | NULL | NULL | NULL
-- 4 | 2.23606797749979 | 0.0 | 6.0 | 0.07418
-- 5 | 3.605551275463989 | 1.4142135623730951 | 1.0 | 0.732739

SELECT array_distance(v, [1, 2]) FROM t;
-- error: DataError: a list of 2 elements does not fit FLOAT[3]

SELECT list_distance([1, 2], [1, 2, 3]);
-- error: DataError: list_distance() needs two lists of the same length

SELECT list_distance([1, NULL], [1, 2]);
-- error: DataError: list_distance() of a list that contains NULL is not defined

-- Equality; NULL elements are equal, as in PostgreSQL.
SELECT id, a = [3, 1, 2], a <> [], a = [1, NULL, 1], a IS NULL, a IS DISTINCT FROM NULL, a IN ([7], []) FROM t ORDER BY id;
-- 1 | true | true | false | false | true | false
-- 2 | false | false | false | false | true | true
-- 3 | NULL | NULL | NULL | true | false | NULL
-- 4 | false | true | true | false | true | false
-- 5 | false | true | false | false | true | true

SELECT id FROM t WHERE v = [1, 1, 1];
-- 4

SELECT a < [1] FROM t;
-- NULL
-- false
-- false
-- false
-- true

-- Lists are keys; NULL is a value among elements, as it is among lists.
SELECT a, count(*) FROM t GROUP BY a;
-- NULL | 1
-- [1, None, 1] | 1
-- [3, 1, 2] | 1
-- [7] | 1
-- [] | 1

SELECT DISTINCT s, v FROM t;
-- NULL | NULL
-- ["it's"] | (1.0, 0.0, 0.0)
-- ['x', 'y'] | (1.0, 2.0, 3.0)
-- ['x', None] | (1.0, 1.0, 1.0)
-- [] | (0.5, 0.0, -0.5)

SELECT x.id, y.id FROM t x JOIN t y ON x.a = y.a WHERE x.id <> y.id OR x.id > 3;
-- 4 | 4
-- 5 | 5

-- Lists are sorted element by element; what they are not good for is refused.
SELECT * FROM t ORDER BY a;
-- 2 | [] | [] | (0.5, 0.0, -0.5)
-- 4 | [1, None, 1] | ['x', None] | (1.0, 1.0, 1.0)
-- 1 | [3, 1, 2] | ['x', 'y'] | (1.0, 2.0, 3.0)
-- 5 | [7] | ["it's"] | (1.0, 0.0, 0.0)
-- 3 | NULL | NULL | NULL

SELECT max(a) FROM t;
-- [7]

-- They travel through joins.
SELECT x.id, x.a, y.v FROM t x JOIN t y ON x.id = y.id + 1 ORDER BY x.id;
-- 2 | [] | (1.0, 2.0, 3.0)
-- 3 | NULL | (0.5, 0.0, -0.5)
-- 4 | [1, None, 1] | NULL
-- 5 | [7] | (1.0, 1.0, 1.0)

SELECT id, CASE WHEN id > 2 THEN a ELSE [0] END, coalesce(a, [1, 2]) FROM t ORDER BY id;
-- 1 | [0] | [3, 1, 2]
-- 2 | [0] | []
-- 3 | NULL | [1, 2]
-- 4 | [1, None, 1] | [1, None, 1]
-- 5 | [7] | [7]

SELECT id, a::BIGINT[], a::VARCHAR[], a::VARCHAR, v::DOUBLE[] FROM t ORDER BY id;
-- 1 | [3, 1, 2] | ['3', '1', '2'] | '[3, 1, 2]' | [1.0, 2.0, 3.0]
-- 2 | [] | [] | '[]' | [0.5, 0.0, -0.5]
-- 3 | NULL | NULL | NULL | NULL
-- 4 | [1, None, 1] | ['1', None, '1'] | '[1, NULL, 1]' | [1.0, 1.0, 1.0]
-- 5 | [7] | ['7'] | '[7]' | [1.0, 0.0, 0.0]

UPDATE t SET a = list_append(a, 100) WHERE id = 1;

SELECT a FROM t WHERE id = 1;
-- [3, 1, 2, 100]

COPY t TO '$TMP/lists.parquet';

SELECT * FROM '$TMP/lists.parquet' ORDER BY id;
-- 1 | [3, 1, 2, 100] | ['x', 'y'] | (1.0, 2.0, 3.0)
-- 2 | [] | [] | (0.5, 0.0, -0.5)
-- 3 | NULL | NULL | NULL
-- 4 | [1, None, 1] | ['x', None] | (1.0, 1.0, 1.0)
-- 5 | [7] | ["it's"] | (1.0, 0.0, 0.0)

COPY t TO '$TMP/lists.flat';

SELECT * FROM '$TMP/lists.flat' ORDER BY id;
-- 1 | [3, 1, 2, 100] | ['x', 'y'] | (1.0, 2.0, 3.0)
-- 2 | [] | [] | (0.5, 0.0, -0.5)
-- 3 | NULL | NULL | NULL
-- 4 | [1, None, 1] | ['x', None] | (1.0, 1.0, 1.0)
-- 5 | [7] | ["it's"] | (1.0, 0.0, 0.0)

-- In .csv they are the texts that casts give, and COPY reads them again.
COPY t TO '$TMP/lists.csv';

SELECT * FROM '$TMP/lists.csv' ORDER BY id;
-- 1 | '[3, 1, 2, 100]' | '[x, y]' | '[1.0, 2.0, 3.0]'
-- 2 | '[]' | '[]' | '[0.5, 0.0, -0.5]'
-- 3 | NULL | NULL | NULL
-- 4 | '[1, NULL, 1]' | '[x, NULL]' | '[1.0, 1.0, 1.0]'
-- 5 | '[7]' | '[''it\''s'']' | '[1.0, 0.0, 0.0]'

CREATE TABLE again AS SELECT * FROM t LIMIT 0;

COPY again FROM '$TMP/lists.csv';

SELECT * FROM again ORDER BY id;
-- 1 | [3, 1, 2, 100] | ['x', 'y'] | (1.0, 2.0, 3.0)
-- 2 | [] | [] | (0.5, 0.0, -0.5)
-- 3 | NULL | NULL | NULL
-- 4 | [1, None, 1] | ['x', None] | (1.0, 1.0, 1.0)
-- 5 | [7] | ["it's"] | (1.0, 0.0, 0.0)

COPY (SELECT [{'a': 1, 'b': 'x, y'}] AS s, map {'k': [NULL, '']} AS m, INTERVAL '1 day 2 hours' AS i) TO '$TMP/nested.csv';

CREATE TABLE nested (s STRUCT(a INTEGER, b VARCHAR)[], m MAP(VARCHAR, VARCHAR[]), i INTERVAL);

COPY nested FROM '$TMP/nested.csv';

SELECT * FROM nested;
-- [{'a': 1, 'b': 'x, y'}] | {'k': [None, '']} | datetime.timedelta(days=1, seconds=7200)

COPY (SELECT '[1, x]' AS s, '{}' AS m, '1 day' AS i) TO '$TMP/odd.csv';

COPY nested FROM '$TMP/odd.csv';
-- error: DataError: file '$TMP/odd.csv', column 's': '1' is not a valid STRUCT(a INTEGER, b VARCHAR)

COPY (SELECT ['x'::BLOB] AS b) TO '$TMP/blobs.csv';
-- error: NotSupportedError: column 'b' is BLOB[], which cannot be written to a .csv file

SELECT flatten([[1, 2], [3], NULL, []]), flatten([[1], [NULL]]), flatten([[[1]], [[2], NULL]]);
-- [1, 2, 3] | [1, None] | [[1], [2], None]

SELECT flatten(NULL::INTEGER[][]), flatten([]), flatten([NULL]), flatten([NULL]::INTEGER[][]);
-- NULL | [] | [] | []

SELECT flatten(l) FROM (VALUES ([['a'], ['b', 'c']]), (NULL), ([]), ([['d'], NULL])) AS t (l);
-- NULL
-- ['a', 'b', 'c']
-- ['d']
-- []

SELECT flatten(NULL), typeof(flatten(NULL));
-- NULL | 'INTEGER[]'

SELECT flatten([1]);
-- error: ProgrammingError: flatten() needs a list of lists, not a list (INTEGER[]) (line 1, column 8)

SELECT list(x ORDER BY x)[2], list(x ORDER BY x DESC)[1:2], array_agg(x)[1] FROM (VALUES (1), (2)) AS t (x);
-- 2 | [2, 1] | 1

SELECT x, x IN l, x NOT IN l FROM (VALUES (1, [1, NULL]), (2, [1, NULL]), (3, NULL), (4, [])) AS t (x, l);
-- 1 | true | false
-- 2 | NULL | NULL
-- 3 | NULL | NULL
-- 4 | false | true

SELECT 1 IN (1);
-- true

SELECT x IN x FROM (SELECT 1 AS x);
-- error: ProgrammingError: IN, ANY and ALL need a list or a query, not 'x' (INTEGER) (line 1, column 8)

SELECT [1, 2, 3][-1], [1, 2, 3][-3], [1, 2, 3][-4], [1, 2, 3][0];
-- 3 | 1 | NULL | NULL

SELECT a[-2:], a[:-2], a[-1:2], a[0:], a[-9:9] FROM (VALUES ([1, 2, 3]), ([]), (NULL::INTEGER[])) AS t (a);
-- NULL | NULL | NULL | NULL | NULL
-- [2, 3] | [1, 2] | [] | [1, 2, 3] | [1, 2, 3]
-- [] | [] | [] | [] | []

SELECT [1, 2][9223372036854775807:-9223372036854775808], list_min([]::INTEGER[]), list_max(NULL::INTEGER[]);
-- [] | NULL | NULL

SELECT list_sort([3, NULL, 1], 'desc'), list_sort([3, NULL, 1], 'asc', 'nulls first'), list_reverse_sort([3, NULL, 1], 'NULLS FIRST'),
  list_sort([[2], [1, 3], NULL, []]), list_concat([1], NULL, [2], [3]);
-- [3, 1, None] | [None, 1, 3] | [None, 3, 1] | [[], [1, 3], [2], None] | [1, 2, 3]

SELECT list_sort([1], 'up');
-- error: ProgrammingError: list_sort() takes 'ASC', 'DESC', 'NULLS FIRST' and 'NULLS LAST', not 'up' (VARCHAR) (line 1, column 8)

SELECT 0.5::DOUBLE::HUGEINT, 1.5::DOUBLE::HUGEINT, 2.5::DOUBLE::HUGEINT, -2.5::DOUBLE::HUGEINT, fmod(5.5, 2);
-- 0 | 2 | 2 | -2 | 1.5

-- Side by side, of another length, by numbers.
SELECT list_zip([1, 2], ['a']), list_zip([1], NULL::INTEGER[]);
-- [{'f1': 1, 'f2': 'a'}, {'f1': 2, 'f2': None}] | [{'f1': 1, 'f2': None}]

SELECT list_resize([1, 2], 3, 0), list_resize([1, 2], 1), list_resize([1], 3), list_resize(NULL::INTEGER[], 1);
-- [1, 2, 0] | [1] | [1, None, None] | NULL

SELECT list_resize([1], x), list_select([10, 20, 30], [3, x, -1, 9]) FROM range(3) t (x);
-- [1, None] | [30, 20, 30, None]
-- [1] | [30, 10, 30, None]
-- [] | [30, None, 30, None]

SELECT list_resize([1], -1);
-- error: DataError: list_resize() needs a length of at least 0

SELECT list_aggregate([1, NULL, 3], 'count'), list_aggregate([1, NULL], 'last'), list_aggr([5, 6], 'first');
-- 2 | NULL | 5

-- What is looked for in a NULL tells what it would hold.
SELECT list_contains(NULL, 'a') AS a, list_position(NULL, 'a') AS b, list_contains(NULL, NULL) AS c;
-- NULL | NULL | NULL
