"""FlatStor files as files of rows: .flat in COPY and in FROM."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import known_name
from raydb.storage.flat import open_table
from raydb.storage.flat.encodings.outside import folder_of
from raydb.storage.formats.arrow.exported import exported
from raydb.storage.formats.format import Format, Setting, Use
from raydb.storage.formats.options import texts_of, whole_number
from raydb.storage.objects.urls import is_url
from raydb.storage.tables.parts import FilePart

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.options import Options


class _Flat(Format):
    name, extensions, copy_place = "flat", ("flat",), 3
    options = {
        "chunk_rows": Setting("rows in a chunk", (Use.WRITE,)),
        "by_reference": Setting("columns whose values stay in other files", (Use.WRITE,)),
    }

    def open(self, file: InputFile, settings: Options) -> tuple[pa.Schema, FilePart]:
        flat = open_table(file.source())
        return flat.schema, FilePart(file.path, flat)

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        from raydb.storage.flat.write import write_stream  # noqa: PLC0415  (queries write nothing)

        chunk_rows = whole_number(settings, "chunk_rows")
        if "by_reference" not in settings:
            return lambda sink: write_stream(sink, exported(rows), chunk_rows=chunk_rows)
        if is_url(path):
            raise NotSupportedError(f"file '{path}' cannot refer to others: only local files do")
        if "partition_by" in settings:
            raise ProgrammingError("option by_reference does not go with partition_by")
        names = [
            known_name(each, rows.column_names, "column", " in the rows of COPY")
            for each in texts_of(settings, "by_reference", ())
        ]
        return lambda sink: write_stream(
            sink, exported(rows), chunk_rows=chunk_rows, references=(folder_of(path), names)
        )


FLAT = _Flat()
