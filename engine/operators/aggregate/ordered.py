"""Aggregates that need the values of a group in order, or all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.engine.operators.aggregate.exact_sums import as_doubles
from raydb.engine.operators.codes import Codes, encode, group_rows, join_words, key_word, sort_rows
from raydb.engine.operators.relation import joined
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.nodes import Literal

if TYPE_CHECKING:
    from raydb.engine.operators.aggregate.grouped import Grouped
    from raydb.planner.expressions.nodes import AggregateCall, Expression


def quantile(call: AggregateCall, rows: Grouped) -> pa.Array:
    """Return the value at a fraction of each group in order.

    quantile_disc(x, f): the first value that at least the fraction f of the values do not exceed.
    quantile_cont(x, f): between the two values beside row f * (n - 1), counted from 0, in
    proportion. A third argument, true, turns the order round.
    """
    fraction = float(_constant(call.arguments[1]))
    descending = len(call.arguments) > 2
    values = joined(rows.arguments[0])
    word = key_word(encode(values), descending, nulls_first=False)
    order = sort_rows(join_words([rows.members.word(), word], len(rows.members.numbers)))
    starts, sizes = rows.members.starts()[:-1], rows.members.sizes
    nothing = sizes == 0
    if call.function == "quantile_disc":
        places = starts + np.maximum(np.ceil(fraction * sizes).astype(np.int64), 1) - 1
        found = order[np.where(nothing, 0, places)] if len(order) else places
        return canonical_floats(values.take(pa.array(found, mask=nothing)))
    if not len(order):
        return pa.nulls(rows.members.count, call.type)
    position = fraction * np.maximum(sizes - 1, 0)
    below = np.floor(position).astype(np.int64)
    share = position - below
    low = order[np.where(nothing, 0, starts + below)]
    high = order[np.where(nothing, 0, starts + np.ceil(position).astype(np.int64))]
    if pt.is_timestamp(values.type):
        moments = values.view(pa.int64()).to_numpy()
        steps = np.rint((moments[high] - moments[low]) * share).astype(np.int64)
        return pa.array(moments[low] + steps, mask=nothing).view(values.type)
    numbers = as_doubles(values)
    with np.errstate(invalid="ignore"):
        between = numbers[low] + (numbers[high] - numbers[low]) * share
    return pa.array(np.where(share == 0, numbers[low], between), mask=nothing)


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
    separator = str(_constant(call.arguments[1]))
    return pc.binary_join(_lists(rows, pa.string()), separator)


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
