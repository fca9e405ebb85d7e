"""The operators + - * / % and || by the kinds of their operands: numbers, moments, lists.

date + interval        TIMESTAMP     date - date            INTEGER, days
date + integer         DATE          timestamp - timestamp  INTERVAL, days and time
date + time            TIMESTAMP     time - time            INTERVAL
timestamp + interval   TIMESTAMP     interval + interval    INTERVAL
time + interval        TIME          interval * number      INTERVAL
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql import typing_rules
from raydb.sql.bind.expression.literals import is_bare_null, is_bare_string, read_string
from raydb.sql.types import (
    INTERVAL,
    common_type,
    is_integer,
    is_interval,
    is_list,
    is_number,
    is_temporal,
)
from raydb.sql.typing_rules import VERBS, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATE, _TIME, _TIMESTAMP = pa.date32(), pa.time64("us"), pa.timestamp("us")

# Which function an operator is for two kinds, and the type of its result.
_RULES: Mapping[tuple[str, str, str], tuple[str, pa.DataType]] = {
    ("add", "date", "interval"): ("add_interval", _TIMESTAMP),
    ("add", "date", "integer"): ("add_days", _DATE),
    ("add", "date", "time"): ("add_time", _TIMESTAMP),
    ("add", "timestamp", "interval"): ("add_interval", _TIMESTAMP),
    ("add", "time", "interval"): ("add_interval", _TIME),
    ("add", "interval", "interval"): ("add_intervals", INTERVAL),
    ("subtract", "date", "interval"): ("subtract_interval", _TIMESTAMP),
    ("subtract", "date", "integer"): ("subtract_days", _DATE),
    ("subtract", "date", "date"): ("days_apart", pa.int32()),
    ("subtract", "timestamp", "timestamp"): ("moments_apart", INTERVAL),
    ("subtract", "timestamp", "interval"): ("subtract_interval", _TIMESTAMP),
    ("subtract", "time", "interval"): ("subtract_interval", _TIME),
    ("subtract", "time", "time"): ("times_apart", INTERVAL),
    ("subtract", "interval", "interval"): ("subtract_intervals", INTERVAL),
    ("multiply", "interval", "integer"): ("scale_interval", INTERVAL),
    ("multiply", "interval", "number"): ("scale_interval", INTERVAL),
    ("divide", "interval", "integer"): ("divide_interval", INTERVAL),
    ("divide", "interval", "number"): ("divide_interval", INTERVAL),
}


def arithmetic(function: str, left: Expression, right: Expression) -> Expression:
    """Return add, subtract, multiply, divide or modulo of two values.

    A string constant beside an interval, or behind the minus of a moment, is of the same type.
    """
    if not (is_temporal(left.type) or is_temporal(right.type)):
        return typing_rules.arithmetic(function, left, right)
    verb = VERBS[function].format(describe(left), describe(right))
    left, right = _beside(function, left, right.type), _beside(function, right, left.type)
    if {left.type, right.type} == {_DATE, _TIMESTAMP} and function == "subtract":
        left, right = cast(left, _TIMESTAMP), cast(right, _TIMESTAMP)
    rule = _RULES.get((function, _kind(left), _kind(right)))
    if rule is None and function in ("add", "multiply"):
        left, right = right, left
        rule = _RULES.get((function, _kind(left), _kind(right)))
    if rule is None:
        raise ProgrammingError(f"cannot {verb}")
    name, data_type = rule
    if name == "divide_interval" or _kind(right) == "number":
        right = cast(right, pa.float64())
    elif is_integer(right.type):
        right = cast(right, pa.int64())
    return Call(name, (left, right), data_type)


def _beside(function: str, operand: Expression, other: pa.DataType) -> Expression:
    """Return an operand in the type that it takes beside a value of another one."""
    if not isinstance(operand, Literal) or not (is_bare_null(operand) or is_bare_string(operand)):
        return operand
    if function not in ("add", "subtract") or not is_temporal(other):
        wanted = pa.int64()
    else:
        wanted = other if is_interval(other) or function == "subtract" else INTERVAL
    if operand.value is None:
        return Literal(None, wanted)
    is_same = is_interval(other) or function == "subtract"
    return read_string(operand, wanted) if is_same and is_temporal(wanted) else operand


def _kind(operand: Expression) -> str:
    data_type = operand.type
    if is_interval(data_type):
        return "interval"
    names = {_DATE: "date", _TIME: "time", _TIMESTAMP: "timestamp"}
    if data_type in names:
        return names[data_type]
    return "integer" if is_integer(data_type) else "number" if is_number(data_type) else "other"


def negate(operand: Expression) -> Expression:
    """Return `-operand`."""
    if is_interval(operand.type):
        return Call("negate_interval", (operand,), INTERVAL)
    return typing_rules.negate(operand)


def concatenate(left: Expression, right: Expression) -> Expression:
    """Return `left || right`: strings joined, or lists and their elements."""
    if is_list(left.type) or is_list(right.type):
        return concatenate_lists(left, right)
    return typing_rules.concatenate(left, right)


def concatenate_lists(left: Expression, right: Expression) -> Expression:
    """Return the elements of two lists, or of a list and an element, as one list.

    NULL beside a list is an empty list.
    """
    sides = [_as_list(left, right.type), _as_list(right, left.type)]
    element = common_type(sides[0].type.value_type, sides[1].type.value_type)
    if element is None:
        raise ProgrammingError(f"cannot join {describe(left)} and {describe(right)}")
    target = pa.list_(element)
    return Call("list_concat", tuple(cast(side, target) for side in sides), target)


def _as_list(operand: Expression, other: pa.DataType) -> Expression:
    if is_list(operand.type):
        return cast(operand, pa.list_(operand.type.value_type))
    if isinstance(operand, Literal) and operand.value is None:
        return Literal((), pa.list_(pa.null()))
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, other.value_type)
    return Call("list_value", (operand,), pa.list_(operand.type))
