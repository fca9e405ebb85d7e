"""Functions of dates, times, timestamps and intervals."""

from raydb.late import import_on_use

import_on_use(__name__)
