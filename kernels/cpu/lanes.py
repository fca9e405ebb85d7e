"""Sums over pairs of vectors in vector instructions, several pairs at a time, in one fixed order.

    4 rows x 4 queries, or 16 rows x 1 query:   accumulators of LANES numbers stay in registers
    accumulators  ->  lanes are added by pairs, log2(LANES) times  ->  one sum a pair

Written in LLVM's own language, whose vectors every processor has in its way: left to itself, LLVM
makes one sum at a time. A pair's sum does not depend on what is computed beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils, config, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray


def _has_avx512() -> bool:
    """Tell whether numba compiles for AVX-512; its cache keeps loops by the same features."""
    # numba makes its settings while it is imported; its types do not name them.
    chosen = getattr(config, "CPU_FEATURES")  # noqa: B009
    if chosen is not None:
        return "+avx512f" in chosen.split(",")
    return bool(binding.get_host_cpu_features().get("avx512f"))


# Half as many accumulators fit into the 16 registers of processors without AVX-512.
LANES = 16 if _has_avx512() else 8
BLOCK_ROWS = 4
BLOCK_QUERIES = LANES // BLOCK_ROWS

# Scores of a query are compared so many at a time.
PADDED = 16

# What is summed up: products, squares of differences, products with rows of bytes.
PRODUCTS, SQUARES, BYTE_PRODUCTS = 0, 1, 2

# What the type checker knows as functions without types.
_emit: Any = cgutils

_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_BIT, _BYTE, _INT, _LONG = (ir.IntType(bits) for bits in (1, 8, 32, 64))


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
        kind = "i8" if element is _BYTE else "f32"
        signature = ir.FunctionType(loaded, [pointer.type, _INT, mask.type, loaded])
        name = f"llvm.masked.load.v{vector.count}{kind}.p0"
        load = _emit.get_or_insert_function(builder.module, signature, name)
        found = builder.call(load, [pointer, _INT(size), mask, ir.Constant(loaded, None)])
    if element is _BYTE:
        return builder.sitofp(builder.sext(found, ir.VectorType(_INT, vector.count)), vector)
    return found if vector.element is _FLOAT else builder.fpext(found, vector)


def _for_lanes(builder: Any, width: Any, lanes: int, step: Callable[[Any, Any], None]) -> None:
    """Emit `step(place, mask)` for each `lanes` elements of `width`, and for the rest of them."""
    full = builder.and_(width, _LONG(-lanes))
    steps = cgutils.for_range_slice(builder, _LONG(0), full, _LONG(lanes), intp=_LONG)
    with steps as (place, _):
        step(place, None)
    rest = builder.sub(width, full)
    with builder.if_then(builder.icmp_unsigned("!=", rest, _LONG(0))):
        unset = ir.Constant(ir.VectorType(_INT, lanes), ir.Undefined)
        first = builder.insert_element(unset, builder.trunc(rest, _INT), _INT(0))
        every = builder.shuffle_vector(first, first, _places([0] * lanes))
        step(full, builder.icmp_signed("<", _places(range(lanes)), every))


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


def _block(row_count: int, query_count: int, element: Any, number: Any, is_l2: bool) -> Any:
    """Make a function that writes the sums of some rows by some queries: by query, then by row.

    It takes the width, the addresses of the first row and the first query with the bytes from each
    to the next, and the address of the sums with the bytes from one query's to the next's. Rows
    are of `element`, queries of float32, sums of `number`: of squared differences, or of products.
    """
    # As many bits a vector, whatever the numbers are.
    lanes = LANES if number is _FLOAT else LANES // 2
    vector = ir.VectorType(number, lanes)
    assert row_count * query_count <= lanes

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        width, row, row_bytes, query, query_bytes, target, target_bytes = arguments
        sums = [_emit.alloca_once(builder, vector) for _ in range(row_count * query_count)]
        for each in sums:
            builder.store(ir.Constant(vector, None), each)
        rows, queries, targets = (
            [builder.add(first, builder.mul(step, _LONG(i))) for i in range(count)]
            for first, step, count in (
                (row, row_bytes, row_count),
                (query, query_bytes, query_count),
                (target, target_bytes, query_count),
            )
        )
        name = f"llvm.fmuladd.v{lanes}{'f32' if number is _FLOAT else 'f64'}"
        signature = ir.FunctionType(vector, [vector] * 3)
        multiply_add = _emit.get_or_insert_function(builder.module, signature, name)

        def load(start: Any, place: Any, mask: Any, kind: Any) -> Any:
            size = _LONG(1 if kind is _BYTE else 4)
            address = builder.add(start, builder.mul(place, size))
            return _load(builder, address, mask, kind, vector)

        def step(place: Any, mask: Any) -> None:
            others = [load(start, place, mask, _FLOAT) for start in queries]
            for i, start in enumerate(rows):
                one = load(start, place, mask, element)
                for j, other in enumerate(others):
                    total = sums[j * row_count + i]
                    factors = [builder.fsub(one, other)] * 2 if is_l2 else [one, other]
                    added = builder.call(multiply_add, [*factors, builder.load(total)])
                    builder.store(added, total)

        _for_lanes(builder, width, lanes, step)
        done = _added(builder, [builder.load(each) for each in sums], lanes)
        for i, address in enumerate(targets):
            chosen = _places(range(i * row_count, (i + 1) * row_count))
            part = builder.shuffle_vector(done, done, chosen)
            stored = builder.store(part, builder.inttoptr(address, part.type.as_pointer()))
            stored.align = 4
        return context.get_dummy_value()

    # numba counts the arguments.
    def declare(
        _context: Any,
        _width: Any,
        _row: Any,
        _row_bytes: Any,
        _query: Any,
        _query_bytes: Any,
        _target: Any,
        _target_bytes: Any,
    ) -> Any:
        return types.void(*[types.int64] * 7), generate

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

_squares_block = _block(BLOCK_ROWS, BLOCK_QUERIES, _FLOAT, _FLOAT, is_l2=True)
_squares_rows = _block(LANES, 1, _FLOAT, _FLOAT, is_l2=True)
_squares_row = _block(1, 1, _FLOAT, _FLOAT, is_l2=True)
_products_block = _block(BLOCK_ROWS, BLOCK_QUERIES, _FLOAT, _FLOAT, is_l2=False)
_products_rows = _block(LANES, 1, _FLOAT, _FLOAT, is_l2=False)
_products_row = _block(1, 1, _FLOAT, _FLOAT, is_l2=False)
_bytes_block = _block(BLOCK_ROWS, BLOCK_QUERIES, _BYTE, _FLOAT, is_l2=False)
_bytes_rows = _block(LANES, 1, _BYTE, _FLOAT, is_l2=False)
_bytes_row = _block(1, 1, _BYTE, _FLOAT, is_l2=False)
_exact_squares = _block(1, 1, _FLOAT, _DOUBLE, is_l2=True)
_exact_products = _block(1, 1, _FLOAT, _DOUBLE, is_l2=False)


@numba.njit(cache=True, nogil=True)
def exact_sum(
    kind: int, one: NDArray[np.float32], other: NDArray[np.float32], room: NDArray[np.float64]
) -> float:
    """Return the products (or SQUARES) of two vectors, added up in float64. room: of one number."""
    row, query, target = one.ctypes.data, other.ctypes.data, room.ctypes.data
    if kind == SQUARES:
        _exact_squares(len(one), row, 0, query, 0, target, 0)
    else:
        _exact_products(len(one), row, 0, query, 0, target, 0)
    return float(room[0])


@numba.njit(cache=True, nogil=True)
def _add_block(
    kind: int, width: int, row: int, row_bytes: int, query: int, target: int, step: int
) -> None:
    if kind == SQUARES:
        _squares_block(width, row, row_bytes, query, 4 * width, target, step)
    elif kind == PRODUCTS:
        _products_block(width, row, row_bytes, query, 4 * width, target, step)
    else:
        _bytes_block(width, row, row_bytes, query, 4 * width, target, step)


@numba.njit(cache=True, nogil=True)
def _add_rows(kind: int, width: int, row: int, row_bytes: int, query: int, target: int) -> None:
    if kind == SQUARES:
        _squares_rows(width, row, row_bytes, query, 0, target, 0)
    elif kind == PRODUCTS:
        _products_rows(width, row, row_bytes, query, 0, target, 0)
    else:
        _bytes_rows(width, row, row_bytes, query, 0, target, 0)


@numba.njit(cache=True, nogil=True)
def _add_row(kind: int, width: int, row: int, query: int, target: int) -> None:
    if kind == SQUARES:
        _squares_row(width, row, 0, query, 0, target, 0)
    elif kind == PRODUCTS:
        _products_row(width, row, 0, query, 0, target, 0)
    else:
        _bytes_row(width, row, 0, query, 0, target, 0)


@numba.njit(cache=True, nogil=True)
def add_up(kind: int, rows: Any, queries: NDArray[np.float32], sums: NDArray[np.float32]) -> None:
    """Write what `kind` says of each query with each row.

    rows (n, d): float32, or int8 for BYTE_PRODUCTS. queries (q, d). sums (q, n or more).
    All arrays are C-contiguous.
    """
    count, width = rows.shape
    row_bytes, step = rows.strides[0], sums.strides[0]
    row, query, target = rows.ctypes.data, queries.ctypes.data, sums.ctypes.data
    in_blocks = count - count % BLOCK_ROWS
    together = len(queries) - len(queries) % BLOCK_QUERIES
    for i in range(0, in_blocks, BLOCK_ROWS):
        for j in range(0, together, BLOCK_QUERIES):
            one, other = row + i * row_bytes, query + j * 4 * width
            _add_block(kind, width, one, row_bytes, other, target + j * step + i * 4, step)
    for j in range(len(queries)):
        other = query + j * 4 * width
        done = in_blocks
        if j >= together:
            done = count - count % LANES
            for i in range(0, done, LANES):
                one = row + i * row_bytes
                _add_rows(kind, width, one, row_bytes, other, target + j * step + i * 4)
        for i in range(done, count):
            _add_row(kind, width, row + i * row_bytes, other, target + j * step + i * 4)
