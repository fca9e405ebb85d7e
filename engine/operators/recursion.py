"""WITH RECURSIVE: a query runs again and again over the rows that it has added last.

base  ->  rows 1  ->  step(rows 1)  ->  rows 2  ->  step(rows 2)  ->  ...  until there are none
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.relation import Relation, joined
from raydb.planner.expressions.columns.order import canonical_floats, order_codes, order_intervals
from raydb.planner.plan.nodes import CommonTable, PhysicalPlan, Recursive, WorkingTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.engine.context.memory import Memory
    from raydb.planner.expressions.nodes import Column

# What a row that is known takes in a set of Python's, and each value of it.
_SEEN_BYTES = 100
_SEEN_VALUE_BYTES = 40


def generations(
    plan: Recursive,
    run: Callable[[PhysicalPlan], Relation],
    working: dict[int, Relation],
    shared: dict[int, Relation],
    memory: Memory,
) -> Iterator[Relation]:
    """Yield the rows of the base, and then those that each step adds.

    `run` gives all columns of a plan. While rows are out, they are those of the plan's number in
    `working`, where the step finds them. What it has put into `shared` is forgotten before the
    next step, if it was computed from them.
    """
    seen: set[tuple[Any, ...]] = set()
    outdated = _queries_over(plan.step, plan.number)
    rows = _as_columns(run(plan.base), plan.columns)
    while True:
        if plan.distinct:
            rows = _unseen(rows, seen)
            need = len(seen) * (_SEEN_BYTES + _SEEN_VALUE_BYTES * len(plan.columns))
            memory.check(need, "WITH RECURSIVE ... UNION, to know rows again,")
        if rows.row_count == 0:
            return
        working[plan.number] = rows
        yield rows
        for number in outdated:
            shared.pop(number, None)
        working[plan.number] = rows
        rows = _as_columns(run(plan.step), plan.columns)


def _as_columns(rows: Relation, columns: tuple[Column, ...]) -> Relation:
    """Return the rows under other columns, by position."""
    values = (joined(each) for each in rows.columns.values())
    return Relation(dict(zip(columns, values, strict=True)), rows.row_count)


def _unseen(rows: Relation, seen: set[tuple[Any, ...]]) -> Relation:
    """Return the rows that are not in `seen`, each once, and add them to it.

    A set of Python's grows with the rows; every hash join of Acero's would begin with all of them.
    """
    columns = [_comparable(values) for values in rows.columns.values()]
    tuples = zip(*columns, strict=True) if columns else iter([()] * rows.row_count)
    mask = []
    for row in tuples:
        mask.append(row not in seen)
        seen.add(row)
    return rows.filter(pa.array(mask, pa.bool_()), sum(mask))


def _comparable(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return values as Python's, which are equal where SQL's are."""
    codes = order_intervals(order_codes(canonical_floats(values))).to_pylist()
    return [repr(code) for code in codes] if pt.is_nested(values.type) else codes


def _queries_over(plan: PhysicalPlan, number: int) -> list[int]:
    """Return the numbers of the shared queries in a plan that read its working rows."""
    found = [] if not isinstance(plan, CommonTable) or not _reads(plan, number) else [plan.number]
    for source in plan.children:
        found += _queries_over(source, number)
    return found


def _reads(plan: PhysicalPlan, number: int) -> bool:
    if isinstance(plan, WorkingTable):
        return plan.number == number
    return any(_reads(source, number) for source in plan.children)
