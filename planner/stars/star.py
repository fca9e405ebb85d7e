"""Star matching: an aggregate over a fact table and what its foreign keys reach.

A declared foreign key makes a join lossless: every fact row has exactly one partner, so the join
only adds columns and can be replaced by looking them up (denormalisation, RayDB, section 3.1).

    SELECT d_year, sum(lo_revenue) FROM lineorder, date WHERE lo_orderdate = d_datekey GROUP BY 1

has the fact table `lineorder`; d_year becomes the attribute (lo_orderdate -> date).d_year.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.kernels.backends.aggregates import AGGREGATES
from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Expression,
    columns_of,
    conjuncts,
    leaves,
    map_call,
    rewrite,
)
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import Aggregate, Filter, InnerJoin, NoStar, Plan, Scan, Search, Star
from raydb.storage.integers import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raydb.planner.catalog import BvhDefinition, CatalogInfo
    from raydb.storage.tables.table import ForeignKey

# The order of the operands does not matter to these, so a * b finds the measure b * a.
COMMUTATIVE = frozenset({"add", "multiply", "equal", "not_equal", "and", "or"})


_NO_ATTRIBUTES: Mapping[Column, Expression] = MappingProxyType({})


def map_unfused_sources(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Return the plan with `change` applied to each of its sources, but not to that of a star.

    A fused job does not run it; where none answers a star, `optimize_unfused` changes it later.
    """
    if isinstance(plan, Aggregate) and isinstance(plan.star, Star):
        return plan
    return plan.map_sources(change)


def match_star(aggregate: Aggregate, catalog: CatalogInfo) -> Star | NoStar:
    """See an aggregate as a star, or say why it is none."""
    for _, call in aggregate.aggregates:
        if call.distinct and (call.function != "count" or len(call.arguments) != 1):
            return NoStar(f"{call.function.upper()}(DISTINCT ...) needs every value of a group")
        if call.function not in AGGREGATES:
            return NoStar(f"no fused job accumulates {call.function}()")
        if call.filter is not None:
            return NoStar(f"{call.function}() has a FILTER")
    flat = _flatten(aggregate.source)
    if isinstance(flat, NoStar):
        return flat
    scans, conditions = flat
    parts = (*aggregate.expressions, *conditions)
    if any(map(is_volatile, parts)):
        return NoStar("it calls random()")
    read = frozenset[Column]().union(*map(columns_of, parts))
    found = _find_fact(scans, conditions, read, catalog)
    if isinstance(found, NoStar):
        return found
    attributes, predicates = found

    def convert(expression: Expression) -> Expression:
        return canonical(expression, attributes)

    return Star(
        fact=scans[0].table,
        tables=tuple(scan.table for scan in scans),
        predicates=tuple(convert(predicate) for predicate in predicates),
        keys=tuple((column, convert(key)) for column, key in aggregate.keys),
        aggregates=tuple(
            (column, map_call(call, convert)) for column, call in aggregate.aggregates
        ),
    )


def canonical(
    expression: Expression, attributes: Mapping[Column, Expression] = _NO_ATTRIBUTES
) -> Expression:
    """Give expressions that mean the same over attributes one form.

    Operands of commutative functions are ordered, and a referenced key becomes the foreign key
    itself: (lo_orderdate -> date).d_datekey is lo_orderdate, and needs no look-up.
    `attributes` are those that columns are.
    """

    def change(part: Expression) -> Expression:
        match part:
            case Column():
                return change(attributes[part]) if part in attributes else part
            case Call(function=function, arguments=arguments):
                if function not in COMMUTATIVE:
                    return part
                ordered = tuple(sorted(arguments, key=_written))
                return Call(function, ordered, part.type)
            case Attribute(path=(*path, last), name=name, type=kind) if name in last.references:
                column = last.columns[last.references.index(name)]
                local: Expression = Attribute(tuple(path), column, kind)
                return change(local)
            case _:
                return part

    return rewrite(expression, change)


def _written(expression: Expression) -> str:
    """Return what operands are ordered by."""
    return _written_attribute(expression) if isinstance(expression, Attribute) else repr(expression)


@functools.lru_cache(maxsize=4096)
def _written_attribute(attribute: Attribute) -> str:
    """Return an attribute with its foreign keys, whose repr takes as long as a rule."""
    return repr(attribute)


def canonical_definition(definition: BvhDefinition) -> BvhDefinition:
    """Write a BVH's attributes and measures as star matching writes those of a query."""

    def attribute(expression: Expression) -> Attribute:
        written = canonical(expression)
        assert isinstance(written, Attribute)
        return written

    return replace(
        definition,
        scan=tuple(attribute(a) for a in definition.scan),
        group_by=tuple(attribute(a) for a in definition.group_by),
        aggregate=tuple(canonical(expression) for expression in definition.aggregate),
    )


def _flatten(plan: Plan) -> tuple[list[Scan], list[Expression]] | NoStar:
    """Take a plan of scans, filters and inner joins apart."""
    match plan:
        case Scan():
            return [plan], []
        case Filter(source=source, predicate=predicate):
            inner = _flatten(source)
            if isinstance(inner, NoStar):
                return inner
            return inner[0], [*inner[1], *conjuncts(predicate)]
        case InnerJoin(sources=sources, conditions=conditions):
            scans: list[Scan] = []
            parts = [part for condition in conditions for part in conjuncts(condition)]
            for source in sources:
                inner = _flatten(source)
                if isinstance(inner, NoStar):
                    return inner
                scans += inner[0]
                parts += inner[1]
            return scans, parts
        case Search(function=function):
            return NoStar(function.star_reason)
        case _:
            names = {
                "OuterJoin": "an outer join keeps rows without a partner",
                "Aggregate": "it aggregates over another aggregate",
                "Values": "it reads no table",
                "Limit": "it aggregates over a LIMIT",
                "Unnest": "it aggregates over the elements of lists",
                "SemiJoin": "it aggregates over a subquery's semi join",
                "CommonTable": "it reads a common table expression",
                "WorkingTable": "it reads a recursive query",
                "Series": "it reads no table",
            }
            kind = type(plan).__name__
            return NoStar(names.get(kind, f"it aggregates over a {kind.lower()}"))


def _find_fact(
    scans: list[Scan],
    conditions: list[Expression],
    read: frozenset[Column],
    catalog: CatalogInfo,
) -> tuple[dict[Column, Expression], list[Expression]] | NoStar:
    """Find the scan from which foreign keys reach all others; put it first in `scans`.

    Returns the attribute of every column in `read`, and the conditions left as predicates.
    """
    by_size = sorted(scans, key=lambda scan: -catalog.tables[scan.table].row_count)
    first_failure = None
    for fact in by_size:
        paths, used = _reach(fact, scans, conditions, catalog)
        if len(paths) < len(scans):
            missing = next(scan for scan in scans if id(scan) not in paths)
            first_failure = first_failure or NoStar(
                f"'{missing.table}' is not joined to '{fact.table}' on a declared foreign key"
            )
            continue
        rest = [part for number, part in enumerate(conditions) if number not in used]
        rest += _null_guards(paths.values(), fact, catalog)
        attributes: dict[Column, Expression] = {
            column: Attribute(paths[id(scan)], column.name, column.type)
            for scan in scans
            for column in scan.columns
            if column in read
        }
        scans.sort(key=lambda scan: scan is not fact)
        return attributes, rest
    assert first_failure is not None
    return first_failure


def _reach(
    fact: Scan, scans: list[Scan], conditions: list[Expression], catalog: CatalogInfo
) -> tuple[dict[int, tuple[ForeignKey, ...]], set[int]]:
    """Follow foreign keys from a scan: the path to each scan, and the conditions used up."""
    pairs = {
        pair: number
        for number, condition in enumerate(conditions)
        if (pair := _column_pair(condition)) is not None
    }
    paths: dict[int, tuple[ForeignKey, ...]] = {id(fact): ()}
    used: set[int] = set()
    frontier = [fact]
    while frontier:
        scan = frontier.pop()
        own = {column.name: column for column in scan.columns}
        for key in catalog.tables[scan.table].definition.foreign_keys:
            for other in scans:
                if id(other) in paths or other.table != key.table:
                    continue
                theirs = {column.name: column for column in other.columns}
                needed = [
                    pairs.get(frozenset({own[a], theirs[b]}))
                    for a, b in zip(key.columns, key.references, strict=True)
                ]
                if None not in needed:
                    paths[id(other)] = (*paths[id(scan)], key)
                    used.update(number for number in needed if number is not None)
                    frontier.append(other)
    return paths, used


def _column_pair(condition: Expression) -> frozenset[Column] | None:
    """Return {a, b} for the condition a = b over two columns, casts between integers aside."""
    match condition:
        case Call(function="equal", arguments=(left, right)):
            sides = (_without_integer_cast(left), _without_integer_cast(right))
            if all(isinstance(side, Column) for side in sides):
                return frozenset(side for side in sides if isinstance(side, Column))
    return None


def _without_integer_cast(expression: Expression) -> Expression:
    match expression:
        case Call(function="cast", arguments=(inner,), type=kind):
            inner_type = next(leaves(inner)).type if isinstance(inner, Column) else None
            if (
                inner_type is not None
                and pa.types.is_integer(kind)
                and pa.types.is_integer(inner_type)
                and holds(kind, inner_type)
            ):
                return inner
    return expression


def _null_guards(
    paths: Iterable[tuple[ForeignKey, ...]], fact: Scan, catalog: CatalogInfo
) -> list[Expression]:
    """Return NOT (fk IS NULL) for each followed key that has NULLs: such rows have no partner."""
    guards: list[Expression] = []
    for path in paths:
        if not path:
            continue
        parent = catalog.tables[path[-2].table if len(path) > 1 else fact.table]
        for column in path[-1].columns:
            if parent.null_counts[column]:
                kind = parent.definition.schema.field(column).type
                is_null = Call("is_null", (Attribute(path[:-1], column, kind),), pa.bool_())
                guards.append(Call("not", (is_null,), pa.bool_()))
    return guards
