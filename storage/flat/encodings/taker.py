"""Rows of any chunks of a column, taken in one pass by a compiled loop, whatever their encodings.

Integers, decimals of 64 bits and floats, and what is in the codes of a dictionary of the column;
of numbers also of a dictionary of the chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.kernels.codecs.rows.entries import Form, take_loops
from raydb.storage.flat.encodings.all_null import ALL_NULL
from raydb.storage.flat.encodings.alp import ALP, SCALES
from raydb.storage.flat.encodings.constant import CONSTANT
from raydb.storage.flat.encodings.dictionary import DICTIONARY
from raydb.storage.flat.encodings.entry_texts import texts_of
from raydb.storage.flat.encodings.frame import FRAME
from raydb.storage.flat.encodings.gather import (
    chunk_words,
    payload_places,
    section_places,
    validity_gather,
    words_by_row,
)
from raydb.storage.flat.encodings.line import LINE
from raydb.storage.flat.encodings.patched import PATCHED
from raydb.storage.flat.encodings.run_length import RUN_LENGTH
from raydb.storage.flat.encodings.runs import RUNS
from raydb.storage.flat.encodings.stride import STRIDE
from raydb.storage.flat.encodings.verbatim import VERBATIM
from raydb.storage.flat.kinds import array_of
from raydb.storage.flat.layout import Flags, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Gather, Taker
    from raydb.storage.flat.metadata.column import Column

# Rows of any place that are taken between two looks for an interrupt: 0.1 s.
_ROWS_AT_ONCE = 2**20
_INTEGER_FORMS = {
    ALL_NULL.code: Form.PACKED,
    CONSTANT.code: Form.PACKED,
    FRAME.code: Form.PACKED,
    LINE.code: Form.LINE,
    STRIDE.code: Form.STRIDE,
    RUNS.code: Form.RUNS_LINE,
    RUN_LENGTH.code: Form.RUN_ENDS,
    PATCHED.code: Form.PATCHED,
}
_FORMS = {
    Kind.SIGNED: {**_INTEGER_FORMS, VERBATIM.code: Form.PACKED},
    Kind.UNSIGNED: {**_INTEGER_FORMS, VERBATIM.code: Form.PACKED},
    Kind.DECIMAL: _INTEGER_FORMS,
    Kind.FLOAT: {ALL_NULL.code: Form.PACKED, VERBATIM.code: Form.PACKED, ALP.code: Form.ALP},
}


def taker_of(column: Column) -> Taker | None:
    """Return the function that takes rows of a column; None where its chunks have other encodings.

    It returns None where a row is not there, or its chunk has not been verified.
    """
    codes = set(np.flatnonzero(np.bincount(column.entries["encoding"])).tolist())
    # Of a chunk in another encoding the count is a claim that nobody has verified.
    has_own = codes == {DICTIONARY.code} and bool(column.entries["dictionary_count"].any())
    has_words = column.kind not in (Kind.BYTES, Kind.DECIMAL)
    is_coded = codes == {DICTIONARY.code} and (has_words or not has_own)
    if not codes or not (is_coded or codes <= _FORMS.get(column.kind, {}).keys()):
        return None
    # A constant has a payload where it is a decimal of two words.
    if (column.entries["payload_length"][column.entries["encoding"] == CONSTANT.code] > 0).any():
        return None
    words = words_by_row(column, packed_chunks(column))
    validity_of, data = validity_gather(column), column.file.bytes_
    kind, data_type = column.kind, column.field.type
    dtype, entries, entries_at = column.dtype, np.empty(0, np.uint8), 0
    if is_coded and (has_own or kind is Kind.BYTES):
        dtype = np.dtype(np.uint32)
    elif is_coded:
        shared = entries if column.dictionary is None else column.dictionary.view(np.uint8)
        entries = np.concatenate([shared, np.zeros(8, np.uint8)])
        entries_at = entries.ctypes.data
    decode = _own_entries(column) if has_own else None
    place, size, from_buffers = words.address, dtype.itemsize, pa.Array.from_buffers

    def take(rows: NDArray[np.int64], _held: Any = (words, entries)) -> Any:
        count = len(rows)
        room = pa.allocate_buffer(size * count + 8)
        take_words = take_loops().take_words
        for first in range(0, count, _ROWS_AT_ONCE):
            check_interrupt()
            some, to = rows[first : first + _ROWS_AT_ONCE], room.address + size * first
            if not take_words(data, place, some, SCALES, entries_at, size, to):
                return None
        validity = validity_of and validity_of(rows, column.chunks_of(rows))
        if kind is Kind.BYTES:  # With 8 bytes behind the codes.
            return texts_of(column, np.frombuffer(room, dtype), validity)
        if decode is not None:
            values = decode(np.frombuffer(room, dtype, count), column.chunks_of(rows))
            return array_of(data_type, kind, values, validity)
        if kind is Kind.DECIMAL:
            return array_of(data_type, kind, np.frombuffer(room, dtype, count), validity)
        return from_buffers(data_type, count, [validity, room])

    return take


def _own_entries(column: Column) -> Gather:
    """Return the function from codes and their chunks to numbers; chunks have own entries."""
    data, counts = column.file.bytes_, column.entries["dictionary_count"].astype(np.int64)
    places = section_places(column, "validity_length", "index_length", "payload_length")
    shared = np.empty(0, column.dtype) if column.dictionary is None else column.dictionary
    within = np.arange(column.dtype.itemsize)

    def decode(codes: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        values = np.empty(len(codes), column.dtype)
        is_own = codes >= len(shared)
        values[~is_own] = shared[codes[~is_own]]
        chunks = numbers[is_own]
        entries = np.minimum(codes[is_own].astype(np.int64) - len(shared), counts[chunks] - 1)
        starts = places[chunks] + entries * len(within)
        values[is_own] = data[starts[:, None] + within].view(column.dtype)[:, 0]
        return values

    return decode


def are_integers(column: Column) -> bool:
    """Tell whether all values are integers of 64 bits or fewer, as most decimals are."""
    codes, has_payload = column.entries["encoding"], column.entries["payload_length"] > 0
    are_wide = (codes == VERBATIM.code) | ((codes == CONSTANT.code) & has_payload)
    is_short = column.kind is Kind.DECIMAL and not are_wide.any()
    return column.kind in {Kind.SIGNED, Kind.UNSIGNED} or is_short


def packed_chunks(column: Column) -> NDArray[np.int64]:
    """Return the chunks of a column as the loops of numbers take them, a row of words each.

    First row, form, bits, where the payload begins, reference, row count.
    """
    entries, codes = column.entries, column.entries["encoding"]
    forms = np.zeros(256, np.uint8)
    for code, form in _FORMS.get(column.kind, {}).items():
        forms[code] = form
    forms[DICTIONARY.code] = Form.CODES
    found = forms[codes]
    are_in_runs = entries["flags"] & Flags.RUNS > 0
    found[(codes == DICTIONARY.code) & are_in_runs] = Form.RUNS
    found[(codes == ALP.code) & are_in_runs] = Form.ALP_RUNS
    widths = entries["width"].copy()
    widths[np.isin(codes, (CONSTANT.code, ALL_NULL.code))] = 0
    references = np.where(np.isin(codes, (VERBATIM.code, DICTIONARY.code)), 0, entries["reference"])
    places = payload_places(column)
    return chunk_words(column, found, widths, places, references, entries["row_count"])


def are_scanned(column: Column) -> bool:
    """Tell whether the loops know all chunks that are decoded with others."""
    known = {*_FORMS.get(column.kind, {}), DICTIONARY.code, CONSTANT.code, VERBATIM.code}
    return known.issuperset(np.flatnonzero(np.bincount(column.entries["encoding"])).tolist())
