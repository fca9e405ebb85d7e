-- STRUCT, MAP and UUID: declared, stored, selected, compared, grouped and cast.

CREATE TABLE t (
    i INTEGER,
    s STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e BIGINT[])),
    l STRUCT(x INTEGER)[],
    m MAP(VARCHAR, INTEGER),
    u UUID
);
INSERT INTO t VALUES
    (1, {'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': [1, 2]}}, [{'x': 1}, {'x': 2}], MAP {'k': 1, 'z': 2},
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
    (2, {'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': [1, 2]}}, [], MAP {},
     '{B0EEBC999C0B4EF8BB6D6BB9BD380A11}'),
    (3, NULL, NULL, NULL, NULL),
    (4, {'a': NULL, 'b': NULL, 'c': NULL}, [NULL, {'x': 3}], MAP {'k': NULL},
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');

DESCRIBE t;
-- 'i' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'l' | 'STRUCT(x INTEGER)[]' | 'YES' | NULL | NULL | NULL
-- 'm' | 'MAP(VARCHAR, INTEGER)' | 'YES' | NULL | NULL | NULL
-- 's' | 'STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e BIGINT[]))' | 'YES' | NULL | NULL | NULL
-- 'u' | 'UUID' | 'YES' | NULL | NULL | NULL
SELECT * FROM t ORDER BY i;
-- 1 | {'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': [1, 2]}} | [{'x': 1}, {'x': 2}] | {'k': 1, 'z': 2} | UUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
-- 2 | {'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': [1, 2]}} | [] | {} | UUID('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
-- 3 | NULL | NULL | NULL | NULL
-- 4 | {'a': None, 'b': None, 'c': None} | [None, {'x': 3}] | {'k': None} | UUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
SELECT s.a, s.c.d, t.s.b, s['b'], (s).c.e, s.c.e[1] FROM t ORDER BY i;
-- 1 | 1.5 | 'x' | 'x' | [1, 2] | 1
-- 1 | 1.5 | 'x' | 'x' | [1, 2] | 1
-- NULL | NULL | NULL | NULL | NULL | NULL
-- NULL | NULL | NULL | NULL | NULL | NULL
SELECT s.*, t.s.c.d AS deep FROM t ORDER BY i;
-- 1 | 'x' | {'d': 1.5, 'e': [1, 2]} | 1.5
-- 1 | 'x' | {'d': 1.5, 'e': [1, 2]} | 1.5
-- NULL | NULL | NULL | NULL
-- NULL | NULL | NULL | NULL
SELECT s::VARCHAR, l::VARCHAR, m::VARCHAR, u::VARCHAR FROM t ORDER BY i;
-- '{''a'': 1, ''b'': x, ''c'': {''d'': 1.5, ''e'': [1, 2]}}' | '[{''x'': 1}, {''x'': 2}]' | '{k=1, z=2}' | 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
-- '{''a'': 1, ''b'': x, ''c'': {''d'': 1.5, ''e'': [1, 2]}}' | '[]' | '{}' | 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
-- NULL | NULL | NULL | NULL
-- '{''a'': NULL, ''b'': NULL, ''c'': NULL}' | '[NULL, {''x'': 3}]' | '{k=NULL}' | 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
SELECT {'it''s': 'a, b', 'n': NULL, 'plain': 'x y'}::VARCHAR, [{'a': ''}]::VARCHAR;
-- '{''it\''s'': ''a, b'', ''n'': NULL, ''plain'': x y}' | '[{''a'': ''''}]'

-- Comparing and grouping
SELECT s, count(*) FROM t GROUP BY s ORDER BY min(i);
-- {'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': [1, 2]}} | 2
-- NULL | 1
-- {'a': None, 'b': None, 'c': None} | 1
SELECT m, count(*) FROM t GROUP BY m ORDER BY min(i);
-- {'k': 1, 'z': 2} | 1
-- {} | 1
-- NULL | 1
-- {'k': None} | 1
SELECT u, count(*) FROM t GROUP BY u ORDER BY u NULLS LAST;
-- UUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') | 2
-- UUID('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') | 1
-- NULL | 1
SELECT count(DISTINCT s), count(DISTINCT u), min(u), max(u) FROM t;
-- 2 | 2 | UUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') | UUID('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
SELECT x.i, y.i FROM t x JOIN t y ON x.s = y.s AND x.i < y.i;
-- 1 | 2
SELECT x.i, y.i FROM t x JOIN t y ON x.m = y.m ORDER BY 1, 2;
-- 1 | 1
-- 2 | 2
-- 4 | 4
SELECT x.i, y.i FROM t x JOIN t y ON x.u = y.u AND x.i < y.i;
-- 1 | 4
SELECT i FROM t WHERE s = {'a': 1, 'b': 'x', 'c': {'d': 1.5, 'e': [1, 2]}} ORDER BY i;
-- 1
-- 2
SELECT i FROM t WHERE s IS NULL OR s.a IS NULL ORDER BY i;
-- 3
-- 4
SELECT i FROM t WHERE u > 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' ORDER BY i;
-- 2
SELECT i FROM t WHERE u IN ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') ORDER BY i;
-- 2
SELECT i FROM t ORDER BY s;
-- 1
-- 2
-- 4
-- 3
SELECT i FROM t WHERE m < MAP {'a': 1};
-- error: NotSupportedError: maps have no order: 'm' (MAP(VARCHAR, INTEGER)) and an expression (MAP(VARCHAR, INTEGER)) (line 1, column 23)

-- Making them
SELECT {'a': i, 'b': [i]}, struct_pack(x := i, y := 'q'), row(i, 'q') FROM t ORDER BY i;
-- {'a': 1, 'b': [1]} | {'x': 1, 'y': 'q'} | {'f1': 1, 'f2': 'q'}
-- {'a': 2, 'b': [2]} | {'x': 2, 'y': 'q'} | {'f1': 2, 'f2': 'q'}
-- {'a': 3, 'b': [3]} | {'x': 3, 'y': 'q'} | {'f1': 3, 'f2': 'q'}
-- {'a': 4, 'b': [4]} | {'x': 4, 'y': 'q'} | {'f1': 4, 'f2': 'q'}
SELECT MAP {'a': i, 'b': 2}, map([i, 9], ['x', 'y']) FROM t ORDER BY i;
-- {'a': 1, 'b': 2} | {1: 'x', 9: 'y'}
-- {'a': 2, 'b': 2} | {2: 'x', 9: 'y'}
-- {'a': 3, 'b': 2} | {3: 'x', 9: 'y'}
-- {'a': 4, 'b': 2} | {4: 'x', 9: 'y'}
SELECT {'a': 1, 'b': 2}::STRUCT(b VARCHAR, c INTEGER);
-- {'b': '2', 'c': None}
SELECT {'a': 1}::STRUCT(c INTEGER);
-- error: ProgrammingError: cannot cast a struct (STRUCT(a INTEGER)) to STRUCT(c INTEGER) (line 1, column 14)
SELECT [{'a': 1}, {'b': 'x'}];
-- [{'a': 1, 'b': None}, {'a': None, 'b': 'x'}]
SELECT typeof({'a': 1, 'Odd name': [1.5]}), typeof(MAP {1: 'x'}), typeof(uuid());
-- 'STRUCT(a INTEGER, "Odd name" DECIMAL(2,1)[])' | 'MAP(INTEGER, VARCHAR)' | 'UUID'
SELECT count(DISTINCT gen_random_uuid()) FROM range(1000);
-- 1000
SELECT CASE WHEN i > 2 THEN s END, coalesce(s.b, 'none') FROM t ORDER BY i;
-- NULL | 'x'
-- NULL | 'x'
-- NULL | 'none'
-- {'a': None, 'b': None, 'c': None} | 'none'

-- Lists of structs, and maps as lists
SELECT i, unnest(l) FROM t ORDER BY i;
-- 1 | {'x': 1}
-- 1 | {'x': 2}
-- 4 | NULL
-- 4 | {'x': 3}
SELECT i, e.x FROM (SELECT i, unnest(l) AS e FROM t) ORDER BY i, 2;
-- 1 | 1
-- 1 | 2
-- 4 | 3
-- 4 | NULL
SELECT m['k'], m['none'], map_keys(m), map_values(m), cardinality(m), map_contains(m, 'z') FROM t ORDER BY i;
-- 1 | NULL | ['k', 'z'] | [1, 2] | 2 | true
-- NULL | NULL | [] | [] | 0 | false
-- NULL | NULL | NULL | NULL | NULL | NULL
-- NULL | NULL | ['k'] | [None] | 1 | false
SELECT map_from_entries(map_entries(m)) = m FROM t ORDER BY i;
-- true
-- true
-- NULL
-- true
SELECT unnest(map_keys(m)) FROM t ORDER BY 1;
-- 'k'
-- 'k'
-- 'z'

-- What they must not be
SELECT s.zz FROM t;
-- error: ProgrammingError: 's' (STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e BIGINT[]))) has no field 'zz' (line 1, column 8)
SELECT s['zz'] FROM t;
-- error: ProgrammingError: 's' (STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e BIGINT[]))) has no field 'zz' (line 1, column 8)
SELECT i.a FROM t;
-- error: ProgrammingError: table 'i' is not in FROM (line 1, column 8)
SELECT s.a.b FROM t;
-- error: ProgrammingError: an expression (INTEGER) has no field 'b': it is no struct (line 1, column 8)
SELECT {'a': 1, 'A': 2};
-- error: ProgrammingError: a struct has two fields named 'A' (line 1, column 14)
SELECT MAP {'a': 1, 'a': 2};
-- error: DataError: a key of a map is there twice
SELECT MAP {NULL: 1};
-- error: DataError: a key of a map is NULL
SELECT map([1], [1, 2]);
-- error: DataError: map() needs as many keys as values
SELECT 'a0eebc99'::UUID;
-- error: DataError: 'a0eebc99' is not a valid UUID (line 1, column 8)
SELECT '{a: 1}'::STRUCT(a INTEGER);
-- {'a': 1}
CREATE TABLE bad (s STRUCT(a INTEGER, A INTEGER));
-- error: ProgrammingError: a STRUCT has two fields named 'A' (line 1, column 28)
CREATE TABLE bad (s STRUCT(a INTEGER) PRIMARY KEY);
-- error: NotSupportedError: column 's' of table 'bad' is STRUCT(a INTEGER), which cannot be part of a primary key (line 1, column 19)
INSERT INTO t (s) VALUES ({'q': 1});
-- error: ProgrammingError: column 's' has the type STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e BIGINT[])), but its value is a struct (STRUCT(q INTEGER)) (line 1, column 16)
INSERT INTO t (m) VALUES (MAP {1: 'x'});
-- error: ProgrammingError: column 'm' has the type MAP(VARCHAR, INTEGER), but its value is an expression (MAP(INTEGER, VARCHAR)) (line 1, column 16)

-- Keys, checks, changes
CREATE TABLE k (u UUID PRIMARY KEY DEFAULT gen_random_uuid(), s STRUCT(a INTEGER), CHECK (s.a > 0));
INSERT INTO k (s) VALUES ({'a': 1}), ({'a': 2});
SELECT count(DISTINCT u) FROM k;
-- 2
INSERT INTO k (s) VALUES ({'a': 0});
-- error: IntegrityError: table 'k', row 1: the check (s.a > 0) does not hold: (s) = ({'a': 0})
INSERT INTO k VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL);
INSERT INTO k VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL);
-- error: IntegrityError: table 'k', row 1: the primary key (u) = ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') is in the table already
DELETE FROM k WHERE u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
UPDATE k SET s = {'a': s.a + 10} WHERE s.a = 2;
SELECT s FROM k ORDER BY s.a;
-- {'a': 1}
-- {'a': 12}
ALTER TABLE k RENAME COLUMN s TO "The s";
INSERT INTO k ("The s") VALUES ({'a': 0});
-- error: IntegrityError: table 'k', row 1: the check ("The s".a > 0) does not hold: (The s) = ({'a': 0})

CREATE BVH b ON t (SCAN (s), AGGREGATE (i));
-- error: NotSupportedError: column 's' is STRUCT(a INTEGER, b VARCHAR, c STRUCT(d DOUBLE, e BIGINT[])), which no BVH takes (line 1, column 26)
CREATE BVH b ON t (SCAN (m), AGGREGATE (i));
-- error: NotSupportedError: column 'm' is MAP(VARCHAR, INTEGER), which no BVH takes (line 1, column 26)
CREATE BVH b ON t (SCAN (u), AGGREGATE (i));
SELECT u, sum(i) FROM t GROUP BY u ORDER BY u;
-- UUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') | 5
-- UUID('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') | 2
-- NULL | 3

-- Rows are structs whose fields are numbered.
SELECT (1, 'a'), (x, x + 1), (1, 2) IN ((1, 2)) FROM range(1) t (x);
-- {'f1': 1, 'f2': 'a'} | {'f1': 0, 'f2': 1} | true

SELECT map_from_entries([(1, 'a'), (2, 'b')]);
-- {1: 'a', 2: 'b'}

SELECT ();
-- error: ProgrammingError: a row () has no value

SELECT struct_insert({'a': 1}, b := 2), struct_update({'a': 1}, A := 'x', c := 3), struct_concat({'a': 1}, {'b': 2});
-- {'a': 1, 'b': 2} | {'a': 'x', 'c': 3} | {'a': 1, 'b': 2}

SELECT struct_insert(s, b := 2), struct_extract_at(s, 1) FROM (VALUES ({'a': 1}), (NULL)) t (s);
-- NULL | NULL
-- {'a': 1, 'b': 2} | 1

SELECT struct_insert({'a': 1}, A := 2);
-- error: ProgrammingError: a struct (STRUCT(a INTEGER)) has a field 'A' already (line 1, column 8)

SELECT struct_concat({'a': 1}, {'A': 2});
-- error: ProgrammingError: struct_concat() would have a field 'A' twice (line 1, column 8)

SELECT struct_extract_at({'a': 1}, 3);
-- error: ProgrammingError: a struct (STRUCT(a INTEGER)) has 1 fields, not 3 (line 1, column 8)

-- ROW(name type, ...) is STRUCT(name type, ...).
SELECT {'i': 1, 'j': 2}::ROW(i BIGINT, j VARCHAR), typeof(CAST(NULL AS ROW(a INTEGER, b ROW(c DATE)))), ROW(1, 'x');
-- {'i': 1, 'j': '2'} | 'STRUCT(a INTEGER, b STRUCT(c DATE))' | {'f1': 1, 'f2': 'x'}

-- A key that is text, as a field.
SELECT m."a", t.m."b", m."c" FROM (SELECT MAP {'a': 1, 'b': 2} AS m) AS t;
-- 1 | 2 | NULL
