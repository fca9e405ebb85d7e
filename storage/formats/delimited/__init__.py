"""Delimited text, .csv and .tbl: records, types of columns, reading, and what is wrong with it."""

from raydb.late import import_on_use

import_on_use(__name__)
