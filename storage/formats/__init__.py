"""The formats of files that SQL reads and writes, one object a file: `register` adds another.

.flat     FlatStor files of one table
.parquet  columns by name, regardless of case, and of types that can be cast without loss
.csv      RFC 4180. An empty field is NULL; "" is the empty string, and NULL where the column is no
          text. .tsv has tabs.
.tbl      fields end with '|', as the Star Schema Benchmark's dbgen writes them: no header, no
quotes, no escapes. An empty field is NULL, but '' in a VARCHAR column that is NOT
NULL. The first line decides whether a '|' follows the last field.
.jsonl    one JSON object a line, its keys the columns, or an array of them; also .ndjson and .json
.arrow    Arrow IPC files, also .feather, and streams, .arrows
.xlsx     a sheet of an Excel workbook, by openpyxl
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.late import import_on_use

if TYPE_CHECKING:
    from raydb.storage.formats.known import FORMATS as FORMATS
    from raydb.storage.formats.known import register as register

import_on_use(__name__, {"known": "FORMATS register"})
