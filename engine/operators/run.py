"""The general path: physical plans run vectorised over Arrow.

    table = run_plan(plan, Sources(tables, run_fused, context, memory))

Filters and computed columns run together over morsels of rows in threads; joins and aggregates run
on numbers in NumPy, sorts in pyarrow.compute. A node gives only the columns that something above
it reads.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.engine.context.memory import Memory
from raydb.engine.operators.join.join import run_join
from raydb.engine.operators.recursion import generations
from raydb.engine.operators.relation import (
    MORSEL_ROWS,
    Collector,
    Relation,
    column_name,
    concatenate,
    for_each_morsel,
)
from raydb.engine.operators.scan import (
    lookup_rows,
    scan_matches,
    scan_slice,
    scan_table,
    without_excluded,
)
from raydb.engine.operators.sort import sort
from raydb.engine.operators.spill import aggregate_rows, window_rows
from raydb.engine.operators.unnest import unnest_lists
from raydb.errors import InternalError, OperationalError
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Column,
    Expression,
    Literal,
    WindowCall,
    columns_of,
    expressions_of,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.plan.nodes import (
    Aggregate,
    Apply,
    CommonTable,
    Filter,
    HashJoin,
    InnerJoin,
    Limit,
    OuterJoin,
    PhysicalPlan,
    Project,
    Recursive,
    Scan,
    Search,
    SearchRows,
    SemiJoin,
    Series,
    Sort,
    Union,
    Unnest,
    Values,
    Window,
    WorkingTable,
)
from raydb.planner.stars.delta import DeltaScan
from raydb.planner.stars.fuse import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.operators.trace import Trace
    from raydb.storage.tables.table import Table

_FilteredCall = TypeVar("_FilteredCall", AggregateCall, WindowCall)


@dataclass(frozen=True, eq=False, slots=True)
class Sources:
    """Where rows come from: stored tables, and the jobs of the fused path.

    `run_fused` runs a fused job and names its columns as `run_plan` does.
    `context` is the statement's, and `memory` the plan's; `trace` notes what each node does.
    `shared` keeps the rows of SharedRows, all their columns, and `working` those of WorkingRows.
    """

    tables: Mapping[str, Table]
    run_fused: Callable[[FusedScanAggregate | FusedTableScan | DeltaScan], pa.Table]
    context: StatementContext
    memory: Memory = field(default_factory=Memory)
    trace: Trace | None = None
    shared: dict[int, Relation] = field(default_factory=dict)
    working: dict[int, Relation] = field(default_factory=dict)


def run_plan(plan: PhysicalPlan, sources: Sources) -> pa.Table:
    """Run a physical plan and return its rows.

    The table's columns are those of the plan, in its order and of exactly its types; the column
    numbered n is called `c<n>`. Rows beyond what `sources.memory` allows lie in temporary files,
    those of the table too.
    Raises DataError for a value that cannot be computed and OperationalError when memory runs out.
    """
    with naming_failures():
        return run_node(plan, frozenset(plan.columns), sources).table()


@contextmanager
def naming_failures() -> Iterator[None]:
    """Turn what Arrow and Python raise while a plan runs into errors of PEP 249."""
    try:
        yield
    except MemoryError as error:
        raise OperationalError("there is not enough memory to run the statement") from error
    except pa.ArrowCapacityError as error:
        raise OperationalError("a value is longer than the 2 GB that a column can hold") from error
    except pa.ArrowException as error:
        raise InternalError(f"Arrow failed to run the plan: {error}") from error


def run_node(plan: PhysicalPlan, live: frozenset[Column], sources: Sources) -> Relation:
    """Return the rows of a plan with those of its columns that are in `live`."""
    check_interrupt()
    if sources.trace is None:
        return _rows_of(plan, live, sources)
    return sources.trace.run(plan, lambda: _rows_of(plan, live, sources))


def _rows_of(plan: PhysicalPlan, live: frozenset[Column], sources: Sources) -> Relation:
    columns = [column for column in plan.columns if column in live]
    match plan:
        case Scan(table=name):
            return scan_table(sources.tables[name], columns, sources.memory)
        case Values():
            return _constant_rows(plan, columns)
        case Filter() | Project():
            return _run_steps(plan, live, sources)
        case HashJoin():
            sides = plan.left.columns, plan.right.columns
            return run_join(
                plan, columns, sides, partial(run_with, sources=sources), sources.memory
            )
        case SearchRows(function=function):
            found: Relation = function.run(plan, columns, sources)
            return found
        case Aggregate():
            return _aggregate(plan, live, sources)
        case Unnest():
            return _unnest(plan, live, sources)
        case Window():
            return _window(plan, live, sources)
        case Series(start=start, stop=stop, step=step):
            return _series(range(start, stop, step), columns, sources.memory)
        case Union():
            return _concatenate_rows(plan, columns, sources)
        case CommonTable() | WorkingTable():
            return _kept_rows(plan, columns, sources)
        case Recursive():
            collector = Collector(sources.memory, columns)
            for part in _generations(plan, sources):
                collector.add(part)
            return collector.relation()
        case Sort(source=source, keys=keys):
            read = live | {key.column for key in keys}
            return sort(run_node(source, read, sources), keys, None, sources.memory).select(columns)
        case Limit():
            return _limit(plan, live, sources)
        case FusedScanAggregate() | FusedTableScan() | DeltaScan():
            table = sources.run_fused(plan)
            return Relation({c: table.column(column_name(c)) for c in columns}, table.num_rows)
        case InnerJoin() | OuterJoin() | SemiJoin() | Apply() | Search():
            raise AssertionError(f"lowering left {type(plan).__name__}")
        case _:
            assert_never(plan)


def _series(numbers: range, columns: Sequence[Column], memory: Memory) -> Relation:
    """Return the rows of a series of integers."""
    collector = Collector(memory, columns)
    for start in range(0, len(numbers) if columns else 0, MORSEL_ROWS):
        some = numbers[start : start + MORSEL_ROWS]
        values = pa.array(np.arange(some.start, some.stop, some.step, dtype=np.int64))
        collector.add(Relation(dict.fromkeys(columns, values), len(some)))
    return collector.relation() if columns else Relation({}, len(numbers))


def _constant_rows(plan: Values, columns: Sequence[Column]) -> Relation:
    """Return rows written in the statement."""

    def values(column: Column) -> pa.ChunkedArray:
        position = plan.columns.index(column)
        expressions = [row[position] for row in plan.rows]
        if all(isinstance(e, Literal) and e.type == column.type for e in expressions):
            constants = [e.value for e in expressions if isinstance(e, Literal)]
            return pa.chunked_array([pa.array(constants, column.type)])
        chunks = [cast_values(evaluate(e, {}, 1), column.type) for e in expressions]
        return pa.chunked_array(chunks, type=column.type)

    return Relation({column: values(column) for column in columns}, len(plan.rows))


def _concatenate_rows(plan: Union, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the rows of all sources, whose columns are known by their places."""
    places = [plan.columns.index(column) for column in columns]
    parts = []
    for source in plan.sources:
        theirs = [source.columns[place] for place in places]
        rows = run_node(source, frozenset(theirs), sources)
        renamed = dict(zip(columns, (rows.columns[column] for column in theirs), strict=True))
        parts.append(Relation(renamed, rows.row_count))
    return concatenate(parts, columns)


def _kept_rows(
    plan: CommonTable | WorkingTable, columns: Sequence[Column], sources: Sources
) -> Relation:
    """Return the rows of a common table expression, or those that a recursion has added last."""
    if isinstance(plan, WorkingTable):
        rows = sources.working[plan.number]
    else:
        if plan.number not in sources.shared:
            sources.shared[plan.number] = _all_columns(plan.query, sources)
        rows = sources.shared[plan.number]
    by_place = dict(zip(plan.columns, rows.columns.values(), strict=True))
    return Relation({column: by_place[column] for column in columns}, rows.row_count)


def _all_columns(plan: PhysicalPlan, sources: Sources) -> Relation:
    return run_node(plan, frozenset(plan.columns), sources)


def _generations(plan: Recursive, sources: Sources) -> Iterator[Relation]:
    return generations(
        plan,
        lambda part: _all_columns(part, sources),
        sources.working,
        sources.shared,
        sources.memory,
    )


# -- filters and computed columns


def _run_steps(plan: Filter | Project, live: frozenset[Column], sources: Sources) -> Relation:
    """Run a chain of filters and computed columns, each morsel of rows from end to end."""
    columns = [column for column in plan.columns if column in live]
    steps = steps_of(plan, live, sources.trace)
    rows = scan_steps(steps, sources)
    if rows is None:
        rows = run_node(steps.source, steps.live, sources)
    if steps.renames_only:
        return steps.run(rows)
    return for_each_morsel(rows, steps.run, columns, sources.memory)


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """A chain of filters and computed columns, as one function of rows of its source.

    live: the columns that it reads. lowest: the predicate next to the source, if a filter is.
    """

    source: PhysicalPlan
    run: Callable[[Relation], Relation]
    live: frozenset[Column]
    renames_only: bool
    lowest: Expression | None


def steps_of(plan: Filter | Project, live: frozenset[Column], trace: Trace | None = None) -> Steps:
    """Return the chain of filters and computed columns at the top of a plan."""
    steps: list[Callable[[Relation], Relation]] = []
    node: PhysicalPlan = plan
    renames_only = True
    lowest: Expression | None = None
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter):
            steps.append(_filter_step(node.predicate, live))
            renames_only = False
            live |= columns_of(node.predicate)
            lowest = node.predicate
        else:
            lowest = None
            items = [item for item in node.items if item[0] in live]
            steps.append(_compute_step(items))
            renames_only &= all(isinstance(expression, Column) for _, expression in items)
            live = _read_by(expression for _, expression in items)
        if trace is not None:
            steps[-1] = trace.step(node, steps[-1])
        node = node.source

    def run(rows: Relation) -> Relation:
        for step in reversed(steps):
            rows = step(rows)
        return rows

    return Steps(node, run, live, renames_only, lowest)


def scan_steps(steps: Steps, sources: Sources) -> Relation | None:
    """Return the rows that a filter next to a scan may keep, None where there is no such filter."""
    node = steps.source
    if not isinstance(node, Scan) or steps.lowest is None:
        return None
    read = [column for column in node.columns if column in steps.live]
    lowest, table = steps.lowest, sources.tables[node.table]

    def scan() -> Relation:
        if node.lookup is not None:
            rows = lookup_rows(table, read, node.lookup, sources.memory)
            if rows is not None:
                return rows
        some = without_excluded(table, read, lowest)
        rows = scan_matches(some, read, lowest, sources.memory)
        return rows or scan_table(some, read, sources.memory)

    return scan() if sources.trace is None else sources.trace.run(node, scan)


def _filter_step(predicate: Expression, live: frozenset[Column]) -> Callable[[Relation], Relation]:
    """Return a function that keeps the rows for which the predicate is true."""

    def run(rows: Relation) -> Relation:
        mask = evaluate(predicate, rows.columns, rows.row_count)
        count = pc.sum(mask, min_count=0).as_py()
        kept = rows.select(column for column in rows.columns if column in live)
        return kept if count == rows.row_count else kept.filter(mask, count)

    return run


def _compute_step(
    items: Sequence[tuple[Column, Expression]],
) -> Callable[[Relation], Relation]:
    """Return a function that computes columns."""

    def run(rows: Relation) -> Relation:
        values = {
            column: evaluate(expression, rows.columns, rows.row_count)
            for column, expression in items
        }
        return Relation(values, rows.row_count)

    return run


def _read_by(expressions: Iterable[Expression]) -> frozenset[Column]:
    return frozenset(column for expression in expressions for column in columns_of(expression))


# -- joins and aggregates


def run_with(
    plan: PhysicalPlan,
    columns: Sequence[Column],
    expressions: Sequence[Expression],
    sources: Sources,
) -> tuple[Relation, list[pa.ChunkedArray | pa.Array]]:
    """Return some columns of a plan's rows, and the values of expressions over all its columns."""
    # The columns of plans have numbers from 0 on.
    extra = [Column(-1 - i, "expression", e.type) for i, e in enumerate(expressions)]
    items = [*zip(columns, columns, strict=True), *zip(extra, expressions, strict=True)]
    computed = Project(plan, tuple(items))
    rows = run_node(computed, frozenset([*columns, *extra]), sources)
    return rows.select(columns), [rows.columns[column] for column in extra]


def _all_of(conditions: Sequence[Expression]) -> Expression:
    if len(conditions) == 1:
        return conditions[0]
    return Call("and", tuple(conditions), pa.bool_())


def _aggregate(plan: Aggregate, live: frozenset[Column], sources: Sources) -> Relation:
    calls = [(column, _guarded(call)) for column, call in plan.aggregates if column in live]
    read = dict.fromkeys(e for _, call in calls for e in expressions_of(call))
    expressions = [*(expression for _, expression in plan.keys), *read]
    rows, values = run_with(plan.source, (), expressions, sources)
    keys = {column: values[i] for i, (column, _) in enumerate(plan.keys)}
    of_expression = dict(zip(read, values[len(keys) :], strict=True))
    columns = [column for column in plan.columns if column in live]
    if plan.grouping is None:
        groups = aggregate_rows(keys, calls, of_expression, rows.row_count, sources.memory)
        return groups.select(columns)
    parts = []
    for number, places in enumerate(plan.grouping.sets):
        chosen = {plan.keys[place][0]: values[place] for place in places}
        groups = aggregate_rows(chosen, calls, of_expression, rows.row_count, sources.memory)
        count = groups.row_count
        missing = {key: pa.nulls(count, key.type) for key in keys if key not in chosen}
        numbers = pa.repeat(pa.scalar(number, plan.grouping.number.type), count)
        parts.append(Relation({**groups.columns, **missing, plan.grouping.number: numbers}, count))
    return concatenate(parts, columns)


def _guarded(call: _FilteredCall) -> _FilteredCall:
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


def _window(plan: Window, live: frozenset[Column], sources: Sources) -> Relation:
    calls = [(column, _guarded(call)) for column, call in plan.calls if column in live]
    read = dict.fromkeys(e for _, call in calls for e in expressions_of(call))
    carried = [column for column in plan.source.columns if column in live]
    rows, values = run_with(plan.source, carried, list(read), sources)
    of_expression = dict(zip(read, values, strict=True))
    return window_rows(rows, calls, of_expression, sources.memory)


def _unnest(plan: Unnest, live: frozenset[Column], sources: Sources) -> Relation:
    """Return the rows once for every element of their lists."""
    columns = [column for column in plan.columns if column in live]
    steps = unnest_steps(plan, live)
    rows = run_node(steps.source, steps.live, sources)
    return for_each_morsel(rows, steps.run, columns, sources.memory)


def unnest_steps(plan: Unnest, live: frozenset[Column]) -> Steps:
    """Return UNNEST as a function of the rows that go with the lists."""
    columns = [column for column in plan.columns if column in live]
    carried = [column for column in plan.source.columns if column in live]
    # The columns of plans have numbers from 0 on.
    lists = {Column(-1 - i, "list", e.type): e for i, (_, e) in enumerate(plan.items)}
    elements = dict(zip(lists, (column for column, _ in plan.items), strict=True))

    def run(rows: Relation) -> Relation:
        return unnest_lists(rows, elements, plan.number, keep=plan.keep).select(columns)

    items = (*zip(carried, carried, strict=True), *lists.items())
    computed = Project(plan.source, items)
    return Steps(computed, run, frozenset([*carried, *lists]), renames_only=False, lowest=None)


# -- order


def _limit(plan: Limit, live: frozenset[Column], sources: Sources) -> Relation:
    """Return some rows; nothing is computed for the others where that can be avoided."""
    count, offset = plan.count, plan.offset
    match plan.source:
        case Project(source=source, items=items):
            return run_node(Project(Limit(source, count, offset), items), live, sources)
        case Sort(source=source, keys=keys) if count is not None:
            rows = run_node(source, live | {key.column for key in keys}, sources)
            rows = sort(rows, keys, offset + count, sources.memory)
            columns = [column for column in plan.columns if column in live]
            return rows.select(columns).slice(offset, count)
        case Series(start=start, stop=stop, step=step) as series:
            kept = range(start, stop, step)[offset : None if count is None else offset + count]
            return run_node(replace(series, start=kept.start, stop=kept.stop), live, sources)
        case Filter() | Recursive() as source if count is not None and _recursion(source):
            return _first_rows(source, live, sources, offset, count)
        case source:
            if isinstance(source, Scan) and count is not None:
                read = [column for column in source.columns if column in live]
                found = scan_slice(sources.tables[source.table], read, offset, count)
                if found is not None:
                    return found
            rows = run_node(source, live, sources)
            return rows.slice(offset, rows.row_count if count is None else count)


def _recursion(plan: PhysicalPlan) -> Recursive | None:
    """Return the recursive query below filters and computed columns, if that is there."""
    while isinstance(plan, Filter | Project):
        plan = plan.source
    return plan if isinstance(plan, Recursive) else None


def _first_rows(
    plan: PhysicalPlan, live: frozenset[Column], sources: Sources, offset: int, count: int
) -> Relation:
    """Return some rows over a recursive query, which need not come to its end for them."""
    recursion = _recursion(plan)
    assert recursion is not None
    over_working = _over_working(plan)
    columns = [column for column in plan.columns if column in live]
    parts = [Relation({c: pa.nulls(0, c.type) for c in columns}, 0)]
    found = 0
    for _ in _generations(recursion, sources) if count else ():
        parts.append(run_node(over_working, live, sources))
        found += parts[-1].row_count
        if found >= offset + count:
            break
    return concatenate(parts, columns).slice(offset, count)


def _over_working(plan: PhysicalPlan) -> PhysicalPlan:
    """Return filters and computed columns over the rows that their recursion has added last."""
    match plan:
        case Filter(source=source) | Project(source=source):
            return replace(plan, source=_over_working(source))
        case Recursive(number=number, columns=columns):
            return WorkingTable(number, columns)
        case _:
            raise AssertionError(f"{type(plan).__name__} is above no recursion")
