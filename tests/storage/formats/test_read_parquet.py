"""Reading Parquet files: columns by name, casts without loss, and what is refused."""

from __future__ import annotations

import base64
import datetime as dt
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from pyarrow.parquet import encryption

import raydb
from raydb.engine.operators.relation import MORSEL_ROWS
from raydb.errors import DataError, OperationalError, ProgrammingError
from raydb.storage.formats import parquet as parquet_format
from raydb.storage.formats.copy import read_batches, read_rows
from raydb.storage.tables.table import TableDefinition

INT, LONG, TEXT, MONEY = pa.int32(), pa.int64(), pa.string(), pa.decimal128(3, 1)


def table_of(**types):
    return TableDefinition("t", pa.schema(list(types.items())))


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read_written(written, definition, columns=None, report=None, **options):
        parquet.write_table(written, "t.parquet", row_group_size=3)
        rows = read_rows("t.parquet", definition, columns, options, report)
        assert rows.schema == definition.schema
        return [tuple(row.values()) for row in rows.to_pylist()]

    return read_written


def exactly(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def test_columns_are_matched_by_name(read):
    written = pa.table({"B": ["x", None], "a": pa.array([1, 2], LONG)})
    assert read(written, table_of(A=INT, b=TEXT)) == [(1, "x"), (2, None)]
    # Columns that were not asked for by name are not read.
    assert read(written, table_of(A=INT, c=TEXT), columns=("A",)) == [(1, None), (2, None)]


def test_missing_and_further_columns(read):
    written = pa.table({"alpha": [1], "Beta": [2], "beta": [3]})
    with exactly(ProgrammingError, "file 't.parquet' has no column 'alhpa'; did you mean 'alpha'?"):
        read(written, table_of(alhpa=INT))
    with exactly(
        ProgrammingError,
        "file 't.parquet' has a column 'Beta', which the table lacks; name the columns to read",
    ):
        read(written, table_of(alpha=INT))
    with exactly(
        ProgrammingError, "file 't.parquet' has 'Beta' and 'beta', both of which are 'BETA'"
    ):
        read(written, table_of(BETA=INT), columns=("BETA",))


DAY, NOON = dt.datetime(2000, 1, 2), dt.datetime(2000, 1, 2, 12)
CASTS = [
    (LONG, INT, [7, None], [7, None]),
    (pa.uint8(), LONG, [7], [7]),
    (LONG, MONEY, [99], [Decimal("99.0")]),
    (pa.decimal128(10, 2), MONEY, [Decimal("1.50")], [Decimal("1.5")]),
    (pa.decimal128(10, 2), INT, [Decimal("2.00")], [2]),
    (pa.decimal128(10, 2), pa.float64(), [Decimal("2.50")], [2.5]),
    (pa.float64(), pa.float32(), [0.5, float("inf")], [0.5, float("inf")]),
    (pa.large_string(), TEXT, ["x"], ["x"]),
    (pa.dictionary(pa.int8(), TEXT), TEXT, ["x", None], ["x", None]),
    (pa.dictionary(pa.int8(), LONG), INT, [5], [5]),
    (pa.null(), TEXT, [None], [None]),
    (pa.timestamp("ns"), pa.timestamp("us"), [NOON], [NOON]),
    (pa.timestamp("ms"), pa.date32(), [DAY, None], [DAY.date(), None]),
    (pa.date32(), pa.timestamp("us"), [DAY.date()], [DAY]),
    (pa.time32("ms"), pa.time64("us"), [dt.time(1)], [dt.time(1)]),
    (pa.binary(), pa.binary(), [b"\xff"], [b"\xff"]),
]


@pytest.mark.parametrize(("have", "want", "values", "expected"), CASTS)
def test_casts(read, have, want, values, expected):
    rows = read(pa.table({"c": pa.array(values, have)}), table_of(c=want))
    assert rows == [(value,) for value in expected]


@pytest.mark.parametrize(
    ("have", "want", "good", "bad", "shown"),
    [
        (LONG, INT, 7, 2**31, "'2147483648' does not fit INTEGER"),
        (pa.uint64(), LONG, 7, 2**63, "'9223372036854775808' does not fit BIGINT"),
        (LONG, MONEY, 7, 100, "'100' does not fit DECIMAL(3,1)"),
        (LONG, pa.float64(), 7, 2**53 + 1, "'9007199254740993' does not fit DOUBLE"),
        (pa.decimal128(5, 2), MONEY, Decimal("1.00"), Decimal("1.25"),
         "'1.25' does not fit DECIMAL(3,1)"),
        (pa.decimal128(5, 2), INT, Decimal("1.00"), Decimal("1.50"), "'1.50' does not fit INTEGER"),
        (pa.float64(), pa.float32(), 0.1, 1e39, "'1e+39' does not fit REAL"),
        (pa.timestamp("ms"), pa.date32(), DAY, NOON, "'2000-01-02 12:00:00.000' does not fit DATE"),
        (pa.timestamp("ns"), pa.timestamp("us"), 1000, 1001,
         "'1970-01-01 00:00:00.000001001' has nanoseconds, and RayDB keeps microseconds;"
         " SET nanoseconds = 'cut' cuts them"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 4, 9])
def test_values_that_do_not_fit(read, have, want, good, bad, shown, place):
    values = [good if number % 4 else None for number in range(10)]
    values[place] = bad
    with exactly(DataError, f"file 't.parquet', row {place + 1}, column 'c': {shown}"):
        read(pa.table({"c": pa.array(values, have)}), table_of(c=want))


@pytest.mark.parametrize(
    ("have", "want", "names"),
    [
        (TEXT, INT, "VARCHAR cannot be read as INTEGER"),
        (INT, TEXT, "INTEGER cannot be read as VARCHAR"),
        (pa.float64(), INT, "DOUBLE cannot be read as INTEGER"),
        (pa.float64(), MONEY, "DOUBLE cannot be read as DECIMAL(3,1)"),
        (pa.bool_(), INT, "BOOLEAN cannot be read as INTEGER"),
        (pa.binary(), TEXT, "BLOB cannot be read as VARCHAR"),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"),
         "TIMESTAMP WITH TIME ZONE cannot be read as TIMESTAMP"),
        (pa.list_(pa.int32()), INT, "INTEGER[] cannot be read as INTEGER"),
    ],
)  # fmt: skip
def test_types_that_cannot_be_cast(read, have, want, names):
    with exactly(ProgrammingError, f"file 't.parquet', column 'c': {names}"):
        read(pa.table({"c": pa.array([], have)}), table_of(c=want))


def test_report_and_row_groups(read, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_format, "_BATCH_ROWS", 3)
    seen: list = []
    rows = read(pa.table({"a": list(range(10))}), table_of(a=INT), report=seen.append)
    assert rows == [(number,) for number in range(10)]
    assert len(seen) == 4
    assert seen == sorted(seen)
    assert seen[-1] == (tmp_path / "t.parquet").stat().st_size
    assert read(pa.table({"a": pa.array([], LONG)}), table_of(a=INT)) == []


def test_rows_are_loaded_a_morsel_at_a_time(tmp_path):
    path = str(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"a": pa.nulls(200_000, INT)}), path, row_group_size=60_000)
    counts = [batch.num_rows for batch in read_batches(path, table_of(a=INT), None, {})]
    assert counts == [MORSEL_ROWS, 200_000 - MORSEL_ROWS]


def test_files_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    definition = table_of(a=INT)
    with exactly(OperationalError, "file 'no.parquet' does not exist"):
        read_rows("no.parquet", definition, None, {})
    (tmp_path / "t.parquet").write_bytes(b"")
    with exactly(DataError, "file 't.parquet' is not a Parquet file: it is empty"):
        read_rows("t.parquet", definition, None, {})
    (tmp_path / "t.parquet").write_bytes(b"1|2|3|\n" * 10)
    with pytest.raises(DataError, match=r"^file 't.parquet' is not a Parquet file: "):
        read_rows("t.parquet", definition, None, {})
    with exactly(ProgrammingError, "option 'header' does not apply to parquet files"):
        read_rows("t.parquet", definition, None, {"header": True})
    # A file whose pages are damaged behind a good footer.
    parquet.write_table(pa.table({"a": list(range(1000))}), "t.parquet", compression="snappy")
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[4:200] = b"\xee" * 196
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"^file 't.parquet' "):
        read_rows("t.parquet", definition, None, {})


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**31), 2**31 - 1),
            st.none() | st.text(st.characters(exclude_categories=["Cs"])),
            st.none() | st.decimals(-99, 99, places=1),
            st.none() | st.dates(),
            st.none() | st.floats(allow_nan=False),
            st.none() | st.booleans(),
        )
    )
)
def test_round_trip(tmp_path_factory, rows):
    definition = table_of(i=INT, t=TEXT, m=MONEY, d=pa.date32(), f=pa.float64(), b=pa.bool_())
    schema = definition.schema
    arrays = [pa.array([row[i] for row in rows], t) for i, t in enumerate(schema.types)]
    path = str(tmp_path_factory.getbasetemp() / "round.parquet")
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), path, row_group_size=2)
    found = read_rows(path, definition, None, {})
    assert [tuple(row.values()) for row in found.to_pylist()] == rows


def test_a_row_group_without_a_column_is_damaged(tmp_path):
    """The schema of a footer is that of two columns, its row group that of one."""
    footers = []
    for names in (["a"], ["a", "b"]):
        path = tmp_path / f"{len(names)}.parquet"
        table = pa.table({name: ["x", "y", "z"] for name in names})
        parquet.write_table(table, path, store_schema=False)
        data = path.read_bytes()
        size = int.from_bytes(data[-8:-4], "little")
        start = data.index(b"\x16\x06\x19\x1c", len(data) - 8 - size)  # three rows, a row group
        end = data.index(b"parquet-cpp") - 2  # who made the file, and orders of columns
        footers.append((data[: -8 - size], data[-8 - size : start], data[start:end], data[end:-8]))
    (body, _, groups, _), (_, schema, _, orders) = footers
    footer = schema + groups + orders
    forged = tmp_path / "forged.parquet"
    forged.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DataError, match="a row group of 1 columns, not 2"):
        raydb.connect().execute(f"FROM '{forged}'")


class _Keys(encryption.KmsClient):
    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_columns_are_refused(tmp_path, plaintext_footer):
    factory = encryption.CryptoFactory(lambda _: _Keys())
    configuration = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["b"]}, plaintext_footer=plaintext_footer
    )
    connection = encryption.KmsConnectionConfig()
    secret = factory.file_encryption_properties(connection, configuration)
    path = tmp_path / "t.parquet"
    rows = pa.table({"a": [1, 2], "b": [3, 4]})
    with parquet.ParquetWriter(path, rows.schema, encryption_properties=secret) as writer:
        writer.write_table(rows)
    # Arrow ends the process when it is asked about a column whose metadata is encrypted.
    for source in (f"'{path}'", f"parquet_metadata('{path}')", f"parquet_schema('{path}')"):
        with raydb.connect() as con, pytest.raises(raydb.DatabaseError, match="crypt"):
            con.execute(f"SELECT * FROM {source}")


@pytest.mark.parametrize(
    ("stored", "forged", "found"),
    [
        (b"\x06needle\x15\x00", b"\x06needle\x15\x20", "Unsupported compression codec"),
        (b"\x15\x04\x19", b"\x15\x0a\x19", "a column of INT64 is stored as DOUBLE"),
    ],
)
def test_column_chunks_that_make_no_sense(tmp_path, stored, forged, found):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"needle": [1, 2]}), path, compression="none")
    head, _, tail = path.read_bytes().rpartition(stored)
    path.write_bytes(head + forged + tail)
    # Arrow ends the process when it is asked about such a column chunk.
    for query in (
        f"SELECT * FROM '{path}' WHERE needle > 1",
        f"SELECT * FROM parquet_metadata('{path}')",
    ):
        with raydb.connect() as con, pytest.raises(DataError, match=found):
            con.execute(query).fetchall()


def test_int96_beyond_nanoseconds(tmp_path):
    path = tmp_path / "t.parquet"
    days = [dt.datetime(9999, 12, 31, 3), dt.datetime(1, 1, 1), dt.datetime(2024, 1, 1, 20), None]
    written = pa.table({"a": pa.array(days, pa.timestamp("us"))})
    parquet.write_table(written, path, use_deprecated_int96_timestamps=True)
    with raydb.connect() as con:
        found = con.execute(f"SELECT a, typeof(a) FROM '{path}'").fetchall()
        assert found == [(day, "TIMESTAMP") for day in days]
        assert con.execute(f"SELECT count(*) FROM '{path}' WHERE a > '3000-01-01'").fetchall() == [
            (1,)
        ]


def test_a_row_larger_than_memory_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": ["x" * 100_000_000], "b": [1]}), path, compression="zstd")
    with raydb.connect() as con:
        con.execute("SET memory_limit = '80MB'")
        assert con.execute(f"SELECT b FROM '{path}'").fetchall() == [(1,)]
        begin = parquet.ParquetFile.iter_batches

        def no_rows_of_a(file, rows, groups, columns=None, **options):
            assert columns != ["a"]
            return begin(file, rows, groups, columns, **options)

        monkeypatch.setattr(parquet.ParquetFile, "iter_batches", no_rows_of_a)
        with pytest.raises(OperationalError, match="needs about 100"):
            con.execute(f"SELECT a FROM '{path}'")


def test_a_name_that_is_no_text(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"needle": [1, 2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"needle", b"\xe8eedle"))
    for source in (f"'{path}'", f"parquet_metadata('{path}')"):
        with raydb.connect() as con, pytest.raises(DataError, match="utf-8"):
            con.execute(f"SELECT * FROM {source}")
