"""Files as they are, and what Parquet files say of themselves.

read_text('notes/*.md'), read_blob('images/*')    a row a file, with its bytes
tar_ranges('images.tar')                          a row a file in an archive: where its bytes lie
sniff_csv('a.csv')                                what is found out of a file of text
parquet_metadata('a.parquet')                     a row for each column of each row group
parquet_schema('a.parquet')                       a row for each group of columns and each column
parquet_file_metadata, parquet_kv_metadata        a row a file, and one for each key in it
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.session.settings import check_file
from raydb.errors import DataError, OperationalError
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.types import TIMESTAMPTZ
from raydb.planner.plan.function_arguments import NAME, Argument
from raydb.planner.plan.table_function import OpenedFunction
from raydb.room import check_room
from raydb.storage.formats.delimited.csv_file import CSV
from raydb.storage.formats.files.column_chunks import bring_footer
from raydb.storage.formats.files.input_file import open_files
from raydb.storage.formats.files.parquet_footers import check_chunks, check_codecs, damaged
from raydb.storage.formats.parquet import PARQUET
from raydb.storage.formats.paths import describe_failure, expand
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator

    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.format import Format

    Row = tuple[Any, ...]


class FileRows(OpenedFunction):
    """A function of the files that a path or a pattern stands for; a row or several of each.

    rows_of: returns those of a file; its errors of the system and of Arrow get a sentence. shape:
    the format, which tells how an object is opened.
    """

    arguments = (Argument("path", NAME, is_required=True),)
    usage = "the path of a file, or a pattern"

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        rows_of: Callable[[InputFile], Iterator[Row]],
        shape: Format = PARQUET,
    ) -> None:
        self.name, self._schema, self._rows_of = name, schema, rows_of
        self._format = shape

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        pattern = call.value("path")
        check_file(pattern, context.settings, may_be_object=True)
        rows: list[Row] = []
        paths = expand(pattern)
        for file in open_files(paths, [self._format] * len(paths)):
            check_interrupt()
            path = file.path
            try:
                file.check(None)
                rows += self._rows_of(file)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"file '{path}' is no text in UTF-8, at byte {error.start + 1}; read_blob() has"
                    " its bytes"
                ) from error
            except pa.ArrowException as error:
                raise DataError(f"file '{path}' is no Parquet file, or is damaged") from error
            except OSError as error:
                raise OperationalError(describe_failure(path, error)) from error
        columns = zip(*rows, strict=True) if rows else [()] * len(self._schema)
        kinds = self._schema.types
        arrays = [pa.array(each, kind) for each, kind in zip(columns, kinds, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self._schema)


def _content(file: InputFile) -> tuple[bytes, int, dt.datetime | None]:
    check_room(2 * file.size_bytes, f"file '{file.path}'")
    with file.stream() as stream:
        content = stream.read()
    return content, len(content), file.last_modified


def _text(file: InputFile) -> Iterator[Row]:
    content, size, modified = _content(file)
    yield file.path, content.decode(), size, modified


def _blob(file: InputFile) -> Iterator[Row]:
    yield (file.path, *_content(file))


def _ranges(file: InputFile) -> Iterator[Row]:
    import tarfile  # noqa: PLC0415  (14 ms, and few statements need it)

    try:
        with file.stream() as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            for member in archive:
                check_interrupt()
                # A header may lead back to itself.
                if member.size < 0:
                    raise ValueError(member.size)
                if member.isreg() and not member.issparse():
                    # Names of other encodings are kept by Python as halves of characters.
                    name = member.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                    start, size = member.offset_data, member.size
                    yield file.path, name, {"file": file.path, "offset": start, "length": size}
            # Python takes a header that it cannot read for the end, which zeros are.
            stream.seek(archive.offset)
            if any(stream.read(tarfile.BLOCKSIZE)):
                raise ValueError(archive.offset)
    except (tarfile.TarError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(
            f"file '{file.path}' is no tar archive, or is compressed or damaged"
        ) from error


def _opened(file: InputFile) -> Any:
    from pyarrow import parquet  # noqa: PLC0415  (few statements need it)

    bring_footer(file)
    try:
        opened = parquet.ParquetFile(file.open())
    except (OSError, UnicodeDecodeError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise damaged(file.path, error) from None
    check_chunks(file.path, opened.metadata)
    return opened


def _columns(source: InputFile) -> Iterator[Row]:
    path = source.path
    with _opened(source) as file:
        metadata = file.metadata
        check_codecs(path, metadata)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for place in range(group.num_columns):
                column = group.column(place)
                statistics = column.statistics if column.is_stats_set else None
                low, high, nulls, distinct = _statistics(statistics)
                yield (
                    *(path, number, group.num_rows, group.num_columns, group.total_byte_size),
                    *(place, column.num_values, column.path_in_schema, column.physical_type),
                    *(low, high, nulls, distinct, column.compression, ", ".join(column.encodings)),
                    *(column.dictionary_page_offset, column.data_page_offset),
                    *(column.total_compressed_size, column.total_uncompressed_size),
                )


def _statistics(found: Any) -> tuple[str | None, str | None, int | None, int | None]:
    """Return the least and the greatest value as texts, and the counts of NULLs and of values."""
    if found is None:
        return None, None, None, None
    try:
        ends = (found.min, found.max) if found.has_min_max else (None, None)
    except (pa.ArrowNotImplementedError, ArithmeticError):  # Arrow or Python has no such values.
        ends = (None, None)
    low, high = (None if each is None else _shown(each) for each in ends)
    nulls = found.null_count if found.has_null_count else None
    return low, high, nulls, found.distinct_count if found.has_distinct_count else None


def _shown(value: object) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


# So far a column stands behind the group that it is in.
_STEP = 2
# A line of a schema as Arrow writes it: `optional group field_id=-1 tags (List) {`.
_ELEMENT = re.compile(
    r"(?P<indent> *)(?P<repetition>required|optional|repeated) (?P<kind>group|\w+(?:\(\d+\))?)"
    r" field_id=(?P<id>-?\d+) (?P<name>.*?)(?: \((?P<means>[^()]*(?:\([^()]*\))?[^()]*)\))?"
    r"(?P<end> \{|;)"
)


def _elements(source: InputFile) -> Iterator[Row]:
    path = source.path
    with _opened(source) as file:
        written = str(file.schema).splitlines()
        found = [match for line in written if (match := _ELEMENT.fullmatch(line)) is not None]
        leaves = iter(file.schema.column(place) for place in range(len(file.schema)))
        for place, each in enumerate(found):
            field = int(each["id"])
            known = each["repetition"].upper(), None if field < 0 else field
            if each["kind"] == "group":
                depths = [len(one["indent"]) - len(each["indent"]) for one in found[place + 1 :]]
                children = sum(
                    depth == _STEP for depth in takewhile(lambda depth: depth > 0, depths)
                )
                kind = (each["means"] or "").upper() or None
                yield path, each["name"], None, None, known[0], children, kind, None, None, known[1]
                continue
            leaf = next(leaves)
            converted = None if leaf.converted_type == "NONE" else leaf.converted_type
            length = str(leaf.length) if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else None
            digits = (leaf.scale, leaf.precision) if converted == "DECIMAL" else (None, None)
            yield (
                *(path, leaf.name, leaf.physical_type, length, known[0], None, converted),
                *(*digits, known[1]),
            )


def _file(source: InputFile) -> Iterator[Row]:
    path, size = source.path, source.size_bytes
    with _opened(source) as file:
        metadata = file.metadata
        yield (
            *(path, metadata.created_by, metadata.num_rows, metadata.num_row_groups),
            *(metadata.num_columns, str(metadata.format_version), size, metadata.serialized_size),
        )


def _keys(source: InputFile) -> Iterator[Row]:
    with _opened(source) as file:
        for key, value in (file.metadata.metadata or {}).items():
            yield source.path, key, value


def _sniffed(file: InputFile) -> Iterator[Row]:
    path = file.path
    found, newline = CSV.sniff(file)
    layout, ending = found.layout, newline.encode("unicode_escape").decode()
    columns = [(each.name, sql_type_name(each.type)) for each in found.schema]
    options = {
        "auto_detect": "false",
        "delim": _written(layout.delimiter),
        "quote": _written(layout.quote),
        "escape": _written(layout.quote),
        "header": str(found.has_header).lower(),
        "columns": f"{{{', '.join(f'{_written(a)}: {_written(b)}' for a, b in columns)}}}",
    }
    listed = ", ".join(f"{name}={value}" for name, value in options.items())
    prompt = f"FROM read_csv({_written(path)}, {listed});"
    described = [{"name": name, "type": kind} for name, kind in columns]
    quote = layout.quote
    yield (
        *(layout.delimiter, quote, quote, ending, "", 0, found.has_header, described),
        *(None, None, "", prompt),
    )


def _written(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_SNIFFED = pa.schema(
    [
        *((name, pa.string()) for name in ("Delimiter", "Quote", "Escape", "NewLineDelimiter")),
        ("Comment", pa.string()),
        ("SkipRows", pa.uint64()),
        ("HasHeader", pa.bool_()),
        ("Columns", pa.list_(pa.struct({"name": pa.string(), "type": pa.string()}))),
        *((name, pa.string()) for name in ("DateFormat", "TimestampFormat", "UserArguments")),
        ("Prompt", pa.string()),
    ]
)


_RANGES = pa.schema(
    [
        ("filename", pa.string()),
        ("name", pa.string()),
        (
            "content",
            pa.struct({"file": pa.string(), "offset": pa.int64(), "length": pa.int64()}),
        ),
    ]
)


def _schema(text: str) -> pa.Schema:
    kinds = {"t": pa.string(), "i": pa.int64(), "b": pa.binary()}
    parts = (each.split(":") for each in text.split())
    return pa.schema([(name, kinds[kind]) for name, kind in parts])


def _of_content(kind: pa.DataType) -> pa.Schema:
    return pa.schema(
        [
            ("filename", pa.string()),
            ("content", kind),
            ("size", pa.int64()),
            ("last_modified", TIMESTAMPTZ),
        ]
    )


FILE_CONTENTS = (
    FileRows("sniff_csv", _SNIFFED, _sniffed, CSV),
    FileRows("read_text", _of_content(pa.string()), _text, CSV),
    FileRows("read_blob", _of_content(pa.binary()), _blob, CSV),
    FileRows("tar_ranges", _RANGES, _ranges, CSV),
    FileRows(
        "parquet_metadata",
        _schema(
            "file_name:t row_group_id:i row_group_num_rows:i row_group_num_columns:i"
            " row_group_bytes:i column_id:i num_values:i path_in_schema:t type:t stats_min:t"
            " stats_max:t stats_null_count:i stats_distinct_count:i compression:t encodings:t"
            " dictionary_page_offset:i data_page_offset:i total_compressed_size:i"
            " total_uncompressed_size:i"
        ),
        _columns,
    ),
    FileRows(
        "parquet_file_metadata",
        _schema(
            "file_name:t created_by:t num_rows:i num_row_groups:i num_columns:i format_version:t"
            " file_size_bytes:i footer_size:i"
        ),
        _file,
    ),
    FileRows(
        "parquet_schema",
        _schema(
            "file_name:t name:t type:t type_length:t repetition_type:t num_children:i"
            " converted_type:t scale:i precision:i field_id:i"
        ),
        _elements,
    ),
    FileRows("parquet_kv_metadata", _schema("file_name:t key:b value:b"), _keys),
)
