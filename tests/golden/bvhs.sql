-- The BVHs, and how they are used.
SELECT * FROM bvhs();
-- (no rows)

CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER);

CREATE TABLE sale (ordered INTEGER REFERENCES day (d_id), shipped INTEGER REFERENCES day (d_id), "Unit price" INTEGER, "select" INTEGER, wide DECIMAL(38, 0));

INSERT INTO day SELECT range, 1990 + range / 10 FROM range(50);

INSERT INTO sale SELECT range % 50, range % 7, range % 3, range, range FROM range(1000);

CREATE BVH years ON sale (SCAN (ordered.d_year, shipped.d_year), GROUP BY ("select"), AGGREGATE ("Unit price" * 2, "select"));

CREATE BVH wides ON sale (SCAN ("Unit price"), AGGREGATE (wide));

-- The parts are as CREATE BVH reads them. No query has used the BVHs yet.
SELECT name, table_name, scan, group_by, aggregate, row_count, size_bytes BETWEEN 5000 AND 20000, hits, last_used, is_stale, obstacle FROM bvhs() ORDER BY name;
-- 'wides' | 'sale' | '"Unit price"' | '' | 'wide' | 1000 | true | 0 | NULL | false | NULL
-- 'years' | 'sale' | 'ordered.d_year, shipped.d_year' | '"select"' | '("Unit price" * 2), "select"' | 1000 | true | 0 | NULL | false | NULL

DESCRIBE SELECT * FROM bvhs();
-- 'aggregate' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'built_on' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'dead_rows' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'group_by' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'hits' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'is_stale' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'last_used' | 'TIMESTAMP' | 'YES' | NULL | NULL | NULL
-- 'merge' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'name' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'newer_rows' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'obstacle' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'row_count' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'scan' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'sieve' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'sieve_bytes' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'size_bytes' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'table_name' | 'VARCHAR' | 'YES' | NULL | NULL | NULL

-- A query counts once, however often it reads a BVH; so does a text that runs again.
SET fused_path = 'on';

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1992;
-- 99900

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1992;
-- 99900

SELECT (SELECT sum("select") FROM sale) + (SELECT max("select") FROM sale);
-- 500499

SELECT name, hits, last_used BETWEEN now() - INTERVAL '1 day' AND now() + INTERVAL '1 day' FROM bvhs() ORDER BY name;
-- 'wides' | 0 | NULL
-- 'years' | 3 | true

SELECT name FROM bvhs() WHERE hits > 2;
-- 'years'

-- EXPLAIN does not run the query, and other settings do not use the BVH.
EXPLAIN SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1992;
-- has: path: fused
-- has: bvh: years

SET fused_path = 'off';

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1992;
-- 99900

SET fused_path = 'on';

SELECT name, hits FROM bvhs() ORDER BY name;
-- 'wides' | 0
-- 'years' | 3

-- Rows that were changed since the BVH was built; queries read them beside it.
SET bvh_merge = 'checkpoint';

INSERT INTO sale VALUES (1, 1, 1, 1, 1);

DELETE FROM sale WHERE "select" = 999;

SELECT name, row_count, newer_rows, dead_rows, is_stale FROM bvhs() ORDER BY name;
-- 'wides' | 1000 | 1 | 1 | false
-- 'years' | 1000 | 1 | 1 | false

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1990;
-- 95901

CHECKPOINT;

SELECT name, row_count, newer_rows, dead_rows, is_stale FROM bvhs() ORDER BY name;
-- 'wides' | 1000 | 0 | 0 | false
-- 'years' | 1000 | 0 | 0 | false

-- A dimension that says something else: only the BVH that encodes it is outdated.
UPDATE day SET d_year = d_year + 1 WHERE d_id = 49;

SELECT name, is_stale, merge FROM bvhs() ORDER BY name;
-- 'wides' | false | NULL
-- 'years' | true | NULL

EXPLAIN SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1995;
-- has: path: general
-- has: BVH 'years' serves no query: rows that it encodes were changed since it was built

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1995;
-- 9481

UPDATE day SET d_year = d_year - 1 WHERE d_id = 49;

CHECKPOINT;

-- Rows that do not fit a BVH stay beside it; if they outdate it as well, it serves no query.
INSERT INTO sale VALUES (1, 1, 1, 1, 99999999999999999999999999);

SELECT count(*) FROM sale;
-- 1001

CHECKPOINT;

SELECT name, newer_rows, merge, obstacle FROM bvhs() ORDER BY name;
-- 'wides' | 1 | 'failed: the measure wide of a BVH: a DECIMAL has more digits than 64 bits hold' | NULL
-- 'years' | 0 | NULL | NULL

ALTER TABLE sale ALTER wide TYPE DECIMAL(38, 0) USING wide - 1;

CHECKPOINT;

SELECT name, is_stale, obstacle FROM bvhs() ORDER BY name;
-- 'wides' | false | 'the measure wide of a BVH: a DECIMAL has more digits than 64 bits hold'
-- 'years' | false | NULL

-- A rollback does not take a use back; a BVH that is made anew begins at 0.
BEGIN;

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1992;
-- 99900

ROLLBACK;

SELECT name, hits FROM bvhs() WHERE name = 'years';
-- 'years' | 5

DROP BVH years;

CREATE BVH years ON sale (SCAN (ordered.d_year), AGGREGATE ("select"));

SELECT name, hits, last_used FROM bvhs() WHERE name = 'years';
-- 'years' | 0 | NULL

-- It stands wherever a table does.
CREATE VIEW used AS SELECT name, hits FROM bvhs() WHERE hits > 0;

SELECT name FROM used;
-- (no rows)

SELECT sum("select") FROM sale JOIN day ON ordered = d_id WHERE d_year = 1992;
-- 99900

SELECT * FROM used;
-- 'years' | 1

CREATE TABLE kept AS SELECT name, hits FROM bvhs();

SELECT b.name, k.hits FROM bvhs() b JOIN kept k USING (name) ORDER BY 1;
-- 'wides' | 0
-- 'years' | 1

INSERT INTO kept (name) SELECT name || '!' FROM bvhs();

SELECT count(*) FROM kept;
-- 4

SELECT * FROM bvhs(1);
-- error: ProgrammingError: bvhs() takes no arguments, not 1

SELECT hit FROM bvhs();
-- error: ProgrammingError: column 'hit' does not exist in 'bvhs'; did you mean 'hits'? (line 1, column 8)
