"""Hashes of rows by some of their columns: equal values have equal hashes, in every process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.kernels.codecs.arrow_numbers import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The steps of mixing are those of MurmurHash3's 64-bit finalizer, as in `hash_loops.py`.
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)

# So many rows stay in the processor's cache.
_BLOCK_ROWS = 2**14


def add_to_hashes(values: pa.Array, hashes: NDArray[np.uint64]) -> None:
    """Go on with the hash of each row by one column; values without an order change nothing.

    hashes: shape (len(values),), changed in place. NULL is a value like any other; doubles are
    equal where their bits are.
    """
    kind = values.type
    if pt.is_nested(kind) or pt.is_null(kind):
        return
    if pt.is_string(kind) or pt.is_binary(kind):
        from raydb.kernels.codecs.hash_loops import hash_bytes  # noqa: PLC0415  (numba: 0.24 s)

        if values.null_count:
            values = values.fill_null("" if pt.is_string(kind) else b"")
        _, offsets, data = values.buffers()
        starts = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
        hash_bytes(starts, np.frombuffer(data or b"", np.uint8), hashes)
        return
    words = words_of(values.cast(pa.int8()) if pt.is_boolean(kind) else values)
    if values.null_count:
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        words = np.where(valid[:, None] if words.ndim == 2 else valid, words, 0)
    for column in words.astype(np.int64, copy=False).reshape(len(values), -1).T:
        _hash_words(np.ascontiguousarray(column).view(np.uint64), hashes)


def _hash_words(words: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> None:
    """Go on with each row's hash by a word, as `hash_bytes` ends: `mix` of `hash_loops.py`.

    Numpy takes 3 ns a row for it. A compiled loop takes 1, after a quarter of a second for numba.
    """
    for start in range(0, len(words), _BLOCK_ROWS):
        some = hashes[start : start + _BLOCK_ROWS]
        some *= _FIRST
        some += words[start : start + _BLOCK_ROWS]
        for factor in (_FIRST, _SECOND):
            some ^= some >> _SHIFT
            some *= factor
        some ^= some >> _SHIFT
