"""Bound expressions, their evaluator and the scalar functions."""

from raydb.late import import_on_use

import_on_use(__name__)
