"""WITH: queries that run once for all who read them, and those that read what they add.

base  ->  rows 1  ->  step(rows 1)  ->  rows 2  ->  step(rows 2)  ->  ...  until there are none

With USING KEY a row takes the place of that of its key, and rows n are those that changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.engine.operators.keyed_rows import KeyedRows
from raydb.engine.operators.known_rows import KnownRows
from raydb.engine.operators.relation import MORSEL_ROWS, Collector, Relation
from raydb.planner.plan.nodes import CommonTable, WorkingTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import KeyedRecursive, PhysicalPlan, Recursive


def run_common_table(plan: CommonTable, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the rows of a common table expression, which runs where they are first read."""
    if plan.number not in sources.shared:
        sources.shared[plan.number] = sources.rows_of(plan.query, plan.query.columns)
    return _by_place(sources.shared[plan.number], plan, columns)


def run_working_table(plan: WorkingTable, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the rows that the last step of a recursion has added, or those of all steps."""
    working = sources.recurring if plan.whole else sources.working
    return _by_place(working[plan.number], plan, columns)


def _by_place(
    rows: Relation, plan: CommonTable | WorkingTable, columns: Sequence[Column]
) -> Relation:
    by_place = dict(zip(plan.columns, rows.columns.values(), strict=True))
    return Relation({column: by_place[column] for column in columns}, rows.row_count)


def run_recursive(plan: Recursive, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the rows of all steps of a recursion."""
    collector = Collector(sources.memory, columns)
    for rows in generations(plan, sources):
        collector.add(rows)
    return collector.relation()


def run_keyed_recursive(
    plan: KeyedRecursive, columns: Sequence[Column], sources: Sources
) -> Relation:
    """Return the last row of each key of a recursion."""
    found = KeyedRows(plan, sources)
    for _ in _generations(plan, found, sources):
        pass
    return found.rows().select(columns)


def generations(plan: Recursive, sources: Sources) -> Iterator[Relation]:
    """Yield the rows of the base, and then those that each step adds."""
    return _generations(plan, _AllRows(plan, sources), sources)


def _generations(
    plan: Recursive, found: _AllRows | KeyedRows, sources: Sources
) -> Iterator[Relation]:
    """Yield the rows that `found` says are added by the base and by each step.

    While rows are out, they are those of the plan's number in `sources.working`, where the step
    finds them. Queries in `sources.shared` that were computed from them are forgotten before the
    next step.
    """
    outdated = _queries_over(plan.step, plan.number)
    is_recurring = _reads(plan.step, plan.number, whole=True)
    rows = sources.rows_of(plan.base, plan.base.columns)
    while True:
        rows = found.add(_as_columns(rows, found.columns))
        if rows.row_count == 0:
            return
        sources.working[plan.number] = rows
        yield rows
        for number in outdated:
            sources.shared.pop(number, None)
        sources.working[plan.number] = rows
        if is_recurring:
            sources.recurring[plan.number] = found.rows()
        rows = sources.rows_of(plan.step, plan.step.columns)


class _AllRows:
    """The rows of all steps: of UNION each once."""

    def __init__(self, plan: Recursive, sources: Sources) -> None:
        self.columns = plan.columns
        self._known = KnownRows(plan.columns, sources.memory) if plan.distinct else None
        is_recurring = _reads(plan.step, plan.number, whole=True)
        self._all = Collector(sources.memory, plan.columns) if is_recurring else None

    def add(self, rows: Relation) -> Relation:
        """Return which of the rows are added."""
        if self._known is not None:
            rows = self._known.add(rows)
        if self._all is not None:
            self._all.add(rows)
        return rows

    def rows(self) -> Relation:
        """Return all rows that were added, which are kept where the step reads them."""
        assert self._all is not None
        return self._all.relation()


def _as_columns(rows: Relation, columns: tuple[Column, ...]) -> Relation:
    """Return the rows under other columns, by position."""
    some = rows.combined() if rows.row_count <= MORSEL_ROWS else rows
    return Relation(dict(zip(columns, some.columns.values(), strict=True)), rows.row_count)


def _queries_over(plan: PhysicalPlan, number: int) -> list[int]:
    """Return the numbers of the shared queries in a plan that read its working rows."""
    found = [] if not isinstance(plan, CommonTable) or not _reads(plan, number) else [plan.number]
    for source in plan.children:
        found += _queries_over(source, number)
    return found


def _reads(plan: PhysicalPlan, number: int, *, whole: bool = False) -> bool:
    """Tell whether a plan reads rows of a recursion, or those of all its steps."""
    if isinstance(plan, WorkingTable):
        return plan.number == number and plan.whole >= whole
    return any(_reads(source, number, whole=whole) for source in plan.children)
