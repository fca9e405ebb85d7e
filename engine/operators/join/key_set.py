"""The keys of one side of a join as a bitmap, which tells rows of the other side without a partner.

    keys = key_set(values, bytes)      a bit for each code from the least key to the greatest
    keys.rows(others)                  the rows whose bit is set

NULL is no key. Codes are those by which joins compare, so only columns of one type meet.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.codes import direct_codes
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A bitmap is no larger, and takes at most this share of the room.
_MOST_BYTES = 2**25
_SHARE = 16


@dataclass(frozen=True, eq=False, slots=True)
class KeySet:
    """Some keys, `count` of them distinct; least and most: their bounds, as values of a column."""

    words: NDArray[np.uint64]
    origin: int
    count: int
    least: pa.Scalar
    most: pa.Scalar

    def rows(self, values: pa.ChunkedArray | pa.Array) -> NDArray[np.int32] | None:
        """Return the numbers of the rows whose value may be a key, None for all rows."""
        from raydb.kernels.codecs.key_loops import rows_with_keys  # noqa: PLC0415  (numba: 0.24 s)

        codes = direct_codes(values)
        if codes is None:
            return None
        found = np.empty(len(codes), np.int32)
        rows = found[: rows_with_keys(codes, self.origin, self.words, found)]
        if values.null_count:
            rows = rows[pc.is_valid(values).to_numpy(zero_copy_only=False)[rows]]
        return rows

    def mask(self, values: pa.ChunkedArray | pa.Array) -> pa.Array:
        """Return for each row whether its value may be a key."""
        rows = self.rows(values)
        if rows is None:
            return pa.array(np.ones(len(values), np.bool_))
        found = np.zeros(len(values), np.bool_)
        found[rows] = True
        return pa.array(found)


def key_set(values: pa.ChunkedArray | pa.Array, room: int) -> KeySet | None:
    """Return the values but NULL as a set; None where they have no codes, or far apart ones.

    room: the bytes that an operator may take.
    """
    from raydb.kernels.codecs.key_loops import set_keys  # noqa: PLC0415  (as above)

    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    parts = []
    for chunk in chunks:
        check_interrupt()
        known = chunk.drop_null()
        codes = direct_codes(known)
        if codes is None:
            return None
        if len(codes):
            parts.append((codes, known))
    if not parts:
        nothing = pa.scalar(None, values.type)
        return KeySet(np.zeros(1, np.uint64), 0, 0, nothing, nothing)
    lows = [(int(codes.min()), known[int(codes.argmin())]) for codes, known in parts]
    highs = [(int(codes.max()), known[int(codes.argmax())]) for codes, known in parts]
    least, first = min(lows, key=itemgetter(0))
    most, last = max(highs, key=itemgetter(0))
    word_count = (most - least + 1) // 64 + 1
    if 8 * word_count > min(_MOST_BYTES, room // _SHARE):
        return None
    words = np.zeros(word_count, np.uint64)
    count = sum(set_keys(codes, least, words) for codes, _ in parts)
    return KeySet(words, least, count, first, last)
