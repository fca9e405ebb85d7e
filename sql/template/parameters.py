"""The values of a statement's parameters, as literals with Arrow types."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import TokenType, exp

from raydb.errors import DataError, ProgrammingError, did_you_mean
from raydb.names import find_name
from raydb.planner.expressions.functions.nested import structs
from raydb.planner.expressions.literals import (
    decimal_literal,
    integer_literal,
    is_bare_null,
    list_literal,
)
from raydb.planner.expressions.nodes import Expression, Literal
from raydb.planner.expressions.types import INTERVAL, TIMESTAMP_NS, TIMESTAMPTZ, common_type
from raydb.planner.expressions.typing_rules import unify
from raydb.planner.expressions.vector_value import Vector
from raydb.running import cuts_nanoseconds
from raydb.sql.parse.nodes import may_have, nodes_of
from raydb.storage.clocks import TIMETZ, number_of
from raydb.storage.formats import cast_columns
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID

Parameters = Sequence[object] | Mapping[str, object]

NUMPY_TYPES: dict[type, pa.DataType] = {
    np.int8: pa.int8(),
    np.int16: pa.int16(),
    np.int32: pa.int32(),
    np.int64: pa.int64(),
    np.uint8: pa.uint8(),
    np.uint16: pa.uint16(),
    np.uint32: pa.uint32(),
    np.uint64: pa.uint64(),
    np.float32: pa.float32(),
}


def bind_parameters(tree: exp.Expr, parameters: Parameters) -> Mapping[str, Literal]:
    """Return the literal of each parameter in a tree, by its name or its number from 1.

    Raises ProgrammingError if a value is missing, left over or of a type that SQL does not have.
    """
    if not parameters and not may_have(tree, *_OPENING):
        return {}
    nodes = nodes_of(tree, exp.Parameter, exp.Placeholder)
    return bind_values({parameter_key(node) for node in nodes}, parameters)


# What begins a parameter: $1, $name, ?, :name.
_OPENING = (TokenType.PARAMETER, TokenType.PLACEHOLDER, TokenType.COLON)


def bind_values(wanted: Set[str], parameters: Parameters) -> Mapping[str, Literal]:
    """Return the literals of the parameters that a tree has; errors as in `bind_parameters`."""
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping):
        raise ProgrammingError(
            f"parameters are a sequence or a mapping, not a {type(parameters).__name__}"
        )
    if isinstance(parameters, Mapping):
        values: dict[str, object] = dict(parameters)
        for name in wanted - values.keys():
            given = find_name(name, (key for key in values if isinstance(key, str)), "parameter")
            if given is not None and given not in wanted:
                values[name] = values.pop(given)
        _check_names(wanted, values)
    else:
        values = {str(number): value for number, value in enumerate(parameters, 1)}
        _check_numbers(wanted, len(values))
    return {key: literal_of(key, value) for key, value in values.items()}


def parameter_key(node: exp.Expr) -> str:
    """Return the name or number of a parameter's node: 'a' for `$a` and `:a`, '1' for `$1`.

    Raises ProgrammingError for `%s`, which other drivers take.
    """
    named = node.this
    if named is None:
        raise ProgrammingError("'%s' is no parameter: write ?, $1 or $name")
    return named.name if isinstance(named, exp.Expr) else str(named)


def _check_names(wanted: Set[str], values: Mapping[str, object]) -> None:
    for name in sorted(wanted - values.keys()):
        if name.isdigit():
            raise ProgrammingError(f"parameter {name} needs a sequence of values, not a mapping")
        raise ProgrammingError(f"parameter '{name}' has no value{did_you_mean(name, values)}")
    for name in values.keys() - wanted:
        raise ProgrammingError(
            f"the statement has no parameter '{name}'{did_you_mean(str(name), wanted)}"
        )


def _check_numbers(wanted: Set[str], given: int) -> None:
    for name in sorted(wanted):
        if not name.isdigit():
            raise ProgrammingError(f"parameter '{name}' needs a mapping of names to values")
    numbers = {int(name) for name in wanted}
    if 0 in numbers:
        raise ProgrammingError("parameters are numbered from $1")
    count = max(numbers, default=0)
    if count != given:
        raise ProgrammingError(
            f"the statement has {_counted(count, 'parameter')},"
            f" but {_counted(given, 'value')} {'was' if given == 1 else 'were'} given"
        )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def literal_of(key: str, value: Any) -> Literal:
    """Return the literal of a parameter's value; errors as in `bind_parameters`."""
    match value:
        case Literal():
            return value
        case np.generic():
            return _numpy_literal(key, value)
        case bool():
            return Literal(value, pa.bool_())
        case int():
            return integer_literal(value)
        case float():
            return Literal(value, pa.float64())
        case str():
            return _text_literal(key, value)
        case bytes() | bytearray() | memoryview():
            return Literal(bytes(value), pa.binary())
        case decimal.Decimal() if value.is_finite():
            return decimal_literal(value)
        case dt.date() | dt.time():
            return _moment_literal(key, value)
        case dt.timedelta():
            return _interval_literal(key, value)
        case pa.MonthDayNano():
            return Literal(value, INTERVAL)
        case uuid.UUID():
            return Literal(value.bytes, UUID)
        case _ if value is None or is_missing(type(value)):
            return Literal(None, pa.null())
        case _:
            return _nested_literal(key, value)


def _nested_literal(key: str, value: Any) -> Literal:
    match value:
        case list() | tuple():
            return _list_literal(key, value)
        case Set() | range():
            return _list_literal(key, list(value))
        case np.ndarray() if value.ndim == 1:
            return _vector_literal(key, value)
        case dict() if value and all(isinstance(name, str) for name in value):
            return _struct_literal(key, value)
        case _ if hasattr(value, "to_list") or isinstance(value, pa.Array | pa.ChunkedArray):
            return _list_literal(key, _elements(value))
        case _:
            raise _no_type(key, value)


def _no_type(key: str, value: object) -> ProgrammingError:
    return ProgrammingError(
        f"parameter {key} has the value {value!r} of type {type(value).__name__},"
        " which is no type of SQL"
    )


def is_missing(kind: type) -> bool:
    """Say whether a type is that of pandas.NaT, which passes for a datetime, or of pandas.NA."""
    return kind.__name__ in ("NaTType", "NAType")


def _text_literal(key: str, value: str) -> Literal:
    _check_characters(key, value)
    return Literal(value, pa.string())


def _check_characters(key: str, value: str) -> None:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = value[error.start]
            raise ProgrammingError(f"parameter {key} has {half!r}, half of a character") from None


def _list_literal(key: str, values: Sequence[object]) -> Literal:
    """Return a list in the type that its elements have in common."""
    if values and isinstance(values[0], tuple) and _are_rows(key, values):
        return _rows_literal(key, values)
    if set(map(type, values)) == {float}:
        return Literal(Vector(np.array(values, np.float64)), pa.list_(pa.float64()))
    elements = [literal_of(key, value) for value in values]
    if all(map(is_bare_null, elements)):
        return Literal((None,) * len(elements), pa.list_(pa.null()))
    unified: Sequence[Expression] = ()
    with suppress(DataError, ProgrammingError):
        unified = unify(elements, "combine")
    constants = [each for each in unified if isinstance(each, Literal)]
    if len(constants) < len(elements):
        kinds = dict.fromkeys(sql_type_name(each.type) for each in elements)
        raise ProgrammingError(
            f"the values of parameter {key} are of several types: {', '.join(kinds)}"
        )
    return list_literal(constants, pa.list_(constants[0].type))


def _are_rows(key: str, values: Sequence[object]) -> bool:
    """Say whether values are tuples of one length whose parts have no type in common."""
    if not all(isinstance(each, tuple) and each for each in values):
        return False
    rows = [each for each in values if isinstance(each, tuple)]
    kinds = {literal_of(key, part).type for row in rows for part in row}
    found: pa.DataType | None = pa.null()
    for kind in kinds:
        found = None if found is None else common_type(found, kind)
    return found is None and len({len(row) for row in rows}) == 1


def _rows_literal(key: str, rows: Sequence[Any]) -> Literal:
    """Return a list of structs, whose fields have the names that those of row() have."""
    columns = [_list_literal(key, column) for column in zip(*rows, strict=True)]
    fields = [(f"f{place}", each.type.value_type) for place, each in enumerate(columns, 1)]
    values = tuple(zip(*(each.value for each in columns), strict=True))
    return Literal(values, pa.list_(pa.struct(fields)))


def _struct_literal(key: str, value: Mapping[str, object]) -> Literal:
    for name in value:
        _check_characters(key, name)
    fields = {name: literal_of(key, each) for name, each in value.items()}
    struct = structs.struct_of(fields)
    assert isinstance(struct, Literal), "constants stay constants"
    return struct


def _vector_literal(key: str, values: np.ndarray[Any, Any]) -> Literal:
    """Return an array of numbers as a list in the type of its dtype."""
    if not values.size or values.dtype.type not in (*NUMPY_TYPES, np.float64):
        return _list_literal(key, list(values))
    data_type = NUMPY_TYPES.get(values.dtype.type, pa.float64())
    if values.dtype in (np.float32, np.float64):
        return Literal(Vector(values), pa.list_(data_type))
    return Literal(tuple(values.tolist()), pa.list_(data_type))


def _elements(values: Any) -> list[Any]:
    """Return the values of a series of pandas or Polars, of an index or of an Arrow array."""
    if hasattr(values, "to_arrow"):  # of Polars
        return list(values.to_arrow().to_pylist())
    try:
        return list(pa.array(values, from_pandas=True).to_pylist())  # NaN is NULL
    except (pa.ArrowException, TypeError):
        return list(values)


def _numpy_literal(key: str, value: np.generic) -> Literal:
    """Return a NumPy scalar in the type of its dtype."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _numpy_time(key, value)
    data_type = NUMPY_TYPES.get(type(value))
    if data_type is None:
        return literal_of(key, value.item())
    return Literal(value.item(), data_type)


def _numpy_time(key: str, value: np.datetime64 | np.timedelta64) -> Literal:
    """Return a moment or a span of time; NaT is NULL."""
    if np.isnat(value):
        return Literal(None, pa.null())
    kind, unit = value.dtype.name.partition("[")[0].removesuffix("64"), np.datetime_data(value)[0]
    if kind == "timedelta" and unit in ("Y", "M"):
        months = int(value.astype("m8[M]").astype(np.int64))
        return Literal(pa.MonthDayNano([months, 0, 0]), INTERVAL)
    wanted = "D" if kind == "datetime" and unit in ("Y", "M", "W", "D") else "us"
    converted = value.astype(f"{kind}64[{wanted}]")
    if converted.astype(value.dtype) != value:
        if kind == "datetime" and not cuts_nanoseconds():
            return Literal(int(value.astype("M8[ns]").astype(np.int64)), TIMESTAMP_NS)
        _refuse_nanoseconds(key, value)
    found = converted.item()
    if isinstance(found, int):
        raise ProgrammingError(f"parameter {key} is {value}, which is no year from 1 to 9999")
    return literal_of(key, found)


def _moment_literal(key: str, value: dt.date | dt.time) -> Literal:
    if is_missing(type(value)):
        return Literal(None, pa.null())
    if getattr(value, "nanosecond", 0):  # of a pandas Timestamp
        nanoseconds = getattr(value, "value", None)
        is_plain = isinstance(value, dt.datetime) and value.tzinfo is None
        if is_plain and not cuts_nanoseconds():
            return Literal(nanoseconds, TIMESTAMP_NS)
        _refuse_nanoseconds(key, value)
    if isinstance(value, dt.datetime):
        return _timestamp_literal(key, value)
    if isinstance(value, dt.time) and value.utcoffset() is not None:
        return _clock_literal(key, value)
    if isinstance(value, dt.time) and value.tzinfo is not None:
        raise ProgrammingError(f"parameter {key} is a time in a zone that needs a day beside it")
    return Literal(value, pa.date32() if isinstance(value, dt.date) else pa.time64("us"))


def _clock_literal(key: str, value: dt.time) -> Literal:
    try:
        return Literal(number_of(value), TIMETZ)
    except ValueError as error:
        raise ProgrammingError(f"parameter {key} is {value}: {error}") from None


def _timestamp_literal(key: str, value: dt.datetime) -> Literal:
    try:
        if value.utcoffset() is None:
            return Literal(value.replace(tzinfo=None), pa.timestamp("us"))
        return Literal(value.astimezone(dt.UTC), TIMESTAMPTZ)
    except OverflowError:
        raise ProgrammingError(
            f"parameter {key} is {value}, which is beyond the years 1 to 9999 in UTC"
        ) from None


def _interval_literal(key: str, value: dt.timedelta) -> Literal:
    """Return days and time, as datetime keeps them."""
    if getattr(value, "nanoseconds", 0):  # of a pandas Timedelta
        _refuse_nanoseconds(key, value)
    clock = value - dt.timedelta(days=value.days)
    nanoseconds = clock // dt.timedelta(microseconds=1) * 1000
    return Literal(pa.MonthDayNano([0, value.days, nanoseconds]), INTERVAL)


def _refuse_nanoseconds(key: str, value: object) -> None:
    if not cuts_nanoseconds():
        raise cast_columns.nanoseconds_lost(f"parameter {key}, {value},")
