"""Scans of tables: of columns as a whole, of blocks of rows, of the rows that are wanted."""

from raydb.late import import_on_use

import_on_use(__name__)
