"""A value that a statement stores: one of many runs has it ready in the column's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.sql.bind.expression.expression import Context, bind_expression
from raydb.sql.template.parameter_rows import ParameterRows
from raydb.sql.template.parameters import parameter_key

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.planner.expressions.nodes import Expression


def bind_value(node: exp.Expr, field: pa.Field, context: Context) -> Expression:
    """Return a value that is stored in a column, before `assign`."""
    parameters = context.parameters
    if isinstance(parameters, ParameterRows) and isinstance(node, exp.Parameter | exp.Placeholder):
        return parameters.assigned(parameter_key(node), field)
    return bind_expression(node, context)
