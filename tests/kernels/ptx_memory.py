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

NOBODY = -1


class Fault(Exception):
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
    """Memory of which each owner (a block, a thread) has its own: shared or local memory.

    granule: the bytes of the least access, where races are looked for; 0 where they cannot be.
    """

    def __init__(self, name, rng, owner_of_lane, size_bytes, granule=0, threads=None):
        self.name, self.size_bytes = name, size_bytes
        self._stride = max(-(-size_bytes // 16) * 16, 16)
        self._owner_of_lane = owner_of_lane
        owners = int(owner_of_lane.max()) + 1
        self._rng = rng
        self.bytes = np.empty(owners * self._stride, np.uint8)
        self._granule, self._threads = granule, threads
        if granule:
            shape = (owners, self._stride // granule)
            # The thread that wrote without an atomic, that which did with one, and those from
            # the first to the last that read, since the block's last barrier.
            self._seen = {
                kind: np.empty(shape, np.int32) for kind in ("write", "atomic", "first", "last")
            }
        self.fill()

    def fill(self):
        """Fill it with garbage, for blocks that begin."""
        self.bytes[:] = self._rng.integers(0, 256, len(self.bytes), np.uint8)
        self.forget(slice(None))

    def pieces(self, lanes, addresses, width):
        """Yield what `Memory.pieces` does: one piece."""
        outside = addresses > np.uint64(max(self.size_bytes - width, 0))
        if self.size_bytes < width or outside.any():
            lane = int(np.argmax(outside))
            reason = (
                f"{width} bytes at {int(addresses[lane]):#x} outside of {self.size_bytes} bytes"
            )
            raise Fault(lanes[lane], f"{reason} of {self.name} memory")
        offsets = self._owner_of_lane[lanes] * self._stride + addresses.astype(np.int64)
        yield self.bytes, offsets, slice(None)

    def note(self, kind, lanes, offsets, width):
        """Look for a race, and remember who touched what: kind is read, write or atomic."""
        if not self._granule:
            return
        steps = np.arange(max(width // self._granule, 1))
        places = (offsets[:, None] // self._granule + steps).ravel()
        threads = np.repeat(self._threads[lanes], len(steps))
        write, atomic, first, last = (each.reshape(-1) for each in self._seen.values())

        def other(seen):
            return (seen[places] != NOBODY) & (seen[places] != threads)

        races = other(write)
        if kind == "read":
            races |= other(atomic)
            mine = np.where(first[places] == NOBODY, threads, np.minimum(first[places], threads))
            first[places] = mine
            np.minimum.at(first, places, threads)
            np.maximum.at(last, places, threads)
        else:
            races |= other(first) | other(last)
            if kind == "write":
                races |= other(atomic)
            mark = write if kind == "write" else atomic
            mark[places] = threads
            # Of several threads that write the same place at once one is left.
            races |= (mark[places] != threads) & (kind == "write")
        if races.any():
            lane = int(np.argmax(races)) // len(steps)
            raise Fault(
                lanes[lane], f"a race: another thread uses these bytes of {self.name} memory"
            )

    def forget(self, owners):
        """Forget who touched what: all threads of these blocks have met at a barrier."""
        if self._granule:
            for seen in self._seen.values():
                seen[owners] = NOBODY

    def forget_threads(self, owner, low, high):
        """Forget what threads from low to before high of a block touched: they have met."""
        if self._granule:
            for seen in self._seen.values():
                row = seen[owner]
                row[(row >= low) & (row < high)] = NOBODY
            first, last = self._seen["first"][owner], self._seen["last"][owner]
            first[first == NOBODY] = last[first == NOBODY]
            last[last == NOBODY] = first[last == NOBODY]
