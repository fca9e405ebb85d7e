"""Graphs of tables, as libraries for graph neural networks read them."""

from raydb.late import import_on_use

import_on_use(__name__)
