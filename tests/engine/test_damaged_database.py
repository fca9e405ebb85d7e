"""A damaged byte anywhere in a database is named, or does not matter; never a wrong row.

RAYDB_FLIPS=0 pytest tests/engine/test_damaged_database.py    tries every byte of every file
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import raydb
from raydb.storage.durable.sections import read_sections

FLIPS = int(os.environ.get("RAYDB_FLIPS", "150"))
QUERIES = (
    "SELECT name, sum(m) FROM f JOIN d ON d = id GROUP BY name ORDER BY name",
    "SELECT * FROM f ORDER BY m",
    "SELECT * FROM d ORDER BY id",
    "SELECT name, table_name, scan, group_by, aggregate FROM bvhs()",
)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "db"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR)")
        con.execute("CREATE TABLE f (d INTEGER REFERENCES d (id), m DECIMAL(10, 2), t VARCHAR)")
        con.execute("INSERT INTO d VALUES (1, 'x'), (2, 'y'), (3, NULL)")
        rows = ", ".join(f"({n % 3 + 1}, {n}.5, 'text number {n}')" for n in range(60))
        con.execute(f"INSERT INTO f VALUES {rows}")
        con.execute("CREATE BVH b ON f (SCAN (name), AGGREGATE (m))")
        con.execute("INSERT INTO d VALUES (4, 'in the log')")
    return path


def read(path):
    with raydb.connect(path, read_only=True) as con:
        return [con.execute(query).fetchall() for query in QUERIES]


def attempt(path):
    """Return the answers, or the message of the error."""
    try:
        return read(path)
    except raydb.OperationalError as error:
        return str(error)


def damages(data, rng):
    """Yield (what, bytes): flipped bytes and truncations; all of them, or FLIPS a file."""
    places = (
        range(len(data))
        if not FLIPS
        else sorted(rng.sample(range(len(data)), min(FLIPS, len(data))))
    )
    for place in places:
        yield (
            f"byte {place} flipped",
            data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :],
        )
    for size in sorted({0, 1, len(data) // 2, len(data) - 1, *rng.choices(range(len(data)), k=10)}):
        yield f"cut to {size} bytes", data[:size]


@pytest.mark.long
def test_damage_is_named_or_harmless(database):
    rng = random.Random(5)
    right = read(database)
    files = [f for f in sorted(database.rglob("*")) if f.is_file() and f.stat().st_size]
    assert {f.suffix for f in files} >= {".flat", ".keys", ".bvh", ".man", ".log"}
    named = 0
    for file in files:
        whole = file.read_bytes()
        for what, data in damages(whole, rng):
            file.write_bytes(data)
            found = attempt(database)
            if isinstance(found, str):
                assert str(database) in found, (file.name, what, found)
                named += 1
                continue
            # A torn end of the log is what a crash leaves: the record was not acknowledged.
            is_tail = file.suffix == ".log" and found[2] == right[2][:-1]
            assert found == right or is_tail, (file.name, what)
        file.write_bytes(whole)
    assert named > 100
    assert read(database) == right


@pytest.fixture
def damaged_row_numbers(tmp_path):
    """Return a database whose BVH has a wrong row number."""
    with raydb.connect(tmp_path / "db") as con:
        con.execute("CREATE TABLE f (k INTEGER, m INTEGER, t VARCHAR)")
        con.execute("INSERT INTO f SELECT n % 7, n, 't' || n FROM range(3000) AS r(n)")
        con.execute("CREATE BVH b ON f (SCAN (k), AGGREGATE (m))")
    (file,) = (tmp_path / "db" / "data").glob("*.bvh")
    place = read_sections(file).arrays.peek("row_ids", np.uint32, (3000,)).tobytes()
    data = bytearray(file.read_bytes())
    data[data.index(place) + 4000] ^= 1
    file.write_bytes(data)
    return tmp_path / "db"


def test_row_numbers_are_checked_where_rows_are_fetched(damaged_row_numbers):
    with raydb.connect(damaged_row_numbers, read_only=True) as con:
        sums = "SELECT sum(m) FROM f WHERE k = 3"
        assert "bvh: b" in str(con.execute(f"EXPLAIN {sums}").fetchall())
        assert con.execute(sums).fetchall() == [(sum(range(3, 3000, 7)),)]
        with pytest.raises(raydb.OperationalError, match="expected 'row_ids' with hash"):
            con.execute("SELECT sum(m), max(t) FROM f WHERE k = 3").fetchall()


def test_damaged_row_numbers_are_not_copied(damaged_row_numbers, tmp_path):
    with raydb.connect(damaged_row_numbers) as con:
        con.execute(f"ATTACH '{tmp_path / 'other'}' AS other")
        with pytest.raises(raydb.OperationalError, match="expected 'row_ids' with hash"):
            con.execute("COPY FROM DATABASE raydb TO other")
