"""Arguments of table functions, declared: a name, what values it has, and its default.

    Argument("k", whole(1, 2**31), default=10)
    Argument("metric", word("l2", "cosine", "ip"))

One reader (`sql/bind/table_functions/arguments.py`) reads them all. An argument that tables before
the call give, row by row, is checked twice: its type once, its value in each row.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.nodes import Expression, Literal


@dataclass(frozen=True, slots=True)
class Kind:
    """What values an argument has.

    name: what a message calls them, such as 'a whole number'. fits: whether a type has such values.
    accepts: whether a value is one. wanted: what a message says that another value is not.
    """

    name: str
    fits: Callable[[pa.DataType], bool]
    accepts: Callable[[Any], bool]
    wanted: Callable[[Any], str]
    convert: Callable[[Any], Any]


def whole(least: int, end: int) -> Kind:
    """Return the whole numbers from `least` to before `end`."""

    def wanted(value: Any) -> str:
        is_large = isinstance(value, int) and value >= end
        return f"a whole number from {least}" + (f" to {end - 1}" if is_large else "")

    def accepts(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value < end

    return Kind("a whole number", pa.types.is_integer, accepts, wanted, int)


def number(least: float, most: float, *, with_ends: bool = False) -> Kind:
    """Return the numbers between `least` and `most`, which may be infinite.

    with_ends: whether these two are among them.
    """
    between = f" between {least:g} and {most:g}" if math.isfinite(most) else f" above {least:g}"
    between = between if math.isfinite(least) else ""

    def accepts(value: Any) -> bool:
        is_real = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        inner = is_real and least < float(value) < most
        return inner or (with_ends and is_real and float(value) in (least, most))

    return Kind("a number", _is_number, accepts, lambda _: f"a number{between}", float)


def word(*choices: str) -> Kind:
    """Return a few words."""
    *others, last = [f"'{choice}'" for choice in choices]
    wanted = f"{', '.join(others)} or {last}"
    return Kind("a text", pa.types.is_string, choices.__contains__, lambda _: wanted, str)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


TEXT = Kind("a text", pa.types.is_string, _is_text, lambda _: "a text", str)
"""Any text."""

FLAG = Kind(
    "true or false",
    pa.types.is_boolean,
    lambda value: isinstance(value, bool),
    lambda _: "true or false",
    bool,
)
"""true and false."""

NAME = Kind("a name", pa.types.is_string, _is_text, lambda _: "a name", str)
"""A name, written as such or as a text."""

COLUMN = Kind("a column", pa.types.is_string, _is_text, lambda _: "a column", str)
"""A column of the rows that a function searches, written as a name or, after =>, as a text."""

ROWS = Kind("a query in parentheses", lambda _: False, lambda _: False, lambda _: "", str)
"""Rows beside those that a function searches: a table, a file, or a query in parentheses."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a table function.

    kind: what values it has; None for what the function checks itself. varies: whether tables
    before the call, or a query, may give it. null: whether NULL means that it is not given.
    """

    name: str
    kind: Kind | None = None
    default: Any = None
    is_required: bool = False
    varies: bool = False
    null: bool = False

    def value_of(self, literal: Literal | None, function: str, shown: str) -> Any:
        """Return the value that a constant gives; shown: how an error calls the constant.

        Raises ProgrammingError for a value that the argument cannot have.
        """
        if literal is None or (literal.is_null and self.null):
            return self.default
        if self.kind is None:
            return literal.value
        if not self.kind.accepts(literal.value):
            raise ProgrammingError(
                f"{self.name} of {function}() is {self.kind.wanted(literal.value)}, not {shown}"
            )
        return self.kind.convert(literal.value)

    def check_type(self, expression: Expression, function: str) -> None:
        """Raise ProgrammingError where an expression has values of another kind."""
        if self.kind is not None and not self.kind.fits(expression.type):
            raise ProgrammingError(
                f"{self.name} of {function}() is {self.kind.name}, not {describe(expression)}"
            )
