"""Columns of values: how numpy and Arrow compute with decimals, lists, dates and intervals."""

from raydb.late import import_on_use

import_on_use(__name__)
