-- Generated columns: computed of the others when a row is written, and read as these are.

CREATE TABLE t (a INTEGER, b INT AS (a + 1), c VARCHAR DEFAULT 'x', d GENERATED ALWAYS AS (c || '-' || B::VARCHAR) STORED);

INSERT INTO t VALUES (1, 'p'), (2, 'q');

INSERT INTO t (a) VALUES (7) RETURNING *;
-- 7 | 8 | 'x' | 'x-8'

INSERT INTO t BY NAME SELECT 9 AS a;

INSERT INTO t DEFAULT VALUES;

SELECT * FROM t ORDER BY a NULLS LAST;
-- 1 | 2 | 'p' | 'p-2'
-- 2 | 3 | 'q' | 'q-3'
-- 7 | 8 | 'x' | 'x-8'
-- 9 | 10 | 'x' | 'x-10'
-- NULL | NULL | 'x' | NULL

SELECT d, count(*) FROM t WHERE b > 2 GROUP BY d ORDER BY d;
-- 'q-3' | 1
-- 'x-10' | 1
-- 'x-8' | 1

UPDATE t SET a = a * 10 WHERE b = 2 RETURNING b, d;
-- 11 | 'p-11'

UPDATE t SET c = 'z' WHERE a = 2;

DELETE FROM t WHERE b = 10 RETURNING *;
-- 9 | 10 | 'x' | 'x-10'

MERGE INTO t USING (VALUES (10, 'm'), (11, 'n')) AS s (a, c) ON t.a = s.a
    WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT RETURNING *;
-- 10 | 11 | 'm' | 'm-11'
-- 11 | 12 | 'n' | 'n-12'

SELECT * FROM t ORDER BY a NULLS LAST;
-- 2 | 3 | 'z' | 'z-3'
-- 7 | 8 | 'x' | 'x-8'
-- 10 | 11 | 'm' | 'm-11'
-- 11 | 12 | 'n' | 'n-12'
-- NULL | NULL | 'x' | NULL

DESCRIBE t;
-- 'a' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'b' | 'INTEGER' | 'YES' | NULL | NULL | 'GENERATED ALWAYS AS (a + 1)'
-- 'c' | 'VARCHAR' | 'YES' | NULL | '''x''' | NULL
-- 'd' | 'VARCHAR' | 'YES' | NULL | NULL | 'GENERATED ALWAYS AS (c || ''-'' || CAST(B AS VARCHAR))'

SELECT column_name, column_default, is_generated, generation_expression
    FROM information_schema.columns WHERE table_name = 't';
-- 'a' | NULL | 'NEVER' | NULL
-- 'b' | NULL | 'ALWAYS' | 'a + 1'
-- 'c' | '''x''' | 'NEVER' | NULL
-- 'd' | NULL | 'ALWAYS' | 'c || ''-'' || CAST(B AS VARCHAR)'

CREATE VIEW v AS SELECT b, d FROM t;

SELECT sum(b), min(d) FROM v;
-- 34 | 'm-11'

CREATE TABLE copied AS SELECT * FROM t;

INSERT INTO copied VALUES (0, 0, '', '');

-- no statement gives them values

INSERT INTO t VALUES (1, 2, 'p', 'q');
-- error: ProgrammingError: row 1 of VALUES has 4 values, but INSERT INTO 't' needs 2; 'c' is the last column (line 1, column 13)

INSERT INTO t (a, b) VALUES (1, 2);
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 19)

INSERT INTO t (a, b) VALUES (1, DEFAULT);
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 19)

INSERT INTO t BY NAME SELECT 1 AS a, 2 AS b;
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 43)

UPDATE t SET b = 3;
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 14)

UPDATE t SET (a, b) = (1, 2);
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 18)

MERGE INTO t USING (VALUES (1, 2)) AS s (a, b) ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 3;
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 45)

MERGE INTO t USING (VALUES (1, 2)) AS s (a, b) ON t.a = s.a WHEN NOT MATCHED THEN INSERT BY NAME;
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 45)

COPY t (a, b) FROM 'data/none.csv';
-- error: ProgrammingError: column 'b' of table 't' is generated: it takes no value (line 1, column 12)

-- their types, and one that reads others, in any order

CREATE TABLE typed (e AS (d * 2), d DECIMAL(9, 2) AS (n / 3), n INTEGER, f AS (NULL), g AS ([n, e]), h BOOLEAN AS (n));

INSERT INTO typed VALUES (1), (NULL);

SELECT *, typeof(e), typeof(f), typeof(g) FROM typed ORDER BY n;
-- 0.00 | 0.00 | 1 | NULL | [Decimal('1.00'), Decimal('0.00')] | true | 'DECIMAL(11,2)' | 'INTEGER' | 'DECIMAL(12,2)[]'
-- NULL | NULL | NULL | NULL | [None, None] | NULL | 'DECIMAL(11,2)' | 'INTEGER' | 'DECIMAL(12,2)[]'

CREATE TABLE fails (a INTEGER, b TINYINT AS (a * 100));

INSERT INTO fails VALUES (1), (2);
-- error: DataError: 200 is out of range for TINYINT

SELECT count(*) FROM fails;
-- 0

CREATE TABLE fails2 (a INTEGER, b DATE AS (a));
-- error: ProgrammingError: cannot cast 'a' (INTEGER) to DATE (line 1, column 22)

-- constraints

CREATE TABLE parent (id INTEGER PRIMARY KEY);

CREATE TABLE kept (a INTEGER, b AS (a % 10) NOT NULL UNIQUE CHECK (b < 5), c AS (-b));

INSERT INTO kept VALUES (3);

INSERT INTO kept VALUES (13);
-- error: IntegrityError: table 'kept', row 1: the unique key (b) = (3) is in the table already

INSERT INTO kept VALUES (8);
-- error: IntegrityError: table 'kept', row 1: the check (b < 5) does not hold: (b) = (8)

INSERT INTO kept VALUES (NULL);
-- error: IntegrityError: table 'kept', row 1: column 'b' is NOT NULL, but has no value

INSERT INTO kept VALUES (23) ON CONFLICT (b) DO UPDATE SET a = excluded.a + excluded.c RETURNING *;
-- 20 | 0 | 0

INSERT OR REPLACE INTO kept VALUES (30) RETURNING *;
-- 30 | 0 | 0

INSERT OR IGNORE INTO kept VALUES (40), (41);

SELECT * FROM kept ORDER BY a;
-- 30 | 0 | 0
-- 41 | 1 | -1

CREATE TABLE refused (a INTEGER, b AS (a) PRIMARY KEY);
-- error: NotSupportedError: column 'b' of table 'refused' is generated, so it cannot be part of the primary key (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS (a) REFERENCES parent (id));
-- error: NotSupportedError: column 'b' of table 'refused' is generated, so it cannot be part of a foreign key (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS (a), FOREIGN KEY (a, b) REFERENCES kept (a, b));
-- error: NotSupportedError: column 'b' of table 'refused' is generated, so it cannot be part of a foreign key (line 1, column 34)

-- what an expression may not be

CREATE TABLE refused (a INTEGER, b AS (b + 1));
-- error: ProgrammingError: table 'refused' has generated columns that depend on each other: b (line 1, column 14)

CREATE TABLE refused (a INTEGER, b AS (c), c AS (d), d AS (b));
-- error: ProgrammingError: table 'refused' has generated columns that depend on each other: b, c, d (line 1, column 14)

CREATE TABLE refused (b AS (1));
-- error: ProgrammingError: table 'refused' has no column that is not generated (line 1, column 14)

CREATE TABLE refused (a INTEGER, b AS (nowhere));
-- error: ProgrammingError: column 'nowhere' does not exist in 'refused' (line 1, column 40)

CREATE TABLE refused (a INTEGER, b AS ((SELECT 1)));
-- error: ProgrammingError: the generated column 'b' can't have a query in it (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS (sum(a)));
-- error: ProgrammingError: the generated column 'b' cannot contain the aggregate sum (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS (row_number() OVER ()));
-- error: ProgrammingError: the generated column 'b' can't have a window function in it (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS (random()));
-- error: ProgrammingError: the generated column 'b' needs an expression whose value is that of the row alone, at all times and in all time zones: random() (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS (a + epoch(now())));
-- error: ProgrammingError: the generated column 'b' needs an expression whose value is that of the row alone, at all times and in all time zones: a + epoch(now()) (line 1, column 34)

CREATE TABLE refused (a TIMESTAMP WITH TIME ZONE, b AS (a::DATE));
-- error: ProgrammingError: the generated column 'b' needs an expression whose value is that of the row alone, at all times and in all time zones: CAST(a AS DATE) (line 1, column 51)

CREATE TABLE refused (a TIMESTAMP WITH TIME ZONE, b AS (a + INTERVAL 1 DAY));
-- error: ProgrammingError: the generated column 'b' needs an expression whose value is that of the row alone, at all times and in all time zones: a + INTERVAL 1 DAY (line 1, column 51)

CREATE TABLE zoned (a TIMESTAMP WITH TIME ZONE, b AS ((a AT TIME ZONE 'UTC')::DATE), c AS (a));

CREATE TABLE refused (a INTEGER, b AS (a) DEFAULT 3);
-- error: ProgrammingError: column 'b' of table 'refused' has more than one default, identity or expression that generates it (line 1, column 34)

CREATE TABLE refused (a INTEGER, b AS a + 1);
-- error: ProgrammingError: the expression of a generated column needs parentheses

CREATE TABLE refused (a INTEGER, b);
-- error: ProgrammingError: the column 'b' has no type (line 1, column 34)

CREATE TABLE refused (a INTEGER, b INTEGER GENERATED BY DEFAULT AS (a + 1));
-- error: ProgrammingError: column 'b' of table 'refused' has more than one default, identity or expression that generates it (line 1, column 34)

-- ALTER TABLE

ALTER TABLE kept ADD COLUMN d INTEGER AS (a + b);

ALTER TABLE kept ADD COLUMN IF NOT EXISTS e AS (d * 2);

INSERT INTO kept (a) VALUES (2);

SELECT * FROM kept ORDER BY a;
-- 2 | 2 | -2 | 4 | 8
-- 30 | 0 | 0 | 30 | 60
-- 41 | 1 | -1 | 42 | 84

ALTER TABLE kept ADD COLUMN f TINYINT AS (a * 100);
-- error: DataError: 3000 is out of range for TINYINT

ALTER TABLE kept ADD COLUMN f AS (f);
-- error: ProgrammingError: table 'kept' has generated columns that depend on each other: f (line 1, column 13)

ALTER TABLE kept RENAME COLUMN a TO "the a";

INSERT INTO kept VALUES (4);

SELECT "the a", b, e FROM kept ORDER BY 1;
-- 2 | 2 | 8
-- 4 | 4 | 16
-- 30 | 0 | 60
-- 41 | 1 | 84

ALTER TABLE kept ALTER COLUMN d SET DEFAULT 3;
-- error: ProgrammingError: the default of column 'd' of table 'kept' cannot be changed: it is generated (line 1, column 31)

ALTER TABLE kept ALTER COLUMN d TYPE VARCHAR;
-- error: ProgrammingError: the type of column 'd' of table 'kept' cannot be changed: it is generated (line 1, column 31)

ALTER TABLE kept ALTER COLUMN "the a" TYPE BIGINT;
-- error: NotSupportedError: the type of column 'the a' cannot be changed: column 'b' is generated of it (line 1, column 31)

ALTER TABLE kept DROP COLUMN d;
-- error: ProgrammingError: column 'd' of table 'kept' cannot be dropped: column 'e' is generated of it; CASCADE drops it too (line 1, column 30)

ALTER TABLE kept DROP COLUMN d CASCADE;

ALTER TABLE kept DROP COLUMN "the a" CASCADE;
-- error: ProgrammingError: column 'the a' is the only one of table 'kept' (line 1, column 30)

DESCRIBE kept;
-- 'b' | 'INTEGER' | 'NO' | 'UNI' | NULL | 'GENERATED ALWAYS AS ("the a" % 10)'
-- 'c' | 'INTEGER' | 'YES' | NULL | NULL | 'GENERATED ALWAYS AS (-b)'
-- 'the a' | 'INTEGER' | 'YES' | NULL | NULL | NULL

-- named types

CREATE TYPE mood AS ENUM ('sad', 'glad');

CREATE TABLE moods (m mood, n mood AS (CASE m WHEN 'sad' THEN 'glad' ELSE 'sad' END), o AS (m), p AS (m::VARCHAR::mood));

INSERT INTO moods VALUES ('sad'), ('glad');

SELECT * FROM moods ORDER BY m;
-- 'sad' | 'glad' | 'sad' | 'sad'
-- 'glad' | 'sad' | 'glad' | 'glad'

DROP TYPE mood;
-- error: ProgrammingError: type 'mood' cannot be dropped: column 'm' of table 'moods' needs it (line 1, column 11)

-- stars

CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR, short AS (left(name, 2)));

CREATE TABLE sale (city INTEGER REFERENCES city (id), price INTEGER, pieces INTEGER, amount AS (price * pieces));

INSERT INTO city VALUES (1, 'Oslo'), (2, 'Nice');

INSERT INTO sale SELECT 1 + range % 2, range, 2 FROM range(10);

CREATE BVH sales ON sale (SCAN (city.short), GROUP BY (city.short), AGGREGATE (amount));

SELECT short, sum(amount), count(*) FROM sale JOIN city ON sale.city = city.id WHERE short <> 'Ni' GROUP BY short;
-- 'Os' | 40 | 5

INSERT INTO sale VALUES (1, 1000, 1);

SELECT short, sum(amount) FROM sale JOIN city ON sale.city = city.id GROUP BY short ORDER BY short;
-- 'Ni' | 50
-- 'Os' | 1040
