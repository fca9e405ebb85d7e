"""What the coordinator of a training and its workers say: JSON, and arrays as their bytes.

    8 bytes: length of JSON   {"say": "epoch", .., "arrays": [["x", "<f4", [10, 3]], ..]}   bytes

Nothing of it is unpickled but a model that a program sends to processes of its own.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.errors import OperationalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

_LENGTH = struct.Struct("<Q")
_KINDS = frozenset(("|b1", "|u1", "<i4", "<i8", "<f4", "<f8"))


def encode(said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None) -> bytes:
    """Return a message. Its arrays are of bytes, booleans, integers or floats of 4 or 8 bytes."""
    kept = {name: np.asarray(each, order="C") for name, each in (arrays or {}).items()}
    shapes = [[name, each.dtype.str, list(each.shape)] for name, each in kept.items()]
    assert all(kind in _KINDS for _, kind, _ in shapes), shapes
    head = json.dumps({**said, "arrays": shapes}).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *(each.tobytes() for each in kept.values())])


def decode(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return what a message says. Raises OperationalError for bytes that are none."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        said = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        at, arrays = _LENGTH.size + length, {}
        for name, kind, shape in said.pop("arrays"):
            if kind not in _KINDS or not all(isinstance(each, int) and each >= 0 for each in shape):
                raise ValueError(f"an array of {kind} {shape}")
            values = np.frombuffer(data, np.dtype(kind), math.prod(shape), at)
            arrays[name] = values.reshape(shape)
            at += values.nbytes
        if at != len(data):
            raise ValueError(f"{len(data)} bytes where it tells of {at}")
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise OperationalError(f"a message of a training cannot be read: {error}") from None
    return said, arrays
