-- ENUM: types with names and without, casts, comparisons, functions, statements about types.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pet AS ENUM ('happy', 'sad', 'dog');
CREATE TABLE t (id INTEGER, m mood, p pet, s VARCHAR);
INSERT INTO t VALUES
    (1, 'sad', 'dog', 'sad'), (2, 'ok', 'sad', 'zz'), (3, 'happy', 'happy', 'happy'),
    (4, NULL, NULL, NULL);

-- The order is that of the labels; beside a text or another ENUM it is a text.
SELECT m FROM t ORDER BY m DESC NULLS LAST;
-- 'happy'
-- 'ok'
-- 'sad'
-- NULL
SELECT m > 'sad'::mood, m < 'ok', m = 'ok', m = 'none', m < 'none' FROM t;
-- NULL | NULL | NULL | NULL | NULL
-- false | false | false | false | false
-- true | false | true | false | false
-- true | true | false | false | true
SELECT m < p, m = p, m = s, m < s FROM t;
-- NULL | NULL | NULL | NULL
-- false | false | true | false
-- false | true | true | false
-- true | false | false | true
SELECT m IN ('ok', 'none'), m IN ('ok', 'sad'), m IS DISTINCT FROM 'ok' FROM t;
-- NULL | NULL | true
-- false | false | true
-- false | true | true
-- true | true | false
SELECT min(m), max(p), count(DISTINCT m), arg_max(m, id), list(m ORDER BY m) FROM t;
-- 'sad' | 'dog' | 3 | 'happy' | ['sad', 'ok', 'happy', None]
SELECT typeof(m), typeof(coalesce(m, p)), typeof(CASE WHEN id = 1 THEN m ELSE 'x' END) FROM t
    LIMIT 1;
-- 'ENUM(''sad'', ''ok'', ''happy'')' | 'VARCHAR' | 'VARCHAR'
SELECT upper(m), m || '!', length(m), m LIKE 's%', concat(m, '-', p) FROM t ORDER BY id;
-- 'SAD' | 'sad!' | 3 | true | 'sad-dog'
-- 'OK' | 'ok!' | 2 | false | 'ok-sad'
-- 'HAPPY' | 'happy!' | 5 | false | 'happy-happy'
-- NULL | NULL | NULL | NULL | '-'
SELECT lag(m) OVER (ORDER BY id), rank() OVER (ORDER BY m), max(m) OVER (ORDER BY id) FROM t;
-- NULL | 1 | 'sad'
-- 'sad' | 2 | 'ok'
-- 'ok' | 3 | 'happy'
-- 'happy' | 4 | 'happy'
SELECT m FROM t UNION SELECT p FROM t ORDER BY 1 NULLS FIRST;
-- NULL
-- 'dog'
-- 'happy'
-- 'ok'
-- 'sad'
SELECT x.id, y.id FROM t AS x JOIN t AS y ON x.m = y.p ORDER BY 1;
-- 1 | 2
-- 3 | 3
EXPLAIN SELECT id FROM t WHERE m = 'ok' AND m::VARCHAR LIKE 'o%';
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id'
-- '  FilterRows: ((m = ''ok'') AND (CAST(m AS VARCHAR) LIKE ''o%''))'
-- '    ScanTable: t (id, m)'

SELECT 'a'::ENUM('a', 'b'), 'ok'::mood::VARCHAR, 'sad'::mood::pet, TRY_CAST('none' AS mood);
-- 'a' | 'ok' | 'sad' | NULL
SELECT 'none'::mood;
-- error: DataError: 'none' is no value of type 'mood' (line 1, column 8)
SELECT m::pet FROM t;
-- error: DataError: 'ok' is no value of type 'pet'
SELECT 1::mood;
-- error: ProgrammingError: cannot cast 1 (INTEGER) to ENUM('sad', 'ok', 'happy') (line 1, column 8)
SELECT m::INTEGER FROM t;
-- error: DataError: 'sad' is not a valid INTEGER
SELECT m + 1 FROM t;
-- error: ProgrammingError: cannot add 1 (INTEGER) to 'm' (ENUM('sad', 'ok', 'happy')) (line 1, column 8)
SELECT sum(m) FROM t;
-- error: ProgrammingError: sum() needs a number, not 'm' (ENUM('sad', 'ok', 'happy')) (line 1, column 8)
SELECT m = id FROM t;
-- error: ProgrammingError: cannot compare 'm' (ENUM('sad', 'ok', 'happy')) with 'id' (INTEGER) (line 1, column 8)
INSERT INTO t VALUES (5, 'none', NULL, NULL);
-- error: DataError: column 'm': 'none' is no value of type 'mood'
INSERT INTO t (m) SELECT s FROM t;
-- error: DataError: 'zz' is no value of type 'mood'
UPDATE t SET m = 'none';
-- error: DataError: column 'm': 'none' is no value of type 'mood'

SELECT enum_code(m), typeof(enum_code(m)) FROM t;
-- 0 | 'UTINYINT'
-- 1 | 'UTINYINT'
-- 2 | 'UTINYINT'
-- NULL | 'UTINYINT'
SELECT enum_range(NULL::mood), enum_first(m), enum_last(m) FROM t LIMIT 1;
-- ['sad', 'ok', 'happy'] | 'sad' | 'happy'
SELECT enum_range_boundary(m, 'happy'::mood), enum_range_boundary(NULL, m) FROM t;
-- ['happy'] | ['sad', 'ok', 'happy']
-- ['ok', 'happy'] | ['sad', 'ok']
-- ['sad', 'ok', 'happy'] | ['sad', 'ok', 'happy']
-- ['sad', 'ok', 'happy'] | ['sad']
SELECT enum_range_boundary(m, 'dog'::pet) FROM t;
-- error: ProgrammingError: enum_range_boundary() needs two of type 'mood', not 'dog' (ENUM('happy', 'sad', 'dog')) (line 1, column 8)
SELECT enum_first(s) FROM t;
-- error: ProgrammingError: enum_first() needs an ENUM, not 's' (VARCHAR) (line 1, column 8)

CREATE TYPE mood AS ENUM ('a');
-- error: ProgrammingError: type 'mood' exists already (line 1, column 13)
CREATE TYPE IF NOT EXISTS mood AS ENUM ('a');
CREATE OR REPLACE TYPE mood AS ENUM ('a');
-- error: ProgrammingError: type 'mood' cannot be replaced: column 'm' of table 't' needs it (line 1, column 24)
DROP TYPE mood;
-- error: ProgrammingError: type 'mood' cannot be dropped: column 'm' of table 't' needs it (line 1, column 11)
CREATE TYPE price AS DECIMAL(12, 2);
CREATE TABLE sale (amount price, moods mood[], what STRUCT(a mood, b price));
INSERT INTO sale VALUES (1.5, ['ok', NULL], {'a': 'sad', 'b': 2});
SELECT *, moods[1] = 'ok', what.a < 'ok'::mood FROM sale;
-- 1.50 | ['ok', None] | {'a': 'sad', 'b': Decimal('2.00')} | true | true
DESCRIBE sale;
-- 'amount' | 'DECIMAL(12,2)' | 'YES' | NULL | NULL | NULL
-- 'moods' | 'ENUM(''sad'', ''ok'', ''happy'')[]' | 'YES' | NULL | NULL | NULL
-- 'what' | 'STRUCT(a ENUM(''sad'', ''ok'', ''happy''), b DECIMAL(12,2))' | 'YES' | NULL | NULL | NULL
SELECT user_defined_type_name, user_defined_type_category, data_type
    FROM information_schema.user_defined_types;
-- 'mood' | 'ENUM' | 'ENUM(''sad'', ''ok'', ''happy'')'
-- 'pet' | 'ENUM' | 'ENUM(''happy'', ''sad'', ''dog'')'
-- 'price' | 'ALIAS' | 'DECIMAL(12,2)'
SELECT column_name, data_type, declared_type FROM information_schema.columns
    WHERE table_name = 'sale';
-- 'amount' | 'DECIMAL(12,2)' | 'DECIMAL(12,2)'
-- 'moods' | 'ENUM(''sad'', ''ok'', ''happy'')[]' | 'mood[]'
-- 'what' | 'STRUCT(a ENUM(''sad'', ''ok'', ''happy''), b DECIMAL(12,2))' | 'STRUCT(a mood, b DECIMAL(12,2))'
DROP TYPE price;
DROP TYPE price;
-- error: ProgrammingError: type 'price' does not exist (line 1, column 11)
DROP TYPE IF EXISTS price;
CREATE TYPE label AS ENUM (SELECT DISTINCT s FROM t WHERE s IS NOT NULL ORDER BY s);
SELECT enum_range(NULL::label);
-- ['happy', 'sad', 'zz']
CREATE OR REPLACE TYPE label AS ENUM ('x');
SELECT 'x'::label;
-- 'x'
CREATE VIEW v AS SELECT CAST('x' AS label) AS x;
DROP TYPE label;
-- error: ProgrammingError: type 'label' cannot be dropped: view 'v' needs it (line 1, column 11)
DROP VIEW v;
DROP TYPE label;
CREATE TYPE twice AS ENUM ('a', 'a');
-- error: ProgrammingError: an ENUM has the label 'a' twice (line 1, column 28)
CREATE TYPE numbers AS ENUM (SELECT 1);
-- error: ProgrammingError: the labels of an ENUM are the rows of one column of VARCHAR
CREATE TYPE integer AS ENUM ('a');
-- error: ProgrammingError: 'integer' is a type of SQL (line 1, column 13)
CREATE TABLE nothing (a nowhere);
-- error: ProgrammingError: type 'nowhere' does not exist (line 1, column 25)

-- Columns.
ALTER TABLE t ADD COLUMN n mood DEFAULT 'ok';
ALTER TABLE t ALTER COLUMN s TYPE mood;
-- error: DataError: 'zz' is no value of type 'mood'
UPDATE t SET s = NULL WHERE s = 'zz';
ALTER TABLE t ALTER COLUMN s TYPE mood;
ALTER TABLE t ALTER COLUMN n TYPE VARCHAR;
SELECT m, s, n, typeof(s), typeof(n) FROM t WHERE s = m ORDER BY s;
-- 'sad' | 'sad' | 'ok' | 'ENUM(''sad'', ''ok'', ''happy'')' | 'VARCHAR'
-- 'happy' | 'happy' | 'ok' | 'ENUM(''sad'', ''ok'', ''happy'')' | 'VARCHAR'
CREATE TABLE few (m mood PRIMARY KEY, CHECK (m <> 'ok'));
INSERT INTO few VALUES ('sad'), ('sad');
-- error: IntegrityError: table 'few', row 2: the primary key (m) = ('sad') is that of row 1
INSERT INTO few VALUES ('ok');
-- error: IntegrityError: table 'few', row 1: the check (m <> 'ok') does not hold: (m) = ('ok')
INSERT INTO few VALUES ('sad') ON CONFLICT (m) DO NOTHING RETURNING m;
-- 'sad'
CREATE TABLE refers (m mood REFERENCES few (m));
INSERT INTO refers VALUES ('happy');
-- error: IntegrityError: table 'refers', row 1: the foreign key (m) = ('happy') has no row in 'few' (m)
SUMMARIZE SELECT m FROM t;
-- 'm' | 'ENUM(''sad'', ''ok'', ''happy'')' | 'sad' | 'happy' | 3 | NULL | NULL | NULL | NULL | NULL | 4 | 25.00

-- A list of nothing but NULLs takes the type that it is asked for.
CREATE TABLE lists (dates DATE[], structs STRUCT(a INTEGER)[], texts VARCHAR[][]);
INSERT INTO lists VALUES ([NULL], [NULL, NULL], [[NULL], NULL]);
INSERT INTO lists (dates) SELECT CASE WHEN texts IS NOT NULL THEN [NULL] END FROM lists;
SELECT [NULL] || [DATE '2000-01-01'], [NULL] || dates, coalesce(structs, [NULL]) FROM lists;
-- [None, datetime.date(2000, 1, 1)] | [None, None] | [None, None]
-- [None, datetime.date(2000, 1, 1)] | [None, None] | [None]
SELECT [NULL] UNION ALL SELECT [DATE '2000-01-01'];
-- [None]
-- [datetime.date(2000, 1, 1)]
SELECT CASE WHEN dates IS NULL THEN dates ELSE [NULL] END FROM lists;
-- [None]
-- [None]
SELECT [NULL] = ['a'], [[NULL], ['a']], list_append([NULL], 'a'), list_sum([NULL]), [NULL]::DATE[];
-- false | [[None], ['a']] | [None, 'a'] | NULL | [None]
CREATE TABLE made AS SELECT [NULL] AS a, [] AS b, {'c': [NULL]} AS d;
DESCRIBE made;
-- 'a' | 'INTEGER[]' | 'YES' | NULL | NULL | NULL
-- 'b' | 'INTEGER[]' | 'YES' | NULL | NULL | NULL
-- 'd' | 'STRUCT(c INTEGER[])' | 'YES' | NULL | NULL | NULL
SELECT map([NULL], [1]);
-- error: DataError: a key of a map is NULL

CREATE TABLE listed (one mood, several mood[], s STRUCT(x mood));

INSERT INTO listed VALUES ('zx', NULL, NULL);
-- error: DataError: column 'one': 'zx' is no value of type 'mood'

INSERT INTO listed SELECT NULL, ['sad', 'zx'], NULL;
-- error: DataError: column 'several': 'zx' is no value of type 'mood'

INSERT INTO listed (s) VALUES ({'x': 'zx'});
-- error: DataError: 'zx' is no value of type 'mood'

UPDATE listed SET several = ['zx'];
-- error: DataError: column 'several': 'zx' is no value of type 'mood'

SELECT several FROM listed ORDER BY several;
-- (no rows)

SELECT rank() OVER (ORDER BY several) FROM listed;
-- (no rows)

SELECT list(s ORDER BY s) FROM listed;
-- NULL

CREATE TABLE never_null (m mood CHECK (m IS NOT NULL), n mood, CHECK (n IS NULL OR n = m));

INSERT INTO never_null VALUES ('ok', NULL), ('ok', 'ok');

INSERT INTO never_null VALUES (NULL, NULL);
-- error: IntegrityError: table 'never_null', row 1: the check (m IS NOT NULL) does not hold: (m) = (None)

INSERT INTO never_null VALUES ('ok', 'sad');
-- error: IntegrityError: table 'never_null', row 1: the check (n IS NULL OR n = m) does not hold: (m, n) = ('ok', 'sad')

SELECT m, n FROM never_null;
-- 'ok' | 'ok'
-- 'ok' | NULL
