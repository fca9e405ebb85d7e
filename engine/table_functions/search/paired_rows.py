"""Which rows of the table that is searched there are for each row that asks.

    FROM q, LATERAL motif_count((SELECT * FROM e WHERE e.day = q.day), ...)

Rows that asked for the same are found together: a search is over the rows of all, and `pairs` tell
whose they are. Without pairs all rows are there for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.engine.operators.join.keys import encode_keys
from raydb.engine.operators.relation import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from raydb.engine.operators.relation import Relation
    from raydb.planner.plan.nodes import SearchRows


class PairedRows:
    """The rows that there are for each row that asks: those with its values in the pairs' columns.

    order: the numbers of rows, those of a pair together and in the order that the search sees.
    starts, ends: where in it those of a row that asks are. codes: the same for the same rows.
    """

    def __init__(self, plan: SearchRows, queries: Relation, rows: Relation) -> None:
        by_row: list[NDArray[Any]] = []
        if plan.place is not None:
            by_row.append(joined(rows.columns[plan.place]).to_numpy())
        self.codes: NDArray[np.int64] = np.zeros(queries.row_count, np.int64)
        codes: NDArray[np.int64] = np.zeros(rows.row_count, np.int64)
        if plan.pairs:
            ours, theirs = zip(*plan.pairs, strict=True)
            keys = encode_keys(
                [queries.columns[column] for column in ours],
                [rows.columns[column] for column in theirs],
                range(len(ours)),
            )
            self.codes, codes = keys.build, keys.probe
        self.order: NDArray[np.int64] = np.lexsort([*by_row, codes])
        self.starts = np.searchsorted(codes[self.order], self.codes, "left")
        self.ends = np.searchsorted(codes[self.order], self.codes, "right")

    def numbers(self, row: int) -> NDArray[np.int64]:
        """Return the numbers of the rows that there are for a row that asks."""
        return self.order[self.starts[row] : self.ends[row]]

    def together(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows that ask about the same rows, and the numbers of these."""
        for code in np.unique(self.codes):
            asking = np.flatnonzero(self.codes == code)
            yield asking, self.numbers(int(asking[0]))
