"""The columns that tables keep decoded: what they take, and which of them go first.

    decoded_columns.add(rows, "price", size_bytes)      one was decoded
    decoded_columns.use(rows)                           some were asked for
    decoded_columns.size_bytes                          of all tables of the process
    decoded_columns.drop(size_bytes, beside=rows)       those of tables not used for longest go

Tables are known by weak references: what nobody has any more does not count.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.storage.tables.rows import Rows

# Of a text or a list, what most take at least.
_TEXT_BYTES = 16


class DecodedColumns:
    """What is kept of which rows."""

    def __init__(self) -> None:
        # Rows may end within any of the methods, by the garbage collector.
        self._lock = threading.RLock()
        # By the identity of the rows, those used last at the end.
        self._kept: OrderedDict[int, tuple[weakref.ref[Rows], dict[str, int]]] = OrderedDict()
        # None where something changed, or began to: an interrupt may come between two steps.
        self._total: int | None = 0

    @property
    def size_bytes(self) -> int:
        """The bytes of all."""
        total = self._total
        if total is None:
            with self._lock:
                total = sum([sum(sizes.values()) for _, sizes in list(self._kept.values())])
                self._total = total
        return total

    def add(self, rows: Rows, name: str, size_bytes: int) -> None:
        """Note that a column of some rows was decoded."""
        key = id(rows)
        with self._lock:
            self._total = None
            if key not in self._kept:
                self._kept[key] = (weakref.ref(rows, partial(self._end, key)), {})
            self._kept[key][1][name] = size_bytes

    def use(self, rows: Rows) -> None:
        """Note that columns of some rows were asked for."""
        key = id(rows)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)

    def drop(self, size_bytes: int, beside: Rows | None = None) -> int:
        """Let go of columns of so many bytes, or of all but those of `beside`; return how many.

        Whoever reads one of them has it until he ends.
        """
        freed = 0
        with self._lock:
            self._total = None
            for reference, sizes in list(self._kept.values()):
                rows = reference()
                if rows is None or rows is beside:
                    continue
                while sizes and freed < size_bytes:
                    name = next(iter(sizes))
                    rows.forget(name)
                    freed += sizes.pop(name)
        return freed

    def _end(self, key: int, _: weakref.ref[Rows]) -> None:
        with self._lock:
            self._total = None
            del self._kept[key]


decoded_columns = DecodedColumns()


def value_bytes(kind: pa.DataType) -> int:
    """Return the bytes of a value of a type, of a text or a list what most take at least."""
    try:
        return -(-int(kind.bit_width) // 8) or _TEXT_BYTES
    except ValueError:
        return _TEXT_BYTES
