"""Aggregates of the elements of lists: a query over the elements of each.

list_aggregate(l, 'stddev')    (SELECT stddev(e) FROM unnest(l) AS u (e)), NULL of NULL
list_quantile_cont(l, 0.5)     likewise, with the arguments that follow
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.planner.expressions.aggregates import AGGREGATES
from raydb.planner.expressions.nodes import Call, Literal
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import BOOLEAN
from raydb.planner.expressions.typing_rules import choose
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.bind.expression.subquery import bind_scalar_subquery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.bind.expression.expression import Context

_BY_NAME = frozenset({"aggregate", "list_aggregate", "list_aggr", "array_aggregate", "array_aggr"})
# Those that are functions of lists.
_OF_LISTS = frozenset(
    {"avg", "bool_and", "bool_or", "count", "first", "last", "max", "min", "mode", "sum"}
)
_ELEMENT = "element of a list"


def bind_list_aggregate(
    name: str, nodes: Sequence[exp.Expr], context: Context
) -> Expression | None:
    """Return the aggregate of a list's elements; None for a call that is a function of its own."""
    if name in _BY_NAME and len(nodes) > 1 and isinstance(nodes[1], exp.Literal):
        function, rest = nodes[1].name.lower(), nodes[2:]
        if function in _OF_LISTS and not rest:
            return None
    elif name.startswith("list_") and name not in SCALARS and nodes:
        function, rest = name.removeprefix("list_"), nodes[1:]
    else:
        return None
    if function not in AGGREGATES:
        return None
    values = bind_expression(nodes[0], context)
    nothing = Call("is_null", (require_list(f"{name}()", values),), BOOLEAN)
    names = [exp.to_identifier(_ELEMENT, quoted=True)]
    alias = exp.TableAlias(this=exp.to_identifier(f"{_ELEMENT}s", quoted=True), columns=names)
    elements = exp.Unnest(expressions=[nodes[0].copy()], alias=alias)
    arguments = [exp.Column(this=names[0].copy()), *(each.copy() for each in rest)]
    aggregate = exp.Anonymous(this=function, expressions=arguments)
    query = exp.Select(expressions=[aggregate], from_=exp.From(this=elements))
    found = bind_scalar_subquery(query, context)
    return choose([nothing], [Literal(None, found.type), found])
