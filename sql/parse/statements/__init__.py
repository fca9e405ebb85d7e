"""Statements that define, change or tell."""

from raydb.late import import_on_use

import_on_use(__name__)
