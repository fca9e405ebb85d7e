"""format() and printf(): text with values in it."""

from __future__ import annotations

import re

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.functions.text import text_or_nothing
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import as_double, constant_text, require_integer
from raydb.planner.expressions.types import TEXT
from raydb.planner.expressions.typing_rules import as_text

_FORMAT_PART = re.compile(r"%(?:(\d+)\$)?(.?)|[^%]+", re.DOTALL)
_PRINTF_PART = re.compile(r"%([-+ 0]*)(\d{0,3})(?:\.\d{1,2})?([%dsfeg])|[^%]+|%", re.DOTALL)


@composed(
    "format(form [, a, ...])",
    "`%s` is the next value, `%2$s` the second, `%%` a per cent sign:"
    " format('%s of %s', 3, 'ten') -> '3 of ten'",
)
def _format(name: str, form: Expression, *values: Expression) -> Expression:
    pieces: list[Expression] = [Literal("", TEXT)]
    following = 0
    for part in _FORMAT_PART.finditer(constant_text(name, form, "format")):
        number, letter = part.groups()
        if letter is None or part[0] == "%%":
            pieces.append(Literal("%" if letter else part[0], TEXT))
            continue
        if letter != "s":
            raise NotSupportedError(f"{name}() knows %s, %1$s and %%, not '{part[0]}'")
        place = following if number is None else int(number) - 1
        if not 0 <= place < len(values):
            raise ProgrammingError(f"{name}() has {len(values)} values, and none for '{part[0]}'")
        pieces.append(text_or_nothing(values[place]))
        following = place + 1
    return Call("concat", tuple(pieces), TEXT)


def _bind_printf(name: str, form: Expression, *values: Expression) -> Expression:
    """Return printf() as in C: %d takes an integer, %f, %e and %g a number, %s any value."""
    text = constant_text(name, form, "format")
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
    return Call("printf", (Literal(text, TEXT), *checked), TEXT)


def _checked(name: str, letter: str, value: Expression) -> Expression:
    """Return a value as its letter in the format of printf() wants it."""
    match letter:
        case "d":
            return require_integer(name, value)
        case "s":
            return as_text(value)
        case _:
            return as_double(name, value)


@scalar(
    "printf(form [, a, ...])",
    "`%d`, `%s`, `%f`, `%e`, `%g` as in C: printf('%05.2f|%d', 3.14159, 42) -> '03.14|42'",
    bind=_bind_printf,
)
@of_rows
def _printf(form: str, *values: object) -> str:
    return form % values
