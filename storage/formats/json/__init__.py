"""JSON lines: what goes to the parser, reading, and what is wrong with a file."""

from raydb.late import import_on_use

import_on_use(__name__)
