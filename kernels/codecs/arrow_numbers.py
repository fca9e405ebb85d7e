"""Arrow arrays as the integers and floats that kernels add up, and back.

A DECIMAL is its unscaled integer, a DATE its days, a TIMESTAMP its microseconds; all exact.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.late import pc

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_number(kind: pa.DataType) -> bool:
    """Whether a type's values can be measures of a fused job."""
    return bool(
        (pa.types.is_integer(kind) and not pa.types.is_uint64(kind))
        or pa.types.is_floating(kind)
        or pa.types.is_decimal128(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_timestamp(kind)
    )


def is_whole(kind: pa.DataType) -> bool:
    """Whether values of a type are whole numbers, as dates and decimals are, of 64 bits mostly."""
    return is_number(kind) and not pa.types.is_floating(kind)


def to_numbers(
    array: pa.Array | pa.ChunkedArray,
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return (values, valid): int64 or float64, 0 where NULL; valid is None without NULLs.

    Raises DataError for a decimal beyond 64 bits.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    valid = None
    if array.null_count:
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
    values = words_of(array)
    if values.ndim == 2:
        values = _narrow_decimals(values, valid)
    if valid is not None:
        values = np.where(valid, values, 0)  # What lies below a NULL is arbitrary.
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False), valid


def words_of(array: pa.Array) -> NDArray[Any]:
    """View an array's values as numbers: shape (n,), or (n, words), the lowest first.

    Decimals and UUIDs have several words.
    """
    kind = array.type
    if pa.types.is_integer(kind) and not array.null_count:
        numbers: NDArray[Any] = array.to_numpy()
        return numbers
    if pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind):
        dtype, width = np.dtype(np.int64), kind.bit_width // 64
    elif pa.types.is_floating(kind):
        dtype, width = np.dtype(f"f{kind.bit_width // 8}"), 1
    else:
        sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
        dtype, width = np.dtype(f"{sign}{kind.bit_width // 8}"), 1
    flat = np.frombuffer(array.buffers()[1] or b"", dtype)
    words = flat[array.offset * width : (array.offset + len(array)) * width]
    return words.reshape(-1, width) if width > 1 else words


def integer_type(low: int, high: int) -> np.dtype[Any]:
    """Return the narrowest signed integer type that holds two numbers and all between."""
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int64)


def _narrow_decimals(
    words: NDArray[np.int64], valid: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """Return the low words of 128-bit integers whose high words only repeat the sign."""
    wide = words[:, 1] != words[:, 0] >> 63
    if valid is not None:
        wide &= valid
    if wide.any():
        raise DataError("a DECIMAL has more digits than 64 bits hold")
    return words[:, 0]


def from_numbers(
    values: NDArray[Any], valid: NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array:
    """Return an Arrow array of `kind`; the inverse of `to_numbers`.

    `values` may also be Python integers (dtype object). Raises OverflowError where one does not
    fit.
    """
    mask = None if valid is None or valid.all() else ~valid
    if values.dtype == object:
        return _from_wide(values, mask, kind)
    if pa.types.is_decimal128(kind):
        words = np.empty((len(values), 2), np.int64)
        words[:, 0] = values
        words[:, 1] = values >> 63
        bits = None if mask is None else pa.array(~mask).buffers()[1]
        return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(words)])
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32(), mask=mask).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, mask=mask).view(kind)
    if mask is None and pa.types.is_integer(kind):
        words = np.ascontiguousarray(values, kind.to_pandas_dtype())
        if words.dtype == values.dtype or np.array_equal(words, values):
            # With the first array of NumPy's Arrow imports numpy.ma, which takes 5 ms.
            return pa.Array.from_buffers(kind, len(words), [None, pa.py_buffer(words)])
    return pa.array(values, kind, mask=mask)


def _from_wide(values: NDArray[Any], mask: NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    """Convert Python integers, which may need more than 64 bits."""
    present = [None if mask is not None and mask[i] else int(v) for i, v in enumerate(values)]
    try:
        if pa.types.is_decimal128(kind):
            with localcontext(prec=60):  # scaleb rounds to the context's 28 digits otherwise.
                scaled = [None if v is None else Decimal(v).scaleb(-kind.scale) for v in present]
            return pa.array(scaled, kind)
        return pa.array(present, kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise OverflowError(f"a value is out of range for {kind}") from error
