"""A plugin of pytest that takes sqlglot's modules from their sources, as where none is compiled.

PYTHONPATH=tests/sql pytest -p interpreted_sqlglot tests/sql
"""

from __future__ import annotations

import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Sources:
    """Finds the sources of sqlglot's modules alone."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _: object = None) -> ModuleSpec | None:
        """Return where a module below sqlglot lies."""
        if path is None or not name.startswith("sqlglot."):
            return None
        finders = (FileFinder(each, (SourceFileLoader, SOURCE_SUFFIXES)) for each in path)
        found = (finder.find_spec(name) for finder in finders)
        return next((each for each in found if each is not None and each.loader), None)


sys.meta_path.insert(0, Sources)  # type: ignore[arg-type]
