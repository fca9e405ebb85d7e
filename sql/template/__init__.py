"""Bound queries for all texts that differ in constants only."""

from raydb.late import import_on_use

import_on_use(__name__)
