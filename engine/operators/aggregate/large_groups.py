"""Aggregates over groups that do not fit in memory, one after the other, through files.

sum, count, min ...   folded block by block
DISTINCT              the distinct rows first: groups of the keys and the arguments
quantiles, mode       rows in the order of keys and values, of which single ones are read
stddev, corr ...      three passes: means, what they leave, products of distances
list, string_agg      rows in the order of keys: a value is some of them side by side
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.fold import is_foldable, states_of
from raydb.engine.operators.aggregate.fold_blocks import aggregate_pieces, fold_blocks
from raydb.engine.operators.aggregate.grouped import places_beside, sees_nulls
from raydb.engine.operators.aggregate.large_statistics import large_entropy, large_statistic
from raydb.engine.operators.aggregate.ordered import between, joined_texts, quantile_places
from raydb.engine.operators.aggregate.statistics import STATISTICS
from raydb.engine.operators.partition import pieces_of
from raydb.engine.operators.relation import Collector, Relation, joined
from raydb.engine.operators.sort import sort
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.arrays import count_true
from raydb.planner.expressions.columns.order import canonical_floats
from raydb.planner.expressions.nodes import AggregateCall, Column
from raydb.planner.plan.nodes import SortKey
from raydb.storage.take_rows import take_rows
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Expression

    Calls = Sequence[tuple[Column, AggregateCall]]
    Places = Mapping[Expression, Column]

_QUANTILES = frozenset({"quantile_cont", "quantile_disc"})
_LISTS = frozenset({"list", "string_agg"})
_PLACES = frozenset({"first", "last"})
_COUNTED = frozenset({"mode", "entropy"})
# Of no rows at all they are 0.
_NEVER_NULL = frozenset({"count", "count_star", "regr_count", "entropy"})

# The columns of plans and of their expressions have other numbers.
_SIZE = Column(-(10**9), "size", pa.int64())

# A list is there as the rows that it is made of, and as itself; a text as a list, too.
_LIST_COPIES = 3


def fits_files(keys: Sequence[Column], calls: Calls) -> bool:
    """Tell whether groups can be larger than the memory for these aggregates."""
    return not any(pt.is_nested(key.type) for key in keys) and all(
        _is_possible(call) for _, call in calls
    )


def _is_possible(call: AggregateCall) -> bool:
    if call.distinct:
        arguments = (argument.type for argument in call.arguments)
        if call.order_by or any(map(pt.is_nested, arguments)):
            return False
    if call.function in _LISTS:
        return True
    if call.function in _PLACES:
        return not call.distinct
    if call.function in _QUANTILES | _COUNTED or call.function in STATISTICS:
        return not call.order_by
    return is_foldable([(_SIZE, replace(call, distinct=False))])


def aggregate_large(
    rows: Relation, keys: Sequence[Column], calls: Calls, places: Places, memory: Memory
) -> Relation:
    """Return the keys and aggregates of groups; places: the columns of expressions."""
    folded = [item for item in calls if is_foldable([item])]
    pieces = aggregate_pieces(rows, keys, states_of(folded), memory)
    groups = fold_blocks(pieces, keys, folded, places, memory)
    columns = dict(groups.columns)
    for column, call in calls:
        if column not in columns:
            found = _large(column, call, rows, keys, places, memory)
            values = values_beside(groups, found, keys, column)
            is_never_null = call.function in _NEVER_NULL
            columns[column] = pc.fill_null(values, 0) if is_never_null else values
    return Relation(columns, groups.row_count)


def _large(
    column: Column,
    call: AggregateCall,
    rows: Relation,
    keys: Sequence[Column],
    places: Places,
    memory: Memory,
) -> Relation:
    """Return the keys and one aggregate of the groups that have a row for it."""
    arguments = [places[argument] for argument in call.arguments]
    if call.function in _QUANTILES | _LISTS:
        arguments = arguments[:1]  # The others are constants.
    wanted = dict.fromkeys([*arguments, *(places[item.expression] for item in call.order_by)])
    taken = _taking_part(call, rows, [*keys, *wanted], (keys, arguments, places), memory)
    if call.distinct:
        some = fold_blocks(taken, [*keys, *arguments], [], {}, memory)
    else:
        collector = Collector(memory, [*keys, *wanted])
        for piece in taken:
            collector.add(piece)
        some = collector.relation()
    order = [
        SortKey(places[item.expression], item.descending, item.nulls_first)
        for item in call.order_by
    ]
    if call.function in STATISTICS:
        groups, sizes = _sizes(some, keys, memory)
        values = large_statistic(call, some, (groups, sizes), arguments, memory)
        return Relation({**groups.columns, column: cast_values(values, call.type)}, len(sizes))
    match call.function:
        case "quantile_cont" | "quantile_disc":
            return _quantiles(column, call, some, keys, arguments[0], memory)
        case "mode" | "entropy":
            return _of_counts(column, call, some, keys, arguments[0], memory)
        case "list" | "string_agg":
            return _lists(column, call, some, keys, (arguments[0], order), memory)
        case "first" | "last" if order:
            return _ends(column, call, some, keys, (arguments[0], order), memory)
        case _:
            plain = replace(call, distinct=False, filter=None)
            pieces = aggregate_pieces(some, keys, states_of([(column, plain)]), memory)
            own = {argument: places[argument] for argument in call.arguments}
            return fold_blocks(pieces, keys, [(column, plain)], own, memory)


def _taking_part(
    call: AggregateCall,
    rows: Relation,
    columns: Sequence[Column],
    of: tuple[Sequence[Column], Sequence[Column], Places],
    memory: Memory,
) -> Iterator[Relation]:
    """Yield those rows that an aggregate takes, some at a time; of: keys, arguments, places."""
    keys, arguments, places = of
    yield Relation({column: pa.nulls(0, column.type) for column in columns}, 0)
    for piece in pieces_of(rows, memory):
        masks = (
            [] if call.filter is None else [pc.fill_null(piece.columns[places[call.filter]], False)]
        )
        if not sees_nulls(call):
            masks += [pc.is_valid(piece.columns[column]) for column in arguments]
        some = piece.select(columns)
        for mask in masks and [_all(masks)]:
            some = some.filter(mask, count_true(mask))
        whole = {key: canonical_floats(some.columns[key]) for key in keys}
        yield Relation({**some.columns, **whole}, some.row_count)


def _all(masks: Sequence[pa.Array]) -> pa.Array:
    found = masks[0]
    for mask in masks[1:]:
        found = pc.and_(found, mask)
    return found


def values_beside(
    groups: Relation, found: Relation, keys: Sequence[Column], column: Column
) -> pa.Array:
    """Return a column of other rows by their keys, which are different; NULL without partner."""
    chosen = places_beside(groups, found, keys)
    return joined(found.columns[column]).take(pa.array(chosen, mask=chosen < 0))


# -- rows in order


def _sizes(
    rows: Relation, keys: Sequence[Column], memory: Memory
) -> tuple[Relation, NDArray[np.int64]]:
    """Return the keys of groups in their order, and how many rows each has."""
    counts = [(_SIZE, AggregateCall("count_star", (), _SIZE.type))]
    pieces = aggregate_pieces(rows, keys, states_of(counts), memory)
    groups = fold_blocks(pieces, keys, counts, {}, memory)
    groups = sort(groups, [SortKey(key) for key in keys], None, memory) if keys else groups
    sizes = joined(groups.columns[_SIZE]).to_numpy()
    return groups.select(keys), sizes


def _quantiles(
    column: Column,
    call: AggregateCall,
    rows: Relation,
    keys: Sequence[Column],
    value: Column,
    memory: Memory,
) -> Relation:
    order = [*map(SortKey, keys), SortKey(value, descending=len(call.arguments) > 2)]
    ordered = sort(rows, order, None, memory)
    groups, sizes = _sizes(rows, keys, memory)
    low, high, share = quantile_places(call, sizes)
    starts = np.cumsum(sizes) - sizes
    some = sizes > 0
    lows, highs = (_values_at(ordered, value, starts + place, some) for place in (low, high))
    found = cast_values(between(call, lows, highs, share, ~some), call.type)
    return Relation({**groups.columns, column: found}, groups.row_count)


def _of_counts(
    column: Column,
    call: AggregateCall,
    rows: Relation,
    keys: Sequence[Column],
    value: Column,
    memory: Memory,
) -> Relation:
    """Return what comes of how often each value occurs: the most frequent one, the entropy."""
    counts = [(_SIZE, AggregateCall("count_star", (), _SIZE.type))]
    pieces = aggregate_pieces(rows, [*keys, value], states_of(counts), memory)
    counted = fold_blocks(pieces, [*keys, value], counts, {}, memory)
    if call.function == "entropy":
        groups, sizes = _sizes(rows, keys, memory)
        found = large_entropy(counted, _SIZE, (groups, sizes), memory)
    else:
        order = [*map(SortKey, keys), SortKey(_SIZE, descending=True), SortKey(value)]
        ordered = sort(counted, order, None, memory)
        groups, sizes = _sizes(counted, keys, memory)
        found = _values_at(ordered, value, np.cumsum(sizes) - sizes, sizes > 0)
    return Relation({**groups.columns, column: cast_values(found, call.type)}, groups.row_count)


def _ends(
    column: Column,
    call: AggregateCall,
    rows: Relation,
    keys: Sequence[Column],
    of: tuple[Column, Sequence[SortKey]],
    memory: Memory,
) -> Relation:
    """Return the first or the last value of each group in the order of others."""
    value, order = of
    ordered = sort(rows, [*map(SortKey, keys), *order], None, memory)
    groups, sizes = _sizes(rows, keys, memory)
    ends = np.cumsum(sizes)
    places = ends - sizes if call.function == "first" else ends - 1
    found = _values_at(ordered, value, places, sizes > 0)
    return Relation({**groups.columns, column: cast_values(found, call.type)}, groups.row_count)


def _values_at(
    rows: Relation, column: Column, places: NDArray[np.int64], some: NDArray[np.bool_]
) -> pa.Array:
    """Return the values at ascending places, NULL where there is none."""
    values = rows.columns[column]
    chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    taken = joined(take_rows(chunked, places[some]))
    numbers = np.cumsum(some) - 1
    return taken.take(pa.array(numbers, mask=~some))


def _lists(
    column: Column,
    call: AggregateCall,
    rows: Relation,
    keys: Sequence[Column],
    of: tuple[Column, Sequence[SortKey]],
    memory: Memory,
) -> Relation:
    """Return a list or a text of each group. Raises OperationalError where they do not fit."""
    value, order = of
    by = [*map(SortKey, keys), *order]
    memory.check(_LIST_COPIES * rows.columns[value].nbytes, f"a {call.function}() of many values")
    ordered = sort(rows, by, None, memory) if by else rows
    groups, sizes = _sizes(rows, keys, memory)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    element = pa.string() if call.function == "string_agg" else call.type.value_type
    values = joined(cast_values(ordered.columns[value], element))
    lists = pa.ListArray.from_arrays(offsets, values, mask=pa.array(sizes == 0))
    found = joined_texts(call, lists) if call.function == "string_agg" else lists
    return Relation({**groups.columns, column: found}, groups.row_count)
