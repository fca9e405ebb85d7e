"""Compiles the kernels' texts with numba-cuda, or runs them in numba's CUDA simulator.

The simulator (NUMBA_ENABLE_CUDASIM=1 before numba is imported) runs each thread as Python code.
What a device does with words of 32 bits, Python's integers do there.
"""

from __future__ import annotations

import linecache
import threading
from functools import cache
from typing import Any

import numpy as np
from numba import config, types
from numba import cuda as numba_cuda

from raydb.kernels.backends.cuda.source import Shape, kernel_source

SIMULATED = bool(vars(config)["ENABLE_CUDASIM"])

# It has its names where a device or the simulator is.
cuda: Any = numba_cuda

# A block of the simulator is as many Python threads, so that few of them show all that there is.
BLOCK_THREADS = 8 if SIMULATED else 256

# What a block works on at one time: as many units a thread as one has in flight at most.
TILE_UNITS = 4 * BLOCK_THREADS

# How many threads share a vector: 8 read 128 of its bytes at once. The simulator's threads cannot
# exchange values.
ROW_LANES = 1 if SIMULATED else 8

# So that four blocks, 1,024 threads, are on a multiprocessor at once.
MAX_REGISTERS = 64

# What kernels call their types by.
INT32, UINT32, INT64, FLOAT64 = types.int32, types.uint32, types.int64, types.float64
int32: Any = int if SIMULATED else types.int32
uint32: Any = int if SIMULATED else types.uint32
int64: Any = int if SIMULATED else types.int64
uint64: Any = int if SIMULATED else types.uint64
float32: Any = np.float32 if SIMULATED else types.float32

NONE = -1
GREATEST = np.iinfo(np.int64).max
# The bits of the positive infinity: those of a NaN, the sign left out, are greater.
INFINITY = 0x7FF0000000000000


def device_function(function: Any) -> Any:
    """Return a function that kernels call: itself in the simulator."""
    return function if SIMULATED else cuda.jit(device=True)(function)


if SIMULATED:

    def load_four(array: Any, base: Any) -> Any:
        """Return four neighbouring values, the integers among them as Python's; 0 for no row."""
        count = len(array)
        return tuple(array[base + lane].item() if base + lane < count else 0 for lane in range(4))

    def load_one(array: Any, place: Any) -> Any:
        """Return a value, an integer as Python's."""
        assert place >= 0
        return array[place].item()

    def bit_of(mask: int, code: int) -> int:
        """Return a number whose last bit is that of a code."""
        return mask >> code

    def float_bits(value: float) -> int:
        """Return the bits of a float64 as an integer."""
        return int(np.float64(value).view(np.int64))

    _adding = threading.Lock()

    def await_loads() -> None:
        """Do nothing."""

    def over_lanes(value: Any) -> Any:
        """Return the sum over the one thread that a vector has."""
        return value

    def add_word(words: Any, _halves: Any, place: Any, value: Any) -> None:
        """Add to a word of 64 bits in shared memory."""
        with _adding:
            words[place] += value
else:
    from llvmlite import ir
    from numba.cuda import dispatcher
    from numba.cuda.extending import intrinsic

    # A job on few rows is a small grid, and no reason to warn its user.
    vars(dispatcher)["config"].CUDA_LOW_OCCUPANCY_WARNINGS = 0

    def _load(context: Any, builder: Any, array_type: Any, arguments: Any, loaded: Any) -> Any:
        """Load a type from what a kernel does not write: through the read-only path."""
        array, place = arguments
        data = context.make_array(array_type)(context, builder, array).data
        pointer = builder.bitcast(builder.gep(data, [place]), loaded.as_pointer())
        # Columns begin at multiples of 256 bytes.
        value = builder.load(pointer, align=min(context.get_abi_sizeof(loaded), 16))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    @intrinsic
    def load_four(typing_context: Any, array: Any, base: Any) -> Any:
        """Return four neighbouring values with one load of 4 to 32 bytes; base is 4 * k."""
        del typing_context
        signature = types.UniTuple(array.dtype, 4)(array, base)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array_type = signature.args[0]
            element = context.get_data_type(array_type.dtype)
            bits = 8 * context.get_abi_sizeof(element)
            # Four bytes stay in one register until one is used.
            loaded = ir.IntType(4 * bits) if bits < 32 else ir.VectorType(element, 4)
            four = _load(context, builder, array_type, arguments, loaded)
            lanes = []
            for lane in range(4):
                if bits < 32:
                    shifted = builder.lshr(four, ir.Constant(loaded, lane * bits))
                    lanes.append(builder.trunc(shifted, element))
                else:
                    lanes.append(builder.extract_element(four, ir.Constant(ir.IntType(32), lane)))
            return context.make_tuple(builder, signature.return_type, lanes)

        return signature, generate

    @intrinsic
    def load_one(typing_context: Any, array: Any, place: Any) -> Any:
        """Return a value; its place is not below zero."""
        del typing_context

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element = context.get_data_type(signature.args[0].dtype)
            return _load(context, builder, signature.args[0], arguments, element)

        return array.dtype(array, place), generate

    @intrinsic
    def bit_of(typing_context: Any, mask: Any, code: Any) -> Any:
        """Return a word whose last bit is that of a code; mask and code are without a sign."""
        del typing_context

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            del context, signature
            mask, code = arguments
            if code.type.width < mask.type.width:
                code = builder.zext(code, mask.type)
            return builder.trunc(builder.lshr(mask, code), ir.IntType(32))

        return types.uint32(mask, code), generate

    @intrinsic
    def float_bits(typing_context: Any, value: Any) -> Any:
        """Return the bits of a float64 as int64."""
        del typing_context

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            del context, signature
            return builder.bitcast(arguments[0], ir.IntType(64))

        return types.int64(value), generate

    @cuda.jit(device=True)
    def await_loads() -> None:
        """Begin all loads before this before anything that uses them: the assembler delays some."""
        cuda.syncwarp()

    @cuda.jit(device=True)
    def over_lanes(value: Any) -> Any:
        """Return the sum over the threads that share a vector; all of the warp must come here."""
        for distance in (4, 2, 1):
            value += cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)
        return value

    @cuda.jit(device=True)
    def add_word(_words: Any, halves: Any, place: Any, value: Any) -> None:
        """Add to a word of 64 bits in shared memory, where the hardware adds 32 bits at a time.

        halves: the bytes of the words. Who makes the low half overflow adds the carry to the
        high one.
        """
        low = uint32(value)
        before = cuda.atomic.add(halves, uint32(2 * place), low)
        carry = uint32(1) if uint32(before + low) < low else uint32(0)
        high = uint32(uint32(value >> 32) + carry)
        if high:
            cuda.atomic.add(halves, uint32(2 * place + 1), high)


@device_function
def end_of(before: Any, start: Any, end: Any) -> Any:
    """Return the first unit behind a run."""
    return int32(before + (int32(end - 1) >> 2) - (start >> 2) + 1)


@device_function
def find_run(control: Any, low: Any, high: Any, unit: Any) -> Any:
    """Return the last run from `low` to `high` that begins at or before a unit; `low` if none."""
    while low < high:
        middle = int32(low + (int32(high - low + 1) >> 1))
        if load_one(control, int32(4 * middle)) <= unit:
            low = middle
        else:
            high = int32(middle - 1)
    return int32(low)


@device_function
def lanes_of(place: Any, start: Any, end: Any) -> Any:
    """Return which of the four rows from a place on lie in a run, as bits."""
    first = max(int32(start - place), int32(0))
    last = min(max(int32(end - place), int32(0)), int32(4))
    return int32((1 << last) - (1 << first)) if last > first else int32(0)


@device_function
def load_word(control: Any, place: Any) -> Any:
    """Return a word of 32 bits, without a sign."""
    return uint32(load_one(control, place) & 0xFFFFFFFF)


@device_function
def load_words(control: Any, place: Any) -> Any:
    """Return a word of 64 bits from two of 32."""
    low, high = load_one(control, place), load_one(control, place + 1)
    return (uint64(uint32(high) & 0xFFFFFFFF) << uint64(32)) | uint64(uint32(low) & 0xFFFFFFFF)


@device_function
def bit_at(control: Any, place: Any, code: Any) -> Any:
    """Return a word whose last bit is that of a code, in bits that begin at a place."""
    word = load_one(control, int32(place) + (int32(code) >> 5))
    return uint32(uint32(word) >> uint32(code & 31))


@device_function
def packed(first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Return the last bits of four words."""
    return int32((first & 1) | ((second & 1) << 1) | ((third & 1) << 2) | ((fourth & 1) << 3))


@device_function
def choose1(_number: Any, first: Any) -> Any:
    """Return the only value."""
    return first


@device_function
def choose2(number: Any, first: Any, second: Any) -> Any:
    """Return the value of a number from 0 to 1."""
    return second if number else first


@device_function
def choose4(number: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Return the value of a number from 0 to 3."""
    low = second if number & 1 else first
    high = fourth if number & 1 else third
    return high if number & 2 else low


@device_function
def listed(group: Any, place: Any) -> Any:
    """Return a row's group and place as one word, below zero for a row that does not pass."""
    return (int64(group) << 32) | int64(place) if group >= 0 else int64(NONE)


@device_function
def ordered(value: Any) -> Any:
    """Return a float as an integer of the same order, every NaN as the greatest."""
    bits = float_bits(value)
    if (bits & GREATEST) > INFINITY:
        return GREATEST - 1
    return bits ^ GREATEST if bits < 0 else bits


# What kernels call by name.
NAMES = {
    function.__name__: function
    for function in (
        end_of,
        find_run,
        lanes_of,
        load_word,
        load_words,
        bit_of,
        bit_at,
        packed,
        choose1,
        choose2,
        choose4,
        listed,
        ordered,
        load_four,
        load_one,
        await_loads,
        add_word,
    )
} | {
    "cuda": cuda,
    "int32": int32,
    "uint32": uint32,
    "int64": int64,
    "uint64": uint64,
    "INT32": INT32,
    "UINT32": UINT32,
    "INT64": INT64,
    "FLOAT64": FLOAT64,
    "NONE": NONE,
    "THREADS": BLOCK_THREADS,
    "TILE_UNITS": TILE_UNITS,
}


def kernel_function(shape: Shape) -> Any:
    """Return a shape's kernel as a plain Python function."""
    text = kernel_source(shape)
    name = f"<raydb kernel {shape}>"
    # So that a debugger, and an error in the simulator, shows the lines.
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = dict(NAMES)
    exec(compile(text, name, "exec"), names)  # noqa: S102  (the text is our own)
    return names["fused"]


@cache
def kernel(shape: Shape) -> Any:
    """Return a shape's kernel, compiled when it is first launched on a device."""
    options = {} if SIMULATED else {"max_registers": MAX_REGISTERS}
    return cuda.jit(**options)(kernel_function(shape))
