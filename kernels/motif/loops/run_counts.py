"""Candidates of a run that pass a condition, counted in vector instructions.

    keys of the run       9 4 7 | 1 8 2     so many at a time; those after the run's end are
    between 4 and 8       0 1 1 | 0 1 -     compared with them, and not counted

Written in LLVM's own language, as the sums over vectors are: left to itself, LLVM makes several
loops of one, and most runs are so short that choosing among these takes longer than the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Sequence

AT_ONCE = 8
"""So many places there must be in the arrays after the end of the last run."""

_INT, _LONG = ir.IntType(32), ir.IntType(64)

# What the type checker knows as functions without types.
_emit: Any = cgutils
_long: Any = types.int64
_intrinsic: Any = intrinsic


def _spread(builder: Any, value: Any) -> Any:
    """Emit a vector all of whose numbers are a value."""
    unset = ir.Constant(ir.VectorType(value.type, AT_ONCE), ir.Undefined)
    first = builder.insert_element(unset, value, _INT(0))
    everywhere = ir.Constant(ir.VectorType(_INT, AT_ONCE), [0] * AT_ONCE)
    return builder.shuffle_vector(first, first, everywhere)


def _load(builder: Any, row: Any, place: Any) -> Any:
    """Emit the load of the numbers from a place of a row on."""
    element = row.type.pointee
    vector = ir.VectorType(element, AT_ONCE).as_pointer()
    found = builder.load(builder.bitcast(builder.gep(row, [place]), vector))
    found.align = element.width // 8
    return found


def _counted(
    builder: Any,
    row: Any,
    run: Sequence[Any],
    bounds: Sequence[Any],
    far: Any,
    taken: Sequence[Any],
) -> Any:
    """Emit how many numbers of a row's run are within bounds, those of `far` not being taken."""
    low, high = (_spread(builder, each) for each in bounds)
    vertices = [_spread(builder, each) for each in taken]
    lanes = ir.Constant(ir.VectorType(_INT, AT_ONCE), list(range(AT_ONCE)))
    found = _emit.alloca_once_value(builder, _LONG(0))
    with _emit.for_range_slice(builder, *run, _LONG(AT_ONCE), intp=_LONG) as (place, _):
        left = builder.trunc(builder.sub(run[1], place), _INT)
        passes = builder.icmp_signed("<", lanes, _spread(builder, left))
        numbers = _load(builder, row, place)
        passes = builder.and_(passes, builder.icmp_signed(">=", numbers, low))
        passes = builder.and_(passes, builder.icmp_signed("<=", numbers, high))
        ends = _load(builder, far, place) if vertices else None
        for each in vertices:
            passes = builder.and_(passes, builder.icmp_unsigned("!=", ends, each))
        count = builder.ctpop(builder.bitcast(passes, ir.IntType(AT_ONCE)))
        builder.store(builder.add(builder.load(found), builder.zext(count, _LONG)), found)
    return builder.load(found)


def _row(context: Any, builder: Any, kind: Any, array: Any, number: Any) -> Any:
    """Emit where a row of an array begins."""
    rows = context.make_array(kind)(context, builder, array)
    _, width = _emit.unpack_tuple(builder, rows.shape)
    return builder.gep(rows.data, [builder.mul(number, width)])


@_intrinsic
def count_between(_context: Any, placed: Any, key: Any, run: Any, low: Any, high: Any) -> Any:
    """Return how many keys of a run lie between two, which are of their type.

    placed: shape (keys, places). run: its first place and the one after its last.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, number, run, *bounds = arguments
        row = _row(context, builder, signature.args[0], array, number)
        return _counted(builder, row, _emit.unpack_tuple(builder, run), bounds, None, ())

    assert low == high == placed.dtype, (placed, low, high)
    return _long(placed, key, run, low, high), generate


@_intrinsic
def count_apart(
    _context: Any,
    placed: Any,
    far: Any,
    key: Any,
    run: Any,
    low: Any,
    high: Any,
    taken: Any,
) -> Any:
    """Return what `count_between` does of edges that lead to none of three vertices.

    far: by place. taken: the three, of its type.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, ends, number, run, *bounds, vertices = arguments
        row = _row(context, builder, signature.args[0], array, number)
        others = context.make_array(signature.args[1])(context, builder, ends).data
        run, taken = (_emit.unpack_tuple(builder, each) for each in (run, vertices))
        return _counted(builder, row, run, bounds, others, taken)

    assert low == high == placed.dtype, (placed, low, high)
    return _long(placed, far, key, run, low, high, taken), generate
