-- advise_keys: the keys that the joins of a workload ask for, hold, and are not declared.
CREATE TABLE day (d_id INTEGER, d_year INTEGER);

CREATE TABLE shop (s_id BIGINT, city VARCHAR);

CREATE TABLE sale (day INTEGER, shop INTEGER, ticket INTEGER, item INTEGER, price INTEGER);

CREATE TABLE back (ticket INTEGER, item INTEGER, amount INTEGER);

INSERT INTO day SELECT i, 2020 + i / 100 FROM range(300) AS r(i);

INSERT INTO shop SELECT i, 'C' || i % 7 FROM range(40) AS r(i);

INSERT INTO sale SELECT i % 300, CASE WHEN i % 10 > 0 THEN i % 40 END, i / 4, i % 4, i % 100 FROM range(1200) AS r(i);

INSERT INTO back SELECT i / 4, i % 4, i % 3 FROM range(0, 1200, 7) AS r(i);

-- In the order in which they can be added: first the keys that others refer to.
SELECT statement, queries, reason FROM advise_keys('
    SELECT d_year, sum(price) FROM sale, day WHERE day = d_id GROUP BY d_year
  ; SELECT city, sum(price) FROM sale LEFT JOIN shop ON shop = s_id GROUP BY city
  ; SELECT sum(amount) FROM sale JOIN back ON sale.ticket = back.ticket AND sale.item = back.item
  ; SELECT count(*) FROM sale WHERE day IN (SELECT d_id FROM day WHERE d_year = 2021)
');
-- 'ALTER TABLE back ADD FOREIGN KEY (ticket, item) REFERENCES sale (ticket, item);' | [3] | '172 of 172 rows have a partner'
-- 'ALTER TABLE day ADD PRIMARY KEY (d_id);' | [1, 4] | '300 rows, none of them twice'
-- 'ALTER TABLE sale ADD FOREIGN KEY (day) REFERENCES day (d_id);' | [1, 4] | '1200 of 1200 rows have a partner'
-- 'ALTER TABLE sale ADD FOREIGN KEY (shop) REFERENCES shop (s_id);' | [2] | '1080 of 1200 rows have a partner, the others no value'
-- 'ALTER TABLE sale ADD PRIMARY KEY (ticket, item);' | [3] | '1200 rows, none of them twice'
-- 'ALTER TABLE shop ADD PRIMARY KEY (s_id);' | [2] | '40 rows, none of them twice'

-- What ALTER TABLE would refuse is not proposed, and why.
SELECT * FROM advise_keys('
    SELECT count(*) FROM sale JOIN shop ON day = s_id
  ; SELECT count(*) FROM sale JOIN back ON sale.price = back.amount
');
-- 'sale' | ['day'] | 'shop' | ['s_id'] | NULL | [1] | 'table ''sale'', row 41: the foreign key (day) = (40) has no row in ''shop'' (s_id)'
-- 'sale' | ['price'] | 'back' | ['amount'] | NULL | [2] | 'table ''back'', row 4: the primary key (amount) = (0) is that of row 1'

-- Neither is what is declared.
ALTER TABLE day ADD PRIMARY KEY (d_id);

ALTER TABLE sale ADD FOREIGN KEY (day) REFERENCES day (d_id);

SELECT count(*) FROM advise_keys('SELECT d_year, sum(price) FROM sale, day WHERE day = d_id GROUP BY d_year');
-- 0

-- A table whose primary key is another one gets a unique key; so does one with NULL.
CREATE TABLE zone (id INTEGER PRIMARY KEY, code INTEGER);

INSERT INTO zone VALUES (1, 10), (2, 20);

CREATE TABLE stop (zone INTEGER);

INSERT INTO stop VALUES (10), (20), (10);

SELECT statement FROM advise_keys('SELECT id, count(*) FROM stop JOIN zone ON zone = code GROUP BY id');
-- 'ALTER TABLE stop ADD FOREIGN KEY (zone) REFERENCES zone (code);'
-- 'ALTER TABLE zone ADD UNIQUE (code);'

CREATE TABLE code (c INTEGER, name VARCHAR);

INSERT INTO code VALUES (1, 'one'), (2, 'two'), (NULL, 'none');

CREATE TABLE "Odd name" ("order" INTEGER);

INSERT INTO "Odd name" VALUES (1), (1), (2), (NULL);

SELECT statement, reason FROM advise_keys('SELECT name, count(*) FROM "Odd name" JOIN code ON "order" = c GROUP BY name');
-- 'ALTER TABLE "Odd name" ADD FOREIGN KEY ("order") REFERENCES code (c);' | '3 of 4 rows have a partner, the others no value'
-- 'ALTER TABLE code ADD UNIQUE (c);' | '3 rows, none of them twice'

-- Names of another schema.
CREATE SCHEMA s;

CREATE TABLE s.code (c INTEGER);

INSERT INTO s.code VALUES (1), (2);

SELECT statement FROM advise_keys('SELECT count(*) FROM "Odd name" JOIN s.code ON "order" = c');
-- 'ALTER TABLE main."Odd name" ADD FOREIGN KEY ("order") REFERENCES s.code (c);'
-- 'ALTER TABLE s.code ADD PRIMARY KEY (c);'

-- A name behind REFERENCES is one of the schema of the table; names of a workload are those of the session.
CREATE TABLE s.part (c INTEGER);

INSERT INTO s.part VALUES (1), (1), (2);

SELECT statement FROM advise_keys('SELECT count(*) FROM s.part JOIN main.code USING (c)');
-- 'ALTER TABLE code ADD UNIQUE (c);'
-- 'ALTER TABLE s.part ADD FOREIGN KEY (c) REFERENCES main.code (c);'

CREATE MACRO parts(least) AS TABLE SELECT p.c FROM s.part p JOIN s.code k ON p.c = k.c WHERE p.c >= least;

SELECT statement FROM advise_keys('SELECT count(*) FROM parts(1)');
-- 'ALTER TABLE s.code ADD PRIMARY KEY (c);'
-- 'ALTER TABLE s.part ADD FOREIGN KEY (c) REFERENCES s.code (c);'

SET schema = 's';

SELECT statement FROM advise_keys('SELECT count(*) FROM part JOIN code USING (c)');
-- 'ALTER TABLE code ADD PRIMARY KEY (c);'
-- 'ALTER TABLE part ADD FOREIGN KEY (c) REFERENCES code (c);'

SET schema = 'main';

-- Tables of which one refers to itself, and what a query of WITH gives as it stands.
CREATE TABLE person (id INTEGER, boss INTEGER);

INSERT INTO person VALUES (1, NULL), (2, 1), (3, 1);

SELECT statement FROM advise_keys('SELECT count(*) FROM person p JOIN person b ON p.boss = b.id');
-- 'ALTER TABLE person ADD FOREIGN KEY (boss) REFERENCES person (id);'
-- 'ALTER TABLE person ADD PRIMARY KEY (id);'

SELECT statement, queries FROM advise_keys('
    WITH many AS (SELECT shop AS s, sum(price) AS total FROM sale GROUP BY shop)
    SELECT city, sum(total) FROM many JOIN shop ON s = s_id GROUP BY city
  ; DELETE FROM sale
  ; SELECT count(*) FROM sale a JOIN sale b ON a.day = b.day
');
-- 'ALTER TABLE sale ADD FOREIGN KEY (shop) REFERENCES shop (s_id);' | [1]
-- 'ALTER TABLE shop ADD PRIMARY KEY (s_id);' | [1]

SELECT * FROM advise_keys('');
-- error: ProgrammingError: the workload has no query

SELECT * FROM advise_keys(3);
-- error: ProgrammingError: advise_keys() takes a workload: the text of its queries or the path of a file of them

SELECT * FROM advise_keys('SELECT 1; SELECT nosuch FROM day');
-- error: ProgrammingError: query 2 of the workload: column 'nosuch' does not exist in 'day' (line 1, column 18)

SELECT * FROM advise_keys('nosuch.sql');
-- error: OperationalError: file 'nosuch.sql' does not exist
