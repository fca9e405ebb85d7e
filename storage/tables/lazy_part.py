"""Rows whose columns are made when they are first asked for, such as those of a data frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raydb.storage.tables.rows import PlainPart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa


@dataclass(frozen=True, eq=False, slots=True)
class MadePart(PlainPart):
    """Columns by name that `make` converts to Arrow once each."""

    count: int
    make: Callable[[str], pa.ChunkedArray]
    _made: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.count

    @property
    def is_decoded(self) -> bool:
        """False: a column has to be converted."""
        return False

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        for name in names:
            if name not in self._made:
                self._made[name] = self.make(name)
        return [self._made[name] for name in names]
