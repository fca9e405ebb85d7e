"""The entries of dictionaries: texts of their codes, and which of them a filter wants."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import Entries, Places, Span, Target, read_only, text_loops
from raydb.late import pc
from raydb.room import check_room
from raydb.storage.flat.encodings.texts import text_array
from raydb.storage.flat.kinds import has_large_offsets, text_parts
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Text
    from raydb.storage.flat.metadata.column import Column


class EntryTexts:
    """The entries of a dictionary of texts, as Arrow has them and as loops read them."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @staticmethod
    def of(entries: Any, kind: Kind) -> EntryTexts | None:
        """Return entries of a kind, None where they are none or no texts."""
        return EntryTexts(entries) if entries is not None and kind is Kind.BYTES else None

    @cached_property
    def decoded(self) -> Entries:
        """The entries as the loops of texts read them."""
        data, offsets = text_parts(self.array)
        return Entries.of(data, offsets.astype(np.int64), len(self.array))


def passing(entries: Any, wanted: Text, is_text: bool) -> NDArray[np.uint8]:
    """Return which entries are wanted: 1 for each of them, 0 for others."""
    plain = wanted.value.decode() if is_text else wanted.value
    same = pa.scalar(plain).cast(entries.type)
    found = pc.starts_with(entries, plain) if wanted.is_prefix else pc.equal(entries, same)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.uint8)


def texts_of(column: Column, codes: NDArray[np.uint32], validity: Any) -> Any:
    """Return the texts of codes of the column's entries, behind which there are two more."""
    assert column.dictionary_texts is not None
    data_type, entries = column.field.type, column.dictionary_texts.decoded
    count, data = len(codes) - 2, read_only(codes.view(np.uint8))
    width, begin = np.uint64(32), np.uint64(0)
    size = int(text_loops().measure_codes(data, width, begin, count, entries.heads))
    check_room(size, f"texts of column '{column.field.name}'")
    is_wide = has_large_offsets(data_type) or size > MAX_PAYLOAD_BYTES
    target = Target.of(count, size, is_wide)
    places = Places(np.zeros(1, np.int64), np.array([count]))
    text_loops().spread_rows(data, width, places, entries, target, Span(0, 0, size))
    return text_array(data_type, target.offsets, target.data, validity)
