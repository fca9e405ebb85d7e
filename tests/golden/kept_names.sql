-- What names in FROM stand for, and what joins reach, is kept: until a table is another one.
CREATE TABLE dim (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE fact (dim_id INTEGER REFERENCES dim (id), value INTEGER);
INSERT INTO dim VALUES (1, 'a'), (2, 'b');
INSERT INTO fact VALUES (1, 10), (1, 20), (2, 5);

SELECT name, sum(value) FROM fact, dim WHERE dim_id = id GROUP BY name ORDER BY name;
-- 'a' | 30
-- 'b' | 5
SELECT name, count(*) FROM fact, dim WHERE dim_id = id GROUP BY name ORDER BY name;
-- 'a' | 2
-- 'b' | 1
SELECT name, sum(value) FROM dim, fact WHERE dim_id = id GROUP BY name ORDER BY name;
-- 'a' | 30
-- 'b' | 5
SELECT f.value, d.name FROM fact f, dim d WHERE f.dim_id = d.id ORDER BY 1;
-- 5 | 'b'
-- 10 | 'a'
-- 20 | 'a'
SELECT f.value, d.name FROM fact AS f, dim AS d WHERE d.id = f.dim_id ORDER BY 1 DESC;
-- 20 | 'a'
-- 10 | 'a'
-- 5 | 'b'
SELECT d.name FROM fact, dim WHERE fact.dim_id = dim.id;
-- error: ProgrammingError: table 'd' is not in FROM (line 1, column 8)

-- A key without a partner.
INSERT INTO fact VALUES (NULL, 100);
SELECT name, sum(value) AS s FROM fact, dim WHERE dim_id = id GROUP BY name ORDER BY name;
-- 'a' | 30
-- 'b' | 5
SELECT sum(value) FROM fact, dim WHERE dim_id = id;
-- 35

-- The numbers of rows are columns of a text that names them alone.
SELECT fact.rowid, name FROM fact, dim WHERE dim_id = id ORDER BY 1;
-- 0 | 'a'
-- 1 | 'a'
-- 2 | 'b'
SELECT max(value) FROM fact, dim WHERE dim_id = id;
-- 20

-- Queries of WITH come first.
WITH dim AS (SELECT 1 AS id, 'w' AS name) SELECT name, sum(value) FROM fact, dim WHERE dim_id = id GROUP BY name;
-- 'w' | 30
SELECT min(value) FROM fact, dim WHERE dim_id = id;
-- 5

-- So do temporary tables.
CREATE TEMP TABLE dim (id INTEGER, name VARCHAR);
INSERT INTO temp.dim VALUES (2, 'temporary');
SELECT name, min(value) FROM fact, dim WHERE dim_id = id GROUP BY name;
-- 'temporary' | 5
DROP TABLE temp.dim;
SELECT name, max(value) FROM fact, dim WHERE dim_id = id GROUP BY name ORDER BY name;
-- 'a' | 20
-- 'b' | 5

-- The name of a table becomes that of a view, and of a table of other columns.
DROP TABLE fact;
CREATE VIEW fact AS SELECT 2 AS dim_id, 7 AS value;
SELECT name, avg(value) FROM fact, dim WHERE dim_id = id GROUP BY name;
-- 'b' | 7.0
DROP VIEW fact;
CREATE TABLE fact (value VARCHAR, dim_id INTEGER);
INSERT INTO fact VALUES ('text', 1);
SELECT name, min(value) FROM fact, dim WHERE dim_id = id GROUP BY name;
-- 'a' | 'text'
SELECT value, dim_id FROM fact, dim WHERE dim_id = id;
-- 'text' | 1

-- Names in quotes, and one that is there twice.
SELECT "value", "Dim_Id" FROM "Fact", dim WHERE dim_id = id;
-- 'text' | 1
SELECT value FROM FACT, DIM WHERE dim_id = id;
-- 'text'
SELECT 1 FROM fact, dim, fact;
-- error: ProgrammingError: table name 'fact' is used twice in FROM; give one of them an alias (line 1, column 15)
SELECT 1 FROM fact, dim, main.fact;
-- error: ProgrammingError: table name 'fact' is used twice in FROM; give one of them an alias (line 1, column 15)
SELECT count(*) FROM fact, dim, main.dim AS d;
-- 4
