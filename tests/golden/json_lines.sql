-- One object a line; a key that is missing is NULL. Strings that are all dates are DATE.
SELECT id, name, weight, born FROM '$DATA/pets.jsonl' ORDER BY id;
-- 1 | 'Rex' | 31.5 | 2019-04-01
-- 2 | NULL | NULL | NULL
SELECT tags, seen FROM read_json('$DATA/pets.jsonl') ORDER BY id;
-- ['a', 'b'] | NULL
-- NULL | 2026-01-01T10:00:00
SELECT sum(id) FROM read_json(['$DATA/pets.jsonl', '$DATA/pet*.jsonl']);
-- 6
SELECT * FROM read_json('$DATA/pets.jsonl', columns => {'id': 'SMALLINT', 'weight': 'DECIMAL(5, 2)', 'seen': 'TIMESTAMP'}) ORDER BY id;
-- 1 | 31.50 | NULL
-- 2 | NULL | 2026-01-01T10:00:00

-- Everything comes back as it was written.
CREATE TABLE t (id INTEGER, s VARCHAR, d DECIMAL(20, 3), big BIGINT, x DOUBLE, ok BOOLEAN, day DATE, at TIMESTAMP, clock TIME, list INTEGER[]);

INSERT INTO t VALUES (1, 'say "x" \ and/or é', 12345678901234567.891, 9223372036854775807, 0.1, true, '2026-02-28', '1969-12-31 23:59:59.999999', '23:59:59.5', [1, NULL, 3]), (2, '', -0.001, -9223372036854775808, 1e300, false, '0001-01-01', '2026-01-01', '00:00:00', []), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

COPY t TO '$TMP/t.jsonl';
COPY t TO '$TMP/t.ndjson.gz';
COPY t TO '$TMP/t.json' (FORMAT json);

CREATE TABLE back (id INTEGER, s VARCHAR, d DECIMAL(20, 3), big BIGINT, x DOUBLE, ok BOOLEAN, day DATE, at TIMESTAMP, clock TIME, list INTEGER[]);

COPY back FROM '$TMP/t.jsonl';
COPY back FROM '$TMP/t.ndjson.gz';
COPY back FROM '$TMP/t.json' (FORMAT json);

SELECT * FROM back ORDER BY id LIMIT 3 OFFSET 2;
-- 1 | 'say "x" \ and/or é' | 12345678901234567.891 | 9223372036854775807 | 0.1 | true | 2026-02-28 | 1969-12-31T23:59:59.999999 | datetime.time(23, 59, 59, 500000) | [1, None, 3]
-- 2 | '' | -0.001 | -9223372036854775808 | 1e+300 | false | 0001-01-01 | 2026-01-01T00:00:00 | datetime.time(0, 0) | []
-- 2 | '' | -0.001 | -9223372036854775808 | 1e+300 | false | 0001-01-01 | 2026-01-01T00:00:00 | datetime.time(0, 0) | []
SELECT count(*), count(DISTINCT d), count(DISTINCT s), count(DISTINCT clock), min(big), max(big), sum(d) FROM back;
-- 9 | 2 | 2 | 2 | -9223372036854775808 | 9223372036854775807 | 37037036703703703.670
SELECT id, big, x, ok, day, at, clock, list FROM '$TMP/t.jsonl' ORDER BY id;
-- 1 | 9223372036854775807 | 0.1 | true | 2026-02-28 | 1969-12-31T23:59:59.999999 | datetime.time(23, 59, 59, 500000) | [1, None, 3]
-- 2 | -9223372036854775808 | 1e+300 | false | 0001-01-01 | 2026-01-01T00:00:00 | datetime.time(0, 0) | []
-- 3 | NULL | NULL | NULL | NULL | NULL | NULL | NULL

-- Columns by name, in any order.
CREATE TABLE two (name VARCHAR, id INTEGER);

COPY (SELECT 5 AS id, 'five' AS "Name") TO '$TMP/two.jsonl';
COPY two FROM '$TMP/two.jsonl';
COPY two (id) FROM '$TMP/two.jsonl';

SELECT * FROM two ORDER BY name NULLS LAST;
-- 'five' | 5
-- NULL | 5
COPY (SELECT 5 AS id, 'five' AS nmae) TO '$TMP/wrong.jsonl';
COPY two FROM '$TMP/wrong.jsonl';
-- error: ProgrammingError: file '$TMP/wrong.jsonl' has a column 'nmae', which the table lacks; name the columns to read
COPY (SELECT 3000000000 AS id) TO '$TMP/wrong.jsonl';
COPY two FROM '$TMP/wrong.jsonl';
-- error: DataError: file '$TMP/wrong.jsonl', line 1, column 'id': 3000000000 does not fit INTEGER
COPY (SELECT 'five' AS id) TO '$TMP/wrong.jsonl';
COPY two FROM '$TMP/wrong.jsonl';
-- error: DataError: file '$TMP/wrong.jsonl', line 1, column 'id': a string where a number is expected
COPY (SELECT 1.5 AS id) TO '$TMP/wrong.jsonl';
COPY two FROM '$TMP/wrong.jsonl';
-- error: DataError: file '$TMP/wrong.jsonl', line 1, column 'id': 1.5 does not fit INTEGER

-- What is wrong with a file is named with its line.
SELECT * FROM '$DATA/mixed.jsonl';
-- '1'
-- 'two'
SELECT * FROM '$DATA/broken.jsonl';
-- error: DataError: file '$DATA/broken.jsonl', line 2: not JSON at character 9: expecting ',' delimiter
SELECT * FROM '$DATA/array.json';
-- 1
-- 2
SELECT * FROM read_json('$DATA/empty.csv');
-- error: DataError: file '$DATA/empty.csv' is empty
SELECT * FROM read_json('$DATA/nation.csv');
-- error: DataError: file '$DATA/nation.csv', line 1: not JSON at character 1: expecting value
SELECT * FROM read_json('$DATA/pets.jsonl', columns => {'id': 'BOOLEAN'});
-- error: DataError: file '$DATA/pets.jsonl', line 1, column 'id': a number where a boolean is expected
SELECT * FROM read_json('$DATA/pets.jsonl', columns => {'born': 'TIME'});
-- error: DataError: file '$DATA/pets.jsonl', row 1, column 'born': '2019-04-01' is not a TIME
SELECT * FROM read_json('$DATA/pets.jsonl', header => true);
-- error: ProgrammingError: option 'header' does not apply to json files

-- JSON has no NaN and no bytes.
COPY (SELECT CAST('NaN' AS DOUBLE) AS x) TO '$TMP/nan.jsonl';
-- error: DataError: column 'x' has NaN or an infinity, which JSON cannot write
COPY (SELECT CAST('ab' AS BLOB) AS b) TO '$TMP/blob.jsonl';
-- error: NotSupportedError: column 'b' is BLOB, which cannot be written to a JSON file
COPY (SELECT INTERVAL '1 day' AS i) TO '$TMP/interval.jsonl';
-- error: NotSupportedError: column 'i' is INTERVAL, which cannot be written to a JSON file
SELECT * FROM '$TMP/nan.jsonl';
-- error: OperationalError: file '$TMP/nan.jsonl' does not exist

-- Numbers beyond REAL are errors, not infinity.
CREATE TABLE reals (f FLOAT, v FLOAT[2]);
COPY (SELECT 1e300 AS f, [1, 2] AS v) TO '$TMP/large.jsonl';
COPY reals FROM '$TMP/large.jsonl';
-- error: DataError: file '$TMP/large.jsonl', row 1, column 'f': '1e+300' does not fit REAL
COPY (SELECT 0.1 AS f, [1, -1e39] AS v) TO '$TMP/large.jsonl';
COPY reals FROM '$TMP/large.jsonl';
-- error: DataError: file '$TMP/large.jsonl', row 1, column 'v': '[1.0, -1e+39]' is not a FLOAT[2]
COPY (SELECT 0.1 AS f, [1, 0.1] AS v) TO '$TMP/small.jsonl';
COPY reals FROM '$TMP/small.jsonl';
SELECT f = 0.1::FLOAT, v = [1, 0.1]::FLOAT[2] FROM reals;
-- true | true

-- Objects and arrays within.
COPY (SELECT 1 AS id, {'name': 'ann', 'tags': ['x', 'y']} AS who UNION ALL SELECT 2, {'name': 'bob', 'tags': []}) TO '$TMP/nested.json';

SELECT * FROM '$TMP/nested.json' ORDER BY id;
-- 1 | {'name': 'ann', 'tags': ['x', 'y']}
-- 2 | {'name': 'bob', 'tags': []}

SELECT id, who.name, unnest(who.tags) FROM '$TMP/nested.json';
-- 1 | 'ann' | 'x'
-- 1 | 'ann' | 'y'

SELECT unnest(who) FROM '$TMP/nested.json' ORDER BY name;
-- 'ann' | ['x', 'y']
-- 'bob' | []

SELECT who, count(*) FROM '$TMP/nested.json' GROUP BY who ORDER BY who;
-- {'name': 'ann', 'tags': ['x', 'y']} | 1
-- {'name': 'bob', 'tags': []} | 1

SELECT id, who ->> 'name' FROM read_json('$TMP/nested.json', columns = {'id': 'BIGINT', 'who': 'JSON'}) ORDER BY id;
-- 1 | 'ann'
-- 2 | 'bob'
