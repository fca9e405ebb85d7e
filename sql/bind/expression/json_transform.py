"""json_transform(json, structure): the type that a structure means, the JSON of names of types.

'{"a": "INTEGER", "b": ["VARCHAR"]}'    STRUCT(a INTEGER, b VARCHAR[])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.names import is_same
from raydb.planner.expressions.functions.nested.json_texts import read_json, write_json
from raydb.planner.expressions.functions.nested.json_values import json_values
from raydb.planner.expressions.nodes import Literal
from raydb.sql.bind.expression.expression import bind_expression
from raydb.sql.parse.reader import parse_scalar, tokenize
from raydb.sql.types import bound_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.bind.expression.expression import Context

_NAMES = {
    "json_transform": "json_transform",
    "from_json": "json_transform",
    "json_transform_strict": "json_transform_strict",
    "from_json_strict": "json_transform_strict",
}


def bind_json_transform(
    name: str, nodes: Sequence[exp.Expr], context: Context
) -> Expression | None:
    """Return a call whose structure is a constant; None for another call.

    Raises ProgrammingError for a structure that means no type.
    """
    if name not in _NAMES or len(nodes) != 2:
        return None
    structure = bind_expression(nodes[1], context)
    if not (isinstance(structure, Literal) and isinstance(structure.value, str)):
        return None
    kind = _type_of(read_json(structure.value))
    return json_values(_NAMES[name], bind_expression(nodes[0], context), kind)


def _type_of(structure: Any) -> pa.DataType:
    match structure:
        case str():
            (tokens,) = tokenize(f"CAST(NULL AS {structure})")
            tree = parse_scalar(structure, tokens)
            if isinstance(tree, exp.Cast):
                return bound_type(tree.to)
        case [element]:
            return pa.list_(_type_of(element))
        case dict() if structure:
            names = list(structure)
            for place, name in enumerate(names):
                if any(is_same(name, each) for each in names[:place]):
                    raise ProgrammingError(f"a STRUCT has two fields named '{name}'")
            return pa.struct([(name, _type_of(part)) for name, part in structure.items()])
    raise ProgrammingError(f"{write_json(structure)} is no structure of JSON: it means no type")
