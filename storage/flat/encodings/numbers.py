"""Codecs of fixed-width values: each is a pair of functions, and each reads single rows.

    CONSTANT    one value in the reference (integers) or the payload
    VERBATIM    the values as Arrow keeps them, or bits
    FRAME       value - reference in 1, 2, 4, 8, 16, 32 or 64 bits
    RUN_LENGTH  u32 run count, u32 end of each run, then the runs' values as in FRAME
    DICTIONARY  codes, packed as in FRAME with reference 0

Widths are powers of two, so that no value straddles a byte and unpacking is a shift and a mask.
Arithmetic is modulo 2**64: the reference of a uint64 is its two's complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.layout import SECTION_ALIGNMENT, Encoding, align

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS: dict[int, np.dtype[Any]] = {
    8: np.dtype("<u1"),
    16: np.dtype("<u2"),
    32: np.dtype("<u4"),
    64: np.dtype("<u8"),
}
_SHIFTS = {bits: np.arange(0, 8, bits, dtype=np.uint8) for bits in (1, 2, 4)}
PACKED_BITS = (1, 2, 4, 8, 16, 32, 64)

# Runs are searched for where the payload without them has more bytes than this.
_MIN_RUN_BYTES = 64


@dataclass(frozen=True, slots=True)
class Encoded:
    """The sections of a chunk but for its validity and its metadata, and how to read them."""

    encoding: Encoding
    width: int = 0
    reference: int = 0
    flags: int = 0
    index: Any = b""
    payload: Any = b""
    dictionary: bytes = b""
    dictionary_count: int = 0
    symbols: bytes = b""


def bits_for(span: int) -> int:
    """Return the least width that holds 0 to `span`.

    >>> bits_for(5), bits_for(300)
    (4, 16)
    """
    return max(1, 1 << max(0, span.bit_length() - 1).bit_length())


def packed_bytes(count: int, bits: int) -> int:
    """Return the bytes of `count` packed values."""
    return -(-count * bits // 8)


def pack(values: NDArray[Any], bits: int) -> NDArray[Any]:
    """Pack integers of 0 to 2**bits - 1, the first in the lowest bits of the first byte."""
    if bits >= 8:
        return values.astype(_WORDS[bits])
    if bits == 1:
        return np.packbits(values.astype(np.uint8), bitorder="little")
    shifts = _SHIFTS[bits]
    rows = -(-len(values) // len(shifts))
    padded = np.zeros(rows * len(shifts), np.uint8)
    padded[: len(values)] = values
    shifted = padded.reshape(rows, len(shifts)) << shifts
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(shifted, axis=1)
    return packed


def unpack(payload: memoryview, bits: int, count: int) -> NDArray[Any]:
    """Return the `count` packed values as unsigned integers, without a copy from 8 bits on."""
    if bits >= 8:
        return np.frombuffer(payload, _WORDS[bits], count)
    packed = np.frombuffer(payload, np.uint8)
    if bits == 1:
        return np.unpackbits(packed, count=count, bitorder="little")
    spread = (packed[:, None] >> _SHIFTS[bits]) & np.uint8((1 << bits) - 1)
    return spread.ravel()[:count]


def signed_64(value: int) -> int:
    """Return the int64 that is congruent to `value` modulo 2**64.

    >>> signed_64(2**64 - 1)
    -1
    """
    return (value + 2**63) % 2**64 - 2**63


def encode_integers(
    values: NDArray[Any], least: int, greatest: int, verbatim_bits: int, wanted: str | None
) -> Encoded:
    """Choose the smallest of the encodings for integers, or take the one that is wanted.

    values: shape (count,), of which `least` and `greatest` are the bounds.
    """
    if wanted == "verbatim" and verbatim_bits <= 64:
        return Encoded(Encoding.VERBATIM, verbatim_bits, payload=pack(values, verbatim_bits))
    if least == greatest and wanted is None:
        return Encoded(Encoding.CONSTANT, reference=signed_64(least))
    bits = bits_for(greatest - least)
    frame_bytes = packed_bytes(len(values), bits)
    if wanted == "run_length" or (wanted is None and frame_bytes > _MIN_RUN_BYTES):
        changes = np.flatnonzero(values[1:] != values[:-1])
        run_count = len(changes) + 1
        run_bytes = 8 + 4 * run_count + packed_bytes(run_count, bits)
        if wanted == "run_length" or 2 * run_bytes < frame_bytes:
            return _encode_runs(values, changes, least, bits)
    if bits >= verbatim_bits and wanted is None:
        return Encoded(Encoding.VERBATIM, verbatim_bits, payload=pack(values, verbatim_bits))
    return Encoded(
        Encoding.FRAME, bits, signed_64(least), payload=pack(_deltas(values, least), bits)
    )


def _deltas(values: NDArray[Any], least: int) -> NDArray[np.int64]:
    return values.astype(np.int64, copy=False) - np.int64(signed_64(least))


def decode_frame(
    payload: memoryview, bits: int, reference: int, count: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return what FRAME encoded; dtype: that of the column's values."""
    return add_reference(unpack(payload, bits, count), reference, dtype)


def add_reference(deltas: NDArray[Any], reference: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of packed differences; sums wrap around in the dtype."""
    values = deltas.astype(dtype)
    values += np.array(reference, np.int64).astype(dtype)
    return values


def _encode_runs(values: NDArray[Any], changes: NDArray[Any], least: int, bits: int) -> Encoded:
    ends = np.append(changes + 1, len(values)).astype("<u4")
    head = np.array([len(ends)], "<u4").tobytes() + ends.tobytes()
    head += bytes(align(len(head), SECTION_ALIGNMENT) - len(head))
    runs = pack(_deltas(values[ends - 1], least), bits).tobytes()
    return Encoded(Encoding.RUN_LENGTH, bits, signed_64(least), payload=head + runs)


def run_layout(payload: memoryview) -> tuple[NDArray[np.uint32], memoryview]:
    """Return the ends of the runs and the packed bytes of their values.

    Raises ValueError when the payload is too short for its own run count.
    """
    if len(payload) < 4:
        raise ValueError("a run count")
    run_count = int.from_bytes(payload[:4], "little")
    values_start = align(4 + 4 * run_count, SECTION_ALIGNMENT)
    if run_count < 1 or values_start > len(payload):
        raise ValueError(f"{run_count} runs")
    return np.frombuffer(payload, "<u4", run_count, 4), payload[values_start:]


def decode_runs(
    payload: memoryview, bits: int, reference: int, dtype: np.dtype[Any]
) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the ends of the runs and their values."""
    ends, packed = run_layout(payload)
    return ends, decode_frame(packed, bits, reference, len(ends), dtype)


def encode_verbatim(values: NDArray[Any], bits: int) -> Encoded:
    """Keep floats and wide decimals as they are, or once if all of them have the same bits."""
    raw = np.ascontiguousarray(values)
    words = raw.view(_WORDS[64] if bits >= 64 else _WORDS[bits]).reshape(len(values), -1)
    if len(values) > 1 and bool((words == words[0]).all()):
        return Encoded(Encoding.CONSTANT, bits, payload=raw[:1].tobytes())
    return Encoded(Encoding.VERBATIM, bits, payload=raw)
