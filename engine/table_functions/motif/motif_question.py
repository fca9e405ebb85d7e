"""The question of a call of motif_count() or motif_sample(), from the values of its arguments.

    make_question(function, {"motif": ..., "delta": ...}, {}, time)    where all are constants
    question_of_row(function, question, {"delta": ...}, time)          with those of one row

An argument that a table gives, row by row, is checked twice: its type once, its value in each row.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

import pyarrow as pa

from raydb.engine.table_functions.motif.motif_text import read_motif
from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.kernels.motif.shape import Motif
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.interval_text import read_interval
from raydb.planner.expressions.types import DATE, TIMESTAMP, TIMESTAMPTZ
from raydb.planner.plan.function_arguments import COLUMN, TEXT, Argument, number, whole, word
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.table_function import SearchFunction

# Less would take 10**18 samples, and more is 1 to the normal distribution in float64.
MIN_REL_ERROR = 1e-9
MAX_CONFIDENCE = 1 - 2**-50

QUESTION_ARGUMENTS = (
    Argument("motif", TEXT, is_required=True, varies=True),
    Argument("delta", is_required=True, varies=True),
    Argument("rel_error", number(MIN_REL_ERROR, 1.0), 0.05, varies=True),
    Argument("confidence", number(0.0, MAX_CONFIDENCE), 0.95, varies=True),
    Argument("ties", word("strict", "index"), "strict", varies=True),
    Argument("method", word("auto", "exact", "timest"), "auto", varies=True),
    Argument("seed", whole(0, 2**63), 1, varies=True),
    Argument("max_seconds", number(0.0, math.inf), 60.0, varies=True),
)
"""The arguments that say what is asked, beside those that name columns."""

# The units of times that are no integers, and the nanoseconds in them.
_DAY_NANOSECONDS = 86_400 * 10**9
_INTERVAL = pa.month_day_nano_interval()
TIME_UNITS = {
    DATE: ("day", _DAY_NANOSECONDS),
    TIMESTAMP: ("microsecond", 1000),
    TIMESTAMPTZ: ("microsecond", 1000),
}


@dataclass(frozen=True, slots=True)
class MotifQuestion:
    """What motif_count() and motif_sample() ask of a temporal graph.

    names: of the motif's vertices. delta: the longest time from the first edge of an instance to
    the last, in units of the times. rel_error, confidence: when an estimate is good enough.
    sample_count: how many instances to sample, None to count them. notes: what there is to say of
    the arguments.
    """

    motif: Motif
    names: tuple[str, ...]
    delta: int
    ties: Choice["strict", "index"]
    method: Choice["auto", "exact", "timest"]
    rel_error: float
    confidence: float
    seed: int
    max_seconds: float
    sample_count: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """The name of the table function."""
        return "motif_count" if self.sample_count is None else "motif_sample"


def make_question(
    function: SearchFunction,
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
    # These have no default, and stand for a row's while that is not known.
    fields: dict[str, Any] = {"motif": Motif(2, ((0, 1),), (0,)), "names": ("a", "b"), "delta": 1}
    for argument in function.arguments:
        if argument.kind is not COLUMN and not (argument.is_required and argument.name in varying):
            fields |= _read(function, argument.name, constants, time)
    return MotifQuestion(**fields)


def question_of_row(
    function: SearchFunction, question: MotifQuestion, given: Mapping[str, Literal], time: Column
) -> MotifQuestion:
    """Return a question with the values that a row has for the arguments that stand open in it.

    Raises DataError for a value that an argument cannot have.
    """
    changed: dict[str, Any] = {}
    try:
        for name in given:
            changed |= _read(function, name, given, time)
    except ProgrammingError as error:
        told = "" if "motif" not in given else f" (motif '{given['motif'].value}')"
        raise DataError(f"{error.sentence}{told}") from error
    return replace(question, **changed)


def _read(
    function: SearchFunction, name: str, constants: Mapping[str, Literal], time: Column
) -> dict[str, Any]:
    """Return the fields of a question that an argument gives."""
    if name == "delta":
        return {"delta": _delta(function.name, constants["delta"], time)}
    value = function.value(name, constants)
    if name == "motif":
        motif, names = read_motif(value, function.name)
        return {"motif": motif, "names": names}
    return {"sample_count" if name == "n" else name: value}


def _delta(function: str, given: Literal, time: Column) -> int:
    """Return the longest time between two edges in units of the time column.

    Times are whole numbers of these, so what an interval has beyond them makes no difference.
    """
    column = f"the {sql_type_name(time.type)} column '{time.name}'"
    is_whole = isinstance(given.value, int) and not isinstance(given.value, bool)
    if pa.types.is_integer(time.type) or (time.type == pa.date32() and is_whole):
        if not is_whole:
            raise ProgrammingError(
                f"delta of {function}() is a whole number for {column}, not {describe(given)}"
            )
        delta, least = int(given.value), "1" if pa.types.is_integer(time.type) else "1 day"
    else:
        unit, size = TIME_UNITS[time.type]
        delta, least = _nanoseconds(given, column, function) // size, f"1 {unit}"
    if delta < 1:
        raise ProgrammingError(f"delta of {function}() is at least {least}, not {describe(given)}")
    return delta


def _nanoseconds(given: Literal, column: str, function: str) -> int:
    is_text = given.type == pa.string()
    value: Any = read_interval(given.value) if is_text else given.value
    if value is None or not (is_text or given.type == _INTERVAL):
        raise ProgrammingError(
            f"delta of {function}() is an interval, such as INTERVAL 1 DAY, for {column}, not "
            f"{describe(given)}"
        )
    if value.months:
        raise ProgrammingError(
            f"delta of {function}() has months or years, which differ in length; give it in days"
        )
    return int(value.days * _DAY_NANOSECONDS + value.nanoseconds)


def _check_varying(
    function: SearchFunction, name: str, expression: Expression, time: Column
) -> None:
    """Raise an error for an argument that differs by row and cannot, or whose type does not fit."""
    if name == "motif" and function.name == "motif_sample":
        raise NotSupportedError(
            "motif of motif_sample() is the same for all rows, since the result has a column for "
            f"each of its vertices; {describe(expression)} is not"
        )
    if name != "delta":
        function.argument(name).check_type(expression, function.name)
        return
    kind = expression.type
    wanted = f"an interval for the {sql_type_name(time.type)} column '{time.name}'"
    fits = kind in (_INTERVAL, pa.string())
    if pa.types.is_integer(time.type):
        wanted, fits = f"a whole number for the column '{time.name}'", pa.types.is_integer(kind)
    elif time.type == pa.date32():
        fits = fits or pa.types.is_integer(kind)
    if not fits:
        raise ProgrammingError(
            f"delta of {function.name}() is {wanted}, not {describe(expression)}"
        )
