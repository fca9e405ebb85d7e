"""What a call of motif_count() or motif_sample() asks, from the values of its arguments.

    make_question("motif_count", {"motif": ..., "delta": ...}, time)       where all are constants
    question_of_row(question, {"delta": ...}, time)                        with those of one row

An argument that a table gives, row by row, is checked twice: its type once, its value in each row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.interval_text import read_interval
from raydb.planner.expressions.nodes import Column, Literal
from raydb.planner.plan.logical import MotifQuestion
from raydb.sql.bind.expression.literals import is_bare_string
from raydb.sql.bind.table_functions.motif_text import read_motif
from raydb.sql.types import INTERVAL, is_integer, is_number
from raydb.sql.typing_rules import describe
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.expressions.nodes import Expression

_TIES = ("strict", "index")
_METHODS = ("auto", "exact", "timest")

DEFAULT_REL_ERROR = 0.05
DEFAULT_CONFIDENCE = 0.95
# Less would take 10**18 samples, and more is 1 to the normal distribution in float64.
MIN_REL_ERROR = 1e-9
MAX_CONFIDENCE = 1 - 2**-50
DEFAULT_SEED = 1
DEFAULT_SECONDS = 60.0
DEFAULT_SAMPLES = 10

# The units of times that are no integers, and the nanoseconds in them.
_DAY_NANOSECONDS = 86_400 * 10**9
TIME_UNITS = {pa.date32(): ("day", _DAY_NANOSECONDS), pa.timestamp("us"): ("microsecond", 1000)}

# What stands for an argument while a row's value of it is not known.
_STAND_INS = {
    "motif": Literal("a->b", pa.string()),
    "delta": Literal("1 day", pa.string()),
    "ties": Literal("strict", pa.string()),
    "method": Literal("auto", pa.string()),
}


def make_question(
    function: str,
    constants: Mapping[str, Literal],
    varying: Mapping[str, Expression],
    time: Column,
) -> MotifQuestion:
    """Return what a call asks; arguments in `varying` are another in each row, and stand open.

    Raises ProgrammingError for a value that an argument cannot have, NotSupportedError for an
    argument that cannot differ by row.
    """
    for name, expression in varying.items():
        _check_varying(function, name, expression, time)
    stand_ins = {name: each for name, each in _STAND_INS.items() if name in varying}
    if "delta" in stand_ins and time.type not in TIME_UNITS:
        stand_ins["delta"] = Literal(1, pa.int32())
    values = _Values(function, {**constants, **stand_ins}, time)
    fields: dict[str, Any] = {name: read(values) for name, read in _FIELDS.items()}
    motif, names = read_motif(values.motif(), function)
    return MotifQuestion(motif, names, **fields, sample_count=values.sample_count())


def question_of_row(
    question: MotifQuestion, given: Mapping[str, Literal], time: Column
) -> MotifQuestion:
    """Return a question with the values that a row has for the arguments that stand open in it.

    Raises DataError for a value that an argument cannot have.
    """
    values = _Values(question.function, given, time)
    changed: dict[str, Any] = {}
    try:
        for name in given:
            if name == "motif":
                changed["motif"], changed["names"] = read_motif(values.motif(), question.function)
            elif name == "n":
                changed["sample_count"] = values.sample_count()
            else:
                changed[name] = _FIELDS[name](values)
    except ProgrammingError as error:
        told = "" if "motif" not in given else f" (motif '{given['motif'].value}')"
        raise DataError(f"{error.sentence}{told}") from error
    return replace(question, **changed)


@dataclass(frozen=True, slots=True)
class _Values:
    """The arguments of a call whose values are known, by name."""

    function: str
    constants: Mapping[str, Literal]
    time: Column

    def motif(self) -> str:
        """Return the text of the motif."""
        constant = self.constants["motif"]
        if not isinstance(constant.value, str):
            raise ProgrammingError(
                f"motif of {self.function}() is a text, not {describe(constant)}"
            )
        return constant.value

    def sample_count(self) -> int | None:
        """Return how many instances motif_sample() gives; motif_count() gives none."""
        is_sample = self.function == "motif_sample"
        return self.whole("n", DEFAULT_SAMPLES, 1, 2**31) if is_sample else None

    def text(self, name: str, choices: Sequence[str]) -> str:
        """Return the value of one of some words, the first of them where it is not given."""
        if name not in self.constants:
            return choices[0]
        value = self.constants[name].value
        if value not in choices:
            *others, last = [f"'{choice}'" for choice in choices]
            raise ProgrammingError(
                f"{name} of {self.function}() is {', '.join(others)} or {last}, not "
                f"{describe(self.constants[name])}"
            )
        return str(value)

    def number(self, name: str, default: float, most: float, least: float = 0.0) -> float:
        """Return a number between `least` and `most`, without either."""
        if name not in self.constants:
            return default
        value = self.constants[name].value
        is_real = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if not is_real or not least < float(value) < most:
            between = f"between {least:g} and {most:g}" if math.isfinite(most) else "above 0"
            raise ProgrammingError(
                f"{name} of {self.function}() is a number {between}, not "
                f"{describe(self.constants[name])}"
            )
        return float(value)

    def whole(self, name: str, default: int, least: int, end: int) -> int:
        """Return a whole number from `least` to before `end`."""
        if name not in self.constants:
            return default
        value = self.constants[name].value
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < end:
            is_large = isinstance(value, int) and value >= end
            most = f" to {end - 1}" if is_large else ""
            raise ProgrammingError(
                f"{name} of {self.function}() is a whole number from {least}{most}, not "
                f"{describe(self.constants[name])}"
            )
        return value

    def delta(self) -> int:
        """Return the longest time between two edges in units of the time column.

        Times are whole numbers of these, so what an interval has beyond them makes no difference.
        """
        function, given, time = self.function, self.constants["delta"], self.time
        column = f"the {sql_type_name(time.type)} column '{time.name}'"
        is_whole = isinstance(given.value, int) and not isinstance(given.value, bool)
        if is_integer(time.type) or (time.type == pa.date32() and is_whole):
            if not is_whole:
                raise ProgrammingError(
                    f"delta of {function}() is a whole number for {column}, not {describe(given)}"
                )
            delta, least = int(given.value), "1" if is_integer(time.type) else "1 day"
        else:
            unit, size = TIME_UNITS[time.type]
            delta, least = _nanoseconds(given, column, function) // size, f"1 {unit}"
        if delta < 1:
            raise ProgrammingError(
                f"delta of {function}() is at least {least}, not {describe(given)}"
            )
        return delta


_FIELDS: Mapping[str, Callable[[_Values], Any]] = {
    "delta": _Values.delta,
    "ties": lambda values: values.text("ties", _TIES),
    "method": lambda values: values.text("method", _METHODS),
    "rel_error": lambda values: values.number("rel_error", DEFAULT_REL_ERROR, 1.0, MIN_REL_ERROR),
    "confidence": lambda values: values.number("confidence", DEFAULT_CONFIDENCE, MAX_CONFIDENCE),
    "seed": lambda values: values.whole("seed", DEFAULT_SEED, 0, 2**63),
    "max_seconds": lambda values: values.number("max_seconds", DEFAULT_SECONDS, math.inf),
}


def _nanoseconds(given: Literal, column: str, function: str) -> int:
    value: Any = read_interval(given.value) if is_bare_string(given) else given.value
    if value is None or (given.type != INTERVAL and not is_bare_string(given)):
        raise ProgrammingError(
            f"delta of {function}() is an interval, such as INTERVAL 1 DAY, for {column}, not "
            f"{describe(given)}"
        )
    if value.months:
        raise ProgrammingError(
            f"delta of {function}() has months or years, which differ in length; give it in days"
        )
    return int(value.days * _DAY_NANOSECONDS + value.nanoseconds)


def _check_varying(function: str, name: str, expression: Expression, time: Column) -> None:
    """Raise an error for an argument that differs by row and cannot, or whose type does not fit."""
    if name == "motif" and function == "motif_sample":
        raise NotSupportedError(
            "motif of motif_sample() is the same for all rows, since the result has a column for "
            f"each of its vertices; {describe(expression)} is not"
        )
    kind = expression.type
    match name:
        case "motif" | "ties" | "method":
            wanted, fits = "a text", kind == pa.string()
        case "seed" | "n":
            wanted, fits = "a whole number", is_integer(kind)
        case "delta" if is_integer(time.type):
            wanted, fits = f"a whole number for the column '{time.name}'", is_integer(kind)
        case "delta":
            fits = kind in (INTERVAL, pa.string())
            fits = fits or (time.type == pa.date32() and is_integer(kind))
            wanted = f"an interval for the {sql_type_name(time.type)} column '{time.name}'"
        case _:
            wanted, fits = "a number", is_number(kind)
    if not fits:
        raise ProgrammingError(f"{name} of {function}() is {wanted}, not {describe(expression)}")
