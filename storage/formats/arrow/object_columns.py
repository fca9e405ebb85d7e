"""Columns of Python values: what kind they are of, and their Arrow array.

    [1, 2.5]                    DOUBLE
    [date, datetime]            TIMESTAMP
    [2**70, 1]                  HUGEINT
    [1, 'x']                    refused: int and str

Arrow takes the kind of the first value for that of all, cuts a datetime behind a date to its date
and makes bytes of a text behind bytes; so the kinds of all values are looked at before it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PRECISION = 38
HUGEINT = pa.decimal128(MAX_PRECISION, 0)
# What the classes of values are kinds of; a bool is an int, and a datetime a date.
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("bytes", (bytes, bytearray, memoryview)),
    ("boolean", (bool, np.bool_)),
    ("integer", (numbers.Integral,)),
    ("float", (float, np.floating)),
    ("decimal", (decimal.Decimal,)),
    ("timestamp", (dt.datetime, np.datetime64)),
    ("date", (dt.date,)),
    ("time", (dt.time,)),
    ("interval", (dt.timedelta, np.timedelta64, pa.MonthDayNano)),
    ("uuid", (uuid.UUID,)),
    ("mapping", (Mapping,)),
    ("scalar", (pa.Scalar,)),
    ("list", (list, tuple, set, np.ndarray)),
)
_MISSING = ("NoneType", "NAType", "NaTType")
# Kinds that may be in one column.
_TOGETHER = ({"integer", "float"}, {"integer", "decimal"}, {"date", "timestamp"})


def object_array(values: Sequence[Any], *, from_pandas: bool = False) -> pa.Array:
    """Return Python values of one kind as an Arrow array.

    from_pandas: NaN is NULL, as pandas has it. Raises DataError for values of kinds that are in no
    column together, and for one that SQL does not have, without naming the column; ArrowException,
    ValueError, TypeError and OverflowError for what Arrow does not read.
    """
    kinds = _kinds_of(values, from_pandas=from_pandas)
    if kinds <= {"integer"}:
        return _integers(values, from_pandas=from_pandas)
    if "decimal" in kinds:
        return _decimals(values)
    if kinds == {"date", "timestamp"}:
        midnight = dt.time()
        values = [
            dt.datetime.combine(each, midnight) if type(each) is dt.date else each
            for each in values
        ]
    return pa.array(values, from_pandas=from_pandas)


def _kinds_of(values: Sequence[Any], *, from_pandas: bool) -> set[str]:
    """Return the kinds of values that are not missing. Raises DataError for two that differ."""
    found: dict[str, type] = {}
    for kind in dict.fromkeys(map(type, values)):
        if kind.__name__ in _MISSING:  # NaT is a datetime to Python
            continue
        name = next((name for name, classes in _KINDS if issubclass(kind, classes)), None)
        if name is None:
            raise DataError(f"values of the type {kind.__name__}, which SQL does not have")
        found.setdefault(name, kind)
    if from_pandas and len(found) > 1 and "float" in found and _all_nan(values):
        found.pop("float")
    if len(found) > 1 and found.keys() not in _TOGETHER:
        one, other = list(found.values())[:2]
        raise DataError(
            f"values of the types {one.__name__} and {other.__name__} are in no column together;"
            " make them one type"
        )
    return set(found)


def _all_nan(values: Sequence[Any]) -> bool:
    return all(math.isnan(each) for each in values if isinstance(each, float | np.floating))


def _integers(values: Sequence[Any], *, from_pandas: bool) -> pa.Array:
    """Return integers as BIGINT, or as HUGEINT where one is beyond 64 bits."""
    try:
        return pa.array(values, from_pandas=from_pandas)
    except OverflowError:
        pass
    whole = [int(each) if isinstance(each, numbers.Integral) else None for each in values]
    for each in whole:
        if each is not None and abs(each) >= 10**MAX_PRECISION:
            raise DataError(f"the integer {each} has more than {MAX_PRECISION} digits")
    return pa.array(whole, HUGEINT)


def _decimals(values: Sequence[Any]) -> pa.Array:
    """Return decimals, and integers beside them, as DECIMAL with the digits of the longest."""
    exact = [_decimal(each) for each in values]
    scale = digits = 0
    for each in exact:
        if each is None:
            continue
        _, written, exponent = each.as_tuple()
        if not isinstance(exponent, int):
            raise DataError(f"the Decimal {each} is no DECIMAL")
        scale = max(scale, -exponent)
        digits = max(digits, len(written) + exponent)
    if digits + scale > MAX_PRECISION:
        raise DataError(
            f"the values need {digits + scale} digits, where a DECIMAL has at most {MAX_PRECISION}"
        )
    return pa.array(exact, pa.decimal128(max(digits + scale, 1), scale))


def _decimal(value: Any) -> decimal.Decimal | None:
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else value
    return decimal.Decimal(int(value)) if isinstance(value, numbers.Integral) else None


def named_array(origin: str, name: object, values: Iterable[Any], *, from_pandas: bool) -> pa.Array:
    """Return a column of an object as `object_array` does; every error is a DataError naming it."""
    try:
        return object_array(list(values), from_pandas=from_pandas)
    except (DataError, pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise unreadable(f"{origin}, column '{name}'", error) from None


def unreadable(place: str, error: Exception) -> DataError:
    """Return the error about what cannot be read at a place, in one sentence."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, DataError):
        return DataError(f"{place}: {reason}")
    return DataError(f"{place} cannot be read: {reason}")
