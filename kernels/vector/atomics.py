"""Arrays by their addresses, and words that two threads write: intrinsics for compiled loops.

An address is an int64, so that a table of them describes an index: a call then hands over one array
where it would hand over a dozen, and machine code is the same for arrays that may be written and
those that may not. Whoever makes a table keeps its arrays.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

_LONG = ir.IntType(64)
_IS_X86 = binding.get_default_triple().startswith(("x86_64", "i686", "amd64"))


def _declare_pointer(_context: Any, _address: Any) -> Any:
    """Return an address as a pointer, of which `numba.carray` makes an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(signature.return_type)
        return builder.inttoptr(arguments[0], pointer)

    return types.voidptr(types.int64), generate


def _word(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _LONG.as_pointer())


def _declare_load(_context: Any, _address: Any) -> Any:
    """Return a word, and see what was written before it was."""

    def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_word(builder, arguments[0]), "acquire", 8)

    return types.int64(types.int64), generate


def _declare_store(_context: Any, _address: Any, _value: Any) -> Any:
    """Write a word: who sees it sees what was written before."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, value = arguments
        builder.store_atomic(value, _word(builder, address), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _declare_swap(_context: Any, _address: Any, _expected: Any, _value: Any) -> Any:
    """Write a word where it is as expected; tell whether it was."""

    def generate(_: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, expected, value = arguments
        pointer = _word(builder, address)
        found = builder.cmpxchg(pointer, expected, value, "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate


def _declare_pause(_context: Any) -> Any:
    """Let the processor know that a loop waits for a word."""

    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if _IS_X86:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()

    return types.void(), generate


# numba does not say that it exports it.
carray: Any = numba.carray  # type: ignore[attr-defined]
pointer_at: Any = intrinsic(_declare_pointer)
load_word: Any = intrinsic(_declare_load)
store_word: Any = intrinsic(_declare_store)
swap_word: Any = intrinsic(_declare_swap)
pause: Any = intrinsic(_declare_pause)
