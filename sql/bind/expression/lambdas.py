"""Lambdas, the functions of lists that take them, and list comprehensions, bound."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.names import fold, is_same
from raydb.planner.expressions.functions.nested.lambdas import FILTER, REDUCE, TRANSFORM, close_over
from raydb.planner.expressions.functions.nested.structs import struct_field, struct_of
from raydb.planner.expressions.nodes import Call, Column, Expression
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import BIGINT, closed
from raydb.planner.expressions.typing_rules import as_condition, cast, unify
from raydb.sql.bind.expression.expression import Context, bind_expression, binds
from raydb.sql.parse.reader import name_in
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAMBDA_FUNCTIONS = frozenset((*TRANSFORM, *FILTER, *REDUCE))

# Parameters of lambdas are columns of no plan, so their numbers are of their own.
_numbers = itertools.count(-1, -1)


def bind_lambda_call(name: str, nodes: Sequence[exp.Expr], context: Context) -> Expression:
    """Return the call of a function of a list and a lambda."""
    function = SCALARS[name]
    assert function.signature is not None, "it has a name in SQL"
    function.signature.check_count(name, len(nodes))
    place = f"{name}()"
    operand, written = _operand(place, nodes[0], context), nodes[1]
    if not isinstance(written, exp.Lambda):
        raise ProgrammingError(f"{place} needs a lambda, such as lambda x: x + 1")
    names = [name_in(each) for each in written.expressions]
    if name in REDUCE:
        initial = bind_expression(nodes[2], context) if len(nodes) > 2 else None
        return _reduced(place, operand, names, written.this, initial, context)
    if name in FILTER:
        return _filtered(place, operand, names, written.this, context)
    return _transformed(place, operand, names, written.this, context)


def bind_comprehension(node: exp.Expr, context: Context) -> Expression:
    """Return [x + i FOR x, i IN list IF x > 1]: elements are filtered, then transformed."""
    place = "a list comprehension"
    operand = _operand(place, node.args["iterator"], context)
    names = [name_in(node.expression)]
    condition = node.args.get("condition")
    if node.args.get("position") is not None:
        names.append(name_in(node.args["position"]))
    if condition is None:
        return _transformed(place, operand, names, node.this, context)
    if len(names) == 1:
        kept = _filtered(place, operand, names, condition, context)
        return _transformed(place, kept, names, node.this, context)
    # The places are those in the whole list, so that they are filtered beside the elements.
    element, number = _parameters(place, names, (operand.type.value_type,))
    pair = struct_of({"element": element, "place": number})
    pairs = _call("list_transform", operand, (element, number), pair, pair.type)
    parameters = _parameters(place, ("pair",), (pair.type,))
    fields = [struct_field(parameters[0], name) for name in ("element", "place")]
    known = dict(zip(names, fields, strict=True))
    kept = _call(
        "list_filter", pairs, parameters, _condition(place, condition, known, context), pair.type
    )
    body = _bind_body(node.this, known, context)
    return _call("list_transform", kept, parameters, body, body.type)


def _operand(place: str, node: exp.Expr, context: Context) -> Expression:
    operand = require_list(place, bind_expression(node, context))
    return cast(operand, closed(operand.type))


def _transformed(
    place: str, operand: Expression, names: Sequence[str], body: exp.Expr, context: Context
) -> Expression:
    parameters = _parameters(place, names, (operand.type.value_type,))
    value = _bind_body(body, _named(parameters), context)
    return _call("list_transform", operand, parameters, value, value.type)


def _filtered(
    place: str, operand: Expression, names: Sequence[str], body: exp.Expr, context: Context
) -> Expression:
    element = operand.type.value_type
    parameters = _parameters(place, names, (element,))
    condition = _condition(place, body, _named(parameters), context)
    return _call("list_filter", operand, parameters, condition, element)


def _condition(
    place: str, body: exp.Expr, known: Mapping[str, Expression], context: Context
) -> Expression:
    return as_condition(_bind_body(body, known, context), f"the condition of {place}")


def _call(
    function: str,
    operand: Expression,
    parameters: Sequence[Column],
    body: Expression,
    element: pa.DataType,
) -> Expression:
    """Return the call whose lambda has a body that is bound; its lists have such elements."""
    written, captured = close_over(parameters, body)
    return Call(function, (operand, written, *captured), pa.list_(element))


def _reduced(
    place: str,
    operand: Expression,
    names: Sequence[str],
    body: exp.Expr,
    initial: Expression | None,
    context: Context,
) -> Expression:
    element = operand.type.value_type
    start: Expression = Column(next(_numbers), "element", element)
    if initial is not None:
        start, _ = unify((initial, start), "combine")
    # The lambda may come to a wider type than it begins with: 1 + 0.5.
    parameters = _parameters(place, names, (start.type, element))
    first = _bind_body(body, _named(parameters), context)
    result = Column(next(_numbers), "result", start.type)
    kind = unify((result, first), "combine")[0].type
    parameters = _parameters(place, names, (kind, element))
    value = cast(_bind_body(body, _named(parameters), context), kind)
    function, captured = close_over(parameters, value)
    given = () if initial is None else (cast(initial, kind),)
    return Call("list_reduce", (operand, function, *given, *captured), kind)


def _parameters(
    place: str, names: Sequence[str], types: Sequence[pa.DataType]
) -> tuple[Column, ...]:
    """Return the parameters of a lambda; one more, the element's place, may have no name."""
    most = len(types) + 1
    if not len(types) <= len(names) <= most:
        raise ProgrammingError(
            f"the lambda of {place} has {len(types)} or {most} parameters, not {len(names)}"
        )
    for number, name in enumerate(names):
        if any(is_same(name, other) for other in names[:number]):
            raise ProgrammingError(f"a lambda has two parameters named '{name}'")
    # Two lambdas that differ in the letters of names are the same one.
    pairs = zip((*map(fold, names), "")[:most], (*types, BIGINT), strict=True)
    return tuple(Column(next(_numbers), name, closed(kind)) for name, kind in pairs)


def _named(parameters: Sequence[Column]) -> Mapping[str, Expression]:
    return {each.name: each for each in parameters if each.name}


def _bind_body(body: exp.Expr, known: Mapping[str, Expression], context: Context) -> Expression:
    """Return the bound body of a lambda; names that are not known are those outside of it."""

    def resolve(name: str, table: str | None) -> Expression:
        found = None if table else next((each for each in known if is_same(name, each)), None)
        return context.resolve(name, table) if found is None else known[found]

    inner = replace(
        context, resolve=resolve, clause="a lambda", aggregates=None, windows=None, unnests=None
    )
    return bind_expression(body, inner)


@binds(exp.Lambda, reads="this expressions")
def _misplaced(_: exp.Expr, context: Context) -> Expression:
    raise ProgrammingError(
        f"{context.clause} cannot contain a lambda, which is for functions such as list_transform()"
    )
