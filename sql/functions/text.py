"""Functions of text."""

from __future__ import annotations

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expression import Call, Expression
from raydb.sql.functions.signature import Signature, require_text, typed
from raydb.sql.types import is_integer
from raydb.sql.typing_rules import describe


def substring(text: Expression, *bounds: Expression) -> Expression:
    """Return a part of a string; `start`, the first of the bounds, counts from 1."""
    text = require_text("substring", text)
    integers = tuple(typed(bound, pa.int32()) for bound in bounds)
    for bound in integers:
        if not is_integer(bound.type):
            raise ProgrammingError(f"substring() needs integers, not {describe(bound)}")
    return Call("substring", (text, *integers), pa.string())


def trim(text: Expression) -> Expression:
    """Return a string without the spaces on both sides."""
    return _text_function("trim", text)


def _text_function(name: str, operand: Expression) -> Expression:
    return Call(name, (require_text(name, operand),), pa.string())


def _length(_: str, operand: Expression) -> Expression:
    return Call("length", (require_text("length", operand),), pa.int64())


def _substring(_: str, *arguments: Expression) -> Expression:
    return substring(*arguments)


TEXT = {
    "length": Signature(_length, 1, 1),
    "lower": Signature(_text_function, 1, 1),
    "substr": Signature(_substring, 2, 3),
    "substring": Signature(_substring, 2, 3),
    "trim": Signature(_text_function, 1, 1),
    "upper": Signature(_text_function, 1, 1),
}
