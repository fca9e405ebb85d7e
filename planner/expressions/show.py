"""Expressions as SQL text, for people."""

from __future__ import annotations

from typing import Any, assert_never

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    AggregateCall,
    Attribute,
    Bound,
    Call,
    Column,
    Expression,
    Frame,
    Lambda,
    Literal,
    OrderItem,
    Subquery,
    WindowCall,
)
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ, timetz_texts
from raydb.storage.enums import LabelCode
from raydb.storage.moments import is_moment, moment_texts
from raydb.storage.type_names import sql_type_name

INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "divide_whole": "//",
    "modulo": "%",
    "equal": "=",
    "not_equal": "<>",
    "not_distinct": "IS NOT DISTINCT FROM",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and": "AND",
    "or": "OR",
    "like": "LIKE",
    "ilike": "ILIKE",
    "concat": "||",
}


def show(expression: Expression) -> str:
    """Return an expression as SQL text."""
    match expression:
        case Column(name=name) | Attribute(name=name):
            return name
        case Literal(value=None):
            return "NULL"
        case Literal(value=str() as text):
            return "'" + text.replace("'", "''") + "'"
        case Literal(value=LabelCode(label=text)):
            return "'" + text.replace("'", "''") + "'"
        case Literal(value=value, type=kind):
            return _constant(value, kind)
        case Call(function=function, arguments=arguments) if function in INFIX:
            return "(" + f" {INFIX[function]} ".join(show(a) for a in arguments) + ")"
        case Call(function="not", arguments=(inner,)):
            return f"NOT {show(inner)}"
        case Call(function="is_null", arguments=(inner,)):
            return f"({show(inner)} IS NULL)"
        case Call(function="in", arguments=(operand, *items)):
            return f"{show(operand)} IN ({', '.join(show(item) for item in items)})"
        case Call(function="cast", arguments=(inner,), type=kind):
            return f"CAST({show(inner)} AS {sql_type_name(kind)})"
        case Call(function="enum_text", arguments=(inner, _)):
            return f"CAST({show(inner)} AS VARCHAR)"
        case Call(arguments=arguments):
            return f"{expression.shown}({', '.join(show(argument) for argument in arguments)})"
        case Lambda(parameters=parameters, body=body):
            names = ", ".join(each.name for each in parameters if each.name)
            return f"lambda {names}: {show(body)}"
        case Subquery(kind=kind):
            return f"{kind} subquery"
        case _:
            assert_never(expression)


def show_aggregate(call: AggregateCall) -> str:
    """Return an aggregate as SQL text."""
    if call.function == "count_star":
        text = "count(*)"
    else:
        arguments = ", ".join(show(argument) for argument in call.arguments)
        order = f" ORDER BY {_show_order(call.order_by)}" if call.order_by else ""
        text = f"{call.shown}({'DISTINCT ' if call.distinct else ''}{arguments}{order})"
    return text if call.filter is None else f"{text} FILTER (WHERE {show(call.filter)})"


def show_window(call: WindowCall) -> str:
    """Return a window function as SQL text."""
    aggregate = AggregateCall(call.function, call.arguments, call.type, call.distinct, call.filter)
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    parts = []
    if call.partition_by:
        parts.append(f"PARTITION BY {', '.join(show(key) for key in call.partition_by)}")
    if call.order_by:
        parts.append(f"ORDER BY {_show_order(call.order_by)}")
    parts.append(_show_frame(call.frame))
    return f"{show_aggregate(aggregate)}{nulls} OVER ({' '.join(parts)})"


def _show_frame(frame: Frame) -> str:
    ends = f"BETWEEN {_show_bound(frame.start)} AND {_show_bound(frame.end)}"
    exclude = frame.exclude.replace("_", " ").upper()
    extra = "" if frame.exclude == "no_others" else f" EXCLUDE {exclude}"
    return f"{frame.unit.upper()} {ends}{extra}"


def _show_bound(bound: Bound) -> str:
    words = bound.kind.replace("_", " ").upper()
    return words if bound.offset is None else f"{show(bound.offset)} {words}"


def _show_order(items: tuple[OrderItem, ...]) -> str:
    return ", ".join(show(item.expression) + (" DESC" if item.descending else "") for item in items)


def _constant(value: Any, kind: pa.DataType) -> str:
    if kind == BIT:
        return f"'{value.decode()}'"
    if kind == TIMETZ:
        return f"'{timetz_texts(pa.array([value], pa.int64()).view(kind))[0]}'"
    if isinstance(value, int) and is_moment(kind):
        value = moment_texts(pa.array([value], kind))[0]
    return f"'{value}'" if pa.types.is_temporal(kind) else str(value)
