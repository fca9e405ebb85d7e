"""Make the database that later versions have to open: one of everything that a database holds.

    python tests/versions/make.py tests/versions/0.1.0a2.zip

It runs with the version that is installed, once for each release and before each change of what
databases hold. What it made is never changed, and test_earlier_databases.py opens all of it. What a
release adds to databases gets statements here, and questions in a page of its own.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

import raydb

# What a checkpoint wrote, deleted rows and rows beside it included.
CHECKPOINTED = """
CREATE TABLE country (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE);
CREATE TABLE shop (
    id INTEGER PRIMARY KEY, city VARCHAR DEFAULT 'nowhere', country INTEGER REFERENCES country (id),
    CHECK (id > 0));
CREATE TABLE sale (day DATE, shop INTEGER REFERENCES shop (id), amount DECIMAL(9, 2), note VARCHAR);
INSERT INTO country VALUES (1, 'Norway'), (2, 'France');
INSERT INTO shop VALUES (1, 'Oslo', 1), (2, 'Bergen', 1), (3, 'Lyon', 2), (4, 'Nice', 2);
INSERT INTO sale SELECT DATE '2025-01-01' + i % 365, 1 + i % 4, i % 100 + 0.25, 'note ' || i % 7
    FROM range(4000) AS r(i);
CREATE TABLE "Types" (
    b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INTEGER, i8 BIGINT, i16 HUGEINT, f4 FLOAT, f8 DOUBLE,
    d4 DECIMAL(4, 1), d38 DECIMAL(38, 5), t VARCHAR, x BLOB, day DATE, at TIME, ts TIMESTAMP,
    gap INTERVAL, l INTEGER[], v FLOAT[2]);
INSERT INTO "Types" VALUES
    (true, -128, 32767, -2147483648, 9223372036854775807, -99999999999999999999999999999999999999,
     1.5, -2.25, 999.9, -123456789012345678901234567890123.45678, 'ä''é', x'00FF', '1970-01-01',
     '23:59:59.999999', '2026-11-22 01:02:03.000004', INTERVAL '1 month 2 days', [1, NULL, 3],
     [0.5, -1]),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL);
CREATE TABLE item (id INTEGER, place FLOAT[2]);
INSERT INTO item SELECT range, [range, range % 5]::FLOAT[2] FROM range(60);
CREATE INDEX near ON item USING ivf (place) WITH (lists = 3);
CALIBRATE INDEX near WITH (k = 2, fnr = 0.3, seed = 1);
CREATE INDEX by_note ON sale (note);
CREATE BVH sales ON sale (SCAN (country.name, day), GROUP BY (city), AGGREGATE (amount));
CREATE VIEW by_city AS SELECT city, sum(amount) AS amount FROM sale JOIN shop ON shop = shop.id
    GROUP BY city;
CHECKPOINT;
DELETE FROM sale WHERE day = '2025-01-02';
UPDATE shop SET city = 'Trondheim' WHERE id = 2;
CHECKPOINT;
"""

# What only the log has.
LOGGED = """
INSERT INTO sale VALUES ('2026-01-01', 3, 1000.5, 'logged'), ('2026-01-02', NULL, 2000.5, NULL);
DELETE FROM sale WHERE note = 'note 3';
UPDATE "Types" SET i4 = 7 WHERE b;
ALTER TABLE country ADD COLUMN code VARCHAR DEFAULT 'xx';
INSERT INTO item VALUES (100, [30.4, 2]);
CREATE TABLE late (a INTEGER);
INSERT INTO late VALUES (1), (2);
"""

# What 0.1.0a3 added; newer.sql asks for it.
NEWER = """
CREATE SEQUENCE ticket START 10;
CREATE TABLE visitor (
    id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ticket BIGINT DEFAULT nextval('ticket'),
    "At" TIMESTAMP WITH TIME ZONE, who STRUCT(name VARCHAR, age UTINYINT),
    tags MAP(VARCHAR, INTEGER), code UUID, big UBIGINT);
INSERT INTO visitor ("At", who, tags, code, big) VALUES
    ('2026-10-25 01:30:00+02', {'name': 'Ada', 'age': 200}, MAP {'a': 1},
     '00000000-0000-0000-0000-0000000000ff', 18446744073709551615);
CHECKPOINT;
INSERT INTO visitor ("At") VALUES (NULL);
"""

# What 0.1.0a4 added; enums.sql asks for it.
ENUMS = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE price AS DECIMAL(9, 2);
CREATE TABLE visit (
    id INTEGER PRIMARY KEY, m mood DEFAULT 'ok', l mood[], s STRUCT(m mood), e ENUM('x', 'y'),
    paid price, CHECK (m >= 'sad'::mood));
INSERT INTO visit VALUES
    (1, 'happy', ['sad', NULL], {'m': 'ok'}, 'x', 1.5), (2, 'sad', [], NULL, NULL, 2);
CREATE TABLE by_mood (m mood PRIMARY KEY, n INTEGER);
INSERT INTO by_mood VALUES ('ok', 2), ('sad', 1), ('happy', 3);
CREATE BVH moods ON visit (SCAN (m), GROUP BY (m), AGGREGATE (paid));
CHECKPOINT;
INSERT INTO visit (id, paid) VALUES (3, 4);
UPDATE visit SET e = 'y' WHERE id = 2;
"""

# What 0.1.0a5 added; searches.sql asks for it.
SEARCHES = """
CREATE SCHEMA extra;
CREATE MACRO twice(a) AS 2 * a;
COMMENT ON TABLE item IS 'places';
CREATE TABLE extra.note (id INTEGER, words VARCHAR, v FLOAT[2] NOT NULL, w TINYINT[2]);
INSERT INTO extra.note SELECT range, 'word' || range % 5 || ' and word' || range % 7,
    [range, range % 3]::FLOAT[2], [range % 100, 1]::TINYINT[2] FROM range(40);
CREATE INDEX by_words ON extra.note USING fts (words);
CREATE INDEX by_graph ON extra.note USING hnsw (v) WITH (lists = 2, m = 2);
CREATE INDEX by_bytes ON extra.note USING ivf (w) WITH (lists = 2, quantization = 'int8');
CHECKPOINT;
DELETE FROM extra.note WHERE id % 10 = 3;
UPDATE extra.note SET v = [0.5, 100] WHERE id = 7;
"""


def main() -> None:
    (target,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "everything.raydb"
        con = raydb.connect(path)
        for script in (CHECKPOINTED, LOGGED, NEWER, ENUMS, SEARCHES):
            con.execute(script)
        con.close()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path.rglob("*")):
                if file.name != "RESERVE":  # room for a full disk: large, and made anew
                    archive.write(file, file.relative_to(folder))


if __name__ == "__main__":
    main()
