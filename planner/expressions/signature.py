"""Signatures of functions: `lpad(text, width: n [, fill: text]) -> VARCHAR`.

A signature is what the reference shows, and what the binder checks. An argument is of the kind that
its name, or the word behind its colon, has in `PARAMETERS`; those in brackets may be left out, and
`...` repeats the last. Forms behind a comma are other names. The result is a type, or the type of
the argument of that name. Forms that are no plain call, such as `position(part IN text)`, are for
the reference alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.columns.nested_order import has_order
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string, read_string
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.expressions.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    TYPES,
    is_integer,
    is_list,
    is_moment,
    is_number,
)
from raydb.planner.expressions.typing_rules import (
    as_boolean,
    as_text,
    cast,
    in_microseconds,
    label,
    typed,
)
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # Returns an argument of the named function, checked and cast, or raises ProgrammingError.
    Parameter = Callable[[str, Expression], Expression]

_FORM = re.compile(r"(?:[^,(\[]|\([^)]*\)|\[[^\]]*\])+")
_CALL = re.compile(r"(\w+)\(((?:\.\.\.|\w+(?:: \w+)?|, | ?\[(?:, )?|\])*)\)")
_ARGUMENT = re.compile(r"\.\.\.|\[|(\w+)(?:: (\w+))?")


@dataclass(frozen=True, slots=True)
class Signature:
    """The ways to call a function.

    arities: the least and the greatest number of arguments by name, None for any number. result:
    a type, or the place of the argument that has it; None where the binder of the function tells.
    """

    forms: tuple[str, ...]
    arities: Mapping[str, tuple[int, int | None]]
    parameters: tuple[Parameter, ...] = ()
    result: pa.DataType | int | None = None

    def check_count(self, name: str, count: int) -> None:
        """Raise ProgrammingError if the function, called so, does not take so many arguments."""
        known = name if name in self.arities else next(iter(self.arities))  # trim(LEADING ...)
        check_count(name, *self.arities[known], count)

    def check(
        self, name: str, arguments: Sequence[Expression]
    ) -> tuple[tuple[Expression, ...], pa.DataType]:
        """Return the arguments as the function takes them, and the type of its result."""
        kinds = (*self.parameters, *self.parameters[-1:] * len(arguments))
        pairs = zip(kinds, arguments, strict=False)
        checked = tuple([require(name, argument) for require, argument in pairs])
        result = self.result
        return checked, checked[result].type if isinstance(result, int) else result


def read_signature(text: str, *, is_bound: bool = False) -> Signature:
    """Return the signature that a text stands for.

    is_bound: whether a binder of the function checks the arguments and tells the result.

    >>> read_signature("substring(text, n [, n]), substr(text, n [, n]) -> VARCHAR").arities
    {'substring': (2, 3), 'substr': (2, 3)}
    """
    written, _, result = text.partition(" -> ")
    arities: dict[str, tuple[int, int | None]] = {}
    names: list[str] = []
    kinds: list[str] = []
    forms = [form.strip() for form in _FORM.findall(written)]
    for form in forms:
        if (call := _CALL.fullmatch(form)) is None:
            continue
        arguments = list(_ARGUMENT.finditer(call[2]))
        marks = [each[0] for each in arguments]
        count = sum(each[1] is not None for each in arguments)
        optional = marks.index("[") if "[" in marks else count
        least, most = arities.get(call[1], (optional, 0))
        most = None if most is None or "..." in marks else max(most, count)
        arities[call[1]] = (min(least, optional, count), most)
        if not kinds:
            names = [each[1] for each in arguments if each[1]]
            kinds = [each[2] or each[1] for each in arguments if each[1]]
    shown = tuple(re.sub(r"(\w): \w+", r"\1", form) for form in forms)
    if is_bound:
        return Signature(shown, arities)
    parameters = tuple(PARAMETERS[kind] for kind in kinds)
    return Signature(
        shown, arities, parameters, names.index(result) if result in names else TYPES[result]
    )


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


# -- kinds of arguments


def require_number(name: str, operand: Expression) -> Expression:
    """Return a number in its own type."""
    operand = typed(operand, INTEGER)
    if not is_number(operand.type):
        raise ProgrammingError(f"{name}() needs a number, not {describe(operand)}")
    return operand


def as_double(name: str, operand: Expression) -> Expression:
    """Return a number as DOUBLE."""
    return cast(require_number(name, typed(operand, DOUBLE)), DOUBLE)


def require_integer(name: str, operand: Expression) -> Expression:
    """Return an integer in its own type."""
    operand = typed(operand, INTEGER)
    if not is_integer(operand.type):
        raise ProgrammingError(f"{name}() needs an integer, not {describe(operand)}")
    return operand


def as_bigint(name: str, operand: Expression) -> Expression:
    """Return an integer as BIGINT."""
    return cast(require_integer(name, require_number(name, typed(operand, BIGINT))), BIGINT)


def require_text(name: str, operand: Expression) -> Expression:
    """Return a string."""
    operand = label(typed(operand, TEXT))
    if operand.type != TEXT:
        raise ProgrammingError(f"{name}() needs a string, not {describe(operand)}")
    return operand


def constant_text(name: str, operand: Expression, what: str = "string") -> str:
    """Return the value of a constant string."""
    operand = require_text(name, operand)
    if not isinstance(operand, Literal) or operand.value is None:
        raise NotSupportedError(f"{name}() needs a constant {what}, not {describe(operand)}")
    return str(operand.value)


def require_moment(name: str, operand: Expression) -> Expression:
    """Return a date or a timestamp in its own type, one of another unit as TIMESTAMP."""
    operand = typed(operand, TIMESTAMP)
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, TIMESTAMP)
    if not is_moment(operand.type):
        raise ProgrammingError(f"{name}() needs a date or a timestamp, not {describe(operand)}")
    return in_microseconds(operand)


def as_timestamp(name: str, operand: Expression) -> Expression:
    """Return a date or a timestamp as TIMESTAMP."""
    return cast(require_moment(name, operand), TIMESTAMP)


def as_instant(name: str, operand: Expression) -> Expression:
    """Return a date or a timestamp as TIMESTAMP WITH TIME ZONE."""
    operand = typed(operand, TIMESTAMPTZ)
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, TIMESTAMPTZ)
    return cast(require_moment(name, operand), TIMESTAMPTZ)


def require_order(name: str, operand: Expression) -> Expression:
    """Return an argument whose values have an order; raises NotSupportedError for others."""
    operand = typed(operand, INTEGER)
    if not has_order(operand.type):
        raise NotSupportedError(f"{name}() of {sql_type_name(operand.type)} is not supported")
    return operand


def require_sortable(key: Expression) -> Expression:
    """Return a key of ORDER BY; raises NotSupportedError for values that have no order."""
    if not has_order(key.type):
        raise NotSupportedError(f"values of the type {sql_type_name(key.type)} have no order")
    return key


def require_list(name: str, operand: Expression) -> Expression:
    """Return an operand that is a list; raises ProgrammingError for others."""
    operand = typed(operand, pa.list_(INTEGER))
    if not is_list(operand.type):
        raise ProgrammingError(f"{name} needs a list, not {describe(operand)}")
    return operand


PARAMETERS: Mapping[str, Parameter] = {
    "a": lambda _, operand: typed(operand, INTEGER),
    "key": require_order,
    "x": require_number,
    "y": require_number,
    "double": as_double,
    "n": require_integer,
    "whole": as_bigint,
    "text": require_text,
    "value": lambda _, operand: as_text(operand),
    "moment": as_timestamp,
    "list": lambda name, operand: require_list(f"{name}()", operand),
    "condition": lambda name, operand: as_boolean(operand, f"{name}()"),
}
