"""Connections and cursors, the session that runs their statements, and the command `raydb`."""

from raydb.late import import_on_use

import_on_use(__name__)
