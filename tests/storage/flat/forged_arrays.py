"""Arrow arrays whose buffers do not fit each other, as a stranger's file may hold them.

    forged_nested(random, rows)     lists, structs and maps, some levels deep
    claimed(type)                   the type that a file is to give them

Arrow makes no map with such keys: it is a list of pairs here, and a map in the schema of the file.
Offsets within an array point anywhere, bits of validity are of chance, keys of maps are NULL or
there twice, texts are no UTF-8. First and last offsets are right, or Arrow could not write them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from random import Random

_PLACES = (-(2**31), -1, 0, 1, 7, 2**16, 2**24, 2**31 - 1)
_MAP = ("key", "value")
_TEXTS = b"a dog on board, and number 7 of them is not here"
_BROKEN = b"a dog on board \xc3\xa9 \xff\x00 \xed\xa0\x80"


def forged_nested(random: Random, rows: int, depth: int = 2) -> Any:
    """Return an array of so many rows that is nested at least once."""
    match random.randrange(4):
        case 0:
            length = rows * random.choice((0, 1, 3))
            kind = pa.list_(pa.field(random.choice(("item", "", "x")), pa.null()))
            values = _forged(random, length, depth - 1)
            return _array(pa.list_(kind.value_field.with_type(values.type)), random, rows, [values])
        case 1:
            length = rows * random.choice((0, 1, 2))
            keys, items = _leaf(random, length), _forged(random, length, depth - 1)
            pairs = pa.struct(zip(_MAP, (keys.type, items.type), strict=True))
            entries = pa.Array.from_buffers(pairs, length, [None], children=[keys, items])
            return _array(pa.list_(pairs), random, rows, [entries])
        case 2:
            size = random.choice((0, 1, 3))
            values = _forged(random, rows * size, depth - 1)
            kind = pa.list_(values.type, size)
            return pa.Array.from_buffers(kind, rows, [_validity(random, rows)], children=[values])
        case _:
            parts = [_forged(random, rows, depth - 1) for _ in range(random.choice((1, 2, 5)))]
            names = [random.choice(("a", "A", "b", "", "x\0")) for _ in parts]
            kind = pa.struct([pa.field(n, part.type) for n, part in zip(names, parts, strict=True)])
            return pa.Array.from_buffers(kind, rows, [_validity(random, rows)], children=parts)


def claimed(data_type: Any) -> Any:
    """Return a type in which lists of pairs are maps."""
    if pa.types.is_struct(data_type):
        return pa.struct([each.with_type(claimed(each.type)) for each in data_type])
    if not pa.types.is_list(data_type) and not pa.types.is_fixed_size_list(data_type):
        return data_type
    inner = claimed(data_type.value_type)
    if pa.types.is_fixed_size_list(data_type):
        return pa.list_(inner, data_type.list_size)
    if pa.types.is_struct(inner) and tuple(each.name for each in inner) == _MAP:
        key, item = (each.type for each in inner)
        return pa.list_(inner) if pa.types.is_null(key) else pa.map_(key, item)
    return pa.list_(data_type.value_field.with_type(inner))


def _forged(random: Random, rows: int, depth: int) -> Any:
    nests = depth > 0 and random.random() < 0.6
    return forged_nested(random, rows, depth) if nests else _leaf(random, rows)


def _leaf(random: Random, rows: int) -> Any:
    match random.randrange(5):
        case 0:
            return pa.nulls(rows)
        case 1:
            kind = random.choice((pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.bool_()))
            data = pa.py_buffer(random.randbytes(rows * 8))
            return pa.Array.from_buffers(kind, rows, [_validity(random, rows), data])
        case 2:
            kind = random.choice((pa.date32(), pa.time64("us"), pa.decimal128(38, 2)))
            data = pa.py_buffer(random.randbytes(rows * 16))
            return pa.Array.from_buffers(kind, rows, [_validity(random, rows), data])
        case _:
            text = _BROKEN if random.random() < 0.1 else _TEXTS
            return _array(random.choice((pa.string(), pa.binary())), random, rows, text)


def _array(kind: Any, random: Random, rows: int, content: Any) -> Any:
    """Return an array with offsets, into the bytes of a text or the rows of a child."""
    is_text = isinstance(content, bytes)
    most = len(content) if is_text else len(content[0])
    offsets = np.linspace(0, most, rows + 1).astype(np.int32)
    if rows > 1 and random.random() < 0.1:
        offsets[random.randrange(1, rows)] = random.choice((*_PLACES, most + 1))
    buffers = [_validity(random, rows), pa.py_buffer(offsets)]
    if is_text:
        return pa.Array.from_buffers(kind, rows, [*buffers, pa.py_buffer(content)])
    return pa.Array.from_buffers(kind, rows, buffers, children=content)


def _validity(random: Random, rows: int) -> Any:
    if random.random() < 0.8:
        return None
    return pa.py_buffer(random.randbytes(-(-rows // 8)))
