-- Lists as sets: values that two of them have in common, NULL left out.
CREATE TABLE l (a INTEGER[], b INTEGER[]);

INSERT INTO l VALUES (NULL, NULL), (NULL, [1]), ([1], NULL), ([3, 1, 2, 3], [2, 3, NULL]), ([1, NULL], [NULL]), ([], [1]), ([1], []);

SELECT list_intersect(a, b), list_has_any(a, b), list_has_all(a, b), list_any_value(a) FROM l;
-- NULL | NULL | NULL | NULL
-- NULL | NULL | NULL | NULL
-- [3, 2] | true | true | 3
-- [] | NULL | NULL | 1
-- [] | false | false | NULL
-- [] | false | true | 1
-- [] | false | true | 1

SELECT list_intersect([1, 2], [2.0, 3.5]), list_intersect(['a', 'b'], ['b']), list_intersect([[1], [2]], [[2], NULL]), list_intersect([], [1]), list_has_all([1], []), list_has_any(NULL, [1]);
-- [Decimal('2.0')] | ['b'] | [[2]] | [] | true | NULL

SELECT list_intersect([{'x': 1}, {'x': 2}], [{'x': 2}]), list_has_any(['NaN'::DOUBLE], ['NaN'::DOUBLE]), list_any_value([NULL, 'x', 'y']), list_pack(1, 2);
-- [{'x': 2}] | true | 'x' | [1, 2]

SELECT list_intersect([1], ['a']);
-- error: ProgrammingError: cannot compare 'element' (INTEGER) with 'element' (VARCHAR) (line 1, column 8)

SELECT list_has_all(1, [1]);
-- error: ProgrammingError: list_has_all() needs a list, not 1 (INTEGER) (line 1, column 8)

SELECT [1, 2, 3] @> [3, 1], [1] <@ [1, 2], [1, 2] && [3], a && b FROM l WHERE a @> [3];
-- true | true | false | true

-- Values of structs.
SELECT struct_position(row(7, 2, 5), 2), struct_position({'a': 1, 'b': NULL}, 2), struct_position(row('x', 'y'), 'y'), struct_contains(row(1, 2), 2.0), struct_contains(row(1), 2), struct_contains(row(1), NULL), struct_contains(NULL::STRUCT(a INTEGER), 1);
-- 2 | NULL | 2 | true | false | NULL | NULL

SELECT struct_position(row(1), 'x');
-- error: DataError: 'x' is not a valid INTEGER (line 1, column 8)

SELECT struct_contains(1, 1);
-- error: ProgrammingError: struct_contains() needs a struct, not 1 (INTEGER) (line 1, column 8)
