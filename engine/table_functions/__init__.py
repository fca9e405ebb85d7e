"""Table functions: each has its own folder or file."""

from raydb.late import import_on_use

import_on_use(__name__)
