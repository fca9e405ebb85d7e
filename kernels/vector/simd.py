"""Sums over pairs of vectors in vector instructions, several pairs at a time, in one fixed order.

    4 rows x 4 queries:   accumulators of LANES numbers stay in registers
    rows x 1 query:       one row after the other, which memory is read fastest by
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

# numba's types do not name all of its settings.
_compiled: Any = numba.njit
_OPTIONS = {"cache": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# For functions that other compiled ones alone call: they are compiled without what Python calls.
inner: Any = _compiled(**_OPTIONS)

# Of those, such as neither make nor return arrays: they count no references, each of which takes
# 5 ns and the compiler's time.
leaf: Any = _compiled(**_OPTIONS, _nrt=False)

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


def _multiply_add(builder: Any, number: Any, vector: Any) -> Any:
    name = f"llvm.fmuladd.v{vector.count}{'f32' if number is _FLOAT else 'f64'}"
    signature = ir.FunctionType(vector, [vector] * 3)
    return _emit.get_or_insert_function(builder.module, signature, name)


def _for_kinds(builder: Any, element: Any, is_l2: Any, emit: Callable[[bool], None]) -> None:
    """Emit `emit(True)` for squares of differences, else `emit(False)` for products."""
    if element is _BYTE:
        emit(False)
        return
    with builder.if_else(is_l2) as (squares, products):
        with squares:
            emit(True)
        with products:
            emit(False)


def _element_of(rows: Any) -> Any:
    return _BYTE if rows.dtype == types.int8 else _FLOAT


def _declare_block(
    _context: Any,
    rows: Any,
    _is_l2: Any,
    _width: Any,
    _row: Any,
    _row_bytes: Any,
    _query: Any,
    _query_bytes: Any,
    _target: Any,
    _target_bytes: Any,
) -> Any:
    """Write the sums of BLOCK_ROWS rows by BLOCK_QUERIES queries: by query, then by row.

    Takes the rows for their type, the width, the addresses of the first row and the first query
    with the bytes from each to the next, and the address of the sums with those of a query's.
    """
    element = _element_of(rows)
    vector = ir.VectorType(_FLOAT, LANES)

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _, is_l2, width, row, row_bytes, query, query_bytes, target, target_bytes = arguments
        sums = [_emit.alloca_once(builder, vector) for _ in range(LANES)]
        for each in sums:
            builder.store(ir.Constant(vector, None), each)
        row_starts, queries, targets = (
            [builder.add(first, builder.mul(step, _LONG(i))) for i in range(count)]
            for first, step, count in (
                (row, row_bytes, BLOCK_ROWS),
                (query, query_bytes, BLOCK_QUERIES),
                (target, target_bytes, BLOCK_QUERIES),
            )
        )
        multiply_add = _multiply_add(builder, _FLOAT, vector)

        def emit(is_squares: bool) -> None:
            def step(place: Any, mask: Any) -> None:
                others = [_at(builder, each, place, mask, _FLOAT, vector) for each in queries]
                for i, start in enumerate(row_starts):
                    one = _at(builder, start, place, mask, element, vector)
                    for j, other in enumerate(others):
                        total = sums[j * BLOCK_ROWS + i]
                        factors = [builder.fsub(one, other)] * 2 if is_squares else [one, other]
                        added = builder.call(multiply_add, [*factors, builder.load(total)])
                        builder.store(added, total)

            _for_lanes(builder, width, LANES, step)

        _for_kinds(builder, element, is_l2, emit)
        done = _added(builder, [builder.load(each) for each in sums], LANES)
        for i, address in enumerate(targets):
            chosen = _places(range(i * BLOCK_ROWS, (i + 1) * BLOCK_ROWS))
            part = builder.shuffle_vector(done, done, chosen)
            stored = builder.store(part, builder.inttoptr(address, part.type.as_pointer()))
            stored.align = 4
        return context.get_dummy_value()

    return types.void(rows, types.boolean, *[types.int64] * 7), generate


def _declare_rows(
    _context: Any,
    rows: Any,
    _is_l2: Any,
    _width: Any,
    _row: Any,
    _row_bytes: Any,
    _count: Any,
    _query: Any,
    _target: Any,
) -> Any:
    """Write the sums of at most LANES rows by one query: one row is read after the other.

    Arguments as of `_declare_block`.
    """
    element = _element_of(rows)
    vector = ir.VectorType(_FLOAT, LANES)

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _, is_l2, width, row, row_bytes, count, query, target = arguments
        room = _emit.alloca_once(builder, ir.ArrayType(vector, LANES))
        slots = [builder.gep(room, [_INT(0), _INT(i)]) for i in range(LANES)]
        is_full = builder.icmp_signed("==", count, _LONG(LANES))
        with builder.if_then(builder.not_(is_full)):
            for each in slots:
                builder.store(ir.Constant(vector, None), each)
        multiply_add = _multiply_add(builder, _FLOAT, vector)
        total = _emit.alloca_once(builder, vector)

        def emit(is_squares: bool) -> None:
            with cgutils.for_range(builder, count, intp=_LONG) as loop:
                start = builder.add(row, builder.mul(row_bytes, loop.index))
                builder.store(ir.Constant(vector, None), total)

                def step(place: Any, mask: Any) -> None:
                    other = _at(builder, query, place, mask, _FLOAT, vector)
                    one = _at(builder, start, place, mask, element, vector)
                    factors = [builder.fsub(one, other)] * 2 if is_squares else [one, other]
                    added = builder.call(multiply_add, [*factors, builder.load(total)])
                    builder.store(added, total)

                _for_lanes(builder, width, LANES, step)
                place = builder.gep(room, [_INT(0), builder.trunc(loop.index, _INT)])
                builder.store(builder.load(total), place)

        _for_kinds(builder, element, is_l2, emit)
        done = _added(builder, [builder.load(each) for each in slots], LANES)
        pointer = builder.inttoptr(target, vector.as_pointer())
        with builder.if_else(is_full) as (full, partial):
            with full:
                builder.store(done, pointer).align = 4
            with partial:
                mask = _below(builder, count, LANES)
                signature = ir.FunctionType(ir.VoidType(), [vector, pointer.type, _INT, mask.type])
                name = f"llvm.masked.store.v{LANES}f32.p0"
                store = _emit.get_or_insert_function(builder.module, signature, name)
                builder.call(store, [done, pointer, _INT(4), mask])
        return context.get_dummy_value()

    return types.void(rows, types.boolean, *[types.int64] * 6), generate


def _one_pair(number: Any) -> Any:
    """Make a function that returns the sum of one row by one query, both of float32.

    It takes whether squares are added up, the width and both addresses. number: what is added up.
    """
    # As many bits a vector, whatever the numbers are.
    lanes = LANES if number is _FLOAT else LANES // 2
    vector = ir.VectorType(number, lanes)

    def declare(_context: Any, _is_l2: Any, _width: Any, _row: Any, _query: Any) -> Any:
        def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            is_l2, width, row, query = arguments
            multiply_add = _multiply_add(builder, number, vector)
            total = _emit.alloca_once(builder, vector)
            builder.store(ir.Constant(vector, None), total)

            def emit(is_squares: bool) -> None:
                def step(place: Any, mask: Any) -> None:
                    one, other = (
                        _at(builder, start, place, mask, _FLOAT, vector) for start in (row, query)
                    )
                    factors = [builder.fsub(one, other)] * 2 if is_squares else [one, other]
                    added = builder.call(multiply_add, [*factors, builder.load(total)])
                    builder.store(added, total)

                _for_lanes(builder, width, lanes, step)

            _for_kinds(builder, _FLOAT, is_l2, emit)
            return builder.extract_element(_added(builder, [builder.load(total)], lanes), _INT(0))

        result = types.float32 if number is _FLOAT else types.float64
        return result(types.boolean, *[types.int64] * 3), generate

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

_sum_block: Any = intrinsic(_declare_block)
_sum_rows: Any = intrinsic(_declare_rows)
_sum_pair = _one_pair(_FLOAT)
_sum_exactly = _one_pair(_DOUBLE)


@leaf
def exact_sum(is_l2: bool, one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the products, or the squared differences, of two vectors, added up in float64."""
    return float(_sum_exactly(is_l2, len(one), one.ctypes.data, other.ctypes.data))


@leaf
def sum_of(is_l2: bool, one: NDArray[np.float32], other: NDArray[np.float32]) -> Any:
    """Return what `add_up` writes for two vectors."""
    return _sum_pair(is_l2, len(one), one.ctypes.data, other.ctypes.data)


@numba.njit(cache=True, nogil=True)
def add_up(is_l2: bool, rows: Any, queries: NDArray[np.float32], sums: NDArray[np.float32]) -> None:
    """Write the products, or the squared differences, of each query with each row.

    rows (n, d): float32, or int8, of which there are products alone. queries (q, d).
    sums (q, n or more). All arrays are C-contiguous.
    """
    count, width = rows.shape
    row_bytes, query_bytes, step = rows.strides[0], queries.strides[0], sums.strides[0]
    row, query, target = rows.ctypes.data, queries.ctypes.data, sums.ctypes.data
    together = len(queries) - len(queries) % BLOCK_QUERIES
    in_blocks = count - count % BLOCK_ROWS if together else 0
    for i in range(0, in_blocks, BLOCK_ROWS):
        for j in range(0, together, BLOCK_QUERIES):
            one, other = row + i * row_bytes, query + j * query_bytes
            into = target + j * step + i * 4
            _sum_block(rows, is_l2, width, one, row_bytes, other, query_bytes, into, step)
    for j in range(len(queries)):
        other = query + j * query_bytes
        for i in range(in_blocks if j < together else 0, count, LANES):
            one, some = row + i * row_bytes, min(LANES, count - i)
            _sum_rows(rows, is_l2, width, one, row_bytes, some, other, target + j * step + i * 4)
