"""Window functions: a value for each row from the rows around it.

    columns = compute_windows(calls, values, row_count)

Rows are sorted once for all functions with the same PARTITION BY and ORDER BY; everything is then
computed by place in that order, and the results go back to the rows in the order of the source.
Aggregates of frames are in frames.py.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import joined
from raydb.engine.operators.window.frame import (
    Arrangement,
    Pieces,
    Places,
    arrange,
    frame_pieces,
    spread,
)
from raydb.engine.operators.window.frames import aggregate_frames
from raydb.engine.operators.window.task import Kept, Task, keep, take
from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Column, Expression, WindowCall

_RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
_PICKS = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})


def compute_windows(
    calls: Sequence[tuple[Column, WindowCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
) -> dict[Column, pa.ChunkedArray | pa.Array]:
    """Return the values of window functions for `row_count` rows, in the rows' order.

    `values` has those of every expression that a call reads. Raises DataError for a sum that its
    type cannot hold and for arguments out of range.
    """
    arrangements: dict[Any, tuple[Arrangement, Places | None]] = {}
    columns: dict[Column, pa.ChunkedArray | pa.Array] = {}
    for column, call in calls:
        if row_count == 0:
            columns[column] = pa.array([], call.type)
            continue
        order = (call.partition_by, call.order_by)
        if order not in arrangements:
            arrangement = arrange(*order, values, row_count)
            arrangements[order] = arrangement, _inverse(arrangement.rows)
        arrangement, places = arrangements[order]
        result = _compute(Task(call, arrangement, values, places is None))
        columns[column] = cast_values(result if places is None else take(result, places), call.type)
    return columns


def _inverse(rows: Places) -> Places | None:
    """Return the place of each source row, or None where the rows stayed where they were."""
    here = np.arange(len(rows))
    if np.array_equal(rows, here):
        return None
    places = np.empty(len(rows), np.int64)
    places[rows] = here
    return places


def _compute(task: Task) -> pa.ChunkedArray | pa.Array:
    """Return a function's values by place."""
    check_interrupt()
    call = task.call
    if call.function in _RANKS:
        return _rank(task)
    if call.function in ("lag", "lead"):
        return _neighbour(task)
    pieces = frame_pieces(call, task.arrangement, task.values)
    if call.function in _PICKS:
        return _pick(task, pieces)
    return aggregate_frames(task, pieces)


# -- ranks


def _rank(task: Task) -> pa.Array:
    arrangement = task.arrangement
    partitions, peers = arrangement.partitions, arrangement.peers
    sizes = spread(partitions, np.diff(partitions))
    here = np.arange(arrangement.row_count) - spread(partitions, partitions[:-1])
    first_peer = spread(peers, peers[:-1]) - spread(partitions, partitions[:-1])
    match task.call.function:
        case "row_number":
            return pa.array(here + 1)
        case "rank":
            return pa.array(first_peer + 1)
        case "dense_rank":
            groups = spread(peers, np.arange(len(peers) - 1))
            first_groups = np.searchsorted(peers, partitions[:-1])
            return pa.array(groups - spread(partitions, first_groups) + 1)
        case "percent_rank":
            return pa.array(first_peer / np.maximum(sizes - 1, 1))
        case "cume_dist":
            last_peer = spread(peers, peers[1:]) - spread(partitions, partitions[:-1])
            return pa.array(last_peer / sizes)
        case _:
            return tiles(task.argument(0), here, sizes)


def tiles(buckets: pa.ChunkedArray | pa.Array, here: Places, sizes: Places) -> pa.Array:
    """Deal the rows of each partition out to buckets whose sizes differ by one at most."""
    counts, invalid = _integers(buckets)
    if (counts[~invalid] < 1).any():
        raise DataError("ntile() needs a number of buckets above zero")
    counts = np.where(invalid, 1, counts)
    small, larger = np.divmod(sizes, counts)
    edge = larger * (small + 1)
    in_small = larger + (here - edge) // np.maximum(small, 1)
    buckets_of_rows = np.where(here < edge, here // (small + 1), in_small) + 1
    return pa.array(buckets_of_rows, mask=invalid)


def _integers(values: pa.ChunkedArray | pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return (values, invalid); 0 for NULL."""
    array = joined(values)
    invalid = pc.is_null(array).to_numpy(zero_copy_only=False)
    return pc.cast(array, pa.int64()).fill_null(0).to_numpy(), invalid


# -- other rows' values


def _kept_places(task: Task) -> Kept:
    """Return the places whose first argument counts under IGNORE NULLS, else all."""
    if task.call.ignore_nulls:
        return keep(pc.is_valid(task.argument(0)).to_numpy(zero_copy_only=False))
    everywhere = np.arange(task.arrangement.row_count + 1)
    return Kept(everywhere[:-1], everywhere)


def _neighbour(task: Task) -> pa.ChunkedArray | pa.Array:
    """Return for lag and lead the value so many rows away, or a default outside the partition."""
    call, partitions = task.call, task.arrangement.partitions
    kept = _kept_places(task)
    distances, invalid = np.ones(task.arrangement.row_count, np.int64), None
    if len(call.arguments) > 1:
        distances, invalid = _integers(task.argument(1))
    if call.function == "lag":
        distances = -distances
    # Forward from the first kept place behind this one, backward from the first not before it.
    before, through = kept.before[:-1], kept.before[1:]
    found = np.where(distances > 0, through - 1 + distances, before + distances)
    first = kept.before[spread(partitions, partitions[:-1])]
    last = kept.before[spread(partitions, partitions[1:])]
    outside = (found < first) | (found >= last)
    inside = np.where(outside, 0, found)
    places = kept.places[inside] if len(kept.places) else inside
    here = np.arange(len(places))
    places = np.where(distances == 0, here, places)
    outside &= distances != 0
    missing = outside if invalid is None else outside | invalid
    values = take(task.argument(0), places, missing)
    if len(call.arguments) < 3:
        return values
    default = joined(cast_values(task.argument(2), values.type))
    wanted = outside if invalid is None else outside & ~invalid
    return pc.if_else(pa.array(wanted), default, values)


def _pick(task: Task, pieces: Pieces) -> pa.ChunkedArray | pa.Array:
    """Return for first_value, last_value and nth_value the value at a place of the frame."""
    kept = _kept_places(task) if task.call.ignore_nulls else None
    if kept is not None:
        pieces = kept.narrow(pieces)
    counts = [ends - starts for starts, ends in pieces]
    total = functools.reduce(np.add, counts)
    missing = np.zeros(len(total), np.bool_)
    match task.call.function:
        case "first_value":
            wanted = np.zeros_like(total)
        case "last_value":
            wanted = total - 1
        case _:
            numbers, missing = _integers(task.argument(1))
            if (numbers[~missing] < 1).any():
                raise DataError("nth_value() needs a number above zero")
            wanted = numbers - 1
    missing = missing | (wanted >= total) | (wanted < 0)
    found = np.zeros_like(total)
    for (starts, _), count in zip(pieces, counts, strict=True):
        here = (wanted >= 0) & (wanted < count)
        np.add(starts, wanted, out=found, where=here)
        wanted -= count
        wanted[here] = -1
    found[missing] = 0
    if kept is not None and len(kept.places):
        found = kept.places[found]
    return take(task.argument(0), found, missing)
