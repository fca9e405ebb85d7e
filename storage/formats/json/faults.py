"""What is wrong with a JSON file: the first line that cannot be read, and why.

Arrow says of a wrong file no more than what is wrong, so that its lines are read again, one by one.
"""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.storage.formats.cast_columns import further_column
from raydb.storage.formats.delimited.faults import shorten
from raydb.storage.formats.json.lines import lines_of, value_of
from raydb.storage.formats.json.mixed import Pairs, kind_of
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.storage.formats.text_file import TextFile

    # What becomes of a key that has no given type.
    Unexpected = Literal["infer", "ignore", "error"]


def locate_fault(
    file: TextFile, kinds: Mapping[str, pa.DataType], unexpected: Unexpected
) -> str | None:
    """Return what is wrong with the first line that is wrong, as "line 17, column 'a': ...".

    Raises ProgrammingError where that is a key that is no column.
    """
    seen = {name: _expected(kind) for name, kind in kinds.items()}
    before = file.line_number(0) - 1
    for line in lines_of(file, file.skip(0)):
        where = f"{file.record} {before + line.number}"
        try:
            found = value_of(file, line)
        except UnicodeDecodeError as error:
            return f"{where}: byte 0x{line.text[error.start]:02x} is not valid UTF-8"
        except ValueError as error:
            return f"{where}: {_plain(error)}"
        if found is None:
            continue
        if not isinstance(found, Pairs):
            return f"{where}: {kind_of(found)} where an object is expected"
        keys: set[str] = set()
        for key, value in found:
            if key in keys:
                return f"{where}: the key '{shorten(key)}' is there twice"
            keys.add(key)
            if unexpected == "error" and key not in kinds:
                raise ProgrammingError(further_column(file.path, key))
            if value is None:
                continue
            kind = kind_of(value)
            if seen.setdefault(key, kind) != kind:
                return f"{where}, column '{key}': {kind} where {seen[key]} is expected"
            if key in kinds and not _fits(value, kinds[key]):
                what = sql_type_name(kinds[key])
                return f"{where}, column '{key}': {shorten(str(value))} does not fit {what}"
    return None


def _expected(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_boolean(kind):
        return "a boolean"
    if types.is_string(kind):
        return "a string"
    return "a list" if types.is_list(kind) else "a number"


def _fits(value: object, kind: pa.DataType) -> bool:
    """Say whether a number fits an integer or decimal type; True for other types."""
    is_integer = pa.types.is_integer(kind)
    if not isinstance(value, int | Decimal) or not (is_integer or pa.types.is_decimal(kind)):
        return True
    if is_integer and isinstance(value, Decimal):
        return False
    with suppress(pa.ArrowException, OverflowError):
        pa.scalar(value, kind)
        return True
    return False


def _plain(error: ValueError) -> str:
    """Return what Python says of a line that is no JSON, with the place in the line."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at character {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
    return f"not JSON: {error}"
