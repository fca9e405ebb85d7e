"""The question of a call of motif_count() or motif_sample(), from the values of its arguments.

    make_question(function, {"motif": ..., "delta": ...}, {}, time)    where all are constants
    question_of_row(function, question, {"delta": ...}, time)          with those of one row

An argument that a table gives, row by row, is checked twice: its type once, its value in each row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

import pyarrow as pa

from raydb.engine.table_functions.motif.motif_text import read_motif
from raydb.engine.table_functions.motif.motif_variants import variants_of
from raydb.errors import DataError, Error, NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.interval_text import read_interval
from raydb.planner.expressions.types import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_MS,
    TIMESTAMP_NS,
    TIMESTAMP_S,
    TIMESTAMPTZ,
)
from raydb.planner.expressions.typing_rules import cast
from raydb.planner.plan.function_arguments import COLUMN, NAME, TEXT, Argument, number, whole, word
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_text import WrittenMotif
    from raydb.engine.table_functions.motif.motif_variants import Variant
    from raydb.engine.table_functions.motif.motif_where import Where
    from raydb.planner.expressions.nodes import Column, Expression, Literal
    from raydb.planner.plan.table_function import SearchFunction

# Less would take 10**18 samples, and more is 1 to the normal distribution in float64.
MIN_REL_ERROR = 1e-9
MAX_CONFIDENCE = 1 - 2**-50

LIST_ARGUMENTS = (
    Argument("motif", TEXT, is_required=True, varies=True),
    Argument("delta", is_required=True, varies=True),
    Argument("where", TEXT),
    Argument("vertices", word("distinct", "any"), "distinct"),
    Argument("min_gap"),
    Argument("max_gap"),
    Argument("since"),
    Argument("ties", word("strict", "index"), "strict", varies=True),
)
"""The arguments that say which instances are meant, beside those that name columns."""

QUESTION_ARGUMENTS = (
    *LIST_ARGUMENTS,
    Argument("rel_error", number(MIN_REL_ERROR, 1.0), 0.05, varies=True),
    Argument("confidence", number(0.0, MAX_CONFIDENCE), 0.95, varies=True),
    Argument("method", word("auto", "exact", "timest"), "auto", varies=True),
    Argument("seed", whole(0, 2**63), 1, varies=True),
    Argument("max_seconds", number(0.0, math.inf), 60.0, varies=True),
)
"""Those and what is asked about them: how many, or some of them."""

SPLIT_ARGUMENTS = (
    Argument("by", NAME),
    Argument("every"),
    Argument("shuffles", whole(2, 10_001), 0),
)
"""What instances are counted by, and beside what."""

# What is read when the motif is known.
_READ_LATER = ("where", "by")

# The units of times that are no integers, and the nanoseconds in them.
_DAY_NANOSECONDS = 86_400 * 10**9
_INTERVAL = pa.month_day_nano_interval()
TIME_UNITS = {
    DATE: ("day", _DAY_NANOSECONDS),
    TIMESTAMP_S: ("second", 10**9),
    TIMESTAMP_MS: ("millisecond", 10**6),
    TIMESTAMP: ("microsecond", 1000),
    TIMESTAMP_NS: ("nanosecond", 1),
    TIMESTAMPTZ: ("microsecond", 1000),
}


@dataclass(frozen=True, slots=True)
class MotifQuestion:
    """What motif_count() and its like ask of a temporal graph.

    function: the name of the table function. variants: the plain motifs that the written one stands
    for; wheres: the conditions on the edges of each, empty where there are none. delta: the longest
    time from the first edge of an instance to the last; min_gap, max_gap: the bounds of the time
    between edges of consecutive parts; since: an instance has an edge at this time or later; all in
    units of the times. rel_error, confidence: when an estimate is good enough. sample_count: how
    many instances to sample. by, every: the vertex and the width of the windows of time that
    instances are counted by. shuffles: how often they are counted with the times in another order.
    notes: what there is to say of the arguments.
    """

    function: str
    written: WrittenMotif
    variants: tuple[Variant, ...]
    delta: int
    ties: Choice["strict", "index"]
    max_seconds: float = math.inf
    vertices: Choice["distinct", "any"] = "distinct"
    wheres: tuple[Where, ...] = ()
    min_gap: int | None = None
    max_gap: int | None = None
    since: int | None = None
    method: Choice["auto", "exact", "timest"] = "exact"
    rel_error: float = 0.05
    confidence: float = 0.95
    seed: int = 1
    sample_count: int | None = None
    by: int | None = None
    every: int | None = None
    shuffles: int = 0
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the motif's vertices."""
        return self.written.names

    def delta_on(self, edges: EdgeGraph) -> int:
        """Return the delta for a graph, which keeps sums of times in 64 bits."""
        return edges.clamp(self.delta)


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
    fields: dict[str, Any] = {"written": read_motif("a->b", function.name), "delta": 1}
    for argument in function.arguments:
        is_open = argument.is_required and argument.name in varying
        if argument.kind is not COLUMN and argument.name not in _READ_LATER and not is_open:
            fields |= _read(function, argument.name, constants, time)
    if "by" in constants:
        fields["by"] = _vertex(function, constants, varying, fields["written"])
    may_repeat = fields["vertices"] == "any"
    variants = variants_of(fields["written"], function.name, may_repeat=may_repeat)
    return MotifQuestion(function=function.name, variants=variants, **fields)


def _vertex(
    function: SearchFunction,
    constants: Mapping[str, Literal],
    varying: Mapping[str, Expression],
    written: WrittenMotif,
) -> int:
    """Return the number of the vertex that instances are counted by."""
    if "motif" in varying:
        raise NotSupportedError(
            f"by of {function.name}() is a vertex of one motif, and motif differs by row"
        )
    name = function.value("by", constants)
    if fold(name) not in written.names:
        raise ProgrammingError(
            f"by of {function.name}() is a vertex of the motif, which has "
            f"{', '.join(written.names)}; not '{name}'"
        )
    return written.names.index(fold(name))


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
        if "written" in changed:
            may_repeat = question.vertices == "any"
            written = changed["written"]
            changed["variants"] = variants_of(written, function.name, may_repeat=may_repeat)
    except ProgrammingError as error:
        told = "" if "motif" not in given else f" (motif '{given['motif'].value}')"
        raise DataError(f"{error.sentence}{told}") from error
    return replace(question, **changed)


def _read(
    function: SearchFunction, name: str, constants: Mapping[str, Literal], time: Column
) -> dict[str, Any]:
    """Return the fields of a question that an argument gives."""
    if name in ("delta", "min_gap", "max_gap"):
        given = constants.get(name)
        return {name: None if given is None else _span(function.name, name, given, time)}
    if name == "every":
        given = constants.get(name)
        width = None if given is None else _span(function.name, name, given, time)
        if given is not None and width == 0:
            raise ProgrammingError(f"every of {function.name}() is more than {describe(given)}")
        return {name: width}
    if name == "since":
        given = constants.get(name)
        return {name: None if given is None else _moment(function.name, given, time)}
    value = function.value(name, constants)
    if name == "motif":
        return {"written": read_motif(value, function.name)}
    return {"sample_count" if name == "n" else name: value}


def _span(function: str, name: str, given: Literal, time: Column) -> int:
    """Return a time between two edges, at least 0, in units of the time column.

    Times are whole numbers of these, so what an interval has beyond them makes no difference.
    """
    column = f"the {sql_type_name(time.type)} column '{time.name}'"
    is_whole = isinstance(given.value, int) and not isinstance(given.value, bool)
    if pa.types.is_integer(time.type) or (time.type == pa.date32() and is_whole):
        if not is_whole:
            raise ProgrammingError(
                f"{name} of {function}() is a whole number for {column}, not {describe(given)}"
            )
        span = int(given.value)
    else:
        span = _nanoseconds(given, column, f"{name} of {function}()") // TIME_UNITS[time.type][1]
    if span < 0:
        raise ProgrammingError(f"{name} of {function}() is at least 0, not {describe(given)}")
    return span


def _nanoseconds(given: Literal, column: str, argument: str) -> int:
    is_text = given.type == pa.string()
    value: Any = read_interval(given.value) if is_text else given.value
    if value is None or not (is_text or given.type == _INTERVAL):
        raise ProgrammingError(
            f"{argument} is an interval, such as INTERVAL 1 DAY, for {column}, not "
            f"{describe(given)}"
        )
    if value.months:
        raise ProgrammingError(
            f"{argument} has months or years, which differ in length; give it in days"
        )
    return int(value.days * _DAY_NANOSECONDS + value.nanoseconds)


def _moment(function: str, given: Literal, time: Column) -> int:
    """Return a moment in units of the time column, as the graph counts them before its first."""
    try:
        value = cast(given, time.type)
        found = evaluate(value, {}, 1)
    except Error:
        found = pa.nulls(1)
    if found.null_count or pa.types.is_boolean(given.type):
        raise ProgrammingError(
            f"since of {function}() is a time of the {sql_type_name(time.type)} column "
            f"'{time.name}', not {describe(given)}"
        )
    if found.type == pa.date32():
        found = found.cast(pa.int32())
    return int(found.cast(pa.int64())[0].as_py())


def _check_varying(
    function: SearchFunction, name: str, expression: Expression, time: Column
) -> None:
    """Raise an error for an argument that differs by row and cannot, or whose type does not fit."""
    if name == "motif" and function.name != "motif_count":
        raise NotSupportedError(
            f"motif of {function.name}() is the same for all rows, since the result has a column "
            f"for each of its vertices; {describe(expression)} is not"
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
