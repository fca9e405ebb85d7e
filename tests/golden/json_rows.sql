-- json_each() and json_tree(): what JSON holds as rows.
SELECT * FROM json_each('{"a":1,"b":[1,{"x y":null}],"c":{"d":"x"}}');
-- 'a' | '1' | 'UBIGINT' | '1' | 2 | NULL | '$.a' | '$'
-- 'b' | '[1,{"x y":null}]' | 'ARRAY' | NULL | 4 | NULL | '$.b' | '$'
-- 'c' | '{"d":"x"}' | 'OBJECT' | NULL | 10 | NULL | '$.c' | '$'

SELECT * FROM json_tree('{"a":1,"b":[1,{"x y":null}],"c":{"d":"x"},"e.f":1.50}');
-- '0' | '1' | 'UBIGINT' | '1' | 5 | 4 | '$.b[0]' | '$.b'
-- '1' | '{"x y":null}' | 'OBJECT' | NULL | 6 | 4 | '$.b[1]' | '$.b'
-- 'a' | '1' | 'UBIGINT' | '1' | 2 | 0 | '$.a' | '$'
-- 'b' | '[1,{"x y":null}]' | 'ARRAY' | NULL | 4 | 0 | '$.b' | '$'
-- 'c' | '{"d":"x"}' | 'OBJECT' | NULL | 10 | 0 | '$.c' | '$'
-- 'd' | '"x"' | 'VARCHAR' | '"x"' | 12 | 10 | '$.c.d' | '$.c'
-- 'e.f' | '1.5' | 'DOUBLE' | '1.5' | 14 | 0 | '$."e.f"' | '$'
-- 'x y' | 'null' | 'NULL' | NULL | 8 | 6 | '$.b[1]."x y"' | '$.b[1]'
-- NULL | '{"a":1,"b":[1,{"x y":null}],"c":{"d":"x"},"e.f":1.5}' | 'OBJECT' | NULL | 0 | NULL | '$' | '$'

SELECT key, id, parent, fullkey, path FROM json_tree('{"a":1,"b":[1,{"x y":null}]}', '$.b');
-- '0' | 5 | 4 | '$.b[0]' | '$.b'
-- '1' | 6 | 4 | '$.b[1]' | '$.b'
-- 'x y' | 8 | 6 | '$.b[1]."x y"' | '$.b[1]'
-- NULL | 4 | NULL | '$.b' | '$.b'

SELECT key, value, atom, type FROM json_each('[10, "s", true, -4, 2.5, null, [0]]');
-- '0' | '10' | '10' | 'UBIGINT'
-- '1' | '"s"' | '"s"' | 'VARCHAR'
-- '2' | 'true' | 'true' | 'BOOLEAN'
-- '3' | '-4' | '-4' | 'BIGINT'
-- '4' | '2.5' | '2.5' | 'DOUBLE'
-- '5' | 'null' | NULL | 'NULL'
-- '6' | '[0]' | NULL | 'ARRAY'

SELECT * FROM json_each('7');
-- NULL | '7' | 'UBIGINT' | '7' | 0 | NULL | '$' | '$'

SELECT count(*) FROM json_each(NULL);
-- 0

SELECT count(*) FROM json_each('{}');
-- 0

SELECT count(*) FROM json_each('{"a": 1}', '$.b');
-- 0

SELECT fullkey, id FROM json_each('{"a": {"b": [5, 6]}}', '$.a.b');
-- '$.a.b[0]' | 5
-- '$.a.b[1]' | 6

SELECT fullkey FROM json_each('[1, [2, 3]]', '$[-1]');
-- '$[1][0]'
-- '$[1][1]'

-- Of the tables before them.
CREATE TABLE t (k INTEGER, j JSON);

INSERT INTO t VALUES (1, '[1, 2]'), (2, '{"q": 3}'), (3, NULL), (4, '[]');

SELECT k, e.key, e.value FROM t, json_each(t.j) AS e ORDER BY ALL;
-- 1 | '0' | '1'
-- 1 | '1' | '2'
-- 2 | 'q' | '3'

SELECT k, key FROM t LEFT JOIN json_each(j) ON true ORDER BY ALL;
-- 1 | '0'
-- 1 | '1'
-- 2 | 'q'
-- 3 | NULL
-- 4 | NULL

SELECT k, sum(e.value::INTEGER) FROM t, LATERAL json_each(j) AS e WHERE e.type = 'UBIGINT' GROUP BY k ORDER BY k;
-- 1 | 3
-- 2 | 3

SELECT k, (SELECT count(*) FROM json_tree(t.j)) FROM t ORDER BY k;
-- 1 | 3
-- 2 | 2
-- 3 | 0
-- 4 | 1

SELECT e.* FROM json_each('[1]') AS e(place, element);
-- '0' | '1' | 'UBIGINT' | '1' | 1 | NULL | '$[0]' | '$'

SELECT sum((value ->> 'x')::INTEGER) FROM json_each('[{"x": 1}, {"x": 2}]');
-- 3

SELECT * FROM json_each('{x');
-- error: DataError: '{x' is not valid JSON

SELECT * FROM json_each('{}', '/a');
-- error: DataError: the path '/a' of json_each() and json_tree() does not begin with '$'

SELECT * FROM json_each();
-- error: ProgrammingError: json_each() takes JSON and perhaps a path (line 1, column 15)

-- Lists of paths.
SELECT json_extract(j, ['$.q', '$[0]', NULL]), json_type(j, ['$.q', '$']), json_exists(j, ['q', 'r']) FROM t ORDER BY k;
-- [None, '1', None] | [None, 'ARRAY'] | [False, False]
-- ['3', None, None] | ['UBIGINT', 'OBJECT'] | [True, False]
-- NULL | NULL | NULL
-- [None, None, None] | [None, 'ARRAY'] | [False, False]

SELECT json_extract_string('{"a": "x"}', ['a', 'b']), json_array_length('[[1], 2]', ['$[0]', '$[1]']), json_keys('{"a": {"b": 1}}', ['$', '$.a']);
-- ['x', None] | [1, 0] | [['a'], ['b']]
