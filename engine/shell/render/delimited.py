"""Answers as CSV and TSV: a field is in quotes where it would be read as something else without.

Those are the fields that hold a quote, the delimiter or a line end (RFC 4180), begin or end with
a space, which readers may strip, or are an empty text, which would be read as NULL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from raydb.engine.session.python_values import python_values
from raydb.engine.shell.render.words import word
from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.shell.render.answer import Answer, Layout


def write_delimited(
    answer: Answer, layout: Layout, write: Callable[[str], object], delimiter: str
) -> None:
    """Write an answer as COPY TO writes it."""
    if layout.has_headers:
        names = _quoted(pa.array(answer.names, pa.string()), delimiter)
        write(delimiter.join(names.to_pylist()) + "\n")
    for batch in answer.batches():
        fields = [pc.fill_null(_fields(column, delimiter), "") for column in batch.columns]
        lines = pc.binary_join_element_wise(*fields, delimiter)
        write("".join(f"{line}\n" for line in lines.to_pylist()))


def _fields(column: pa.Array, delimiter: str) -> pa.Array:
    """Return the values of a column as text that is read back the same."""
    kind = column.type
    if types.is_string(kind):
        return _quoted(column, delimiter)
    is_zoned = types.is_timestamp(kind) and kind.tz is not None
    if types.is_nested(kind) or types.is_interval(kind) or types.is_binary(kind) or is_zoned:
        words = [None if value is None else word(value) for value in python_values(column)]
        return _quoted(pa.array(words, pa.string()), delimiter)
    texts = column.cast(pa.string())
    if not types.is_floating(kind):
        return texts
    # A double without a fraction keeps a point, so that it stays a double.
    whole = pc.invert(pc.match_substring_regex(texts, "[.en]"))
    return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)


def _quoted(texts: pa.Array, delimiter: str) -> pa.Array:
    between = re.escape(delimiter)
    odd = pc.match_substring_regex(texts, f'["\r\n]|{between}|^[ \t]|[ \t]$|^$')
    if not pc.any(odd).as_py():
        return texts
    inside = pc.replace_substring(texts, '"', '""')
    return pc.if_else(odd, pc.binary_join_element_wise('"', inside, '"', ""), texts)
