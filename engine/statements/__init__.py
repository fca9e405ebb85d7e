"""Statements that change the database: each takes a snapshot and gives the next one."""

from raydb.late import import_on_use

import_on_use(__name__)
