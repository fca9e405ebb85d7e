"""EXECUTE and CREATE SECRET: values that are computed here and now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from raydb.errors import Error, ProgrammingError
from raydb.planner.catalog import CatalogInfo
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.typing_rules import explicit_cast
from raydb.sql.bind.binding import Binding
from raydb.sql.bind.expression.computed import compute_constant
from raydb.sql.bind.query.query import bind_query
from raydb.sql.bind.table_functions.arguments import constant_argument
from raydb.sql.parse.nodes import refuse_deep_nesting
from raydb.sql.template.parameters import Parameters, bind_parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.sql.ast import CreateSecret, Execute, Prepare


def bind_arguments(execute: Execute, prepared: Prepare, parameters: Parameters) -> Parameters:
    """Return the literals that EXECUTE gives, by place or by name, in the types of PREPARE.

    Its own values may be parameters. Raises ProgrammingError for another number of values than
    PREPARE has types, NotSupportedError for a value that is no constant, DataError for one that has
    no value.
    """
    types, names = prepared.types, [name for name, _ in execute.arguments if name is not None]
    if types and names:
        raise ProgrammingError(f"the parameters of '{prepared.name}' have types and no names")
    if types and len(types) != len(execute.arguments):
        raise ProgrammingError(
            f"'{prepared.name}' takes {len(types)} value{'s' if len(types) > 1 else ''},"
            f" not {len(execute.arguments)}"
        )
    trees = [tree for _, tree in execute.arguments]
    with refuse_deep_nesting():
        given = bind_parameters(exp.Tuple(expressions=trees), parameters)
        binding = Binding(CatalogInfo({}), given, bind_query)
        values = [constant_argument(execute.name, tree, binding) for tree in trees]
        if types:
            values = [_in_type(*pair) for pair in zip(values, types, strict=True)]
    return dict(zip(names, values, strict=True)) if names else values


def _in_type(value: Literal, kind: pa.DataType) -> Literal:
    converted = explicit_cast(value, kind)
    return converted if isinstance(converted, Literal) else compute_constant(converted, None)


def bind_secret(statement: CreateSecret, parameters: Parameters) -> dict[str, Any]:
    """Return the value of each option, which may be a parameter or getenv('NAME').

    Raises ProgrammingError, which shows no value, for what is no constant.
    """
    trees = [tree for _, tree in statement.options]
    given = bind_parameters(exp.Tuple(expressions=trees), parameters)
    binding = Binding(CatalogInfo({}), given, bind_query)
    return {name: _option(name, tree, binding) for name, tree in statement.options}


def _option(name: str, tree: exp.Expr, binding: Binding) -> Any:
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "getenv":
        return _variable(tree)
    try:
        with refuse_deep_nesting():
            return constant_argument("CREATE SECRET", tree, binding).value
    except Error:
        raise ProgrammingError(
            f"the option '{name}' of a secret needs a text, a parameter or getenv('NAME')"
        ) from None


def _variable(call: exp.Anonymous) -> str:
    names = call.expressions
    if len(names) != 1 or not isinstance(names[0], exp.Literal) or not names[0].is_string:
        raise ProgrammingError("getenv() takes the name of a variable, in single quotes")
    value = os.environ.get(names[0].name)
    if value is None:
        raise ProgrammingError(f"the variable {names[0].name} is not set")
    return value
