"""Lists as bytes, to be hashed as texts are: equal bytes for equal lists, an own length for each.

    [1.0, -0.0]     the bytes of 1.0 and of 0.0
    ['a', NULL]     the numbers of 'a' and of NULL among all elements, 8 bytes each
    []              no bytes

So vectors are grouped and joined by the memory that they lie in. NULL is an element like others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.relation import joined
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.late import pc
from raydb.planner.expressions.columns.order import canonical_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Values: TypeAlias = pa.ChunkedArray | pa.Array
    # Numbers values: equal numbers for equal ones, NULL among them.
    Number = Callable[[Values], NDArray[np.int64]]


def list_bytes(columns: Sequence[Values], number: Number) -> list[pa.Array]:
    """Return columns of lists of one type as LARGE_BINARY, equal where the lists are; NULL is NULL.

    number: numbers elements that are no plain numbers, or among which there is NULL, and those of
    all columns together.
    """
    wholes = [_one_array(column) for column in columns]
    elements = [whole.flatten() for whole in wholes]
    words = _words(elements, number)
    return [_with_offsets(whole, own) for whole, own in zip(wholes, words, strict=True)]


def hashable(values: Values) -> Values:
    """Return lists of numbers as BINARY, equal where they are, but NULL is 0; others unchanged.

    So lists that differ may be equal, as hashes may. The bytes of all of them are less than 2 GB.
    """
    is_list = pt.is_list(values.type) or pt.is_fixed_size_list(values.type)
    if not is_list or not _is_plain(values.type.value_type):
        return values
    lists = _one_array(values)
    elements = lists.flatten()
    if elements.null_count:
        elements = elements.fill_null(pa.scalar(0, pa.int8()).cast(elements.type))
    return _with_offsets(lists, _plain_words(elements)).cast(pa.binary())


def _one_array(column: Values) -> pa.Array:
    whole = joined(column)
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole


def _words(elements: Sequence[pa.Array], number: Number) -> list[NDArray[np.generic]]:
    """Return the elements as numbers of one width, equal where the elements are."""
    if all(_is_plain(each.type) and not each.null_count for each in elements):
        return [_plain_words(each) for each in elements]
    numbers = number(pa.chunked_array(elements))
    ends = np.cumsum([len(each) for each in elements])
    return list(np.split(numbers, ends[:-1]))


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers in memory."""
    return bool(
        pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind) or pt.is_temporal(kind)
    ) and not pt.is_interval(kind)


def _plain_words(elements: pa.Array) -> NDArray[np.generic]:
    words: NDArray[np.generic] = words_of(canonical_floats(elements))
    return words


def _with_offsets(lists: pa.Array, words: NDArray[np.generic]) -> pa.Array:
    """Return lists as the bytes of their elements, which lie one after the other."""
    width = words.nbytes // max(len(words), 1)
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lengths * width, out=offsets[1:])
    data = pa.py_buffer(np.ascontiguousarray(words))
    found = pa.Array.from_buffers(
        pa.large_binary(), len(lists), [None, pa.py_buffer(offsets), data]
    )
    if not lists.null_count:
        return found
    return pc.if_else(lists.is_valid(), found, pa.scalar(None, found.type))
