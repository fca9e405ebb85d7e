"""Vectors of 16 bytes: packed integers are spread to lanes, and the values of runs to rows.

    4 integers of 12 bits       aa ba bb cc dc dd ..                    6 bytes
    shuffled to 4 lanes         aa ba .. ..  ba bb .. ..  cc dc .. ..   the bytes that each is in
    shifted by 0 or 4, masked   aaa          bbb          ccc

One shuffle by places that are looked up serves all widths, where loops would have to be compiled
for each. Written in LLVM's own language, which makes no shuffle of a loop.
"""

from __future__ import annotations

import platform
from functools import partial
from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from raydb.kernels.jit import has_feature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

# More bits may lie in five bytes, and take lanes of 64 bits.
LONGEST_IN_FOUR = 25
# A value of more bits may lie in nine bytes.
_LONGEST_IN_EIGHT = 57
_VECTOR_BYTES = 16
# Rows that are spread at once, fewer where their values take more than a vector.
_SPREAD_ROWS = 4
_SIZES = (1, 2, 4, 8)

# What the type checker knows as functions without types.
_emit: Any = cgutils

_BYTE, _INT, _LONG = (ir.IntType(bits) for bits in (8, 32, 64))
_VECTOR = ir.VectorType(_BYTE, _VECTOR_BYTES)


def shuffle_name() -> str | None:
    """Return LLVM's name of the processor's shuffle by places that are no constants."""
    if platform.machine().lower() in {"aarch64", "arm64"}:
        return "llvm.aarch64.neon.tbl1.v16i8"
    return "llvm.x86.ssse3.pshuf.b.128" if has_feature("ssse3") else None


_SHUFFLE = shuffle_name()


def _shuffled(builder: Any, data: Any, places: Any) -> Any:
    """Emit the bytes at some places, each 0 to 15, of a vector."""
    if _SHUFFLE is not None:
        signature = ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR])
        shuffle = _emit.get_or_insert_function(builder.module, signature, _SHUFFLE)
        return builder.call(shuffle, [data, places])
    found = ir.Constant(_VECTOR, ir.Undefined)
    for number in map(_INT, range(_VECTOR_BYTES)):
        byte = builder.extract_element(data, builder.extract_element(places, number))
        found = builder.insert_element(found, byte, number)
    return found


def _table(builder: Any, name: str, values: NDArray[np.uint8]) -> Any:
    """Emit the address of a table that is part of the code."""
    constant = _emit.make_bytearray(values.tobytes())
    return builder.ptrtoint(_emit.global_constant(builder.module, name, constant), _LONG)


def _load(builder: Any, address: Any, vector: Any) -> Any:
    found = builder.load(builder.inttoptr(address, vector.as_pointer()))
    found.align = 1
    return found


def _store(builder: Any, values: Any, address: Any) -> None:
    builder.store(values, builder.inttoptr(address, values.type.as_pointer())).align = 1


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    """Emit a vector of one number; of its lowest bits where it has more."""
    if value.type.width > vector.element.width:
        value = builder.trunc(value, vector.element)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _INT(0))
    zeros = ir.Constant(ir.VectorType(_INT, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, first, zeros)


def _unpacked() -> NDArray[np.uint8]:
    """Return for each width and each step of 8 integers the places of bytes, and the shifts.

    Shape (58, 4, 2, 16); widths of four integers a step have two of them.
    """
    found = np.zeros((_LONGEST_IN_EIGHT + 1, 4, 2, _VECTOR_BYTES), np.uint8)
    for bits in range(_LONGEST_IN_EIGHT + 1):
        lanes = 4 if bits <= LONGEST_IN_FOUR else 2
        size = _VECTOR_BYTES // lanes
        for step in range(8 // lanes):
            at = (step * lanes * bits & 7) + np.arange(lanes) * bits
            places, shifts = found[bits, step].reshape(2, lanes, size)
            places[:] = (at >> 3)[:, None] + np.arange(size)
            shifts[:, 0] = at & 7
    return found


def _for_sizes(builder: Any, size: Any, sizes: Iterable[int], emit: Callable[[int], None]) -> None:
    """Emit `emit(size)` for the emitted size of a value."""
    for each in sizes:
        with builder.if_then(builder.icmp_signed("==", size, _LONG(each))):
            emit(each)


def _emit_unpacking(builder: Any, lanes: int, arguments: Any, size: int) -> None:
    """Emit the loop that unpacks groups of 8 integers, so many at a time, to values of a size."""
    table, first, count, bits, added, _, to = arguments
    word = _INT if lanes == 4 else _LONG
    vector, result = (ir.VectorType(each, lanes) for each in (word, ir.IntType(8 * size)))
    table = builder.add(table, builder.mul(bits, _LONG(4 * 2 * _VECTOR_BYTES)))
    mask = _splat(builder, builder.sub(builder.shl(_LONG(1), bits), _LONG(1)), vector)
    base = _splat(builder, added, result)
    steps = []
    for step in range(8 // lanes):
        at = builder.add(table, _LONG(step * 2 * _VECTOR_BYTES))
        places = _load(builder, at, _VECTOR)
        shifts = _load(builder, builder.add(at, _LONG(_VECTOR_BYTES)), vector)
        offset = builder.lshr(builder.mul(bits, _LONG(step * lanes)), _LONG(3))
        steps.append((places, shifts, offset, _LONG(step * lanes * size)))
    with _emit.for_range(builder, count, intp=_LONG) as loop:
        start = builder.add(first, builder.mul(loop.index, bits))
        target = builder.add(to, builder.mul(loop.index, _LONG(8 * size)))
        for places, shifts, offset, place in steps:
            data = _load(builder, builder.add(start, offset), _VECTOR)
            spread = builder.bitcast(_shuffled(builder, data, places), vector)
            values = builder.and_(builder.lshr(spread, shifts), mask)
            if result.element.width < word.width:
                values = builder.trunc(values, result)
            elif result.element.width > word.width:
                values = builder.zext(values, result)
            _store(builder, builder.add(values, base), builder.add(target, place))


def _unpack_groups(
    _context: Any, _first: Any, _count: Any, _bits: Any, _added: Any, _size: Any, _to: Any
) -> Any:
    """Unpack groups of 8 integers of 1 to 57 bits.

    It takes the address of the first group, which begins with a byte, how many groups, the width,
    what is added, the bytes of a value, 1, 2, 4 or 8, and the address of the values. 16 bytes from
    the first one of any 2 integers are there, of any 4 up to LONGEST_IN_FOUR bits.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        emitted = (_table(builder, "unpacked", _unpacked()), *arguments)
        are_short = builder.icmp_signed("<=", arguments[2], _LONG(LONGEST_IN_FOUR))
        with builder.if_else(are_short) as branches:
            for branch, lanes in zip(branches, (4, 2), strict=True):
                with branch:
                    _for_sizes(
                        builder,
                        arguments[4],
                        _SIZES if lanes == 4 else _SIZES[2:],
                        partial(_emit_unpacking, builder, lanes, emitted),
                    )
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


def _store_words(_context: Any, _words: Any, _count: Any, _size: Any, _to: Any) -> Any:
    """Write the lowest 1, 2, 4 or 8 bytes of words, or 16, the second word of which is the sign.

    It takes the addresses of the words and of what is written.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        words, count, size, to = arguments

        def emit(bytes_: int) -> None:
            with _emit.for_range(builder, count, intp=_LONG) as loop:
                word = _load(builder, builder.add(words, builder.mul(loop.index, _LONG(8))), _LONG)
                target = builder.add(to, builder.mul(loop.index, _LONG(bytes_)))
                if bytes_ < 8:
                    word = builder.trunc(word, ir.IntType(8 * bytes_))
                _store(builder, word, target)
                if bytes_ > 8:
                    _store(builder, builder.ashr(word, _LONG(63)), builder.add(target, _LONG(8)))

        _for_sizes(builder, size, (*_SIZES, 16), emit)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


def _store_entries(
    _context: Any, _codes: Any, _count: Any, _size: Any, _to: Any, _entries: Any, _last: Any
) -> Any:
    """Write the entries of codes, which are words; those of greater ones than the last are its own.

    It takes the addresses of the codes, of what is written and of the entries.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        codes, count, size, to, entries, last = arguments

        def emit(bytes_: int) -> None:
            with _emit.for_range(builder, count, intp=_LONG) as loop:
                code = _load(builder, builder.add(codes, builder.mul(loop.index, _LONG(8))), _LONG)
                code = builder.select(builder.icmp_unsigned("<", code, last), code, last)
                at = builder.add(entries, builder.mul(code, _LONG(bytes_)))
                entry = _load(builder, at, ir.IntType(8 * bytes_))
                _store(builder, entry, builder.add(to, builder.mul(loop.index, _LONG(bytes_))))

        _for_sizes(builder, size, _SIZES, emit)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


def _spread() -> NDArray[np.uint8]:
    """Return for each size and the bits that begin runs the places of the bytes of rows.

    The first value is that of the first row. Shape (4, 16, 16), for 1, 2, 4 and 8 bytes.
    """
    found = np.zeros((4, 2**_SPREAD_ROWS, _VECTOR_BYTES), np.uint8)
    for size, of_size in zip(_SIZES, found, strict=True):
        for bits, places in enumerate(of_size):
            for row in range(min(_SPREAD_ROWS, _VECTOR_BYTES // size)):
                run = (bits & (2 << row) - 1).bit_count() - (bits & 1)
                some = run * size + np.arange(size)
                places[row * size : (row + 1) * size] = some & _VECTOR_BYTES - 1
    return found


def _spread_runs(_context: Any, _bits: Any, _count: Any, _size: Any, _values: Any, _to: Any) -> Any:
    """Write the values of 8 rows a byte of bits that begin runs; return how many do.

    It takes the addresses of the bytes, of the value of the row before and of what is written; 16
    bytes from each value on are there.
    """

    def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bits, count, size, values, to = arguments
        table = _table(builder, "spread", _spread())
        begun = _emit.alloca_once_value(builder, _LONG(0))

        def emit(bytes_: int) -> None:
            lanes = min(_SPREAD_ROWS, _VECTOR_BYTES // bytes_)
            kept = ir.Constant(ir.VectorType(_INT, lanes * bytes_), list(range(lanes * bytes_)))
            of_size = _LONG(_SIZES.index(bytes_) << _SPREAD_ROWS + 4)
            places = builder.add(table, of_size)
            with _emit.for_range(builder, count, intp=_LONG) as loop:
                byte = builder.zext(_load(builder, builder.add(bits, loop.index), _BYTE), _LONG)
                target = builder.add(to, builder.mul(loop.index, _LONG(8 * bytes_)))
                for first in range(0, 8, lanes):
                    some = builder.and_(builder.lshr(byte, _LONG(first)), _LONG(2**lanes - 1))
                    run = builder.load(begun)
                    start = builder.add(run, builder.and_(some, _LONG(1)))
                    at = builder.add(values, builder.mul(start, _LONG(bytes_)))
                    place = builder.add(places, builder.mul(some, _LONG(_VECTOR_BYTES)))
                    found = (_load(builder, each, _VECTOR) for each in (at, place))
                    spread = _shuffled(builder, *found)
                    spread = builder.shuffle_vector(spread, spread, kept)
                    _store(builder, spread, builder.add(target, _LONG(first * bytes_)))
                    builder.store(builder.add(run, builder.ctpop(some)), begun)

        _for_sizes(builder, size, _SIZES, emit)
        return builder.load(begun)

    return types.int64(*[types.int64] * 5), generate


unpack_groups: Any = intrinsic(_unpack_groups)
store_words: Any = intrinsic(_store_words)
store_entries: Any = intrinsic(_store_entries)
spread_runs: Any = intrinsic(_spread_runs)
