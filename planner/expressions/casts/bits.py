"""Casts of BIT: from and to texts, bytes and integers, whose bits they are."""

from __future__ import annotations

import pyarrow as pa

from raydb.storage.bits import BIT, bit_texts, bits_of, bits_of_number
from raydb.storage.integers import is_unsigned


def _integer_to_bits(array: pa.Array, _: pa.DataType) -> pa.Array:
    width = array.type.bit_width
    values = array.to_pylist()
    return pa.array([None if each is None else bits_of_number(each, width) for each in values], BIT)


def _bits_to_integer(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the numbers of bits, below zero where all bits are there and the first is set."""
    width = target.bit_width
    numbers = []
    for bits in array.to_pylist():
        if bits is not None and len(bits) > width:
            raise pa.ArrowInvalid("too many bits")
        number = None if bits is None else int(bits, 2)
        if number is not None and number >> (width - 1) and not is_unsigned(target):
            number -= 1 << width
        numbers.append(number)
    return pa.array(numbers, target)


def _bytes_to_bits(array: pa.Array, _: pa.DataType) -> pa.Array:
    if any(value == b"" for value in array.to_pylist()):
        raise pa.ArrowInvalid("no bits")
    values = (
        None if each is None else bits_of_number(int.from_bytes(each), 8 * len(each))
        for each in array.to_pylist()
    )
    return pa.array(list(values), BIT)


def _bits_to_bytes(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return bytes; the first one begins with zeros where bits are missing."""
    values = (
        None if bits is None else int(bits, 2).to_bytes(-(-len(bits) // 8))
        for bits in array.to_pylist()
    )
    return pa.array(list(values), target)


CONVERSIONS = {
    ("text", "bits"): lambda array, _: bits_of(array),
    ("bits", "text"): lambda array, _: bit_texts(array),
    ("integer", "bits"): _integer_to_bits,
    ("bits", "integer"): _bits_to_integer,
    ("bytes", "bits"): _bytes_to_bits,
    ("bits", "bytes"): _bits_to_bytes,
}
