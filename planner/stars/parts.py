"""The plan below an aggregate taken apart: its scans, conditions, and the sides of other joins."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    columns_of,
    conjuncts,
    substitute,
)
from raydb.planner.expressions.registry import is_volatile
from raydb.planner.plan.nodes import (
    CommonTable,
    Filter,
    Given,
    InnerJoin,
    NoStar,
    OuterJoin,
    Plan,
    Project,
    Scan,
    Search,
    SemiJoin,
    WorkingTable,
    filter_rows,
    only_columns,
)
from raydb.planner.plan.unique import has_one_row, has_one_row_at_most
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

KEEPS_ROWS = NoStar("an outer join keeps rows without a partner")
SEMI_JOIN = NoStar("it aggregates over a subquery's semi join")
_NUMBERED = NoStar("it reads the numbers of rows")


@dataclass(frozen=True, slots=True)
class Side:
    """The right side of a join that gives each row on the left at most one partner.

    left: its columns, NULL without a partner. semi, anti: those rows stay that have one, or none.
    mark: the column `mark` tells.

    scans: none where the side is no part of a star. members: what else tells whether a row has a
    partner, where keys lead to none: the subquery, and that a value is among those it gives.
    """

    kind: Literal["left", "semi", "anti", "mark"]
    scans: tuple[Scan, ...]
    conditions: tuple[Expression, ...]
    mark: Column | None = None
    members: tuple[Given, Expression] | None = None


@dataclass(slots=True)
class Parts:
    """A plan of joins taken apart; `definitions` are what its projections compute of scans."""

    scans: list[Scan] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    sides: list[Side] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    definitions: dict[Column, Expression] = field(default_factory=dict)

    def add(self, conditions: Iterable[Expression]) -> None:
        """Add conditions that every row passes."""
        for condition in conditions:
            self.conditions += conjuncts(substitute(condition, self.definitions))


def take_apart(plan: Plan) -> Parts | NoStar:
    """Take a plan of scans, filters, projections and joins apart."""
    match plan:
        case Scan():
            return _NUMBERED if plan.is_numbered else Parts([plan])
        case Filter(source=source, predicate=predicate):
            parts = take_apart(source)
            if isinstance(parts, Parts):
                parts.add([predicate])
            return parts
        case Project(source=source, items=items):
            parts = take_apart(source)
            if isinstance(parts, Parts):
                computed = [(column, substitute(e, parts.definitions)) for column, e in items]
                parts.definitions = {column: e for column, e in computed if column != e}
            return parts
        case InnerJoin():
            return _take_join_apart(plan)
        case OuterJoin(kind="left", left=left, right=right):
            return _with_side(plan, left, right)
        case OuterJoin(kind="right", left=left, right=right):
            return _with_side(plan, right, left)
        case SemiJoin(left=left, right=right):
            return _with_side(plan, left, right)
        case Search(function=function):
            return NoStar(function.star_reason)
        case OuterJoin():
            return KEEPS_ROWS
        case _:
            names = {
                "Aggregate": "it aggregates over another aggregate",
                "AsofJoin": "it aggregates over an ASOF join",
                "Constants": "it reads no table",
                "Values": "it reads no table",
                "Limit": "it aggregates over a LIMIT",
                "Unnest": "it aggregates over the elements of lists",
                "CommonTable": "it reads a common table expression",
                "WorkingTable": "it reads a recursive query",
                "Series": "it reads no table",
            }
            kind = type(plan).__name__
            return NoStar(names.get(kind, f"it aggregates over a {kind.lower()}"))


def _take_join_apart(join: InnerJoin) -> Parts | NoStar:
    whole = Parts()
    for source in join.sources:
        if isinstance(source, Scan) and not source.is_numbered:  # as most are
            whole.scans.append(source)
            continue
        if has_one_row(source) and _is_settled(source):
            whole.given.append(Given(source))
            continue
        parts = take_apart(source)
        if isinstance(parts, NoStar):
            return parts
        whole.scans += parts.scans
        whole.conditions += parts.conditions
        whole.sides += parts.sides
        whole.given += parts.given
        whole.definitions |= parts.definitions
    whole.add(join.conditions)
    return whole


def _with_side(join: OuterJoin | SemiJoin, left: Plan, right: Plan) -> Parts | NoStar:
    """Take a join apart whose right side may lie behind foreign keys of the left one."""
    reason = KEEPS_ROWS if isinstance(join, OuterJoin) else SEMI_JOIN
    parts = take_apart(left)
    if isinstance(parts, NoStar):
        return parts
    if not join.conditions and _is_settled(right):
        if isinstance(join, OuterJoin) and has_one_row_at_most(right):
            parts.given.append(Given(right))
            return parts
        if isinstance(join, SemiJoin) and join.mark is not None:
            parts.given.append(Given(only_columns(right, ()), join.mark))
            return parts
    other = take_apart(right)
    members = _members(join, parts) if isinstance(join, SemiJoin) else None
    if isinstance(other, NoStar) or other.sides or other.given:
        if members is None:
            return reason
        assert isinstance(join, SemiJoin)
        parts.sides.append(Side(join.kind, (), (), join.mark, members))
        return parts
    if isinstance(join, OuterJoin) and not all(
        isinstance(each, Column) for each in other.definitions.values()
    ):
        return reason  # what is computed of the right side's columns may not be NULL without them
    definitions = {**parts.definitions, **other.definitions}
    conditions = [*other.conditions]
    for condition in join.conditions:
        conditions += conjuncts(substitute(condition, definitions))
    scans = tuple(other.scans)
    if isinstance(join, OuterJoin):
        parts.definitions = definitions
        parts.sides.append(Side("left", scans, tuple(conditions)))
    else:
        parts.sides.append(Side(join.kind, scans, tuple(conditions), join.mark, members))
    return parts


def _members(join: SemiJoin, parts: Parts) -> tuple[Given, Expression] | None:
    """Return a subquery and that a value is among its values; None where more is compared."""
    left, right = join.left.column_set, join.right.column_set
    conditions = [part for condition in join.conditions for part in conjuncts(condition)]
    own = [part for part in conditions if columns_of(part) <= right]
    others = [part for part in conditions if part not in own]
    match others:
        case [Call(function="equal", arguments=(one, other))] if _is_settled(join.right):
            value, member = (other, one) if one in right else (one, other)
        case _:
            return None
    if not isinstance(member, Column) or member not in right or not columns_of(value) <= left:
        return None
    listed = replace(member, type=pa.list_(member.type))
    given = Given(only_columns(filter_rows(join.right, own), (member,)), None, listed)
    value = substitute(value, parts.definitions)
    if is_volatile(value):
        return None
    return given, Call("list_contains", (listed, value), pa.bool_())


def _is_settled(plan: Plan) -> bool:
    """Tell whether a plan gives the same rows whenever it runs, and shares none with another."""
    nodes = [plan]
    for node in nodes:
        nodes += node.sources
    return not any(
        isinstance(node, CommonTable | WorkingTable) or any(map(is_volatile, node.expressions))
        for node in nodes
    )
