"""Aggregates that need the values of a group in order, or all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.exact_sums import as_doubles
from raydb.engine.operators.codes import Codes, encode, group_rows, join_words, key_word, sort_rows
from raydb.engine.operators.relation import joined
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.nodes import Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.operators.aggregate.grouped import Grouped
    from raydb.engine.operators.codes import Membership, Word
    from raydb.planner.expressions.nodes import AggregateCall, Expression


# Groups of so many rows and more are taken apart at their quantiles, and not sorted.
_PARTED_SIZE = 1000


def quantile(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the value at a fraction of each group in order.

    quantile_disc(x, f): the first value that at least the fraction f of the values do not exceed.
    quantile_cont(x, f): between the two values beside row f * (n - 1), counted from 0, in
    proportion. A third argument, true, turns the order round.
    """
    descending = len(call.arguments) > 2
    values = joined(rows.arguments[0])
    word = key_word(encode(values), descending, nulls_first=False)
    sizes = rows.members.sizes
    nothing = sizes == 0
    low, high, share = quantile_places(call, sizes)
    if not len(values):
        return pa.nulls(rows.members.count, call.type)
    if len(values) < _PARTED_SIZE * rows.members.count:
        order = sort_rows(join_words([rows.members.word(), word], len(values)))
        starts = rows.members.starts()[:-1]
        lows = order[np.where(nothing, 0, starts + low)]
        highs = lows if low is high else order[np.where(nothing, 0, starts + high)]
    else:
        lows, highs = _rows_at(rows.members, word, low, high)
    return between(call, values.take(pa.array(lows)), values.take(pa.array(highs)), share, nothing)


def _rows_at(
    members: Membership, word: Word, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows at two places of each group in order, which is made no further than it takes."""
    lows, highs = np.zeros(members.count, np.int64), np.zeros(members.count, np.int64)
    starts, numbers = members.starts(), word.numbers
    by_group = None if members.count == 1 else sort_rows(members.word())
    for group in range(members.count):
        check_interrupt()
        start, stop = int(starts[group]), int(starts[group + 1])
        if start == stop:
            continue
        own = numbers if by_group is None else numbers[by_group[start:stop]]
        places = [int(low[group]), int(high[group])]
        found = np.partition(own, places)[places]
        rows = [int(np.argmax(own == each)) for each in found]
        lows[group], highs[group] = rows if by_group is None else by_group[start:stop][rows]
    return lows, highs


def quantile_places(
    call: AggregateCall, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return between which two places of each group in order a quantile lies, and how far."""
    fraction = float(_constant(call.arguments[1]))
    if call.function == "quantile_disc":
        place = np.maximum(np.ceil(fraction * sizes).astype(np.int64), 1) - 1
        return place, place, np.zeros(len(sizes))
    position = fraction * np.maximum(sizes - 1, 0)
    below = np.floor(position).astype(np.int64)
    return below, np.ceil(position).astype(np.int64), position - below


def between(
    call: AggregateCall,
    lows: pa.Array,
    highs: pa.Array,
    share: NDArray[np.float64],
    nothing: NDArray[np.bool_],
) -> pa.Array:
    """Return values that lie by a share between others, NULL where a group has nothing."""
    if call.function == "quantile_disc":
        return canonical_floats(pc.if_else(pa.array(nothing), pa.scalar(None, lows.type), lows))
    if pt.is_timestamp(lows.type) or pt.is_time64(lows.type):
        low, high = (each.view(pa.int64()).fill_null(0).to_numpy() for each in (lows, highs))
        rises = high >= low
        # Moments may be up to 2**64 - 1 apart.
        distance = np.where(rises, high - low, low - high).view(np.uint64)
        steps = np.rint(distance * share).astype(np.uint64).view(np.int64)
        return pa.array(np.where(rises, low + steps, low - steps), mask=nothing).view(lows.type)
    low_numbers, high_numbers = as_doubles(lows), as_doubles(highs)
    with np.errstate(invalid="ignore", over="ignore"):
        found = low_numbers + (high_numbers - low_numbers) * share
    return pa.array(np.where(share == 0, low_numbers, found), mask=nothing)


def _constant(argument: Expression) -> Any:
    assert isinstance(argument, Literal), "the binder takes constants only"
    return argument.value


def mode(_: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the most frequent value of each group, the least of several."""
    values = joined(rows.arguments[0])
    pairs = group_rows([pa.array(rows.members.numbers), values], len(rows.members.numbers))
    counts = pairs.members.sizes
    distinct = rows.take(pairs.rows)
    words = [
        distinct.members.word(),
        key_word(Codes(counts, None, pa.int64()), descending=True, nulls_first=False),
        key_word(encode(distinct.arguments[0]), descending=False, nulls_first=False),
    ]
    order = sort_rows(join_words(words, pairs.members.count))
    sizes = distinct.members.sizes
    places = np.where(sizes > 0, distinct.members.starts()[:-1], 0)
    found = order[places] if len(order) else places
    return joined(distinct.arguments[0]).take(pa.array(found, mask=sizes == 0))


def string_agg(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the strings of each group with a separator between them."""
    return joined_texts(call, _lists(rows, pa.string()))


def joined_texts(call: AggregateCall, lists: pa.ListArray) -> pa.Array:
    """Return lists of texts as texts, with the separator that a string_agg has."""
    return pc.binary_join(lists, str(_constant(call.arguments[1])))


def list_values(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the values of each group, NULLs too; NULL for no row at all."""
    return _lists(rows, call.type.value_type)


def _lists(rows: Grouped, element: pa.DataType) -> pa.Array:
    """Return the first argument's values as one list a group, NULL for an empty one."""
    order = sort_rows(join_words([rows.members.word()], len(rows.members.numbers)))
    values = joined(cast_values(rows.arguments[0], element)).take(pa.array(order))
    offsets = pa.array(rows.members.starts().astype(np.int32))
    empty = pa.array(rows.members.sizes == 0)
    return pa.ListArray.from_arrays(offsets, joined(values), mask=empty)
