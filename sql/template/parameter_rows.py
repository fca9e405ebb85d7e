"""Parameters of many runs of one statement, as columns: bound once, they are read row by row.

    INSERT INTO sale VALUES (?, ? * 2)      [("Oslo", 1), ("Lyon", 2), ...]

    "1 VARCHAR"  Oslo  Lyon  ...            a value that is stored as it is: in the column's type
    "2"          1     2     ...            a value that is computed with: in its own type

A value is converted as the literal of a single run would be, whole columns at a time where they
hold values of one type of Python.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.columns.zones import session_zone
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Column, Expression, Literal
from raydb.planner.expressions.types import (
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    can_assign,
    is_decimal,
    is_float,
    is_list,
    is_number,
)
from raydb.planner.plan.enum_codes import coded
from raydb.planner.plan.nodes import Scan
from raydb.sql.bind.statements.assignment import assign
from raydb.sql.template.parameters import (
    NUMPY_TYPES,
    Parameters,
    bind_values,
    is_missing,
    literal_of,
)
from raydb.storage.enums import stored_table, stored_type, typed_array
from raydb.storage.type_names import sql_type_name

PARAMETER_ROWS = "rows of parameters"
"""The table that a plan scans for them."""

# Of values that all are of one of these types.
_ARROW_TYPES: dict[type, pa.DataType] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: TEXT,
    bytes: BLOB,
    dt.date: DATE,
    dt.datetime: TIMESTAMP,
    dt.time: TIME,
    np.float64: DOUBLE,
    **NUMPY_TYPES,
}


class ParameterRows(Mapping[str, Expression]):
    """The values of a statement's parameters, a row for each run; a parameter is a column.

    wanted: the names or numbers of the parameters. Raises ProgrammingError for a row that lacks one
    or has others.
    """

    def __init__(self, wanted: Set[str], rows: Sequence[Parameters]) -> None:
        self.count = len(rows)
        self.numbers = itertools.count()
        self._values = _by_parameter(wanted, rows)
        self._made: dict[str, tuple[Column, pa.Array]] = {}

    def __getitem__(self, key: str) -> Expression:
        """Return a parameter as a value that is computed with, in its own type.

        Raises ProgrammingError where it has several types.
        """
        values = self._values[key]
        column = self._column(key, lambda: _natural(key, values))
        return Literal(None, pa.null()) if pa.types.is_null(column.type) else column

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def assigned(self, key: str, field: pa.Field) -> Column:
        """Return a parameter as it is stored in a column; errors as in `assigned_values`."""
        name = f"{key} {sql_type_name(field.type)}"
        return self._column(name, lambda: assigned_values(key, self._values[key], field))

    def run(self) -> Column:
        """Return the number of the run, from 0."""
        return self._column("run", lambda: pa.array(np.arange(self.count, dtype=np.int32)))

    def _column(self, name: str, make: Callable[[], pa.Array]) -> Column:
        if name not in self._made:
            array = make()
            self._made[name] = Column(next(self.numbers), name, array.type), array
        return self._made[name][0]

    def scan(self) -> Scan:
        """Return a scan of what was asked for so far."""
        return Scan(PARAMETER_ROWS, tuple(column for column, _ in self._made.values()))

    def table(self) -> pa.Table:
        """Return what `scan` reads, a row for each run."""
        self.run()
        return stored_table(pa.table({name: array for name, (_, array) in self._made.items()}))


def _by_parameter(wanted: Set[str], rows: Sequence[Parameters]) -> dict[str, Sequence[Any]]:
    """Return the values of each parameter; raises ProgrammingError as `bind_values` does."""
    kinds = set(map(type, rows))
    widths = set(map(len, rows)) if all(map(_has_length, kinds)) else {-1}
    if widths == {len(wanted)}:
        if all(issubclass(kind, tuple | list) for kind in kinds):
            numbers = [str(number) for number in range(1, len(wanted) + 1)]
            if wanted == set(numbers):
                return dict(zip(numbers, zip(*rows, strict=True), strict=True))
        elif kinds == {dict} and not any(name.isdigit() for name in wanted):
            with suppress(KeyError):
                return {name: [row[name] for row in rows] for name in wanted}  # type: ignore[call-overload]
    literals = [bind_values(wanted, row) for row in rows]
    return {name: [row[name] for row in literals] for name in wanted}


def _has_length(kind: type) -> bool:
    return issubclass(kind, Sequence | Mapping)


def _natural(key: str, values: Sequence[Any]) -> pa.Array:
    """Return values in the type that they have as literals, which is one for all of them."""
    array = _array(values)
    if array is None:
        literals = [literal_of(key, value) for value in values]
        types = {each.type for each in literals if not each.is_null}
        if len(types) > 1:
            raise ProgrammingError(f"parameter {key} has values of several types")
        return pa.array([each.value for each in literals], *(types or {pa.null()}))
    if array.type == BIGINT and type(_first(values)) is int:
        with suppress(pa.ArrowInvalid):
            return array.cast(INTEGER)
    return array


def assigned_values(key: str, values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return Python values in the type of a column, converted as INSERT converts a parameter.

    Raises DataError or ProgrammingError, naming the column, for a value that it cannot hold.
    """
    kind = field.type
    array = _array(values, kind)
    is_read = array is not None and array.type == TEXT and kind != TEXT
    # A text is read as a number by its own digits, which a cast would round.
    if array is not None and (not is_number(kind) if is_read else can_assign(array.type, kind)):
        with suppress(DataError):  # which is told below of the one value that it is about
            converted: pa.Array = cast_values(array, kind, session_zone())
            return converted
    stored = [_stored(literal_of(key, value), field) for value in values]
    whole = pa.chunked_array(stored, stored_type(kind)).combine_chunks()
    return typed_array(whole, kind)


def _stored(literal: Literal, field: pa.Field) -> pa.Array:
    stored = coded(assign(literal, field))
    if isinstance(stored, Literal):
        return pa.array([stored.value], stored.type)
    try:
        return as_array(evaluate(stored, {}, 1), 1)
    except DataError as error:
        raise DataError(f"column '{field.name}': {error}") from error


def _array(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array | None:
    """Return values that are all of one type of Python; None for others, and for what is no value.

    kind: the type of lists and decimals, which tell theirs one by one.
    """
    kinds = set(map(type, values)) - {type(None)}
    if any(map(is_missing, kinds)):
        kinds = {each for each in kinds if not is_missing(each)}
        values = [None if is_missing(type(value)) else value for value in values]
    if not kinds:
        return pa.nulls(len(values))
    python = kinds.pop()
    if kinds:
        return None
    found = _ARROW_TYPES.get(python)
    if found is None and kind is not None and python in (list, np.ndarray) and is_list(kind):
        found = in_doubles(kind)
    if found in (TIME, TIMESTAMP):
        found = _in_zones(found, values)
    try:
        if python is decimal.Decimal and kind is not None:
            return _decimals(values, kind)
        return None if found is None else pa.array(values, found)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def _decimals(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    """Return decimals in a type of numbers that each of them has its nearest value in.

    Raises ArrowInvalid or TypeError for others, as NaN.
    """
    if is_decimal(kind):
        return pa.array(values, kind)
    exact = pa.array(values).type
    if not is_number(kind) or not pa.types.is_decimal128(exact):
        return None
    if is_float(kind):
        # Of decimals -0 is 0.
        return pa.array([None if value is None else float(value) + 0.0 for value in values], DOUBLE)
    if exact.scale > 0:
        return None
    return pa.array([None if value is None else int(value) for value in values], BIGINT)


def _in_zones(kind: pa.DataType, values: Sequence[Any]) -> pa.DataType | None:
    """Return the type of times or datetimes; None where some have a zone, but for datetimes all."""
    zoned = {value.tzinfo is not None for value in values if value is not None}
    if True not in zoned:
        return kind
    return TIMESTAMPTZ if kind == TIMESTAMP and zoned == {True} else None


def _first(values: Sequence[Any]) -> Any:
    return next(value for value in values if value is not None)


def in_doubles(kind: pa.DataType) -> pa.DataType:
    """Return a type with doubles for REAL, of which Arrow would make infinity of 1e300."""
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(in_doubles(kind.value_type), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(in_doubles(kind.value_type))
    return pa.float64() if pa.types.is_float32(kind) else kind
