"""format() and printf(): text with values in it."""

from __future__ import annotations

import re

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.functions.signature import (
    Signature,
    as_double,
    require_integer,
    require_text,
    typed,
)
from raydb.sql.typing_rules import explicit_cast

_TEXT = pa.string()
_FORMAT_PART = re.compile(r"%(?:(\d+)\$)?(.?)|[^%]+", re.DOTALL)
_PRINTF_PART = re.compile(r"%([-+ 0]*)(\d{0,3})(?:\.\d{1,2})?([%dsfeg])|[^%]+|%", re.DOTALL)


def as_text(operand: Expression) -> Expression:
    """Return a value as a string."""
    operand = typed(operand, _TEXT)
    return operand if operand.type == _TEXT else explicit_cast(operand, _TEXT)


def text_or_nothing(operand: Expression) -> Expression:
    """Return a value as a string, which is empty for NULL."""
    return Call("coalesce", (as_text(operand), Literal("", _TEXT)), _TEXT)


def _form(name: str, operand: Expression) -> str:
    operand = require_text(name, operand)
    if not isinstance(operand, Literal) or operand.value is None:
        raise NotSupportedError(f"{name}() needs a constant format, not {describe(operand)}")
    return str(operand.value)


def _format(name: str, form: Expression, *values: Expression) -> Expression:
    """Return PostgreSQL's format(): %s is the next value, %2$s the second, %% a per cent sign."""
    pieces: list[Expression] = [Literal("", _TEXT)]
    following = 0
    for part in _FORMAT_PART.finditer(_form(name, form)):
        number, letter = part.groups()
        if letter is None or part[0] == "%%":
            pieces.append(Literal("%" if letter else part[0], _TEXT))
            continue
        if letter != "s":
            raise NotSupportedError(f"{name}() knows %s, %1$s and %%, not '{part[0]}'")
        place = following if number is None else int(number) - 1
        if not 0 <= place < len(values):
            raise ProgrammingError(f"{name}() has {len(values)} values, and none for '{part[0]}'")
        pieces.append(text_or_nothing(values[place]))
        following = place + 1
    return Call("concat", tuple(pieces), _TEXT)


def _printf(name: str, form: Expression, *values: Expression) -> Expression:
    """Return printf() as in C: %d takes an integer, %f, %e and %g a number, %s any value."""
    text = _form(name, form)
    letters = []
    for part in _PRINTF_PART.finditer(text):
        if part[0] == "%" or (part[3] == "%" and part[0] != "%%"):
            raise ProgrammingError(
                f"{name}() knows %d, %s, %f, %e, %g and %%, not those of '{text}'"
            )
        if part[3] is not None and part[3] != "%":
            letters.append(part[3])
    if len(letters) != len(values):
        raise ProgrammingError(f"'{text}' takes {len(letters)} values, not {len(values)}")
    checked = (_checked(name, *pair) for pair in zip(letters, values, strict=True))
    return Call("printf", (Literal(text, _TEXT), *checked), _TEXT)


def _checked(name: str, letter: str, value: Expression) -> Expression:
    """Return a value as its letter in the format of printf() wants it."""
    match letter:
        case "d":
            return require_integer(name, value)
        case "s":
            return as_text(value)
        case _:
            return as_double(name, value)


TEXT_FORMAT = {
    "format": Signature(_format, 1, None),
    "printf": Signature(_printf, 1, None),
}
