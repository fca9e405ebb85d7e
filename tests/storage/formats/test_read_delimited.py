"""Reading .tbl and .csv files: round trips, leniencies that are refused, and where faults are."""

from __future__ import annotations

import datetime as dt
import os
import random
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydb
from raydb.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from raydb.storage.formats.copy import read_rows
from raydb.storage.formats.delimited import blocks, records
from raydb.storage.formats.delimited.convert import may_have_zeros
from raydb.storage.formats.delimited.csv_file import CSV
from raydb.storage.tables.constraints import append_rows, define_table
from raydb.storage.tables.table import TableDefinition, UniqueKey

INT, TEXT, MONEY = pa.int32(), pa.string(), pa.decimal128(10, 2)
PART = TableDefinition(
    "part",
    pa.schema(
        [
            pa.field("p_id", INT, nullable=False),
            pa.field("p_name", TEXT, nullable=False),
            pa.field("p_size", INT),
            pa.field("p_note", TEXT),
        ]
    ),
    primary_key=UniqueKey(("p_id",)),
)


def table_of(*types):
    fields = [pa.field(f"c{place}", data_type) for place, data_type in enumerate(types)]
    return TableDefinition("t", pa.schema(fields))


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read_content(name, content, definition=PART, columns=None, **options):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        rows = read_rows(name, definition, columns, options)
        assert rows.schema == definition.schema
        return [tuple(row.values()) for row in rows.to_pylist()]

    return read_content


def exactly(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# -- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("trailing", ["|", ""])
@pytest.mark.parametrize("last_line_end", [True, False])
def test_tbl(read, line_end, trailing, last_line_end):
    lines = ['1|"a, b|007|x y', "2|||", "-3| c ||\u00e4\u20ac"]
    content = line_end.join(line + trailing for line in lines) + line_end * last_line_end
    # An empty field is NULL, but '' in a VARCHAR column that is NOT NULL.
    expected = [(1, '"a, b', 7, "x y"), (2, "", None, None), (-3, " c ", None, "\u00e4\u20ac")]
    assert read("part.tbl", content) == expected


def test_csv(read):
    content = '1,"a, ""b""\nc",7,\r\n2,"",,""\r\n3,NULL,5,nan'
    assert read("part.csv", content) == [
        (1, 'a, "b"\nc', 7, None),
        (2, "", None, ""),
        (3, "NULL", 5, "nan"),
    ]


def test_a_byte_order_mark_is_no_data(read):
    mark = b"\xef\xbb\xbf"
    assert read("part.csv", mark + b"1,a,2,b\n") == [(1, "a", 2, "b")]
    assert read("part.csv", mark + b"P_ID,p_name,p_size,p_note\n1,a,2,b\n") == [(1, "a", 2, "b")]
    assert read("part.tbl", mark + b"1|a|2|b|\n") == [(1, "a", 2, "b")]


HEADER = "P_Id, p_name,\"p_size\",p_note\n"  # fmt: skip


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (HEADER + "1,a,2,b\n", {}, [(1, "a", 2, "b")]),
        (HEADER, {}, []),
        (HEADER, {"header": True}, []),
        ("w,x,y,z\n1,a,2,b\n", {"header": "true"}, [(1, "a", 2, "b")]),
        ("1,a,2,b\n", {"HEADER": False}, [(1, "a", 2, "b")]),
        ("1;a,b;2;b\n", {"delimiter": ";"}, [(1, "a,b", 2, "b")]),
        ("1\ta\t2\tb\n", {"sep": "\\t"}, [(1, "a", 2, "b")]),
        ("1,,NA,NA\n2,a,2,\"NA\"\n", {"null": "NA"}, [(1, "", None, None), (2, "a", 2, "NA")]),
    ],
)  # fmt: skip
def test_csv_options(read, content, options, expected):
    assert read("part.csv", content, **options) == expected


def test_the_option_format_goes_before_the_extension(read):
    assert read("part.txt", "1|a|2|b|\n", format="TBL") == [(1, "a", 2, "b")]
    assert read("part.tbl", "1,a,2,b\n", format="csv") == [(1, "a", 2, "b")]


def test_chosen_columns_in_the_order_of_the_file(read):
    rows = read("part.tbl", "5|1|\n||\n", columns=("p_size", "p_id"))
    assert rows == [(1, None, 5, None), (None, None, None, None)]
    assert read("part.csv", "p_note,p_id\nx,1\n", columns=("p_note", "p_id")) == [
        (1, None, None, "x")
    ]


def test_a_line_of_a_lone_column_may_be_empty(read):
    assert read("t.csv", "1\n\n2\n\n", table_of(INT)) == [(1,), (None,), (2,), (None,)]
    assert read("t.csv", '\n""\n', table_of(TEXT)) == [(None,), ("",)]
    assert read("t.tbl", "1\n\n2\n", table_of(INT)) == [(1,), (None,), (2,)]


def test_values_of_every_type(read):
    types = [
        pa.bool_(), pa.int8(), pa.int64(), MONEY, pa.float32(), pa.float64(), pa.date32(),
        pa.time64("us"), pa.timestamp("us"), TEXT,
    ]  # fmt: skip
    content = (
        "TRUE|-128|9223372036854775807|-1.5|0.5|1e-3|1992-02-29|23:59:59.5|1992-01-02 03:04:05|x|\n"
        "f| 7 |-1|+12345678.90|-2|.5|0001-01-01|01:02:03|1992-01-02T03:04|0|\n"
        "||||||||||\n"
    )
    assert read("t.tbl", content, table_of(*types)) == [
        (
            True, -128, 2**63 - 1, Decimal("-1.50"), 0.5, 0.001, dt.date(1992, 2, 29),
            dt.time(23, 59, 59, 500_000), dt.datetime(1992, 1, 2, 3, 4, 5), "x",
        ),
        (
            False, 7, -1, Decimal("12345678.90"), -2.0, 0.5, dt.date(1, 1, 1),
            dt.time(1, 2, 3), dt.datetime(1992, 1, 2, 3, 4), "0",
        ),
        (None,) * 10,
    ]  # fmt: skip


def test_a_suspect_file_without_a_fault_is_accepted(read):
    # 0x and an empty line within quotes, and a row of NULLs, look like faults at first sight.
    content = '1,0x1F,2,"a\n\n\nb"\n,,,\n'
    assert read("part.csv", content) == [(1, "0x1F", 2, "a\n\n\nb"), (None,) * 4]


def test_report_tells_the_bytes_read(read, tmp_path):
    content = "".join(f"{number}|name {number}||\n" for number in range(600_000))
    (tmp_path / "t.tbl").write_text(content)
    seen: list = []
    definition = table_of(INT, TEXT, TEXT)
    rows = read_rows("t.tbl", definition, None, {}, seen.append)
    assert rows.column(1).to_pylist() == [f"name {number}" for number in range(600_000)]
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == len(content)


def test_an_interrupt_while_reading_is_passed_on(read, tmp_path):
    def interrupt(size_bytes):
        raise KeyboardInterrupt

    (tmp_path / "part.tbl").write_text("1|a|2|b|\n")
    with pytest.raises(KeyboardInterrupt):
        read_rows("part.tbl", PART, None, {}, interrupt)


# -- what is refused ------------------------------------------------------------------------------

OPEN_QUOTE = "a quoted field is not closed before the end of the file"
FAULTS = {
    "tbl": [
        ("1|a|2|b|\n2|a|big|b|\n", "line 2, field 3 (p_size): 'big' is not an INTEGER"),
        ("1|a|2|b|\n2|a|1.0|b|", "line 2, field 3 (p_size): '1.0' is not an INTEGER"),
        ("1|a|0x1F|b|\n", "line 1, field 3 (p_size): '0x1F' is not an INTEGER"),
        ("1|a|+5|b|\n", "line 1, field 3 (p_size): '+5' is not an INTEGER"),
        ("1|a| |b|\n", "line 1, field 3 (p_size): ' ' is not an INTEGER"),
        ("1|a|3000000000|b|\n", "line 1, field 3 (p_size): '3000000000' does not fit INTEGER"),
        ("1|a|2|\n", "line 1: 3 fields where 4 are expected"),
        ("1|a|2|b|\n2\n", "line 2: 1 field where 4 are expected"),
        ("1|a|2|b|\n2|a|2|b|c|\n3|x", "line 2: 5 fields where 4 are expected"),
        ("1|a|2|b|\n2|a|2|b|c\n", "line 2: 5 fields where 4 are expected"),
        ("1|a|2|b\n2|a|2|b|\n", "line 2: 5 fields where 4 are expected"),
        ("1|a|2|b|\n2|a|2|b\n", "line 2: no '|' at the end, as the first line has"),
        ("1|a|2|b|\n2|a|2|b", "line 2: no '|' at the end, as the first line has; "
                              "the last line seems to be cut off"),
        ("1|a|2|b|\n2|a", "line 2: 2 fields where 4 are expected; "
                          "the last line seems to be cut off"),
        (b"1|a|2|b|\n2|a\0|2|b|\n", "line 2, field 2 (p_name): a NUL byte"),
        (b"1|a|2|\xff|\n", "line 1, field 4 (p_note): byte 0xff is not valid UTF-8"),
        (b"1|a|\xc3\xa4|x|\n", "line 1, field 3 (p_size): '\u00e4' is not an INTEGER"),
        ("1|a|2\t\x1b|x|\n", "line 1, field 3 (p_size): '2\\t\\x1b' is not an INTEGER"),
        (f"1|a|{'y' * 99}|x|\n", f"line 1, field 3 (p_size): '{'y' * 60}...' is not an INTEGER"),
    ],
    "csv": [
        ('1,"a\n\nb",2,c\n2,d," ",e\n', "line 4, field 3 (p_size): ' ' is not an INTEGER"),
        ('1,a,"2""",b\n', "line 1, field 3 (p_size): '2\"' is not an INTEGER"),
        ("1,a,2,b,c\n", "line 1: 5 fields where 4 are expected"),
        ("1,a,NA,b\n", "line 1, field 3 (p_size): 'NA' is not an INTEGER"),
        ('1,a,2,b\n2,c,3,"d\n3,e,4,f\n', f"line 2: {OPEN_QUOTE}"),
        ('1,a,2,b\n2,c,3,"', f"line 2: {OPEN_QUOTE}"),
        ("p_id,p_name,p_size,p_note\n1,a,x,b\n", "line 2, field 3 (p_size): 'x' is not an INTEGER"),
        ("1,a,2,b\n2,c", "line 2: 2 fields where 4 are expected; "
                         "the last line seems to be cut off"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [(kind, content, message) for kind, cases in FAULTS.items() for content, message in cases],
)
def test_faults(read, kind, content, message):
    with exactly(DataError, f"file 'part.{kind}', {message}"):
        read(f"part.{kind}", content)


@pytest.mark.parametrize(
    ("data_type", "text", "message"),
    [
        (pa.int8(), "128", "'128' does not fit TINYINT"),
        (MONEY, "1.234", "'1.234' does not fit DECIMAL(10,2)"),
        (MONEY, "123456789", "'123456789' does not fit DECIMAL(10,2)"),
        (MONEY, "1,5", "'1,5' is not a DECIMAL(10,2)"),
        (pa.float64(), "nano", "'nano' is not a DOUBLE"),
        (pa.binary(16), "a0eebc99", "'a0eebc99' is not a UUID"),
        (pa.float64(), "1e400", "'1e400' does not fit DOUBLE"),
        (pa.float32(), "1e39", "'1e39' does not fit REAL"),
        (pa.bool_(), "yes", "'yes' is not a BOOLEAN"),
        (pa.date32(), "1998-02-30", "'1998-02-30' is not a DATE"),
        (pa.date32(), "19980228", "'19980228' is not a DATE"),
        (pa.date32(), "0000-01-01", "'0000-01-01' is not a DATE"),
        (pa.time64("us"), "24:00:00", "'24:00:00' is not a TIME"),
        (pa.timestamp("us"), "1998-01-01 00:00:00Z", "'1998-01-01 00:00:00Z' is not a TIMESTAMP"),
        (pa.timestamp("us"), "0000-12-31", "'0000-12-31' is not a TIMESTAMP"),
    ],
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_values_that_are_none(read, data_type, text, message, quote):
    definition = table_of(TEXT, data_type)
    content = f'x;{quote}{text}{quote}\n"y";\n'
    with exactly(DataError, f"file 't.csv', line 1, field 2 (c1): {message}"):
        read("t.csv", content, definition, sep=";")


def test_a_lone_integer_whose_quote_is_never_closed(read):
    message = f"file 't.csv', line 2: {OPEN_QUOTE}"
    for end in ("", "\n", "\r", "\n\n"):
        with exactly(DataError, message):
            read("t.csv", '1\n"2' + end, table_of(INT))


@pytest.mark.parametrize(
    ("content", "options", "error", "message"),
    [
        ("a,b\n1,2\n", {"header": True}, DataError,
         "file 'part.csv', line 1: the header has 2 fields where 4 are expected"),
        ("p_id,p_size,p_name,p_note\n", {}, ProgrammingError,
         "file 'part.csv', line 1: field 2 of the header is 'p_size' where column 'p_name' is "
         "expected; name the columns in the order of the file"),
        ("x,p_size,y,z\n", {"header": True}, ProgrammingError,
         "file 'part.csv', line 1: field 2 of the header is 'p_size' where column 'p_name' is "
         "expected; name the columns in the order of the file"),
        ("", {"headr": True}, ProgrammingError,
         "option 'headr' does not exist; did you mean 'header'?"),
        ("", {"header": "maybe"}, ProgrammingError,
         "option header is true or false, not 'maybe'"),
        ("", {"sep": "||"}, ProgrammingError,
         "option delimiter is one ASCII character, no quote and no line end, not '||'"),
        ("", {"sep": ";", "delimiter": ";"}, ProgrammingError,
         "options 'delimiter' and 'sep' mean the same; give one of them"),
        ("", {"null": "a,b"}, ProgrammingError,
         "option null is a text without delimiter, quote and line end, not 'a,b'"),
        ("", {"format": "cvs"}, ProgrammingError,
         "format 'cvs' is not one of tbl, csv, parquet, flat, json, arrow, xlsx;"
         " did you mean 'csv'?"),
        ("", {"format": "parquet", "header": True}, ProgrammingError,
         "option 'header' does not apply to parquet files"),
    ],
)  # fmt: skip
def test_bad_headers_and_options(read, content, options, error, message):
    with exactly(error, message):
        read("part.csv", content, **options)


def test_bad_columns(read):
    with exactly(
        ProgrammingError, "column 'p_nam' does not exist in 'part'; did you mean 'p_name'?"
    ):
        read("part.csv", "", columns=("p_nam",))
    with exactly(ProgrammingError, "column 'p_id' is named twice"):
        read("part.csv", "", columns=("p_id", "p_id"))
    message = "column 'c0' is BLOB, which cannot be read from a .tbl or .csv file"
    with exactly(NotSupportedError, message):
        read("t.csv", "x\n", table_of(pa.binary()))


def test_files_that_cannot_be_read(read, tmp_path):
    with exactly(OperationalError, "file 'no.tbl' does not exist"):
        read_rows("no.tbl", PART, None, {})
    (tmp_path / "folder.csv").mkdir()
    with exactly(OperationalError, "'folder.csv' is a directory, not a file"):
        read_rows("folder.csv", PART, None, {})
    os.mkfifo("pipe.csv")
    with exactly(OperationalError, "'pipe.csv' is not a regular file"):
        read_rows("pipe.csv", PART, None, {})
    with exactly(OperationalError, "file 'part.tbl/x.csv' cannot be read: not a directory"):
        read("part.tbl", "1|a|2|b|\n")
        read_rows("part.tbl/x.csv", PART, None, {})
    for content in ("", b"\xef\xbb\xbf", "\n\r\n"):
        assert read("part.tbl", content) == read("part.csv", content) == []
    with exactly(
        ProgrammingError,
        "file 'part.tbl.xz' has the unknown extension '.xz'; the format may be tbl, csv, "
        "parquet, flat, json, arrow or xlsx, by the extension or by the option format",
    ):
        read("part.tbl.xz", "x")
    with pytest.raises(DataError, match=r"^file 'part.tbl.gz' is not a gzip file: "):
        read("part.tbl.gz", "x")
    with exactly(
        ProgrammingError,
        "file 'part' has no extension; the format may be tbl, csv, parquet, flat, "
        "json, arrow or xlsx, by the extension or by the option format",
    ):
        read("part", "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(read, tmp_path):
    read("part.tbl", "1|a|2|b|\n")
    (tmp_path / "part.tbl").chmod(0)
    with exactly(OperationalError, "file 'part.tbl' cannot be read: permission denied"):
        read_rows("part.tbl", PART, None, {})


@pytest.mark.parametrize("bad_line", [1, 4096, 4097, 150_000])
def test_a_fault_far_into_a_file(read, bad_line):
    lines = [f"{number},name {number},{number % 50},some note" for number in range(1, 150_001)]
    lines[bad_line - 1] = lines[bad_line - 1].replace("name", "na\nme").replace("some", "\0")
    lines[0] = '1,"first\nline",1,x' if bad_line > 1 else '"x",a,1,x'
    fault = {
        1: "line 1, field 1 (p_id): 'x' is not an INTEGER",
        4096: "line 4097: 2 fields where 4 are expected",
    }.get(bad_line, f"line {bad_line + 1}: 2 fields where 4 are expected")
    with exactly(DataError, f"file 'part.csv', {fault}"):
        read("part.csv", "\n".join(lines))


def test_a_record_that_is_too_long(read):
    message = "file 't.csv', line 2: more than 4194304 bytes, which a record may have"
    with exactly(DataError, message):
        read("t.csv", "0,a\n1," + "x" * 9_000_000 + "\n2,b\n", table_of(INT, TEXT))


def test_nulls_are_left_to_the_constraints(read, tmp_path):
    (tmp_path / "part.csv").write_text("1,a,2,b\n2,,2,b\n")
    rows = read_rows("part.csv", PART, None, {})
    with pytest.raises(Exception, match="table 'part', row 2: column 'p_name' is NOT NULL"):
        append_rows(define_table(PART, {}), rows, {})


# -- against oracles ------------------------------------------------------------------------------

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
MIXED = st.text(st.sampled_from('ab,;|"\n\r \u00e40x') | LETTERS, max_size=6)
INTEGERS = st.none() | st.integers(-(2**31), 2**31 - 1)
AMOUNTS = st.none() | st.decimals(-99_999_999, 99_999_999, places=2)
DAYS = st.none() | st.dates()
TYPES = (INT, TEXT, MONEY, pa.date32(), TEXT)


def spell(value, delimiter, null, always):
    """A value as RFC 4180 writes it: quoted where it must be, or always."""
    if value is None:
        return null
    text = str(value)
    odd = text in ("", null) or any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    if always or odd or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


@settings(max_examples=200)
@given(
    st.lists(st.tuples(INTEGERS, st.none() | MIXED, AMOUNTS, DAYS, st.none() | MIXED), min_size=1),
    st.sampled_from(",;|\t'x"), st.sampled_from(["", "NULL", "-"]), st.booleans(), st.booleans(),
    st.sampled_from(["\n", "\r\n"]), st.booleans(),
)  # fmt: skip
def test_csv_round_trip(
    tmp_path_factory, rows, delimiter, null, always, header, line_end, last_line_end
):
    definition = table_of(*TYPES)
    lines = [[spell(value, delimiter, null, always) for value in row] for row in rows]
    if header:
        lines.insert(0, list(definition.schema.names))
    content = line_end.join(delimiter.join(line) for line in lines) + line_end * last_line_end
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(content.encode())
    options = {"delimiter": delimiter, "null": null}
    found = read_rows(str(path), definition, None, options)
    assert [tuple(row.values()) for row in found.to_pylist()] == rows


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(INTEGERS, st.none() | MIXED, AMOUNTS, DAYS, st.none() | MIXED), min_size=1
    ),
    st.sampled_from(["\n", "\r\n"]), st.sampled_from(["|", ""]),
)  # fmt: skip
def test_tbl_round_trip(tmp_path_factory, rows, line_end, trailing):
    clean = str.maketrans("", "", "|\r\n")
    rows = [
        tuple((v.translate(clean) or None) if isinstance(v, str) else v for v in row)
        for row in rows
    ]
    if not trailing:
        # Were the last field empty in every line, the bars would be those at the ends of lines.
        rows[0] = (*rows[0][:-1], "x")
    lines = ["|".join("" if v is None else str(v) for v in row) + trailing for row in rows]
    path = tmp_path_factory.mktemp("tbl") / "t.tbl"
    path.write_bytes((line_end.join(lines) + line_end).encode())
    found = read_rows(str(path), table_of(*TYPES), None, {})
    assert [tuple(row.values()) for row in found.to_pylist()] == rows


def parse(content, quotes):
    """Yield (line, fields as (bytes, quoted)) of a file with ',', one byte at a time."""
    place, line = 0, 1
    while place < len(content):
        start_line, fields, closed = line, [], True
        while True:
            value, quoted = b"", False
            if quotes and content[place : place + 1] == b'"':
                place, quoted, closed = place + 1, True, False
                while place < len(content) and not closed:
                    byte = content[place : place + 1]
                    if content[place : place + 2] == b'""':
                        value, place = value + b'"', place + 2
                    elif byte == b'"':
                        closed, place = True, place + 1
                    else:
                        two = content[place : place + 2] == b"\r\n"
                        line += byte == b"\n" or (byte == b"\r" and not two)
                        value, place = value + byte, place + 1
            while place < len(content) and content[place : place + 1] not in b",\r\n":
                value, place = value + content[place : place + 1], place + 1
            fields.append((value, quoted))
            if content[place : place + 1] != b",":
                break
            place += 1
        place += 2 if content[place : place + 2] == b"\r\n" else 1
        line += 1
        yield start_line, fields if closed else None


def convert(value, quoted, data_type):
    """The value of a field, or ValueError."""
    if not value and not (quoted and data_type == TEXT):
        return None
    text = value.decode()
    if "\0" in text:
        raise ValueError
    if data_type == TEXT:
        return text
    if not re.fullmatch(r"[ \t]*-?[0-9]+[ \t]*", text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError
    return int(text)


def expect(content, types):
    rows = []
    for line, fields in parse(content, quotes=True):
        if fields == [(b"", False)] and len(types) > 1:
            continue
        if fields is None or len(fields) != len(types):
            return line
        try:
            rows.append(tuple(convert(*f, t) for f, t in zip(fields, types, strict=True)))
        except ValueError:
            return line
    return rows


@pytest.mark.parametrize("quote", ['"', "~"])
def test_a_block_ends_where_the_loop_over_all_bytes_says(quote):
    """Where quotes are plain both find the same end; else the loop decides."""
    layout = replace(CSV.layout, quote=quote)
    chance = random.Random(7)
    pieces = [b"a", b",", b"\n", b"\r\n", b"\r", b'"', b'""', b',"x\ny",', b'"x""y"\n', b"1,2\n"]
    plain = 0
    for _ in range(4000):
        text = b"".join(chance.choices(pieces, k=chance.randint(1, 12))) + b"a"
        text = text.replace(b'"', quote.encode())
        data = np.frombuffer(text, np.uint8)
        expected = blocks.follow_records(data, layout, np.zeros(0, bool))
        plain += blocks._last_plain_record(data, text, layout) is not None
        assert blocks._last_record(text, layout) == expected, text
    assert plain > 400


def test_a_zero_behind_a_sign_is_no_number_in_any_block(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 16)
    monkeypatch.chdir(tmp_path)
    rows = [f"{n},-{n},{n % 9}\n" for n in range(1, 60_000)]
    for late in ("-007", " 007", "+00", '"-01"'):
        rows[50_000] = f"1,{late},x\n" if late == "+00" else f"1,{late},3\n"
        Path("late.csv").write_text("a,b,c\n" + "".join(rows))
        with raydb.connect() as con:
            answer = con.execute("SELECT b FROM 'late.csv' WHERE a = 1 AND b <> '-1'").fetchall()
        assert answer == [(late.strip('"'),)]


@pytest.mark.parametrize("many", [b"", b"2001-01-01,0.5," * 5000])
def test_a_zero_may_be_needless_wherever_its_field_lies(many):
    def may(text):
        return may_have_zeros(text, CSV.layout)

    end = blocks.CACHED_BYTES
    for first in range(end - 5, end + 3):
        for field in (b",05", b",-05", b"\n+00", b'"05', b", 05", b"\r-01"):
            text = many + b"7" * (first - len(many)) + field + b"7" * end
            assert may(text), (first, field)
        for field in (b"7-05", b",0.5", b"7 05", b",-0,", b",0,5", b",-5"):
            # The last byte of the piece is no neighbour of the first one.
            text = many + b"7" * (first - len(many)) + field
            text += b"7" * ((-len(text)) % end - 2) + b",,,,"
            assert not may(text + b"7" * end), (first, field)
    for text in (b"05", b"-05", b",05", b"1,05", b"\n05", b'"05'):
        assert may(text), text
    assert not may(b"0.5,0")


NOISE = st.sampled_from([b"1", b"0", b"-", b"x", b" ", b",", b'"', b"\n", b"\r", b"\r\n", b"\0",
                         b"\xff", b"\xc3\xa4", b'"",', b"99999999999"])  # fmt: skip
LINES = st.sampled_from([b"1,a\n", b'2,"x\ny"\n', b'3,"a""b"\r\n', b",\n", b'-5," "\n', b'"6",b\r'])


@pytest.mark.long
@settings(max_examples=800)
@given(
    st.lists(LINES, max_size=30), st.lists(NOISE, max_size=8), st.randoms(),
    st.sampled_from([(INT, TEXT), (INT, TEXT), (TEXT, INT), (TEXT, TEXT), (INT,), (TEXT,)]),
    st.sampled_from([64, 4 << 20]),
)  # fmt: skip
def test_noise_is_read_as_the_oracle_does_or_its_first_bad_line_is_named(
    tmp_path_factory, lines, noise, random, types, block_bytes
):
    for odd in noise:
        lines.insert(random.randint(0, len(lines)), odd)
    content = b"".join(lines) or b"\n"
    path = tmp_path_factory.getbasetemp() / "noise.csv"
    path.write_bytes(content)
    expected = expect(content, types)
    definition = table_of(*types)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block_bytes // 2)
        for module in (blocks, records):
            patch.setattr(module, "MAX_RECORD_BYTES", block_bytes)
        try:
            rows = read_rows(str(path), definition, None, {"header": False}).to_pylist()
            found = [tuple(row.values()) for row in rows]
        except DataError as error:
            found = str(error)
    if isinstance(found, str):
        if "which a record may have" in found and len(content) > block_bytes:
            return
        named = re.match(r"file '.*noise\.csv', line (\d+)", found)
        found = int(named[1]) if named else found
    assert found == expected
