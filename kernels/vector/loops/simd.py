"""Sums over pairs of vectors in vector instructions, several pairs at a time, in one fixed order.

    4 rows x 4 queries, 4 x 1 or 1 x 1:  accumulators of LANES numbers stay in registers
    accumulators  ->  lanes are added by pairs, log2(LANES) times  ->  one sum a pair

Written in LLVM's own language, whose vectors every processor has in its way: left to itself, LLVM
makes one sum at a time. A pair's sum does not depend on what is computed beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from raydb.kernels.jit import compiled, has_feature, leaf, not_inlined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray


# Half as many accumulators fit into the 16 registers of processors without AVX-512.
LANES = 16 if has_feature("avx512f") else 8
BLOCK_ROWS = 4
BLOCK_QUERIES = LANES // BLOCK_ROWS

# What is added up over a pair: products, squared or absolute differences of numbers, or the bits
# in which numbers differ.
PRODUCTS, SQUARES, DIFFERENCES, BITS = KINDS = range(4)

# Scores of a query are compared so many at a time.
PADDED = 16

# What the type checker knows as functions without types.
_emit: Any = cgutils
_unituple: Any = types.UniTuple

_two_longs = _unituple(types.int64, 2)

_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_BIT, _BYTE, _INT, _LONG = (ir.IntType(bits) for bits in (1, 8, 32, 64))

# How LLVM's names of functions call the numbers of a vector.
_SHORT = {_FLOAT: "f32", _DOUBLE: "f64", _INT: "i32"}


def _places(numbers: Iterable[int]) -> Any:
    listed = list(numbers)
    return ir.Constant(ir.VectorType(_INT, len(listed)), listed)


def _load(builder: Any, address: Any, mask: Any, element: Any, vector: Any) -> Any:
    """Emit the load of elements as the numbers of a vector, of those in a mask if there is one."""
    loaded = ir.VectorType(element, vector.count)
    pointer = builder.inttoptr(address, loaded.as_pointer())
    size = 1 if element is _BYTE else 4
    if mask is None:
        found = builder.load(pointer)
        found.align = size
    else:
        kind = f"i{element.width}" if element in (_BYTE, _INT) else "f32"
        signature = ir.FunctionType(loaded, [pointer.type, _INT, mask.type, loaded])
        name = f"llvm.masked.load.v{vector.count}{kind}.p0"
        load = _emit.get_or_insert_function(builder.module, signature, name)
        found = builder.call(load, [pointer, _INT(size), mask, ir.Constant(loaded, None)])
    if element is _BYTE:
        return builder.sitofp(builder.sext(found, ir.VectorType(_INT, vector.count)), vector)
    if element is _INT or vector.element is _FLOAT:
        return found
    return builder.fpext(found, vector)


def _at(builder: Any, start: Any, place: Any, mask: Any, element: Any, vector: Any) -> Any:
    """Emit the load of the elements from a place of a row on."""
    address = builder.add(start, builder.mul(place, _LONG(1 if element is _BYTE else 4)))
    return _load(builder, address, mask, element, vector)


def _below(builder: Any, count: Any, lanes: int) -> Any:
    """Emit which of the lanes are among the first `count`."""
    unset = ir.Constant(ir.VectorType(_INT, lanes), ir.Undefined)
    first = builder.insert_element(unset, builder.trunc(count, _INT), _INT(0))
    every = builder.shuffle_vector(first, first, _places([0] * lanes))
    return builder.icmp_signed("<", _places(range(lanes)), every)


def _for_lanes(builder: Any, width: Any, lanes: int, step: Callable[[Any, Any], None]) -> None:
    """Emit `step(place, mask)` for each `lanes` elements of `width`, and for the rest of them."""
    full = builder.and_(width, _LONG(-lanes))
    steps = cgutils.for_range_slice(builder, _LONG(0), full, _LONG(lanes), intp=_LONG)
    with steps as (place, _):
        step(place, None)
    rest = builder.sub(width, full)
    with builder.if_then(builder.icmp_unsigned("!=", rest, _LONG(0))):
        step(full, _below(builder, rest, lanes))


def _added(builder: Any, sums: list[Any], lanes: int) -> Any:
    """Emit the sums of the lanes of vectors, at most as many as there are lanes, in their order."""
    for _ in range(lanes.bit_length() - 1):
        pairs = [(sums[i], sums[min(i + 1, len(sums) - 1)]) for i in range(0, len(sums), 2)]
        even, odd = (_places(range(start, 2 * lanes, 2)) for start in (0, 1))
        sums = [
            builder.fadd(builder.shuffle_vector(*pair, even), builder.shuffle_vector(*pair, odd))
            for pair in pairs
        ]
    return sums[0]


def _for_kinds(builder: Any, element: Any, kind: Any, emit: Callable[[int], None]) -> None:
    """Emit `emit(kind)` for the emitted kind; of bytes there are products alone."""
    if element is _BYTE:
        emit(PRODUCTS)
        return
    for each in KINDS:
        with builder.if_then(builder.icmp_signed("==", kind, _LONG(each))):
            emit(each)


def _called(builder: Any, name: str, vector: Any, *arguments: Any) -> Any:
    """Emit a call of one of LLVM's functions of vectors of one type."""
    signature = ir.FunctionType(vector, [vector] * len(arguments))
    full_name = f"llvm.{name}.v{vector.count}{_SHORT[vector.element]}"
    function = _emit.get_or_insert_function(builder.module, signature, full_name)
    return builder.call(function, arguments)


def _with_term(builder: Any, kind: int, vector: Any, one: Any, other: Any, total: Any) -> Any:
    """Emit a total to which the terms of some numbers of a row and a query are added."""
    match kind:
        case 0:
            return _called(builder, "fmuladd", vector, one, other, total)
        case 1:
            away = builder.fsub(one, other)
            return _called(builder, "fmuladd", vector, away, away, total)
        case 2:
            away = _called(builder, "fabs", vector, builder.fsub(one, other))
        case _:
            words = ir.VectorType(_INT, vector.count)
            counts = _called(builder, "ctpop", words, builder.xor(one, other))
            away = builder.uitofp(counts, vector)
    return builder.fadd(total, away)


def _emit_sums(
    builder: Any,
    element: Any,
    vector: Any,
    kind: Any,
    width: Any,
    rows: list[Any],
    queries: list[Any],
) -> list[Any]:
    """Emit the sums of each query with each row, by their addresses, in the lanes of a vector each.

    What is added up the emitted `kind` says; sums are by query, then by row.
    """
    sums = [_emit.alloca_once(builder, vector) for _ in range(len(rows) * len(queries))]
    for each in sums:
        builder.store(ir.Constant(vector, None), each)

    def add(row_numbers: range, added: int) -> None:
        of_rows, of_queries = (_INT, _INT) if added == BITS else (element, _FLOAT)

        def step(place: Any, mask: Any) -> None:
            others = [_at(builder, each, place, mask, of_queries, vector) for each in queries]
            for i in row_numbers:
                one = _at(builder, rows[i], place, mask, of_rows, vector)
                for j, other in enumerate(others):
                    total = sums[j * len(rows) + i]
                    before = builder.load(total)
                    builder.store(_with_term(builder, added, vector, one, other, before), total)

        _for_lanes(builder, width, vector.count, step)

    def emit(added: int) -> None:
        # For one query memory is what takes time, which is read fastest row after row.
        together = 1 if len(queries) == 1 else len(rows)
        for first in range(0, len(rows), together):
            add(range(first, first + together), added)

    _for_kinds(builder, element, kind, emit)
    return [builder.load(each) for each in sums]


def _tile(row_count: int, query_count: int) -> Any:
    """Make a function that writes the sums of some rows by some queries: by query, then by row.

    It takes the rows for their type, the width, the addresses of the first row and the first query
    with the bytes from each to the next, and the address of the sums with those of a query's.
    """

    def declare(
        _context: Any, rows: Any, _kind: Any, _width: Any, _row: Any, _query: Any, _target: Any
    ) -> Any:
        element = _BYTE if rows.dtype == types.int8 else _FLOAT
        vector = ir.VectorType(_FLOAT, LANES)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            _, kind, width, *pairs = arguments
            row_starts, queries, targets = (
                [builder.add(first, builder.mul(step, _LONG(i))) for i in range(count)]
                for (first, step), count in zip(
                    ((builder.extract_value(pair, i) for i in range(2)) for pair in pairs),
                    (row_count, query_count, query_count),
                    strict=True,
                )
            )
            sums = _emit_sums(builder, element, vector, kind, width, row_starts, queries)
            done = _added(builder, sums, LANES)
            for i, address in enumerate(targets):
                chosen = _places(range(i * row_count, (i + 1) * row_count))
                part = builder.shuffle_vector(done, done, chosen)
                stored = builder.store(part, builder.inttoptr(address, part.type.as_pointer()))
                stored.align = 4
            return context.get_dummy_value()

        return types.void(rows, types.int64, types.int64, *[_two_longs] * 3), generate

    return intrinsic(declare)


def _pair(number: Any) -> Any:
    """Make a function that returns the sum of one row by one query, both of float32.

    It takes the kind, the width and both addresses. number: what is added up.
    """
    # As many bits a vector, whatever the numbers are.
    lanes = LANES if number is _FLOAT else LANES // 2
    vector = ir.VectorType(number, lanes)

    def declare(_context: Any, _kind: Any, _width: Any, _row: Any, _query: Any) -> Any:
        def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind, width, row, query = arguments
            sums = _emit_sums(builder, _FLOAT, vector, kind, width, [row], [query])
            return builder.extract_element(_added(builder, sums, lanes), _INT(0))

        result = types.float32 if number is _FLOAT else types.float64
        return result(*[types.int64] * 4), generate

    return intrinsic(declare)


def _make_mask(_context: Any, _address: Any, _bound: Any) -> Any:
    """Tell which of PADDED floats are at most a bound, as bits; NaN never is."""

    def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, bound = arguments
        vector = ir.VectorType(_FLOAT, PADDED)
        found = builder.load(builder.inttoptr(address, vector.as_pointer()))
        found.align = 4
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), bound, _INT(0))
        every = builder.shuffle_vector(first, first, _places([0] * PADDED))
        mask = builder.fcmp_ordered("<=", found, every)
        return builder.zext(builder.bitcast(mask, ir.IntType(PADDED)), _LONG)

    return types.uint64(types.int64, types.float32), generate


def _count_zeros(_context: Any, _bits: Any) -> Any:
    """Count the zeros below the lowest bit that is set."""

    def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.uint64), generate


at_most: Any = intrinsic(_make_mask)
trailing_zeros: Any = intrinsic(_count_zeros)

_sum_block = _tile(BLOCK_ROWS, BLOCK_QUERIES)
_sum_rows = _tile(BLOCK_ROWS, 1)
_sum_row = _tile(1, 1)
_sum_pair, _sum_exactly = _pair(_FLOAT), _pair(_DOUBLE)


@leaf
def exact_sum(kind: int, one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return what the kind says of two vectors, added up in float64."""
    return float(_sum_exactly(kind, len(one), one.ctypes.data, other.ctypes.data))


@leaf
def sum_of(kind: int, one: NDArray[np.float32], other: NDArray[np.float32]) -> Any:
    """Return what `add_up` writes for two vectors."""
    return _sum_pair(kind, len(one), one.ctypes.data, other.ctypes.data)


@compiled
def add_up(kind: int, rows: Any, queries: NDArray[np.float32], sums: NDArray[np.float32]) -> None:
    """Write the sum of each query with each row: of products, or as the kind says.

    rows (n, d): float32, or int8, of which there are products alone. queries (q, d).
    sums (q, n or more). All arrays are C-contiguous.
    """
    not_inlined()
    count, width = rows.shape
    row_bytes, query_bytes, step = rows.strides[0], queries.strides[0], sums.strides[0]
    row, query, target = rows.ctypes.data, queries.ctypes.data, sums.ctypes.data
    in_blocks = len(queries) - len(queries) % BLOCK_QUERIES
    for i in range(0, count, BLOCK_ROWS):
        one, some = (row + i * row_bytes, row_bytes), min(BLOCK_ROWS, count - i)
        for j in range(0, in_blocks if some == BLOCK_ROWS else 0, BLOCK_QUERIES):
            other, into = query + j * query_bytes, target + j * step + i * 4
            _sum_block(rows, kind, width, one, (other, query_bytes), (into, step))
        for j in range(in_blocks if some == BLOCK_ROWS else 0, len(queries)):
            other, into = query + j * query_bytes, target + j * step + i * 4
            if some == BLOCK_ROWS:
                _sum_rows(rows, kind, width, one, (other, 0), (into, 0))
            else:
                for k in range(some):
                    each = row + (i + k) * row_bytes, 0
                    _sum_row(rows, kind, width, each, (other, 0), (into + 4 * k, 0))
