"""How many bytes the values of a type take, where that is the same for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def value_bytes(kind: pa.DataType) -> int | None:
    """Return the bytes of a value of a type, None for texts and other lists of any length.

    >>> value_bytes(pa.decimal128(12, 2)), value_bytes(pa.string())
    (16, None)
    """
    try:
        return -int(-kind.bit_width // 8) or None
    except ValueError:
        return None
