"""JSON lines: one object a line, whose keys are the columns of a table.

    {"id": 1, "name": "Rex", "born": "2019-04-01"}

Arrow reads the file; what it makes of it is changed where SQL has more: a column of strings that
are all dates is DATE, likewise TIMESTAMP and TIME. A key that a line lacks is NULL. Arrow says of a
wrong file no more than what is wrong, so that its lines are read again, one by one, for the place.
"""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from raydb.errors import DataError, NotSupportedError
from raydb.storage.faults import first_failure
from raydb.storage.fit import fit_columns
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raydb.storage.text_file import TextFile

# Arrow reads blocks of this size, on all processors; a line must fit into one.
_BLOCK_BYTES = 16 << 20
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_TIME = r"^\d{2}:\d{2}:\d{2}(\.\d{1,6})?$"
_TIMESTAMP = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?$"


def read_inferred_json(file: TextFile, given: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the rows of a file, with the columns that its lines have.

    given: the types of columns where a query gives them; only these columns are read then. Raises
    DataError, naming the line, for what is no JSON and for a key whose values are of several kinds.
    """
    if given:
        return read_json(file, pa.schema(list(given.items())), exact=False)
    rows = _read(file, {})
    texts = {field.name: pa.string() for field in rows.schema if pa.types.is_timestamp(field.type)}
    if texts:
        rows = _read(file, texts).select(rows.column_names)
    columns = [_as_moments(column) for column in rows.columns]
    return pa.table(columns, names=rows.column_names)


def read_json(
    file: TextFile,
    schema: pa.Schema,
    exact: bool,
    report: Callable[[int], None] | None = None,
) -> pa.Table:
    """Return the columns of a file that `schema` names, in its order and types.

    Names match regardless of case. exact: a further key in a line is an error; otherwise it is
    not read. `report` is called with the number of bytes once they are read. Raises
    ProgrammingError for keys that do not match, DataError for values that do not fit.
    """
    for field in schema:
        if pa.types.is_binary(field.type) or pa.types.is_interval(field.type):
            raise NotSupportedError(
                f"column '{field.name}' is {sql_type_name(field.type)}, which cannot be read from "
                "a JSON file"
            )
    keys = {key.lower(): key for key in _first_keys(file)}
    names = [keys.get(name.lower(), name) for name in schema.names]
    rows = _read(file, dict(zip(names, map(_read_as, schema.types), strict=True)), infer=exact)
    if report is not None:
        report(file.size_bytes)
    for name, kind in zip(names, schema.types, strict=True):
        column = rows.column(name)
        if column.type != kind:
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, name, _convert(file.path, name, column, kind))
    return fit_columns(file.path, rows.schema, schema, exact, rows.select)


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type by which Arrow reads the values of a column."""
    if pa.types.is_temporal(kind):
        return pa.string()
    return pa.list_(kind.value_type) if pa.types.is_fixed_size_list(kind) else kind


def _convert(path: str, name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return strings as dates or times, and lists as those of a fixed length."""

    def fails(count: int) -> bool:
        try:
            _cast(column.slice(0, count), kind)
        except pa.ArrowInvalid:
            return True
        return False

    if not fails(len(column)):
        return _cast(column, kind)
    row = first_failure(len(column), fails)
    what = sql_type_name(kind)
    raise DataError(
        f"file '{path}', row {row + 1}, column '{name}': '{column[row].as_py()}' is not "
        f"{'an' if what[0] in 'AEIOU' else 'a'} {what}"
    )


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in another type. Raises ArrowInvalid where a value is none."""
    if pa.types.is_string(column.type) and pa.types.is_time(kind):
        # Arrow reads no time without a day.
        moments = pc.binary_join_element_wise("1970-01-01", column, " ")
        return moments.cast(pa.timestamp("us")).cast(kind)
    return column.cast(kind)


def _as_moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return strings that are all dates, all times or all both, as such."""
    if not pa.types.is_string(column.type) or column.null_count == len(column):
        return column
    for pattern, kind in (
        (_DATE, pa.date32()),
        (_TIMESTAMP, pa.timestamp("us")),
        (_TIME, pa.time64("us")),
    ):
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            with suppress(pa.ArrowInvalid):
                return _cast(column, kind)
    return column


def _read(file: TextFile, kinds: Mapping[str, pa.DataType], infer: bool = True) -> pa.Table:
    """Return a file's rows; the columns of some keys have given types.

    infer: whether the other keys are columns too.
    """
    start = file.skip(0)
    _check_start(file, start)
    options = arrow_json.ParseOptions(
        explicit_schema=pa.schema(list(kinds.items())),
        unexpected_field_behavior="infer" if infer else "ignore",
    )
    blocks = arrow_json.ReadOptions(block_size=_BLOCK_BYTES)
    try:
        return arrow_json.read_json(file.stream(start), blocks, options)
    except pa.ArrowException as error:
        fault = _locate_fault(file, start, kinds) or f"reading failed: {error}"
        raise DataError(f"file '{file.path}', {fault}") from None


def _check_start(file: TextFile, start: int) -> None:
    """Raise DataError for a file that is blank or holds one array."""
    first = file.read(start, _BLOCK_BYTES).lstrip()[:1]
    if not first:
        raise DataError(f"file '{file.path}' is empty")
    if first == b"[":
        raise DataError(
            f"file '{file.path}' holds an array; JSON lines have one object a line, and no brackets"
        )


def _first_keys(file: TextFile) -> list[str]:
    """Return the keys of the first line, none if it cannot be read."""
    for _, line in _lines(file, file.skip(0)):
        with suppress(ValueError):
            found = json.loads(line)
            return list(found) if isinstance(found, dict) else []
        break
    return []


def _lines(file: TextFile, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    with file.view() as data:
        number = 1
        while start < len(data):
            stop = data.find(b"\n", start)
            stop = len(data) if stop < 0 else stop
            line = data[start:stop]
            if line.strip():
                yield number, line
            start, number = stop + 1, number + 1


# -- what is wrong with a file


def _locate_fault(file: TextFile, start: int, kinds: Mapping[str, pa.DataType]) -> str | None:
    """Return what is wrong with the first line that is wrong, as "line 17, column 'a': ..."."""
    seen = {name: _expected(kind) for name, kind in kinds.items()}
    for number, line in _lines(file, start):
        where = f"line {number}"
        if len(line) >= _BLOCK_BYTES:
            return f"{where}: {len(line)} bytes, where a line may have {_BLOCK_BYTES}"
        try:
            found = json.loads(line, parse_float=Decimal, object_pairs_hook=_Pairs)
        except UnicodeDecodeError as error:
            return f"{where}: byte 0x{line[error.start]:02x} is not valid UTF-8"
        except ValueError as error:
            return f"{where}: {_plain(error)}"
        if not isinstance(found, _Pairs):
            return f"{where}: {_kind_of(found)} where an object is expected"
        for place, (key, value) in enumerate(found):
            if any(key == other for other, _ in found[:place]):
                return f"{where}: the key '{key}' is there twice"
            if value is None:
                continue
            kind = _kind_of(value)
            if seen.setdefault(key, kind) != kind:
                return f"{where}, column '{key}': {kind} where {seen[key]} is expected"
            if key in kinds and not _fits(value, kinds[key]):
                return f"{where}, column '{key}': {value} does not fit {sql_type_name(kinds[key])}"
    return None


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, repeated keys included."""


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float() | Decimal():
            return "a number"
        case str():
            return "a string"
        case _Pairs():
            return "an object"
        case _:
            return "a list"


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
