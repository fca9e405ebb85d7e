"""Scalar expressions: sqlglot's trees to bound expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import Error, NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Column,
    Expression,
    Literal,
    WindowCall,
)
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, SearchFunction
from raydb.sql.bind.expression.aggregate_call import bind_aggregate_call, function_name, read_call
from raydb.sql.bind.expression.constants import (
    escaped_string,
    hex_constant,
    interval_constant,
    interval_unit,
    joined_string,
)
from raydb.sql.bind.expression.literals import constant
from raydb.sql.bind.expression.operators import arithmetic, concatenate, negate
from raydb.sql.bind.expression.quantified import compare_all, compare_any
from raydb.sql.bind.expression.row_values import compare_rows, row_nodes, rows_are_distinct
from raydb.sql.bind.expression.subquery import (
    bind_all,
    bind_any,
    bind_exists,
    bind_row_subquery,
    bind_scalar_subquery,
    query_in,
)
from raydb.sql.bind.expression.window_call import bind_window, is_window_function
from raydb.sql.bind.scope import Scope
from raydb.sql.functions import (
    bind_scalar,
    bitwise,
    current_moment,
    date_part,
    interval_of_units,
    is_aggregate,
    list_element,
    list_of,
    list_operand,
    list_slice,
    match,
    overlay,
    position,
    power,
    shift,
    substring,
    trim,
)
from raydb.sql.parse.nodes import locate, require_only, unsupported
from raydb.sql.parse.reader import fold
from raydb.sql.template.parameters import parameter_key
from raydb.sql.types import data_type_of
from raydb.sql.typing_rules import (
    BOOLEAN,
    as_boolean,
    choose,
    compare,
    explicit_cast,
    is_in,
    logical,
    try_cast,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.sql.bind.binding import Binding

Resolve = Callable[[str, str | None], Expression]


@dataclass(frozen=True, slots=True)
class AggregateList:
    """The aggregates of one query in order of appearance, each once.

    `groupings` has the column that stands for GROUPING() of its arguments.
    """

    numbers: Iterator[int]
    calls: dict[AggregateCall, Column] = field(default_factory=dict)
    groupings: dict[tuple[Expression, ...], Column] = field(default_factory=dict)

    def column_of(self, call: AggregateCall) -> Column:
        """Return the column that holds an aggregate's result, new at its first appearance."""
        if call not in self.calls:
            self.calls[call] = Column(next(self.numbers), call.function, call.type)
        return self.calls[call]

    def grouping_of(self, arguments: tuple[Expression, ...]) -> Column:
        """Return the column that stands for GROUPING(arguments)."""
        if arguments not in self.groupings:
            self.groupings[arguments] = Column(next(self.numbers), "grouping", pa.int32())
        return self.groupings[arguments]


@dataclass(frozen=True, slots=True)
class WindowList:
    """The window functions of one query in order of appearance, each once.

    `named` has the windows of the WINDOW clause.
    """

    numbers: Iterator[int]
    named: Mapping[str, exp.Expr] = field(default_factory=dict)
    calls: dict[WindowCall, Column] = field(default_factory=dict)

    def column_of(self, call: WindowCall) -> Column:
        """Return the column that holds a window function's result, new at its first appearance."""
        if call not in self.calls:
            self.calls[call] = Column(next(self.numbers), call.function, call.type)
        return self.calls[call]


@dataclass(frozen=True, slots=True)
class UnnestList:
    """The lists whose elements are rows of one query, in order of appearance, each once."""

    numbers: Iterator[int]
    lists: dict[Expression, Column] = field(default_factory=dict)

    def column_of(self, operand: Expression) -> Column:
        """Return the column that holds a list's elements, new at its first appearance."""
        if operand not in self.lists:
            element = operand.type.value_type
            self.lists[operand] = Column(next(self.numbers), "unnest", element)
        return self.lists[operand]


@dataclass(frozen=True, slots=True)
class Context:
    """Where an expression stands: what its names and parameters mean.

    `clause` names the place in messages; aggregates are collected in `aggregates`, and window
    functions in `windows`; each is an error where its list is None. A subquery sees the names of
    `scope` from outside; there are none where `binding` is None.
    """

    resolve: Resolve
    parameters: Mapping[str, Literal]
    clause: str
    aggregates: AggregateList | None = None
    windows: WindowList | None = None
    unnests: UnnestList | None = None
    scope: Scope = field(default_factory=Scope)
    binding: Binding | None = None


def bind_expression(node: exp.Expr, context: Context) -> Expression:
    """Return the bound expression of a tree, with casts wherever an operator needs them.

    Raises ProgrammingError for unknown names, wrong types and misplaced aggregates, and
    NotSupportedError for a kind of node, or an argument of one, that is not handled here.
    """
    try:
        entry = _BINDERS.get(type(node))
        if entry is None:
            raise unsupported(node)
        binder, arguments = entry
        require_only(node, *arguments)
        return binder(node, context)
    except Error as error:
        locate(error, node)
        raise


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


def _literal(node: exp.Expr, context: Context) -> Expression:
    literal = constant(node.name, is_string=node.is_string)
    slots = None if context.binding is None else context.binding.slots
    return literal if slots is None else slots.parameterize(node, literal)


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
        left, right = _row(node.this, context), node.expression
        match right:
            case exp.Any() | exp.All():
                require_only(right, "this")
                every = isinstance(right, exp.All)
                query = query_in(right.this)
                if query is not None:
                    return (bind_all if every else bind_any)(function, left, query, context)
                compare_each = compare_all if every else compare_any
                return compare_each(function, left, bind_expression(right.this, context))
            case exp.Anonymous(expressions=[values]) if right.name.upper() in ("ALL", "SOME"):
                compare_each = compare_all if right.name.upper() == "ALL" else compare_any
                return compare_each(function, left, bind_expression(values, context))
            case exp.Subquery() if len(left) > 1:
                return bind_row_subquery(function, left, right, context)
            case _:
                return compare_rows(function, left, _row(right, context))

    return bind


def _row(node: exp.Expr, context: Context) -> list[Expression]:
    """Return the values of a row, or the one value of any other expression."""
    nodes = row_nodes(node)
    return [bind_expression(each, context) for each in ([node] if nodes is None else nodes)]


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
    if node.args.get("symmetric"):
        return logical("or", [_lies_between(operand, *ends) for ends in ((low, high), (high, low))])
    return _lies_between(operand, low, high)


def _lies_between(operand: Expression, low: Expression, high: Expression) -> Expression:
    bounds = compare("greater_equal", operand, low), compare("less_equal", operand, high)
    return logical("and", bounds)


def _in(node: exp.Expr, context: Context) -> Expression:
    operands, items = _row(node.this, context), node.expressions
    query = node.args.get("query")
    if query is None and len(items) == 1 and isinstance(items[0], exp.Values):
        query = items[0]
    if query is not None:
        return bind_any("equal", operands, query, context)
    if len(operands) == 1:
        return is_in(operands[0], [bind_expression(item, context) for item in items])
    return logical("or", [compare_rows("equal", operands, _row(item, context)) for item in items])


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
    return rows_are_distinct(_row(node.this, context), _row(node.expression, context))


def _not_distinct_from(node: exp.Expr, context: Context) -> Expression:
    return logical("not", (_distinct_from(node, context),))


def _match(operator: str) -> _Binder:
    def bind(node: exp.Expr, context: Context) -> Expression:
        answer = match(operator, *_both(node, context))
        return logical("not", (answer,)) if node.args.get("negate") else answer

    return bind


def _escape(node: exp.Expr, context: Context) -> Expression:
    """Return LIKE or SIMILAR TO with ESCAPE behind it."""
    inner = node.this
    operator = _ESCAPABLE.get(type(inner))
    if operator is None:
        raise unsupported(node)
    require_only(inner, "this", "expression", "negate")
    answer = match(operator, *_both(inner, context), bind_expression(node.expression, context))
    return logical("not", (answer,)) if inner.args.get("negate") else answer


def _operator(combine: Callable[..., Expression], *symbol: str) -> _Binder:
    """Return the binder of an operator of one or two operands."""

    def bind(node: exp.Expr, context: Context) -> Expression:
        nodes = (node.this, node.expression)
        return combine(*symbol, *(bind_expression(each, context) for each in nodes if each))

    return bind


def _concat(node: exp.Expr, context: Context) -> Expression:
    return concatenate(*_both(node, context))


def _cast(node: exp.Expr, context: Context) -> Expression:
    target = data_type_of(node.args["to"])
    return explicit_cast(bind_expression(node.this, context), target)


def _try_cast(node: exp.Expr, context: Context) -> Expression:
    return try_cast(bind_expression(node.this, context), data_type_of(node.args["to"]))


def _constant(read: Callable[[exp.Expr], Literal]) -> _Binder:
    return lambda node, _: read(node)


def _interval(node: exp.Expr, context: Context) -> Expression:
    assert isinstance(node, exp.Interval)
    if isinstance(node.this, exp.Literal):
        return interval_constant(node)
    return interval_of_units(bind_expression(node.this, context), interval_unit(node))


def _current(name: str) -> _Binder:
    return lambda _, __: current_moment(name)


def _array(node: exp.Expr, context: Context) -> Expression:
    return list_of([bind_expression(each, context) for each in node.expressions])


def _bracket(node: exp.Expr, context: Context) -> Expression:
    """Return list[index] or list[first:last]."""
    operand = bind_expression(node.this, context)
    if len(node.expressions) != 1:
        raise NotSupportedError("a subscript of several numbers is not supported; write a[1][2]")
    index = node.expressions[0]
    if not isinstance(index, exp.Slice):
        return list_element(operand, bind_expression(index, context))
    require_only(index, "this", "expression")
    bounds = (index.this, index.expression)
    first, last = (None if each is None else bind_expression(each, context) for each in bounds)
    return list_slice(operand, first, last)


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
    nodes = [each for each in (node.this, node.expression) if each is not None]
    side = (node.args.get("position") or "both").lower()
    return trim(*(bind_expression(each, context) for each in nodes), side=side)


def _position(node: exp.Expr, context: Context) -> Expression:
    nodes = (node.args["substr"], node.this)
    return position(*(bind_expression(each, context) for each in nodes))


def _overlay(node: exp.Expr, context: Context) -> Expression:
    parts = (node.this, node.expression, node.args["from_"], node.args.get("for_"))
    return overlay(*(bind_expression(part, context) for part in parts if part is not None))


def _function(node: exp.Expr, context: Context) -> Expression:
    name = function_name(node)
    if name == "exists" and len(node.expressions) == 1 and query_in(node.expressions[0]):
        return bind_exists(node.expressions[0], context)  # EXISTS (VALUES ...)
    if is_aggregate(name) or is_window_function(name):
        return _aggregate(node, context)
    if name == "unnest":
        return _unnest(node, context)
    if isinstance(TABLE_FUNCTIONS.get(name), SearchFunction):
        raise ProgrammingError(f"{name}() gives rows, so it stands in FROM")
    if name in ("grouping", "grouping_id"):
        return _grouping(node, context)
    return bind_scalar(name, [bind_expression(each, context) for each in node.expressions])


def _aggregate(node: exp.Expr, context: Context) -> Expression:
    written = read_call(node)
    if is_window_function(written.name):
        raise ProgrammingError(f"the window function {written.name}() needs OVER (...)")
    if not is_aggregate(written.name):
        raise ProgrammingError(f"{written.name}() is no aggregate")
    if context.aggregates is None:
        raise ProgrammingError(f"{context.clause} cannot contain the aggregate {written.name}")
    inner = replace(context, clause="an aggregate", aggregates=None, windows=None, unnests=None)
    return context.aggregates.column_of(bind_aggregate_call(written, inner, bind_expression))


def _unnest(node: exp.Expr, context: Context) -> Expression:
    if context.unnests is None:
        raise ProgrammingError(
            f"{context.clause} cannot contain unnest(), which is for FROM and the select list"
        )
    if len(node.expressions) != 1:
        raise ProgrammingError(f"unnest() takes 1 argument here, not {len(node.expressions)}")
    inner = replace(context, clause="unnest()", unnests=None)
    return context.unnests.column_of(list_operand(bind_expression(node.expressions[0], inner)))


def _window(node: exp.Expr, context: Context) -> Expression:
    return bind_window(node, context, bind_expression)


def _grouping(node: exp.Expr, context: Context) -> Expression:
    if context.aggregates is None:
        raise ProgrammingError(f"{context.clause} cannot contain GROUPING")
    if not node.expressions:
        raise ProgrammingError("GROUPING needs keys of GROUP BY")
    inner = replace(context, clause="GROUPING", aggregates=None)
    keys = tuple(bind_expression(each, inner) for each in node.expressions)
    return context.aggregates.grouping_of(keys)


def _exists(node: exp.Expr, context: Context) -> Expression:
    return bind_exists(node.this, context)


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
_CURRENT: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
}
_ESCAPABLE: dict[type[exp.Expr], str] = {
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.SimilarTo: "similar",
}
_MATCHES = {**_ESCAPABLE, exp.Glob: "glob", exp.RegexpLike: "~", exp.RegexpILike: "~*"}
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
    exp.Between: (_between, ("this", "low", "high", "symmetric")),
    exp.In: (_in, ("this", "expressions", "query")),
    exp.Is: (_is, ("this", "expression", "negate")),
    exp.NullSafeEQ: (_not_distinct_from, ("this", "expression")),
    exp.NullSafeNEQ: (_distinct_from, ("this", "expression")),
    **{kind: (_match(name), ("this", "expression", "negate")) for kind, name in _MATCHES.items()},
    exp.Escape: (_escape, ("this", "expression")),
    exp.Pow: (_operator(power), ("this", "expression")),
    exp.BitwiseAnd: (_operator(bitwise, "&"), _BINARY),
    exp.BitwiseOr: (_operator(bitwise, "|"), _BINARY),
    exp.BitwiseXor: (_operator(bitwise, "#"), _BINARY),
    exp.BitwiseNot: (_operator(bitwise, "~"), ("this",)),
    exp.BitwiseLeftShift: (_operator(shift, "<<"), _BINARY),
    exp.BitwiseRightShift: (_operator(shift, ">>"), _BINARY),
    exp.DPipe: (_concat, ("this", "expression", "safe")),
    exp.Cast: (_cast, ("this", "to")),
    exp.TryCast: (_try_cast, ("this", "to", "safe")),
    exp.HexString: (_constant(hex_constant), ("this",)),
    exp.ByteString: (_constant(escaped_string), ("this",)),
    exp.Concat: (_constant(joined_string), ("expressions", "coalesce")),
    exp.Interval: (_interval, ("this", "unit")),
    exp.Array: (_array, ("expressions", "value_constructor")),
    exp.Bracket: (_bracket, ("this", "expressions")),
    **{kind: (_current(name), ()) for kind, name in _CURRENT.items()},
    exp.Case: (_case, ("this", "ifs", "default")),
    exp.Extract: (_extract, ("this", "expression")),
    exp.Substring: (_substring, ("this", "start", "length")),
    exp.Trim: (_trim, ("this", "position", "expression")),
    exp.StrPosition: (_position, ("this", "substr")),
    exp.Overlay: (_overlay, ("this", "expression", "from_", "for_")),
    exp.Anonymous: (_function, ("this", "expressions")),
    exp.Filter: (_aggregate, ("this", "expression")),
    exp.IgnoreNulls: (_aggregate, ("this",)),
    exp.RespectNulls: (_aggregate, ("this",)),
    exp.WithinGroup: (_aggregate, ("this", "expression")),
    exp.Window: (_window, tuple(exp.Window.arg_types)),
    exp.Exists: (_exists, ("this",)),
    exp.Subquery: (bind_scalar_subquery, ("this", "with_", "order", "limit", "offset")),
    **{kind: (_comparison(name), ("this", "expression")) for kind, name in _COMPARISONS.items()},
    **dict.fromkeys(_ARITHMETIC, (_arithmetic, _BINARY)),
}
