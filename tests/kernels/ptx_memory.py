"""The memories of the PTX machine: each allocation by itself, checked, and shared memory for races.

    global   allocations far from each other: an access beside one is a fault, not its neighbour's
    shared   of each block its own, at first filled with garbage; who touched what since a barrier
    local    of each thread its own

Addresses are 64 bits. Generic addresses of shared and local memory lie in windows of their own.
"""

import weakref
from bisect import bisect_right

import numpy as np

FIRST_ADDRESS = 0x7000_0000_0000
GUARD_BYTES = 2**24
# Allocations of cupy begin at multiples of 512 bytes.
ALIGNMENT = 512

SHARED_WINDOW = 0x0100_0000_0000
LOCAL_WINDOW = 0x0200_0000_0000
WINDOW_BYTES = 2**32


class Fault(Exception):  # noqa: N818  (as a device has it)
    """What a device would stop at, or do wrong in silence. lane: whose access it was."""

    def __init__(self, lane, reason):
        super().__init__(reason)
        self.lane = lane


class Memory:
    """Global memory. A buffer that nobody has any more is free, and no address of a kernel."""

    def __init__(self, seed=1):
        self._rng = np.random.default_rng(seed)
        self._next = FIRST_ADDRESS
        self._bases = []
        self._held = {}
        self._address_of = {}

    def allocate(self, size_bytes):
        """Return a buffer of uint8 filled with garbage, and its address."""
        buffer = self._rng.integers(0, 256, -(-size_bytes // 16) * 16, np.uint8)
        base, key = self._next, id(buffer)
        self._next += -(-size_bytes // ALIGNMENT) * ALIGNMENT + GUARD_BYTES
        self._bases.append(base)

        def free(_):
            self._bases.remove(base)
            del self._held[base], self._address_of[key]

        self._held[base] = weakref.ref(buffer, free), size_bytes
        self._address_of[key] = base
        return buffer, base

    def address_of(self, array):
        """Return the address of an array in one of the buffers. Raises KeyError for another one."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        return self._address_of[id(root)] + array.ctypes.data - root.ctypes.data

    def pieces(self, lanes, addresses, width):
        """Yield (buffer, offsets, which of the lanes) of each allocation that is accessed."""
        low, high = int(addresses.min()), int(addresses.max())
        base, buffer, size = self._find(low)
        if buffer is not None and high + width <= base + size:
            yield buffer, (addresses - np.uint64(base)).astype(np.int64), slice(None)
            return
        bases = np.array(self._bases, np.uint64)
        places = np.searchsorted(bases, addresses, side="right") - 1
        for place in np.unique(places):
            which = np.flatnonzero(places == place)
            base, buffer, size = self._find(int(addresses[which[0]]))
            offsets = addresses[which] - np.uint64(base)
            outside = which if buffer is None else which[offsets + np.uint64(width) > size]
            if len(outside):
                address = int(addresses[outside[0]])
                where = f"an allocation of {size} bytes at {base:#x}" if size else "any allocation"
                raise Fault(lanes[outside[0]], f"{width} bytes at {address:#x} outside of {where}")
            yield buffer, offsets.astype(np.int64), which

    def _find(self, address):
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return 0, None, 0
        base = self._bases[place]
        held, size = self._held[base]
        return base, held(), size


class Banks:
    """Memory of which each owner (a block, a thread) has its own: shared or local memory."""

    def __init__(self, name, rng, owner_of_lane, size_bytes):
        self.name, self.size_bytes = name, size_bytes
        self.stride = max(-(-size_bytes // 16) * 16, 16)
        self._owner_of_lane = owner_of_lane
        self._rng = rng
        self.bytes = np.empty((int(owner_of_lane.max()) + 1) * self.stride, np.uint8)
        self.fill()

    def fill(self):
        """Fill it with garbage, for blocks that begin."""
        self.bytes[:] = self._rng.integers(0, 256, len(self.bytes), np.uint8)

    def pieces(self, lanes, addresses, width):
        """Yield what `Memory.pieces` does: one piece."""
        outside = addresses > np.uint64(max(self.size_bytes - width, 0))
        if self.size_bytes < width or outside.any():
            lane = int(np.argmax(outside))
            where = f"{self.size_bytes} bytes of {self.name} memory"
            raise Fault(
                lanes[lane], f"{width} bytes at {int(addresses[lane]):#x} outside of {where}"
            )
        offsets = self._owner_of_lane[lanes] * self.stride + addresses.astype(np.int64)
        yield self.bytes, offsets, slice(None)


# What an access does not agree with, where another thread does it and no barrier is between.
RIVALS = {
    "read": ("write", "atomic"),
    "write": ("read", "write", "atomic"),
    "atomic": ("read", "write"),
}
# Between blocks there is no barrier; to read beside their atomics is a way to save some.
BLOCK_RIVALS = {"read": ("write",), "write": RIVALS["write"], "atomic": ("write",)}
NOBODY = np.iinfo(np.int32).max


class Watch:
    """Looks for races: who touched what since the last barrier.

    Of each granule it knows the first and the last thread of those that read it, wrote it, or did
    an atomic on it. Two watches, of threads and of warps, know what a barrier of a warp parts; in
    global memory it is blocks that are watched.
    """

    def __init__(self, blocks, stride, granule, number_of_lane, rivals):
        self._granule, self._number_of_lane, self._rivals = granule, number_of_lane, rivals
        self._seen = np.empty((3, 2, blocks, stride // granule), np.int32)
        self.forget(slice(None))

    def note(self, kind, lanes, offsets, width):
        """Remember an access: kind is read, write or atomic. Raises Fault where it is in a race."""
        steps = np.arange(max(width // self._granule, 1))
        places = (offsets[:, None] // self._granule + steps).ravel()
        numbers = np.repeat(self._number_of_lane[lanes], len(steps))
        seen = dict(zip(RIVALS, self._seen.reshape(3, 2, -1), strict=True))
        np.minimum.at(seen[kind][0], places, numbers)
        np.maximum.at(seen[kind][1], places, numbers)
        for rival in self._rivals[kind]:
            first, last = seen[rival]
            races = (first[places] < numbers) | (last[places] > numbers)
            if races.any():
                lane = lanes[int(np.argmax(races)) // len(steps)]
                raise Fault(lane, f"a race: another thread's {rival}, and no barrier between")

    def forget(self, blocks):
        """Forget what was seen of some blocks: all of their threads have met."""
        self._seen[:, 0, blocks] = NOBODY
        self._seen[:, 1, blocks] = -1

    def forget_threads(self, block, low, high):
        """Forget what only threads from low to before high of a block touched: they have met."""
        first, last = self._seen[:, 0, block], self._seen[:, 1, block]
        own = (first >= low) & (last < high)
        first[own], last[own] = NOBODY, -1
