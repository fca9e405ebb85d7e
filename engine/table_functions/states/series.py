"""Series from rows: in the order of time, at even steps, without gaps or with known ones.

rows  ->  by partition, by time  ->  even steps, or the means of a step each (resample)
      ->  points without a gap, in pieces (split), or with values between (interpolate)
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.operators.join.keys import encode_keys
from raydb.engine.operators.relation import joined
from raydb.engine.table_functions.states.question import MOST_UNITS
from raydb.errors import DataError
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.zones import session_zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.table_functions.states.question import Question

    Values: TypeAlias = pa.ChunkedArray | pa.Array

# Steps are even where none is further from a multiple of the one in the middle, in parts of it.
_JITTER = 0.1

# A time is a multiple of a step if it is one but for so much of it, which is what doubles lose.
_ROUNDING = 2.0**-50

# So many steps are told apart by doubles.
_MOST_STEPS = 2**53

# The square of the greatest value, and of the inverse of the least, is a double.
_LARGEST = 1e150

# What a point of a gap takes for each channel, and beside them.
_POINT_BYTES = 8


class Rows(NamedTuple):
    """The columns that a call reads, and what its errors call it.

    function: its name. times: the column of times. partition: that of the series' names, None where
    all rows are one series. channels: numbers, with NaN where there is none (rows, d).
    """

    function: str
    times: pa.Array
    partition: Values | None
    channels: NDArray[np.float64]
    names: Sequence[str]


class Series(NamedTuple):
    """A series: points by channel (d, n), and the rows that they were made of.

    rows: the numbers of its rows, in the order of time. first_row, last_row (n): their places, from
    0 on, that a point was made of; -1 for a point of a gap. pieces: where points follow each other
    without a gap. title: what an error calls it.
    """

    title: str
    rows: NDArray[np.int64]
    points: NDArray[np.float64]
    first_row: NDArray[np.int64]
    last_row: NDArray[np.int64]
    pieces: Sequence[tuple[int, int]]


def numbers_of(columns: Sequence[Values]) -> NDArray[np.float64]:
    """Return columns of numbers (rows, d), with NaN where there is none."""
    cast = [joined(cast_values(column, pa.float64())) for column in columns]
    return np.column_stack([each.to_numpy(zero_copy_only=False) for each in cast])


def series_of(
    rows: Rows, numbers: NDArray[np.int64], asked: Question, memory: Memory
) -> Iterator[Series]:
    """Yield the series that some rows are, by the order of their first rows.

    Raises DataError for times and values that make no series.
    """
    codes = np.zeros(len(numbers), np.int64)
    if rows.partition is not None:
        column = joined(rows.partition).take(pa.array(numbers))
        codes = encode_keys([column], [column], range(1)).probe
    times = _numeric(rows, numbers)
    order = np.lexsort((times, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    parts = np.split(order, starts[1:]) if len(numbers) else []
    for part in sorted(parts, key=min):
        yield _series(rows, numbers[part], times[part], asked, memory)


def _numeric(rows: Rows, numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return times as numbers of their unit."""
    some = rows.times.take(pa.array(numbers))
    if some.null_count:
        raise DataError(f"rows of {rows.function}() without a time: {some.null_count}")
    kind = some.type
    found: NDArray[Any]
    if pa.types.is_decimal(kind) or pa.types.is_uint64(kind):
        found = _units(some)
    elif pa.types.is_temporal(kind):
        found = some.cast(pa.int64() if kind.bit_width == 64 else pa.int32()).to_numpy()
    else:
        found = some.to_numpy(zero_copy_only=False)
    is_real = found.dtype.kind == "f"
    is_far = ~np.isfinite(found) if is_real else np.abs(found // 2) >= MOST_UNITS // 2
    if is_far.any():
        value = text_of(rows.times[int(numbers[int(is_far.argmax())])])
        raise DataError(
            f"a time of {rows.function}() is {value}; times are finite, and within 2**62 units of 0"
        )
    return found if is_real else found.astype(np.int64)


def _units(times: pa.Array) -> NDArray[np.int64]:
    """Return decimals in units of their last digit, and UBIGINT; what is too far as MOST_UNITS."""
    words = words_of(times)
    if words.ndim == 1:
        near: NDArray[np.int64] = np.minimum(words, MOST_UNITS).astype(np.int64)
        return near
    is_wide = words[:, 1] != words[:, 0] >> 63
    return np.where(is_wide, MOST_UNITS, words[:, 0])


def text_of(value: pa.Scalar) -> str:
    """Return a time or a name as a text, in the time zone of the session."""
    return str(cast_values(value, pa.string(), session_zone()).as_py())


def _series(
    rows: Rows, numbers: NDArray[np.int64], times: NDArray[Any], asked: Question, memory: Memory
) -> Series:
    title = f"the series of {rows.function}()"
    if rows.partition is not None:
        title += f" for {text_of(joined(rows.partition)[int(numbers[0])])}"
    values = rows.channels[numbers]
    if np.isinf(values).any():
        channel = rows.names[int(np.isinf(values).any(axis=0).argmax())]
        raise DataError(f"{title} has an infinite value in '{channel}'")
    unknown = np.isnan(values).all(axis=0)
    if unknown.any():
        raise DataError(f"{title} has no value in '{rows.names[int(unknown.argmax())]}'")
    largest = np.nanmax(np.abs(values), axis=0)
    is_beyond = (largest > _LARGEST) | ((largest > 0) & (largest < 1 / _LARGEST))
    if is_beyond.any():
        place = int(is_beyond.argmax())
        raise DataError(
            f"{title} has values up to {largest[place]:.3g} in '{rows.names[place]}'; what is "
            f"compared lies between {1 / _LARGEST:.0e} and {_LARGEST:.0e}"
        )
    if asked.resample is None:
        places = _places(rows, numbers, times, title)
        first_row = np.arange(len(numbers))
        last_row = first_row
    else:
        # Steps begin at multiples of their length, as those of time_bucket() do.
        steps = _steps(times, asked.resample)
        _check_span(title, steps[-1] - steps[0])
        first_row = np.flatnonzero(np.diff(steps, prepend=steps[0] - 1))
        last_row = np.append(first_row[1:], len(numbers)) - 1
        places = (steps[first_row] - steps[0]).astype(np.int64)
        values = _means(values, first_row)
    missing = np.isnan(values).any(axis=1)
    ends = np.flatnonzero(np.diff(places) > 1)
    if asked.gaps == "interpolate":
        return _filled(title, numbers, values, places, (first_row, last_row), memory)
    if asked.gaps == "error" and (missing.any() or len(ends)):
        place = int(missing.argmax()) if missing.any() else int(ends[0])
        what = "lacks a value at" if missing.any() else "has a gap behind"
        when = text_of(rows.times[int(numbers[first_row[place]])])
        raise DataError(
            f"{title} {what} {when}; gaps => 'split' or 'interpolate' takes series with gaps"
        )
    kept = ~missing
    breaks = np.flatnonzero(np.diff(places[kept]) > 1) + 1
    bounds = [0, *breaks.tolist(), int(kept.sum())]
    pieces = [(start, end) for start, end in pairwise(bounds) if start < end]
    if not pieces:
        raise DataError(f"{title} has no time with a value in every channel")
    points = np.ascontiguousarray(values[kept].T)
    return Series(title, numbers, points, first_row[kept], last_row[kept], pieces)


def _places(
    rows: Rows, numbers: NDArray[np.int64], times: NDArray[Any], title: str
) -> NDArray[np.int64]:
    """Return the places of times at even steps, of which some may be missing."""
    steps = np.diff(times)
    if not len(steps):
        return np.zeros(len(times), np.int64)
    same = steps <= 0
    if same.any():
        when = text_of(rows.times[int(numbers[int(same.argmax())])])
        raise DataError(
            f"{title} has several rows at {when}; resample takes the mean of them, and "
            "partition_by tells series apart"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        times_middle = steps / np.sort(steps)[(len(steps) - 1) // 2]
        counts = np.rint(times_middle)
        uneven = np.abs(times_middle - counts) > _JITTER
    if uneven.any():
        at = int(uneven.argmax())
        before, behind = (text_of(rows.times[int(numbers[i])]) for i in (at, at + 1))
        step = "'1s'" if pa.types.is_temporal(rows.times.type) else "0.5"
        raise DataError(
            f"the times of {title} are uneven, as between {before} and {behind}; resample => "
            f"with a step, such as {step}, makes them even"
        )
    _check_span(title, counts.sum())
    return np.concatenate(([0], np.cumsum(counts.astype(np.int64))))


def _steps(times: NDArray[Any], step: float) -> NDArray[Any]:
    """Return the number of the step that each time lies in."""
    if times.dtype.kind != "f":
        found: NDArray[Any] = np.floor_divide(times, step)
        return found
    with np.errstate(over="ignore"):
        parts = times / step
    # 0.3 is the third step of 0.1, of which it is 2.9999999999999996.
    near = np.rint(parts)
    is_near = np.abs(parts - near) <= _ROUNDING * np.abs(near)
    return np.where(is_near, near, np.floor(parts))


def _check_span(title: str, span: float) -> None:
    """Raise DataError where a series has more steps than numbers tell apart."""
    if not span < _MOST_STEPS:
        raise DataError(f"{title} spans {span:.3g} steps, which is more than 2**53")


def _means(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the means of the values that there are from each start to the next, NaN for none."""
    known = ~np.isnan(values)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _filled(
    title: str,
    numbers: NDArray[np.int64],
    values: NDArray[np.float64],
    places: NDArray[np.int64],
    made_of: tuple[NDArray[np.int64], NDArray[np.int64]],
    memory: Memory,
) -> Series:
    """Return a series whose gaps have values on the line between those beside them."""
    count, channels = int(places[-1]) + 1, values.shape[1]
    memory.check(_POINT_BYTES * count * (channels + 3), f"{title} with {count} points")
    every = np.arange(count)
    points = np.empty((channels, count))
    for channel, column in enumerate(values.T):
        known = ~np.isnan(column)
        points[channel] = np.interp(every, places[known], column[known])
    first_row, last_row = np.full(count, -1), np.full(count, -1)
    first_row[places], last_row[places] = made_of
    return Series(title, numbers, points, first_row, last_row, [(0, count)])
