"""The types of a delimited file's columns, found in batches of its records.

The type of a column is the first of the ladder that reads all its values:

    BIGINT, HUGEINT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP WITH TIME ZONE, TIME, BOOLEAN, VARCHAR

A number that begins with a needless zero, such as 00501, is a text, and so is a whole number of
more digits than HUGEINT has.

A batch is read at once with the types of those before it. Where that fails, each column is read as
a file of its own: a record is taken apart a fixed number of times, however many columns it has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.late import pc
from raydb.storage.formats.delimited.convert import (
    BOOLEANS,
    begins_with_zero,
    fails,
    may_have_zeros,
    read_texts,
)
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from raydb.storage.formats.delimited.records import Layout

_BIGINT, _DOUBLE, _DATE, _TIMESTAMP = pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us")
_ZONED = pa.timestamp("us", "UTC")
_TIME, _BOOLEAN, _VARCHAR = pa.time64("us"), pa.bool_(), pa.string()
_HUGEINT = pa.decimal128(38, 0)
_LADDER = (_BIGINT, _HUGEINT, _DOUBLE, _DATE, _TIMESTAMP, _ZONED, _TIME, _BOOLEAN, _VARCHAR)
_NUMBERS = (_BIGINT, _HUGEINT, _DOUBLE)
# What reads all that a type does; the values before a batch are known to fit these without a look.
_WIDER = {
    _BIGINT: (_HUGEINT, _DOUBLE, _VARCHAR),
    _HUGEINT: (_DOUBLE, _VARCHAR),
    _DATE: (_TIMESTAMP, _VARCHAR),
}
# How a value begins that Arrow reads as a type, and perhaps some that it does not.
_LOOKS = {
    _BIGINT: re.compile(rb"\s*[+-]?\d+\s*"),
    _HUGEINT: re.compile(rb"\s*[+-]?\d+\s*"),
    _DOUBLE: re.compile(rb"\s*[+-]?(?:[\d.,]|inf|nan).*", re.DOTALL | re.IGNORECASE),
    _DATE: re.compile(rb"\s*\d{4}-.*", re.DOTALL),
    _TIMESTAMP: re.compile(rb"\s*\d{4}-.*", re.DOTALL),
    _ZONED: re.compile(rb"\s*\d{4}-.*:.*", re.DOTALL),
    _TIME: re.compile(rb"\s*\d\d:.*", re.DOTALL),
    _BOOLEAN: re.compile(rb"\s*(?:" + "|".join(BOOLEANS).encode() + rb")\s*"),
}
_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
# Between the values of a column on its own, none of which holds it.
_NO_DELIMITER = "\x1f"

# The types of columns so far: None for a column without a value.
Found = list[pa.DataType | None]


def infer_types(
    parts: Iterable[bytes], layout: Layout, found: Found, given: Container[int]
) -> None:
    """Change the types of columns so that they read some more records; each part has whole ones.

    given: the places of columns whose types stay.
    """
    empty: set[int] = set()
    for part in parts:
        left = [
            place for place, kind in enumerate(found) if place not in given and kind != _VARCHAR
        ]
        if not left or not _widen(part, layout, found, left, empty):
            break
    for place in empty:
        found[place] = found[place] or _VARCHAR


def is_value(text: str, layout: Layout) -> bool:
    """Tell whether a text is a number, a date or a time, and hardly a name."""
    written = text.encode()
    if _LOOKS[_BIGINT].fullmatch(written):
        return True
    return _first_that_reads(pa.array([written]), _LADDER[:-2], layout) is not None


def reads(text: str, kind: pa.DataType, layout: Layout) -> bool:
    """Tell whether a type reads a text, which is not empty; one that CSV lacks reads none."""
    try:
        return _reads(pa.array([text.encode()]), kind, layout)
    except pa.ArrowNotImplementedError:
        return False


def _widen(part: bytes, layout: Layout, found: Found, left: list[int], empty: set[int]) -> bool:
    """Change the types of columns that do not read a batch; None stands for no value so far.

    empty: gets the places of columns with "" in them, which is NULL unless the column is a text.
    Returns whether the batch could be taken apart. Where not, all columns are VARCHAR, so that
    nothing else is said of the file when it is read.
    """
    if any(found[place] is not None for place in left):
        kinds = [pa.null() if kind is None else kind for kind in found]
        schema = pa.schema([(str(place), kind) for place, kind in enumerate(kinds)])
        numbers = any(found[place] in _NUMBERS for place in left)
        has_zeros = numbers and may_have_zeros(part, layout)
        if not has_zeros and not fails(part, schema, layout, left, is_guess=True):
            return True
    texts = read_texts(part, len(found), layout, left)
    for number, place in enumerate(left):
        if texts is None:
            found[place] = _VARCHAR
            continue
        values = texts.column(number).combine_chunks().drop_null()
        if "" in layout.nulls:
            written = values.filter(pc.greater(pc.binary_length(values), 0))
            if len(written) < len(values):
                empty.add(place)
            values = written
        if len(values):
            known = found[place]
            tried = _LADDER if known is None else (known, *_WIDER.get(known, ()))
            found[place] = _first_that_reads(values, tried, layout) or _VARCHAR
    return texts is not None


def _first_that_reads(
    values: pa.BinaryArray, kinds: Sequence[pa.DataType], layout: Layout
) -> pa.DataType | None:
    """Return the first type that reads all values, None where that is VARCHAR alone."""
    first = values[0].as_py()
    has_formats = layout.date_format is not None or layout.timestamp_format is not None
    for kind in kinds:
        if kind == _VARCHAR:
            return None
        is_likely = _LOOKS[kind].fullmatch(first) is not None
        is_moment = kind in (_DATE, _TIMESTAMP)
        if (is_likely or (is_moment and has_formats)) and _reads(values, kind, layout):
            return kind
    return None


def _reads(values: pa.BinaryArray, kind: pa.DataType, layout: Layout) -> bool:
    """Tell whether a type reads all values, none of which is NULL."""
    if pc.min(pc.binary_length(values)).as_py() == 0:
        return False
    if kind in _NUMBERS and (begins_with_zero(values) or not _fits_digits(values, kind)):
        return False
    lines = b"\n".join(values.to_pylist())
    is_split = lines.count(b"\n") != len(values) - 1 or b"\r" in lines
    if is_split or _NO_DELIMITER.encode() in lines:
        return False
    # No line is NULL: the text of NULL cannot be in one.
    alone = replace(layout, delimiter=_NO_DELIMITER, quotes=False, nulls=("\n",), trailing=False)
    return not fails(lines, pa.schema([("", kind)]), alone, [0], is_guess=True)


def _fits_digits(values: pa.BinaryArray, kind: pa.DataType) -> bool:
    """Tell whether a number keeps all digits: HUGEINT has them, DOUBLE only those of fractions."""
    if kind == _BIGINT:
        return True
    whole = pc.all(pc.match_substring_regex(values, _WHOLE)).as_py()
    return bool(whole) if kind == _HUGEINT else not whole
