"""Scalar expressions: sqlglot's trees to bound expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expression import AggregateCall, Call, Column, Expression, Literal
from raydb.sql.functions import (
    bind_aggregate,
    bind_scalar,
    date_part,
    is_aggregate,
    substring,
    trim,
)
from raydb.sql.literals import number_literal
from raydb.sql.nodes import require_only, unsupported
from raydb.sql.parameters import parameter_key
from raydb.sql.reader import fold
from raydb.sql.types import data_type_of
from raydb.sql.typing_rules import (
    BOOLEAN,
    arithmetic,
    as_boolean,
    choose,
    compare,
    concatenate,
    describe,
    explicit_cast,
    is_distinct,
    is_in,
    logical,
    negate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Resolve = Callable[[str, str | None], Expression]


@dataclass(frozen=True, slots=True)
class AggregateList:
    """The aggregates of one query in order of appearance, each once."""

    numbers: Iterator[int]
    calls: dict[AggregateCall, Column] = field(default_factory=dict)

    def column_of(self, call: AggregateCall) -> Column:
        """Return the column that holds an aggregate's result, new at its first appearance."""
        if call not in self.calls:
            self.calls[call] = Column(next(self.numbers), call.function, call.type)
        return self.calls[call]


@dataclass(frozen=True, slots=True)
class Context:
    """Where an expression stands: what its names and parameters mean.

    `clause` names the place in messages; aggregates are collected in `aggregates`, and are an
    error where it is None.
    """

    resolve: Resolve
    parameters: Mapping[str, Literal]
    clause: str
    aggregates: AggregateList | None = None


def bind_expression(node: exp.Expr, context: Context) -> Expression:
    """Return the bound expression of a tree, with casts wherever an operator needs them.

    Raises ProgrammingError for unknown names, wrong types and misplaced aggregates, and
    NotSupportedError for a kind of node, or an argument of one, that is not handled here.
    """
    entry = _BINDERS.get(type(node))
    if entry is None:
        raise unsupported(node)
    binder, arguments = entry
    require_only(node, *arguments)
    return binder(node, context)


def bind_condition(node: exp.Expr, context: Context) -> Expression:
    """Return the bound expression of a condition such as the one behind WHERE."""
    return as_boolean(bind_expression(node, context), context.clause)


def _column(node: exp.Expr, context: Context) -> Expression:
    if isinstance(node.this, exp.Star):
        raise ProgrammingError(f"* is not allowed in {context.clause}")
    table = node.args.get("table")
    return context.resolve(fold(node.this), None if table is None else fold(table))


def _star(_: exp.Expr, context: Context) -> Expression:
    raise ProgrammingError(f"* is not allowed in {context.clause}")


def _alias(node: exp.Expr, context: Context) -> Expression:
    raise ProgrammingError(f"the alias '{node.alias}' is not allowed inside {context.clause}")


def _paren(node: exp.Expr, context: Context) -> Expression:
    return bind_expression(node.this, context)


def _literal(node: exp.Expr, _: Context) -> Expression:
    if node.is_string:
        return Literal(node.name, pa.string())
    return number_literal(node.name)


def _boolean(node: exp.Expr, _: Context) -> Expression:
    return Literal(bool(node.this), BOOLEAN)


def _null(_: exp.Expr, __: Context) -> Expression:
    return Literal(None, pa.null())


def _parameter(node: exp.Expr, context: Context) -> Expression:
    key = parameter_key(node)
    if key not in context.parameters:
        raise ProgrammingError(f"a parameter is not allowed in {context.clause}")
    return context.parameters[key]


def _comparison(function: str) -> _Binder:
    def bind(node: exp.Expr, context: Context) -> Expression:
        return compare(function, *_both(node, context))

    return bind


def _arithmetic(node: exp.Expr, context: Context) -> Expression:
    # A long sum leans to the left; a loop keeps it off Python's stack.
    chain: list[exp.Expr] = []
    while type(node) in _ARITHMETIC:
        require_only(node, *_BINARY)
        chain.append(node)
        node = node.this
    result = bind_expression(node, context)
    for each in reversed(chain):
        right = bind_expression(each.expression, context)
        result = arithmetic(_ARITHMETIC[type(each)], result, right)
    return result


def _connector(function: str) -> _Binder:
    def bind(node: exp.Expr, context: Context) -> Expression:
        kind = type(node)
        operands: list[exp.Expr] = []
        while isinstance(node, kind):
            require_only(node, "this", "expression")
            operands.append(node.expression)
            node = node.this
        operands.append(node)
        return logical(function, [bind_expression(each, context) for each in reversed(operands)])

    return bind


def _both(node: exp.Expr, context: Context) -> tuple[Expression, Expression]:
    return bind_expression(node.this, context), bind_expression(node.expression, context)


def _not(node: exp.Expr, context: Context) -> Expression:
    return logical("not", (bind_expression(node.this, context),))


def _negate(node: exp.Expr, context: Context) -> Expression:
    return negate(bind_expression(node.this, context))


def _between(node: exp.Expr, context: Context) -> Expression:
    operand = bind_expression(node.this, context)
    low = bind_expression(node.args["low"], context)
    high = bind_expression(node.args["high"], context)
    return logical(
        "and", (compare("greater_equal", operand, low), compare("less_equal", operand, high))
    )


def _in(node: exp.Expr, context: Context) -> Expression:
    operand = bind_expression(node.this, context)
    return is_in(operand, [bind_expression(item, context) for item in node.expressions])


def _is(node: exp.Expr, context: Context) -> Expression:
    operand = bind_expression(node.this, context)
    match node.expression:
        case exp.Null():
            answer: Expression = Call("is_null", (operand,), BOOLEAN)
        case exp.Boolean() as wanted:
            condition = as_boolean(operand, "IS TRUE or IS FALSE")
            if not wanted.this:
                condition = logical("not", (condition,))
            answer = Call("coalesce", (condition, Literal(False, BOOLEAN)), BOOLEAN)
        case other:
            raise unsupported(other)
    return logical("not", (answer,)) if node.args.get("negate") else answer


def _distinct_from(node: exp.Expr, context: Context) -> Expression:
    return is_distinct(*_both(node, context))


def _not_distinct_from(node: exp.Expr, context: Context) -> Expression:
    return logical("not", (is_distinct(*_both(node, context)),))


def _like(function: str) -> _Binder:
    def bind(node: exp.Expr, context: Context) -> Expression:
        operand, pattern = _both(node, context)
        for each in (operand, pattern):
            if each.type not in (pa.string(), pa.null()):
                raise ProgrammingError(f"LIKE needs strings, not {describe(each)}")
        if not isinstance(pattern, Literal):
            raise NotSupportedError("LIKE with a pattern that is not a constant is not supported")
        if pattern.value is None or operand.type == pa.null():
            return Literal(None, BOOLEAN)
        answer = Call(function, (operand, pattern), BOOLEAN)
        return logical("not", (answer,)) if node.args.get("negate") else answer

    return bind


def _concat(node: exp.Expr, context: Context) -> Expression:
    return concatenate(*_both(node, context))


def _cast(node: exp.Expr, context: Context) -> Expression:
    target = data_type_of(node.args["to"])
    return explicit_cast(bind_expression(node.this, context), target)


def _case(node: exp.Expr, context: Context) -> Expression:
    operand = node.this
    subject = None if operand is None else bind_expression(operand, context)
    conditions: list[Expression] = []
    values: list[Expression] = []
    for branch in node.args["ifs"]:
        require_only(branch, "this", "true")
        when = bind_expression(branch.this, context)
        conditions.append(
            as_boolean(when, "WHEN") if subject is None else compare("equal", subject, when)
        )
        values.append(bind_expression(branch.args["true"], context))
    default = node.args.get("default")
    values.append(
        Literal(None, pa.null()) if default is None else bind_expression(default, context)
    )
    return choose(conditions, values)


def _extract(node: exp.Expr, context: Context) -> Expression:
    return date_part(node.this.name.lower(), bind_expression(node.expression, context))


def _substring(node: exp.Expr, context: Context) -> Expression:
    parts = (node.this, node.args.get("start"), node.args.get("length"))
    return substring(*(bind_expression(part, context) for part in parts if part is not None))


def _trim(node: exp.Expr, context: Context) -> Expression:
    if node.args.get("position") or node.expression is not None:
        raise NotSupportedError("trim() of one side or of other characters is not supported")
    return trim(bind_expression(node.this, context))


def _function(node: exp.Expr, context: Context) -> Expression:
    name = fold(node.this) if isinstance(node.this, exp.Identifier) else node.name.lower()
    if is_aggregate(name):
        return _aggregate(name, node.expressions, context)
    return bind_scalar(name, [bind_expression(each, context) for each in node.expressions])


def _aggregate(name: str, arguments: list[exp.Expr], context: Context) -> Expression:
    if context.aggregates is None:
        raise ProgrammingError(f"{context.clause} cannot contain the aggregate {name}")
    inner = Context(context.resolve, context.parameters, "an aggregate")
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        require_only(arguments[0], "expressions")
        arguments = arguments[0].expressions
    if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        require_only(arguments[0])
        if distinct:
            raise ProgrammingError("count(DISTINCT *) is not possible; name a column")
        return context.aggregates.column_of(AggregateCall("count_star", (), pa.int64()))
    bound = [bind_expression(argument, inner) for argument in arguments]
    return context.aggregates.column_of(bind_aggregate(name, bound, distinct))


_Binder = Callable[[exp.Expr, Context], Expression]
_BINARY = ("this", "expression", "typed", "safe")  # the last two describe PostgreSQL's `/`
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
}
# For each kind of node its binder and the arguments that the binder reads.
_BINDERS: dict[type[exp.Expr], tuple[_Binder, tuple[str, ...]]] = {
    exp.Column: (_column, ("this", "table")),
    exp.Star: (_star, ()),
    exp.Alias: (_alias, ("this", "alias")),
    exp.Paren: (_paren, ("this",)),
    exp.Literal: (_literal, ("this", "is_string")),
    exp.Boolean: (_boolean, ("this",)),
    exp.Null: (_null, ()),
    exp.Parameter: (_parameter, ("this",)),
    exp.Placeholder: (_parameter, ("this",)),
    exp.And: (_connector("and"), ("this", "expression")),
    exp.Or: (_connector("or"), ("this", "expression")),
    exp.Not: (_not, ("this",)),
    exp.Neg: (_negate, ("this",)),
    exp.Between: (_between, ("this", "low", "high")),
    exp.In: (_in, ("this", "expressions")),
    exp.Is: (_is, ("this", "expression", "negate")),
    exp.NullSafeEQ: (_not_distinct_from, ("this", "expression")),
    exp.NullSafeNEQ: (_distinct_from, ("this", "expression")),
    exp.Like: (_like("like"), ("this", "expression", "negate")),
    exp.ILike: (_like("ilike"), ("this", "expression", "negate")),
    exp.DPipe: (_concat, ("this", "expression", "safe")),
    exp.Cast: (_cast, ("this", "to")),
    exp.Case: (_case, ("this", "ifs", "default")),
    exp.Extract: (_extract, ("this", "expression")),
    exp.Substring: (_substring, ("this", "start", "length")),
    exp.Trim: (_trim, ("this", "position", "expression")),
    exp.Anonymous: (_function, ("this", "expressions")),
    **{kind: (_comparison(name), ("this", "expression")) for kind, name in _COMPARISONS.items()},
    **dict.fromkeys(_ARITHMETIC, (_arithmetic, _BINARY)),
}
