"""Lists and structs as bytes in their order.

Lists are compared element by element, and one that ends first comes first; structs field by field.
NULL within them is greater than all values, as in PostgreSQL's arrays and rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.late import pc
from raydb.planner.expressions.columns import order
from raydb.planner.expressions.columns.arrays import Values, each
from raydb.storage.nested import fields_of
from raydb.storage.textual import is_textual

# A value stands behind its mark, and a list ends with one that comes before both.
_END, _VALUE, _NULL = (pa.scalar(bytes([mark])) for mark in range(3))
_NOTHING = pa.scalar(b"")


def has_order(kind: pa.DataType) -> bool:
    """Return whether values of a type can be compared: a map, and what holds one, has no order."""
    if not pt.is_nested(kind):
        return True
    if pt.is_map(kind):
        return False
    if pt.is_struct(kind):
        return all(has_order(field.type) for field in kind)
    return has_order(kind.value_type)


def order_nested(values: Values) -> Values:
    """Return BLOBs in the order of lists or structs, equal where these are; others unchanged."""
    if not pt.is_nested(values.type):
        return values
    return each(values, _keys, pa.binary())


def _keys(array: pa.Array) -> pa.Array:
    """Return BLOBs in the order of any values, NULL for NULL; none is the beginning of another."""
    kind = array.type
    if pt.is_null(kind):
        return pa.nulls(len(array), pa.binary())
    if pt.is_struct(kind):
        fields = [_marked(field) for field in fields_of(array)]
        keys = pc.binary_join_element_wise(*fields, _NOTHING)
        return pc.if_else(array.is_valid(), keys, pa.scalar(None, pa.binary()))
    if pt.is_nested(kind):
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        ends = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(ends), _marked(array.flatten()))
        keys = pc.binary_join_element_wise(pc.binary_join(lists, _NOTHING), _END, _NOTHING)
        return pc.if_else(array.is_valid(), keys, pa.scalar(None, pa.binary()))
    if is_textual(kind):
        escaped = pc.replace_substring(array.cast(pa.binary()), b"\0", b"\0\xff")
        return pc.binary_join_element_wise(escaped, pa.scalar(b"\0\0"), _NOTHING)
    if pt.is_fixed_size_binary(kind) and not pt.is_decimal(kind):
        return array.cast(pa.binary())
    return _number_keys(array)


def _number_keys(array: pa.Array) -> pa.Array:
    """Return BLOBs of one length, the highest byte first, in the order of fixed-width values."""
    codes = order.order_intervals(order.order_codes(array))
    if pt.is_boolean(codes.type):
        codes = codes.cast(pa.int8())
    words = words_of(codes)
    words = words if words.ndim == 2 else words[:, None]
    if words.dtype.kind == "u":
        ordered = words.astype(np.uint64)
    else:
        # Of a wide value the last word, which is the highest, has the sign.
        ordered = words.astype(np.int64).view(np.uint64)
        ordered[:, -1] ^= np.uint64(1 << 63)
    size_bytes = 8 * ordered.shape[1]
    buffers = [None, pa.py_buffer(ordered[:, ::-1].astype(">u8").tobytes())]
    keys = pa.Array.from_buffers(pa.binary(size_bytes), len(array), buffers).cast(pa.binary())
    return pc.if_else(array.is_valid(), keys, pa.scalar(None, pa.binary()))


def _marked(array: pa.Array) -> pa.Array:
    keys = pc.binary_join_element_wise(_VALUE, _keys(array), _NOTHING)
    return pc.fill_null(keys, _NULL)
