"""Bytes of FlatStor files that are elsewhere, brought for several tables and columns at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.flat.flat_table import FlatTable

# The rows to be read: their numbers, or ascending ranges of them; None for all. Of no ranges only
# the metadata of columns are needed, and not what their rows share, such as dictionaries.
WantedRows: TypeAlias = "NDArray[np.int64] | list[tuple[int, int]] | None"


def bring_tables(
    wanted: Sequence[tuple[FlatTable, Sequence[str], WantedRows]], most_bytes: int | None = None
) -> bool:
    """Bring what reading columns of tables needs, those of objects in two trips at most.

    What the second trip needs is told by the first, which brings the metadata of columns unless
    they are there. most_bytes: nothing is brought by the second, and False returned, where it would
    be more.
    """
    if not wanted:
        return True
    source = wanted[0][0].source
    source.need_with([(table.source, table.column_ranges(names)) for table, names, _ in wanted])
    ranges = [
        (table.source, table.chunk_ranges(names, rows))
        for table, names, rows in wanted
        if rows is None or len(rows)
    ]
    if most_bytes is not None and most_bytes < sum(
        stop - start for _, each in ranges for start, stop in each
    ):
        return False
    source.need_with(ranges)
    for table, _, _ in wanted:
        table.check_header()
    return True
