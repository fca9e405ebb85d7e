"""EXECUTE: the values of a prepared statement's parameters, which are computed here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
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

    from raydb.sql.ast import Execute, Prepare


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
