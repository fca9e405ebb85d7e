"""motif_count(rows, src => ...) and motif_sample(rows, ..., n => 10): calls in FROM to a plan.

    FROM motif_count(transfers, src => 's', dst => 'd', time => 't',
                     motif => 'a->b, b->c, c->a', delta => INTERVAL 1 DAY)
    FROM motif_sample((SELECT * FROM transfers WHERE amount > 1e4), ..., n => 3)

motif_count() gives one row, motif_sample() one for each instance: its vertices by their names, and
the rows of its edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, cast

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.interval_text import read_interval
from raydb.planner.logical import MotifQuestion, MotifSearch, Plan, output_columns
from raydb.sql.binding import Binding, new_column
from raydb.sql.files import named_argument
from raydb.sql.literals import is_bare_string
from raydb.sql.motif_text import read_motif
from raydb.sql.reader import fold
from raydb.sql.series import constant_argument
from raydb.sql.types import INTERVAL, is_integer, is_interval, is_list
from raydb.sql.typing_rules import describe, unify
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.expression import Column
    from raydb.planner.expression import Literal as Constant

_REQUIRED = ("src", "dst", "time", "motif", "delta")
_OPTIONAL = ("rel_error", "confidence", "ties", "method", "seed", "max_seconds")
_TIES = ("strict", "index")
_METHODS = ("auto", "exact", "timest")

DEFAULT_REL_ERROR = 0.05
DEFAULT_CONFIDENCE = 0.95
# Less would take 10**18 samples, and more is 1 to the normal distribution in float64.
LEAST_REL_ERROR = 1e-9
MOST_CONFIDENCE = 1 - 2**-50
DEFAULT_SEED = 1
DEFAULT_SECONDS = 60.0
DEFAULT_SAMPLES = 10

# The units of times that are no integers, and the nanoseconds in them.
_DAY_NANOSECONDS = 86_400 * 10**9
_UNITS = {pa.date32(): ("day", _DAY_NANOSECONDS), pa.timestamp("us"): ("microsecond", 1000)}

# In the order of the row; the engine makes them by name.
COUNT_COLUMNS = (
    ("estimate", pa.float64()),
    ("std_error", pa.float64()),
    ("ci_low", pa.float64()),
    ("ci_high", pa.float64()),
    ("exact", pa.bool_()),
    ("converged", pa.bool_()),
    ("samples", pa.int64()),
    ("nonzero", pa.int64()),
    ("method", pa.string()),
    ("tree", pa.string()),
    ("total_weight", pa.float64()),
    ("seconds", pa.float64()),
    ("count", pa.int64()),
    ("edges", pa.int64()),
    ("vertices", pa.int64()),
    ("skipped_rows", pa.int64()),
    ("duplicates", pa.int64()),
    ("self_loops", pa.int64()),
)


def bind_motif_search(
    call: exp.Anonymous, binding: Binding, bind_rows: Callable[[exp.Expr, Binding], Plan]
) -> MotifSearch:
    """Return the search that a call asks for; `bind_rows` binds the first argument.

    Raises ProgrammingError for arguments that do not fit each other or the rows.
    """
    function = call.name.lower()
    rows, *others = call.expressions or [None]
    if not isinstance(rows, exp.Table | exp.Subquery) or None in map(named_argument, others):
        raise ProgrammingError(
            f"{function}() takes a table or a query in parentheses; what follows is named, "
            "such as src => 'payer'"
        )
    arguments = _Arguments.of(function, others, replace(binding, outer=None))
    plan = bind_rows(rows, binding)
    columns = output_columns(plan)
    source, target, time = (_column(name, arguments, columns) for name in _REQUIRED[:3])
    for end in (source, target):
        if is_list(end.type) or is_interval(end.type):
            raise NotSupportedError(
                f"column '{end.name}' of {function}() is {sql_type_name(end.type)}, and vertices "
                "of that type are not supported"
            )
    ends = unify((source, target), "compare")
    if not is_integer(time.type) and time.type not in _UNITS:
        raise ProgrammingError(
            f"column '{time.name}' of {function}() is {sql_type_name(time.type)}; times are "
            "integers, TIMESTAMP or DATE"
        )
    question = _question(arguments, time)
    found: Sequence[tuple[str, pa.DataType]] = COUNT_COLUMNS
    if question.sample_count is not None:
        found = _sample_columns(question, ends[0].type, time.type)
    made = tuple(new_column(binding, name, kind) for name, kind in found)
    return MotifSearch(plan, (ends[0], ends[1]), time, question, made)


def _sample_columns(
    question: MotifQuestion, vertex: pa.DataType, time: pa.DataType
) -> list[tuple[str, pa.DataType]]:
    """Return the columns of motif_sample(): one for each vertex and for each edge, and others."""
    edges = [f"e{number}_row" for number in range(1, len(question.motif.edges) + 1)]
    others = ("instance", *edges, "first_time", "last_time")
    taken = [name for name in question.names if name in others]
    if taken:
        raise ProgrammingError(
            f"motif of motif_sample(): a vertex cannot be called '{taken[0]}', which is another "
            "column of the result"
        )
    return [
        ("instance", pa.int64()),
        *((name, vertex) for name in question.names),
        *((edge, pa.int64()) for edge in edges),
        ("first_time", time),
        ("last_time", time),
    ]


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The named arguments of a call: names of columns as texts, all others as constants."""

    function: str
    columns: Mapping[str, str]
    constants: Mapping[str, Constant]

    @staticmethod
    def of(function: str, given: Sequence[exp.Expr], binding: Binding) -> _Arguments:
        """Read the arguments; raises ProgrammingError for one too many, twice or missing."""
        known = (*_REQUIRED, *_OPTIONAL, *(("n",) if function == "motif_sample" else ()))
        columns: dict[str, str] = {}
        constants: dict[str, Constant] = {}
        for argument in given:
            named = named_argument(argument)
            assert named is not None
            name, value = named
            if name not in known:
                near = did_you_mean(name, known)
                raise ProgrammingError(f"{function}() takes no argument '{name}'{near}")
            if name in columns or name in constants:
                raise ProgrammingError(f"argument '{name}' of {function}() is given twice")
            if name in _REQUIRED[:3] and isinstance(value, exp.Column):
                columns[name] = fold(value.this)
                continue
            constant = constant_argument(function, value, binding)
            if constant.is_null:
                raise ProgrammingError(f"{name} of {function}() is NULL")
            constants[name] = constant
            if name in _REQUIRED[:3]:
                columns[name] = _text(name, function, constant)
        missing = [name for name in _REQUIRED if name not in columns and name not in constants]
        if missing:
            raise ProgrammingError(f"{function}() needs {missing[0]} =>")
        return _Arguments(function, columns, constants)

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
            raise ProgrammingError(
                f"{name} of {self.function}() is a whole number from {least}, not "
                f"{describe(self.constants[name])}"
            )
        return value


def _text(name: str, function: str, constant: Constant) -> str:
    if not isinstance(constant.value, str):
        raise ProgrammingError(f"{name} of {function}() is a text, not {describe(constant)}")
    return constant.value


def _column(argument: str, arguments: _Arguments, columns: Sequence[Column]) -> Column:
    """Return the column of the rows that an argument names."""
    name = arguments.columns[argument]
    found = [each for each in columns if each.name == name]
    found = found or [each for each in columns if each.name == name.lower()]
    if not found:
        near = did_you_mean(name, [column.name for column in columns])
        raise ProgrammingError(
            f"column '{name}' ({argument} of {arguments.function}()) does not exist{near}"
        )
    if len(found) > 1:
        raise ProgrammingError(
            f"column '{name}' ({argument} of {arguments.function}()) is there twice"
        )
    return found[0]


def _question(arguments: _Arguments, time: Column) -> MotifQuestion:
    function = arguments.function
    motif, names = read_motif(_text("motif", function, arguments.constants["motif"]), function)
    is_sample = function == "motif_sample"
    ties, method = arguments.text("ties", _TIES), arguments.text("method", _METHODS)
    return MotifQuestion(
        motif,
        names,
        _delta(arguments, time),
        cast("Literal['strict', 'index']", ties),
        cast("Literal['auto', 'exact', 'timest']", method),
        arguments.number("rel_error", DEFAULT_REL_ERROR, 1.0, LEAST_REL_ERROR),
        arguments.number("confidence", DEFAULT_CONFIDENCE, MOST_CONFIDENCE),
        arguments.whole("seed", DEFAULT_SEED, 0, 2**63),
        arguments.number("max_seconds", DEFAULT_SECONDS, math.inf),
        arguments.whole("n", DEFAULT_SAMPLES, 1, 2**31) if is_sample else None,
    )


def _delta(arguments: _Arguments, time: Column) -> int:
    """Return the longest time between two edges in units of the time column.

    Times are whole numbers of these, so what an interval has beyond them makes no difference.
    """
    function, given = arguments.function, arguments.constants["delta"]
    column = f"the {sql_type_name(time.type)} column '{time.name}'"
    is_whole = isinstance(given.value, int) and not isinstance(given.value, bool)
    if is_integer(time.type) or (time.type == pa.date32() and is_whole):
        if not is_whole:
            raise ProgrammingError(
                f"delta of {function}() is a whole number for {column}, not {describe(given)}"
            )
        delta, least = int(given.value), "1" if is_integer(time.type) else "1 day"
    else:
        unit, size = _UNITS[time.type]
        delta, least = _nanoseconds(given, column, function) // size, f"1 {unit}"
    if delta < 1:
        raise ProgrammingError(f"delta of {function}() is at least {least}, not {describe(given)}")
    return delta


def _nanoseconds(given: Constant, column: str, function: str) -> int:
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
