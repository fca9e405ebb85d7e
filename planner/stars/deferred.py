"""DeferredScan: a star whose predicates compare with the values of subqueries, which run first.

WHERE d_month = (SELECT max(month) FROM ...)   ->   WHERE d_month = 7, on the best BVH for that
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Column, Literal, rewrite, substitute
from raydb.planner.plan.nodes.aggregate import GroupedRows
from raydb.planner.rules.fold_constants import fold
from raydb.planner.stars.star import canonical
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Aggregate, PhysicalPlan, Star
    from raydb.planner.plan.nodes.node import Calls, Items

# A subquery of more values is joined with, not compared with.
MAX_MEMBERS = 4096

# Functions that do not ask for each of their arguments.
_CONDITIONAL = ("and", "case", "coalesce", "or")


@dataclass(frozen=True, eq=False, slots=True)
class DeferredScan(GroupedRows):
    """A star that is planned when its subqueries have run, which are the sources.

    aggregate: the star as it was asked for. The plan is chosen of what `catalog` has.
    """

    explain_name = "DeferredScan"
    source_fields = ("sources",)

    star: Star
    aggregate: Aggregate
    sources: tuple[PhysicalPlan, ...] = field()
    catalog: CatalogInfo
    options: PlannerOptions

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the star."""
        said = "a fused job, chosen when the values of the subqueries below are known"
        return {"table": self.star.fact, "runs": said}

    @property
    def keys(self) -> Items:
        """The group keys."""
        return self.star.keys

    @property
    def aggregates(self) -> Calls:
        """The aggregates."""
        return self.star.aggregates


def with_values(star: Star, values: Mapping[Column, Literal]) -> Star:
    """Return a star with the values of its subqueries as constants.

    Raises DataError where one that has to be a value had several rows.
    """
    listed = {given.listed for given in star.given}

    def members(part: Expression) -> Expression:
        match part:
            case Call("list_contains", (Column() as column, value)) if column in listed:
                return _is_among(value, values[column])
            case _:
                return part

    def known(predicate: Expression) -> Expression:
        given = substitute(rewrite(predicate, members), values)
        _check_single(given)
        return canonical(rewrite(given, fold))

    return replace(star, predicates=tuple(map(known, star.predicates)), given=())


def _is_among(value: Expression, members: Literal) -> Expression:
    """Return whether a value is one of a list's; of no list it is as unknown as of NULL."""
    found = (None,) if members.is_null else members.value
    if not found:
        return Literal(False, pa.bool_())
    constants = (Literal(each, value.type) for each in found)
    return Call("in", (value, *constants), pa.bool_())


def _check_single(expression: Expression) -> None:
    """Evaluate `single`, even if no row ever asks for it; but not where only some rows would."""
    match expression:
        case Call(function="single", arguments=(Literal(), Literal())):
            evaluate(expression, {}, 1)
        case Call(function=function, arguments=arguments) if function not in _CONDITIONAL:
            for argument in arguments:
                _check_single(argument)


def without_values(star: Star) -> Star:
    """Return a star with NULL for each value, by which it can be told what serves it."""
    columns = (column for given in star.given for column in given.columns)
    return with_values(star, {column: Literal(None, column.type) for column in columns})
