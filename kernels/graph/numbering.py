"""Numbers for the values of a column that comes in parts: 0, 1, 2 in the order of first sight.

    numbers = Numbers(pa.string())
    numbers.of(pa.array(["ann", "bob", "ann"]))      ->  [0, 1, 0]
    numbers.of(pa.array(["eve", "bob"]))             ->  [2, 1]
    numbers.values(0, 3)                             ->  ["ann", "bob", "eve"]

Values of up to 64 bits are integers in one table, and all others are texts of bytes in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.graph.loops.numbering_loops import (
    TEXTS_AHEAD,
    Texts,
    integers_by_code,
    move_integers,
    number_integers,
    number_near,
    number_texts,
    place_texts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_SLOTS = 2**10
# Integers have a slot each while there are at most so many slots of 4 bytes a value: no more than
# a table with keys may take.
_SLOTS_EACH = 8
_LETTERS = 2**12

# Codes are int32.
MOST_VALUES = 2**31 - 1


def is_numbered(kind: pa.DataType) -> bool:
    """Tell whether values of a type can be numbered: those of one length, texts and bytes."""
    return _bits_of(kind) > 0 or _is_text(kind) or pa.types.is_fixed_size_binary(kind)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.binary()) or _is_long(kind)


def _is_long(kind: pa.DataType) -> bool:
    return kind in (pa.large_string(), pa.large_binary())


def _bits_of(kind: pa.DataType) -> int:
    """Return the width of values that are numbers within, 0 of others."""
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_dictionary(kind):
        return 0
    if not pa.types.is_primitive(kind) and not pa.types.is_decimal(kind):
        return 0
    return int(kind.bit_width)


class Numbers:
    """The numbers of values of one type."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.count = 0
        table: type[_Integers | _Texts] = _Integers if 0 < _bits_of(kind) <= 64 else _Texts
        self._table = table(kind)

    @property
    def size_bytes(self) -> int:
        """The bytes of the table and of the values."""
        return sum(each.nbytes for each in vars(self._table).values() if hasattr(each, "nbytes"))

    def of(self, values: pa.Array, may_add: bool = True) -> NDArray[np.int32]:
        """Return the numbers of values without NULL; -1 for new ones where none may be added.

        Raises OverflowError for more than MOST_VALUES values.
        """
        out = np.empty(len(values), np.int32)
        self.count = self._table.number(values, self.count, may_add, out)
        return out

    def values(self, start: int, end: int) -> pa.Array:
        """Return the values with the numbers from `start` to before `end`."""
        return self._table.values(start, end)


class _Integers:
    """Integers in a table of slots, or, where they lie close together, in a slot each.

    low: the integer of the first slot, None where slots have keys.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._low: int | None = None
        self._keys = np.empty(_LEAST_SLOTS, np.int64)
        self._codes = np.full(_LEAST_SLOTS, -1, np.int32)
        self._values = np.empty(0, np.int64)
        self._count = 0

    def number(self, values: pa.Array, count: int, may_add: bool, out: NDArray[np.int32]) -> int:
        keys = _as_integers(values).view()
        # Those of Arrow cannot be written, and the loop is compiled for one kind of array.
        keys.flags.writeable = False
        place = 0
        while True:
            if self._low is None:
                place, count = number_integers(
                    keys, place, self._keys, self._codes, self._shift(), count, may_add, out
                )
            else:
                place, count = number_near(keys, place, self._low, self._codes, count, may_add, out)
            self._count = count
            if place == len(keys):
                return count
            self._make_room(keys[place:])

    def values(self, start: int, end: int) -> pa.Array:
        if len(self._values) != self._count:
            self._values = np.empty(self._count, np.int64)
            if self._low is None:
                integers_by_code(self._keys, self._codes, self._values)
            else:
                taken = np.flatnonzero(self._codes >= 0)
                self._values[self._codes[taken]] = taken + self._low
        return _from_integers(self._values[start:end], self._kind)

    def _shift(self) -> int:
        return 67 - (len(self._codes) - 1).bit_length()

    def _make_room(self, coming: NDArray[np.int64]) -> None:
        """Make more slots: one each while integers lie close together, those that come too."""
        low, high = int(coming.min()), int(coming.max())
        if self._low is not None:
            is_below = low < self._low
            low, high = min(low, self._low), max(high, self._low + len(self._codes) - 1)
        else:
            keys = self._keys[self._codes >= 0]
            is_below = False
            low, high = min(low, int(keys.min())), max(high, int(keys.max()))
        span = high - low + 1
        most = min(_SLOTS_EACH * self._count, MOST_VALUES)
        if span > most:
            self._have_keys()
            return
        # Numbers that rise or fall find room the next time.
        length = min(2 * span, most)
        if is_below:
            low = max(high + 1 - length, -(2**63))
        codes = np.full(length, -1, np.int32)
        if self._low is None:
            is_taken = self._codes >= 0
            codes[self._keys[is_taken] - low] = self._codes[is_taken]
            self._keys = self._keys[:0].copy()
        else:
            codes[self._low - low :][: len(self._codes)] = self._codes
        self._low, self._codes = low, codes

    def _have_keys(self) -> None:
        """Make a table with keys, or a larger one."""
        old_keys, old_codes = self._keys, self._codes
        slots = _more_slots(len(old_codes))
        if self._low is not None:
            taken = np.flatnonzero(old_codes >= 0)
            old_keys, old_codes = taken + self._low, old_codes[taken]
            slots = max(_LEAST_SLOTS, 1 << (2 * self._count).bit_length())
        self._keys, self._codes = np.empty(slots, np.int64), np.full(slots, -1, np.int32)
        self._low = None
        move_integers(old_keys, old_codes, self._keys, self._codes, self._shift())


class _Texts:
    """Texts of bytes; `ends` has where each ends in `kept`."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._slots = np.full((_LEAST_SLOTS, 2), -1, np.int32)
        self._ends = np.empty(_LEAST_SLOTS // 2, np.int64)
        self._kept = np.empty(_LETTERS, np.uint8)
        self._ahead = np.empty(TEXTS_AHEAD, np.uint64)

    def number(self, values: pa.Array, count: int, may_add: bool, out: NDArray[np.int32]) -> int:
        offsets, letters = _as_bytes(values)
        place = 0
        while True:
            texts = Texts(self._slots, self._ends, self._kept, self._ahead)
            place, count = number_texts(offsets, letters, place, texts, count, may_add, out)
            if place == len(out):
                return count
            self._grow(count, int(offsets[place + 1] - offsets[place]))

    def values(self, start: int, end: int) -> pa.Array:
        first = self._ends[start - 1] if start else 0
        ends = np.concatenate(([first], self._ends[start:end]))
        letters = self._kept[first : ends[-1]]
        if _is_text(self._kind):
            offsets = (ends - ends[0]).astype(np.int64 if _is_long(self._kind) else np.int32)
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
            return pa.Array.from_buffers(self._kind, end - start, buffers)
        return pa.Array.from_buffers(self._kind, end - start, [None, pa.py_buffer(letters)])

    def _grow(self, count: int, size: int) -> None:
        if 2 * count >= len(self._slots):
            slots = _more_slots(len(self._slots))
            self._slots = np.full((slots, 2), -1, np.int32)
            place_texts(self._ends, self._kept, count, self._slots)
            self._ends = _longer(self._ends, slots // 2)
        used = int(self._ends[count - 1]) if count else 0
        if used + size > len(self._kept):
            self._kept = _longer(self._kept, max(2 * len(self._kept), used + size))


def _more_slots(slots: int) -> int:
    if slots > MOST_VALUES:
        raise OverflowError
    return 2 * slots


def _longer(values: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty(max(size, len(values)), values.dtype)
    longer[: len(values)] = values
    return longer


def _as_integers(values: pa.Array) -> NDArray[np.int64]:
    """Return values of up to 64 bits as integers, equal ones as equal integers."""
    kind = values.type
    if pa.types.is_floating(kind):
        # -0.0 and 0.0 are one value, and so are all that are no numbers.
        reals = values.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
        reals[np.isnan(reals)] = np.nan
        bits: NDArray[np.int64] = reals.view(np.int64)
        return bits
    if pa.types.is_boolean(kind):
        values = values.cast(pa.uint8())
    elif not pa.types.is_integer(kind):
        values = values.view(pa.int32() if _bits_of(kind) == 32 else pa.int64())
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    is_wide = numbers.dtype == np.uint64
    return numbers.view(np.int64) if is_wide else numbers.astype(np.int64, copy=False)


def _from_integers(keys: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Return the values that `_as_integers` made integers of."""
    if pa.types.is_floating(kind):
        return pa.array(keys.view(np.float64)).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(keys.astype(np.bool_))
    if pa.types.is_integer(kind):
        return pa.array(keys.view(np.uint64) if kind == pa.uint64() else keys).cast(kind)
    narrow = pa.array(keys.astype(np.int32) if _bits_of(kind) == 32 else keys)
    return narrow.view(kind)


def _as_bytes(values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where values lie in bytes (count + 1), and these."""
    if _is_text(values.type):
        _, starts, data = values.buffers()
        width = np.dtype(np.int64 if _is_long(values.type) else np.int32)
        whole = np.frombuffer(b"" if starts is None else starts, width)
        # An array of no text may have no offset.
        offsets = whole[values.offset :][: len(values) + 1].astype(np.int64)
    else:
        width = values.type.byte_width
        data = values.buffers()[1]
        offsets = (np.arange(len(values) + 1) + values.offset) * width
    return offsets, np.frombuffer(b"" if data is None else data, np.uint8)
