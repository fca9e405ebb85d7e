"""What a function takes: how many arguments, and of which types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.types import is_integer, is_number
from raydb.sql.typing_rules import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    # Returns an argument of the named function, checked and cast, or raises ProgrammingError.
    Parameter = Callable[[str, Expression], Expression]


@dataclass(frozen=True, slots=True)
class Signature:
    """`bind(name, *arguments)` returns the call; `most` is None for any number of arguments."""

    bind: Callable[..., Expression]
    least: int
    most: int | None


def check_count(name: str, least: int, most: int | None, count: int) -> None:
    """Raise ProgrammingError if a function does not take that many arguments."""
    if least <= count <= (count if most is None else most):
        return
    if most is None:
        wanted = "at least one" if least == 1 else f"at least {least}"
    elif least == most:
        wanted = f"{least}"
    else:
        wanted = f"{least} {'or' if most == least + 1 else 'to'} {most}"
    plural = "" if max(least, most or 0) == 1 else "s"
    raise ProgrammingError(f"{name}() takes {wanted} argument{plural}, not {count}")


def typed(argument: Expression, fallback: pa.DataType) -> Expression:
    """Give a bare NULL a type."""
    if isinstance(argument, Literal) and argument.value is None and pa.types.is_null(argument.type):
        return Literal(None, fallback)
    return argument


def require_number(name: str, argument: Expression) -> None:
    """Raise ProgrammingError if an argument is no number."""
    if not is_number(argument.type):
        raise ProgrammingError(f"{name}() needs a number, not {describe(argument)}")


def as_double(name: str, operand: Expression) -> Expression:
    """Return a number as DOUBLE; raises ProgrammingError for others."""
    operand = typed(operand, pa.float64())
    require_number(name, operand)
    return cast(operand, pa.float64())


def require_integer(name: str, operand: Expression) -> Expression:
    """Return an argument that is an integer or NULL; raises ProgrammingError for others."""
    operand = typed(operand, pa.int32())
    if not is_integer(operand.type):
        raise ProgrammingError(f"{name}() needs an integer, not {describe(operand)}")
    return operand


def takes(function: str, result: pa.DataType, *parameters: Parameter) -> Callable[..., Expression]:
    """Return the binder of a call of `function` whose arguments are what `parameters` require."""

    def bind(name: str, *arguments: Expression) -> Expression:
        checked = tuple(
            require(name, argument)
            for require, argument in zip(parameters, arguments, strict=False)
        )
        return Call(function, checked, result)

    return bind


def require_text(name: str, operand: Expression) -> Expression:
    """Return an argument that is a string or NULL; raises ProgrammingError for others."""
    operand = typed(operand, pa.string())
    if operand.type != pa.string():
        raise ProgrammingError(f"{name}() needs a string, not {describe(operand)}")
    return operand
