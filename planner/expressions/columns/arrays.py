"""Values of an expression: an array of one a row, in chunks or not, or a scalar for all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Values: TypeAlias = pa.Array | pa.ChunkedArray | pa.Scalar


def as_array(values: Values, count: int) -> pa.Array:
    """Return the values as one array of `count`."""
    if isinstance(values, pa.Scalar):
        return pa.repeat(values, count)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def count_true(mask: pa.Array | pa.ChunkedArray) -> int:
    """Return how many values of a mask are true; NULL is not."""
    # Twenty times as fast as Arrow's sum of few flags, and as fast of many.
    if isinstance(mask, pa.ChunkedArray):
        return sum(chunk.true_count for chunk in mask.chunks)
    found: int = mask.true_count
    return found


def filled(flags: Values, value: bool) -> Values:
    """Return flags with a value in the place of NULL."""
    if not isinstance(flags, pa.Scalar) and not flags.null_count:
        return flags
    return pc.fill_null(flags, value)


def common_length(values: Iterable[Values]) -> int | None:
    """Return how many rows values have, None where all of them are scalars."""
    return next((len(each) for each in values if not isinstance(each, pa.Scalar)), None)


def each(values: Values, function: Callable[[pa.Array], pa.Array], target: pa.DataType) -> Values:
    """Apply a function of arrays to an array, to every chunk of one, or to a scalar."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([function(chunk) for chunk in values.chunks], type=target)
    if isinstance(values, pa.Scalar):
        return function(pa.repeat(values, 1))[0]
    return function(values)


def side_by_side(function: Callable[..., pa.Array], *values: Values) -> Values:
    """Apply a function of arrays of one length to values."""
    count = common_length(values)
    result = function(*(as_array(value, 1 if count is None else count) for value in values))
    return result[0] if count is None else result
