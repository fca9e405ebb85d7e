"""Expressions in messages: their name or value, and their type."""

from __future__ import annotations

import pyarrow as pa

from raydb.planner.expressions.interval_text import interval_text
from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Expression,
    Lambda,
    Literal,
    Subquery,
)
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ, timetz_texts
from raydb.storage.enums import EnumType
from raydb.storage.moments import is_moment, moment_texts
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID, uuid_texts


def describe(expression: Expression) -> str:
    """Return how a message calls an expression: its name or value, and its type."""
    match expression:
        case Column(name=name) | Attribute(name=name):
            what = f"'{name}'"
        case Literal(value=str() as text):
            what = f"'{text}'"
        case Literal(value=None):
            return "NULL"
        case Literal(value=pa.MonthDayNano() as value):
            what = f"'{interval_text(value)}'"
        case Literal(value=tuple(), type=kind):
            words = {pa.types.is_struct: "a struct", pa.types.is_map: "a map"}
            what = next((word for test, word in words.items() if test(kind)), "a list")
        case Literal(value=int() as code, type=EnumType(labels=labels)):
            what = f"'{labels[code]}'"
        case Literal(value=bytes() as value, type=kind) if kind == UUID:
            what = str(uuid_texts(pa.array([value], kind))[0])
        case Literal(value=bytes() as value, type=kind) if kind == BIT:
            what = value.decode()
        case Literal(value=int() as value, type=kind) if kind == TIMETZ:
            what = str(timetz_texts(pa.array([value], pa.int64()).view(kind))[0])
        case Literal(value=int() as value, type=kind) if is_moment(kind):
            what = str(moment_texts(pa.array([value], kind))[0])
        case Literal(value=value):
            what = str(value)
        case Lambda():
            return "a lambda"
        case Call() | Subquery():
            what = "an expression"
    return f"{what} ({sql_type_name(expression.type)})"
