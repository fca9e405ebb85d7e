"""Statistics of groups that do not fit in memory, in three passes over their rows.

means       of the sums of the arguments
rests       what the rounding of the means leaves, of the sums of the distances from them
products    of the distances, as the statistic asks for them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.aggregate.exact_sums import as_doubles
from raydb.engine.operators.aggregate.fold_blocks import fold_blocks
from raydb.engine.operators.aggregate.grouped import places_beside
from raydb.engine.operators.aggregate.statistics import STATISTICS, Sums, product, share_bits
from raydb.engine.operators.partition import pieces_of
from raydb.engine.operators.relation import Relation, joined
from raydb.planner.expressions.nodes import AggregateCall, Column
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Expression

    Doubles = NDArray[np.float64]

# The columns of plans and of their expressions have other numbers.
_FIRST_SUM = -3 * 10**9


@dataclass(frozen=True, eq=False, slots=True)
class _Passes:
    """Rows whose groups are added up, some at a time; groups: their keys, each once."""

    rows: Relation
    keys: Sequence[Column]
    groups: Relation
    memory: Memory

    def sums(self, count: int, compute: Callable[[Relation], Sequence[Doubles]]) -> list[Doubles]:
        """Return for each group the sums of so many doubles that are computed of its rows."""
        columns = [Column(_FIRST_SUM - place, "sum", pa.float64()) for place in range(count)]
        calls = [(column, AggregateCall("sum", (column,), column.type)) for column in columns]

        def blocks() -> Iterator[Relation]:
            for piece in pieces_of(self.rows, self.memory):
                computed = zip(columns, map(pa.array, compute(piece)), strict=True)
                keys = piece.select(self.keys).columns
                yield Relation({**keys, **dict(computed)}, piece.row_count)

        places: dict[Expression, Column] = {column: column for column in columns}
        found = fold_blocks(blocks(), self.keys, calls, places, self.memory)
        order = places_beside(self.groups, found, self.keys)
        return [as_doubles(found.columns[column])[order] for column in columns]


def large_statistic(
    call: AggregateCall,
    rows: Relation,
    groups: tuple[Relation, NDArray[np.int64]],
    arguments: Sequence[Column],
    memory: Memory,
) -> pa.Array:
    """Return a statistic of groups; groups: their keys and sizes. No argument is NULL."""
    statistic, (of, sizes) = STATISTICS[call.function], groups
    keys, divisors = list(of.columns), np.maximum(sizes, 1)
    passes = _Passes(rows, keys, of, memory)
    means: list[Doubles] = []
    rests: list[Doubles] = []

    def distances(piece: Relation) -> list[Doubles]:
        found = [as_doubles(piece.columns[argument]) for argument in arguments]
        places = places_beside(piece, of, keys)
        for subtracted in filter(None, (means, rests)):
            pairs = zip(found, subtracted, strict=True)
            found = [values - each[places] for values, each in pairs]
        return found

    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        means += [each / divisors for each in passes.sums(len(arguments), distances)]
        rests += [each / divisors for each in passes.sums(len(arguments), distances)]
        products = passes.sums(
            len(statistic.powers),
            lambda piece: [product(distances(piece), powers) for powers in statistic.powers],
        )
        whole = [mean + rest for mean, rest in zip(means, rests, strict=True)]
        return statistic.finish(Sums(sizes, whole, products))


def large_entropy(
    counted: Relation,
    count: Column,
    groups: tuple[Relation, NDArray[np.int64]],
    memory: Memory,
) -> pa.Array:
    """Return the entropy of groups from how often each of their values occurs.

    counted: the keys, the values and their counts. groups: their keys, and how many rows each has.
    """
    of, sizes = groups
    keys = list(of.columns)

    def bits(piece: Relation) -> list[Doubles]:
        counts = joined(piece.columns[count]).to_numpy()
        return [share_bits(counts, sizes[places_beside(piece, of, keys)])]

    (found,) = _Passes(counted, keys, of, memory).sums(1, bits)
    return pa.array(np.abs(found))
