"""GROUP BY in threads: each morsel of rows is filtered, computed and aggregated from end to end.

    morsels -> states of the groups of each -> states of all groups -> results

So the rows of a filter are never written as a whole. It pays where the groups are fewer than the
rows, and most rows are kept; where that is not so, and where doubles are added up, all rows are
grouped at once.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from raydb.engine.operators.aggregate.fold import is_foldable, partial_calls
from raydb.engine.operators.aggregate.fold_blocks import (
    are_few_groups,
    fold_states,
    states_of_rows,
    together,
)
from raydb.engine.operators.relation import (
    Relation,
    morsel_rows,
    morsels,
)
from raydb.errors import DataError
from raydb.storage.in_order import in_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.steps import Steps
    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression

    _Calls = Sequence[tuple[Column, AggregateCall]]

# Where at most one row in so many is kept, those of all morsels are aggregated at once as soon.
_FEW_KEPT = 4


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
    step = morsel_rows(rows, memory)
    if not rows.columns or rows.row_count <= step or steps.one_by_one:
        return None  # Rows without columns are a mere number.
    if not is_foldable(calls) or partial_calls(calls) is None:
        return None

    def compute(bounds: tuple[int, int]) -> tuple[int, Relation | None]:
        start, stop = bounds
        some = steps.run(rows.slice(start, stop - start).combined())
        if not some.row_count:
            return 0, None
        return some.row_count, states_of_rows(some, keys, calls, places)

    pieces = morsels(rows, step)
    try:
        count, first = compute(pieces[0])
        if count * _FEW_KEPT < pieces[0][1]:
            return None
        if first is not None and not are_few_groups(first.row_count, count):
            return None
        states = (state for _, state in in_order(compute, pieces[1:]) if state is not None)
        beginning = [] if first is None else [first]
        return fold_states(together(chain(beginning, states)), keys, calls, places, memory)
    except DataError:
        return None
