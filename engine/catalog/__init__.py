"""Snapshots of the database, kept in a directory, and what is derived from their tables."""

from raydb.late import import_on_use

import_on_use(__name__)
