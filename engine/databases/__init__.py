"""The databases that a process has open, and those that a session sees beside its own."""

from raydb.late import import_on_use

import_on_use(__name__)
