"""What hot loops do to memory by address: 8 bytes wherever they lie, and what is read soon."""

from __future__ import annotations

from typing import Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# Its functions have no types.
_emit: Any = cgutils
_BYTE, _INT, _LONG = (ir.IntType(bits) for bits in (8, 32, 64))


def _loader(_context: Any, _address: Any) -> Any:
    """Return the 8 bytes at an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        found = builder.load(builder.inttoptr(arguments[0], _LONG.as_pointer()))
        found.align = 1
        return found

    return types.uint64(types.int64), generate


def _storer(_context: Any, _address: Any, value: Any) -> Any:
    """Put a number at an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, number = arguments
        stored = builder.store(number, builder.inttoptr(address, number.type.as_pointer()))
        stored.align = 1
        return _context.get_dummy_value()

    return types.void(types.int64, value), generate


def _fetch_early(_context: Any, _address: Any) -> Any:
    """Ask for the memory at an address; one where none is does no harm."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        signature = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
        ask = _emit.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
        # To read, kept near, data.
        builder.call(ask, [pointer, _INT(0), _INT(3), _INT(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


word_at: Any = intrinsic(_loader)
put: Any = intrinsic(_storer)
prefetch: Any = intrinsic(_fetch_early)
