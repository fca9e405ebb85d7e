"""Runs the PTX of a kernel for a whole grid on the host, instruction by instruction.

    gang     several blocks at once: each register is an array, with a value for each thread
    step     the threads at the least place that any has, until they meet others or part
    barrier  a thread waits until all of its block, or all of its warp that a mask names, have come

Registers have the widths that the text declares, and like shared memory they begin with garbage.
Blocks run in an order that follows from the seed. What a device would stop at, or do wrong in
silence, is a Fault: an access that is not aligned or is outside of its allocation, a race in shared
memory, a barrier that not all threads of a block reach. An opcode that is not known is a PtxError.
"""

from functools import lru_cache, partial

import numpy as np
from ptx_arithmetic import TYPES
from ptx_control import AT_BARRIER, AT_WARP, CONTROL, DONE, RUNS
from ptx_memory import (
    BLOCK_RIVALS,
    LOCAL_WINDOW,
    RIVALS,
    SHARED_WINDOW,
    WINDOW_BYTES,
    Banks,
    Fault,
    Watch,
)
from ptx_operands import BINDERS, WARP, bind_operation
from ptx_text import WIDTHS, PtxError, read_kernel

# What a block may have at most without asking the driver, and threads at most.
SHARED_BYTES = 48 * 1024

# Threads of blocks that run at once: more amortise NumPy's calls, fewer make shared memory small.
GANG_THREADS = 2048

# Steps of a gang, after which a kernel is taken for one that does not end.
MAX_STEPS = 2_000_000

read = lru_cache(maxsize=256)(read_kernel)


def launch(memory, text, words, grid, block, shared_bytes=0, seed=1):
    """Run a kernel. words: the bytes of each of its parameters. Raises Fault and PtxError."""
    kernel = read(text)
    rng = np.random.default_rng(seed)
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    if not 0 < threads <= kernel.most_threads or blocks < 1:
        raise Fault(0, f"a grid of {blocks} blocks of {threads} threads")
    count = min(max(GANG_THREADS // threads, 1), blocks)
    gang = Gang(memory, kernel, words, grid, block, count, shared_bytes, rng)
    order = rng.permutation(blocks)
    with np.errstate(all="ignore"):
        for first in range(0, blocks, count):
            gang.run(order[first : first + count])


class Gang:
    """The threads of several blocks, and the instructions bound to their registers."""

    def __init__(self, memory, kernel, words, grid, block, count, shared_bytes, rng):
        self.kernel, self.memory, self.rng = kernel, memory, rng
        self.threads = int(np.prod(block))
        self.grid, self.block_shape = grid, block
        lanes = count * self.threads
        self.lanes = np.arange(lanes)
        self.thread = (self.lanes % self.threads).astype(np.int32)
        self.block = self.lanes // self.threads
        self.blocks = np.zeros(count, np.int64)
        warps = -(-self.threads // WARP)
        self.warp = self.block * warps + self.thread // WARP
        self.bit = np.uint32(1) << (self.thread % WARP).astype(np.uint32)
        self.place = np.zeros(lanes, np.int64)
        self.state = np.zeros(lanes, np.int8)
        self.registers = {
            name: np.zeros(lanes, bool if kind == "pred" else f"u{WIDTHS[kind]}")
            for name, kind in kernel.registers.items()
        }
        self.special = self._special(shared_bytes)
        self._lay_out(words, shared_bytes)
        self._code = [bind(self, each) for each in kernel.instructions]

    def _special(self, shared_bytes):
        def axes(name, values):
            return dict(zip((f"%{name}.{axis}" for axis in "xyz"), values, strict=True))

        lane = (self.thread % WARP).astype(np.uint32)
        empty = partial(np.empty, len(self.lanes), np.uint32)
        thread = np.unravel_index(self.thread, self.block_shape[::-1])[::-1]
        return {
            **axes("tid", [each.astype(np.uint32) for each in thread]),
            **axes("ctaid", [empty(), empty(), empty()]),
            **axes("ntid", [np.full(len(self.lanes), n, np.uint32) for n in self.block_shape]),
            **axes("nctaid", [np.full(len(self.lanes), n, np.uint32) for n in self.grid]),
            "%dynamic_smem_size": np.full(len(self.lanes), shared_bytes, np.uint32),
            "%laneid": lane,
            "%lanemask_eq": self.bit,
            "%lanemask_lt": self.bit - np.uint32(1),
            "%lanemask_le": self.bit | (self.bit - np.uint32(1)),
            "%lanemask_gt": ~(self.bit | (self.bit - np.uint32(1))),
            "%lanemask_ge": ~(self.bit - np.uint32(1)),
        }

    def _lay_out(self, words, shared_bytes):
        """Give each variable and parameter its place: `symbols` has (space, address)."""
        self.symbols, sizes = {}, {"shared": 0, "local": 0, "param": 0}
        self._kept = []

        def place(variable):
            space = variable.space
            if space in sizes:
                offset = -(-sizes[space] // variable.align) * variable.align
                self.symbols[variable.name] = space, offset
                sizes[space] = offset + variable.size
            else:
                buffer, base = self.memory.allocate(variable.size)
                typed = buffer.view(TYPES[variable.type])
                typed[:] = 0
                typed[: len(variable.values)] = [int(each, 0) for each in variable.values]
                self._kept.append(buffer)
                self.symbols[variable.name] = space, base

        variables = self.kernel.variables
        is_dynamic = [v.space == "shared" and not v.size for v in variables]
        for variable, dynamic in zip(variables, is_dynamic, strict=True):
            if not dynamic:
                place(variable)
        start = -(-sizes["shared"] // 16) * 16 if any(is_dynamic) else sizes["shared"]
        for variable, dynamic in zip(variables, is_dynamic, strict=True):
            if dynamic:
                self.symbols[variable.name] = "shared", start
        for variable, word in zip(self.kernel.parameters, words, strict=True):
            if len(word) != variable.size:
                raise Fault(0, f"{len(word)} bytes for the parameter {variable.name}")
            place(variable)
        shared = start + shared_bytes
        if shared > SHARED_BYTES:
            raise Fault(0, f"{shared} bytes of shared memory for a block")
        self.shared = Banks("shared", self.rng, self.block, shared)
        self.local = Banks("local", self.rng, self.lanes, sizes["local"])
        self.param = Banks("param", self.rng, self.lanes * 0, sizes["param"])
        for variable, word in zip(self.kernel.parameters, words, strict=True):
            offset = self.symbols[variable.name][1]
            self.param.bytes[offset : offset + len(word)] = np.frombuffer(word, np.uint8)
        self.watches = self._watches()
        # The watches of allocations that are written, from the first write on.
        self._written, self._number = {}, np.zeros(len(self.lanes), np.int32)

    def _watches(self):
        """Return the watches of shared memory: where a warp has barriers, of warps too."""
        granule = self._least_access({"global", "const", "local", "param"})
        numbers = [self.thread]
        if any(each.parts[:2] == ("bar", "warp") for each in self.kernel.instructions):
            numbers.append(self.thread // WARP)
        shape = len(self.blocks), self.shared.stride, granule
        return [Watch(*shape, each, RIVALS) for each in numbers if granule]

    def _least_access(self, others):
        """Return the bytes of the least access that is not to other spaces; 0 for none."""
        texts = [each.parts for each in self.kernel.instructions]
        accesses = [parts for parts in texts if parts[0] in {"ld", "st", "atom", "red"}]
        return min((WIDTHS[parts[-1]] for parts in accesses if not others & {*parts}), default=0)

    def note(self, memory, buffer, kind, lanes, offsets, width):
        """Tell the watches of an access."""
        if memory is self.shared:
            for watch in self.watches:
                watch.note(kind, lanes, offsets, width)
        elif memory is self.memory:
            if kind == "write" and id(buffer) not in self._written:
                granule = self._least_access({"shared", "const", "local", "param"})
                shape = 1, len(buffer), granule
                self._written[id(buffer)] = Watch(*shape, self._number, BLOCK_RIVALS)
            if id(buffer) in self._written:
                self._written[id(buffer)].note(kind, lanes, offsets, width)

    def forget(self, blocks):
        """All threads of some blocks have met."""
        for watch in self.watches:
            watch.forget(blocks)

    def run(self, blocks):
        """Run some blocks to their end."""
        self.blocks[: len(blocks)] = blocks
        self._number[:] = self.blocks[self.block]
        # x is the axis that changes first.
        numbers = np.unravel_index(self.blocks, self.grid[::-1])[::-1]
        for axis, number in zip("xyz", numbers, strict=True):
            self.special[f"%ctaid.{axis}"][:] = number[self.block]
        self.state[:] = np.where(self.block < len(blocks), RUNS, DONE)
        self.place[:] = 0
        for register in self.registers.values():
            garbage = self.rng.integers(0, 256, register.nbytes, np.uint8)
            register[:] = garbage & 1 if register.dtype == bool else garbage.view(register.dtype)
        self.shared.fill()
        self.forget(slice(None))
        self.local.fill()
        for _ in range(MAX_STEPS):
            running = np.flatnonzero(self.state == RUNS)
            if len(running):
                self._step(running)
            elif (self.state == DONE).all():
                return
            else:
                self._open_barriers()
        raise Fault(0, "the kernel does not end")

    def _step(self, running):
        """Run the threads at the least place until they meet others, part, or wait."""
        places = self.place[running]
        first = int(places.min())
        lanes = running[places == first]
        others = places[places > first]
        meet = int(others.min()) if len(others) else len(self._code) + 1
        place = first
        while place < meet:
            if place == len(self._code):
                raise Fault(lanes[0], "the end of the text is no end of the kernel")
            instruction, run, guard, negated = self._code[place]
            chosen = lanes
            if guard is not None:
                chosen = lanes[guard[lanes] != negated]
            try:
                to = run(chosen, place) if len(chosen) else None
            except (Fault, ZeroDivisionError) as fault:
                raise self._told(fault, instruction, chosen) from None
            place += 1
            if to is not None:
                if len(chosen) < len(lanes):
                    self.place[np.setdiff1d(lanes, chosen, assume_unique=True)] = place
                self.place[chosen] = to
                return
        self.place[lanes] = place

    def _told(self, fault, instruction, chosen):
        lane = getattr(fault, "lane", chosen[0])
        thread, block = self.thread[lane], self.blocks[self.block[lane]]
        return Fault(lane, f"{instruction.text}: thread {thread} of block {block}: {fault}")

    def _open_barriers(self):
        """Let threads go on where all of a block wait at one barrier."""
        waiting = np.flatnonzero(self.state == AT_BARRIER)
        if not len(waiting):
            lane = int(np.argmax(self.state == AT_WARP))
            instruction = self.kernel.instructions[self.place[lane]]
            raise self._told(Fault(lane, "not all lanes of the mask come"), instruction, [lane])
        for block in np.unique(self.block[waiting]):
            lanes = np.flatnonzero(self.block == block)
            if (self.state[lanes] != AT_BARRIER).any() or np.ptp(self.place[lanes]):
                lane = waiting[self.block[waiting] == block][0]
                instruction = self.kernel.instructions[self.place[lane]]
                fault = Fault(lane, "not all threads of the block come to this barrier")
                raise self._told(fault, instruction, [lane])
            self.state[lanes] = RUNS
            self.place[lanes] += 1
            self.forget(block)

    def pieces(self, space, lanes, addresses, width):
        """Yield (memory, buffer, offsets, which of the lanes) of an access; see `Memory.pieces`."""
        if (addresses & np.uint64(width - 1)).any():
            lane = int(np.argmax(addresses & np.uint64(width - 1) != 0))
            raise Fault(lanes[lane], f"{width} bytes at {int(addresses[lane]):#x} are not aligned")
        if space == "generic":
            windows = (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW))
            left = np.ones(len(lanes), bool)
            for name, base in windows:
                inside = (addresses - np.uint64(base)) < WINDOW_BYTES
                left &= ~inside
                yield from self._some(name, lanes, addresses - np.uint64(base), width, inside)
            yield from self._some("global", lanes, addresses, width, left)
            return
        memory = self.memory if space in {"global", "const"} else getattr(self, space)
        for buffer, offsets, which in memory.pieces(lanes, addresses, width):
            yield memory, buffer, offsets, which

    def _some(self, space, lanes, addresses, width, inside):
        if inside.any():
            which = np.flatnonzero(inside)
            for memory, buffer, offsets, part in self.pieces(
                space, lanes[which], addresses[which], width
            ):
                yield memory, buffer, offsets, which[part]


def bind(gang, instruction):
    """Return (instruction, function of the lanes and the place, guard, whether it is negated)."""
    name = instruction.parts[0]
    make = CONTROL.get(name) or BINDERS.get(name, bind_operation)
    try:
        run = make(gang, instruction)
    except (KeyError, ValueError, IndexError) as error:
        raise PtxError(f"unknown form: {instruction.text} ({error})") from error
    if instruction.guard is None:
        return instruction, run, None, False
    name, negated = instruction.guard
    return instruction, run, gang.registers[name], negated
