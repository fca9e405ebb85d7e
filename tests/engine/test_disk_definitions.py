"""Definitions on disk: what ALTER TABLE and its kin leave is there after any way to reopen."""

from __future__ import annotations

import pytest

import raydb

SCHEMA = """
CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'none', size SMALLINT);
CREATE TABLE f (
  d INTEGER REFERENCES d (id) ON DELETE CASCADE, m INTEGER CONSTRAINT low CHECK (m < 100),
  t VARCHAR) WITH (t.chunk_rows = 2);
INSERT INTO d VALUES (1, 'x', 7), (2, 'y', NULL), (3, 'z', 9);
INSERT INTO f VALUES (1, 1, 'a'), (2, 2, NULL), (NULL, 4, 'c'), (2, 8, 'd'), (1, 16, 'e');
DELETE FROM f WHERE m = 4;
CREATE VIEW v (a) AS SELECT sum(m) FROM f;
CREATE BVH b ON f (SCAN (name), AGGREGATE (m)) WITH (sieve = true);
CHECKPOINT;
"""
# Each is run on tables in files, with and without rows beside them, and must leave the same rows
# when the database is opened again.
CHANGES = {
    "add a column": "ALTER TABLE f ADD COLUMN n INTEGER",
    "add with a default": "ALTER TABLE f ADD COLUMN n INTEGER NOT NULL DEFAULT 5 CHECK (n > 0)",
    "add, then rename": "ALTER TABLE f ADD COLUMN n DATE, RENAME COLUMN n TO day",
    "drop a column": "ALTER TABLE f DROP COLUMN t",
    "drop and add again": "ALTER TABLE f DROP COLUMN t, ADD COLUMN t VARCHAR",
    "drop and rename": "ALTER TABLE d DROP COLUMN size, ADD COLUMN n INTEGER, RENAME n TO size",
    "rename": "ALTER TABLE f RENAME COLUMN t TO text, RENAME COLUMN text TO note",
    "swap names": "ALTER TABLE f ADD COLUMN u TEXT, RENAME t TO x, RENAME u TO t, RENAME x TO u",
    "rename a key": "ALTER TABLE d RENAME COLUMN id TO key",
    "rename a foreign key": "ALTER TABLE f RENAME COLUMN d TO place",
    "rename a table": "ALTER TABLE d RENAME TO dimension",
    "change types": "ALTER TABLE f ALTER m TYPE BIGINT USING m + 1, ALTER t TYPE DATE USING NULL",
    "change defaults": "ALTER TABLE d ALTER name SET DEFAULT 'new', ALTER name DROP NOT NULL",
    "add constraints": "ALTER TABLE f ADD CONSTRAINT one UNIQUE (m), ADD CHECK (m <> 3)",
    "drop constraints": "ALTER TABLE f DROP CONSTRAINT low, DROP CONSTRAINT f_d_fkey CASCADE",
    "create as": "CREATE TABLE g AS SELECT name, sum(m) AS s FROM f JOIN d ON d = id GROUP BY name",
    "replace": "CREATE OR REPLACE TABLE f (d INTEGER REFERENCES d (id), m INTEGER)",
    "truncate": "TRUNCATE f",
    "truncate all": "TRUNCATE d CASCADE",
    "drop": "DROP TABLE d CASCADE",
    "upsert": "INSERT INTO d VALUES (1, 'w', 0), (5, 'n', 1) "
    "ON CONFLICT (id) DO UPDATE SET name = excluded.name || d.name",
    "cascade": "DELETE FROM d WHERE id = 2",
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(SCHEMA)
    return path


def state(con):
    """Return the tables with their rows, their definitions, and what views and BVHs there are."""
    tables = [row[0] for row in con.execute("SHOW TABLES").fetchall()]
    rows = {name: sorted(con.execute(f'FROM "{name}"').fetchall(), key=repr) for name in tables}
    described = {name: con.execute(f'DESCRIBE "{name}"').fetchall() for name in tables}
    constraints = con.execute(
        "SELECT * FROM information_schema.table_constraints ORDER BY constraint_name"
    ).fetchall()
    checks = con.execute("SELECT * FROM information_schema.check_constraints").fetchall()
    bvhs = con.execute(
        "SELECT name, table_name, scan, group_by, aggregate, sieve, sieve_bytes > 0 FROM bvhs()"
    ).fetchall()
    return rows, described, constraints, checks, bvhs


def sums(con):
    """Return the sums by name, from the BVH where there is one."""
    keys = {
        row[0]
        for row in con.execute(
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_name IN ('d', 'dimension', 'f')"
        ).fetchall()
    }
    if not {"name", "m"} <= keys:
        return None
    table = con.execute(
        "SELECT table_name FROM information_schema.columns WHERE column_name = 'name'"
    ).fetchone()[0]
    place, key = "place" if "place" in keys else "d", "key" if "key" in keys else "id"
    found = []
    for fused_path in ("off", "on"):
        con.execute(f"SET fused_path = '{fused_path}'")
        found.append(
            con.execute(
                f"SELECT name, sum(m) FROM f JOIN {table} AS q ON f.{place} = q.{key} "
                "GROUP BY name ORDER BY name"
            ).fetchall()
        )
    assert found[0] == found[1]
    return found[0]


@pytest.mark.long
@pytest.mark.parametrize(
    "more", ["", "INSERT INTO f VALUES (3, 32, 'f'); DELETE FROM f WHERE m = 1"]
)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_definitions_survive(path, change, more):
    with raydb.connect(path) as con:
        if more:
            con.execute(more)
        con.execute(change)
        after = state(con)
        assert_usable(con)
    for step in ("", "CHECKPOINT", "VACUUM"):
        with raydb.connect(path) as con:
            if step:
                con.execute(step)
            assert state(con) == after
            assert_usable(con)
            if change != CHANGES["drop"]:
                sums(con)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_rollback_leaves_nothing(path, change):
    with raydb.connect(path) as con:
        before = state(con), sums(con)
        con.execute("BEGIN; INSERT INTO d VALUES (4, 'q', 1); SAVEPOINT s")
        con.execute(change)
        con.execute("ROLLBACK TO s; DELETE FROM d WHERE id = 4; COMMIT")
        assert (state(con), sums(con)) == before
        con.execute("BEGIN")
        con.execute(change)
        con.execute("ROLLBACK")
        assert (state(con), sums(con)) == before
    with raydb.connect(path) as con:
        assert (state(con), sums(con)) == before


def assert_usable(con):
    """Check that each table takes rows, and back, as its definition is now."""
    tables = con.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
    ).fetchall()
    con.execute("BEGIN")
    for (name,) in tables:
        count = con.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        con.execute(
            f'UPDATE "{name}" SET "{first_column(con, name)}" = "{first_column(con, name)}"'
        )
        con.execute(f'DELETE FROM "{name}"' if name == "f" else f'SELECT count(*) FROM "{name}"')
        left = con.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        assert left == (0 if name == "f" else count)
    con.execute("ROLLBACK")


def first_column(con, table):
    return con.execute(f'DESCRIBE "{table}"').fetchone()[0]


def test_a_reader_follows_definitions(path):
    with raydb.connect(path) as con, raydb.connect(path, read_only=True) as reader:
        for name in ("add a column", "rename", "change defaults", "create as", "truncate"):
            con.execute(CHANGES[name])
            assert state(reader) == state(con)
        for text in (
            "ALTER TABLE f ADD COLUMN q INTEGER",
            "TRUNCATE f",
            "CREATE TABLE z AS SELECT 1",
        ):
            with pytest.raises(raydb.OperationalError, match="read-only"):
                reader.execute(text)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM t WHERE v IS NULL; ALTER TABLE t ALTER v SET NOT NULL",
        "UPDATE t SET v = 'new' WHERE v IS NULL; ALTER TABLE t ALTER v SET NOT NULL",
        "UPDATE t SET v = id::VARCHAR; ALTER TABLE t ADD PRIMARY KEY (v)",
        "ALTER TABLE t ADD COLUMN w VARCHAR; UPDATE t SET w = 'new', v = 'new'; "
        "ALTER TABLE t ALTER w SET NOT NULL; ALTER TABLE t ALTER v SET NOT NULL",
    ],
)
def test_what_was_null_in_rows_that_are_gone_can_be_not_null(path, change):
    """A file that has NULL where its table has none is damaged."""
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (id INTEGER, v VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, NULL), (2, 'b'), (3, NULL), (4, 'd'); CHECKPOINT")
        con.execute(change)
        expected = con.execute("SELECT * FROM t ORDER BY id").fetchall()
    with raydb.connect(path) as con:
        assert con.execute("SELECT * FROM t ORDER BY id").fetchall() == expected
        with pytest.raises(raydb.IntegrityError, match="NULL"):
            con.execute("INSERT INTO t (id) VALUES (9)")


def test_a_column_of_deleted_rows_alone_is_to_be_vacuumed_first(path):
    with raydb.connect(path) as con:
        con.execute(
            "CREATE TABLE t (v VARCHAR); INSERT INTO t VALUES (NULL); CHECKPOINT; DELETE FROM t"
        )
        with pytest.raises(raydb.ProgrammingError, match=r"'v' of table 't' .*; VACUUM first"):
            con.execute("ALTER TABLE t ALTER v SET NOT NULL")
        con.execute("VACUUM; ALTER TABLE t ALTER v SET NOT NULL")
    raydb.connect(path).close()
