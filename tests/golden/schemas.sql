CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR); INSERT INTO item VALUES (1, 'ink'), (2, 'pen');

CREATE SCHEMA sales;

CREATE SCHEMA Sales;
-- error: ProgrammingError: schema 'sales' exists already (line 1, column 15)

CREATE SCHEMA IF NOT EXISTS SALES;

CREATE SCHEMA main;
-- error: ProgrammingError: schema 'main' exists already (line 1, column 15)

CREATE SCHEMA information_schema;
-- error: ProgrammingError: schema 'information_schema' exists already (line 1, column 15)

CREATE SCHEMA "a.b";
-- error: NotSupportedError: the name of a schema has no dot, unlike 'a.b' (line 1, column 15)

-- Tables of one name in two schemas.
CREATE TABLE sales.item (id INTEGER PRIMARY KEY, amount INTEGER DEFAULT 1 CHECK (amount > 0));

INSERT INTO sales.item VALUES (1, 5), (3, DEFAULT) RETURNING item.amount;
-- 1
-- 5

SELECT name, amount FROM item AS i JOIN sales.item AS s USING (id);
-- 'ink' | 5

SELECT main.item.name, s.amount FROM main.item, raydb.sales.item AS s WHERE s.id = item.id;
-- 'ink' | 5

SELECT sales.item.amount, raydb.sales.item.id, item.id FROM sales.item ORDER BY ALL;
-- 1 | 3 | 3
-- 5 | 1 | 1

SELECT sales.item.amount FROM item JOIN sales.item USING (id);
-- 5

SELECT item.id FROM item, sales.item;
-- error: ProgrammingError: table 'item' is ambiguous: it is in 'main' and in 'sales'; name the schema with it (line 1, column 8)

SELECT * FROM SALES.ITEM ORDER BY id;
-- 1 | 5
-- 3 | 1

UPDATE sales.item SET amount = amount + 1 FROM item AS i WHERE i.id = item.id RETURNING item.id, amount;
-- 1 | 6

INSERT INTO sales.item VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET amount = excluded.amount + item.amount RETURNING *;
-- 1 | 8

INSERT INTO sales.item SELECT id + 10, id FROM item; DELETE FROM sales.item USING item AS i WHERE item.id = i.id + 11; SELECT id FROM sales.item ORDER BY id;
-- 1
-- 3
-- 11

INSERT INTO sales.item VALUES (1, 1);
-- error: IntegrityError: table 'sales.item', row 1: the primary key (id) = (1) is in the table already

INSERT INTO sales.item VALUES (9, 0);
-- error: IntegrityError: table 'sales.item', row 1: the check (amount > 0) does not hold: (amount) = (0)

TRUNCATE sales.item; SELECT count(*) FROM sales.item;
-- 0

-- References, indexes, identities and sequences.
CREATE TABLE sales.line (item INTEGER REFERENCES item (id), kind INTEGER REFERENCES main.item (id));

INSERT INTO sales.item VALUES (7, 7); INSERT INTO sales.line VALUES (7, 1);

INSERT INTO sales.line VALUES (1, 1);
-- error: IntegrityError: table 'sales.line', row 1: the foreign key (item) = (1) has no row in 'sales.item' (id)

INSERT INTO sales.line VALUES (7, 7);
-- error: IntegrityError: table 'sales.line', row 1: the foreign key (kind) = (7) has no row in 'item' (id)

CREATE TABLE other (id INTEGER REFERENCES sales.item (id)); INSERT INTO other VALUES (7);

DROP TABLE other; 
-- An index is in the schema of its table.
CREATE INDEX by_kind ON sales.line (kind); CREATE INDEX by_id ON item (id); CREATE INDEX by_id ON sales.item (id);

SELECT schema_name, index_name, table_name FROM duckdb_indexes() ORDER BY ALL;
-- 'main' | 'by_id' | 'item'
-- 'sales' | 'by_id' | 'item'
-- 'sales' | 'by_kind' | 'line'

DROP INDEX by_kind;
-- error: ProgrammingError: index 'by_kind' does not exist; did you mean 'by_id'? (line 1, column 12)

DROP INDEX sales.by_kind; DROP INDEX sales.by_id;

CREATE INDEX by_id ON item (amount);
-- error: ProgrammingError: index 'by_id' exists already (line 1, column 14)

SELECT name, table_name FROM indexes();
-- 'by_id' | 'item'

DROP INDEX by_id; CREATE INDEX "sales.by_id" ON item (id);
-- error: ProgrammingError: the name 'sales.by_id' begins as those of the schema 'sales' do, so nothing in the schema 'main' has it (line 1, column 32)

CREATE TABLE sales.numbered (id INTEGER GENERATED ALWAYS AS IDENTITY, v INTEGER); INSERT INTO sales.numbered (v) VALUES (5), (6); SELECT * FROM sales.numbered;
-- 1 | 5
-- 2 | 6

CREATE SEQUENCE sales.steps START 10; SELECT nextval('sales.steps');
-- 10

-- Views see their own schema first.
CREATE VIEW sales.lines AS SELECT item.amount, kind FROM line JOIN item ON id = line.item;

FROM sales.lines;
-- 7 | 1

CREATE VIEW names AS SELECT amount FROM sales.item;

FROM names;
-- 7

CREATE VIEW wrong AS SELECT * FROM line;
-- error: ProgrammingError: table 'line' does not exist (line 1, column 36)

DROP TABLE sales.item CASCADE; FROM names;
-- error: ProgrammingError: table 'names' does not exist (line 1, column 37)

-- The schema of names that name none.
USE sales;

SELECT current_schema(), current_database();
-- 'sales' | 'raydb'

CREATE TABLE item AS SELECT 9 AS z; SELECT * FROM item;
-- 9

SELECT * FROM main.item WHERE id = 1;
-- 1 | 'ink'

CREATE TABLE day (d DATE, item INTEGER); ALTER TABLE day RENAME TO days; ALTER TABLE days ADD COLUMN n INTEGER DEFAULT 3;

INSERT INTO days (d) VALUES ('2026-05-01'); FROM days;
-- 2026-05-01 | NULL | 3

SHOW TABLES;
-- 'days'
-- 'item'
-- 'line'
-- 'numbered'

DESCRIBE days;
-- 'd' | 'DATE' | 'YES' | NULL | NULL | NULL
-- 'item' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'n' | 'INTEGER' | 'YES' | NULL | '3' | NULL

PRAGMA table_info('days');
-- 0 | 'd' | 'DATE' | false | NULL | false
-- 1 | 'item' | 'INTEGER' | false | NULL | false
-- 2 | 'n' | 'INTEGER' | false | '3' | false

CREATE TEMP TABLE item AS SELECT 'temporary' AS z; FROM item;
-- 'temporary'

DROP TABLE item; FROM item;
-- 9

SET schema = 'main'; SELECT current_schema();
-- 'main'

SET search_path TO sales; SELECT current_schema();
-- 'sales'

USE raydb.main; SHOW TABLES;
-- 'item'

SHOW TABLES FROM sales;
-- 'days'
-- 'item'
-- 'line'
-- 'numbered'

SHOW TABLES FROM raydb.sales;
-- 'days'
-- 'item'
-- 'line'
-- 'numbered'

SET search_path = 'sales,main';
-- error: NotSupportedError: a search path of several schemas is not supported; it names one

USE nope;
-- error: ProgrammingError: schema 'nope' does not exist, and no database is attached as 'nope' (line 1, column 5)

USE raydb.nope;
-- error: ProgrammingError: schema 'nope' does not exist (line 1, column 11)

-- The catalog.
SELECT schema_name FROM information_schema.schemata ORDER BY 1;
-- 'information_schema'
-- 'main'
-- 'main'
-- 'sales'

SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY ALL;
-- 'main' | 'item' | 'BASE TABLE'
-- 'sales' | 'days' | 'BASE TABLE'
-- 'sales' | 'item' | 'BASE TABLE'
-- 'sales' | 'line' | 'BASE TABLE'
-- 'sales' | 'numbered' | 'BASE TABLE'

SELECT table_schema, column_name FROM information_schema.columns WHERE table_name = 'item' ORDER BY ALL;
-- 'main' | 'id'
-- 'main' | 'name'
-- 'sales' | 'z'

SELECT table_schema, table_name, constraint_type FROM information_schema.table_constraints ORDER BY ALL;
-- 'main' | 'item' | 'CHECK'
-- 'main' | 'item' | 'PRIMARY KEY'
-- 'sales' | 'line' | 'FOREIGN KEY'
-- 'sales' | 'numbered' | 'CHECK'

SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL;
-- 'main' | 'item'
-- 'sales' | 'days'
-- 'sales' | 'item'
-- 'sales' | 'line'
-- 'sales' | 'numbered'

SELECT schema_name, internal FROM duckdb_schemas() ORDER BY ALL;
-- 'information_schema' | true
-- 'main' | false
-- 'main' | true
-- 'sales' | false

SELECT sequence_schema, sequence_name FROM information_schema.sequences;
-- 'sales' | 'steps'

-- Errors
SELECT * FROM sales.nope;
-- error: ProgrammingError: table 'sales.nope' does not exist (line 1, column 15)

SELECT * FROM slaes.item;
-- error: ProgrammingError: schema 'slaes' does not exist, and no database is attached as 'slaes'; did you mean 'sales'? (line 1, column 15)

SELECT * FROM raydb.slaes.item;
-- error: ProgrammingError: schema 'slaes' does not exist; did you mean 'sales'? (line 1, column 15)

CREATE TABLE nope.t (x INTEGER);
-- error: ProgrammingError: schema 'nope' does not exist, and no database is attached as 'nope' (line 1, column 14)

CREATE TABLE "sales.x" (x INTEGER);
-- error: ProgrammingError: the name 'sales.x' begins as those of the schema 'sales' do, so nothing in the schema 'main' has it (line 1, column 14)

SELECT * FROM "sales.item";
-- error: ProgrammingError: table 'sales.item' does not exist (line 1, column 15)

CREATE TEMP TABLE sales.x (x INTEGER);
-- error: ProgrammingError: what is temporary is in the database 'temp', not in 'sales' (line 1, column 8)

CREATE TYPE sales.mood AS ENUM ('ok');
-- error: NotSupportedError: types are in the schema 'main' alone

CREATE BVH b ON sales.days (SCAN (n));
-- error: NotSupportedError: a BVH is on a table of the schema 'main', not 'sales.days'

CREATE TABLE "odd.t" (x INTEGER); CREATE SCHEMA odd;
-- error: ProgrammingError: schema 'odd' cannot be made: the table 'odd.t' of the schema 'main' is called as one in it; rename it first (line 1, column 49)

DROP SCHEMA main;
-- error: ProgrammingError: schema 'main' cannot be dropped: it is always there (line 1, column 13)

DROP SCHEMA nope;
-- error: ProgrammingError: schema 'nope' does not exist (line 1, column 13)

DROP SCHEMA IF EXISTS nope;

DROP SCHEMA sales;
-- error: ProgrammingError: schema 'sales' cannot be dropped: the table 'sales.line' is in it; CASCADE drops it too (line 1, column 13)

-- Transactions
BEGIN; DROP SCHEMA sales CASCADE; SELECT * FROM sales.item;
-- error: ProgrammingError: schema 'sales' does not exist, and no database is attached as 'sales' (line 1, column 49)

ROLLBACK; SELECT * FROM sales.item;
-- 9

BEGIN; CREATE SCHEMA more; CREATE TABLE more.t AS SELECT 1 AS x; COMMIT; SELECT * FROM more.t;
-- 1

DROP TABLE more.t; DROP SCHEMA more; DROP SCHEMA sales CASCADE; SHOW TABLES;
-- 'item'
-- 'odd.t'

SELECT nextval('sales.steps');
-- error: ProgrammingError: sequence 'sales.steps' does not exist (line 1, column 16)

-- Schemas of a database that is attached.
ATTACH ':memory:' AS side; CREATE SCHEMA side.s; CREATE TABLE side.s.t AS SELECT 4 AS x; SELECT side.s.t.x FROM side.s.t;
-- 4

USE side.s; INSERT INTO t VALUES (5); SELECT sum(x), current_database() FROM t;
-- 9 | 'side'

CREATE SCHEMA raydb.side; CREATE TABLE raydb.side.t (x INTEGER);

USE raydb; SELECT * FROM side.t;
-- error: ProgrammingError: 'side' is a database and a schema of 'raydb'; write raydb.side or side.main (line 1, column 26)

SELECT count(*) FROM raydb.side.t;
-- 0
