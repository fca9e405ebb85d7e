"""Vectors in delimited text, written as lists: `[1, 2.5, NULL]` is a FLOAT[3]."""

from __future__ import annotations

import pyarrow as pa

from raydb.late import pc


def is_vector(kind: pa.DataType) -> bool:
    """Tell whether a type is FLOAT[n] or DOUBLE[n]."""
    return bool(pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type))


def vectors_of(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the vectors of texts. Raises pa.ArrowInvalid for another length, and for no list."""
    words = pc.utf8_trim_whitespace(texts)
    if pc.all(pc.match_substring_regex(words, r"^\[[^\[\]]*\]$")).as_py() is False:
        raise pa.ArrowInvalid("no list")
    lists = pc.split_pattern(pc.utf8_slice_codeunits(words, 1, -1), ",")
    elements = pc.utf8_trim_whitespace(lists.values)
    is_null = pc.equal(pc.utf8_upper(elements), "NULL")
    elements = pc.if_else(is_null, pa.scalar(None, pa.string()), elements)
    numbers = elements.cast(kind.value_type)
    has_digits = pc.match_substring_regex(elements, "[0-9]")
    if pc.any(pc.and_(pc.is_inf(numbers), has_digits)).as_py():
        raise pa.ArrowInvalid("overflow")
    mask = texts.is_null() if texts.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, numbers, mask=mask).cast(kind)


def length_of(text: str) -> int | None:
    """Return how many elements a list has that a text is, None for another text."""
    words = text.strip()
    return words.count(",") + 1 if words[:1] + words[-1:] == "[]" else None
