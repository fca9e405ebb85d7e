"""ORDER BY a distance LIMIT k through an index: what vector_search() finds, or why it is not asked.

    SELECT id FROM docs ORDER BY emb <-> $q LIMIT 10

A filter leaves the index's rows that pass, which are all compared. Else the lists are scanned that
`SET nprobe` says, a walk keeps what `SET ef_search` says, or it is the strictest calibration for k
rows, or a search without options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.table_functions.vector.choose_index import (
    SearchOptions,
    lower_vector_search,
    stored_column,
)
from raydb.planner.expressions.nodes import Call, Column, Literal
from raydb.planner.expressions.types import is_half_vector, widened
from raydb.planner.plan.nodes import Search, filter_rows
from raydb.planner.plan.table_function import ONE_ROW

if TYPE_CHECKING:
    from raydb.engine.table_functions.vector.vector_function import VectorFunction
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.lower import Lowering
    from raydb.planner.ordered_rows import RowOrder
    from raydb.planner.plan.nodes import Plan
    from raydb.storage.tables.table import Index

# The metric of each function, and whether its greatest values are the nearest.
METRICS_OF = {
    "list_distance": ("l2", False),
    "list_cosine_distance": ("cosine", False),
    "list_cosine_similarity": ("cosine", True),
    "list_negative_inner_product": ("ip", False),
    "list_inner_product": ("ip", True),
    "list_l1_distance": ("l1", False),
    "hamming_distance": ("hamming", False),
}

# Where so large a part of the rows is asked for, and so many, all are put in order as soon.
_MANY = 1 / 8
_MANY_ROWS = 1000


def nearest_first(
    function: VectorFunction, order: RowOrder, lowering: Lowering
) -> Plan | str | None:
    """Return rows of a search among which the first of an order are, or why there is none.

    None where no index has the column.
    """
    column = next(filter(None, map(_column_in, order.value.arguments)), None)
    vector = next((each for each in order.value.arguments if isinstance(each, Literal)), None)
    stored = None if column is None else stored_column(order.source, column)
    if column is None or stored is None:
        return None
    indexes = [
        index
        for index in lowering.catalog.tables[stored[0]].definition.ivf_indexes
        if index.columns == (stored[1],)
    ]
    if not indexes:
        return None
    found = _usable(order, indexes, vector, lowering)
    if isinstance(found, str):
        return found
    assert order.rows is not None
    assert vector is not None
    options = _options(order, found, lowering)
    scan, predicates = order.rows.scan, order.rows.predicates
    made = tuple(Column(next(lowering.fresh), name, kind) for name, kind in function.found_columns)
    given = (("query", vector),)
    rows = filter_rows(scan, predicates)
    return lower_vector_search(
        Search(function, ONE_ROW, rows, given, (column,), options, made), lowering
    )


def _column_in(argument: Expression) -> Column | None:
    """Return the column that an argument is; FLOAT16[n] is compared as FLOAT[n]."""
    match argument:
        case Column():
            return argument
        case Call(function="cast", arguments=(Column() as column,)) if is_half_vector(
            column.type
        ) and argument.type == widened(column.type):
            return column
    return None


def _usable(
    order: RowOrder, indexes: list[Index], vector: Literal | None, lowering: Lowering
) -> Index | str:
    """Return the index that has an order, or why none serves it."""
    metric, is_greatest = METRICS_OF[order.value.function]
    index = next((each for each in indexes if each.ivf and each.ivf.metric == metric), None)
    if index is None:
        others = ", ".join(
            f"'{each.name}' is for {each.ivf.metric}" for each in indexes if each.ivf
        )
        return f"{others}, and the order is by {metric}"
    if vector is None or vector.is_null:
        return "the distance is not that of one vector"
    if metric != "hamming" and vector.type.value_type != pa.float32():
        return f"'{index.name}' rounds DOUBLE to FLOAT"
    if order.rows is None:
        return "the rows are not those of one table"
    if order.key.descending != is_greatest:
        return "the farthest rows are asked for"
    if not order.is_only:
        return "more than the distance orders the rows"
    table = lowering.catalog.tables[order.rows.scan.table]
    if order.key.nulls_first and table.null_counts[index.columns[0]]:
        return "NULLs are asked for first"
    if order.count > max(_MANY * table.row_count, _MANY_ROWS):
        return "a large part of the rows is asked for"
    return index


def _options(order: RowOrder, index: Index, lowering: Lowering) -> SearchOptions:
    """Return how the rows are searched for."""
    metric, _ = METRICS_OF[order.value.function]
    assert order.rows is not None
    is_filtered = bool(order.rows.predicates)
    shares = [
        info.calibration.fnr
        for info in lowering.catalog.calibrations.get(index.name, ())
        if info.calibration.k == order.count
    ]
    given = lowering.options
    assert index.ivf is not None
    is_said = given.nprobe is not None or (given.ef is not None and index.ivf.m > 0)
    promised = not is_filtered and not is_said
    fnr = min(shares, default=None) if promised else None
    return SearchOptions(order.count, None, is_filtered, metric, fnr, is_order=True)
