-- Lists are compared element by element, structs field by field; NULL within them is the greatest.
SELECT [1, 2] < [1, 3], [1] < [1, NULL], [NULL] > [5], [] < [1], [1] < NULL, [[1], [2]] < [[1], [3]], [2] >= [2], [2] < [2.5];
-- true | true | true | true | NULL | true | true | true

SELECT ['a'] < ['ab'], ['a', 'b'] < ['ab'], [''] < ['a'], ['ä'] > ['z'], [-1.5] < [0.25], ['NaN'::DOUBLE] > ['Infinity'::DOUBLE], [-0.0::DOUBLE] >= [0.0::DOUBLE];
-- true | true | true | true | true | true | true

SELECT [DATE '2024-01-01'] < [DATE '2024-01-02'], [true] > [false], [-99999999999999999999::HUGEINT] < [1::HUGEINT],
  [INTERVAL '1 month'] <= [INTERVAL '30 days'], [1::UBIGINT] < [18446744073709551615::UBIGINT], ['\xFF'::BLOB] > ['\x00'::BLOB];
-- true | true | true | true | true | true

SELECT {'a': 1, 'b': 'x'} < {'a': 1, 'b': 'y'}, {'a': NULL} > {'a': 1}, {'a': [1, 2]} < {'a': [1, 3]};
-- true | true | true

CREATE TABLE t (id INTEGER, l INTEGER[], r STRUCT(a INTEGER, b VARCHAR));

INSERT INTO t VALUES (1, [2], {'a': 1, 'b': 'y'}), (2, [1, 5], {'a': 1, 'b': NULL}), (3, NULL, NULL), (4, [], {'a': NULL, 'b': 'x'}), (5, [1], {'a': 0, 'b': 'z'}), (6, [1, NULL], {'a': 1, 'b': 'x'});

SELECT id, l FROM t ORDER BY l;
-- 4 | []
-- 5 | [1]
-- 2 | [1, 5]
-- 6 | [1, None]
-- 1 | [2]
-- 3 | NULL

SELECT id FROM t ORDER BY l DESC LIMIT 3;
-- 3
-- 1
-- 6

SELECT id FROM t ORDER BY r NULLS FIRST;
-- 3
-- 5
-- 6
-- 1
-- 2
-- 4

SELECT id, rank() OVER (ORDER BY l), row_number() OVER (PARTITION BY a ORDER BY l DESC) FROM (SELECT id, l, r.a AS a FROM t) ORDER BY id;
-- 1 | 5 | 1
-- 2 | 3 | 3
-- 3 | 6 | 1
-- 4 | 1 | 2
-- 5 | 2 | 1
-- 6 | 4 | 2

SELECT a.id, b.id FROM t a JOIN t b ON a.l < b.l ORDER BY 1, 2;
-- 2 | 1
-- 2 | 6
-- 4 | 1
-- 4 | 2
-- 4 | 5
-- 4 | 6
-- 5 | 1
-- 5 | 2
-- 5 | 6
-- 6 | 1

SELECT string_agg(id::VARCHAR, ',' ORDER BY l), count(*) FILTER (WHERE l BETWEEN [1] AND [2]) FROM t;
-- '4,5,2,6,1,3' | 4

SELECT l, count(*) FROM (SELECT l FROM t UNION ALL SELECT l FROM t) GROUP BY l ORDER BY l LIMIT 2;
-- [] | 2
-- [1] | 2

SELECT id FROM t ORDER BY MAP {id: 1};
-- error: NotSupportedError: values of the type MAP(INTEGER, INTEGER) have no order

SELECT MAP {1: 2} < MAP {1: 3};
-- error: NotSupportedError: maps have no order: an expression (MAP(INTEGER, INTEGER)) and an expression (MAP(INTEGER, INTEGER)) (line 1, column 13)

SELECT max(l) FROM t;
-- [2]

-- The greatest and the least of them.
CREATE TABLE nested (x INTEGER, l INTEGER[]);

INSERT INTO nested VALUES (1, [1]), (2, [2, NULL]), (3, NULL), (5, [2]);

SELECT max(l), min(l), max({'a': x}), min((x, l)), max(l) FILTER (WHERE x > 9) FROM nested;
-- [2, None] | [1] | {'a': 5} | {'f1': 1, 'f2': [1]} | NULL

SELECT x % 2, max(l), min(l), arg_max(x, l), mode(l) FROM nested GROUP BY 1 ORDER BY 1;
-- 0 | [2, None] | [2, None] | 2 | [2, None]
-- 1 | [2] | [1] | 5 | [1]

SELECT x, max(l) OVER (ORDER BY x ROWS 1 PRECEDING) FROM nested ORDER BY x;
-- 1 | [1]
-- 2 | [2, None]
-- 3 | [2, None]
-- 5 | [2]

SELECT quantile_disc(l, 0.5), quantile_disc(l, [0, 1]) FROM nested;
-- [2] | [[1], [2, None]]

SELECT x, greatest(l, [1, 5]), least(l, NULL, [2]) FROM nested ORDER BY x;
-- 1 | [1, 5] | [1]
-- 2 | [2, None] | [2]
-- 3 | [1, 5] | [2]
-- 5 | [2] | [2]

SELECT max(MAP {1: x}) FROM nested;
-- error: NotSupportedError: max() of MAP(INTEGER, INTEGER) is not supported (line 1, column 8)
