SELECT '{"a":1,"b":[1,2]}'::JSON -> 'b', '{"a":1}' ->> 'a', '{"a":"x"}'::JSON -> 'a', '{"a":"x"}' ->> '$.a', '{"a":1}' -> 'z';
-- '[1,2]' | '1' | '"x"' | 'x' | NULL
SELECT '[10, 20]' -> 1, '[10, 20]' ->> -1, '[10]' -> 5, '[10]' -> 'a', '{"a":1}' -> 0, '5' -> 'a';
-- '20' | '20' | NULL | NULL | NULL | NULL
SELECT '{"a":{"b":null}}' -> '$.a.b', '{"a":{"b":null}}' ->> '$.a.b', '{"a":{"b":7}}' -> '/a/b', '{"a":[{"b":7}]}' ->> '/a/0/b', '{"x/y":1}' -> '/x~1y';
-- 'null' | NULL | '7' | '7' | '1'
SELECT json_extract('{"a b": [1, {"c": true}]}', '$."a b"[1].c'), json_extract('[1,2,3]', '$[#-1]'), '{"a":1}' -> '$[''a'']', json_value('{"a":1}', '$.a');
-- 'true' | '3' | '1' | '1'
SELECT '12345678901234567890' -> '$', '[1.10, 1e2]' -> '$', '"\u00e9"' ->> '$', '"é"' -> '$', '{"a": [1, 2]}' ->> 'a';
-- '12345678901234567890' | '[1.1,100.0]' | 'é' | '"é"' | '[1,2]'
SELECT upper(j ->> 'a'), json_array_length(j -> 'b'), coalesce(j -> 'z', 'none'), j ->> 'a' = 'x', (j -> 'b' ->> 0)::INTEGER + 1, j ->> 'a' || '!' FROM (SELECT '{"a":"x", "b": [1,2]}' AS j);
-- 'X' | 2 | 'none' | true | 2 | 'x!'
SELECT j -> 'a', j ->> 'a' FROM (VALUES ('{"a":1}'), (NULL)) t (j);
-- '1' | '1'
-- NULL | NULL
SELECT s -> 'a', l ->> 1 FROM (SELECT {'a': {'b': 1}} AS s, [5, 6] AS l);
-- '{"b":1}' | '6'
SELECT '{bad' -> 'a';
-- error: DataError: '{bad' is not valid JSON
SELECT '[NaN]' -> 0;
-- error: DataError: '[NaN]' is not valid JSON
SELECT '{"a":1}' -> '$.*';
-- ['1']
SELECT '{"a":1}' -> '$.';
-- error: DataError: '$.' is not a valid path of JSON (line 1, column 8)
SELECT '{"a":1}' -> true;
-- error: ProgrammingError: json_extract() needs a string, not True (BOOLEAN) (line 1, column 8)
SELECT '1e999' -> '$';
-- error: DataError: a number in JSON is too large

SELECT '{"a": 1}'::JSON, {'a': 1, 'b': [NULL]}::JSON, 5::JSON, true::JSON, NULL::JSON, json('{"a": 1, "b" : [ ]}'), typeof('1'::JSON);
-- '{"a": 1}' | '{"a":1,"b":[null]}' | '5' | 'true' | NULL | '{"a":1,"b":[]}' | 'VARCHAR'
SELECT TRY_CAST('{bad' AS JSON), TRY_CAST('[1]' AS JSON), TRY_CAST([1] AS JSON);
-- NULL | '[1]' | '[1]'
SELECT '{bad'::JSON;
-- error: DataError: '{bad' is not valid JSON
SELECT x'00'::JSON;
-- error: NotSupportedError: to_json() of BLOB is not supported (line 1, column 8)

SELECT json_type('{}'), json_type('[1]'), json_type('{"a":-1}', 'a'), json_type('1'), json_type('1.5'), json_type('null'), json_type('true'), json_type('"x"'), json_type('{"a":1}', 'z');
-- 'OBJECT' | 'ARRAY' | 'BIGINT' | 'UBIGINT' | 'DOUBLE' | 'NULL' | 'BOOLEAN' | 'VARCHAR' | NULL
SELECT json_keys('{"a":1,"b":2}'), json_keys('[1]'), json_keys('{"a":{"c":1}}', 'a'), json_valid('{'), json_valid('{}'), json_valid(NULL);
-- ['a', 'b'] | [] | ['c'] | false | true | NULL
SELECT json_exists('{"a":null}', 'a'), json_exists('{}', '$.a'), json_array_length('[1,2]'), json_array_length('{}'), json_array_length('{"a":[1]}', 'a');
-- true | false | 2 | 0 | 1
SELECT json_object('a', 1, 'b', NULL, 'c', [1,2], 'd', {'x': 'y'}), json_array(1, 'x', NULL, true, 1.5), json_object(), json_array();
-- '{"a":1,"b":null,"c":[1,2],"d":{"x":"y"}}' | '[1,"x",null,true,1.5]' | '{}' | '[]'
SELECT to_json({'a': [1, NULL], 'b': 'x"y'}), to_json(NULL), to_json(DATE '2020-01-01'), to_json(1.5), to_json('x'), to_json(MAP {'a': 1});
-- '{"a":[1,null],"b":"x\"y"}' | NULL | '"2020-01-01"' | '1.5' | '"x"' | '{"a":1}'
SELECT json_object('a');
-- error: ProgrammingError: json_object() takes a value for each key (line 1, column 8)
SELECT to_json('nan'::DOUBLE);
-- error: DataError: NaN and infinities are no numbers of JSON

CREATE TABLE t (id INTEGER, j JSON);
INSERT INTO t VALUES (1, '{"a": {"b": 2}}'), (2, NULL), (3, '{"a": 5}');
SELECT id, j->'a', j->>'$.a.b', j->'a'->>'b' FROM t WHERE j->>'a' = '5' OR id < 3 ORDER BY id;
-- 1 | '{"b":2}' | '2' | '2'
-- 2 | NULL | NULL | NULL
-- 3 | '5' | NULL | NULL
SELECT j ->> 'a' AS a, count(*) FROM t GROUP BY j ->> 'a' ORDER BY a;
-- '5' | 1
-- '{"b":2}' | 1
-- NULL | 1
SELECT json_group_array(id ORDER BY id DESC), json_group_array(j ->> 'a' ORDER BY id), json_group_object(id, j ->> 'a') FILTER (WHERE id <> 1) FROM t;
-- '[3,2,1]' | '["{\"b\":2}",null,"5"]' | '{"2":null,"3":"5"}'
SELECT json_group_array(id) FROM t WHERE id > 5;
-- NULL
SELECT json_group_object(id) FROM t;
-- error: ProgrammingError: json_group_object() takes 2 arguments, not 1 (line 1, column 8)
SELECT string_agg(j -> 'a', ';' ORDER BY j ->> 'a') FROM t;
-- '5;{"b":2}'
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't';
-- 'id' | 'INTEGER'
-- 'j' | 'VARCHAR'

SELECT '"\ud83d\ude00"' ->> '$', json_valid('"\ud800"'), '[1]' -> '/²', '[1]' -> '/1';
-- '😀' | false | NULL | NULL
SELECT '{"a": "\ud800"}' ->> 'a';
-- error: DataError: '{"a": "\ud800"}' is not valid JSON

-- Changes at a path: whatever is there, where nothing is, where something is.
SELECT json_set('{"a": [1, {"b": 2}]}', '$.a[1].b', '3'), json_set('{"a": 1}', '$.b.c', '[true]'), json_set('[1]', '$[#]', '2'), json_set('[1]', '/-', '"x"');
-- '{"a":[1,{"b":3}]}' | '{"a":1,"b":{"c":[true]}}' | '[1,2]' | '[1,"x"]'

SELECT json_set('{"a": 1}', '$.a.b', '2'), json_set('{}', '$.a[1]', '2'), json_set('{}', '$.a[0].b', '2'), json_set('[1, 2]', '$[#-1]', 'null'), json_set('[]', 0, '1');
-- '{"a":1}' | '{}' | '{"a":[{"b":2}]}' | '[1,null]' | '[1]'

SELECT json_insert('{"a": 1}', 'a', '2'), json_insert('{"a": 1}', 'b', '2'), json_replace('{"a": 1}', 'a', '2'), json_replace('{"a": 1}', 'b', '2'), json_replace('{"a": 1}', '$', '{}');
-- '{"a":1}' | '{"a":1,"b":2}' | '{"a":2}' | '{"a":1}' | '{}'

SELECT json_remove('{"a": {"x": 1, "y": 2}}', '$.a.x'), json_remove('[1, 2, 3]', -1), json_remove('[1]', '$[5]'), json_remove('1', '$'), json_remove('{"a\"b": 1}', '$."a\"b"');
-- '{"a":{"y":2}}' | '[1,2]' | '[1]' | NULL | '{}'

SELECT json_set(NULL, 'a', '1'), json_set('{}', NULL, '1'), json_set('{}', 'a', NULL), json_set('{}', 'a', 1.5), json_set('{}', 'a', [1, 2]);
-- NULL | NULL | NULL | '{"a":1.5}' | '{"a":[1,2]}'

SELECT json_set('{}', '$.a[*]', '1');
-- error: NotSupportedError: the path '$.a[*]' is not supported here: wildcards are for constant paths of json_extract() and its kin (line 1, column 23)

SELECT json_set('{}', 'a', 'x');
-- error: DataError: 'x' is not valid JSON

SELECT json_strip_nulls('{"a": [null, {"b": null}], "c": null}'), json_normalize('{"b": {"z": 1, "a": 2}, "a": [{"d": 1, "c": 2}]}');
-- '{"a":[null,{}]}' | '{"a":[{"c":2,"d":1}],"b":{"a":2,"z":1}}'

SELECT json_merge_patch('{"a": {"x": 1}, "b": 2}', '{"a": {"x": null, "y": 2}, "b": null}', '{"c": 3}'), json_merge_patch('{"a": 1}', '[1]'), json_merge_patch(NULL, '{"a": 1}'), json_merge_patch('{"a": 1}', NULL);
-- '{"a":{"y":2},"c":3}' | '[1]' | '{"a":1}' | NULL

SELECT json_deep_merge('{"a": {"x": 1}, "b": 2}', '{"a": {"x": null, "y": 2}, "b": null}'), json_merge_patch_diff('{"a": {"x": 1, "y": 2}, "b": 2}', '{"a": {"x": 1, "y": 3}, "c": 1}');
-- '{"b":2,"a":{"x":1,"y":2}}' | '{"b":null,"a":{"y":3},"c":1}'

-- a part anywhere, and plain values
SELECT json_contains(j, '2'), json_contains(j, '{"b": [2]}'), json_contains(j, '{"b": 2}'), json_contains(j, '2.0'), json_contains(j, NULL)
FROM (VALUES ('{"a": {"b": [1, 2], "c": null}}')) AS v (j);
-- true | true | false | false | NULL
SELECT json_contains('[[1, 2], [3]]', '[3, 3]'), json_contains('"x"', '"x"'), json_contains('true', '1');
-- true | true | false
SELECT json_contains('[1', '1');
-- error: DataError: '[1' is not valid JSON
SELECT json_value(j, '$.a'), json_value(j, '$.b'), json_value(j, '$.c'), json_value(j, '$') FROM (VALUES ('{"a": "x", "b": [1], "c": 2.5}')) AS v (j);
-- 'x' | NULL | '2.5' | NULL

-- Wildcards of constant paths: any key, any index, any depth.
SELECT json_extract('{"a": [{"b": 1}, {"b": 2}, {"c": 3}]}', '$.a[*].b'), json_extract('{"x": 1, "y": [2]}', '$.*'), json_extract('[[1, 2], [3]]', '$[*][0]');
-- ['1', '2'] | ['1', '[2]'] | ['1', '3']

SELECT json_extract('{"a": {"x": 1, "y": {"x": 2}}}', '$..x'), json_extract('{"a": [1, [2]]}', '$..[0]'), json_extract('{"a": {"b": [1, {"c": 2}]}}', '$..*');
-- ['1', '2'] | ['1', '2'] | ['{"b":[1,{"c":2}]}', '[1,{"c":2}]', '1', '{"c":2}', '2']

SELECT j -> '$[*]', j ->> '$[*]', json_type(j, '$[*]'), json_array_length(j, '$[*]') FROM (VALUES ('[1, "a", null, [2]]'), ('7'), (NULL)) AS v (j);
-- NULL | NULL | NULL | NULL
-- ['1', '"a"', 'null', '[2]'] | ['1', 'a', None, '[2]'] | ['UBIGINT', 'VARCHAR', 'NULL', 'ARRAY'] | [0, 0, 0, 1]
-- [] | [] | [] | []

SELECT json_keys('[{"a": 1}, 2]', '$[*]'), json_value('[1, "a", [1]]', '$[*]'), typeof(json_extract('[1]', '$[*]'));
-- [['a'], []] | ['1', 'a', None] | 'VARCHAR[]'

SELECT json_extract('[1]', path) FROM (VALUES ('$[*]')) AS v (path);
-- error: NotSupportedError: the path '$[*]' is not supported here: wildcards are for constant paths of json_extract() and its kin (line 1, column 48)

SELECT json_extract('[1]', '$..');
-- error: DataError: '$..' is not a valid path of JSON (line 1, column 8)

SELECT json_extract('[1]', '$**.x');
-- error: DataError: '$**.x' is not a valid path of JSON (line 1, column 8)

-- Deep values, and paths to too many.
SELECT len(json_extract(repeat('[', 800) || repeat(']', 800), '$..*'));
-- 799

SELECT len(json_type(repeat('[', 160) || repeat(']', 160), '$..*..*..*..*'));
-- error: DataError: the path '$..*..*..*..*' leads to more than 1,048,576 places
