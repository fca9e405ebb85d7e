"""Star matching: an aggregate over a fact table and what its foreign keys reach.

A declared foreign key makes a join lossless: every fact row has exactly one partner, so the join
only adds columns and can be replaced by looking them up (denormalisation, RayDB, section 3.1).

    SELECT d_year, sum(lo_revenue) FROM lineorder, date WHERE lo_orderdate = d_datekey GROUP BY 1

has the fact table `lineorder`; d_year becomes the attribute (lo_orderdate -> date).d_year.
"""

from __future__ import annotations

import functools
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.aggregates import SEES_NULLS
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Attribute,
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    expressions_of,
    map_call,
    substitute,
)
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import Aggregate, NoStar, Plan, Star
from raydb.planner.stars.parts import take_apart
from raydb.planner.stars.reach import own_attribute, reach
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raydb.planner.catalog import BvhDefinition, CatalogInfo

# The order of the operands does not matter to these, so a * b finds the measure b * a.
COMMUTATIVE = frozenset({"add", "multiply", "equal", "not_equal", "and", "or"})


_NO_ATTRIBUTES: Mapping[Column, Expression] = MappingProxyType({})


def map_unfused_sources(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Return the plan with `change` applied to its sources, but not to leaves or that of a star.

    A fused job does not run it; where none answers a star, `optimize_unfused` changes it later.
    """
    if isinstance(plan, Aggregate) and isinstance(plan.star, Star):
        return plan
    return plan.map_sources(change, leaves=False)


def match_star(aggregate: Aggregate, catalog: CatalogInfo) -> Star | NoStar:
    """See an aggregate as a star, or say all that keeps it from being one."""
    obstacles = list(dict.fromkeys(_aggregate_obstacles(aggregate)))
    parts = take_apart(aggregate.source)
    if isinstance(parts, NoStar):
        return NoStar("; ".join([*obstacles, parts.reason]))
    if obstacles:
        return NoStar("; ".join(obstacles))
    keys = [(column, substitute(key, parts.definitions)) for column, key in aggregate.keys]
    calls = [(column, _plain(call)) for column, call in aggregate.aggregates]
    if parts.definitions:
        calls = [
            (c, map_call(call, lambda e: substitute(e, parts.definitions))) for c, call in calls
        ]
    measures = [each for _, call in calls for each in expressions_of(call)]
    conditions = [*parts.conditions, *(each for side in parts.sides for each in side.conditions)]
    grouped = [key for _, key in keys]
    if is_volatile(*grouped, *measures, *conditions):
        return NoStar("it calls random()")
    asked, measured = columns_of(*grouped), columns_of(*measures)
    values = {column for given in parts.given for column in given.columns}
    if not values.isdisjoint(asked | measured):
        return NoStar("a subquery's value is a part of a key or of a measure")
    found = reach(parts, asked, measured, catalog)
    if isinstance(found, NoStar):
        return found
    columns = found.columns
    if parts.sides:  # others are attributes, which are of this form
        columns = {column: canonical(value) for column, value in columns.items()}

    def convert(expression: Expression) -> Expression:
        return canonical(expression, columns)

    return Star(
        fact=found.fact.table,
        tables=found.tables,
        predicates=tuple(convert(predicate) for predicate in found.predicates),
        keys=tuple((column, convert(key)) for column, key in keys),
        aggregates=tuple((column, map_call(call, convert)) for column, call in calls),
        given=found.given,
    )


# Aggregates that others are, of any type.
_SAME = {"bool_and": "min", "bool_or": "max"}


def _plain(call: AggregateCall) -> AggregateCall:
    """Return an aggregate without a FILTER, by the name that it has among others."""
    function = _SAME.get(call.function)
    return without_filter(call if function is None else replace(call, function=function))


def _aggregate_obstacles(aggregate: Aggregate) -> Iterator[str]:
    """Yield which aggregates no fused job has."""
    for _, call in aggregate.aggregates:
        if call.filter is not None and call.function in SEES_NULLS:
            yield f"{call.function}() with a FILTER sees NULLs of the rows that pass"


def without_filter(call: AggregateCall) -> AggregateCall:
    """Return an aggregate over CASE in place of one with a FILTER: it leaves NULLs out."""
    if call.filter is None:
        return call
    argument = call.arguments[0] if call.arguments else Literal(1, pa.int32())
    none = Literal(None, argument.type)
    chosen = Call("case", (call.filter, argument, none), argument.type)
    function = "count" if call.function == "count_star" else call.function
    return replace(call, function=function, arguments=(chosen, *call.arguments[1:]), filter=None)


def canonical(
    expression: Expression, attributes: Mapping[Column, Expression] = _NO_ATTRIBUTES
) -> Expression:
    """Give expressions that mean the same over attributes one form.

    Operands of commutative functions are ordered, and a referenced key becomes the foreign key
    itself: (lo_orderdate -> date).d_datekey is lo_orderdate, and needs no look-up.
    `attributes` are those that columns are, of this form.
    """
    if type(expression) is Column:
        return attributes.get(expression, expression)
    if type(expression) is Attribute:
        return own_attribute(expression)
    if type(expression) is not Call:
        return expression
    parts = [
        each if type(each) is Literal else canonical(each, attributes)
        for each in expression.arguments
    ]
    if expression.function in COMMUTATIVE:
        parts = _ordered(parts)
    if all(map(is_, parts, expression.arguments)):
        return expression
    return Call(expression.function, tuple(parts), expression.type, expression.written)


def _ordered(operands: list[Expression]) -> list[Expression]:
    """Return operands by how they are written, which begins with what they are."""
    kinds = [*map(type, operands)]
    if kinds == [Attribute, Literal]:  # as most are
        return operands
    if len(set(kinds)) == len(operands):
        return sorted(operands, key=lambda operand: type(operand).__name__)
    return sorted(operands, key=_written)


def _written(expression: Expression) -> str:
    """Return the `repr` of an expression; that of attributes, which is long, is kept."""
    if isinstance(expression, Attribute):
        return _written_attribute(expression)
    if type(expression) is not Call:
        return repr(expression)
    arguments = ", ".join([_written(each) for each in expression.arguments])
    if len(expression.arguments) == 1:
        arguments += ","
    return (
        f"Call(function={expression.function!r}, arguments=({arguments}),"
        f" type={expression.type!r}, written={expression.written!r})"
    )


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
