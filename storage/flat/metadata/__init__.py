"""The three metadata tiers of a FlatStor file: built, read and checked, described and drawn."""

from raydb.late import import_on_use

import_on_use(__name__)
