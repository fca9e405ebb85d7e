"""The base of plan nodes: what rules, checks and EXPLAIN ask of every node.

A node declares which of its fields hold its sources, its expressions, and the columns that it
defines with what they are computed of; the rest follows from these. Its file overrides what is
different about it.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

from raydb.planner.expressions.nodes import (
    AggregateCall,
    Column,
    Expression,
    WindowCall,
    columns_of,
    expressions_of,
    map_call,
    rewrite_calls,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import CommonTable, Plan
    from raydb.planner.plan.statistics import Statistics

# Columns with what they are computed of.
Items: TypeAlias = tuple[tuple[Column, Expression], ...]
Calls: TypeAlias = tuple[tuple[Column, AggregateCall], ...]

# All columns of a plan, and those that some node of it gives.
Mentioned: TypeAlias = tuple[frozenset[Column], frozenset[Column]]


class Node:
    """A step of a plan: rows made of the rows of its sources.

    source_fields: fields that hold a plan, or a tuple of plans.
    expression_fields: fields that hold an expression or tuples of expressions.
    definition_fields: fields that hold pairs of a column and an expression or a call.
    column_fields: fields that hold other columns of which the node is the origin.
    """

    # What was found of the node, as every rule asks: `column_set`, `Scan.is_numbered`, and what
    # `common_tables` tells.
    __slots__ = ("_column_set", "_is_numbered", "holds_enums", "mentioned", "references")
    _column_set: frozenset[Column]
    _is_numbered: bool
    holds_enums: bool
    mentioned: Mentioned
    references: tuple[CommonTable, ...]

    # What EXPLAIN calls the node.
    explain_name: ClassVar[str]
    source_fields: ClassVar[tuple[str, ...]] = ()
    expression_fields: ClassVar[tuple[str, ...]] = ()
    definition_fields: ClassVar[tuple[str, ...]] = ()
    column_fields: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # what `replace` calls, which takes as long again

        def __replace__(self, **changes: Any) -> Self: ...

    @property
    def sources(self) -> tuple[Plan, ...]:
        """The plans whose rows the node reads; the query of a CommonTable is none of them."""
        fields = self.source_fields
        return tuple([getattr(self, name) for name in fields]) if fields else ()

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plans below the node when it runs, the query of a CommonTable among them."""
        return self.sources

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the node's rows, in order."""
        return (*[c for source in self.sources for c in source.columns], *self.defined)

    @property
    def column_set(self) -> frozenset[Column]:
        """The columns of the node's rows as a set, which is made once."""
        known: frozenset[Column] | None = getattr(self, "_column_set", None)
        if known is None:
            if self.source_fields and type(self).columns is Node.columns and not self.defined:
                # To unite sets takes less than to hash columns.
                known = frozenset[Column]().union(*[source.column_set for source in self.sources])
            else:
                known = frozenset(self.columns)
            object.__setattr__(self, "_column_set", known)
        return known

    @property
    def defined(self) -> tuple[Column, ...]:
        """The columns whose numbers begin here; one that passes through keeps its number."""
        if not self.definition_fields and not self.column_fields:
            return ()  # every rule asks, mostly of filters and joins
        definitions = [item for name in self.definition_fields for item in getattr(self, name)]
        own = [column for column, value in definitions if column != value]
        for name in self.column_fields:
            held = getattr(self, name)
            own += held if isinstance(held, tuple) else () if held is None else (held,)
        return tuple(own)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions of the node itself."""
        if not self.definition_fields and not self.expression_fields:
            return ()
        found: list[Expression] = []
        for name in self.definition_fields:
            for _, value in getattr(self, name):
                _add_expressions(value, found)
        for name in self.expression_fields:
            _add_expressions(getattr(self, name), found)
        return tuple(found)

    @property
    def required_columns(self) -> frozenset[Column]:
        """The columns of its sources that the node itself reads."""
        return columns_of(*self.expressions)

    @property
    def summary(self) -> str:
        """What EXPLAIN prints behind the node's name."""
        return ""

    @property
    def details(self) -> dict[str, Any]:
        """What else EXPLAIN says of the node, as JSON values."""
        return {}

    def map_sources(self, change: Callable[[Plan], Plan], *, leaves: bool = True) -> Self:
        """Return the node with `change` applied to each source; itself where none changes.

        leaves: whether to those too that have no sources themselves.
        """
        if not self.source_fields:
            return self
        changes: dict[str, Any] = {}
        for name in self.source_fields:
            held = getattr(self, name)
            if type(held) is tuple:
                each = [change(one) if leaves or one.source_fields else one for one in held]
                if not all(map(is_, each, held)):
                    changes[name] = tuple(each)
            elif (leaves or held.source_fields) and (changed := change(held)) is not held:
                changes[name] = changed
        return self.__replace__(**changes) if changes else self

    def map_expressions(self, change: Callable[[Expression], Expression]) -> Self:
        """Return the node with `change` applied to its expressions; itself where none changes."""
        changes = {}
        for name in self.definition_fields:
            items = getattr(self, name)
            changed = tuple([(column, _map_held(held, change)) for column, held in items])
            if not all(new[1] is old[1] for new, old in zip(changed, items, strict=True)):
                changes[name] = changed
        for name in self.expression_fields:
            held = getattr(self, name)
            changed = _map_held(held, change)
            if changed is not held:
                changes[name] = changed
        return self.__replace__(**changes) if changes else self

    def rewrite_calls(self, change: Callable[[Expression], Expression]) -> Plan:
        """Return the plan with `change` applied to every call and subquery in its expressions."""
        if not (self.source_fields or self.expression_fields or self.definition_fields):
            return cast("Plan", self)
        plan = self.map_sources(lambda source: source.rewrite_calls(change))
        return cast("Plan", plan.map_expressions(lambda whole: rewrite_calls(whole, change)))

    def prune(self, needed: frozenset[Column]) -> Plan:
        """Return the node with at least the needed columns, and few others below it."""
        below = needed | self.required_columns
        return cast("Plan", self.map_sources(lambda source: source.prune(below)))

    def estimate(self, statistics: Statistics) -> float:
        """Return about how many rows the node gives: by default as many as its first source."""
        return statistics.row_count(self.sources[0])

    def never_null(self, catalog: CatalogInfo) -> frozenset[Column]:
        """Return the columns that are never NULL, as far as it can be told: by default none."""
        return frozenset()


def read_by(expressions: Iterable[Expression]) -> frozenset[Column]:
    """Return the columns that any of the expressions reads."""
    return columns_of(*expressions)


def _add_expressions(held: Any, found: list[Expression]) -> None:
    """Add the expressions of what a field holds; without a generator, for every rule asks."""
    kind = type(held)
    if kind is tuple:
        for each in held:
            _add_expressions(each, found)
    elif kind is AggregateCall or kind is WindowCall:
        found += expressions_of(held)
    else:
        found.append(held)


def _map_held(held: Any, change: Callable[[Expression], Expression]) -> Any:
    """Return what a field holds with `change` applied to its expressions."""
    match held:
        case tuple():
            changed = tuple([_map_held(each, change) for each in held])
            return held if all(map(is_, changed, held)) else changed
        case AggregateCall():
            return map_call(held, change)
        case WindowCall():
            return map_call(held, change)
        case _:
            return change(held)
