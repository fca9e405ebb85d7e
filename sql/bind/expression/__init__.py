"""Scalar expressions, bound: each kind of node has its binder in one of these files."""

from raydb.late import import_on_use

import_on_use(__name__)
