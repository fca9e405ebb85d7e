"""ENUMs as the numbers of their labels: from here on a plan knows of numbers alone."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from operator import is_
from typing import Any, TypeVar

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Literal
from raydb.storage.enums import EnumType, LabelCode, stored_type

T = TypeVar("T")

# Their second argument tells the type of the labels by its own.
_OF_LABELS = ("enum_text", "enum_value", "try_enum_value")


def coded(part: T) -> T:
    """Return a plan, an expression or a value made of them with the types of the numbers.

    Filter mood = 'ok'      ->      Filter mood = 1
    """
    changed: T = _coded(part, {})
    return changed


def _coded(part: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Return a part of a plan with other types; a query that several nodes refer to stays one.

    known: what was made of nodes, by the node, which is kept so that its number stays its own.
    """
    match part:
        case tuple():
            changed = tuple([_coded(each, known) for each in part])
            return part if all(map(is_, changed, part)) else changed
        case pa.DataType():
            kind = stored_type(part)
            return part if kind is part or kind == part else kind
        case Literal(type=kind):
            stored = stored_type(kind)
            if stored is kind:
                return part  # unread, for the plan would be for this value only
            value = part.value
            if isinstance(kind, EnumType) and value is not None:
                value = LabelCode(value, kind.labels[value])
            return Literal(value, stored)
        case Call(function=function, arguments=(inner, said)) if function in _OF_LABELS:
            return Call(function, (_coded(inner, known), said), stored_type(part.type))
        case _:
            pass
    node: Any = type(part)
    names = _field_names(node)
    if not names:
        return part
    if id(part) not in known:
        values = tuple([getattr(part, name) for name in names])
        changed = _coded(values, known)
        known[id(part)] = part, part if changed is values else node(*changed)
    return known[id(part)][1]


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a node; none for what is no node."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
