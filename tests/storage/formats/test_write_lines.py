"""Writing .csv files: whatever the options, what is written is read back the same."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from raydb.errors import NotSupportedError
from raydb.storage.formats import write_lines
from raydb.storage.formats.copy import read_rows, write_rows
from raydb.storage.tables.table import TableDefinition

TEXTS = st.none() | st.text(
    st.sampled_from("ab,;|\"'\n\r\\~0N ")
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=6,
)
RECORDS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    TEXTS,
    st.none() | st.decimals(-9_999_999, 9_999_999, places=2),
    st.none() | st.datetimes(),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.booleans(),
    TEXTS,
)
TYPES = (
    *(pa.int64(), pa.string(), pa.decimal128(9, 2), pa.timestamp("us"), pa.float64(), pa.bool_()),
    pa.string(),
)


@pytest.mark.long
@settings(max_examples=300)
@given(
    st.lists(RECORDS, min_size=1),
    st.sampled_from([",", ";", "|", "\t", "0", "-", ":", "e", " "]),
    st.sampled_from(['"', "'", "~", "1", "."]),
    st.sampled_from([None, "\\", "^", "2"]),
    st.sampled_from(["", "NULL", "0", "-1", "true", "\\N"]),
    st.booleans(),
)
def test_round_trip(tmp_path_factory, records, delimiter, quote, escape, null, header):
    assume(len({delimiter, quote, escape}) == 3)
    assume(not any(mark in null for mark in (delimiter, quote)))
    schema = pa.schema([(f"c{n}", kind) for n, kind in enumerate(TYPES)])
    columns = [pa.array(values, kind) for values, kind in zip(zip(*records), TYPES)]  # noqa: B905
    table = pa.Table.from_arrays(columns, schema=schema)
    path = str(tmp_path_factory.getbasetemp() / "round.csv")
    options = {"delimiter": delimiter, "quote": quote, "null": null, "header": header}
    if escape is not None:
        options["escape"] = escape
    write_rows(path, table, options)
    found = read_rows(path, TableDefinition("t", schema), None, options)
    assert found.to_pylist() == table.to_pylist()


def test_batches_are_written_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(write_lines, "_BATCH_ROWS", 7)
    table = pa.table({"a": range(1000), "b": [f"x{n}, y" for n in range(1000)]})
    write_rows(str(tmp_path / "x.csv"), table.slice(3), {})
    text = (tmp_path / "x.csv").read_text(encoding="utf-8")
    found = list(csv.reader(io.StringIO(text)))
    assert found == [["a", "b"], *([str(n), f"x{n}, y"] for n in range(3, 1000))]


def test_names_are_quoted(tmp_path):
    table = pa.table({"a, b": [1], 'say "c"': [None], "": ["x"]})
    write_rows(str(tmp_path / "x.csv"), table, {})
    text = (tmp_path / "x.csv").read_text(encoding="utf-8")
    assert text == '"a, b","say ""c""",""\n1,,x\n'


@pytest.mark.parametrize("kind", [pa.binary(), pa.list_(pa.int32()), pa.month_day_nano_interval()])
def test_types_that_text_lacks(tmp_path, kind):
    with pytest.raises(NotSupportedError, match=r"which cannot be written to a \.csv file"):
        write_rows(str(tmp_path / "x.csv"), pa.table({"c": pa.nulls(1, kind)}), {})
    assert list(tmp_path.iterdir()) == []
