"""JSON lines: one object a line, whose keys are the columns of a table; or an array of objects.

    {"id": 1, "name": "Rex", "born": "2019-04-01"}

Arrow reads the file; what it makes of it is changed where SQL has more: a column of strings that
are all dates is DATE, likewise TIMESTAMP and TIME. A key that a line lacks is NULL. Arrow says of a
wrong file no more than what is wrong, so that its lines are read again, one by one, for the place.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import pyarrow as pa
from pyarrow import json as arrow_json

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.interrupts import beside, check_interrupt
from raydb.storage.enums import is_enum
from raydb.storage.formats.cast_columns import cast_columns, cast_texts, further_column
from raydb.storage.formats.delimited.faults import first_failure, shorten
from raydb.storage.formats.format import ANY, MAX_COLUMNS, Format, Setting, Use, too_many_columns
from raydb.storage.formats.json.array import is_empty_array, open_json
from raydb.storage.formats.json.mixed import Pairs, kind_of, mixed_keys, with_texts
from raydb.storage.formats.json.moments import as_moments, texts_of_moments
from raydb.storage.formats.json.source import BLOCK_BYTES, JsonSource, Nesting, too_deep
from raydb.storage.formats.options import columns_of, compression_of, switch
from raydb.storage.formats.text_part import LateValueError, TextPart
from raydb.storage.formats.write_lines import compressed, write_json_lines
from raydb.storage.nested import leaf_types
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raydb.storage.formats.format import Report
    from raydb.storage.formats.options import Options
    from raydb.storage.formats.text_file import TextFile
    from raydb.storage.tables.parts import Part

    # What becomes of a key that has no given type.
    Unexpected = Literal["infer", "ignore", "error"]

# The lines that tell the columns, if the others have none beside them; and the sample ends with
# the line that exceeds so many bytes.
_FIRST_LINES = 256
_SAMPLE_BYTES = 64 << 20
# Every key is a column, so that lines whose keys all differ are mostly NULL: 1 GB.
_MAX_MISSING = 1 << 26
# What one such NULL takes while Arrow reads it, and how many fit into any memory_limit.
_MISSING_BYTES = 16
_FEW_MISSING = 1 << 22
_STRING = re.compile(rb'("(?:[^"\\\n]++|\\.)*+"\s*+:)|"(?:[^"\\\n]++|\\.)*+"')
# Reading a line again, in Python, takes some microseconds.
_LINES_A_CHECK = 4096


class _Json(Format):
    name, extensions, copy_place = "json", ("json", "jsonl", "ndjson"), 4
    is_text = True
    options = {
        "columns": Setting("names and types of the columns that are read", (Use.QUERY,)),
        "sample_size": Setting("lines that the types are found from; -1 is all", (Use.QUERY,)),
        "compression": Setting("gzip, zstd, none or auto", ANY),
        "array": Setting("whether the objects are one array, and not a line each", (Use.WRITE,)),
    }

    def open(self, path: str, settings: Options) -> tuple[pa.Schema, Part]:
        """Return the columns that the lines have, or those that the options give.

        Raises DataError, naming the line, for what is no JSON and for a key whose values are of
        several kinds.
        """
        file, columns = open_json(path, compression_of(path, settings)), columns_of(settings)
        if is_empty_array(file):
            empty = pa.schema(list(columns.types.items()))
            return empty, ArrowPart(empty.empty_table())
        if columns.types:
            given = pa.schema(list(columns.types.items()))
            return given, ArrowPart(read_json(file, given, exact=False))
        stop = file.size_bytes if columns.sample is None else _sample_end(file, columns.sample)
        if stop >= file.size_bytes:
            rows = _infer(file)
            return rows.schema, ArrowPart(rows)
        rows = _infer(file.prefix(stop))
        schema, row_count = rows.schema, file.size_bytes * rows.num_rows // stop

        def read(names: Sequence[str], count: int | None) -> pa.Table:
            wanted = pa.schema([schema.field(name) for name in names])
            source = file if count is None else file.prefix(_sample_end(file, count))
            try:
                return read_json(source, wanted, exact=len(names) == len(schema))
            except (DataError, ProgrammingError) as error:
                raise LateValueError(
                    f"{error}; the columns are those of the lines before"
                ) from None

        def blocks(names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
            yield lambda: read(names or schema.names[:1], None).select(list(names))

        return schema, TextPart(schema, blocks, read, row_count, is_streamed=False)

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[], Iterator[pa.Table]]:
        compression = compression_of(path, settings)

        def read() -> Iterator[pa.Table]:
            file = open_json(path, compression)
            if not is_empty_array(file):
                yield read_json(file, schema, exact, report)

        return read

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        is_array = switch(settings, "array") is True

        def write(sink: BinaryIO) -> None:
            write_json_lines(sink, rows, is_array=is_array)

        return compressed(write, compression_of(path, settings))


JSON = _Json()


def _sample_end(file: TextFile, count: int) -> int:
    """Return where the first lines of a file end."""
    lines = itertools.islice(_lines(file, file.skip(0)), count)
    stop = 0
    for line in lines:
        stop = line.stop
        if stop > _SAMPLE_BYTES:
            break
    return stop


def _infer(file: TextFile) -> pa.Table:
    """Return the rows with the columns that they tell.

    The first lines tell the columns of most files. Only where others have more is each line looked
    at before Arrow does, whose work grows with the number of lines times that of keys.
    """
    _check_start(file, file.skip(0))
    head = file.prefix(_sample_end(file, _FIRST_LINES))
    _check_keys(head)
    rows = _read(head, pa.schema([]), "infer")
    if head.size_bytes < file.size_bytes or texts_of_moments(rows.schema) != rows.schema:
        kinds = texts_of_moments(rows.schema)
        try:
            if _count_objects(file) * len(kinds) > _FEW_MISSING:
                _check_keys(file)
            rows = _parse(file, kinds, "error")
        except (pa.ArrowException, UnicodeDecodeError):
            check_interrupt()
            _check_keys(file)
            rows = _read(file, pa.schema([]), "infer")
            kinds = texts_of_moments(rows.schema)
            if kinds != rows.schema:
                rows = _read(file, kinds, "error")
    columns = [as_moments(column) for column in rows.columns]
    return pa.table(columns, names=rows.column_names)


def _count_objects(file: TextFile) -> int:
    """Return how many objects a file has at most, those in others and in strings included."""
    starts = range(0, file.size_bytes, BLOCK_BYTES)
    return sum(file.read(start, BLOCK_BYTES).count(b"{") for start in starts)


def _check_keys(file: TextFile) -> None:
    """Raise for lines with more keys than a table may have columns, or with too few in common.

    Those that lack take memory, which memory_limit allows or not before Arrow asks for it.
    """
    keys: set[bytes] = set()
    present = 0
    for line_count, line in enumerate(_lines(file, file.skip(0)), 1):
        found = [key for key in _STRING.findall(line.text) if key]
        present += len(found)
        keys.update(found)
        if len(keys) > MAX_COLUMNS:
            raise too_many_columns(file.path, len(keys))
        missing = line_count * len(keys) - present
        if missing > _FEW_MISSING:
            file.room.check(missing * _MISSING_BYTES)
        if missing > _MAX_MISSING:
            raise NotSupportedError(
                f"file '{file.path}', {file.record} {line.number}: {len(keys)} different keys up to"
                " here, most of which most lines lack; name those to read with read_json(...,"
                " columns => {...})"
            )


def read_json(
    file: TextFile,
    schema: pa.Schema,
    exact: bool,
    report: Report = None,
) -> pa.Table:
    """Return the columns of a file that `schema` names, in its order and types.

    Names match regardless of case. exact: a further key in a line is an error; otherwise it is
    not read. `report` is called with the number of bytes once they are read. Raises
    ProgrammingError for keys that do not match, DataError for values that do not fit.
    """
    for column in schema:
        kinds = list(leaf_types(column.type))
        if pa.types.is_map(column.type) or any(map(_is_unreadable, kinds)):
            raise NotSupportedError(
                f"column '{column.name}' is {sql_type_name(column.type)}, which cannot be read from"
                " a JSON file"
            )
    keys = {key.lower(): key for key in _first_keys(file)}
    names = [keys.get(name.lower(), name) for name in schema.names]
    kinds = pa.schema(zip(names, map(_read_as, schema.types), strict=True))
    rows = _read(file, kinds, "error" if exact else "ignore")
    if report is not None:
        report(file.size_bytes)
    columns = [
        column
        if column.type == kind or pa.types.is_floating(kind)
        else _convert(file.path, name, column, kind)
        for name, kind, column in zip(names, schema.types, rows.columns, strict=True)
    ]
    rows = pa.table(columns, names=names)
    return cast_columns(file.path, rows.schema, schema, exact, rows.select)


def _is_unreadable(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_interval(kind))


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type by which Arrow reads the values of a column."""
    if pa.types.is_temporal(kind) or kind == UUID or is_enum(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_read_as(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _read_as(field.type)) for field in kind])
    # Arrow would read a number beyond REAL as infinity.
    return pa.float64() if pa.types.is_float32(kind) else kind


def _convert(path: str, name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return strings as dates or times, and lists as those of a fixed length."""

    def fails(count: int) -> bool:
        try:
            cast_texts(column.slice(0, count), kind)
        except pa.ArrowInvalid:
            return True
        return False

    if not fails(len(column)):
        return cast_texts(column, kind)
    row = first_failure(len(column), fails)
    what, value = sql_type_name(kind), shorten(str(column[row].as_py()))
    raise DataError(
        f"file '{path}', row {row + 1}, column '{name}': '{value}' is not "
        f"{'an' if what[0] in 'AEIO' else 'a'} {what}"
    )


def _read(file: TextFile, kinds: pa.Schema, unexpected: Unexpected) -> pa.Table:
    """Return a file's rows; the columns of some keys have given types."""
    start = file.skip(0)
    _check_start(file, start)
    try:
        return _parse(file, kinds, unexpected)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        check_interrupt()
        texts = _mixed_as_texts(file, kinds, can_infer=unexpected == "infer")
        if texts is not None:
            return _read(texts, kinds, unexpected)
        given = dict(zip(kinds.names, kinds.types, strict=True))
        fault = _locate_fault(file, start, given, unexpected) or f"reading failed: {error}"
        raise DataError(f"file '{file.path}', {fault}") from None


def _mixed_as_texts(file: TextFile, kinds: pa.Schema, *, can_infer: bool) -> TextFile | None:
    """Return a file whose columns of several kinds are texts; kinds: the types that are given.

    can_infer: whether a column may be one that has no given type, which is told. None where there
    is no such column, or a line is no object.
    """
    texts = [field.name for field in kinds if field.type == pa.string()]
    start = file.skip(0)
    try:
        mixed = mixed_keys((_value_of(file, line) for line in _lines(file, start)), texts)
        inferred = mixed.difference(kinds.names) if can_infer else set()
        mixed = mixed.intersection(texts) | inferred
        if not mixed:
            return None
        with io.BytesIO() as content:
            line_count = 0
            for line in _lines(file, start):
                # Blank lines count for messages.
                content.write(b"\n" * (line.number - line_count - 1))
                content.write(with_texts(line.text.decode(), mixed).encode() + b"\n")
                line_count = line.number
                file.room.check(content.tell())
            changed = file.holding(content.getvalue())
    except ValueError:
        return None
    for key in sorted(inferred):
        file.warn(
            f"file '{file.path}': column '{shorten(key)}' is VARCHAR, for its values are of"
            " several kinds"
        )
    return changed


def _parse(file: TextFile, kinds: pa.Schema, unexpected: Unexpected) -> pa.Table:
    """Return what Arrow reads of a file; it raises errors of its own."""
    options = arrow_json.ParseOptions(explicit_schema=kinds, unexpected_field_behavior=unexpected)
    blocks = arrow_json.ReadOptions(block_size=BLOCK_BYTES)
    source = JsonSource(file, file.skip(0), len(kinds))

    def read() -> pa.Table:
        rows = arrow_json.read_json(source, blocks, options)
        file.room.check()
        # Arrow takes any bytes for text; `names` reads those of the keys.
        rows.validate(full=bool(rows.schema.names))
        return rows

    return beside(read)


def _check_start(file: TextFile, start: int) -> None:
    """Raise DataError for a file that is blank or holds arrays."""
    first = file.read(start, BLOCK_BYTES).lstrip()[:1]
    if not first:
        raise DataError(f"file '{file.path}' is empty")
    if first == b"[":
        raise DataError(f"file '{file.path}' holds an array of arrays, where objects are expected")


def _first_keys(file: TextFile) -> list[str]:
    """Return the keys of the first line, none if it cannot be read."""
    for line in _lines(file, file.skip(0)):
        with suppress(ValueError):
            found = _value_of(file, line)
            return [key for key, _ in found] if isinstance(found, Pairs) else []
        break
    return []


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file: its number from 1, its text, where it and the next one begin."""

    number: int
    text: bytes
    start: int
    stop: int


def _lines(file: TextFile, start: int) -> Iterator[_Line]:
    """Yield the lines that are not blank."""
    with file.view() as data:
        number = 1
        while start < len(data):
            if number % _LINES_A_CHECK == 0:
                check_interrupt()
            stop = data.find(b"\n", start)
            stop = len(data) if stop < 0 else stop
            text = data[start:stop]
            line_start, start = start, min(stop + 1, len(data))
            if len(text) >= BLOCK_BYTES:
                raise DataError(
                    f"file '{file.path}', {file.record} {number}: {len(text)} bytes, where a line"
                    f" may have {BLOCK_BYTES}"
                )
            if text.strip():
                yield _Line(number, text, line_start, start)
            number += 1


def _value_of(file: TextFile, line: _Line) -> Any:
    """Return what a line holds, as Python reads it, which calls itself for each level too."""
    if Nesting().follow(line.text):
        raise too_deep(file, line.start, len(line.text))
    return json.loads(line.text, parse_float=Decimal, object_pairs_hook=Pairs)


# -- what is wrong with a file


def _locate_fault(
    file: TextFile, start: int, kinds: Mapping[str, pa.DataType], unexpected: Unexpected
) -> str | None:
    """Return what is wrong with the first line that is wrong, as "line 17, column 'a': ...".

    Raises ProgrammingError where that is a key that is no column.
    """
    seen = {name: _expected(kind) for name, kind in kinds.items()}
    for line in _lines(file, start):
        where = f"{file.record} {line.number}"
        try:
            found = _value_of(file, line)
        except UnicodeDecodeError as error:
            return f"{where}: byte 0x{line.text[error.start]:02x} is not valid UTF-8"
        except ValueError as error:
            return f"{where}: {_plain(error)}"
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
