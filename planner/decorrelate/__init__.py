"""Subqueries that read an outer row, as joins."""

from raydb.late import import_on_use

import_on_use(__name__)
