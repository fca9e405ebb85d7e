"""Instructions of the PTX machine that compute, load and store: `BINDERS`.

Each binder turns an instruction into a function of the lanes that run it, over the registers of a
gang. An operand has exactly the width of its type, but for those that PTX lets be wider.
"""

import re

import numpy as np
from ptx_arithmetic import TYPES, operation
from ptx_memory import LOCAL_WINDOW, SHARED_WINDOW
from ptx_text import WIDTHS

WARP = 32

# How an access is cached, ordered or seen changes nothing here.
UNSEEN = {"volatile", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "cta", "gpu", "sys"} | {
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
}
SPACES = ("global", "shared", "local", "param", "const")


def source(gang, text, kind, loose=False):
    """Return what reads an operand as a type; a wider register only where it may be one."""
    dtype = TYPES[kind]
    if text in gang.special:
        array = gang.special[text]
    elif text.lstrip("!") in gang.registers:
        array = gang.registers[text.lstrip("!")]
        if kind == "pred":
            negated = text.startswith("!")
            return (lambda lanes: ~array[lanes]) if negated else (lambda lanes: array[lanes])
    elif text in gang.symbols:
        value = np.uint64(gang.symbols[text][1])
        return lambda lanes: np.full(len(lanes), value).astype(dtype)
    else:
        value = constant(text, dtype)
        return lambda lanes: value
    if array.dtype == bool:
        raise ValueError(f"{text} is a predicate")
    if array.itemsize == dtype.itemsize:
        view = array.view(dtype)
        return lambda lanes: view[lanes]
    if not loose or array.itemsize < dtype.itemsize:
        raise ValueError(f"{text} is no register of {kind}")
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda lanes: array[lanes].astype(unsigned).view(dtype)


def target(gang, text, kind, loose=False):
    """Return what writes a register; a wider one is filled by the sign, or with zeros."""
    if text == "_":
        return lambda lanes, values: None
    array, dtype = gang.registers[text], TYPES[kind]
    if (array.dtype == bool) != (kind == "pred"):
        raise ValueError(f"{text} is no register of {kind}")
    if array.itemsize == dtype.itemsize:
        view = array.view(dtype)

        def write(lanes, values):
            view[lanes] = values

        return write
    if not loose or array.itemsize < dtype.itemsize:
        raise ValueError(f"{text} is no register of {kind}")
    wide = array.view(f"i{array.itemsize}") if kind[0] == "s" else array

    def widen(lanes, values):
        wide[lanes] = values

    return widen


def constant(text, dtype):
    """Return an immediate as a value of a type."""
    if text == "WARP_SZ":
        return dtype.type(WARP)
    if found := re.fullmatch(r"0([fF][0-9a-fA-F]{8}|[dD][0-9a-fA-F]{16})", text):
        width = (len(found[1]) - 1) // 2
        value = np.array(int(found[1][1:], 16), f"u{width}").view(f"f{width}")
        return value.astype(dtype)[()]
    bits = np.array(int(text.rstrip("U"), 0) % 2 ** (8 * dtype.itemsize), f"u{dtype.itemsize}")
    return bits.view(dtype)[()]


def bind_operation(gang, instruction):
    function, kinds, result = operation(instruction.parts)
    to, *operands = instruction.operands
    loose = instruction.parts[0] == "cvt"
    read_all = [source(gang, *pair, loose) for pair in zip(operands, kinds, strict=True)]
    write = target(gang, to, result, loose)

    def run(lanes, _):
        write(lanes, function(*(read_one(lanes) for read_one in read_all)))

    return run


def bind_comparison(gang, instruction):
    """setp: one or two results, the other one negated, each combined with a predicate."""
    combines = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    how = next((part for part in instruction.parts[2:] if part in combines), None)
    parts = tuple(part for part in instruction.parts if part not in combines)
    function, kinds, _ = operation(parts)
    to, first, second, *other = instruction.operands
    writes = [target(gang, name, "pred") for name in to.split("|")]
    reads = source(gang, first, kinds[0]), source(gang, second, kinds[1])
    combined = source(gang, *other, "pred") if how else None

    def run(lanes, _):
        found = function(*(read_one(lanes) for read_one in reads))
        for write, value in zip(writes, (found, np.invert(found)), strict=False):
            write(lanes, combines[how](value, combined(lanes)) if how else value)

    return run


def bind_move(gang, instruction):
    kind = instruction.parts[-1]
    to, operand = instruction.operands
    if not (to.startswith("{") or operand.startswith("{")):
        read_one, write = source(gang, operand, kind), target(gang, to, kind)

        def move(lanes, _):
            write(lanes, read_one(lanes))

        return move
    names = _names(to if to.startswith("{") else operand)
    part = f"b{8 * WIDTHS[kind] // len(names)}"
    if to.startswith("{"):
        writes, whole = [target(gang, name, part) for name in names], source(gang, operand, kind)

        def unpack(lanes, _):
            pieces = np.ascontiguousarray(whole(lanes)).view(TYPES[part]).reshape(-1, len(names))
            for write, values in zip(writes, pieces.T, strict=True):
                write(lanes, values)

        return unpack
    reads, write = [source(gang, name, part) for name in names], target(gang, to, kind)

    def pack(lanes, _):
        pieces = np.empty((len(lanes), len(names)), TYPES[part])
        for place, read_one in enumerate(reads):
            pieces[:, place] = read_one(lanes)
        write(lanes, pieces.view(TYPES[kind])[:, 0])

    return pack


def _names(text):
    return [name.strip() for name in text.strip("{}").split(",")]


def bind_address(gang, instruction):
    """cvta: an address of a space as a generic one, or back. Global ones are the same."""
    _, *parts, kind = instruction.parts
    base = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0}[parts[-1]]
    sign = -1 if parts[0] == "to" else 1
    to, operand = instruction.operands
    read_one, write = source(gang, operand, kind), target(gang, to, kind)
    change = np.uint64(sign * base % 2**64)

    def run(lanes, _):
        write(lanes, read_one(lanes) + change)

    return run


def _access(gang, instruction):
    """Return (space, how many, type, other modifiers) of an access to memory."""
    parts = [
        p for p in instruction.parts[1:-1] if p not in UNSEEN and not p.startswith(("L1", "L2"))
    ]
    space = next((p for p in parts if p in SPACES), "generic")
    count = next((int(p[1]) for p in parts if p in {"v2", "v4"}), 1)
    kind = instruction.parts[-1]
    if WIDTHS[kind] * count > 16:
        raise ValueError("wider than 16 bytes")
    rest = [p for p in parts if p not in SPACES and p not in {"v2", "v4"}]
    return space, count, kind, rest


def address_of(gang, text):
    """Return what reads an address: a register or a variable, and what is added."""
    base, sign, more = re.fullmatch(r"\[([\w$%.]+)\s*(?:([+-])\s*(-?\d+))?\]", text).groups()
    offset = np.uint64(int(f"{sign or '+'}1") * int(more or 0) % 2**64)
    if base in gang.registers:
        width = gang.registers[base].itemsize
        read_one = source(gang, base, f"u{8 * width}")
        return lambda lanes: read_one(lanes).astype(np.uint64) + offset
    read_one = source(gang, base, "u64")
    return lambda lanes: np.full(len(lanes), read_one(lanes), np.uint64) + offset


def bind_load(gang, instruction):
    space, count, kind, rest = _access(gang, instruction)
    if rest:
        raise ValueError(rest)
    to, address = instruction.operands
    writes = [target(gang, name, kind, loose=True) for name in _names(to)]
    read_address, dtype = address_of(gang, address), TYPES[kind]
    width = count * dtype.itemsize
    assert len(writes) == count

    def run(lanes, _):
        values = np.empty((count, len(lanes)), dtype)
        for memory, buffer, offsets, which in gang.pieces(space, lanes, read_address(lanes), width):
            gang.note(memory, buffer, "read", lanes[which], offsets, width)
            typed, first = buffer.view(dtype), offsets // dtype.itemsize
            for place in range(count):
                values[place, which] = typed[first + place]
        for write, value in zip(writes, values, strict=True):
            write(lanes, value)

    return run


def bind_store(gang, instruction):
    space, count, kind, rest = _access(gang, instruction)
    if rest or space in {"const", "param"}:
        raise ValueError(rest)
    address, operand = instruction.operands
    reads = [source(gang, name, kind, loose=True) for name in _names(operand)]
    read_address, dtype = address_of(gang, address), TYPES[kind]
    width = count * dtype.itemsize
    assert len(reads) == count

    def run(lanes, _):
        for memory, buffer, offsets, which in gang.pieces(space, lanes, read_address(lanes), width):
            gang.note(memory, buffer, "write", lanes[which], offsets, width)
            typed, first = buffer.view(dtype), offsets // dtype.itemsize
            for place, read_one in enumerate(reads):
                values = read_one(lanes)
                typed[first + place] = values[which] if np.ndim(values) else values

    return run


ATOMICS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def bind_atomic(gang, instruction):
    """atom and red; threads that meet at one place take turns in an order of chance."""
    space, _, kind, (how,) = _access(gang, instruction)
    to = instruction.operands[0] if instruction.parts[0] == "atom" else "_"
    address, *operands = instruction.operands[instruction.parts[0] == "atom" :]
    reads, dtype = [source(gang, each, kind) for each in operands], TYPES[kind]
    read_address = address_of(gang, address)
    # Most compilers name a register for what was there before, and never read it.
    uses = sum(
        len(re.findall(rf"{re.escape(to)}\b", each.text)) for each in gang.kernel.instructions
    )
    write = target(gang, to, kind)
    if how not in {*ATOMICS, "exch", "cas"} or (how in {"min", "max"} and kind[0] == "f"):
        raise ValueError(how)

    def run(lanes, _):
        values = [np.broadcast_to(read_one(lanes), len(lanes)) for read_one in reads]
        old = np.empty(len(lanes), dtype)
        for memory, buffer, offsets, which in gang.pieces(
            space, lanes, read_address(lanes), dtype.itemsize
        ):
            gang.note(memory, buffer, "atomic", lanes[which], offsets, dtype.itemsize)
            some, places = [each[which] for each in values], offsets // dtype.itemsize
            typed = buffer.view(dtype)
            if how in ATOMICS and (to == "_" or uses == 1):
                ATOMICS[how].at(typed, places, some[0])
            else:
                old[which] = _in_turn(gang.rng, how, typed, places, some)
        write(lanes, old)

    return run


def _in_turn(rng, how, typed, places, values):
    """Do atomics one after the other; return what each found."""
    found = np.empty(len(places), typed.dtype)
    left = rng.permutation(len(places))
    while len(left):
        _, firsts = np.unique(places[left], return_index=True)
        turn = left[firsts]
        at = places[turn]
        old = found[turn] = typed[at]
        match how:
            case "exch":
                typed[at] = values[0][turn]
            case "cas":
                typed[at] = np.where(old == values[0][turn], values[1][turn], old)
            case _:
                typed[at] = ATOMICS[how](old, values[0][turn])
        left = np.delete(left, firsts)
    return found


BINDERS = {
    "mov": bind_move,
    "cvta": bind_address,
    "ld": bind_load,
    "ldu": bind_load,
    "st": bind_store,
    "atom": bind_atomic,
    "red": bind_atomic,
    "setp": bind_comparison,
}
