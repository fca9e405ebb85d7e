"""Which columns Arrow keeps as bytes of any length."""

from __future__ import annotations

import pyarrow as pa

from raydb.storage.bits import BIT


def is_textual(kind: pa.DataType) -> bool:
    """Tell whether values are VARCHAR, BLOB or BIT, which are compared by their bytes."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or kind == BIT)
