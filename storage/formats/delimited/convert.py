"""Whole records as columns: Arrow's reader of CSV without its leniencies.

Arrow accepts what would surprise a user of SQL: hexadecimal integers (0x1F), infinity for 1e400,
the year 0, NUL bytes, and where a type is guessed, 007 as the number 7 and the names Nan and Inf as
DOUBLEs. Each costs next to nothing to suspect while reading at full speed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.storage.bits import BIT, bits_of
from raydb.storage.clocks import TIMETZ, timetz_of
from raydb.storage.enums import is_enum, values_of
from raydb.storage.formats.delimited.blocks import CACHED_BYTES
from raydb.storage.formats.delimited.vectors import is_vector, vectors_of
from raydb.storage.integers import UHUGEINT, wide_integers
from raydb.storage.uuids import UUID, uuids_of
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.storage.formats.delimited.records import Layout

_TRUE = ["true", "True", "TRUE", "t", "T", "1"]
_FALSE = ["false", "False", "FALSE", "f", "F", "0"]
BOOLEANS = (*_TRUE, *_FALSE)
# What may stand before the digits of a number.
_SIGNS = b" \t+-"
_ZERO = ord("0")
# Where fewer bytes than one in so many may be what is looked for, each is looked at on its own.
_FEW_ZEROS = 64
# No part of a file is larger; Arrow takes it as one block.
_ONE_BLOCK = 2**31 - 1


def read_part(
    part: bytes, schema: pa.Schema, layout: Layout, chosen: Sequence[int] | None
) -> pa.Table:
    """Return some fields of whole records as Arrow reads them, in the types of the schema.

    A text of NULL in quotes is NULL where the type is not a text. chosen: places of fields, None
    for all. Raises ArrowInvalid.
    """
    places = range(len(schema)) if chosen is None else chosen
    if not part:
        return pa.schema([schema.field(place) for place in places]).empty_table()
    types = schema.types  # a new list each time
    texts = [place for place in places if _is_text(types[place])]
    try:
        table = _read(part, schema, layout, chosen, quoted_nulls=not texts)
    except pa.ArrowInvalid:
        # Arrow has one rule for all columns, so that those that are no texts are read again.
        others = [place for place in places if place not in texts]
        if not texts or not others or not layout.quotes or layout.quote.encode() not in part:
            raise
        found = _read(part, schema, layout, texts, quoted_nulls=False)
        values = _read(part, schema, layout, others, quoted_nulls=True)
        columns = dict(zip([*texts, *others], [*found.columns, *values.columns], strict=True))
        table = pa.table([columns[place] for place in places], names=[str(n) for n in places])
    return _with_types(table, pa.schema([schema.field(place) for place in places]), layout)


def _is_text(kind: pa.DataType) -> bool:
    # What has no value so far may become a text.
    types = pa.types
    return bool(types.is_string(kind) or types.is_binary(kind) or types.is_null(kind))


def _read(
    part: bytes,
    schema: pa.Schema,
    layout: Layout,
    chosen: Sequence[int] | None,
    *,
    quoted_nulls: bool,
) -> pa.Table:
    options = _options(schema, layout, chosen, quoted_nulls=quoted_nulls)
    return csv.read_csv(pa.BufferReader(part), **options)


def _with_types(table: pa.Table, schema: pa.Schema, layout: Layout) -> pa.Table:
    """Return the table without a trailing field, and with what Arrow reads as something else.

    Such are dates that have a format, UUIDs, ENUMs and vectors. Raises ArrowInvalid for a date with
    a time of the day, and for a text that is no UUID, no label and no vector.
    """
    columns = []
    for column, kind in zip(table.columns, schema.types, strict=False):
        if _is_read_as_text(kind):
            columns.append(_of_texts(column, kind, layout))
            continue
        cast = column if column.type == kind else column.cast(kind)
        if cast is not column and not cast.cast(column.type).equals(column):
            raise pa.ArrowInvalid("a date has a time of the day")
        columns.append(cast)
    return pa.Table.from_arrays(columns, schema=schema)


def _is_read_as_text(kind: pa.DataType) -> bool:
    return kind in (UUID, UHUGEINT, TIMETZ, BIT) or is_enum(kind) or is_vector(kind)


def _of_texts(texts: pa.ChunkedArray, kind: pa.DataType, layout: Layout) -> pa.ChunkedArray:
    if not layout.null_strings:
        is_null = pc.is_in(texts, value_set=pa.array(layout.nulls, pa.string()))
        texts = pc.if_else(is_null, pa.scalar(None, pa.string()), texts)
    if kind == UUID:
        return pa.chunked_array([uuids_of(chunk) for chunk in texts.chunks], UUID)
    if kind == BIT:
        return pa.chunked_array([bits_of(chunk) for chunk in texts.chunks], BIT)
    if kind == TIMETZ:
        return pa.chunked_array([timetz_of(chunk) for chunk in texts.chunks], TIMETZ)
    if kind == UHUGEINT:
        return wide_integers(texts)
    if is_vector(kind):
        return pa.chunked_array([vectors_of(chunk, kind) for chunk in texts.chunks], kind)
    return pa.chunked_array([values_of(chunk, kind) for chunk in texts.chunks], kind)


def _options(
    schema: pa.Schema, layout: Layout, chosen: Sequence[int] | None, *, quoted_nulls: bool
) -> dict[str, Any]:
    """Return Arrow's options; columns are named by number, and a trailing field must be empty."""
    # Arrow's formats are those of timestamps only.
    dates = pa.date32() if layout.date_format is None else pa.timestamp("s")
    read_as = [dates if kind == pa.date32() else kind for kind in schema.types]
    types = [pa.string() if _is_read_as_text(kind) else kind for kind in read_as]
    if layout.trailing:
        types.append(pa.null())
    formats = [given for given in (layout.date_format, layout.timestamp_format) if given]
    if layout.timestamp_format is None:
        formats.append(csv.ISO8601)
    names = [str(place) for place in range(len(types))]
    return {
        # A part is read by one thread; several parts are read side by side.
        "read_options": csv.ReadOptions(
            use_threads=False, column_names=names, block_size=_ONE_BLOCK
        ),
        "parse_options": csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char=layout.quote if layout.quotes else False,
            double_quote=layout.quotes,
            escape_char=False,
            newlines_in_values=layout.quotes,
            # A lone column has its NULLs there.
            ignore_empty_lines=len(schema) > 1,
        ),
        "convert_options": csv.ConvertOptions(
            check_utf8=True,
            column_types=dict(zip(names, types, strict=True)),
            null_values=list(layout.nulls),
            strings_can_be_null=layout.null_strings,
            quoted_strings_can_be_null=quoted_nulls,
            true_values=_TRUE,
            false_values=_FALSE,
            timestamp_parsers=formats,
            decimal_point=layout.decimal,
            **({} if chosen is None else {"include_columns": [names[place] for place in chosen]}),
        ),
    }


def is_odd(part: bytes, table: pa.Table) -> bool:
    """Tell whether a part may hold what SQL does not take, of which Arrow has made a table."""
    if b"\0" in part:
        return True
    # One byte is found 20 times faster than two, and numbers hold no x.
    has_integers = any(pa.types.is_integer(kind) for kind in table.schema.types)
    if has_integers and any(x in part and b"0" + x in part for x in (b"x", b"X")):
        return True
    return any(_has_misfit(column) for column in table.columns)


def _has_misfit(column: pa.ChunkedArray) -> bool:
    """Tell whether Arrow has read a value that its type in SQL lacks.

    Such are the year 0, 100 as DECIMAL(3,1), where Arrow counts the digits before it appends those
    of the scale, and perhaps infinities.
    """
    data_type = column.type
    if pa.types.is_floating(data_type):
        return pc.any(pc.is_inf(column)).as_py() is True
    if pa.types.is_decimal(data_type):
        ends = pc.min_max(column).as_py().values()
        limit = 10 ** (data_type.precision - data_type.scale)
        # abs() would round to the 28 digits of the context.
        return any(end is not None and end.copy_abs() >= limit for end in ends)
    if pa.types.is_date32(data_type) or pa.types.is_timestamp(data_type):
        year = pc.year(pc.min(column)).as_py()
        return year is not None and year < 1
    return False


def fails(
    part: bytes, schema: pa.Schema, layout: Layout, chosen: Sequence[int], *, is_guess: bool = False
) -> bool:
    """Tell whether some fields of whole records cannot be converted.

    is_guess: whether it is asked of which types they are; NaN and infinities are no DOUBLEs then.
    """
    check_interrupt()
    if not chosen:
        return False
    if part[-1:] not in (b"\n", b"\r"):
        part += b"\n"  # At the end of its input Arrow takes the empty field of '"",' for quoted.
    try:
        table = read_part(part, schema, layout, chosen)
    except pa.ArrowInvalid:
        return True
    infinite = []
    for place, column in zip(chosen, table.columns, strict=True):
        if not pa.types.is_floating(column.type):
            if _has_misfit(column):
                return True
        elif is_guess and pc.all(pc.is_finite(column)).as_py() is False:
            return True
        elif _has_misfit(column):
            infinite.append(place)
    if infinite and _has_overflow(part, schema, layout, infinite):
        return True
    types = schema.types
    whole = [place for place in chosen if pa.types.is_integer(types[place])]
    if not whole or re.search(rb"0[xX]", part) is None:
        return False
    texts = read_texts(part, len(schema), layout, whole)
    assert texts is not None, "what was read as numbers can be read as texts"
    return any(_any_matches(column, r"^\s*0[xX]") for column in texts.columns)


def _has_overflow(part: bytes, schema: pa.Schema, layout: Layout, places: Sequence[int]) -> bool:
    """Tell whether infinities are written as numbers, such as 1e400."""
    numbers = read_part(part, schema, layout, places)
    texts = read_texts(part, len(schema), layout, places)
    assert texts is not None, "what was read as numbers can be read as texts"
    return any(
        _any_matches(text.filter(pc.is_inf(number)), "[0-9]")
        for number, text in zip(numbers.columns, texts.columns, strict=True)
    )


def may_have_zeros(part: bytes, layout: Layout) -> bool:
    """Tell whether a field of some records may begin with a zero and another digit.

    Blanks and a sign may be before them.
    """
    data = np.frombuffer(part, np.uint8)
    marks = (layout.delimiter + layout.quote).encode() + b"\r\n"
    most = max(marks + _SIGNS)
    for start in range(0, len(data), CACHED_BYTES):
        # Two bytes before each that may be the zero, and one behind it.
        some = data[start : start + CACHED_BYTES + 3]
        before, zeros = some[1:-2], some[2:-1] == _ZERO
        # Most of what may stand there is small, which one comparison tells of many bytes at a time.
        zeros &= before <= most
        if np.count_nonzero(zeros) * _FEW_ZEROS > len(zeros):
            # Those of dates are behind a sign, but that is behind a digit; 0.5 is no such number.
            zeros &= some[3:] - np.uint8(_ZERO) < 10
            zeros &= (some[:-3] <= most) | _is_one_of(before, marks)
        places = np.flatnonzero(zeros)
        places = places[some[places + 3] - np.uint8(_ZERO) < 10]
        first = some[places + 1]
        found = _is_one_of(first, _SIGNS) & _is_one_of(some[places], marks + _SIGNS)
        if (found | _is_one_of(first, marks)).any():
            return True
    # Of the first field, whose beginning has less before it.
    before_digits = re.escape(marks + _SIGNS)
    return re.match(rb"[" + before_digits + rb"]*0[0-9]", part) is not None


def _is_one_of(data: NDArray[np.uint8], some: bytes) -> NDArray[np.bool_]:
    """Return where bytes are one of a few."""
    found = np.zeros(len(data), np.bool_)
    for each in some:
        found |= data == each
    return found


def begins_with_zero(column: pa.ChunkedArray | pa.Array) -> bool:
    """Tell whether a text or bytes, such as 00501, is a number only at the loss of a zero."""
    return _any_matches(column, r"^\s*[+-]?0[0-9]")


def _any_matches(column: pa.ChunkedArray | pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


def read_texts(part: bytes, width: int, layout: Layout, chosen: Sequence[int]) -> pa.Table | None:
    """Return some fields of whole records as bytes, None where a record is broken."""
    schema = pa.schema([(str(place), pa.binary()) for place in range(width)])
    try:
        return read_part(part, schema, replace(layout, null_strings=True), chosen)
    except pa.ArrowInvalid:
        return None
