"""Files as the Star Schema Benchmark's dbgen writes them: `7|red||`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.storage.formats.csv_file import Csv, TextSettings
from raydb.storage.formats.delimited.records import Layout
from raydb.storage.formats.format import Use
from raydb.storage.formats.options import compression_of

if TYPE_CHECKING:
    from raydb.storage.formats.options import Options

_LAYOUT = Layout("|", quotes=False, null="", null_strings=False)


class _Tbl(Csv):
    name, extensions, copy_place = "tbl", ("tbl",), 0
    uses = (Use.READ, Use.QUERY)
    has_function = False
    options = {}

    def text_settings(self, path: str, settings: Options) -> TextSettings:
        return TextSettings(_LAYOUT, None, False, 0, compression_of(path, settings), True)


TBL = _Tbl()
