"""Databases of SQLite, read through Python's own module."""

from raydb.late import import_on_use

import_on_use(__name__)
