"""The context of a statement: its memory, its progress, its devices."""

from raydb.late import import_on_use

import_on_use(__name__)
