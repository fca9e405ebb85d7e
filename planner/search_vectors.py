"""How a vector search runs: through which index, or by comparing all rows, and why.

    VectorSearch(queries, Project(Filter(Scan)))  ->  ComputeColumns(NearestRows(queries, Scan,
                                                          selection = row numbers of the Filter))

A table is searched by row numbers, so that columns are read for the rows that are found only.
What is no table (a join, a sum) is searched row by row.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, cast

from raydb.errors import ProgrammingError
from raydb.planner.expression import Column, columns_of
from raydb.planner.logical import Plan, VectorSearch, output_columns
from raydb.planner.physical import (
    ComputeColumns,
    NearestRows,
    PhysicalPlan,
    ScanTable,
    VectorIndex,
)
from raydb.planner.table_rows import rows_of_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.kernels.nearest import Metric
    from raydb.planner.catalog import CatalogInfo
    from raydb.storage.table import Index


def lower_search(
    plan: VectorSearch,
    catalog: CatalogInfo,
    numbers: Iterator[int],
    lower: Callable[[Plan], PhysicalPlan],
) -> PhysicalPlan:
    """Choose how to run a search; `numbers` are those of columns that are in no plan yet.

    Raises ProgrammingError where the metric is not told, or more rows are asked for than there are.
    """
    queries = lower(plan.left)
    rows = rows_of_table(plan.right)
    options = plan.options
    vector = None if rows is None else rows.definitions[plan.vector]
    if rows is None or not isinstance(vector, Column):
        metric = cast("Metric", options.metric or "l2")
        source = lower(plan.right)
        return NearestRows(
            queries, plan.query, source, plan.vector, None, options.k, metric, True, None,
            "all rows of the query are compared", plan.found,
        )  # fmt: skip
    scan, selection = rows.scan, rows.selection(next(numbers))
    name, metric = _choose_index(plan, scan.table, vector.name, catalog)
    index, reason = _use_index(plan, name, catalog)
    if index is None and name is None:
        reason = f"no ivf index of '{vector.name}' of '{scan.table}' for {metric}"
        reason = f"all rows are compared ({reason})"
    read = {c for expression in rows.definitions.values() for c in columns_of(expression)}
    source = ScanTable(scan.table, tuple(c for c in scan.columns if c in read))
    nearest = NearestRows(
        queries, plan.query, source, vector, selection, options.k, metric, options.exact, index,
        reason, plan.found,
    )  # fmt: skip
    if all(column == expression for column, expression in rows.definitions.items()):
        return nearest
    items = [(column, rows.definitions.get(column, column)) for column in output_columns(plan)]
    return ComputeColumns(nearest, tuple(items))


def _choose_index(
    plan: VectorSearch, table: str, column: str, catalog: CatalogInfo
) -> tuple[Index | None, Metric]:
    """Return the index for a search, if there is one, and the metric."""
    wanted = plan.options.metric
    indexes = catalog.tables[table].definition.ivf_indexes
    usable = [
        index
        for index in indexes
        if index.ivf is not None
        and index.columns == (column,)
        and wanted in (None, index.ivf.metric)
    ]
    if len(usable) > 1:
        metrics = " and ".join(f"'{index.ivf.metric}'" for index in usable if index.ivf)
        raise ProgrammingError(
            f"column '{column}' of table '{table}' has ivf indexes for {metrics}: "
            "vector_search() needs metric => one of them"
        )
    if not usable:
        return None, cast("Metric", wanted or "l2")
    (index,) = usable
    assert index.ivf is not None
    return index, cast("Metric", index.ivf.metric)


def _use_index(
    plan: VectorSearch, index: Index | None, catalog: CatalogInfo
) -> tuple[VectorIndex | None, str]:
    """Return how an index is used, and a word on it."""
    if index is None:
        return None, ""
    arrays = catalog.vector_indexes[index.name]
    nprobe = plan.options.nprobe or max(1, round(sqrt(arrays.list_count)))
    used = VectorIndex(index.name, arrays, min(nprobe, arrays.list_count))
    if plan.options.exact:
        return used, f"all rows are compared, those of '{index.name}' in it (exact => true)"
    return used, f"{used.nprobe} of {arrays.list_count} lists of '{index.name}'"
