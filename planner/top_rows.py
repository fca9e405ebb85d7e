"""ORDER BY ... LIMIT over joins and filters: the first rows are sought among few of a table.

    SELECT s_city, price FROM sales, store WHERE store_id = s_id ORDER BY price DESC LIMIT 10

Of the sales those of the highest prices are filtered and joined. Where they give ten rows, these
are the ten: every other sale has a lower price. Nothing is joined, filtered or fetched for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.types as pt

from raydb.planner.expressions.nodes import columns_of, substitute
from raydb.planner.expressions.registry import is_volatile, may_raise
from raydb.planner.plan.nodes import (
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Sort,
    TopRows,
)
from raydb.planner.plan.statistics import Statistics
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression

# Of fewer rows all are looked at as soon.
MIN_ROWS = 100_000

# So large a share of a table's rows is no better than all.
_MANY = 1 / 16


def find_top_rows(plan: Limit, catalog: CatalogInfo) -> TopRows | None:
    """Return how the first rows of a sort are sought, None where all rows are sorted as soon."""
    match plan:
        case Limit(source=Sort(source=source, keys=keys), count=int() as count, offset=offset):
            if not isinstance(source, Filter | Project | InnerJoin | OuterJoin | SemiJoin):
                return None
            found = _origin(source, keys[0].column)
        case _:
            return None
    if found is None or not is_comparable(keys[0].column.type):
        return None
    scan, value = found
    table = catalog.tables[scan.table]
    if table.row_count < max(MIN_ROWS, 1) or table.is_streamed:
        return None
    share = Statistics(catalog).row_count(source) / table.row_count
    if (count + offset) > share * table.row_count * _MANY:
        return None
    return TopRows(source, keys, count, offset, scan, value, share)


def is_comparable(kind: pa.DataType) -> bool:
    """Whether values of a type can be compared with one of them to be in order."""
    return bool(
        pt.is_integer(kind)
        or pt.is_floating(kind)
        or pt.is_decimal(kind)
        or pt.is_date(kind)
        or pt.is_timestamp(kind)
        or pt.is_string(kind)
    )


def _origin(plan: Plan, value: Expression) -> tuple[Scan, Expression] | None:
    """Return the scan whose columns alone a value is computed of, and the value over them.

    None where a row of the scan that is left out could change other rows of the plan, or could
    have failed.
    """
    if may_raise(value) or is_volatile(value):
        return None
    read = columns_of(value)
    match plan:
        case Scan(columns=columns):
            is_whole = bool(read) and read <= set(columns)
            return (plan, value) if is_whole and not _reads_number(plan) else None
        case Project(source=source, items=items):
            is_same = not any(is_volatile(item) for _, item in items)
            return _origin(source, substitute(value, dict(items))) if is_same else None
        case Filter(source=source):
            sources: tuple[Plan, ...] = (source,)
        case InnerJoin():
            sources = plan.sources
        case OuterJoin(kind="left", left=left) | SemiJoin(left=left):
            sources = (left,)
        case OuterJoin(kind="right", right=right):
            sources = (right,)
        case _:
            return None
    if any(may_raise(each) or is_volatile(each) for each in plan.expressions):
        return None
    owner = next((each for each in sources if read and read <= each.column_set), None)
    return None if owner is None else _origin(owner, value)


def _reads_number(scan: Scan) -> bool:
    return any(column.name == ROW_NUMBER for column in scan.columns)
