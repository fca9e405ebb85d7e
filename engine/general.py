"""The general path: physical plans run vectorised over Arrow.

    table = run_plan(plan, tables, run_fused)

Filters and computed columns run together over morsels of rows in threads; joins and aggregates run
in Acero, sorts in pyarrow.compute. A node gives only the columns that something above it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.engine.aggregate import aggregate
from raydb.engine.join import Side, join
from raydb.engine.relation import (
    Relation,
    column_name,
    concatenate,
    for_each_morsel,
    joined,
)
from raydb.engine.scan import scan_matches, scan_slice
from raydb.errors import InternalError, OperationalError
from raydb.planner.casts import cast_values
from raydb.planner.expression import Call, Column, Expression, Literal, columns_of
from raydb.planner.functions import evaluate, order_codes
from raydb.planner.physical import (
    ComputeColumns,
    ConcatenateRows,
    ConstantRows,
    FilterRows,
    HashAggregate,
    HashJoin,
    LimitRows,
    PhysicalPlan,
    RecursiveRows,
    ScanTable,
    SeriesRows,
    SharedRows,
    SortRows,
    WindowRows,
    WorkingRows,
)
from raydb.storage.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from raydb.planner.fuse import FusedScanAggregate
    from raydb.planner.logical import SortKey
    from raydb.storage.table import Table

# Beyond this many rows a selection of the first ones, kept in a heap, loses to a sort.
_MAX_SELECTED_ROWS = 10_000


@dataclass(frozen=True, eq=False, slots=True)
class Sources:
    """Where rows come from: stored tables, and the jobs of the fused path."""

    tables: Mapping[str, Table]
    run_fused: Callable[[FusedScanAggregate], pa.Table]


def run_plan(
    plan: PhysicalPlan,
    tables: Mapping[str, Table],
    run_fused: Callable[[FusedScanAggregate], pa.Table],
) -> pa.Table:
    """Run a physical plan and return its rows.

    The table's columns are those of the plan, in its order and of exactly its types; the column
    numbered n is called `c<n>`. `run_fused` runs a fused job and names its columns likewise.
    Raises DataError for a value that cannot be computed and OperationalError when memory runs out.
    """
    try:
        return _run(plan, frozenset(output_columns(plan)), Sources(tables, run_fused)).table()
    except MemoryError as error:
        raise OperationalError("there is not enough memory to run the statement") from error
    except pa.ArrowException as error:
        raise InternalError(f"Arrow failed to run the plan: {error}") from error


def output_columns(plan: PhysicalPlan) -> tuple[Column, ...]:
    """Return the columns of a physical plan's rows, in order."""
    match plan:
        case ScanTable(columns=columns) | ConstantRows(columns=columns):
            return columns
        case (
            SharedRows(columns=columns)
            | WorkingRows(columns=columns)
            | ConcatenateRows(columns=columns)
            | RecursiveRows(columns=columns)
        ):
            return columns
        case SeriesRows(column=column):
            return (column,)
        case WindowRows(source=source, calls=calls):
            return output_columns(source) + tuple(column for column, _ in calls)
        case HashJoin(kind="semi" | "anti" | "mark", left=left, mark=mark):
            return output_columns(left) + (() if mark is None else (mark,))
        case FilterRows(source=source) | SortRows(source=source) | LimitRows(source=source):
            return output_columns(source)
        case ComputeColumns(items=items):
            return tuple(column for column, _ in items)
        case HashJoin(left=left, right=right):
            return output_columns(left) + output_columns(right)
        case HashAggregate(keys=keys, aggregates=aggregates, grouping=grouping):
            number = () if grouping is None else (grouping.number,)
            return (*(c for c, _ in keys), *(c for c, _ in aggregates), *number)
        case _:
            return tuple(c for c, _ in plan.keys) + tuple(c for c, _ in plan.aggregates)


def _run(plan: PhysicalPlan, live: frozenset[Column], sources: Sources) -> Relation:
    """Return the rows of a plan with those of its columns that are in `live`."""
    columns = [column for column in output_columns(plan) if column in live]
    match plan:
        case ScanTable(table=name):
            return _scan(sources.tables[name], columns)
        case ConstantRows():
            return _constant_rows(plan, columns)
        case FilterRows() | ComputeColumns():
            return _run_steps(plan, live, sources)
        case HashJoin():
            return _join(plan, live, sources)
        case HashAggregate():
            return _aggregate(plan, live, sources)
        case SeriesRows(start=start, stop=stop, step=step):
            numbers = pa.array(np.arange(start, stop, step, dtype=np.int64))
            return Relation(dict.fromkeys(columns, numbers), len(numbers))
        case ConcatenateRows():
            return _concatenate_rows(plan, columns, sources)
        case SortRows(source=source, keys=keys):
            read = live | {key.column for key in keys}
            return _sort(_run(source, read, sources), keys, None).select(columns)
        case LimitRows():
            return _limit(plan, live, sources)
        case _:
            table = sources.run_fused(plan)
            return Relation({c: table.column(column_name(c)) for c in columns}, table.num_rows)


def _scan(table: Table, columns: Sequence[Column]) -> Relation:
    """Return a table's visible rows."""
    values: dict[Column, pa.ChunkedArray | pa.Array] = {}
    for column in columns:
        if column.name == ROW_NUMBER:
            numbers = np.arange(table.row_count, dtype=np.int32)
            values[column] = pa.array(numbers if table.live is None else numbers[table.live])
        else:
            values[column] = table.live_column(column.name)
    return Relation(values, table.live_count)


def _constant_rows(plan: ConstantRows, columns: Sequence[Column]) -> Relation:
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


def _concatenate_rows(
    plan: ConcatenateRows, columns: Sequence[Column], sources: Sources
) -> Relation:
    """Return the rows of all sources, whose columns are known by their places."""
    places = [plan.columns.index(column) for column in columns]
    parts = []
    for source in plan.sources:
        theirs = [output_columns(source)[place] for place in places]
        rows = _run(source, frozenset(theirs), sources)
        renamed = dict(zip(columns, (rows.columns[column] for column in theirs), strict=True))
        parts.append(Relation(renamed, rows.row_count))
    return concatenate(parts, columns)


# -- filters and computed columns


def _run_steps(
    plan: FilterRows | ComputeColumns, live: frozenset[Column], sources: Sources
) -> Relation:
    """Run a chain of filters and computed columns, each morsel of rows from end to end."""
    columns = [column for column in output_columns(plan) if column in live]
    steps: list[Callable[[Relation], Relation]] = []
    node: PhysicalPlan = plan
    renames_only = True
    lowest: Expression | None = None
    while isinstance(node, FilterRows | ComputeColumns):
        if isinstance(node, FilterRows):
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
        node = node.source

    def run(rows: Relation) -> Relation:
        for step in reversed(steps):
            rows = step(rows)
        return rows

    rows = None
    if isinstance(node, ScanTable) and lowest is not None:
        read = [column for column in node.columns if column in live]
        rows = scan_matches(sources.tables[node.table], read, lowest)
    if rows is None:
        rows = _run(node, live, sources)
    return run(rows) if renames_only else for_each_morsel(rows, run, columns)


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


def _join(plan: HashJoin, live: frozenset[Column], sources: Sources) -> Relation:
    carried = live | _read_by(plan.residual)
    left = _run_side(plan.left, plan.left_keys, carried, sources)
    right = _run_side(plan.right, plan.right_keys, carried, sources)

    def accept(pairs: Relation) -> Relation:
        if not plan.residual:
            return pairs
        step = _filter_step(_all_of(plan.residual), frozenset(pairs.columns))
        return for_each_morsel(pairs, step, list(pairs.columns))

    joined_rows = join(plan.kind, left, right, accept)
    return joined_rows.select(column for column in output_columns(plan) if column in live)


def _run_side(
    plan: PhysicalPlan, keys: Sequence[Expression], carried: frozenset[Column], sources: Sources
) -> Side:
    """Return the rows of a join's side and their keys."""
    columns = [column for column in output_columns(plan) if column in carried]
    rows, values = _run_with(plan, columns, keys, sources)
    return Side(rows, values)


def _run_with(
    plan: PhysicalPlan,
    columns: Sequence[Column],
    expressions: Sequence[Expression],
    sources: Sources,
) -> tuple[Relation, list[pa.ChunkedArray | pa.Array]]:
    """Return some columns of a plan's rows, and the values of expressions over all its columns."""
    # The columns of plans have numbers from 0 on.
    extra = [Column(-1 - i, "expression", e.type) for i, e in enumerate(expressions)]
    items = [*zip(columns, columns, strict=True), *zip(extra, expressions, strict=True)]
    computed = ComputeColumns(plan, tuple(items))
    rows = _run(computed, frozenset([*columns, *extra]), sources)
    return rows.select(columns), [rows.columns[column] for column in extra]


def _all_of(conditions: Sequence[Expression]) -> Expression:
    if len(conditions) == 1:
        return conditions[0]
    return Call("and", tuple(conditions), pa.bool_())


def _aggregate(plan: HashAggregate, live: frozenset[Column], sources: Sources) -> Relation:
    calls = [(column, call) for column, call in plan.aggregates if column in live]
    arguments = {argument: None for _, call in calls for argument in call.arguments}
    expressions = [*(expression for _, expression in plan.keys), *arguments]
    rows, values = _run_with(plan.source, (), expressions, sources)
    keys = {column: values[i] for i, (column, _) in enumerate(plan.keys)}
    of_argument = dict(zip(arguments, values[len(keys) :], strict=True))
    inputs = [
        (column, call, of_argument[call.arguments[0]] if call.arguments else None)
        for column, call in calls
    ]
    groups = aggregate(keys, inputs, rows.row_count)
    return groups.select(column for column in output_columns(plan) if column in live)


# -- order


def _limit(plan: LimitRows, live: frozenset[Column], sources: Sources) -> Relation:
    """Return some rows; nothing is computed for the others where that can be avoided."""
    count, offset = plan.count, plan.offset
    match plan.source:
        case ComputeColumns(source=source, items=items):
            return _run(ComputeColumns(LimitRows(source, count, offset), items), live, sources)
        case SortRows(source=source, keys=keys) if count is not None:
            rows = _run(source, live | {key.column for key in keys}, sources)
            rows = _sort(rows, keys, offset + count)
            columns = [column for column in output_columns(plan) if column in live]
            return rows.select(columns).slice(offset, count)
        case source:
            if isinstance(source, ScanTable) and count is not None:
                read = [column for column in source.columns if column in live]
                found = scan_slice(sources.tables[source.table], read, offset, count)
                if found is not None:
                    return found
            rows = _run(source, live, sources)
            return rows.slice(offset, rows.row_count if count is None else count)


def _sort(rows: Relation, keys: Sequence[SortKey], limit: int | None) -> Relation:
    """Return the rows in order, or the first `limit` of them; rows that compare equal stay put.

    Doubles are in total order, text is in order of its UTF-8 bytes.
    """
    values: dict[str, pa.ChunkedArray | pa.Array] = {}
    order: list[tuple[str, str]] = []
    for number, key in enumerate(keys):
        column = joined(order_codes(rows.columns[key.column]))
        if column.null_count == rows.row_count:
            continue
        if column.null_count:
            # A key of its own places the NULLs; Arrow's option is one for all keys before 25.
            values[f"null{number}"] = pc.is_null(column)
            order.append((f"null{number}", "descending" if key.nulls_first else "ascending"))
            # What stands for a NULL is never compared with a value, but it has to be one.
            column = pc.fill_null(column, column.drop_null()[0])
        values[f"key{number}"] = column
        order.append((f"key{number}", "descending" if key.descending else "ascending"))
    if not order:
        return rows
    if limit is not None and limit <= min(_MAX_SELECTED_ROWS, rows.row_count // 8):
        values["row"] = pa.array(np.arange(rows.row_count))
        order.append(("row", "ascending"))
        first = pc.select_k_unstable(pa.table(values), k=limit, sort_keys=order)
        return rows.take(first)
    return rows.take(pc.sort_indices(pa.table(values), sort_keys=order))
