r"""Filters as values: comparisons of a column with a value, joined by AND and OR.

pyarrow does not let one look into an Expression, but prints it:

    ((id >= 7) and (caption == "a \"red\" dog"))

The text is read and an expression is built from what was read. Only if pyarrow finds it equal to
the original is the reading right, and trusted.
"""

from __future__ import annotations

import itertools
import operator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.late import pc
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

STARTS_WITH = "starts_with"
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    STARTS_WITH: lambda field, value: pc.starts_with(field, value.as_py()),
}

# A literal may have several types; expressions with more combinations than this are not read.
_MAX_READINGS = 256
_BEYOND_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column, one of OPERATORS, and an Arrow scalar."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class And:
    """Both hold."""

    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Or:
    """One of both holds."""

    left: Predicate
    right: Predicate


Predicate = Comparison | And | Or


@dataclass(frozen=True, slots=True)
class _Unread:
    """A comparison as printed: its literal may be any of several scalars."""

    column: str
    operator: str
    values: tuple[Any, ...]


def build_expression(predicate: Predicate) -> Any:
    """Return the pyarrow Expression of a predicate."""
    match predicate:
        case Comparison(column, symbol, value):
            return OPERATORS[symbol](pc.field(column), value)
        case And(left, right):
            return build_expression(left) & build_expression(right)
        case Or(left, right):
            return build_expression(left) | build_expression(right)


def read_comparisons(comparisons: Sequence[Any], schema: Any) -> Predicate | None:
    """Return the conjunction of (column, operator, value); None if there are none.

    Raises ProgrammingError for unknown columns and operators, and values that are not scalars.
    """
    parts: list[Predicate] = []
    for comparison in comparisons:
        try:
            column, symbol, value = comparison
        except (TypeError, ValueError):
            raise ProgrammingError(
                f"a filter holds (column, operator, value), not {comparison!r}"
            ) from None
        if column not in schema.names:
            near = did_you_mean(str(column), schema.names)
            raise ProgrammingError(f"column '{column}' does not exist{near}")
        if symbol not in OPERATORS:
            raise ProgrammingError(f"operator '{symbol}' is not one of {', '.join(OPERATORS)}")
        try:
            scalar = _scalar(value)
        except (pa.ArrowException, OverflowError) as error:
            raise ProgrammingError(f"column '{column}' cannot be compared: {error}") from None
        if symbol == STARTS_WITH and not isinstance(scalar.as_py(), str | bytes):
            raise ProgrammingError(f"column '{column}' starts with a text, not {value!r}")
        parts.append(Comparison(column, symbol, scalar))
    whole: Predicate | None = None
    for part in parts:
        whole = part if whole is None else And(whole, part)
    return whole


def _scalar(value: Any) -> Any:
    """Return a value as Arrow's; those of pandas with all that is finer than a microsecond."""
    if isinstance(value, pa.Scalar):
        return value
    if isinstance(value, datetime) and hasattr(value, "to_datetime64"):
        zone = None if value.tzinfo is None else str(value.tzinfo)
        return pa.scalar(value, pa.timestamp(getattr(value, "unit", "ns"), zone))
    if isinstance(value, timedelta) and hasattr(value, "to_timedelta64"):
        return pa.scalar(value.to_timedelta64())
    if type(value) is int and value >= _BEYOND_INT64:
        return pa.scalar(value, pa.uint64())
    return pa.scalar(value)


def read_expression(expression: Any, schema: Any) -> Predicate | None:
    """Return what a pyarrow Expression says; None unless it is comparisons, AND and OR."""
    text = printed(expression)
    parsed = _parse(text, 0, schema)
    if parsed is None or parsed[1] != len(text):
        return None
    for reading in itertools.islice(_readings(parsed[0]), _MAX_READINGS):
        if build_expression(reading).equals(expression):
            return reading
    return None


def printed(expression: Any) -> str:
    """Return an expression as pyarrow prints it; "" where it holds bytes that are no text."""
    try:
        return str(expression)
    except UnicodeDecodeError:
        return ""


def _readings(parsed: Any) -> Iterator[Predicate]:
    match parsed:
        case _Unread(column, symbol, values):
            for value in values:
                yield Comparison(column, symbol, value)
        case join, left, right:
            for one, other in itertools.product(_readings(left), _readings(right)):
                yield join(one, other)


def _parse(text: str, place: int, schema: Any) -> tuple[Any, int] | None:
    """Return the predicate that begins at a place, and the place behind it; None if none does."""
    for name in schema.names if text.startswith(f"{STARTS_WITH}(", place) else ():
        found = _parse_prefix(text, place + len(STARTS_WITH) + 1, name, schema)
        if found is not None:
            return found
    if not text.startswith("(", place):
        return None
    for name in schema.names:
        found = _parse_comparison(text, place + 1, name, schema)
        if found is not None:
            return found
    left = _parse(text, place + 1, schema)
    if left is None:
        return None
    for word, join in ((" and ", And), (" or ", Or)):
        if text.startswith(word, left[1]):
            right = _parse(text, left[1] + len(word), schema)
            if right is not None and text.startswith(")", right[1]):
                return (join, left[0], right[0]), right[1] + 1
    return None


def _parse_comparison(text: str, place: int, name: str, schema: Any) -> tuple[Any, int] | None:
    if not text.startswith(f"{name} ", place):
        return None
    place += len(name) + 1
    symbol = next((symbol for symbol in OPERATORS if text.startswith(f"{symbol} ", place)), None)
    if symbol is None:
        return None
    place += len(symbol) + 1
    end = _quote_end(text, place) if text.startswith('"', place) else text.find(")", place)
    if end < 0 or not text.startswith(")", end):
        return None
    values = tuple(_scalars(text[place:end], schema.field(name).type))
    return (_Unread(name, symbol, values), end + 1) if values else None


def _parse_prefix(text: str, place: int, name: str, schema: Any) -> tuple[Any, int] | None:
    before, behind = f'{name}, {{pattern="', '", ignore_case=false})'
    end = text.find(behind, place)
    if not text.startswith(before, place) or end < 0:
        return None
    # Printed as it is: what was read wrongly is another expression.
    pattern, data_type = text[place + len(before) : end], schema.field(name).type
    is_bytes = pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type)
    value = pa.scalar(pattern.encode() if is_bytes else pattern)
    return _Unread(name, STARTS_WITH, (value,)), end + len(behind)


def _quote_end(text: str, place: int) -> int:
    """Return the place behind the quote that closes the one at `place`; -1 if none does."""
    place += 1
    while place < len(text) and text[place] != '"':
        place += 2 if text[place] == "\\" else 1
    return place + 1 if place < len(text) else -1


def _scalars(literal: str, data_type: Any) -> Iterator[Any]:
    """Yield the scalars that pyarrow may print as this literal, the likeliest first."""
    if literal.startswith('"'):
        inner = literal[1:-1]
        for plain in (pa.string(), pa.large_string()):
            yield pa.scalar(inner.replace('\\"', '"').replace("\\\\", "\\"), plain)
        try:
            raw = bytes.fromhex(inner)
        except ValueError:
            return
        for plain in (pa.binary(), pa.large_binary()):
            yield pa.scalar(raw, plain)
        return
    if literal in {"true", "false"}:
        yield pa.scalar(literal == "true")
        return
    types = (pa.int64(), pa.float64(), data_type, pa.timestamp("us"), pa.date32(), pa.int32())
    for position, candidate in enumerate(types):
        if candidate in types[:position]:
            continue
        try:
            yield pa.scalar(literal).cast(candidate)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
