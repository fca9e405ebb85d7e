"""Files as the Star Schema Benchmark's dbgen writes them: `7|red||`."""

from __future__ import annotations

from raydb.storage.formats.delimited.csv_file import Csv
from raydb.storage.formats.delimited.records import Layout
from raydb.storage.formats.format import Use


class _Tbl(Csv):
    name, extensions, copy_place = "tbl", ("tbl",), 0
    uses = (Use.READ, Use.QUERY)
    has_function = False
    layout = Layout("|", quotes=False, nulls=("",), null_strings=False)
    header = False


TBL = _Tbl()
