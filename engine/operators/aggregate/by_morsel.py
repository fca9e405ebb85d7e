"""GROUP BY in threads: each morsel of rows is filtered, computed and aggregated from end to end.

    morsels -> states of the groups of each -> states of all groups -> results

So the rows of a filter are never written as a whole. It pays where the groups are fewer than the
rows, and most rows are kept; where that is not so, and where doubles are added up, all rows are
grouped at once.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from raydb.engine.operators.aggregate.aggregate import aggregate
from raydb.engine.operators.aggregate.fold import is_foldable, partial_calls
from raydb.engine.operators.aggregate.fold_blocks import fold_states
from raydb.engine.operators.relation import (
    MORSEL_ROWS,
    Relation,
    concatenate,
    morsel_rows,
    morsels,
)
from raydb.errors import DataError
from raydb.storage.in_order import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.steps import Steps
    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression

    _Calls = Sequence[tuple[Column, AggregateCall]]

# A morsel with more groups than one for so many rows leaves as much to do as there was, unless they
# are few in any case.
_ROWS_A_GROUP = 8
_FEW_GROUPS = 256

# Where at most one row in so many is kept, those of all morsels are aggregated at once as soon.
_FEW_KEPT = 4

# So many morsels' states, or fewer of many groups, become one.
_MORSELS_AT_ONCE = 64


def aggregate_by_morsel(
    rows: Relation,
    steps: Steps,
    keys: Sequence[Column],
    calls: _Calls,
    places: Mapping[Expression, Column],
    memory: Memory,
) -> Relation | None:
    """Return the groups of what comes of a chain of steps over rows.

    places: the columns of expressions. None where all rows are to be grouped at once: that may be
    known only after the first morsel, and where a part of a sum does not fit.
    """
    partial = partial_calls(calls) if is_foldable(calls) else None
    step = morsel_rows(rows, memory)
    if partial is None or not rows.columns or rows.row_count <= step or steps.one_by_one:
        return None  # Rows without columns are a mere number.

    def compute(bounds: tuple[int, int]) -> tuple[int, Relation | None]:
        start, stop = bounds
        some = steps.run(rows.slice(start, stop - start).combined())
        if not some.row_count:
            return 0, None
        key_values = {key: some.columns[key] for key in keys}
        values = {each: some.columns[column] for each, column in places.items()}
        return some.row_count, aggregate(key_values, partial, values, some.row_count)

    pieces = morsels(rows, step)
    try:
        count, first = compute(pieces[0])
        if count * _FEW_KEPT < pieces[0][1]:
            return None
        if first is not None and first.row_count > max(count // _ROWS_A_GROUP, _FEW_GROUPS):
            return None
        states = (state for _, state in in_order(compute, pieces[1:]) if state is not None)
        beginning = [] if first is None else [first]
        return fold_states(_together(chain(beginning, states)), keys, calls, places, memory)
    except DataError:
        return None


def _together(parts: Iterable[Relation]) -> Iterator[Relation]:
    """Yield states of several morsels at a time."""
    waiting: list[Relation] = []
    for part in parts:
        waiting.append(part)
        count = sum(each.row_count for each in waiting)
        if len(waiting) == _MORSELS_AT_ONCE or count >= MORSEL_ROWS:
            yield concatenate(waiting, part.columns)
            waiting = []
    if waiting:
        yield concatenate(waiting, waiting[0].columns)
