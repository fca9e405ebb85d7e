"""Columns as integers: in the order of their values to sort by, or numbered to group by.

    [7.5, NULL, -2.0]  ->  codes in order  ->  a word with NULL last: [1, 2, 0]
    several keys       ->  one word, a number of few bits whose order is that of all the keys

A word is sorted together with the row numbers in its low bits, which makes the sort stable.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.list_keys import list_bytes
from raydb.engine.operators.relation import joined
from raydb.interrupts import check_interrupt
from raydb.kernels.bvh.encode import encode_column
from raydb.kernels.codecs.arrow_numbers import from_numbers, words_of
from raydb.kernels.codecs.code_table import MANY_CODES, number_codes
from raydb.late import pc
from raydb.planner.expressions.columns.nested_order import order_nested
from raydb.planner.expressions.columns.order import doubles_of_codes, order_codes, order_intervals
from raydb.storage.nested import entries_of, fields_of
from raydb.storage.textual import is_textual
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A table of flags over so many codes is never too large to find those that occur.
_FEW_CODES = 2**16
# Beyond that codes are addressed directly while there are at most so many a row.
_CODES_A_ROW = 4

# Numbers of so few bits are sorted digit by digit.
_RADIX_BITS = 16


@dataclass(frozen=True, eq=False, slots=True)
class Codes:
    """A column as int64 codes in the order of its values.

    codes: arbitrary where NULL; valid: None without NULLs; kind: the type of the values;
    ranked: the sorted distinct values that the codes count, where they are not the values
    themselves.
    """

    codes: NDArray[np.int64]
    valid: NDArray[np.bool_] | None
    kind: pa.DataType
    ranked: pa.Array | None = None

    def bounds(self) -> tuple[int, int] | None:
        """Return the least and the greatest code; None where every value is NULL."""
        codes = self.codes if self.valid is None else self.codes[self.valid]
        return (int(codes.min()), int(codes.max())) if len(codes) else None

    def decode(self, codes: NDArray[np.int64], valid: NDArray[np.bool_]) -> pa.Array:
        """Return the values of some codes, NULL where they are not valid."""
        if pt.is_null(self.kind):
            return pa.nulls(len(codes))
        if self.ranked is not None:
            return self.ranked.take(pa.array(codes, mask=~valid))
        if pt.is_floating(self.kind):
            return doubles_of_codes(pa.array(codes, mask=~valid)).cast(self.kind)
        if pt.is_time64(self.kind):
            return pa.array(codes, mask=~valid).view(self.kind)
        return from_numbers(codes, valid, self.kind)


def encode(values: pa.ChunkedArray | pa.Array) -> Codes:
    """Return a column as codes; doubles in total order, text in order of its UTF-8 bytes.

    >>> encode(pa.array(["b", None, "a"]))
    codes [1, 2, 0], valid [True, False, True], ranked ["a", "b", None]
    """
    check_interrupt()
    kind = values.type
    valid = None
    if values.null_count:
        valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
    if pt.is_null(kind):
        return Codes(np.zeros(len(values), np.int64), valid, kind)
    codes = direct_codes(values)
    if codes is not None:
        return Codes(codes, valid, kind)
    encoded = encode_column(order_nested(order_intervals(values)))
    if pt.is_interval(kind) or pt.is_nested(kind):
        # What stands for a code is the first of the values that are equal.
        _, rows = np.unique(encoded.codes, return_index=True)
        ranked = joined(values).take(pa.array(rows))
        return Codes(encoded.codes.astype(np.int64), valid, kind, ranked)
    return Codes(encoded.codes.astype(np.int64), valid, kind, encoded.values)


def are_words(kind: pa.DataType) -> bool:
    """Tell whether values of a type lie in memory as signed integers, which are their codes."""
    return bool(pt.is_signed_integer(kind) or pt.is_date32(kind))


def integer_codes(values: pa.ChunkedArray | pa.Array) -> NDArray[np.signedinteger] | None:
    """Return direct codes, of any width where they are the values as these lie in memory."""
    return words_of(joined(values)) if are_words(values.type) else direct_codes(values)


def direct_codes(values: pa.ChunkedArray | pa.Array) -> NDArray[np.int64] | None:
    """Return fixed-width values as integers in their order, or None where they are too wide."""
    kind = values.type
    if is_textual(kind) or pt.is_nested(kind) or pt.is_interval(kind):
        return None
    if pt.is_fixed_size_binary(kind):
        return None
    if pt.is_boolean(kind):
        values = pc.cast(values, pa.int8())
    elif pt.is_floating(kind):
        values = order_codes(values)
    words = words_of(joined(values))
    if words.ndim == 2:
        sign = words[:, 0] >> 63
        wide = np.logical_or.reduce([word != sign for word in words.T[1:]])
        if values.null_count:
            wide &= pc.is_valid(values).to_numpy(zero_copy_only=False)
        if wide.any():
            return None
        words = words[:, 0]
    if words.dtype == np.uint64 and len(words) and int(words.max()) >= 2**63:
        return None
    return words.astype(np.int64, copy=False)


# -- order


@dataclass(frozen=True, eq=False, slots=True)
class Word:
    """Unsigned numbers, one a row, of at most `bits` bits: rows are in the order of the numbers."""

    numbers: NDArray[np.uint64]
    bits: int


def key_word(codes: Codes, descending: bool, nulls_first: bool) -> Word:
    """Return the word that sorts rows by one key."""
    bounds = codes.bounds()
    if bounds is None:
        return Word(np.zeros(len(codes.codes), np.uint64), 0)
    least, most = bounds
    origin = np.int64(most if descending else least)
    # The difference of two int64 is right as an unsigned number, whatever wraps.
    numbers = ((origin - codes.codes) if descending else (codes.codes - origin)).view(np.uint64)
    span = most - least
    if codes.valid is None:
        return Word(numbers, span.bit_length())
    if span.bit_length() == 64:
        ranks = condense(Word(numbers, 64))
        numbers, span = ranks.numbers, 2**ranks.bits - 1
    if nulls_first:
        numbers = np.where(codes.valid, numbers + np.uint64(1), np.uint64(0))
    else:
        numbers = np.where(codes.valid, numbers, np.uint64(span + 1))
    return Word(numbers, (span + 1).bit_length())


def join_words(words: Sequence[Word], row_count: int) -> Word:
    """Return one word that sorts by several keys, the first one first.

    It leaves room for a row number within 64 bits.
    """
    room = 64 - _row_bits(row_count)
    if len(words) == 1 and words[0].bits <= room:
        return words[0]
    whole = Word(np.zeros(row_count, np.uint64), 0)
    for word in words:
        check_interrupt()
        if whole.bits + word.bits > room:
            word = condense(word)  # noqa: PLW2901
        if whole.bits + word.bits > room:
            whole = condense(whole)
        whole = Word((whole.numbers << np.uint64(word.bits)) | word.numbers, whole.bits + word.bits)
        if whole.bits > room:
            whole = condense(whole)
    return whole


def condense(word: Word) -> Word:
    """Return the rank of each number among the distinct ones, which needs the fewest bits."""
    order = np.argsort(word.numbers)
    changes = np.diff(word.numbers[order]) != 0
    ranks = np.zeros(len(order), np.uint64)
    ranks[order[1:]] = np.cumsum(changes, dtype=np.uint64)
    return Word(ranks, int(np.count_nonzero(changes)).bit_length())


def sort_rows(word: Word) -> NDArray[np.int64]:
    """Return the row numbers in the order of a word; rows that are equal stay in order."""
    check_interrupt()
    count = len(word.numbers)
    rows = np.arange(count)
    if bool((word.numbers[1:] >= word.numbers[:-1]).all()):
        return rows
    if word.bits <= _RADIX_BITS:
        return np.argsort(word.numbers.astype(np.uint16), kind="stable")
    row_bits = np.uint64(_row_bits(count))
    packed = (word.numbers << row_bits) | rows.view(np.uint64)
    packed.sort()
    sorted_rows: NDArray[np.int64] = (packed & ((np.uint64(1) << row_bits) - np.uint64(1))).view(
        np.int64
    )
    return sorted_rows


def _row_bits(row_count: int) -> int:
    return max(row_count - 1, 0).bit_length()


# -- groups


@dataclass(frozen=True, eq=False)
class Membership:
    """numbers: the group of each row, from 0 to count - 1."""

    numbers: NDArray[np.int64]
    count: int

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        if self.count == 1:
            return np.array([len(self.numbers)])
        sizes: NDArray[np.int64] = np.bincount(self.numbers, minlength=self.count)
        return sizes

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of each group's doubles, added up in the order of the rows."""
        # Of no rows at all numpy counts in integers.
        return np.bincount(self.numbers, values, self.count).astype(np.float64, copy=False)

    def starts(self) -> NDArray[np.int64]:
        """Return where each group of rows sorted by group begins, and the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def word(self) -> Word:
        """Return the word that sorts rows by group."""
        return Word(self.numbers.view(np.uint64), max(self.count - 1, 0).bit_length())


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """The groups of all rows; rows: one row of each group, the first."""

    members: Membership
    rows: NDArray[np.int64]


def group_rows(keys: Sequence[pa.ChunkedArray | pa.Array], row_count: int) -> Groups:
    """Number the distinct tuples of the keys; NULL is a value like any other, and so is NaN.

    Without keys all rows, even none, are one group.
    """
    numbers: NDArray[np.int64] = np.zeros(row_count, np.int64)
    if not keys:
        return Groups(Membership(numbers, 1), np.zeros(min(row_count, 1), np.int64))
    limit = _most_codes(row_count)
    size = 1
    for key in keys:
        codes, code_count = _group_codes(key)
        if size * code_count > limit:
            numbers, size = _dense(numbers, size)
        if size * code_count > limit:
            codes, code_count = _dense(codes, code_count)
        numbers = codes if size == 1 else numbers * code_count + codes
        size *= code_count
    numbers, count = _dense(numbers, size)
    rows = np.empty(count, np.int64)
    rows[numbers[::-1]] = np.arange(row_count - 1, -1, -1)
    return Groups(Membership(numbers, count), rows)


def group_numbers(values: pa.ChunkedArray | pa.Array) -> NDArray[np.int64]:
    """Return the number of each value's group."""
    return group_rows([values], len(values)).members.numbers


def _most_codes(row_count: int) -> int:
    return max(_FEW_CODES, _CODES_A_ROW * row_count)


def _group_codes(values: pa.ChunkedArray | pa.Array) -> tuple[NDArray[np.int64], int]:
    """Return equal codes for equal values, and more than the greatest code."""
    values = order_intervals(values)
    if pt.is_null(values.type):
        return np.zeros(len(values), np.int64), 1
    if pt.is_struct(values.type):
        return _struct_codes(values)
    if pt.is_map(values.type):
        values = entries_of(joined(values))
    if pt.is_nested(values.type):
        return _hashed(list_bytes([values], group_numbers)[0])
    whole = joined(values)
    codes = direct_codes(whole)
    if codes is None:
        codes = _text_codes(whole)
    if codes is None:
        return _hashed(whole)
    valid = None
    if whole.null_count:
        valid = pc.is_valid(whole).to_numpy(zero_copy_only=False)
    bounds = Codes(codes, valid, whole.type).bounds()
    if bounds is None:
        return np.zeros(len(whole), np.int64), 1
    least, most = bounds
    if most - least >= _most_codes(len(whole)):
        return _numbered(codes, valid)
    codes = codes - least
    if valid is None:
        return codes, most - least + 1
    return np.where(valid, codes, most - least + 1), most - least + 2


def _struct_codes(values: pa.ChunkedArray | pa.Array) -> tuple[NDArray[np.int64], int]:
    """Number structs by their fields; NULL is not a struct of NULLs."""
    whole = joined(values)
    groups = group_rows([*fields_of(whole), whole.is_valid()], len(whole)).members
    return groups.numbers, groups.count


def _text_codes(values: pa.ChunkedArray | pa.Array) -> NDArray[np.int64] | None:
    """Return texts that are all of one length, of 1 to 7 bytes, as the number in these bytes."""
    is_text = pt.is_string(values.type) or pt.is_binary(values.type)
    if not is_text or isinstance(values, pa.ChunkedArray) or not len(values) or values.null_count:
        return None
    ends = np.frombuffer(values.buffers()[1], np.int32)[values.offset :][: len(values) + 1]
    length = int(ends[1] - ends[0])
    if not 1 <= length <= 7 or not (np.diff(ends) == length).all():
        return None
    data = np.frombuffer(values.buffers()[2], np.uint8)[ends[0] : ends[-1]]
    codes = data[::length].astype(np.int64)
    for byte in range(1, length):
        codes = codes << 8 | data[byte::length]
    return codes


def _hashed(values: pa.ChunkedArray | pa.Array) -> tuple[NDArray[np.int64], int]:
    """Number values of any range by a hash table; doubles are hashed as their codes."""
    encoded = pc.dictionary_encode(values)
    chunks = [encoded]
    if isinstance(encoded, pa.ChunkedArray):  # more text than an array holds
        chunks = encoded.unify_dictionaries().chunks
    size = len(chunks[0].dictionary)
    codes = [chunk.indices.fill_null(size).to_numpy() for chunk in chunks]
    return np.concatenate(codes).astype(np.int64), size + 1


def _numbered(
    codes: NDArray[np.int64], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], int]:
    """Number integers of any range, NULL last."""
    if len(codes) < MANY_CODES:
        return _hashed(pa.array(codes, mask=None if valid is None else ~valid))
    if valid is None:
        table, numbers = number_codes(codes)
        return numbers, len(table.known) + 1
    table, known = number_codes(codes[valid])
    numbers = np.full(len(codes), len(table.known))
    numbers[valid] = known
    return numbers, len(table.known) + 1


def _dense(numbers: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """Renumber so that every number below the returned count occurs."""
    if size > _most_codes(len(numbers)):
        codes, size = _numbered(numbers, None)
        return codes, size - 1
    occurs = np.zeros(size, np.bool_)
    occurs[numbers] = True
    count = int(np.count_nonzero(occurs))
    if count == size:
        return numbers, size
    ranks: NDArray[Any] = np.cumsum(occurs) - 1
    return ranks[numbers], count
