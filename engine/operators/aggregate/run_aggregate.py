"""GROUP BY: groups of all rows at once where they fit in memory, else block by block.

A state of each group goes before the next block's rows, as far as that gives the same result, and
while the groups are few. Else rows, or states, are parted by the hash of their keys, and each part
is aggregated on its own.

    count(x)   0 or 1 a row, added up           min(x)   x, the least of them
    sum(x)     x, added up                      avg(x)   x and 0 or 1, both added up
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.by_morsel import aggregate_by_morsel
from raydb.engine.operators.aggregate.fold import (
    fold,
    is_foldable,
    partial_calls,
    results_of,
    states_of,
)
from raydb.engine.operators.aggregate.fold_blocks import (
    aggregate_need,
    aggregate_pieces,
    fold_blocks,
)
from raydb.engine.operators.aggregate.large_groups import aggregate_large, fits_files
from raydb.engine.operators.partition import part_count, split_by_hash
from raydb.engine.operators.relation import MIN_ROWS, Collector, Relation, concatenate
from raydb.engine.operators.steps import rows_below, steps_of
from raydb.interrupts import beside
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Column,
    Literal,
    WindowCall,
    expressions_of,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.plan.nodes import Project
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Aggregate

# Aggregates that depend on the order of the rows, which groups do not have.
_OF_ROWS = frozenset({"first", "last", "any_value"})

# The sum of as many numbers of so many digits as a table may have rows has 38.
_SUMMED_DIGITS = 28

_FilteredCall = TypeVar("_FilteredCall", AggregateCall, WindowCall)


def run_aggregate(plan: Aggregate, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of the groups of a plan's rows, for one set of keys or for several."""
    live = frozenset(columns)
    calls = [(column, guarded(call)) for column, call in plan.aggregates if column in live]
    read = list(dict.fromkeys(e for _, call in calls for e in expressions_of(call)))
    places = _places(read)
    items = (*plan.keys, *((places[each], each) for each in read))
    wanted = [column for column, _ in items]
    source = Project(plan.source, items)
    if plan.grouping is None and sources.trace is None and is_foldable(calls):
        key_columns = [column for column, _ in plan.keys]
        steps = steps_of(source, frozenset(wanted), sources)
        found = rows_below(steps, wanted, sources)
        if isinstance(found, Relation):
            given = (key_columns, calls, places, sources.memory)
            of_morsels = aggregate_by_morsel(found, steps, *given)
            if of_morsels is not None:
                return of_morsels.select(columns)
            rows = steps.over_all(found, wanted, sources)
        elif _is_row_count(plan.keys, calls):
            rows = Relation({}, sum(some.row_count for some in found))
        else:
            groups = fold_blocks(found, key_columns, calls, places, sources.memory)
            return groups.select(columns)
    else:
        rows = sources.rows_of(source, wanted)
    keys = {column: rows.columns[column] for column, _ in plan.keys}
    of_expression = {each: rows.columns[places[each]] for each in read}
    if plan.grouping is None:
        groups = aggregate_rows(keys, calls, of_expression, rows.row_count, sources.memory)
        return groups.select(columns)
    parts = []
    for number, groups in _groups_of_sets(plan, keys, calls, of_expression, rows, sources.memory):
        count = groups.row_count
        missing = {key: pa.nulls(count, key.type) for key in keys if key not in groups.columns}
        numbers = pa.repeat(pa.scalar(number, plan.grouping.number.type), count)
        parts.append(Relation({**groups.columns, **missing, plan.grouping.number: numbers}, count))
    return concatenate(parts, columns)


def _groups_of_sets(
    plan: Aggregate,
    keys: Mapping[Column, pa.ChunkedArray | pa.Array],
    calls: Sequence[tuple[Column, AggregateCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    rows: Relation,
    memory: Memory,
) -> Iterator[tuple[int, Relation]]:
    """Yield the number and the groups of each set of keys, where it can be of larger sets' groups.

    A set with all keys has the groups that those of the others are made of.
    """
    assert plan.grouping is not None
    sets = [tuple(plan.keys[place][0] for place in each) for each in plan.grouping.sets]
    states = None
    if len(sets) > 1 and set(keys) in map(set, sets):
        states = _states_of_rows(keys, calls, values, rows.row_count, memory)
    if states is None:
        for number, chosen in enumerate(sets):
            some = {key: keys[key] for key in chosen}
            yield number, aggregate_rows(some, calls, values, rows.row_count, memory)
        return
    merged = states_of(calls)
    known = {frozenset(keys): states}
    for number, chosen in sorted(enumerate(sets), key=lambda each: -len(set(each[1]))):
        own = frozenset(chosen)
        if own not in known:
            larger = [groups for of, groups in known.items() if of > own]
            least = min(larger, key=lambda groups: groups.row_count)
            known[own] = fold(None, least, list(chosen), merged)
        yield number, results_of(known[own], list(chosen), calls)


def _states_of_rows(
    keys: Mapping[Column, pa.ChunkedArray | pa.Array],
    calls: Sequence[tuple[Column, AggregateCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
    memory: Memory,
) -> Relation | None:
    """Return the states of groups; None where they have none, or may not fit."""
    is_of_rows = any(call.function in _OF_ROWS or _may_exceed(call) for _, call in calls)
    states = partial_calls(calls) if is_foldable(calls) and not is_of_rows else None
    rows, _ = as_relation(keys, values, row_count)
    if states is None or aggregate_need(rows, keys, calls) > memory.room():
        return None
    return beside(lambda: aggregate(keys, states, values, row_count), row_count)


def _may_exceed(call: AggregateCall) -> bool:
    """Whether the sum that an average is made of may not fit its type, as the average does."""
    is_average = call.function == "avg" and pt.is_decimal(call.arguments[0].type)
    return is_average and call.arguments[0].type.precision > _SUMMED_DIGITS


def guarded(call: _FilteredCall) -> _FilteredCall:
    """Return a call whose arguments cannot fail for the rows that its FILTER leaves out."""
    if call.filter is None or not any(may_raise(argument) for argument in call.arguments):
        return call
    condition = call.filter
    arguments = tuple(
        Call("case", (condition, argument, Literal(None, argument.type)), argument.type)
        if may_raise(argument)
        else argument
        for argument in call.arguments
    )
    return replace(call, arguments=arguments)


def aggregate_rows(
    keys: Mapping[Column, pa.ChunkedArray | pa.Array],
    calls: Sequence[tuple[Column, AggregateCall]],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
    memory: Memory,
) -> Relation:
    """Group rows as `aggregate` does, within the memory that there is.

    Raises OperationalError for a group that needs more, and cannot be folded block by block.
    """
    if _is_row_count(keys, calls):
        # Not even numbers for the rows: a cross product may have more of them than bytes fit.
        counts = {column: pa.array([row_count], call.type) for column, call in calls}
        return Relation(counts, 1)
    if row_count <= MIN_ROWS:
        return aggregate(keys, calls, values, row_count)
    rows, places = as_relation(keys, values, row_count)
    need = aggregate_need(rows, keys, calls)
    if need <= memory.room():
        return beside(lambda: aggregate(keys, calls, values, row_count), row_count)
    if is_foldable(calls):
        pieces = aggregate_pieces(rows, list(keys), states_of(calls), memory)
        return fold_blocks(pieces, list(keys), calls, places, memory)
    parts = split_by_hash(rows, list(keys), part_count(need, memory), memory) if keys else [rows]
    collector = Collector(memory, [*keys, *(column for column, _ in calls)])
    for part in parts:
        need = aggregate_need(part, keys, calls)
        if need > memory.room() and fits_files(list(keys), calls):
            collector.add(aggregate_large(part, list(keys), calls, places, memory))
            continue
        memory.check(need, "an aggregate over a group of many rows")
        chosen = {key: part.columns[key] for key in keys}
        some = {expression: part.columns[place] for expression, place in places.items()}
        count = part.row_count
        collector.add(beside(partial(aggregate, chosen, calls, some, count), count))
    return collector.relation()


def _is_row_count(keys: Collection[object], calls: Sequence[tuple[Column, AggregateCall]]) -> bool:
    """Tell whether no value is read: how many rows there are is the answer."""
    return not keys and all(
        call.function == "count_star" and call.filter is None for _, call in calls
    )


def as_relation(
    columns: Mapping[Column, pa.ChunkedArray | pa.Array],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
) -> tuple[Relation, dict[Expression, Column]]:
    """Return rows with the values of expressions as columns, and which column each one is."""
    places = _places(values)
    computed = {places[expression]: values[expression] for expression in values}
    return Relation({**columns, **computed}, row_count), places


def _places(expressions: Collection[Expression]) -> dict[Expression, Column]:
    """Return a column for each expression; those of plans have numbers from 0 on."""
    return {each: Column(-1 - i, "value", each.type) for i, each in enumerate(expressions)}
