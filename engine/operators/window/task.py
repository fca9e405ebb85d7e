"""What window functions read of the arranged rows: arguments, and the places that take part."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import joined
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.window.frame import Arrangement, Pieces, Places
    from raydb.planner.expressions.nodes import Expression, WindowCall


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """A window function over arranged rows; `values` are those of the source, by expression.

    in_order: whether the rows of the source lie in the order of their places.
    """

    call: WindowCall
    arrangement: Arrangement
    values: Mapping[Expression, pa.ChunkedArray | pa.Array]
    in_order: bool

    def argument(self, number: int) -> pa.ChunkedArray | pa.Array:
        """Return an argument's values by place."""
        values = self.values[self.call.arguments[number]]
        return joined(values) if self.in_order else take(values, self.arrangement.rows)


def take(
    values: pa.ChunkedArray | pa.Array, rows: Places, invalid: NDArray[np.bool_] | None = None
) -> pa.ChunkedArray | pa.Array:
    """Return the values at some places, NULL where `invalid`."""
    check_interrupt()
    return joined(values).take(pa.array(rows, mask=invalid))


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """The places that take part, in order: `before[p]` of them lie before place p.

    The pieces of a frame count these places only.
    """

    places: Places
    before: Places

    def narrow(self, pieces: Pieces) -> Pieces:
        """Return pieces of all places as pieces of the kept ones."""
        return [(self.before[starts], self.before[ends]) for starts, ends in pieces]


def keep(kept: NDArray[np.bool_]) -> Kept:
    """Return the places that a mask keeps."""
    return Kept(np.flatnonzero(kept), np.concatenate([[0], np.cumsum(kept)]))


def taking_part(
    task: Task, arguments: Sequence[pa.ChunkedArray | pa.Array]
) -> NDArray[np.bool_] | None:
    """Return which places an aggregate's FILTER and the NULLs of arguments leave; None: all."""
    masks = [pc.is_valid(argument) for argument in arguments if argument.null_count]
    if task.call.filter is not None:
        passed = pc.fill_null(task.values[task.call.filter], False)
        masks.append(take(passed, task.arrangement.rows))
    if not masks:
        return None
    parts = [joined(mask).to_numpy(zero_copy_only=False) for mask in masks]
    kept: NDArray[np.bool_] = np.logical_and.reduce(parts)
    return kept


def narrow(
    task: Task, pieces: Pieces, arguments: int = 1, *, keeps_nulls: bool = False
) -> tuple[Pieces, list[pa.ChunkedArray | pa.Array], Places]:
    """Return the pieces and the arguments of the places that take part, and how many a frame has.

    arguments: how many of them are read. keeps_nulls: whether those that are NULL count.
    """
    values = [task.argument(number) for number in range(min(arguments, len(task.call.arguments)))]
    mask = taking_part(task, () if keeps_nulls else values)
    if mask is not None:
        kept = keep(mask)
        pieces = kept.narrow(pieces)
        values = [take(each, kept.places) for each in values]
    counts = functools.reduce(np.add, [ends - starts for starts, ends in pieces])
    return pieces, values, counts
