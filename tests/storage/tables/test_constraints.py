"""Tables keep their constraints: definitions, appended rows and drops."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydb.errors import IntegrityError, NotSupportedError, ProgrammingError
from raydb.storage.tables.constraints import append_rows, check_drop, define_table
from raydb.storage.tables.table import ForeignKey, TableDefinition, UniqueKey

INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()


def definition(name, *fields, **constraints):
    return TableDefinition(name, pa.schema([pa.field(*field) for field in fields]), **constraints)


def rows_of(table, *rows):
    schema = table.definition.schema
    arrays = [pa.array([row[i] for row in rows], t) for i, t in enumerate(schema.types)]
    return pa.Table.from_arrays(arrays, names=schema.names)


def append(table, *rows, tables=None):
    return append_rows(table, rows_of(table, *rows), tables or {})


def fails(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


@pytest.fixture
def nation():
    table = define_table(
        definition("nation", ("id", INT), ("name", TEXT, False), ("code", TEXT),
                   primary_key=UniqueKey(("id",)), unique_keys=(UniqueKey(("code", "name")),)), {},
    )  # fmt: skip
    return append(table, (1, "Italy", "IT"), (2, "Peru", None), (5, "Peru", None))


@pytest.fixture
def city_definition():
    return definition("city", ("name", TEXT), ("nation", LONG), ("twin", TEXT),
                      primary_key=UniqueKey(("name",)),
                      foreign_keys=(ForeignKey(("nation",), "nation", ()),
                                    ForeignKey(("twin",), "city", ("name",))))  # fmt: skip


def test_a_definition_is_resolved(nation, city_definition):
    city = define_table(city_definition, {"nation": nation})
    assert city.version == 0
    assert city.row_count == 0
    assert city.definition.foreign_keys == (
        ForeignKey(("nation",), "nation", ("id",)),
        ForeignKey(("twin",), "city", ("name",)),
    )
    assert [field.nullable for field in city.rows.schema] == [False, True, True]
    assert {key.table: len(rows) for key, rows in city.foreign_rows.items()} == {
        "nation": 0,
        "city": 0,
    }


A, B = ("a", INT), ("b", TEXT)
BAD_DEFINITIONS = [
    (definition("nation", A), ProgrammingError, "table 'nation' exists already"),
    (definition("t"), ProgrammingError, "table 't' has no columns"),
    (
        definition("t", A, ("A", TEXT)),
        ProgrammingError,
        "table 't' has two columns that differ by case, 'a' and 'A'",
    ),
    (
        definition("t", ("apple", INT), primary_key=UniqueKey(("aple",))),
        ProgrammingError,
        "column 'aple' does not exist in 't'; did you mean 'apple'?",
    ),
    (
        definition("t", A, unique_keys=(UniqueKey(("a", "a")),)),
        ProgrammingError,
        "a unique key of table 't' names column 'a' twice",
    ),
    (
        definition("t", ("v", pa.list_(pa.float32())), primary_key=UniqueKey(("v",))),
        NotSupportedError,
        "column 'v' of table 't' is REAL[], which cannot be part of a primary key",
    ),
    (
        definition("t", A, foreign_keys=(ForeignKey(("a",), "nations", ()),)),
        ProgrammingError,
        "table 'nations' does not exist; did you mean 'nation'?",
    ),
    (
        definition("t", A, foreign_keys=(ForeignKey(("a",), "nation", ("nam",)),)),
        ProgrammingError,
        "column 'nam' does not exist in 'nation'; did you mean 'name'?",
    ),
    (
        definition("t", A, foreign_keys=(ForeignKey(("b",), "nation", ()),)),
        ProgrammingError,
        "column 'b' does not exist in 't'",
    ),
    (
        definition("t", A, B, foreign_keys=(ForeignKey(("b",), "nation", ("name",)),)),
        ProgrammingError,
        "the foreign key (b) of table 't' refers to (name), which is neither the primary key "
        "nor a unique key of table 'nation'",
    ),
    (
        definition("t", A, B, foreign_keys=(ForeignKey(("a", "b"), "nation", ()),)),
        ProgrammingError,
        "the foreign key (a, b) of table 't' has 2 columns, but refers to 1 of table 'nation'",
    ),
    (
        definition("t", A, B, foreign_keys=(ForeignKey(("b",), "nation", ("id",)),)),
        ProgrammingError,
        "column 'b' of table 't' is VARCHAR, but column 'id' of table 'nation', to which it "
        "refers, is INTEGER",
    ),
    (
        definition("t", A, foreign_keys=(ForeignKey(("a",), "t", ()),)),
        ProgrammingError,
        "the foreign key (a) of table 't' needs a primary key in table 't', which has none",
    ),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD_DEFINITIONS)
def test_bad_definitions(nation, bad, error, message):
    with fails(error, message):
        define_table(bad, {"nation": nation})


def test_references_may_be_a_unique_key_in_another_order(nation):
    key = ForeignKey(("n", "c"), "nation", ("name", "code"))
    table = define_table(
        definition("t", ("c", TEXT), ("n", TEXT), foreign_keys=(key,)), {"nation": nation}
    )
    tables = {"nation": nation, "t": table}
    table = append(table, ("IT", "Italy"), (None, "Peru"), ("x", None), tables=tables)
    assert table.foreign_rows[key].tolist() == [0, -1, -1]
    message = "table 't', row 1: the foreign key (n, c) = ('Peru', 'IT') has no row in 'nation' "
    with fails(IntegrityError, message + "(name, code)"):
        append(table, ("IT", "Peru"), tables=tables)


BAD_ROWS = [
    ([(7, "Chile", None), (8, None, None)], "row 2: column 'name' is NOT NULL, but has no value"),
    ([(None, "Chile", None)], "row 1: column 'id' is NOT NULL, but has no value"),
    (
        [(7, "Chile", None), (2, "Cuba", None)],
        "row 2: the primary key (id) = (2) is in the table already",
    ),
    (
        [(7, "a", None), (8, "b", None), (7, "c", None)],
        "row 3: the primary key (id) = (7) is that of row 1",
    ),
    (
        [(7, "Italy", "IT")],
        "row 1: the unique key (code, name) = ('IT', 'Italy') is in the table already",
    ),
    (
        [(7, "a", "A"), (8, "a", "A")],
        "row 2: the unique key (code, name) = ('A', 'a') is that of row 1",
    ),
]


@pytest.mark.parametrize(("bad", "message"), BAD_ROWS)
def test_bad_rows_change_nothing(nation, bad, message):
    before = nation.rows.table().to_pylist()
    with fails(IntegrityError, f"table 'nation', {message}"):
        append(nation, *bad)
    assert nation.rows.table().to_pylist() == before
    assert nation.version == 1


def test_nulls_of_a_unique_key_never_collide(nation):
    nation = append(nation, (6, "Peru", None), (7, "Italy", None))
    assert nation.row_count == 5
    assert nation.version == 2


def test_foreign_rows_grow_with_the_table(nation, city_definition):
    tables = {"nation": nation}
    city = define_table(city_definition, tables)
    to_nation, to_city = city.definition.foreign_keys
    city = append(city, ("Rome", 1, "Lima"), ("Lima", 5, None), ("Sea", None, "Sea"), tables=tables)
    assert city.foreign_rows[to_nation].tolist() == [0, 2, -1]
    assert city.foreign_rows[to_city].tolist() == [1, -1, 2]
    grown = append(city, ("Cusco", 2, "Rome"), ("Pisa", 1, "Cusco"), tables=tables)
    assert grown.foreign_rows[to_nation].tolist() == [0, 2, -1, 1, 0]
    assert grown.foreign_rows[to_city].tolist() == [1, -1, 2, 0, 3]
    assert grown.foreign_rows[to_nation].dtype == np.int8
    assert not grown.foreign_rows[to_nation].flags.writeable
    assert city.row_count == 3  # the older version is untouched
    message = "table 'city', row 2: the foreign key (nation) = (9) has no row in 'nation' (id)"
    with fails(IntegrityError, message):
        append(city, ("Oslo", 1, None), ("Bonn", 9, None), tables=tables)
    message = (
        "table 'city', row 1: the foreign key (twin) = ('Atlantis') has no row in 'city' (name)"
    )
    with fails(IntegrityError, message):
        append(city, ("Oslo", 1, "Atlantis"), tables=tables)


def test_keys_are_shown_as_sql_writes_them():
    day = define_table(
        definition(
            "day", ("d", pa.date32()), ("b", pa.binary()), primary_key=UniqueKey(("d", "b"))
        ),
        {},
    )
    row = (dt.date(1992, 1, 2), b"\x01\xff")
    message = (
        "table 'day', row 2: the primary key (d, b) = ('1992-01-02', x'01ff') is that of row 1"
    )
    with fails(IntegrityError, message):
        append(day, row, row)


def test_no_rows_and_no_constraints():
    table = define_table(definition("t", A, B), {})
    table = append(table)
    assert table.row_count == 0
    table = append(table, (1, "x"), (None, None), (1, "x"))
    assert table.rows.table().to_pylist()[1:] == [{"a": None, "b": None}, {"a": 1, "b": "x"}]


def test_a_table_to_which_another_refers_is_not_dropped(nation, city_definition):
    city = define_table(city_definition, {"nation": nation})
    tables = {"nation": nation, "city": city}
    check_drop("city", tables)  # its reference to itself does not count
    check_drop("nation", {"nation": nation})
    message = (
        "table 'nation' cannot be dropped: the foreign key (nation) of table 'city' refers to it"
    )
    with fails(IntegrityError, message):
        check_drop("nation", tables)


def test_small_appends_after_a_big_one_keep_few_chunks():
    table = define_table(definition("t", A, B, primary_key=UniqueKey(("a",))), {})
    big = pa.table({"a": pa.array(range(0, 200_000, 2), INT), "b": ["x"] * 100_000})
    table = append_rows(table, big, {})
    for number in range(100):
        table = append(table, (2 * number + 1, str(number)))
    assert table.rows.column("a").to_pylist() == [*range(0, 200_000, 2), *range(1, 200, 2)]
    assert table.rows.column("b").to_pylist()[100_000:] == [str(n) for n in range(100)]
    assert table.rows.column("a").num_chunks < 10
    with fails(
        IntegrityError, "table 't', row 1: the primary key (a) = (199) is in the table already"
    ):
        append(table, (199, None))


SELF = definition("node", ("id", INT), ("part", TEXT), ("up", INT), ("up_part", TEXT),
                  primary_key=UniqueKey(("id", "part")),
                  foreign_keys=(ForeignKey(("up", "up_part"), "node", ()),))  # fmt: skip
NODE = st.tuples(
    st.integers(0, 4), st.sampled_from("ab"),
    st.none() | st.integers(0, 4), st.none() | st.sampled_from("ab"),
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=300)
@given(st.lists(st.lists(NODE, max_size=3), max_size=6))
def test_statements_against_an_oracle_of_sets(statements):
    table = define_table(SELF, {})
    (key,) = table.definition.foreign_keys
    kept: list = []
    for rows in statements:
        keys = [row[:2] for row in kept + rows]
        upward = [row[2:] for row in rows if None not in row[2:]]
        legal = len(set(keys)) == len(keys) and set(upward) <= set(keys)
        if legal:
            table = append(table, *rows)
            kept += rows
        else:
            with pytest.raises(IntegrityError, match="table 'node', row "):
                append(table, *rows)
        assert [tuple(row.values()) for row in table.rows.table().to_pylist()] == kept
        expected = [-1 if None in row[2:] else [r[:2] for r in kept].index(row[2:]) for row in kept]
        assert table.foreign_rows[key].tolist() == expected


def test_a_later_version_of_the_referenced_table_keeps_the_foreign_rows(nation, city_definition):
    city = define_table(city_definition, {"nation": nation})
    city = append(city, ("Rome", 1, None), tables={"nation": nation})
    nation = append(nation, (9, "Chad", "TD"))
    city = append(city, ("Doba", 9, None), tables={"nation": nation})
    key = city.definition.foreign_keys[0]
    assert nation.rows.column("name").take(pa.array(city.foreign_rows[key])).to_pylist() == [
        "Italy",
        "Chad",
    ]


def test_definitions_stay_values(nation):
    assert replace(nation.definition) == nation.definition
