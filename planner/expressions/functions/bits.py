"""Functions of BIT; those of the bits of integers are in `numbers`."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_arrow, of_columns, of_values, row_by_row
from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string, read_string
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import as_bigint
from raydb.planner.expressions.types import (
    BIGINT,
    BLOB,
    DOUBLE,
    HUGEINT,
    INTEGER,
    TEXT,
    is_integer,
)
from raydb.planner.expressions.typing_rules import cast, typed
from raydb.room import check_room
from raydb.storage.bits import BIT, combined
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values

_MOST_BITS = 2**31
# Of bitstring_agg(), a bit each in every group.
_MOST_NUMBERS = 2**27


def require_bits(name: str, operand: Expression) -> Expression:
    """Return bits, which a constant string may be; raises ProgrammingError for others."""
    operand = typed(operand, BIT)
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, BIT)
    if operand.type != BIT:
        raise ProgrammingError(f"{name}() needs a BIT, not {describe(operand)}")
    return operand


def _combine(
    word: str, function: Callable[[int, int], int], _: Call, left: Values, right: Values
) -> Values:
    def combine(one: bytes, other: bytes) -> bytes:
        if len(one) != len(other):
            raise DataError(f"{word} needs bits of one length, not of {len(one)} and {len(other)}")
        return combined(function, one, other)

    return row_by_row(combine, BIT, left, right)


scalar(name="bits_and", can_fail=True)(partial(_combine, "&", operator.and_))
scalar(name="bits_or", can_fail=True)(partial(_combine, "|", operator.or_))
scalar(name="bits_xor", can_fail=True)(partial(_combine, "xor()", operator.xor))


@scalar(name="bits_not")
def _not(_: Call, values: Values) -> Values:
    return row_by_row(lambda bits: bits.translate(bytes.maketrans(b"01", b"10")), BIT, values)


def _shift(call: Call, values: Values, counts: Values) -> Values:
    is_left = call.function == "bits_shift_left"

    def shift(bits: bytes, count: int) -> bytes:
        if count < 0:
            raise DataError(f"bits cannot be moved by {count}")
        count = min(count, len(bits))
        return bits[count:] + b"0" * count if is_left else b"0" * count + bits[: len(bits) - count]

    return row_by_row(shift, BIT, values, counts)


scalar(name="bits_shift_left", can_fail=True)(_shift)
scalar(name="bits_shift_right", can_fail=True)(_shift)
scalar(name="bits_set")(of_values(partial(pc.count_substring, pattern=b"1")))
scalar(name="bits_length")(of_arrow("binary_length"))


@scalar(name="bits_octets")
def _octets(_: Call, values: Values) -> Values:
    return pc.divide(pc.add(pc.binary_length(values), 7), 8)


@scalar(name="bits_concat")
def _concat(_: Call, left: Values, right: Values) -> Values:
    return pc.binary_join_element_wise(left, right, pa.scalar(b"", BIT))


def _bind_place(name: str, bits: Expression, place: Expression, *bit: Expression) -> Expression:
    arguments = (
        require_bits(name, bits),
        as_bigint(name, place),
        *(as_bigint(name, b) for b in bit),
    )
    return Call(name, arguments, BIT if bit else INTEGER)


def _check_place(bits: bytes, place: int) -> None:
    if not 0 <= place < len(bits):
        raise DataError(f"there is no bit {place} of {len(bits)}: the first one is bit 0")


@scalar(
    "get_bit(bits, n)",
    "the bit at a place, the first one at 0: get_bit('0101'::BIT, 1) -> 1",
    bind=_bind_place,
    can_fail=True,
)
def _get_bit(_: Call, values: Values, places: Values) -> Values:
    def get(bits: bytes, place: int) -> int:
        _check_place(bits, place)
        return bits[place] - ord("0")

    return row_by_row(get, pa.int32(), values, places)


@scalar(
    "set_bit(bits, n, bit)",
    "the bits with another one at a place: set_bit('0101'::BIT, 0, 1)::VARCHAR -> '1101'",
    bind=_bind_place,
    can_fail=True,
)
def _set_bit(_: Call, values: Values, places: Values, new: Values) -> Values:
    def change(bits: bytes, place: int, bit: int) -> bytes:
        _check_place(bits, place)
        if bit not in (0, 1):
            raise DataError(f"a bit is 0 or 1, not {bit}")
        return bits[:place] + b"%d" % bit + bits[place + 1 :]

    return row_by_row(change, BIT, values, places, new)


def _bind_bitstring(name: str, bits: Expression, length: Expression) -> Expression:
    bits = cast(bits, BIT) if bits.type == TEXT else require_bits(name, bits)
    return Call(name, (bits, as_bigint(name, length)), BIT)


@scalar(
    "bitstring(bits, length)",
    "bits of that length, with zeros before: bitstring('11', 5)::VARCHAR -> '00011'",
    bind=_bind_bitstring,
    can_fail=True,
)
def _bitstring(_: Call, values: Values, lengths: Values) -> Values:
    def fill(bits: bytes, length: int) -> bytes:
        if not len(bits) <= length < _MOST_BITS:
            raise DataError(f"bitstring() of {len(bits)} bits has at least as many, not {length}")
        return bits.rjust(length, b"0")

    return row_by_row(fill, BIT, values, lengths)


def bits_of_values(values: Expression, least: Any, greatest: Any) -> Expression:
    """Return the BIT of the numbers from one to another that are in a list.

    Raises ProgrammingError for what are no numbers or no bounds of some.
    """
    element = values.type.value_type
    if not (is_integer(element) or element == HUGEINT):
        raise ProgrammingError(f"bitstring_agg() needs integers, not {sql_type_name(element)}")
    if not all(type(bound) is int for bound in (least, greatest)):
        raise ProgrammingError(
            "bitstring_agg() needs the least and the greatest number, integers that are constants"
        )
    if not 0 <= greatest - least < _MOST_NUMBERS:
        raise ProgrammingError(
            f"bitstring_agg() takes 1 to {_MOST_NUMBERS:,} numbers, not those from {least:,} to"
            f" {greatest:,}"
        )
    bounds = (Literal(least, HUGEINT), Literal(greatest, HUGEINT))
    return Call("list_bits", (values, *bounds), BIT)


@scalar(name="list_bits", can_fail=True)
def _list_bits(_: Call, lists: Values, least: Values, greatest: Values) -> Values:
    first, last = int(least.as_py()), int(greatest.as_py())

    def fill(numbers: list[int | None] | None) -> bytes | None:
        present = [int(number) for number in numbers or () if number is not None]
        if not present:
            return None
        bits = bytearray(b"0" * (last - first + 1))
        for number in present:
            if not first <= number <= last:
                raise DataError(f"{number} is not one of the numbers from {first} to {last}")
            bits[number - first] = ord("1")
        return bytes(bits)

    def fill_all(array: pa.Array) -> pa.Array:
        check_room((last - first + 1) * len(array), "the bits of bitstring_agg()")
        return pa.array(map(fill, array.to_pylist()), BIT)

    return each(lists, fill_all, BIT)


@scalar(
    "bit_position(part, bits)",
    "where the part begins, the first bit is at 1; 0 without it:"
    " bit_position('10'::BIT, '0101'::BIT) -> 2",
    bind=lambda name, *bits: Call(name, tuple(require_bits(name, b) for b in bits), INTEGER),
)
def _bit_position(_: Call, parts: Values, values: Values) -> Values:
    return row_by_row(lambda part, bits: bits.find(part) + 1, pa.int32(), parts, values)


def _bind_compared(kind: pa.DataType, name: str, *operands: Expression) -> Expression:
    """Bind a function of two BITs or two BLOBs."""
    if all(each.type == BLOB for each in operands):
        return Call(name, operands, kind)
    return Call(name, tuple(require_bits(name, each) for each in operands), kind)


def _bits_of(array: pa.Array) -> NDArray[Any]:
    """Return the bits of values, none of which is NULL, one value after the other."""
    if array.type == BLOB:
        return np.unpackbits(np.frombuffer(b"".join(array.to_pylist()), np.uint8))
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset :]
    written = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    bits: NDArray[Any] = written[offsets[0] : offsets[len(array)]] == ord("1")
    return bits


def _compared(
    call: Call, left: pa.Array, right: pa.Array
) -> tuple[NDArray[Any], NDArray[Any], Callable[[NDArray[Any]], NDArray[np.int64]]]:
    """Return the bits of the pairs without NULL, and what counts those of each row.

    Raises DataError for bits of two lengths.
    """
    valid = pc.and_(left.is_valid(), right.is_valid())
    pairs = [each.filter(valid) for each in (left, right)]
    size = 8 if left.type == BLOB else 1
    lengths, others = (size * pc.binary_length(each).to_numpy() for each in pairs)
    unlike = np.flatnonzero(lengths != others)
    if len(unlike):
        one, other = lengths[unlike[0]], others[unlike[0]]
        raise DataError(f"{call.function}() needs bits of one length, not of {one} and {other}")
    ends = np.cumsum(lengths, dtype=np.int64)

    def count(bits: NDArray[Any]) -> NDArray[np.int64]:
        totals = np.concatenate(([0], np.cumsum(bits, dtype=np.int64)))
        counts = np.zeros(len(left), np.int64)
        counts[valid.to_numpy(zero_copy_only=False)] = totals[ends] - totals[ends - lengths]
        return counts

    return _bits_of(pairs[0]), _bits_of(pairs[1]), count


def _either_null(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.or_(left.is_null(), right.is_null()).to_numpy(zero_copy_only=False)
    return mask


@scalar(
    "hamming_distance(bits, bits)",
    "at how many places bits of one length differ: hamming_distance('0101'::BIT, '0011') -> 2",
    bind=partial(_bind_compared, BIGINT),
    can_fail=True,
)
@of_columns
def _hamming(call: Call, left: pa.Array, right: pa.Array) -> pa.Array:
    one, other, count = _compared(call, left, right)
    return pa.array(count(one != other), mask=_either_null(left, right))


@scalar(
    "jaccard_distance(bits, bits)",
    "1 minus the share of the bits set in either that are set in both:"
    " jaccard_distance('0111'::BIT, '0011') < 0.34 -> true",
    bind=partial(_bind_compared, DOUBLE),
    can_fail=True,
)
@of_columns
def _jaccard(call: Call, left: pa.Array, right: pa.Array) -> pa.Array:
    one, other, count = _compared(call, left, right)
    either = np.maximum(count(one | other), 1)
    return pa.array(1 - count(one & other) / either, mask=_either_null(left, right))


def of_bits(function: str, operand: Expression) -> Call:
    """Return how many bits are set, or there, or how many bytes they need."""
    return Call(function, (operand,), BIGINT)
