"""Changes of rows: masked rows, constraints without them, references that follow, VACUUM."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from raydb.errors import IntegrityError
from raydb.storage.tables.changes import (
    Append,
    Remove,
    Replace,
    apply_change,
    compact_tables,
    delete_rows,
    update_rows,
)
from raydb.storage.tables.constraints import define_table
from raydb.storage.tables.table import ForeignKey, TableDefinition, UniqueKey

INT, TEXT = pa.int32(), pa.string()
CITY_NATION = ForeignKey(("nation",), "nation", ("id",))
CITY_TWIN = ForeignKey(("twin",), "city", ("id",))


def rows_of(table, *rows):
    schema = table.definition.schema
    arrays = [pa.array([row[i] for row in rows], t) for i, t in enumerate(schema.types)]
    return pa.Table.from_arrays(arrays, names=schema.names)


def numbers(*row_numbers):
    return np.array(row_numbers, np.int32)


def fails(message):
    return pytest.raises(IntegrityError, match=f"^{re.escape(message)}$")


class Database:
    """Tables under change; every change is checked to leave the tables before it as they were."""

    def __init__(self):
        self.tables = {}

    def define(self, name, *columns, **constraints):
        schema = pa.schema([pa.field(*column) for column in columns])
        definition = TableDefinition(name, schema, **constraints)
        self.tables[name] = define_table(definition, self.tables)

    def apply(self, change):
        before = {name: state_of(table) for name, table in self.tables.items()}
        try:
            changed = apply_change(change, self.tables)
        finally:
            assert before == {name: state_of(table) for name, table in self.tables.items()}
        self.tables |= changed
        return set(changed)

    def append(self, name, *rows):
        return self.apply(Append(name, rows_of(self.tables[name], *rows)))

    def remove(self, name, *row_numbers):
        return self.apply(Remove(name, numbers(*row_numbers)))

    def replace(self, name, row_numbers, *rows):
        rows = rows_of(self.tables[name], *rows)
        return self.apply(Replace(name, numbers(*row_numbers), rows))

    def compact(self):
        changed = compact_tables(self.tables)
        self.tables |= changed
        return set(changed)

    def rows(self, name):
        table = self.tables[name]
        names = table.definition.schema.names
        return list(zip(*(table.live_column(n).to_pylist() for n in names), strict=True))

    def targets(self, name, key):
        """The keys that the visible rows point to, read through their foreign rows."""
        table = self.tables[name]
        target = self.tables[key.table]
        live = slice(None) if table.live is None else table.live
        ids = target.rows.column(key.references[0]).to_pylist()
        pointers = table.foreign_rows[key][live]
        assert target.live is None or target.live[pointers[pointers >= 0]].all()
        return [None if pointer < 0 else ids[pointer] for pointer in pointers]


def state_of(table):
    live = None if table.live is None else table.live.tolist()
    pointers = [rows.tolist() for rows in table.foreign_rows.values()]
    return repr((table.version, table.rows.table().to_pylist(), live, pointers))


@pytest.fixture
def db():
    db = Database()
    db.define("nation", ("id", INT), ("name", TEXT, False), ("code", TEXT),
              primary_key=UniqueKey(("id",)), unique_keys=(UniqueKey(("code",)),))  # fmt: skip
    db.define("city", ("id", INT), ("nation", INT), ("twin", INT),
              primary_key=UniqueKey(("id",)), foreign_keys=(CITY_NATION, CITY_TWIN))  # fmt: skip
    db.append("nation", (1, "Italy", "IT"), (2, "Peru", None), (3, "Chad", None))
    db.append("city", (10, 1, None), (11, 1, 10), (12, None, 12), (13, 2, 11))
    return db


def test_delete_masks_rows(db):
    assert db.remove("city", 3, 1) == {"city"}
    city = db.tables["city"]
    assert db.rows("city") == [(10, 1, None), (12, None, 12)]
    assert (city.row_count, city.live_count, city.version) == (4, 2, 2)
    assert (city.null_count("twin"), city.null_count("id"), city.null_count("nation")) == (1, 0, 1)
    assert not city.live.flags.writeable
    db.remove("city", 2)
    assert [db.tables["city"].null_count(name) for name in ("id", "nation", "twin")] == [0, 0, 1]


def test_a_row_that_is_referred_to_stays(db):
    with fails(
        "table 'nation': the key (id) = (2) cannot be deleted: the foreign key (nation) of table "
        "'city' refers to it"
    ):
        db.remove("nation", 1, 2)
    with fails(
        "table 'city': the key (id) = (11) cannot be deleted: the foreign key (twin) of table "
        "'city' refers to it"
    ):
        db.remove("city", 1)
    # Rows that go together, rows that refer to themselves, and rows whose referrers are masked.
    db.remove("city", 3, 1)
    db.remove("city", 2)
    db.remove("nation", 1)
    assert [row[0] for row in db.rows("nation")] == [1, 3]


def test_masked_rows_are_out_of_the_way(db):
    db.remove("city", 3)
    db.remove("nation", 1)
    with fails("table 'city', row 1: the foreign key (nation) = (2) has no row in 'nation' (id)"):
        db.append("city", (13, 2, None))
    db.append("nation", (2, "Chile", None))
    db.append("city", (13, 2, 13), (14, 3, 13))
    assert db.targets("city", CITY_NATION) == [1, 1, None, 2, 3]
    assert db.targets("city", CITY_TWIN) == [None, 10, 12, 13, 13]
    assert db.tables["city"].foreign_rows[CITY_NATION][4] == 3
    with fails("table 'nation', row 1: the primary key (id) = (2) is in the table already"):
        db.append("nation", (2, "Cuba", None))


def test_update_appends_new_versions(db):
    assert db.replace("city", [3, 1], (13, 3, 10), (11, 2, 13)) == {"city"}
    assert db.rows("city") == [(10, 1, None), (12, None, 12), (13, 3, 10), (11, 2, 13)]
    assert db.targets("city", CITY_NATION) == [1, None, 3, 2]
    assert db.targets("city", CITY_TWIN) == [None, 12, 10, 13]
    assert db.tables["city"].version == 2


def test_references_follow_an_update(db):
    assert db.replace("nation", [0], (1, "Italia", "IT")) == {"nation", "city"}
    assert db.targets("city", CITY_NATION) == [1, 1, None, 2]
    assert db.tables["city"].foreign_rows[CITY_NATION].tolist() == [3, 3, -1, 1]
    # What its rows hold is what it was: a BVH on the cities alone is still right.
    assert db.tables["city"].version == 1
    # Of the rows that refer to a row of the same table, those in the update are looked up anew.
    db.replace("city", [0, 1], (10, 2, 11), (11, 1, None))
    assert db.targets("city", CITY_TWIN) == [12, 11, 11, None]
    # Nothing refers to Chad.
    assert db.replace("nation", [2], (4, "Chad", None)) == {"nation"}


def test_a_key_that_is_referred_to_is_not_changed(db):
    with fails(
        "table 'nation': the key (id) = (2) cannot be changed: the foreign key (nation) of table "
        "'city' refers to it"
    ):
        db.replace("nation", [2, 1], (4, "Chad", None), (5, "Peru", None))
    with fails(
        "table 'city': the key (id) = (11) cannot be changed: the foreign key (twin) of table "
        "'city' refers to it"
    ):
        db.replace("city", [1], (15, 1, 10))
    # A row that refers to itself moves; so do a row and all that refer to it.
    db.replace("city", [2], (22, None, 22))
    db.replace("city", [1, 3], (21, 1, 10), (23, 2, 21))
    assert db.targets("city", CITY_TWIN) == [None, 22, 10, 21]


@pytest.mark.parametrize(
    ("name", "row_numbers", "rows", "message"),
    [
        ("nation", [0], [(1, None, "IT")],
         "table 'nation', updated row 1: column 'name' is NOT NULL, but has no value"),
        ("nation", [1, 2], [(2, "a", "x"), (3, "b", "x")],
         "table 'nation', updated row 2: the unique key (code) = ('x') is that of updated row 1"),
        ("nation", [2], [(1, "a", None)],
         "table 'nation', updated row 1: the primary key (id) = (1) is in the table already"),
        ("city", [0], [(10, 9, None)],
         "table 'city', updated row 1: the foreign key (nation) = (9) has no row in 'nation' (id)"),
    ],
)  # fmt: skip
def test_an_update_keeps_the_constraints(db, name, row_numbers, rows, message):
    with fails(message):
        db.replace(name, row_numbers, *rows)


def test_an_update_may_swap_keys(db):
    db.replace("nation", [0, 2], (1, "Italy", "TD"), (3, "Chad", "IT"))
    assert db.rows("nation") == [(2, "Peru", None), (1, "Italy", "TD"), (3, "Chad", "IT")]
    assert db.targets("city", CITY_NATION) == [1, 1, None, 2]


def test_keys_that_are_nan_or_minus_zero_are_the_same():
    db = Database()
    key = ForeignKey(("x",), "point", ("x",))
    db.define("point", ("x", pa.float64()), ("name", TEXT), primary_key=UniqueKey(("x",)))
    db.define("mark", ("x", pa.float64()), foreign_keys=(key,))
    db.append("point", (float("nan"), "a"), (0.0, "b"))
    db.append("mark", (float("nan"),), (-0.0,))
    db.replace("point", [0, 1], (float("nan"), "c"), (-0.0, "d"))
    assert db.tables["mark"].foreign_rows[key].tolist() == [2, 3]


def test_compaction_numbers_rows_anew(db):
    assert db.compact() == set()
    db.replace("nation", [0], (1, "Italia", "IT"))
    db.remove("city", 3)
    db.remove("nation", 1)
    before = {name: db.rows(name) for name in db.tables}
    targets = [db.targets("city", key) for key in (CITY_NATION, CITY_TWIN)]
    assert db.compact() == {"nation", "city"}
    assert {name: db.rows(name) for name in db.tables} == before
    assert [db.targets("city", key) for key in (CITY_NATION, CITY_TWIN)] == targets
    assert [table.live for table in db.tables.values()] == [None, None]
    assert [table.row_count for table in db.tables.values()] == [2, 3]
    assert [table.version for table in db.tables.values()] == [4, 3]
    db.append("city", (13, 3, 13))
    assert db.tables["city"].foreign_rows[CITY_NATION].tolist() == [1, 1, -1, 0]
    # A table that only refers to a compacted one keeps its version.
    db.remove("city", 3)
    db.compact()
    db.append("nation", (5, "Cuba", None))
    db.remove("nation", 0)
    assert db.compact() == {"nation", "city"}
    assert db.tables["city"].version == 6
    assert db.targets("city", CITY_NATION) == [1, 1, None]


def test_everything_may_go(db):
    db.remove("city", 0, 1, 2, 3)
    db.remove("nation", 2, 1, 0)
    assert db.rows("city") == db.rows("nation") == []
    with fails("table 'city', row 1: the foreign key (nation) = (1) has no row in 'nation' (id)"):
        db.append("city", (10, 1, None))
    db.append("nation", (1, "Malta", "MT"))
    db.append("city", (10, 1, 10))
    db.compact()
    assert db.targets("city", CITY_NATION) == [1]
    db.remove("city", 0)
    db.remove("nation", 0)
    db.compact()
    db.append("city", (10, None, 10))
    assert db.targets("city", CITY_TWIN) == [10]


def test_rows_are_masked_once(db):
    nation = db.tables["nation"]
    after = delete_rows(nation, numbers(2), db.tables)["nation"]
    with pytest.raises(IntegrityError, match="a row that the statement changes too"):
        delete_rows(after, numbers(2), db.tables)
    with pytest.raises(IntegrityError, match="a row that the statement changes too"):
        update_rows(after, numbers(2), rows_of(nation, (3, "Chad", None)), db.tables)


def test_deletes_cascade():
    db = Database()
    up = ForeignKey(("up",), "node", ("id",), on_delete="CASCADE")
    node = ForeignKey(("node",), "node", ("id",), on_delete="CASCADE")
    held = ForeignKey(("node",), "node", ("id",))
    db.define("node", ("id", INT), ("up", INT), primary_key=UniqueKey(("id",)), foreign_keys=(up,))
    db.define("leaf", ("node", INT), foreign_keys=(node,))
    db.define("other", ("node", INT), foreign_keys=(held,))
    db.append("node", (1, None), (2, 1), (3, 2), (4, 4), (5, None))
    db.append("leaf", (1,), (3,), (None,), (5,))
    db.append("other", (5,))
    assert db.remove("node", 1) == {"node", "leaf"}
    assert db.rows("node") == [(1, None), (4, 4), (5, None)]
    assert db.rows("leaf") == [(1,), (None,), (5,)]
    assert db.remove("node", 3) == {"node"}
    with fails(
        "table 'node': the key (id) = (5) cannot be deleted: the foreign key (node) of table "
        "'other' refers to it"
    ):
        db.remove("node", 0, 4)
    assert db.rows("leaf") == [(1,), (None,), (5,)]


@pytest.mark.parametrize("seed", range(5))
def test_random_changes_keep_the_references(seed):
    """Any changes that are allowed leave each visible row pointing to its key's visible row."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    db = Database()
    db.define("nation", ("id", INT), primary_key=UniqueKey(("id",)))
    db.define("city", ("id", INT), ("nation", INT), ("twin", INT),
              primary_key=UniqueKey(("id",)), foreign_keys=(CITY_NATION, CITY_TWIN))  # fmt: skip
    allowed = 0
    for _ in range(120):
        name = str(rng.choice(["nation", "city"]))
        live = db.tables[name].live
        visible = np.arange(db.tables[name].row_count) if live is None else np.flatnonzero(live)
        chosen = rng.permutation(visible)[: rng.integers(1, 3)].tolist()
        width = 1 if name == "nation" else 3
        rows = [tuple(int(v) if v else None for v in rng.integers(0, 12, width))
                for _ in range(max(len(chosen), 1))]  # fmt: skip
        rows = [(row[0] or 12, *row[1:]) for row in rows]
        try:
            match rng.integers(4):
                case 0 | 1 if chosen:
                    db.replace(name, chosen, *rows)
                case 2 if chosen:
                    db.remove(name, *chosen)
                case _:
                    db.append(name, *rows)
            allowed += 1
        except IntegrityError:
            pass
        if rng.random() < 0.05:
            db.compact()
        cities = db.rows("city")
        assert db.targets("city", CITY_NATION) == [row[1] for row in cities]
        assert db.targets("city", CITY_TWIN) == [row[2] for row in cities]
        ids = [row[0] for row in cities]
        assert len(set(ids)) == len(ids)
    assert allowed > 20
