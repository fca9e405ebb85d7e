"""Compiles the kernels' texts with numba-cuda, or runs them in numba's CUDA simulator.

The simulator (NUMBA_ENABLE_CUDASIM=1 before numba is imported) runs each thread as Python code.
"""

from __future__ import annotations

import linecache
from functools import cache
from typing import Any

import numpy as np
from numba import config, types
from numba import cuda as numba_cuda

from raydb.kernels.cuda.source import Shape, kernel_source

SIMULATED = bool(vars(config)["ENABLE_CUDASIM"])

# It has its names where a device or the simulator is.
cuda: Any = numba_cuda

# What kernels call their types by.
INT32, INT64, FLOAT64 = types.int32, types.int64, types.float64
int32: Any = int if SIMULATED else types.int32
int64: Any = int if SIMULATED else types.int64
float32: Any = np.float32 if SIMULATED else types.float32

NONE = -1
GREATEST = np.iinfo(np.int64).max
# The bits of the positive infinity: those of a NaN, the sign left out, are greater.
INFINITY = 0x7FF0000000000000


def _find_run(bounds: Any, unit: Any) -> Any:
    """Return the last run that begins at or before a unit."""
    low = 0
    high = len(bounds) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if bounds[middle] <= unit:
            low = middle
        else:
            high = middle
    return low


def _wrapped(code: Any, count: Any) -> Any:
    """Return the code that -1 stands for: the last one."""
    return code + count if code < 0 else code


def _ordered(bits: Any) -> Any:
    """Return a float's bits as an integer of the same order, every NaN as the greatest."""
    if (bits & GREATEST) > INFINITY:
        return GREATEST - 1
    return bits ^ GREATEST if bits < 0 else bits


if SIMULATED:

    def load_four(array: Any, base: Any) -> Any:
        """Return four neighbouring values, the integers among them as Python's; 0 for no row."""
        count = len(array)
        return tuple(array[base + lane].item() if base + lane < count else 0 for lane in range(4))

    def ordered(value: float) -> int:
        """Return a float as an integer of the same order."""
        return int(_ordered(int(np.float64(value).view(np.int64))))

    find_run, wrapped = _find_run, _wrapped
else:
    from llvmlite import ir
    from numba.cuda import dispatcher
    from numba.cuda.extending import intrinsic

    # A job on few rows is a small grid, and no reason to warn its user.
    vars(dispatcher)["config"].CUDA_LOW_OCCUPANCY_WARNINGS = 0

    @intrinsic
    def load_four(typing_context: Any, array: Any, base: Any) -> Any:
        """Return four neighbouring values with one load of 4 to 32 bytes; base is 4 * k."""
        del typing_context
        signature = types.UniTuple(array.dtype, 4)(array, base)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array_type = signature.args[0]
            data = context.make_array(array_type)(context, builder, arguments[0]).data
            element = context.get_data_type(array_type.dtype)
            vector = ir.VectorType(element, 4)
            place = builder.gep(data, [arguments[1]])
            width = 4 * context.get_abi_sizeof(element)
            pointer = builder.bitcast(place, vector.as_pointer())
            # Columns begin at multiples of 256 bytes.
            loaded = builder.load(pointer, align=min(width, 16))
            lanes = [
                builder.extract_element(loaded, ir.Constant(ir.IntType(32), lane))
                for lane in range(4)
            ]
            return context.make_tuple(builder, signature.return_type, lanes)

        return signature, generate

    @intrinsic
    def float_bits(typing_context: Any, value: Any) -> Any:
        """Return the bits of a float64 as int64."""
        del typing_context

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            del context, signature
            return builder.bitcast(arguments[0], ir.IntType(64))

        return types.int64(value), generate

    find_run = cuda.jit(device=True)(_find_run)
    wrapped = cuda.jit(device=True)(_wrapped)
    ordered_bits = cuda.jit(device=True)(_ordered)

    @cuda.jit(device=True)
    def ordered(value: Any) -> Any:
        """Return a float as an integer of the same order."""
        return ordered_bits(float_bits(value))  # type: ignore[call-arg]


def kernel_function(shape: Shape) -> Any:
    """Return a shape's kernel as a plain Python function."""
    text = kernel_source(shape)
    name = f"<raydb kernel {shape}>"
    # So that a debugger, and an error in the simulator, shows the lines.
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = {
        "cuda": cuda,
        "find_run": find_run,
        "wrapped": wrapped,
        "ordered": ordered,
        "load_four": load_four,
        "int32": int32,
        "int64": int64,
        "INT32": INT32,
        "INT64": INT64,
        "FLOAT64": FLOAT64,
        "NONE": NONE,
    }
    exec(compile(text, name, "exec"), names)  # noqa: S102  (the text is our own)
    return names["fused"]


@cache
def kernel(shape: Shape) -> Any:
    """Return a shape's kernel, compiled when it is first launched on a device."""
    return cuda.jit(kernel_function(shape))
