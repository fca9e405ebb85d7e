"""File formats: each is an object in a file of its own, and a line in the folder's registry."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from raydb.errors import NotSupportedError
from raydb.storage.formats.cast_columns import cast_rows, castable_names
from raydb.storage.in_order import in_order
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.options import Options
    from raydb.storage.tables.parts import Part

    Report = Callable[[int], None] | None


class Use(Enum):
    """What a statement does with a file: COPY FROM, COPY TO, FROM."""

    READ = 1
    WRITE = 2
    QUERY = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """An option: what it says, and the statements that it may be given in."""

    meaning: str
    uses: tuple[Use, ...]


# What a table of a file may have; each takes some time in every statement about it.
MAX_COLUMNS = 100_000
# Of a part that can be sliced, COPY reads so many rows at a time.
_PIECE_ROWS = 2**16

ANY = (Use.READ, Use.WRITE, Use.QUERY)
_COPY = (Use.READ, Use.WRITE)
# The options of every format.
_COMMON = {
    "format": Setting("the format, instead of the extension", _COPY),
    "union_by_name": Setting("whether columns of several files are matched by name", (Use.QUERY,)),
    "hive_partitioning": Setting("whether folders such as year=2026 are columns", (Use.QUERY,)),
    "hive_types": Setting("types of such columns", (Use.QUERY,)),
    "hive_types_autocast": Setting("whether they have other types than text", (Use.QUERY,)),
    "partition_by": Setting("columns that become folders such as year=2026", (Use.WRITE,)),
    "write_partition_columns": Setting("whether the files hold these columns too", (Use.WRITE,)),
    "filename_pattern": Setting("how files of PARTITION_BY are called: data_{i}", (Use.WRITE,)),
    "overwrite": Setting("whether what the directory held before goes", (Use.WRITE,)),
    "overwrite_or_ignore": Setting(
        "whether PARTITION_BY may write to a directory that is not empty", (Use.WRITE,)
    ),
    "filename": Setting("whether to add a column with the file's path", (Use.QUERY,)),
}


class Format:
    """A file format.

    name: what `format` calls it, and `read_NAME()` if it has a function. extensions: without the
    dot. uses: the statements that have it. copy_place: where COPY's errors name it. empty: what is
    said of an empty file. is_text: whether an empty file has no rows for a table whose columns are
    known. has_dictionaries: whether it can hold an ENUM otherwise than as text.
    """

    name: str
    extensions: tuple[str, ...]
    uses: tuple[Use, ...] = ANY
    has_function = True
    copy_place = 99
    empty = "is empty"
    is_text = False
    has_dictionaries = False
    options: Mapping[str, Setting] = {}

    def is_text_of(self, kind: pa.DataType, use: Use) -> bool:
        """Tell whether files have values of a type as the text that casts give and read."""
        return False

    def options_of(self, use: Use) -> list[str]:
        """Return the names of the options that a statement may give."""
        known = {**_COMMON, **self.options}
        return [name for name, setting in known.items() if use in setting.uses]

    def open(self, file: InputFile, settings: Options) -> tuple[pa.Schema, Part]:
        """Return the columns as the file has them and its rows, to be read when they are used.

        The file need not be there as a whole: what is read is brought before, see `InputFile`.
        Raises DataError for what is wrong inside of the file, ProgrammingError for bad options, and
        OSError.
        """
        raise NotImplementedError

    def reader(
        self,
        path: str,
        schema: pa.Schema,
        exact: bool,
        settings: Options,
        report: Report,
    ) -> Callable[[InputFile], Iterator[pa.Table]]:
        """Return the function that reads the columns of `schema` in a file, some rows at a time.

        Its errors are those of `open`, of what is wrong with any row.

        path: as in messages. exact: whether a further column in the file is an error. report:
        called now and then with the number of bytes read, perhaps from another thread. Raises
        ProgrammingError for bad options.
        """

        def read(file: InputFile) -> Iterator[pa.Table]:
            found, part = self.open(file, settings)
            first = 0
            for rows in _tables(part, castable_names(path, found, schema, exact)):
                cast = cast_rows(path, rows, schema, first)
                first += rows.num_rows
                yield copied(cast) if part.is_borrowed else cast

        return read

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        """Return the function that writes rows; it raises what the format lacks.

        Raises ProgrammingError for bad options.
        """
        raise NotImplementedError


def _tables(part: Part, names: list[str]) -> Iterator[pa.Table]:
    """Yield some columns of a part, as many rows at a time as it can give."""
    if part.is_streamed:
        yield from in_order(lambda read: read(), part.blocks(names))
        return
    for start, stop in part.pieces(0, part.row_count, _PIECE_ROWS):
        yield pa.table(part.slice(names, start, stop), names=names)


def too_many_columns(path: str, count: int) -> NotSupportedError:
    """Return the error about a file with more columns than a table may have."""
    return NotSupportedError(
        f"file '{path}' has {count} columns, where a table may have {MAX_COLUMNS}"
    )


def copied(rows: pa.Table) -> pa.Table:
    """Return rows that share no bytes with a mapped file, which may change once it is closed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
