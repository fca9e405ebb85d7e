"""Bytes: tables and their constraints, FlatStor files, the durable directory, readers of files."""

from raydb.late import import_on_use

import_on_use(__name__)
