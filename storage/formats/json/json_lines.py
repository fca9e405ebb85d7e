"""JSON lines: one object a line, whose keys are the columns of a table; or an array of objects.

    {"id": 1, "name": "Rex", "born": "2019-04-01"}

Arrow reads the file; what it makes of it is changed where SQL has more: a column of strings that
are all dates is DATE, likewise TIMESTAMP and TIME. A key that a line lacks is NULL. A large file is
read in parts of whole lines, once its first lines have told the columns.
"""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
from pyarrow import json as arrow_json

from raydb.errors import DataError, Error, NotSupportedError, ProgrammingError
from raydb.interrupts import beside, check_interrupt
from raydb.storage.bits import BIT
from raydb.storage.enums import is_enum
from raydb.storage.formats.cast_columns import cast_rows, cast_texts, match_names
from raydb.storage.formats.delimited.faults import first_failure, shorten
from raydb.storage.formats.format import ANY, MAX_COLUMNS, Format, Setting, Use, too_many_columns
from raydb.storage.formats.json.array import is_empty_array, open_json
from raydb.storage.formats.json.faults import locate_fault
from raydb.storage.formats.json.lines import lines_of, parts_of, value_of
from raydb.storage.formats.json.mixed import Pairs, mixed_keys, with_texts
from raydb.storage.formats.json.moments import as_moments, texts_of_moments
from raydb.storage.formats.json.source import BLOCK_BYTES, JsonSource
from raydb.storage.formats.json.wide_integers import with_wide_integers
from raydb.storage.formats.options import columns_of, compression_of, switch
from raydb.storage.formats.text_part import LateValueError, TextPart
from raydb.storage.formats.write_lines import compressed, write_json_lines
from raydb.storage.in_order import in_order
from raydb.storage.nested import leaf_types
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.temporary_files import Spool
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.format import Report
    from raydb.storage.formats.json.faults import Unexpected
    from raydb.storage.formats.options import Options
    from raydb.storage.formats.text_file import TextFile
    from raydb.storage.tables.parts import Part

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


class _Json(Format):
    name, extensions, copy_place = "json", ("json", "jsonl", "ndjson"), 4
    is_text = True
    options = {
        "columns": Setting("names and types of the columns that are read", (Use.QUERY,)),
        "sample_size": Setting("lines that the types are found from; -1 is all", (Use.QUERY,)),
        "compression": Setting("gzip, zstd, none or auto", ANY),
        "array": Setting("whether the objects are one array, and not a line each", (Use.WRITE,)),
    }

    def open(self, source: InputFile, settings: Options) -> tuple[pa.Schema, Part]:
        """Return the columns that the lines have, or those that the options give.

        Raises DataError, naming the line, for what is no JSON and for a key whose values are of
        several kinds.
        """
        compression = compression_of(source.path, settings)
        file, columns = open_json(source, compression), columns_of(settings)
        if is_empty_array(file):
            empty = pa.schema(list(columns.types.items()))
            return empty, ArrowPart(empty.empty_table())
        if columns.types:
            schema = pa.schema(list(columns.types.items()))
            if file.size_bytes <= BLOCK_BYTES:
                return schema, ArrowPart(pa.concat_tables(read_json(file, schema, exact=False)))
            stop = _sample_end(file, _FIRST_LINES)
            return schema, _part(file, schema, file.size_bytes * _FIRST_LINES // stop, given=True)
        stop = file.size_bytes if columns.sample is None else _sample_end(file, columns.sample)
        if stop >= file.size_bytes:
            rows = _infer(file)
            return rows.schema, ArrowPart(rows)
        rows = _infer(file.prefix(stop))
        if not rows.column_names:  # the lines beyond the sample may have keys
            rows = _infer(file)
            return rows.schema, ArrowPart(rows)
        return rows.schema, _part(file, rows.schema, file.size_bytes * rows.num_rows // stop)

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[InputFile], Iterator[pa.Table]]:
        compression = compression_of(path, settings)

        def read(source: InputFile) -> Iterator[pa.Table]:
            file = open_json(source, compression)
            if not is_empty_array(file):
                yield from read_json(file, schema, exact, report)

        return read

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        is_array = switch(settings, "array") is True

        def write(sink: BinaryIO) -> None:
            write_json_lines(sink, rows, is_array=is_array)

        return compressed(write, compression_of(path, settings))


JSON = _Json()


def _part(file: TextFile, schema: pa.Schema, row_count: int, *, given: bool = False) -> TextPart:
    """Return the rows of a file, some `row_count`; given: whether the types are not a sample's."""

    def late(error: Error) -> Error:
        text = f"{error}; the columns are those of the lines before"
        return error if given else LateValueError(text)

    def chosen(names: Sequence[str]) -> tuple[pa.Schema, bool]:
        wanted = pa.schema([schema.field(name) for name in names or schema.names[:1]])
        return wanted, not given and len(names) == len(schema)

    def blocks(names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
        def rows(read: Callable[[], pa.Table]) -> pa.Table:
            try:
                return read().select(list(names))
            except (DataError, ProgrammingError) as error:
                raise late(error) from None

        for read in _tables(file, *chosen(names)):
            yield partial(rows, read)

    def head(names: Sequence[str], count: int) -> pa.Table:
        try:
            found = list(read_json(file.prefix(_sample_end(file, count)), *chosen(names)))
        except (DataError, ProgrammingError) as error:
            raise late(error) from None
        return pa.concat_tables(found).select(list(names))

    return TextPart(schema, blocks, head, row_count)


def _sample_end(file: TextFile, count: int) -> int:
    """Return where the first lines of a file end."""
    lines = itertools.islice(lines_of(file, file.skip(0)), count)
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
    exact = with_wide_integers(file, rows)
    if exact != rows.schema:
        rows = _read(file, texts_of_moments(exact), "error")
    if not rows.column_names:
        return rows  # pa.table() would forget how many lines there are
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
    for line_count, line in enumerate(lines_of(file, file.skip(0)), 1):
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
    file: TextFile, schema: pa.Schema, exact: bool, report: Report = None
) -> Iterator[pa.Table]:
    """Yield the columns of a file that `schema` names, in its order and types, some rows at a time.

    Names match regardless of case. exact: a further key in a line is an error; otherwise it is
    not read. `report` is called with the number of bytes read so far. Raises ProgrammingError for
    keys that do not match, DataError for values that do not fit.
    """
    tables = _tables(file, schema, exact, report)
    leading = list(itertools.islice(tables, 2))
    if len(leading) < 2:
        yield from (read() for read in leading)  # here, where an interrupt is heard meanwhile
        return
    yield from in_order(lambda read: read(), itertools.chain(leading, tables))


def _tables(
    file: TextFile, schema: pa.Schema, exact: bool, report: Report = None
) -> Iterator[Callable[[], pa.Table]]:
    """Yield functions that return the rows of `read_json`, in order, for any thread to call."""
    for column in schema:
        kinds = list(leaf_types(column.type))
        if pa.types.is_map(column.type) or any(map(_is_unreadable, kinds)):
            raise NotSupportedError(
                f"column '{column.name}' is {sql_type_name(column.type)}, which cannot be read from"
                " a JSON file"
            )
    _check_start(file, file.skip(0))
    keys = {key.lower(): key for key in _first_keys(file)}
    names = [keys.get(name.lower(), name) for name in schema.names]
    match_names(file.path, names, schema, exact)

    def read(part: TextFile) -> pa.Table:
        kinds = pa.schema(zip(names, map(_read_as, schema.types), strict=True))
        rows = _read(part, kinds, "error" if exact else "ignore")
        try:
            return _typed(file.path, rows, schema)
        except DataError:
            # The same one, which names the row by its number in the file.
            return _typed(file.path, rows, schema, _row_number(part))

    place = 0
    for part in parts_of(file):
        place += part.size_bytes
        if report is not None:
            report(place)
        yield partial(read, part)


def _row_number(part: TextFile) -> int:
    """Return how many rows of a file are before a part of it."""
    if part.origin is None:
        return 0
    file, start = part.origin
    before = itertools.takewhile(lambda line: line.start < start, lines_of(file, file.skip(0)))
    return sum(1 for _ in before)


def _typed(path: str, rows: pa.Table, schema: pa.Schema, first: int = 0) -> pa.Table:
    """Return some rows as Arrow reads them in the types of a table; `first`: see `cast_rows`."""
    columns = [
        column
        if column.type == field.type or pa.types.is_floating(field.type)
        else _convert(path, name, column, field.type, first)
        for name, field, column in zip(rows.column_names, schema, rows.columns, strict=True)
    ]
    return cast_rows(path, pa.table(columns, names=rows.column_names), schema, first)


def _is_unreadable(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_interval(kind))


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type by which Arrow reads the values of a column."""
    if pa.types.is_temporal(kind) or kind in (UUID, BIT) or is_enum(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_read_as(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _read_as(field.type)) for field in kind])
    # Arrow would read a number beyond REAL as infinity, and reads no FLOAT16.
    is_short = pa.types.is_float32(kind) or pa.types.is_float16(kind)
    return pa.float64() if is_short else kind


def _convert(
    path: str, name: str, column: pa.ChunkedArray, kind: pa.DataType, first: int
) -> pa.ChunkedArray:
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
        f"file '{path}', row {first + row + 1}, column '{name}': '{value}' is not "
        f"{'an' if what[0] in 'AEIO' else 'a'} {what}"
    )


def _read(file: TextFile, kinds: pa.Schema, unexpected: Unexpected) -> pa.Table:
    """Return a file's rows; the columns of some keys have given types."""
    try:
        return _parse(file, kinds, unexpected)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        check_interrupt()
        texts = _mixed_as_texts(file, kinds, can_infer=unexpected == "infer")
        if texts is not None:
            return _read(texts, kinds, unexpected)
        given = dict(zip(kinds.names, kinds.types, strict=True))
        fault = locate_fault(file, given, unexpected) or f"reading failed: {error}"
        raise DataError(f"file '{file.path}', {fault}") from None


def _mixed_as_texts(file: TextFile, kinds: pa.Schema, *, can_infer: bool) -> TextFile | None:
    """Return a file whose columns of several kinds are texts; kinds: the types that are given.

    can_infer: whether a column may be one that has no given type, which is told. None where there
    is no such column, or a line is no object.
    """
    texts = [field.name for field in kinds if field.type == pa.string()]
    start = file.skip(0)
    try:
        mixed = mixed_keys((value_of(file, line) for line in lines_of(file, start)), texts)
        inferred = mixed.difference(kinds.names) if can_infer else set()
        mixed = mixed.intersection(texts) | inferred
        if not mixed:
            return None
        content, line_count = Spool(), 0
        for line in lines_of(file, start):
            # Blank lines count for messages.
            blanks = b"\n" * (line.number - line_count - 1)
            content.write(blanks + with_texts(line.text.decode(), mixed).encode() + b"\n")
            line_count = line.number
            file.room.check()
        changed = file.holding(content.finish())
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
    for line in lines_of(file, file.skip(0)):
        with suppress(ValueError):
            found = value_of(file, line)
            return [key for key, _ in found] if isinstance(found, Pairs) else []
        break
    return []
