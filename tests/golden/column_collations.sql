CREATE TABLE person (id INTEGER, name VARCHAR COLLATE NOCASE, city VARCHAR COLLATE NOCASE.NOACCENT, note VARCHAR);
INSERT INTO person VALUES (1, 'Ann', 'Malmö', 'x'), (2, 'ANN', 'malmo', 'X'), (3, 'bob', 'Oslo', 'bob'), (4, NULL, NULL, NULL);
SELECT id FROM person WHERE name = 'ann' ORDER BY id;
-- 1
-- 2
SELECT id FROM person WHERE note = 'X';
-- 2
SELECT id FROM person WHERE name COLLATE BINARY = 'ANN';
-- 2
SELECT id FROM person WHERE city IN ('MALMO', 'x') ORDER BY id;
-- 1
-- 2
SELECT lower(name), count(*) FROM person GROUP BY name ORDER BY name;
-- 'ann' | 2
-- 'bob' | 1
-- NULL | 1
SELECT count(DISTINCT name), count(DISTINCT city), count(DISTINCT note), lower(max(name)) FROM person;
-- 2 | 2 | 3 | 'bob'
SELECT a.id, b.id FROM person a JOIN person b USING (name) WHERE a.id < b.id;
-- 1 | 2
SELECT a.id, b.id FROM person a JOIN person b ON a.name = b.note;
-- 3 | 3
SELECT id FROM person WHERE name = city;
-- error: ProgrammingError: texts of the collations nocase and noaccent.nocase do not go together (line 1, column 29)
SELECT lower(name) FROM (SELECT name FROM person UNION SELECT 'BOB') ORDER BY name;
-- 'ann'
-- 'bob'
-- NULL
SELECT note FROM person INTERSECT SELECT name FROM person ORDER BY note;
-- 'bob'
-- NULL
SELECT name FROM person EXCEPT SELECT 'ann' ORDER BY name;
-- 'bob'
-- NULL
SELECT name FROM person EXCEPT ALL SELECT 'Bob' ORDER BY name;
-- 'Ann'
-- 'ANN'
-- NULL
SELECT name FROM person UNION ALL SELECT city FROM person;
-- error: ProgrammingError: texts of the collations nocase and noaccent.nocase do not go together
CREATE TABLE copied AS SELECT name, name || note AS both, note FROM person;
SELECT count(*) FROM copied WHERE name = 'ANN' AND both = 'annx';
-- 2
CREATE VIEW named AS SELECT name AS n FROM person;
SELECT count(*) FROM named WHERE n = 'ANN';
-- 2
WITH c AS (SELECT name FROM person) SELECT count(*) FROM c WHERE name = 'ANN';
-- 2
UPDATE person SET note = 'y' WHERE name = 'ANN' RETURNING id, name = 'ann';
-- 1 | true
-- 2 | true
DELETE FROM person WHERE name = 'BOB' RETURNING id;
-- 3
MERGE INTO person USING (SELECT 'ann' AS n) s ON person.name = s.n WHEN MATCHED THEN UPDATE SET note = 'z' RETURNING id, note;
-- 1 | 'z'
-- 2 | 'z'
ALTER TABLE person ADD COLUMN tag VARCHAR COLLATE NOCASE DEFAULT 'T';
SELECT count(*) FROM person WHERE tag = 't';
-- 3
ALTER TABLE person RENAME COLUMN tag TO label;
SELECT count(*) FROM person WHERE label = 't';
-- 3
ALTER TABLE person ALTER COLUMN note TYPE VARCHAR COLLATE NOCASE;
SELECT count(*) FROM person WHERE note = 'Z';
-- 2
ALTER TABLE person ALTER COLUMN note TYPE VARCHAR;
SELECT count(*) FROM person WHERE note = 'Z';
-- 0
SELECT column_name, collation_name FROM information_schema.columns WHERE table_name = 'person' ORDER BY ordinal_position;
-- 'id' | NULL
-- 'name' | 'NOCASE'
-- 'city' | 'NOACCENT.NOCASE'
-- 'note' | NULL
-- 'label' | 'NOCASE'
CREATE TABLE made (a VARCHAR COLLATE NOCASE CHECK (a <> 'NO'), b AS (a || '!'), c BOOLEAN AS (a = 'YES'));
INSERT INTO made (a) VALUES ('yes') RETURNING b = 'YES!', c;
-- true | true
INSERT INTO made (a) VALUES ('no');
-- error: IntegrityError: table 'made', row 1: the check (a <> 'NO') does not hold: (a) = ('no')
CREATE TABLE keyed (k VARCHAR COLLATE NOCASE PRIMARY KEY, n INTEGER);
INSERT INTO keyed VALUES ('a', 1), ('A', 2);
INSERT INTO keyed VALUES ('a', 3) ON CONFLICT DO UPDATE SET n = excluded.n WHERE keyed.k = 'A' RETURNING k, n;
-- 'a' | 3
CREATE TABLE bad (n INTEGER COLLATE NOCASE);
-- error: ProgrammingError: column 'n' is INTEGER; only VARCHAR has a collation (line 1, column 19)
CREATE TABLE bad (n VARCHAR COLLATE NOCAS);
-- error: ProgrammingError: collation 'nocas' does not exist; did you mean 'nocase'? (line 1, column 37)
CREATE TABLE bad (n VARCHAR COLLATE NOCASE COLLATE NFC);
-- error: ProgrammingError: column 'n' has two collations (line 1, column 19)
ALTER TABLE keyed ALTER COLUMN n TYPE BIGINT COLLATE NOCASE;
-- error: ProgrammingError: column 'n' is BIGINT; only VARCHAR has a collation (line 1, column 32)
SET default_collation = 'NOCASE.NOACCENT';
SHOW default_collation;
-- 'noaccent.nocase'
CREATE TABLE plain (s VARCHAR CHECK (s <> 'NO'), t VARCHAR COLLATE BINARY);
INSERT INTO plain VALUES ('Ä', 'Ä'), ('a', 'a'), ('no', 'no');
SELECT 'a' = 'Ä', (SELECT count(*) FROM plain WHERE s = 'A'), (SELECT count(*) FROM plain WHERE t = 'A'), 1 = 1;
-- true | 2 | 0 | true
SELECT count(*) FROM (SELECT s FROM plain UNION SELECT 'NO');
-- 2
SELECT count(*), count(DISTINCT s), count(DISTINCT t) FROM plain GROUP BY s ORDER BY 1;
-- 1 | 1 | 1
-- 2 | 1 | 2
SELECT t FROM plain ORDER BY t;
-- 'a'
-- 'no'
-- 'Ä'
RESET default_collation;
SELECT 'a' = 'Ä', (SELECT count(*) FROM plain WHERE s = 'A');
-- false | 0
SET default_collation = 'german';
-- error: ProgrammingError: collation 'german' does not exist (line 1, column 25)
SELECT name FROM person ORDER BY 1 COLLATE NOCASE DESC, id;
-- NULL
-- 'Ann'
-- 'ANN'
SELECT lower(note) AS n FROM person ORDER BY n COLLATE NOACCENT, id;
-- 'z'
-- 'z'
-- NULL
SELECT v FROM (VALUES ('b' COLLATE NOCASE), ('A'), ('B')) t(v) WHERE v = 'B';
-- 'B'
-- 'b'
SELECT 'ANN' BETWEEN (name COLLATE NOCASE) AND 'ann', strpos(name, 'NN'), contains(name, 'N'), starts_with(name, 'aN'), ends_with(name, 'Nn'), name ^@ 'a' FROM person WHERE id = 1;
-- true | 2 | true | true | true | true
SELECT 1 ORDER BY 1 COLLATE NOCASE;
-- error: ProgrammingError: COLLATE needs a text
CREATE TYPE mood AS ENUM ('Sad', 'ok');
CREATE TABLE pair (c VARCHAR COLLATE NOCASE, d VARCHAR, m mood, i INTEGER);
INSERT INTO pair VALUES ('Sad', 'SAD', 'Sad', 1), ('b', 'B', 'ok', 2);
SELECT EXISTS (SELECT 1 FROM pair o WHERE o.d = p.c), (SELECT p.c) = 'SAD', 'SAD' IN (SELECT p.c), (SELECT count(*) FROM pair o WHERE o.d = p.c) FROM pair p ORDER BY i;
-- true | true | true | 1
-- true | false | false | 1
SELECT x FROM pair p, LATERAL (SELECT p.c AS x) s WHERE x = 'SAD';
-- 'Sad'
DELETE FROM pair WHERE NOT EXISTS (SELECT 1 FROM pair o WHERE o.d = pair.c) RETURNING i;
-- (no rows)
SELECT c = m, c <= m, m BETWEEN c AND 'Z', c IN (m, 'x'), c IN (SELECT m FROM pair), CASE c WHEN m THEN 1 END, contains(c, m) FROM pair ORDER BY i;
-- true | true | true | true | true | 1 | true
-- false | true | false | false | false | NULL | false
SELECT count(*) FROM pair a JOIN pair b ON a.c = b.m;
-- 1
SELECT arg_max(i, c), min_by(i, c), arg_max(i, c, 1) FROM (VALUES ('b' COLLATE NOCASE, 1), ('A', 2), ('C', 3)) t(c, i);
-- 3 | 2 | [3]
SELECT list(DISTINCT c ORDER BY c) FROM pair;
-- error: NotSupportedError: list(DISTINCT x ORDER BY x) of texts that have a collation is not supported (line 1, column 8)
SELECT (c, i) BETWEEN ('s', 0) AND ('SAD', 1), (c, i) NOT BETWEEN ('s', 0) AND ('SAD', 1), CASE (c, i) WHEN ('SAD', 1) THEN 'yes' END FROM pair ORDER BY i;
-- true | false | 'yes'
-- false | true | NULL
SELECT value FROM (UNPIVOT pair ON c) WHERE value = 'SAD';
-- 'Sad'
SELECT c = i FROM pair;
-- error: ProgrammingError: cannot compare 'c' (VARCHAR) with 'i' (INTEGER) (line 1, column 8)
SELECT CAST('a' AS VARCHAR COLLATE NOCASE);
-- error: NotSupportedError: COLLATE in a type is not supported: it goes behind the value (line 1, column 13)
SELECT 'a' COLLATE NOCASE.BINARY;
-- error: ProgrammingError: the collation 'binary' stands alone (line 1, column 8)
CREATE TABLE usual (a INTEGER, b BOOLEAN DEFAULT ('a' = 'A'), c COLLATE NOCASE AS ('k'));
SET default_collation = 'NOCASE';
INSERT INTO usual (a) VALUES (1) RETURNING b, c = 'K';
-- false | true
RESET default_collation;
