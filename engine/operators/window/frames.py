"""Aggregates of the frames of window functions.

A sum over a frame is the difference of two exact running sums. Doubles, extremes and moments are
folded without taking any value out again. Values by their order, and those that differ, come and
go as the frame moves. What is left runs over the rows of each distinct frame.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.exact_sums import (
    as_doubles,
    average,
    is_exact,
    join_limbs,
    split_limbs,
)
from raydb.engine.operators.aggregate.ordered import between, quantile_places
from raydb.engine.operators.aggregate.statistics import STATISTICS, Sums
from raydb.engine.operators.codes import encode, group_numbers
from raydb.engine.operators.relation import joined
from raydb.engine.operators.window.task import narrow, take
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.aggregates import SEES_NULLS
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.nodes import AggregateCall, Column, expressions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from raydb.engine.operators.window.frame import Pieces, Places
    from raydb.engine.operators.window.task import Task
    from raydb.planner.expressions.nodes import WindowCall

    Fold = Callable[[Task, Pieces], pa.ChunkedArray | pa.Array]

# Frames are taken apart into rows in blocks of so many, 32 MiB a column.
_BLOCK_ROWS = 2**22


# So few rows of all frames together are folded before a loop that keeps states is loaded.
_FEW_ROWS = 2**16

# What the moments of a frame take, or the ranks of its values, of one function at a time.
FRAME_BYTES = 96


def has_states(call: WindowCall) -> bool:
    """Whether more is kept of each frame than a place or a number."""
    return call.distinct or call.function in _OF_ONE_PIECE


def aggregate_frames(task: Task, pieces: Pieces) -> pa.ChunkedArray | pa.Array:
    """Return an aggregate of each place's frame."""
    fold = _fold_of(task, len(pieces))
    is_short = has_states(task.call) and _row_count(pieces) <= _FEW_ROWS
    return (_one_by_one if fold is None or is_short else fold)(task, pieces)


def _row_count(pieces: Pieces) -> int:
    """Return how many rows all frames have together."""
    return sum(int((ends - starts).sum()) for starts, ends in pieces)


def _fold_of(task: Task, piece_count: int) -> Fold | None:
    """Return what computes an aggregate in few steps a row; None where nothing does."""
    call = task.call
    if call.distinct:
        is_summed = call.function in ("sum", "avg") and is_exact(call.arguments[0].type)
        is_counted = call.function == "count" and len(call.arguments) == 1
        return _distinct_sum if piece_count == 1 and (is_summed or is_counted) else None
    if call.function in _OF_ONE_PIECE:
        return _OF_ONE_PIECE[call.function] if piece_count == 1 else None
    kind = call.arguments[0].type if call.arguments else call.type
    is_bitwise = call.function.startswith("bit_")
    if pt.is_interval(kind) or (is_bitwise and not pt.is_integer(kind)):
        return None
    return _FOLDS.get(call.function)


def _sum(task: Task, pieces: Pieces) -> pa.Array:
    """Return the count, the sum or the average of each frame."""
    call = task.call
    pieces, read, counts = narrow(task, pieces)
    if call.function in ("count_star", "count"):
        return pa.array(counts)
    (values,) = read
    if not is_exact(values.type):
        doubles = joined(cast_values(values, pa.float64())).to_numpy()
        sums = _fold(doubles, pieces, "sum")
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


def _extreme(least: bool, task: Task, pieces: Pieces) -> pa.Array:
    """Return for min and max the value of the least or greatest code of each frame."""
    pieces, (values,), counts = narrow(task, pieces)
    codes = encode(values)
    found = _fold(codes.codes, pieces, "min" if least else "max")
    return codes.decode(np.where(counts > 0, found, 0), counts > 0)


# What a fold of no value is, as none is read.
_NOTHING = {"sum": 0, "product": 1, "min": 2**63 - 1, "max": -(2**63)}


def _fold(values: NDArray[Any], pieces: Pieces, function: str) -> NDArray[Any]:
    """Fold the values of each frame."""
    from raydb.kernels.window import fold_loops as kernels  # noqa: PLC0415  (numba takes 0.24 s)

    code, combine = {
        "sum": (kernels.ADD, np.add),
        "product": (kernels.MULTIPLY, np.multiply),
        "min": (kernels.LEAST, np.minimum),
        "max": (kernels.GREATEST, np.maximum),
    }[function]
    nothing = values.dtype.type(_NOTHING[function])
    tree = np.empty(2 * len(values), values.dtype)
    kernels.build_tree(values, code, tree)
    total: NDArray[Any] | None = None
    for starts, ends in pieces:
        check_interrupt()
        folded = np.empty(len(starts), values.dtype)
        kernels.fold_frames(values, tree, starts, ends, code, nothing, folded)
        with np.errstate(over="ignore", invalid="ignore"):  # as the loops have it
            total = folded if total is None else combine(total, folded)
    assert total is not None, "a frame has a piece"
    return total


def _product(task: Task, pieces: Pieces) -> pa.Array:
    pieces, (values,), counts = narrow(task, pieces)
    return pa.array(_fold(as_doubles(values), pieces, "product"), mask=counts == 0)


def _bits(task: Task, pieces: Pieces) -> pa.Array:
    """Return for bit_and, bit_or and bit_xor the bits of all, of some, of an odd number of values.

    Of each bit the values that have it are counted, as any other number is added up.
    """
    pieces, (values,), counts = narrow(task, pieces)
    numbers = joined(values).to_numpy()
    unsigned = numbers.view(f"u{numbers.dtype.itemsize}")
    found = np.zeros(len(counts), unsigned.dtype)
    for bit in range(8 * unsigned.dtype.itemsize):
        shift = unsigned.dtype.type(bit)
        ones = _difference(((unsigned >> shift) & 1).astype(np.int64), pieces)
        match task.call.function:
            case "bit_and":
                is_set = ones == counts
            case "bit_or":
                is_set = ones > 0
            case _:
                is_set = ones & 1 == 1
        found |= is_set.astype(unsigned.dtype) << shift
    return pa.array(found.view(numbers.dtype), mask=counts == 0)


# -- the value of one row


def _value_at_end(task: Task, pieces: Pieces) -> pa.ChunkedArray | pa.Array:
    """Return for first, last and any_value the value of the first or the last row that counts."""
    function = task.call.function
    pieces, (values,), counts = narrow(task, pieces, keeps_nulls=function in SEES_NULLS)
    places = np.zeros(len(counts), np.int64)
    # What is found last stays.
    for starts, ends in pieces if function == "last" else reversed(pieces):
        places = np.where(starts < ends, ends - 1 if function == "last" else starts, places)
    return take(values, places, counts == 0)


def _value_of_extreme(task: Task, pieces: Pieces) -> pa.ChunkedArray | pa.Array:
    """Return for arg_min and arg_max the value where another one is the least or the greatest.

    Of rows that are equal in it the first is taken: they are ranked by their places, too.
    """
    pieces, (values, compared), counts = narrow(task, pieces, 2)
    codes = encode(compared).codes
    is_least = task.call.function == "arg_min"
    order = np.argsort(codes if is_least else codes[::-1], kind="stable")
    order = order if is_least else len(codes) - 1 - order
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes))
    found = _fold(ranks, pieces, "min" if is_least else "max")
    places = order[np.where(counts > 0, found, 0)] if len(order) else np.zeros_like(counts)
    return take(values, places, counts == 0)


# -- aggregates of several values


def _statistic(task: Task, pieces: Pieces) -> pa.Array:
    """Return a variance, a correlation or another statistic of each frame by its moments."""
    from raydb.kernels.window import moment_loops as kernels  # noqa: PLC0415  (numba takes 0.24 s)

    statistic = STATISTICS[task.call.function]
    ((starts, ends),), read, counts = narrow(task, pieces, 2)
    ys, xs = as_doubles(read[0]), as_doubles(read[-1])
    starts_anew = np.append(True, (starts[1:] != starts[:-1]) | (ends[1:] < ends[:-1]))
    needs_tree = bool((starts_anew & (ends - starts > 2 * kernels.BLOCK)).any())
    tree = np.zeros((2 * -(-len(ys) // kernels.BLOCK) if needs_tree else 0, kernels.STATE))
    states, scratch = np.empty((len(starts), kernels.STATE)), np.zeros((2, kernels.STATE))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        kernels.build_moments(ys, xs, tree, scratch[1])
        kernels.fold_moments(ys, xs, tree, starts, ends, states, scratch)
        whole = ((kernels.Y_MEAN, kernels.Y_REST), (kernels.X_MEAN, kernels.X_REST))
        means = [states[:, mean] + states[:, rest] for mean, rest in whole]
        sums = [states[:, kernels.PLACES[powers]] for powers in statistic.powers]
        return statistic.finish(Sums(counts, means, sums))


def _quantile(task: Task, pieces: Pieces) -> pa.Array:
    """Return the value at a fraction of each frame in order; see `ordered.quantile`."""
    from raydb.kernels.window.rank_loops import find_ranks  # noqa: PLC0415  (numba takes 0.24 s)

    call = task.call
    ((starts, ends),), (values,), counts = narrow(task, pieces)
    codes = encode(values)
    distinct, ranks = np.unique(codes.codes, return_inverse=True)
    if len(call.arguments) > 2:  # a third argument turns the order round
        distinct, ranks = distinct[::-1], len(distinct) - 1 - ranks
    plain = _plain(call)
    low, high, share = quantile_places(plain, counts)
    found = np.zeros((2, len(counts)), np.int64)
    tree = np.zeros(len(distinct) + 1, np.int64)
    find_ranks(ranks, starts, ends, np.stack([low, high]), tree, found)
    some = counts > 0
    if not len(distinct):
        return pa.nulls(len(counts), call.type)
    lows, highs = (codes.decode(distinct[each], some) for each in found)
    return between(plain, lows, highs, share, ~some)


def _mode(task: Task, pieces: Pieces) -> pa.Array:
    """Return the most frequent value of each frame, the least of several."""
    from raydb.kernels.window.rank_loops import find_modes  # noqa: PLC0415  (numba takes 0.24 s)

    ((starts, ends),), (values,), counts = narrow(task, pieces)
    codes = encode(values)
    distinct, ranks = np.unique(codes.codes, return_inverse=True)
    found = np.zeros(len(counts), np.int64)
    size = 1 << max(len(distinct) - 1, 0).bit_length()
    times, best = np.zeros(size, np.int64), np.zeros(2 * size, np.int64)
    find_modes(ranks, starts, ends, times, best, found)
    if not len(distinct):
        return pa.nulls(len(counts), task.call.type)
    return codes.decode(distinct[found], counts > 0)


def _distinct_sum(task: Task, pieces: Pieces) -> pa.Array:
    """Return the count, the exact sum or the average of the different values of each frame."""
    from raydb.kernels.window.rank_loops import add_ranks  # noqa: PLC0415  (numba takes 0.24 s)

    function = task.call.function
    ((starts, ends),), (values,), counts = narrow(task, pieces)
    ranks = group_numbers(values)
    rank_count = int(ranks.max(initial=-1)) + 1

    def sums(weights: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.empty(len(counts), np.int64)
        add_ranks(ranks, weights, starts, ends, np.zeros(rank_count, np.int64), found)
        return found

    if function != "sum":
        times = sums(np.ones(rank_count, np.int64))
        if function == "count":
            return pa.array(times)
    rows = np.zeros(rank_count, np.int64)
    rows[ranks] = np.arange(len(ranks))
    limbs = [sums(limb) for limb in split_limbs(joined(take(values, rows)))]
    if function == "avg":
        return average(limbs, times, values.type)
    return join_limbs(limbs, counts > 0, task.call.type)


# -- any aggregate


def _plain(call: WindowCall) -> AggregateCall:
    """Return the aggregate without its window."""
    return AggregateCall(call.function, call.arguments, call.type, call.distinct, call.filter)


def _one_by_one(task: Task, pieces: Pieces) -> pa.ChunkedArray | pa.Array:
    """Run an aggregate over the rows of each distinct frame."""
    call = task.call
    plain = _plain(call)
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
        some = {expression: take(task.values[expression], rows) for expression in read}
        groups = aggregate({frame: pa.array(frames)}, [(result, plain)], some, len(rows))
        numbers = joined(groups.columns[frame]).to_numpy()
        where = np.full(end - start, len(numbers))
        where[numbers] = np.arange(len(numbers))
        found = pa.concat_arrays([joined(groups.columns[result]), nothing])
        results.append(found.take(pa.array(where)))
    return take(pa.chunked_array(results, type=call.type), frame_of_place)


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


_FOLDS: Mapping[str, Fold] = {
    **dict.fromkeys(("count_star", "count", "sum", "avg"), _sum),
    **dict.fromkeys(("min", "bool_and"), functools.partial(_extreme, True)),
    **dict.fromkeys(("max", "bool_or"), functools.partial(_extreme, False)),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _bits),
    **dict.fromkeys(("any_value", "first", "last"), _value_at_end),
    **dict.fromkeys(("arg_min", "arg_max"), _value_of_extreme),
    "product": _product,
}
_OF_ONE_PIECE: Mapping[str, Fold] = {
    **dict.fromkeys(STATISTICS, _statistic),
    **dict.fromkeys(("quantile_cont", "quantile_disc"), _quantile),
    "mode": _mode,
}
