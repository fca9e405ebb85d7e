"""The Python interface: connections, cursors, appenders."""

from raydb.late import import_on_use

import_on_use(__name__)
