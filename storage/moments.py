"""Dates and timestamps of all years that their numbers hold, and the infinite ones.

    DATE       5877642-06-25 (BC) to 5881580-07-10, days since 1970-01-01 in 32 bits
    TIMESTAMP  290309-12-22 (BC) to 294247-01-10, microseconds since then in 64 bits

The greatest number of each is 'infinity', and minus that '-infinity'; so they compare as numbers.
Arrow writes and takes apart the years 1 to 9999 as SQL does. The calendar repeats itself every 400
years, weekdays too: a moment of another year is taken for the same one between 1970 and 2369.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.late import pc
from raydb.storage.clocks import TIMETZ
from raydb.storage.nested import leaf_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

INFINITE_DAY, INFINITE_MOMENT = 2**31 - 1, 2**63 - 1
CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_DAY_LENGTHS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_DATE_LETTERS = len("2000-01-01")


def is_moment(kind: pa.DataType) -> bool:
    """Tell whether values are dates or timestamps of any unit."""
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def are_plain(values: Any) -> bool:
    """Tell whether dates or timestamps are of the years 1 to 9999, or NULL."""
    if isinstance(values, pa.Scalar):
        least = most = values
    else:
        least, most = pc.min_max(values).values()
    if not least.is_valid:
        return True
    day = _day_length(values.type)
    if INFINITE_MOMENT in (most.value, -least.value):  # of nanoseconds those are of these years
        return False
    return bool(least.value >= _FIRST_DAY * day and most.value < (_LAST_DAY + 1) * day)


def _day_length(kind: pa.DataType) -> int:
    return 1 if pa.types.is_date32(kind) else _DAY_LENGTHS[kind.unit]


def integers_of(array: pa.Array) -> NDArray[np.int64]:
    """Return the numbers of dates or timestamps, 0 for NULL."""
    whole = pa.int32() if pa.types.is_date32(array.type) else pa.int64()
    numbers: NDArray[np.int64] = array.view(whole).fill_null(0).to_numpy().astype(np.int64)
    return numbers


def infinities(array: pa.Array) -> NDArray[np.int64]:
    """Return 1 for 'infinity', -1 for '-infinity' and 0 for other dates or timestamps."""
    numbers = integers_of(array)
    last = INFINITE_DAY if pa.types.is_date32(array.type) else INFINITE_MOMENT
    signs: NDArray[np.int64] = (numbers == last).astype(np.int64) - (numbers == -last)
    return signs


def into_one_cycle(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return dates or timestamps between 1970 and 2369, and by how many years each was moved."""
    numbers = integers_of(array)
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return array, np.zeros_like(numbers)  # which are of the years 1677 to 2262
    length = _CYCLE_DAYS * _day_length(array.type)
    cycles, rest = np.divmod(numbers, length)
    whole = np.int32 if pa.types.is_date32(array.type) else np.int64
    mask = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(rest.astype(whole), mask=mask).view(array.type), cycles * CYCLE_YEARS


def moment_texts(array: pa.Array) -> pa.Array:
    """Write dates and timestamps, those before the year 1 as '0044-03-15 (BC) 10:00:00'."""
    if are_plain(array):
        return pc.cast(array, pa.string())
    moved, years = into_one_cycle(array)
    texts = pc.cast(moved, pa.string())
    shown = pc.year(moved).fill_null(0).to_numpy() + years
    is_before = pa.array(shown < 1)
    digits = pc.utf8_lpad(pa.array(np.where(shown < 1, 1 - shown, shown)).cast(pa.string()), 4, "0")
    days = pc.utf8_slice_codeunits(texts, 4, _DATE_LETTERS)
    times = pc.utf8_slice_codeunits(texts, _DATE_LETTERS)
    marks = pc.if_else(is_before, " (BC)", "")
    texts = pc.binary_join_element_wise(digits, days, marks, times, "")
    signs = pa.array(infinities(array))
    texts = pc.if_else(pc.equal(signs, 1), "infinity", texts)
    texts = pc.if_else(pc.equal(signs, -1), "-infinity", texts)
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))


def python_number(scalar: pa.Scalar) -> Any:
    """Return a scalar's Python value, with numbers in place of the moments that Python lacks.

    Such are those beyond the years 1 to 9999, in lists, structs and maps as well; Arrow takes the
    number for the moment. Those with nanoseconds are numbers all of them, as are TIMETZ.
    """
    if any(map(_is_number, leaf_types(scalar.type))):
        return _with_numbers(scalar)
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return _with_numbers(scalar)


def _is_number(kind: pa.DataType) -> bool:
    """Tell whether values have nanoseconds, or are times with a time zone."""
    return kind == TIMETZ or bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def _with_numbers(scalar: pa.Scalar) -> Any:
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_map(kind):
        entries = scalar.values
        keys, values = entries.field(0), entries.field(1)
        return [
            (python_number(key), python_number(value))
            for key, value in zip(keys, values, strict=True)
        ]
    if pa.types.is_struct(kind):
        return {name: python_number(value) for name, value in scalar.items()}
    if hasattr(scalar, "values"):
        return [python_number(value) for value in scalar.values]
    return scalar.value if is_moment(kind) or kind == TIMETZ else scalar.as_py()
