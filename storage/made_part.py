"""Rows whose columns are made when they are first asked for, such as those of a data frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.rows import Comparison


@dataclass(frozen=True, eq=False, slots=True)
class MadePart:
    """Columns by name that `make` converts to Arrow once each."""

    row_count: int
    make: Callable[[str], pa.ChunkedArray]
    _made: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def is_counted(self) -> bool:
        """True."""
        return True

    @property
    def expected_row_count(self) -> int:
        """The number of rows."""
        return self.row_count

    @property
    def is_decoded(self) -> bool:
        """False: a column has to be converted."""
        return False

    @property
    def is_seekable(self) -> bool:
        """True: a column that is converted once can be read at any row."""
        return True

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        for name in names:
            if name not in self._made:
                self._made[name] = self.make(name)
        return [self._made[name] for name in names]

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return int(self.columns([name])[0].null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        return self.columns([name])[0].take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> None:
        """Return None: the rows are compared by whoever asks."""
        del comparisons

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows."""
        return [column.slice(0, count) for column in self.columns(names)]

    def without(self, comparisons: Sequence[Comparison]) -> MadePart:
        """Return the part as it is."""
        del comparisons
        return self
