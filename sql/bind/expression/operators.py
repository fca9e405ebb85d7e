"""Operators, CAST and CASE, bound: what they combine, with casts where they need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError
from raydb.planner.expressions.collations import collate, compared_by, known_collation
from raydb.planner.expressions.functions import patterns
from raydb.planner.expressions.functions.nested import json_texts
from raydb.planner.expressions.literals import is_bare_null
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import (
    arithmetic,
    bitwise,
    concatenate,
    divide_whole,
    negate,
    shift,
)
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.expressions.types import BOOLEAN, TEXT
from raydb.planner.expressions.typing_rules import (
    as_condition,
    choose,
    compare,
    explicit_cast,
    is_in,
    logical,
    try_cast,
)
from raydb.sql.bind.expression import quantified, row_values
from raydb.sql.bind.expression.expression import Context, bind_all_of, bind_expression, binds
from raydb.sql.bind.expression.subquery import bind_all, bind_any, bind_row_subquery, query_in
from raydb.sql.parse.nodes import collation_name, require_only, unsupported
from raydb.sql.types import bound_type, system_type

if TYPE_CHECKING:
    from collections.abc import Sequence


_BOTH = frozenset({"this", "expression"})
# The last two describe PostgreSQL's `/`.
_OPERANDS = frozenset({"this", "expression", "typed", "safe"})
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "divide_whole",  # of integers the same as `/`
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
# What may be more than one value beside a comparison.
_ROWS = (exp.Tuple, exp.Anonymous, exp.Subquery, exp.Any, exp.All)
_BITS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseNot: "~",
}
_SHIFTS: dict[type[exp.Expr], str] = {exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>"}
_DISTANCES: dict[type[exp.Expr], str] = {
    exp.Distance: "array_distance",
    exp.Adjacent: "array_cosine_distance",
    exp.DistanceNd: "array_negative_inner_product",
    exp.Match: "array_l1_distance",
    exp.NestedJSONSelect: "hamming_distance",
}
_ESCAPABLE: dict[type[exp.Expr], str] = {
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.SimilarTo: "similar",
}
# What OPERATOR(pg_catalog.~) may name, and the types to whose text a table's number is cast.
_OPERATORS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "~": exp.RegexpLike,
    "~~": exp.Like,
    "~*": exp.RegexpILike,
}
_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.NAME)
_MATCHES: dict[type[exp.Expr], str] = {
    **_ESCAPABLE,
    exp.Glob: "glob",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
}


@binds(*_COMPARISONS, reads="this expression")
def _comparison(node: exp.Expr, context: Context) -> Expression:
    function, right = _COMPARISONS[type(node)], node.expression
    if type(node.this) not in _ROWS and type(right) not in _ROWS:
        operands = bind_expression(node.this, context), bind_expression(right, context)
        return compare(function, *operands)
    left = _row(node.this, context)
    match right:
        case exp.Any() | exp.All():
            require_only(right, "this")
            return _quantified(function, left, right.this, isinstance(right, exp.All), context)
        case exp.Anonymous(expressions=[values]) if right.name.upper() in ("ALL", "SOME"):
            return _quantified(function, left, values, right.name.upper() == "ALL", context)
        case exp.Subquery() if len(left) > 1:
            return bind_row_subquery(function, left, right, context)
        case _:
            return row_values.compare_rows(function, left, _row(right, context))


def _quantified(
    function: str, left: list[Expression], values: exp.Expr, every: bool, context: Context
) -> Expression:
    """Return the comparison with some row of a query or some element of a list, or with every."""
    query = query_in(values)
    if query is not None:
        return (bind_all if every else bind_any)(function, left, query, context)
    compare_each = quantified.compare_all if every else quantified.compare_any
    return compare_each(function, left, bind_expression(values, context))


def _row(node: exp.Expr, context: Context) -> list[Expression]:
    """Return the values of a row, or the one value of any other expression."""
    nodes = row_values.row_nodes(node)
    return bind_all_of([node] if nodes is None else nodes, context)


def _rows(nodes: Sequence[exp.Expr], context: Context) -> list[list[Expression]]:
    """Return the values of rows; where some node is no row, each is one value."""
    if all(row_values.row_nodes(each) for each in nodes):
        return [_row(each, context) for each in nodes]
    return [[bind_expression(each, context)] for each in nodes]


@binds(*_ARITHMETIC, reads=" ".join(_OPERANDS))
def _arithmetic(node: exp.Expr, context: Context) -> Expression:
    # A long sum leans to the left; a loop keeps it off Python's stack.
    chain: list[exp.Expr] = []
    while type(node) in _ARITHMETIC:
        if not node.args.keys() <= _OPERANDS:
            require_only(node, *_OPERANDS)
        chain.append(node)
        node = node.this
    result = bind_expression(node, context)
    for each in reversed(chain):
        right = bind_expression(each.expression, context)
        if isinstance(each, exp.IntDiv):
            result = divide_whole(result, right)
        else:
            result = arithmetic(_ARITHMETIC[type(each)], result, right)
    return result


@binds(*_DISTANCES, reads="this expression")
def _distance(node: exp.Expr, context: Context) -> Expression:
    name = _DISTANCES[type(node)]
    return SCALARS[name].call(name, _both(node, context))


@binds(exp.And, exp.Or, reads="this expression")
def _connector(node: exp.Expr, context: Context) -> Expression:
    kind = type(node)
    operands: list[exp.Expr] = []
    while type(node) is kind:
        if not node.args.keys() <= _BOTH:
            require_only(node, *_BOTH)
        operands.append(node.expression)
        node = node.this
    operands.append(node)
    operands.reverse()
    return logical("and" if kind is exp.And else "or", bind_all_of(operands, context))


def _both(node: exp.Expr, context: Context) -> list[Expression]:
    """Return the operands of an operator, of which the second may be missing."""
    return bind_all_of((node.this, node.args.get("expression")), context)


@binds(exp.Not, reads="this")
def _not(node: exp.Expr, context: Context) -> Expression:
    return logical("not", (bind_expression(node.this, context),))


@binds(exp.Neg, reads="this")
def _negate(node: exp.Expr, context: Context) -> Expression:
    return negate(bind_expression(node.this, context))


@binds(exp.Between, reads="this low high symmetric")
def _between(node: exp.Expr, context: Context) -> Expression:
    operand, low, high = _rows((node.this, node.args["low"], node.args["high"]), context)
    if node.args.get("symmetric"):
        return logical("or", [_lies_between(operand, *ends) for ends in ((low, high), (high, low))])
    return _lies_between(operand, low, high)


def _lies_between(
    operand: Sequence[Expression], low: Sequence[Expression], high: Sequence[Expression]
) -> Expression:
    """Return the condition of BETWEEN, of rows or of one value each."""
    if len(operand) == len(low) == len(high):
        places = zip(operand, low, high, strict=True)
        operand = [_collated(each, compared_by((each, *ends))) for each, *ends in places]
    bounds = (
        row_values.compare_rows("greater_equal", operand, low),
        row_values.compare_rows("less_equal", operand, high),
    )
    return logical("and", bounds)


def _collated(operand: Expression, collation: str) -> Expression:
    return collate(operand, collation) if collation and operand.type == TEXT else operand


@binds(exp.In, reads="this expressions query field")
def _in(node: exp.Expr, context: Context) -> Expression:
    operands, items = _row(node.this, context), node.expressions
    query = node.args.get("query")
    if query is None and len(items) == 1 and isinstance(items[0], exp.Values):
        query = items[0]
    if query is not None:
        return bind_any("equal", operands, query, context)
    if (values := node.args.get("field")) is not None:  # x IN ?, as DuckDB has it
        return quantified.compare_any("equal", operands, bind_expression(values, context))
    if len(operands) == 1:
        return is_in(operands[0], bind_all_of(items, context))
    return logical(
        "or", [row_values.compare_rows("equal", operands, _row(item, context)) for item in items]
    )


@binds(exp.Is, reads="this expression negate")
def _is(node: exp.Expr, context: Context) -> Expression:
    operand = bind_expression(node.this, context)
    match node.expression:
        case exp.Null():
            answer: Expression = Call("is_null", (operand,), BOOLEAN)
        case exp.Boolean() as wanted:
            condition = as_condition(operand, "IS TRUE or IS FALSE")
            if not wanted.this:
                condition = logical("not", (condition,))
            answer = Call("coalesce", (condition, Literal(False, BOOLEAN)), BOOLEAN)
        case other:
            raise unsupported(other)
    return logical("not", (answer,)) if node.args.get("negate") else answer


@binds(exp.NullSafeNEQ, reads="this expression")
def _distinct_from(node: exp.Expr, context: Context) -> Expression:
    return row_values.rows_are_distinct(_row(node.this, context), _row(node.expression, context))


@binds(exp.NullSafeEQ, reads="this expression")
def _not_distinct_from(node: exp.Expr, context: Context) -> Expression:
    return logical("not", (_distinct_from(node, context),))


def _unless_negated(node: exp.Expr, answer: Expression) -> Expression:
    return logical("not", (answer,)) if node.args.get("negate") else answer


@binds(*_MATCHES, reads="this expression negate")
def _match(node: exp.Expr, context: Context) -> Expression:
    return _unless_negated(node, patterns.match(_MATCHES[type(node)], *_both(node, context)))


@binds(exp.Escape, reads="this expression")
def _escape(node: exp.Expr, context: Context) -> Expression:
    """Return LIKE or SIMILAR TO with ESCAPE behind it."""
    inner = node.this
    operator = _ESCAPABLE.get(type(inner))
    if operator is None:
        raise unsupported(node)
    require_only(inner, "this", "expression", "negate")
    operands = (*_both(inner, context), bind_expression(node.expression, context))
    return _unless_negated(inner, patterns.match(operator, *operands))


@binds(*_BITS, reads=" ".join(_OPERANDS))
def _bitwise(node: exp.Expr, context: Context) -> Expression:
    return bitwise(_BITS[type(node)], *_both(node, context))


@binds(*_SHIFTS, reads=" ".join(_OPERANDS))
def _shift(node: exp.Expr, context: Context) -> Expression:
    return shift(_SHIFTS[type(node)], *_both(node, context))


@binds(exp.DPipe, reads="this expression safe")
def _concat(node: exp.Expr, context: Context) -> Expression:
    return concatenate(*_both(node, context))


@binds(exp.JSONExtract, exp.JSONExtractScalar, reads="this expression")
def _at_json_path(node: exp.Expr, context: Context) -> Expression:
    """Return json -> path or json ->> path."""
    is_text = isinstance(node, exp.JSONExtractScalar)
    name = "json_extract_string" if is_text else "json_extract"
    return SCALARS[name].call(name, _both(node, context))


@binds(exp.Cast, reads="this to")
def _cast(node: exp.Expr, context: Context) -> Expression:
    if (named := _regclass(node)) is not None:
        return bind_expression(named, context)
    target = bound_type(node.args["to"])
    operand = bind_expression(node.this, context)
    if system_type(node.args["to"]) == "REGCLASS" and operand.type == TEXT:
        return bind_expression(_call_on("to_regclass", node.this, node), context)
    return (
        json_texts.as_json(operand) if _is_json(node.args["to"]) else explicit_cast(operand, target)
    )


def _regclass(node: exp.Expr) -> exp.Expr | None:
    """Return what oid::regclass::text is, the name of a table; None for any other cast."""
    inner = node.this
    if not isinstance(inner, exp.Cast) or system_type(inner.to) != "REGCLASS":
        return None
    is_text = node.args["to"].is_type(*_TEXTS)
    return _call_on("regclass_name", inner, node) if is_text else None


def _call_on(name: str, operand: exp.Expr, place: exp.Expr) -> exp.Expr:
    """Return a call of a function, which stands where a node does."""
    call = exp.Anonymous(this=name, expressions=[operand.copy()])
    call.parent, call.arg_key, call.index = place.parent, place.arg_key, place.index
    return call


@binds(exp.Operator, reads="this operator expression")
def _operator(node: exp.Expr, context: Context) -> Expression:
    """Return a OPERATOR(pg_catalog.~) b."""
    kind = _OPERATORS.get(str(node.args["operator"]).rpartition(".")[2])
    if kind is None:
        raise NotSupportedError(f"OPERATOR({node.args['operator']}) is not supported")
    found = kind(this=node.this, expression=node.expression)
    found.parent, found.arg_key, found.index = node.parent, node.arg_key, node.index
    return bind_expression(found, context)


def _is_json(kind: exp.DataType) -> bool:
    return kind.this in (exp.DType.JSON, exp.DType.JSONB)


@binds(exp.TryCast, reads="this to safe")
def _try_cast(node: exp.Expr, context: Context) -> Expression:
    operand, target = bind_expression(node.this, context), bound_type(node.args["to"])
    if _is_json(node.args["to"]) and operand.type == TEXT:
        valid = SCALARS["json_valid"].call("json_valid", (operand,))
        return choose([valid], [operand, Literal(None, TEXT)])
    return json_texts.as_json(operand) if _is_json(node.args["to"]) else try_cast(operand, target)


@binds(exp.Case, reads="this ifs default")
def _case(node: exp.Expr, context: Context) -> Expression:
    operand = node.this
    subject = None if operand is None else bind_expression(operand, context)
    is_row = operand is not None and bool(row_values.row_nodes(operand))
    row = _row(operand, context) if is_row else None
    conditions: list[Expression] = []
    values: list[Expression] = []
    for branch in node.args["ifs"]:
        require_only(branch, "this", "true")
        if row is not None and row_values.row_nodes(branch.this):
            condition = row_values.compare_rows("equal", row, _row(branch.this, context))
        else:
            when = bind_expression(branch.this, context)
            condition = (
                as_condition(when, "WHEN") if subject is None else compare("equal", subject, when)
            )
        conditions.append(condition)
        values.append(bind_expression(branch.args["true"], context))
    default = node.args.get("default")
    values += bind_all_of([default or exp.Null()], context)
    return choose(conditions, values)


@binds(exp.Collate, reads="this expression")
def _collate(node: exp.Expr, context: Context) -> Expression:
    operand = bind_expression(node.this, context)
    if is_bare_null(operand):
        operand = Literal(None, TEXT)
    return collate(operand, known_collation(collation_name(node.expression)))
