"""Files of arrays: what they hold, and which one holds those of a value.

Such a value is an index, the row numbers of a BVH, or which rows of a table are visible.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, BinaryIO

from raydb.engine.catalog.indexes import stored_calibration
from raydb.kernels.text import text_index
from raydb.kernels.vector import ivf, ivf_merge
from raydb.storage.durable.sections import write_sections

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from raydb.kernels.stored.deferred import Deferred
    from raydb.kernels.stored.pieces import Pieces

    Arrays = Mapping[str, NDArray[Any] | Pieces]
    Content = tuple[Arrays, dict[str, Any]]

# Whose `to_arrays` gives the content of a file of a kind.
_KINDS: dict[str, Any] = {"ivf": ivf, "fts": text_index, "cal": stored_calibration}


class ArrayFiles:
    """Names of files, by the identity of what they hold.

    The value itself is kept beside the name, so that its identity is not given to another one.
    Whoever writes the database may call anything; any thread `note_ahead` and `forget_ahead`.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}
        # Those that no version names yet.
        self._ahead: dict[int, tuple[object, str]] = {}
        self._lock = threading.Lock()

    def find(self, value: object) -> str | None:
        """Return the file of a value, None where it is in none."""
        known = self._known.get(id(value))
        return None if known is None else known[1]

    def note(self, value: object, name: str) -> None:
        """Know the file that a value is in."""
        self._known[id(value)] = (value, name)

    def keep(self, names: Collection[str]) -> None:
        """Forget all files but these."""
        self._known = {key: known for key, known in self._known.items() if known[1] in names}

    def forget(self, names: Collection[str]) -> None:
        """Forget some files."""
        self._known = {key: known for key, known in self._known.items() if known[1] not in names}

    def note_ahead(self, value: object, name: str) -> None:
        """Know the file that a value is in before the commit that makes both part of a version."""
        with self._lock:
            self._ahead[id(value)] = (value, name)

    def forget_ahead(self, names: Collection[str]) -> None:
        """Forget files that no commit will name."""
        with self._lock:
            kept = {key: known for key, known in self._ahead.items() if known[1] not in names}
            self._ahead = kept

    def adopt(self, value: object) -> str | None:
        """Return the file that a value was written to ahead; from now on it is as any other."""
        with self._lock:
            known = self._ahead.pop(id(value), None)
        if known is None:
            return None
        self.note(*known)
        return known[1]


def content_of(kind: str, value: Deferred[Any]) -> Content:
    """Return the arrays of an index or of calibrations, and the rest as JSON values."""
    if isinstance(value, ivf_merge.Merged):
        return value.to_arrays()
    content: Content = _KINDS[kind].to_arrays(value.get())
    return content


def write_arrays(arrays: Arrays, properties: dict[str, Any], sink: BinaryIO) -> None:
    """Write a file of arrays."""
    write_sections(sink, arrays, properties)
