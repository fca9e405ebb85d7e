-- What works on lists and on texts, and lists by their aggregates.
CREATE TABLE t (a INTEGER, s VARCHAR, l INTEGER[], m MAP(VARCHAR, INTEGER));

INSERT INTO t VALUES (1, 'abc', [1, 2, NULL, 2], MAP {'x': 1, 'y': 2}), (2, 'xyz', [3], MAP {}), (3, NULL, NULL, NULL);

SELECT length(s), length(l), len(s), len(l), length(m) FROM t ORDER BY a;
-- 3 | 4 | 3 | 4 | 2
-- 3 | 1 | 3 | 1 | 0
-- NULL | NULL | NULL | NULL | NULL

SELECT array_slice(s, 2, 3), list_slice(l, 2, 3), list_slice(s, 2, NULL), list_element(s, -1), list_extract(l, 9), list_extract(s, 9) FROM t ORDER BY a;
-- 'bc' | [2, None] | NULL | 'c' | NULL | ''
-- 'yz' | [] | NULL | 'z' | NULL | ''
-- NULL | NULL | NULL | NULL | NULL | NULL

SELECT element_at(m, 'x'), map_extract(m, 'y'), map_concat(m, MAP {'x': 9, 'z': 0}), map_concat(NULL, m) FROM t ORDER BY a;
-- [1] | [2] | {'x': 9, 'y': 2, 'z': 0} | {'x': 1, 'y': 2}
-- [] | [] | {'x': 9, 'z': 0} | {}
-- NULL | NULL | {'x': 9, 'z': 0} | NULL

SELECT map_concat(NULL, NULL), map_concat(MAP {'a': 1}, MAP {'b': 2.5}, MAP {'a': 3});
-- NULL | {'a': Decimal('3.0'), 'b': Decimal('2.5')}

SELECT map_concat(MAP {'a': 1}, MAP {1: 2});
-- error: ProgrammingError: cannot combine an expression (MAP(VARCHAR, INTEGER)) with an expression (MAP(INTEGER, INTEGER)) (line 1, column 8)

SELECT map_concat([1], MAP {1: 2});
-- error: ProgrammingError: map_concat() needs a map, not a list (INTEGER[]) (line 1, column 8)

SELECT element_at(MAP {[1]::TINYINT[]: 'a'}, [1]), MAP {[1]::TINYINT[]: 'a'}[[1]];
-- ['a'] | 'a'

SELECT list_indexof(l, 2), array_indexof([1, NULL], NULL) FROM t ORDER BY a;
-- 2 | 2
-- NULL | 2
-- NULL | 2

SELECT list_mode(l), list_mode(['b', 'a', 'a', 'b']), list_mode([]::INTEGER[]), list_mode([NULL]::INTEGER[]) FROM t ORDER BY a;
-- 2 | 'b' | NULL | NULL
-- 3 | 'b' | NULL | NULL
-- NULL | 'b' | NULL | NULL

SELECT list_bool_or([false, true]), list_bool_and([true, NULL]), list_bool_or([]::BOOLEAN[]), list_aggregate([true, false], 'bool_and'), list_aggregate([5, 5, 6], 'mode');
-- true | true | NULL | false | 5

SELECT list_zip([1, 2], ['a'], true), list_zip([1, 2], ['a'], false), list_zip([1], NULL::INTEGER[], true);
-- [{'f1': 1, 'f2': 'a'}] | [{'f1': 1, 'f2': 'a'}, {'f1': 2, 'f2': None}] | []

SELECT [1, 2] + [3], [1]::BIGINT[] + [NULL], [] + ['a'], l + l FROM t ORDER BY a;
-- [1, 2, 3] | [1, None] | ['a'] | [1, 2, None, 2, 1, 2, None, 2]
-- [1, 2, 3] | [1, None] | ['a'] | [3, 3]
-- [1, 2, 3] | [1, None] | ['a'] | NULL

SELECT [1] - [2];
-- error: ProgrammingError: cannot subtract a list (INTEGER[]) from a list (INTEGER[]) (line 1, column 9)

SELECT range(1, 5, 0), generate_series(5, 1, 0), range(5, 1, -2), range('2020-01-01'::DATE, '2020-01-03'::DATE, INTERVAL 0 DAY);
-- [] | [] | [5, 3] | []

-- A struct of row() becomes another by the places of its fields.
SELECT row(1, 'x', 1.5)::STRUCT(a BIGINT, b VARCHAR, c DOUBLE), [row(1, 2)]::STRUCT(a BIGINT, b VARCHAR)[], struct_extract(row(5, 6), 2);
-- {'a': 1, 'b': 'x', 'c': 1.5} | [{'a': 1, 'b': '2'}] | 6

SELECT row(1, 2)::STRUCT(a INTEGER);
-- error: ProgrammingError: cannot cast a struct (STRUCT(f1 INTEGER, f2 INTEGER)) to STRUCT(a INTEGER) (line 1, column 8)

SELECT struct_extract({'a': 1}, 1);
-- error: ProgrammingError: struct_extract() needs the name of a field, not 1 (INTEGER) (line 1, column 8)

-- Sums of check, and numbers for values.
SELECT sha1('Ray'), left(sha256('Ray'), 8), sha1(NULL);
-- 'eb23efbb267893b699389ae74854547979d265bd' | 'cc172a7c' | NULL

SELECT hash(1) = hash(1), hash('a', 'b') = hash('b', 'a'), hash(NULL) IS NULL, hash(0.0::DOUBLE) = hash('-0.0'::DOUBLE), typeof(hash([1, 2])), count(DISTINCT hash(i, i % 3)) AS n FROM range(100) r(i) GROUP BY ALL;
-- true | false | false | true | 'UBIGINT' | 100

SELECT 'epoch'::TIMESTAMP, 'Epoch'::DATE, TIMESTAMPTZ 'epoch' = '1970-01-01 00:00:00+00'::TIMESTAMPTZ, TRY_CAST('epochs' AS DATE);
-- 1970-01-01T00:00:00 | 1970-01-01 | true | NULL

SELECT typeof(TIMESTAMP '2024-01-01 00:00:00.5'::TIMESTAMP(3)), typeof('10:00'::TIME(6));
-- 'TIMESTAMP_MS' | 'TIME'

SELECT NULL::TIMESTAMP(10);
-- error: NotSupportedError: the type TIMESTAMP(10) is not supported (line 1, column 24)

-- Constants that are computed.
SELECT string_agg(s, ',' || ';' ORDER BY a), quantile_cont(a, 0.25 + 0.25), approx_quantile(a, 0.5), approx_quantile(a * 1.5::DOUBLE, [0.0, 0.5]) FROM t;
-- 'abc,;xyz' | 2.0 | 2 | [1.5, 3.0]

-- LIMIT and OFFSET of a subquery.
SELECT a FROM t ORDER BY a DESC LIMIT (SELECT 2);
-- 3
-- 2

SELECT a FROM t ORDER BY a LIMIT (SELECT count(*) - 1 FROM t) OFFSET (SELECT min(a) FROM t);
-- 2
-- 3

SELECT a FROM t ORDER BY a LIMIT (SELECT NULL::INTEGER) OFFSET (SELECT NULL::INTEGER);
-- 1
-- 2
-- 3

SELECT DISTINCT a % 2 AS o FROM t ORDER BY o LIMIT (SELECT 1) + 0;
-- 0

SELECT a FROM t UNION ALL SELECT -a FROM t ORDER BY a LIMIT (SELECT 2);
-- -3
-- -2

SELECT a FROM t LIMIT (SELECT 'x');
-- error: ProgrammingError: LIMIT needs an integer, not an expression (VARCHAR)

SELECT a FROM t LIMIT (SELECT a FROM t);
-- error: DataError: a subquery used as an expression gave more than one row

-- SELECT DISTINCT in the order of what is computed of its columns.
SELECT DISTINCT a % 2 AS o, 'x' AS x FROM t ORDER BY -o, x;
-- 1 | 'x'
-- 0 | 'x'

SELECT DISTINCT a % 2 FROM t ORDER BY -(a % 2);
-- 1
-- 0

SELECT DISTINCT sum(a) AS n FROM t GROUP BY s ORDER BY -sum(a) LIMIT 2;
-- 3
-- 2

SELECT DISTINCT a % 2 AS o FROM t ORDER BY a;
-- error: ProgrammingError: ORDER BY of SELECT DISTINCT can only use selected columns
