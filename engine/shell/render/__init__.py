"""Answers as text: their shapes, colours and widths, and where they go."""

from raydb.late import import_on_use

import_on_use(__name__)
