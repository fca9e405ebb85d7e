"""Indexes that lie beside the rows of a table: of vectors and of texts."""

from raydb.late import import_on_use

import_on_use(__name__)
