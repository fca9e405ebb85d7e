"""Instructions of the PTX machine that decide where threads go on, or wait for each other.

Each returns where its threads go on; None is the next place.
"""

import numpy as np
from ptx_memory import Fault
from ptx_operands import WARP, source, target
from ptx_text import PtxError

# What a thread does: it runs, waits for its block or for lanes of its warp, or has ended.
RUNS, AT_BARRIER, AT_WARP, DONE = range(4)


def bind_branch(gang, instruction):
    to = gang.kernel.labels[instruction.operands[0]]
    return lambda lanes, _: np.full(len(lanes), to)


def bind_table(gang, instruction):
    """brx.idx: the branch targets are those of a label."""
    index, table = instruction.operands
    places = np.array([gang.kernel.labels[name] for name in gang.kernel.tables[table]])
    read_one = source(gang, index, "u32")

    def run(lanes, _):
        chosen = read_one(lanes)
        if (chosen >= len(places)).any():
            raise Fault(lanes[int(np.argmax(chosen >= len(places)))], "no such branch target")
        return places[chosen]

    return run


def bind_end(gang, instruction):
    def run(lanes, place):
        gang.state[lanes] = DONE
        return place

    return run


def bind_trap(gang, instruction):
    def run(lanes, _):
        raise Fault(lanes[0], "the kernel stops itself")

    return run


def bind_nothing(gang, instruction):
    """Fences: memory is in order here. Sleep: no time passes."""
    return lambda lanes, _: None


def bind_barrier(gang, instruction):
    """bar.sync 0, and bar.warp.sync with a mask."""
    if "warp" in instruction.parts:
        return _bind_warp(gang, instruction, instruction.operands[0], _met(gang))
    if "sync" not in instruction.parts or instruction.operands != ("0",):
        raise PtxError(f"unknown form: {instruction.text}")

    def run(lanes, place):
        gang.state[lanes] = AT_BARRIER
        return place

    return run


def _met(gang):
    """What threads of a warp did before they met is no race with what they do then."""

    def run(lanes):
        for warp in np.unique(gang.warp[lanes]):
            some = lanes[gang.warp[lanes] == warp]
            low, high = gang.thread[some].min(), gang.thread[some].max() + 1
            for watch in gang.watches[:1]:
                watch.forget_threads(gang.block[some[0]], low, high)

    return run


def bind_shuffle(gang, instruction):
    """shfl.sync: a value from another lane of the warp, and whether that lane is in range."""
    to, value, distance, clamp, mask = instruction.operands
    how = instruction.parts[2]
    first, *second = to.split("|")
    write, writes = target(gang, first, "b32"), [target(gang, each, "pred") for each in second]
    reads = [source(gang, each, "b32") for each in (value, distance, clamp)]
    if how not in {"idx", "up", "down", "bfly"}:
        raise PtxError(f"unknown form: {instruction.text}")

    def run(lanes):
        values, steps, limits = (
            np.broadcast_to(read_one(lanes), len(lanes)).astype(np.int64) for read_one in reads
        )
        values = values.astype(np.uint32)
        mine = gang.thread[lanes].astype(np.int64) % WARP
        segment, limit, steps = limits >> 8 & 31, limits & 31, steps & 31
        least = mine & segment
        most = least | limit & ~segment
        chosen = {
            "idx": least | steps & ~segment,
            "up": mine - steps,
            "down": mine + steps,
            "bfly": mine ^ steps,
        }[how]
        inside = chosen >= most if how == "up" else chosen <= most
        chosen = np.where(inside, chosen, mine)
        # What a lane that is not there has is anything.
        all_lanes = gang.rng.integers(0, 2**32, (gang.warp.max() + 1, WARP), np.uint32)
        all_lanes[gang.warp[lanes], mine] = values
        write(lanes, all_lanes[gang.warp[lanes], chosen])
        for each in writes:
            each(lanes, inside)

    return _bind_warp(gang, instruction, mask, run)


def bind_vote(gang, instruction):
    to, value, mask = instruction.operands
    how = instruction.parts[2]
    read_one = source(gang, value, "pred")
    write = target(gang, to, "b32" if how == "ballot" else "pred")
    if how not in {"all", "any", "uni", "ballot"}:
        raise PtxError(f"unknown form: {instruction.text}")

    def run(lanes):
        yes = read_one(lanes)
        ballot, present = _bits(gang, lanes[yes]), _bits(gang, lanes)
        ballot, present = ballot[gang.warp[lanes]], present[gang.warp[lanes]]
        found = {
            "all": ballot == present,
            "any": ballot != 0,
            "uni": (ballot == 0) | (ballot == present),
            "ballot": ballot,
        }
        write(lanes, found[how])

    return _bind_warp(gang, instruction, mask, run)


def bind_reduction(gang, instruction):
    to, value, mask = instruction.operands
    how, kind = instruction.parts[2:]
    functions = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    function, read_one, write = functions[how], source(gang, value, kind), target(gang, to, kind)

    def run(lanes):
        values = np.broadcast_to(read_one(lanes), len(lanes))
        order = np.argsort(gang.warp[lanes], kind="stable")
        warps, firsts = np.unique(gang.warp[lanes][order], return_index=True)
        found = function.reduceat(values[order], firsts)
        write(lanes, found[np.searchsorted(warps, gang.warp[lanes])])

    return _bind_warp(gang, instruction, mask, run)


def bind_active(gang, instruction):
    write = target(gang, instruction.operands[0], "b32")

    def run(lanes, _):
        write(lanes, _bits(gang, lanes)[gang.warp[lanes]])

    return run


def _bits(gang, lanes):
    """Return for each warp the mask of some lanes."""
    found = np.zeros(gang.warp.max() + 1, np.uint32)
    np.bitwise_or.at(found, gang.warp[lanes], gang.bit[lanes])
    return found


def _bind_warp(gang, instruction, mask, act):
    """Wait until all lanes that the mask names have come; those that ended are not waited for."""
    read_mask = source(gang, mask, "b32")

    def run(lanes, place):
        masks = np.broadcast_to(read_mask(lanes), len(lanes))
        if (masks & gang.bit[lanes] == 0).any():
            lane = lanes[int(np.argmax(masks & gang.bit[lanes] == 0))]
            raise Fault(lane, "the mask leaves out the lane itself")
        gang.state[lanes] = AT_WARP
        gang.place[lanes] = place
        waiting = np.flatnonzero((gang.state == AT_WARP) & (gang.place == place))
        masks = np.broadcast_to(read_mask(waiting), len(waiting))
        warps = gang.warp[waiting]
        missing = masks & _bits(gang, np.flatnonzero(gang.state != DONE))[warps]
        ready = waiting[missing & ~_bits(gang, waiting)[warps] == 0]
        if len(ready):
            _check_masks(gang, read_mask, ready)
            act(ready)
            gang.state[ready] = RUNS
            gang.place[ready] = place + 1
        # Where each of them goes on has been written already.
        return gang.place[lanes]

    return run


def _check_masks(gang, read_mask, ready):
    """Raise Fault where lanes that meet have not the same mask."""
    masks = np.broadcast_to(read_mask(ready), len(ready))
    first = np.zeros(gang.warp.max() + 1, np.uint32)
    first[gang.warp[ready]] = masks
    if (first[gang.warp[ready]] != masks).any():
        raise Fault(ready[0], "lanes that meet have different masks")


CONTROL = {
    "bra": bind_branch,
    "brx": bind_table,
    "ret": bind_end,
    "exit": bind_end,
    "trap": bind_trap,
    "nanosleep": bind_nothing,
    "membar": bind_nothing,
    "fence": bind_nothing,
    "bar": bind_barrier,
    "barrier": bind_barrier,
    "shfl": bind_shuffle,
    "vote": bind_vote,
    "redux": bind_reduction,
    "activemask": bind_active,
}
