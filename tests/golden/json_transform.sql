-- JSON as values of types, which a structure names.
SELECT json_transform('{"a": 1, "b": "x", "c": [1, "2", {}]}', '{"a": "INTEGER", "b": "VARCHAR", "c": ["INTEGER"], "d": "DATE"}');
-- {'a': 1, 'b': 'x', 'c': [1, 2, None], 'd': None}
SELECT json_transform('{"a": "42"}', '{"a": "TINYINT"}'), json_transform('{"a": 1.7}', '{"a": "BIGINT"}'), json_transform('{"a": true}', '{"a": "INTEGER"}'), json_transform('{"a": 1}', '{"a": "BOOLEAN"}'), json_transform('{"a": 300}', '{"a": "UTINYINT"}');
-- {'a': 42} | {'a': 2} | {'a': 1} | {'a': True} | {'a': None}
SELECT typeof(json_transform('{}', '{"a": ["DECIMAL(4, 2)"], "b": {"c": "MAP(VARCHAR, INTEGER)"}, "d": "INTEGER[2]"}'));
-- 'STRUCT(a DECIMAL(4,2)[], b STRUCT(c MAP(VARCHAR, INTEGER)), d INTEGER[2])'
SELECT from_json('{"a": [1.5, "2.25"], "b": {"c": {"x": 1, "y": "2"}}, "d": [1, 2]}', '{"a": ["DECIMAL(4, 2)"], "b": {"c": "MAP(VARCHAR, INTEGER)"}, "d": "INTEGER[2]"}');
-- {'a': [Decimal('1.50'), Decimal('2.25')], 'b': {'c': {'x': 1, 'y': 2}}, 'd': (1, 2)}
SELECT json_transform('[1, 2, 3]', '"INTEGER[2]"'), json_transform('1', '"INTEGER"'), json_transform('null', '{"a": "INTEGER"}'), json_transform('[1]', '{"a": "INTEGER"}'), json_transform('{"a": 1}', '["INTEGER"]');
-- NULL | 1 | NULL | {'a': None} | NULL
SELECT json_transform('{"a": {"b": [1, "é"]}, "d": "2026-05-17", "t": "10:37:00", "e": "ok"}', '{"a": "VARCHAR", "d": "DATE", "t": "TIME", "e": "ENUM(''sad'', ''ok'')"}');
-- {'a': '{"b":[1,"é"]}', 'd': datetime.date(2026, 5, 17), 't': datetime.time(10, 37), 'e': 'ok'}
SELECT j, json_transform(j, '{"a": [{"x": "INTEGER"}]}') FROM (VALUES ('{"a": [{"x": 1}, {"x": null}, null]}'), ('{"a": null}'), ('{}'), (NULL)) v (j);
-- '{"a": [{"x": 1}, {"x": null}, null]}' | {'a': [{'x': 1}, {'x': None}, None]}
-- '{"a": null}' | {'a': None}
-- '{}' | {'a': None}
-- NULL | NULL
SELECT s.a + 1, s.b[1] FROM (SELECT json_transform('{"a": 1, "b": ["x"]}', '{"a": "INTEGER", "b": ["VARCHAR"]}') AS s);
-- 2 | 'x'
SELECT json_transform_strict('{"a": 1}', '{"a": "INTEGER"}'), json_transform_strict('{"a": null}', '{"a": "INTEGER"}'), from_json_strict('["1"]', '["INTEGER"]');
-- {'a': 1} | {'a': None} | [1]
SELECT json_transform_strict('{"a": "x"}', '{"a": "INTEGER"}');
-- error: DataError: 'x' is not a valid INTEGER
SELECT json_transform_strict('{"b": 1}', '{"a": "INTEGER"}');
-- error: DataError: {"b":1} has no key 'a'
SELECT json_transform_strict('[1]', '{"a": "INTEGER"}');
-- error: DataError: [1] is no STRUCT(a INTEGER)
SELECT json_transform_strict('[[1]]', '["INTEGER"]');
-- error: DataError: [1] is no INTEGER
SELECT json_transform_strict('[1]', '"INTEGER[2]"');
-- error: DataError: [1] is no INTEGER[2]
SELECT json_transform('{"a": 1', '{"a": "INTEGER"}');
-- error: DataError: '{"a": 1' is not valid JSON
SELECT json_transform('{}', '{"a": "NOPE"}');
-- error: ProgrammingError: type 'NOPE' does not exist (line 1, column 8)
SELECT json_transform('{}', '{"a": "INTEGER) + (1"}');
-- error: ProgrammingError: "INTEGER) + (1" is no structure of JSON: it means no type (line 1, column 8)
SELECT json_transform('{}', '{}');
-- error: ProgrammingError: {} is no structure of JSON: it means no type (line 1, column 8)
SELECT json_transform('{}', '[]');
-- error: ProgrammingError: [] is no structure of JSON: it means no type (line 1, column 8)
SELECT json_transform('{}', '{"a": "INTEGER", "A": "INTEGER"}');
-- error: ProgrammingError: a STRUCT has two fields named 'A' (line 1, column 8)
SELECT json_transform(j, j) FROM (VALUES ('{}')) v (j);
-- error: ProgrammingError: json_transform() needs a structure that is a constant: the JSON of types, such as '{"a": "INTEGER", "b": ["VARCHAR"]}' (line 1, column 8)
SELECT json_transform('{}');
-- error: ProgrammingError: json_transform() takes 2 arguments, not 1 (line 1, column 8)

-- The structure that JSON has.
SELECT json_structure('{"a": 1, "b": [1, 2.5], "c": {"d": "x"}, "e": null, "f": true, "g": -1, "h": [], "i": {}}');
-- '{"a":"UBIGINT","b":["DOUBLE"],"c":{"d":"VARCHAR"},"e":"NULL","f":"BOOLEAN","g":"BIGINT","h":["NULL"],"i":"JSON"}'
SELECT json_structure('[1, -1]'), json_structure('[1, "a"]'), json_structure('[{"a": 1}, {"b": 2}, {"a": null}]'), json_structure('[[1], ["x"]]');
-- '["HUGEINT"]' | '["JSON"]' | '[{"a":"UBIGINT","b":"UBIGINT"}]' | '[["JSON"]]'
SELECT json_structure('18446744073709551615'), json_structure('18446744073709551616'), json_structure('"x"'), json_structure(NULL), json_structure([1, 2]);
-- '"UBIGINT"' | '"DOUBLE"' | '"VARCHAR"' | NULL | '["UBIGINT"]'
SELECT json_structure('x');
-- error: DataError: 'x' is not valid JSON
SELECT json_transform('[{"a": 1}, {"b": "x"}]', json_structure('[{"a": 1}, {"b": "x"}]'));
-- error: ProgrammingError: json_transform() needs a structure that is a constant: the JSON of types, such as '{"a": "INTEGER", "b": ["VARCHAR"]}' (line 1, column 8)
