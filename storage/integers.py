"""Integer types: how many digits they have, and which of them holds the values of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Iterable

# The decimal digits that an integer type needs.
INTEGER_DIGITS = {
    pa.int8(): 3,
    pa.int16(): 5,
    pa.int32(): 10,
    pa.int64(): 19,
    pa.uint8(): 3,
    pa.uint16(): 5,
    pa.uint32(): 10,
    pa.uint64(): 20,
}
_HUGEINT = pa.decimal128(38, 0)
# 128 bits without a sign, which have 39 digits.
UHUGEINT = pa.decimal256(39, 0)
_SIGNED = {16: pa.int16(), 32: pa.int32(), 64: pa.int64(), 128: _HUGEINT}


def fits_unsigned(column: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether decimals of 39 digits are UHUGEINT, not negative and of 128 bits."""
    low, high = pc.min_max(column).as_py().values()
    return low is None or (low >= 0 and high <= bounds_of(UHUGEINT)[1])


def wide_integers(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as UHUGEINT. Raises pa.ArrowInvalid for one that is none."""
    found = texts.cast(UHUGEINT)
    if not fits_unsigned(found):
        raise pa.ArrowInvalid("out of range")
    return found


def is_unsigned(kind: pa.DataType) -> bool:
    """Tell whether a type is UTINYINT, USMALLINT, UINTEGER or UBIGINT."""
    return bool(pa.types.is_unsigned_integer(kind))


def bounds_of(kind: pa.DataType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type, also of UHUGEINT.

    >>> bounds_of(pa.uint8())
    (0, 255)
    """
    if kind == UHUGEINT:
        return 0, (1 << 128) - 1
    if is_unsigned(kind):
        return 0, (1 << kind.bit_width) - 1
    bound = 1 << (kind.bit_width - 1)
    return -bound, bound - 1


def holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Tell whether an integer type has all values of another one."""
    low, high = bounds_of(wide)
    least, most = bounds_of(narrow)
    return low <= least and most <= high


def wider_integer(types: Iterable[pa.DataType]) -> pa.DataType:
    """Return the narrowest type that holds all of some integer types.

    That of UBIGINT beside a signed type is HUGEINT.

    >>> wider_integer([pa.uint8(), pa.int8()])
    DataType(int16)
    """
    found, *others = dict.fromkeys(types)
    for kind in others:
        if found == _HUGEINT or holds(found, kind):
            continue
        # Where neither holds the other, one is unsigned and the other one no wider.
        double = 2 * max(found.bit_width, kind.bit_width)
        found = kind if holds(kind, found) else _SIGNED[double]
    return found
