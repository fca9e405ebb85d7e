"""Files as the Star Schema Benchmark's dbgen writes them: `7|red||`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.storage.formats.csv_file import TextSettings, open_delimited_file, read_delimited_file
from raydb.storage.formats.delimited.records import Layout
from raydb.storage.formats.format import Format, Use
from raydb.storage.formats.options import compression_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from raydb.storage.formats.format import Report
    from raydb.storage.formats.options import Options
    from raydb.storage.tables.parts import Part

_LAYOUT = Layout("|", quotes=False, null="", null_strings=False)


class _Tbl(Format):
    name, extensions, copy_place = "tbl", ("tbl",), 0
    uses = (Use.READ, Use.QUERY)
    has_function = False

    def open(self, path: str, settings: Options) -> tuple[pa.Schema, Part]:
        return open_delimited_file(path, _text_settings(path, settings), settings)

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[], pa.Table]:
        text = _text_settings(path, settings)
        return lambda: read_delimited_file(path, schema, text, report)


def _text_settings(path: str, settings: Options) -> TextSettings:
    return TextSettings(_LAYOUT, None, False, 0, compression_of(path, settings), True)


TBL = _Tbl()
