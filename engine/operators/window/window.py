"""Window functions: a value for each row from the rows around it.

    columns = compute_windows(calls, values, row_count)

Rows are sorted once for all functions with the same PARTITION BY and ORDER BY; everything is then
computed by place in that order, and the results go back to the rows in the order of the source.
A sum over a frame is the difference of two exact running sums; doubles, minima and maxima are
folded without taking any value out again; every other aggregate runs over the rows of each
distinct frame.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.exact_sums import average, is_exact, join_limbs, split_limbs
from raydb.engine.operators.codes import encode
from raydb.engine.operators.relation import joined
from raydb.engine.operators.window.frame import (
    Arrangement,
    Pieces,
    Places,
    arrange,
    frame_pieces,
    spread,
)
from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.nodes import AggregateCall, Column, expressions_of
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Expression, WindowCall

_RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
_PICKS = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})
_SUMS = frozenset({"count_star", "count", "sum", "avg"})
_EXTREMES = frozenset({"min", "max"})
# Frames are taken apart into rows in blocks of so many, 32 MiB a column.
_BLOCK_ROWS = 2**22


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
        return joined(values) if self.in_order else _take(values, self.arrangement.rows)


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
        columns[column] = cast_values(
            result if places is None else _take(result, places), call.type
        )
    return columns


def _inverse(rows: Places) -> Places | None:
    """Return the place of each source row, or None where the rows stayed where they were."""
    here = np.arange(len(rows))
    if np.array_equal(rows, here):
        return None
    places = np.empty(len(rows), np.int64)
    places[rows] = here
    return places


def _take(
    values: pa.ChunkedArray | pa.Array, rows: Places, invalid: NDArray[np.bool_] | None = None
) -> pa.ChunkedArray | pa.Array:
    """Return the values at some places, NULL where `invalid`."""
    check_interrupt()
    return joined(values).take(pa.array(rows, mask=invalid))


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
    if call.function in _SUMS and not call.distinct:
        return _sum(task, pieces)
    if call.function in _EXTREMES and not pt.is_interval(call.type):
        return _extreme(task, pieces)
    return _aggregate_frames(task, pieces)


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


def _keep(kept: NDArray[np.bool_]) -> Kept:
    return Kept(np.flatnonzero(kept), np.concatenate([[0], np.cumsum(kept)]))


def _kept_places(task: Task) -> Kept:
    """Return the places whose first argument counts under IGNORE NULLS, else all."""
    if task.call.ignore_nulls:
        return _keep(pc.is_valid(task.argument(0)).to_numpy(zero_copy_only=False))
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
    values = _take(task.argument(0), places, missing)
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
    return _take(task.argument(0), found, missing)


# -- aggregates of frames


def _taking_part(
    task: Task, argument: pa.ChunkedArray | pa.Array | None
) -> NDArray[np.bool_] | None:
    """Return which places an aggregate's FILTER and the NULLs of its argument leave; None: all."""
    call, kept = task.call, None
    if call.filter is not None:
        passed = pc.fill_null(task.values[call.filter], False)
        kept = _take(passed, task.arrangement.rows).to_numpy(zero_copy_only=False)
    if argument is not None and argument.null_count:
        valid = joined(pc.is_valid(argument)).to_numpy(zero_copy_only=False)
        kept = valid if kept is None else kept & valid
    return kept


def _narrow(task: Task, pieces: Pieces) -> tuple[Pieces, pa.ChunkedArray | pa.Array | None, Places]:
    """Return the pieces and the values of the places that take part, and how many a frame has."""
    values = task.argument(0) if task.call.arguments else None
    mask = _taking_part(task, values)
    if mask is not None:
        kept = _keep(mask)
        pieces = kept.narrow(pieces)
        values = None if values is None else _take(values, kept.places)
    counts = functools.reduce(np.add, [ends - starts for starts, ends in pieces])
    return pieces, values, counts


def _sum(task: Task, pieces: Pieces) -> pa.Array:
    """Return the count, the sum or the average of each frame."""
    call = task.call
    pieces, values, counts = _narrow(task, pieces)
    if call.function in ("count_star", "count"):
        return pa.array(counts)
    assert values is not None
    if not is_exact(values.type):
        doubles = joined(cast_values(values, pa.float64())).to_numpy()
        sums = _fold(doubles, pieces, "sum", 0.0)
        if call.function == "avg":
            sums = sums / np.maximum(counts, 1)
        return cast_values(pa.array(sums, mask=counts == 0), call.type)
    limbs = [_difference(limb, pieces) for limb in split_limbs(joined(values))]
    if call.function == "avg":
        return average(limbs, counts, values.type)
    return join_limbs(limbs, counts > 0, call.type)


def _difference(numbers: NDArray[np.int64], pieces: Pieces) -> NDArray[np.int64]:
    """Return the sum of each frame as the difference of running sums."""
    running = np.concatenate([[0], np.cumsum(numbers)])
    total: NDArray[np.int64] = np.sum(
        [running[ends] - running[starts] for starts, ends in pieces], axis=0
    )
    return total


def _extreme(task: Task, pieces: Pieces) -> pa.Array:
    """Return for min and max the value of the least or greatest code of each frame."""
    pieces, values, counts = _narrow(task, pieces)
    assert values is not None
    codes = encode(values)
    nothing = np.int64(2**63 - 1 if task.call.function == "min" else -(2**63))
    found = _fold(codes.codes, pieces, task.call.function, nothing)
    return codes.decode(np.where(counts > 0, found, 0), counts > 0)


def _fold(values: NDArray[Any], pieces: Pieces, function: str, nothing: Any) -> NDArray[Any]:
    """Fold the values of each frame."""
    from raydb.kernels.backends.cpu import window_loops as kernels  # noqa: PLC0415  (numba takes 0.24 s)

    codes = {"sum": kernels.ADD, "min": kernels.LEAST, "max": kernels.GREATEST}
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum}[function]
    tree = np.empty(2 * len(values), values.dtype)
    kernels.build_tree(values, codes[function], tree)
    total: NDArray[Any] | None = None
    for starts, ends in pieces:
        check_interrupt()
        folded = np.empty(len(starts), values.dtype)
        kernels.fold_frames(values, tree, starts, ends, codes[function], nothing, folded)
        total = folded if total is None else combine(total, folded)
    assert total is not None, "a frame has a piece"
    return total


def _aggregate_frames(task: Task, pieces: Pieces) -> pa.ChunkedArray | pa.Array:
    """Run an aggregate over the rows of each distinct frame."""
    call = task.call
    plain = AggregateCall(call.function, call.arguments, call.type, call.distinct, call.filter)
    bounds = np.stack([bound for piece in pieces for bound in piece])
    changes = np.any(bounds[:, 1:] != bounds[:, :-1], axis=0)
    frame_of_place = np.concatenate([[0], np.cumsum(changes)])
    bounds = bounds[:, np.concatenate([[0], np.flatnonzero(changes) + 1])]
    frame = Column(0, "frame", pa.int64())
    result = Column(1, "result", call.type)
    read = expressions_of(plain)
    no_rows = {expression: pa.array([], expression.type) for expression in read}
    nothing = joined(aggregate({}, [(result, plain)], no_rows, 0).columns[result])
    results = []
    for start, end in _blocks(bounds):
        check_interrupt()
        frames, places = _expand(bounds[:, start:end])
        rows = task.arrangement.rows[places]
        some = {expression: _take(task.values[expression], rows) for expression in read}
        groups = aggregate({frame: pa.array(frames)}, [(result, plain)], some, len(rows))
        numbers = joined(groups.columns[frame]).to_numpy()
        where = np.full(end - start, len(numbers))
        where[numbers] = np.arange(len(numbers))
        found = pa.concat_arrays([joined(groups.columns[result]), nothing])
        results.append(found.take(pa.array(where)))
    return _take(pa.chunked_array(results, type=call.type), frame_of_place)


def _blocks(bounds: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Split frames into blocks of not too many rows, at least one frame each."""
    through = np.cumsum((bounds[1::2] - bounds[::2]).sum(axis=0))
    start, count = 0, len(through)
    while start < count:
        before = int(through[start - 1]) if start else 0
        end = int(np.searchsorted(through, before + _BLOCK_ROWS, side="right"))
        end = max(end, start + 1)
        yield start, end
        start = end


def _expand(bounds: NDArray[np.int64]) -> tuple[Places, Places]:
    """Return each place of each frame beside the number of its frame."""
    frames, places = [], []
    for starts, ends in zip(bounds[::2], bounds[1::2], strict=True):
        lengths = ends - starts
        offsets = np.cumsum(lengths) - lengths
        frames.append(np.repeat(np.arange(len(starts)), lengths))
        places.append(np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths))
    return np.concatenate(frames), np.concatenate(places)
