"""Rule: group by what determines the other keys.

GROUP BY c_custkey, c_name, c_phone  ->  GROUP BY c_custkey, with first(c_name), first(c_phone)

A table's primary key determines its other columns in every row, also where an outer join has made
all of them NULL. The equality of an inner join or a filter makes either column determine the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.types as pt

from raydb.planner.expressions.nodes import AggregateCall, Call, Column, Expression, conjuncts
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    NoStar,
    Plan,
    Project,
    Scan,
    SemiJoin,
)
from raydb.planner.stars.star import map_unfused_sources
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.planner.catalog import CatalogInfo

    # The columns on the left determine those on the right.
    Dependency = tuple[frozenset[Column], frozenset[Column]]


def reduce_group_keys(plan: Plan, catalog: CatalogInfo) -> Plan:
    """Turn keys that other keys determine into aggregates; a star stays as it was matched."""
    plan = map_unfused_sources(plan, lambda source: reduce_group_keys(source, catalog))
    match plan:
        case Aggregate(keys=keys, grouping=None, star=NoStar()) if len(keys) > 1:
            return _reduce(plan, catalog)
        case _:
            return plan


def _reduce(plan: Aggregate, catalog: CatalogInfo) -> Plan:
    dependencies = tuple(_dependencies(plan.source, catalog))
    kept = dict(plan.keys)
    # What is dear to hash goes first.
    for column, expression in sorted(plan.keys, key=lambda key: _is_number(key[1])):
        if not isinstance(expression, Column) or expression == column:
            continue
        others = [e for c, e in kept.items() if c != column]
        if expression in _closure(others, dependencies):
            del kept[column]
    if len(kept) == len(plan.keys):
        return plan
    dropped = tuple(
        (column, AggregateCall("first", (expression,), expression.type))
        for column, expression in plan.keys
        if column not in kept
    )
    reduced = replace(plan, keys=tuple(kept.items()), aggregates=(*dropped, *plan.aggregates))
    return Project(reduced, tuple((column, column) for column in plan.columns))


def _is_number(expression: Expression) -> bool:
    return bool(pt.is_integer(expression.type))


def _dependencies(plan: Plan, catalog: CatalogInfo) -> Iterator[Dependency]:
    """Yield which columns of a plan determine which others."""
    match plan:
        case Scan(table=table, columns=columns):
            primary_key = catalog.tables[table].definition.primary_key
            names = () if primary_key is None else primary_key.columns
            key = [column for column in columns if column.name in names]
            if names and len(key) == len(names):
                yield frozenset(key), plan.column_set
        case InnerJoin(conditions=conditions):
            yield from _equalities(conditions)
        case Filter(predicate=predicate):
            yield from _equalities((predicate,))
        case _:
            pass
    # The rows of a semi join's right side are not in the result.
    for source in (plan.left,) if isinstance(plan, SemiJoin) else plan.sources:
        yield from _dependencies(source, catalog)


def _equalities(conditions: Sequence[Expression]) -> Iterator[Dependency]:
    for condition in (part for whole in conditions for part in conjuncts(whole)):
        match condition:
            case Call(function="equal", arguments=(Column() as left, Column() as right)):
                # Equal doubles and intervals may differ: 0.0 and -0.0, 1 month and 30 days.
                if not (pt.is_floating(left.type) or pt.is_interval(left.type)):
                    yield frozenset({left}), frozenset({right})
                    yield frozenset({right}), frozenset({left})
            case _:
                pass


def _closure(keys: Sequence[Expression], dependencies: Sequence[Dependency]) -> frozenset[Column]:
    """Return the columns that some keys determine."""
    known = frozenset(key for key in keys if isinstance(key, Column))
    while True:
        more = known.union(*(right for left, right in dependencies if left <= known))
        if more == known:
            return known
        known = more
