"""Types of frames: what each becomes in SQL, and what is refused, by the name of its column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raydb

NOON = dt.datetime(2026, 5, 1, 12)


def _object(*values):
    return pd.DataFrame({"a": pd.Series(values, dtype=object)})


def _arrow(values, kind):
    return pa.table({"a": pa.array(values, kind)})


def _read(con, frame):
    con.register("frame", frame)
    return con.execute("SELECT * FROM frame")


READ = {
    "categories": (pd.DataFrame({"a": pd.Categorical(["x", None])}), "ENUM('x')", ["x", None]),
    "categories of numbers": (pd.DataFrame({"a": pd.Categorical([3, 4])}), "BIGINT", [3, 4]),
    "dictionary": (_arrow(["x"], pa.dictionary(pa.int8(), pa.large_string())), "VARCHAR", ["x"]),
    "runs": (
        pa.table({"a": pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"])}),
        "VARCHAR",
        ["x", "x", "y"],
    ),
    "nullable integers": (pd.DataFrame({"a": pd.array([1, None], "Int32")}), "INTEGER", [1, None]),
    "half precision": (pd.DataFrame({"a": np.array([2.5], np.float16)}), "REAL", [2.5]),
    "sparse": (pd.DataFrame({"a": pd.arrays.SparseArray([0, 7])}), "BIGINT", [0, 7]),
    "integers beyond 64 bits": (_object(2**70, -1, None), "HUGEINT", [2**70, -1, None]),
    "the same in a dict": ({"a": [2**70]}, "HUGEINT", [2**70]),
    "int128": (pl.DataFrame({"a": [2**70]}, {"a": pl.Int128}), "HUGEINT", [2**70]),
    "bytes": (_object(b"x", bytearray(b"y")), "BLOB", [b"x", b"y"]),
    "fixed_size_binary": (_arrow([b"xy", None], pa.binary(2)), "BLOB", [b"xy", None]),
    "large_string": (_arrow(["x"], pa.large_string()), "VARCHAR", ["x"]),
    "string_view": (_arrow(["x"], pa.string_view()), "VARCHAR", ["x"]),
    "list_view": (_arrow([[1], None], pa.list_view(pa.int32())), "INTEGER[]", [[1], None]),
    "lists of texts": (_arrow([["x"]], pa.large_list(pa.string_view())), "VARCHAR[]", [["x"]]),
    "lists of one length": (_arrow([[1, 2]], pa.list_(pa.int64(), 2)), "BIGINT[2]", [(1, 2)]),
    "null": (_arrow([None], pa.null()), "VARCHAR", [None]),
    "bool8": (
        pa.table({"a": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))}),
        "BOOLEAN",
        [True, False],
    ),
    "dates beside datetimes": (
        _object(NOON.date(), NOON),
        "TIMESTAMP",
        [dt.datetime(2026, 5, 1), NOON],
    ),
    "texts beside NaN": (_object("x", float("nan")), "VARCHAR", ["x", None]),
    "integers beside floats": (_object(1, 2.5), "DOUBLE", [1.0, 2.5]),
    "decimals": (
        _object(Decimal("1.5"), 20, Decimal("NaN")),
        "DECIMAL(3,1)",
        [Decimal("1.5"), Decimal("20.0"), None],
    ),
    "decimal256 that fits": (
        _arrow([Decimal("1.25")], pa.decimal256(50, 2)),
        "DECIMAL(38,2)",
        [Decimal("1.25")],
    ),
    "decimal of hundreds": (_arrow([Decimal(300)], pa.decimal128(3, -2)), "DECIMAL(5,0)", [300]),
    "Polars objects": (pl.DataFrame({"a": ["x"]}, {"a": pl.Object}), "VARCHAR", ["x"]),
}
REFUSED = {
    "texts and integers": (_object("x", 3), "values of the types str and int are in no column"),
    "booleans and integers": (_object(True, 2), "of the types bool and int are in no column"),
    "bytes and texts": (_object(b"x", "y"), "of the types bytes and str are in no column"),
    "the same in a dict": ({"a": [1, "x"]}, "of the types int and str are in no column"),
    "the same in an array": ({"a": np.array([1, "x"], object)}, "the types int and str"),
    "objects": (_object(object()), "values of the type object, which SQL does not have"),
    "Polars objects": (pl.DataFrame({"a": [object()]}, {"a": pl.Object}), "the type object"),
    "integers beyond 38 digits": (_object(10**38), "has more than 38 digits"),
    "decimals beyond 38 digits": (_object(Decimal(10) ** 40), "41 digits, where a DECIMAL has at"),
    "infinite decimals": (_object(Decimal("Infinity")), "the Decimal Infinity is no DECIMAL"),
    "decimal256": (_arrow([Decimal(10) ** 40], pa.decimal256(50, 2)), "does not fit DECIMAL(38,2)"),
    "complex numbers": (pd.DataFrame({"a": [1j]}), "cannot be read"),
}


@pytest.fixture
def con():
    return raydb.connect()


@pytest.mark.parametrize("case", READ)
def test_a_type_is_read(con: raydb.Connection, case: str) -> None:
    frame, kind, values = READ[case]
    found = _read(con, frame)
    assert found.description is not None
    assert (found.description[0][1], [row[0] for row in found]) == (kind, values)
    con.execute("CREATE TABLE kept AS SELECT * FROM frame")
    assert [row[0] for row in con.execute("SELECT * FROM kept")] == values


@pytest.mark.parametrize("case", REFUSED)
def test_a_type_is_refused(con: raydb.Connection, case: str) -> None:
    frame, reason = REFUSED[case]
    with pytest.raises(raydb.DataError) as raised:
        _read(con, frame)
    sentence = str(raised.value)
    assert "table 'frame'" in sentence
    assert "column 'a'" in sentence
    assert reason in sentence
    assert " at 0x" not in sentence


def test_the_names_of_columns(con: raydb.Connection) -> None:
    """An index is no column; names of several levels are one text; two of one name are refused."""
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    frame = pd.DataFrame([[1, 2]], columns=levels, index=pd.Index(["k"], name="key"))
    found = _read(con, frame)
    assert [each[0] for each in found.description or ()] == ["('a', 'x')", "('a', 'y')"]
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(raydb.ProgrammingError, match="table 'frame' has two columns named 'a'"):
        con.register("frame", frame)


@pytest.mark.parametrize("library", [pd, pl])
def test_a_series_is_a_table_of_one_column(library):
    con = raydb.connect()
    con.register("named", library.Series([1, 2]).rename("a"))
    con.register("plain", library.Series([3]))
    assert con.execute("SELECT sum(a) FROM named").fetchone() == (3,)
    assert con.execute("SELECT value FROM plain").fetchall() == [(3,)]
