"""Scalar expressions: sqlglot's trees to bound expressions, by a binder for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from sqlglot import exp

from raydb.errors import Error
from raydb.late import LateTable
from raydb.planner.expressions.collations import collation_of
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Column,
    Expression,
    WindowCall,
)
from raydb.planner.expressions.types import INTEGER, TEXT, is_half_vector, widened
from raydb.planner.expressions.typing_rules import as_condition, cast
from raydb.sql.bind.scope import Scope
from raydb.sql.parse.nodes import locate, require_only, unsupported
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raydb.sql.bind.binding import Binding

Resolve = Callable[[str, str | None], Expression]
_Key = TypeVar("_Key")


def _once(
    known: dict[_Key, Column],
    key: _Key,
    numbers: Iterator[int],
    name: str,
    kind: pa.DataType,
    arguments: Sequence[Expression] = (),
) -> Column:
    """Return the column that stands for a key, new at its first appearance.

    arguments: those of a function, of which the first hands its collation on.
    """
    found = known.get(key)
    if found is None:
        is_text = kind == TEXT and len(arguments) > 0
        collation = collation_of(arguments[0]) if is_text else ""
        found = known[key] = Column(next(numbers), name, kind, collation)
    return found


@dataclass(frozen=True, slots=True)
class AggregateList:
    """The aggregates of one query in order of appearance, each once.

    `groupings` has the column that stands for GROUPING() of its arguments.
    """

    numbers: Iterator[int]
    calls: dict[AggregateCall, Column] = field(default_factory=dict)
    groupings: dict[tuple[Expression, ...], Column] = field(default_factory=dict)

    def column_of(self, call: AggregateCall) -> Column:
        """Return the column that holds an aggregate's result."""
        return _once(self.calls, call, self.numbers, call.shown, call.type, call.arguments)

    def grouping_of(self, arguments: tuple[Expression, ...]) -> Column:
        """Return the column that stands for GROUPING(arguments)."""
        return _once(self.groupings, arguments, self.numbers, "grouping", INTEGER)


@dataclass(frozen=True, slots=True)
class WindowList:
    """The window functions of one query in order of appearance, each once.

    `named` has the windows of the WINDOW clause by their folded names.
    """

    numbers: Iterator[int]
    named: Mapping[str, exp.Expr] = field(default_factory=dict)
    calls: dict[WindowCall, Column] = field(default_factory=dict)

    def column_of(self, call: WindowCall) -> Column:
        """Return the column that holds a window function's result."""
        return _once(self.calls, call, self.numbers, call.function, call.type, call.arguments)


@dataclass(frozen=True, slots=True)
class UnnestList:
    """The lists whose elements are rows of one query, in order of appearance, each once."""

    numbers: Iterator[int]
    lists: dict[Expression, Column] = field(default_factory=dict)

    def column_of(self, operand: Expression) -> Column:
        """Return the column that holds a list's elements."""
        return _once(self.lists, operand, self.numbers, "unnest", operand.type.value_type)


@dataclass(frozen=True, slots=True)
class Context:
    """Where an expression stands: what its names and parameters mean.

    `clause` names the place in messages; aggregates are collected in `aggregates`, and window
    functions in `windows`; each is an error where its list is None. A subquery sees the names of
    `scope` from outside; there are none where `binding` is None.
    """

    resolve: Resolve
    parameters: Mapping[str, Expression]
    clause: str
    aggregates: AggregateList | None = None
    windows: WindowList | None = None
    unnests: UnnestList | None = None
    scope: Scope = field(default_factory=Scope)
    binding: Binding | None = None


# What hands its operands on as they are.
_TAKEN_WHOLE = (
    *(exp.Select, exp.Alias, exp.Paren, exp.Group, exp.Tuple, exp.Subquery, type(None)),
    *(exp.Cast, exp.TryCast, exp.Rollup, exp.Cube, exp.GroupingSets),
)

_ARRAY = pa.list_(pa.float32(), 1).id
_Binder = Callable[[exp.Expr, Context], Expression]


# For each kind of node its binder and the arguments that the binder reads.
def _import_binders() -> None:
    for name in ("calls", "operators", "plain"):
        import_module(f"raydb.sql.bind.expression.{name}")


_BINDERS = LateTable[type[exp.Expr], tuple[_Binder, frozenset[str]]](_import_binders)


def binds(*kinds: type[exp.Expr], reads: str = "") -> Callable[[_Binder], _Binder]:
    """Register the binder of some kinds of nodes, which reads the arguments of those names."""

    def register(binder: _Binder) -> _Binder:
        _BINDERS.update(dict.fromkeys(kinds, (binder, frozenset(reads.split()))))
        return binder

    return register


def bind_expression(node: exp.Expr, context: Context) -> Expression:
    """Return the bound expression of a tree, with casts wherever an operator needs them.

    Raises ProgrammingError for unknown names, wrong types and misplaced aggregates, and
    NotSupportedError for a kind of node, or an argument of one, that is not handled here.
    """
    try:
        try:
            binder, arguments = _BINDERS[type(node)]
        except KeyError:
            raise unsupported(node) from None
        if not node.args.keys() <= arguments:
            require_only(node, *arguments)
        bound = binder(node, context)
        return bound if bound.type.id != _ARRAY else _computable(node, bound)
    except Error as error:
        locate(error, node)
        raise


def _computable(node: exp.Expr, bound: Expression) -> Expression:
    """Return an expression as what it is an operand of takes it: FLOAT16[n] as FLOAT[n].

    As it is where it is given as a whole, is a key of a group, or is about to be cast.
    """
    if not is_half_vector(bound.type) or isinstance(node.parent, _TAKEN_WHOLE):
        return bound
    if isinstance(node.parent, exp.Anonymous) and node.parent.name.lower() == "typeof":
        return bound
    return cast(bound, widened(bound.type))


def bind_all_of(nodes: Iterable[exp.Expr | None], context: Context) -> list[Expression]:
    """Return the bound expressions of those nodes that there are."""
    return [bind_expression(node, context) for node in nodes if node is not None]


def bind_condition(node: exp.Expr, context: Context) -> Expression:
    """Return the bound expression of a condition such as the one behind WHERE."""
    return as_condition(bind_expression(node, context), context.clause)
