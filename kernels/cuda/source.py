"""The text of the kernel for one shape of job.

A query engine on a device is as fast as its inner loop is plain, so each shape (which maps, which
totals, where they are accumulated) has a kernel of its own, as Crystal has one for each query, but
written by the program. The rows of the runs are cut into units of four neighbouring rows, which one
thread loads at once: 16 bytes of a 4-byte column.

    run     [6, 11)  -> units 1 and 2, rows 4 to 11, of which 4, 5 and 11 are masked
    bounds  units before each run; a thread finds its run by binary search, then walks on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from raydb.kernels.device_totals import Total

LANES = range(4)

Where = Literal["register", "shared", "global", "list"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides a kernel's text.

    maps: for each map by row whether its codes are signed: then -1 is the last code.
    input_count: how many inputs the totals read.
    where: in registers (one group), in shared memory, or in global memory; `list` accumulates
        nothing, and writes the place and the group of every row that passes.
    """

    maps: tuple[bool, ...]
    input_count: int
    totals: tuple[Total, ...]
    where: Where

    @property
    def word_count(self) -> int:
        """Words of shared memory for a group, the number of its rows not counted."""
        return len(self.totals)


def kernel_source(shape: Shape) -> str:
    """Return the kernel `fused` as Python text.

    Its arguments: starts, ends, groups and bounds of the runs, units_a_block, group_count; codes
    and parts of each map; the inputs; rows and the words of each total, or places and groups.
    """
    arguments = ["starts", "ends", "run_groups", "bounds", "units_a_block", "group_count"]
    for number in range(len(shape.maps)):
        arguments += [f"codes{number}", f"parts{number}"]
    arguments += [f"input{number}" for number in range(shape.input_count)]
    if shape.where == "list":
        arguments += ["out_places", "out_groups"]
    else:
        arguments += ["out_rows", *(f"out{number}" for number in range(len(shape.totals)))]
    lines = [
        f"def fused({', '.join(arguments)}):",
        "    first = cuda.blockIdx.x * units_a_block",
        "    last = min(first + units_a_block, bounds[len(bounds) - 1])",
        *_indent(_begin(shape), 1),
        "    unit = first + cuda.threadIdx.x",
        "    run = find_run(bounds, unit)",
        "    while unit < last:",
        "        while bounds[run + 1] <= unit:",
        "            run += 1",
        "        low = starts[run]",
        "        high = ends[run]",
        "        base = ((low >> 2) + unit - bounds[run]) << 2",
        "        group = run_groups[run]",
        *(
            f"        group{lane} = group if low <= base + {lane} < high else NONE"
            for lane in LANES
        ),
        *_indent(_map_rows(shape), 2),
        *_indent(_list_rows() if shape.where == "list" else _add_rows(shape), 2),
        "        unit += cuda.blockDim.x",
        *_indent(_end(shape), 1),
    ]
    return "\n".join(lines) + "\n"


def _indent(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]


def _begin(shape: Shape) -> list[str]:
    """Set the accumulators of a block, or of a thread, to what no rows have."""
    lines = []
    if shape.where in {"register", "shared"}:
        # The same bytes three times: words first, behind them the rows as 32-bit integers, so that
        # 4,096 groups with one total fill 48 KiB.
        lines = [
            "words = cuda.shared.array(0, INT64)",
            "floats = cuda.shared.array(0, FLOAT64)",
            "counts = cuda.shared.array(0, INT32)",
            "slot = cuda.threadIdx.x",
            "while slot < group_count:",
            f"    counts[{2 * shape.word_count} * group_count + slot] = 0",
        ]
        for number, total in enumerate(shape.totals):
            lines.append(f"    words[{number} * group_count + slot] = {total.neutral}")
        lines += ["    slot += cuda.blockDim.x", "cuda.syncthreads()"]
    if shape.where == "register":
        lines.append("rows = 0")
        for number, total in enumerate(shape.totals):
            neutral = "0.0" if total.kind == "float" else f"int64({total.neutral})"
            lines.append(f"total{number} = {neutral}")
    return lines


def _map_rows(shape: Shape) -> list[str]:
    """Look up the group part of each row's code; a negative one leaves the row out."""
    lines = []
    for number, is_signed in enumerate(shape.maps):
        lines.append(f"four = load_four(codes{number}, base)")
        for lane in LANES:
            index = f"int64(four[{lane}])"
            if is_signed:
                index = f"wrapped({index}, len(parts{number}))"
            lines += [
                f"if group{lane} >= 0:",
                f"    part = parts{number}[{index}]",
                f"    group{lane} = group{lane} + part if part >= 0 else NONE",
            ]
    return lines


def _list_rows() -> list[str]:
    lines = []
    for lane in LANES:
        lines += [
            f"out_places[unit * 4 + {lane}] = base + {lane}",
            f"out_groups[unit * 4 + {lane}] = group{lane}",
        ]
    return lines


def _add_rows(shape: Shape) -> list[str]:
    """Load the inputs of four rows where one of them passes, and add those that do."""
    lines = ["if group0 >= 0 or group1 >= 0 or group2 >= 0 or group3 >= 0:"]
    lines += [
        f"    four{number} = load_four(input{number}, base)" for number in range(shape.input_count)
    ]
    for lane in LANES:
        lines += [f"    if group{lane} >= 0:", f"        {_add(shape, 'rows', -1, '1', lane)}"]
        for number, total in enumerate(shape.totals):
            value = _value(total, lane)
            added = _add(shape, total.kind, number, value, lane)
            if total.valid is None:
                lines.append(f"        {added}")
            else:
                lines += [f"        if four{total.valid}[{lane}]:", f"            {added}"]
    return lines


def _value(total: Total, lane: int) -> str:
    """Return what a row adds to a total."""
    value = f"four{total.input}[{lane}]"
    if total.ordered:
        return f"ordered({value})"
    match total.kind:
        case "float":
            return value
        case "high":
            return f"(int64({value}) >> 32)"
        case "low":
            return f"(int64({value}) & 0xFFFFFFFF)"
        case _:
            return f"int64({value})"


def _add(shape: Shape, kind: str, number: int, value: str, lane: int) -> str:
    """Return the statement that adds a row's value to total `number`; -1 is the number of rows."""
    least_or_most = {"least": "min", "most": "max"}.get(kind)
    if shape.where == "register":
        name = "rows" if number < 0 else f"total{number}"
        if least_or_most:
            return f"{name} = {least_or_most}({name}, {value})"
        return f"{name} += {value}"
    operation = f"cuda.atomic.{least_or_most or 'add'}"
    group = f"group{lane}"
    if shape.where == "global":
        return f"{operation}({'out_rows' if number < 0 else f'out{number}'}, {group}, {value})"
    return _shared(shape, operation, kind, number, group, value)


def _shared(shape: Shape, operation: str, kind: str, number: int, group: str, value: str) -> str:
    if number < 0:
        base = 2 * shape.word_count
        return f"{operation}(counts, {base} * group_count + {group}, int32({value}))"
    words = "floats" if kind == "float" else "words"
    return f"{operation}({words}, {number} * group_count + {group}, {value})"


def _end(shape: Shape) -> list[str]:
    """Bring a thread's totals to its block's, and those of a block to memory."""
    if shape.where in {"global", "list"}:
        return []
    lines = []
    if shape.where == "register":
        lines += [
            "if rows > 0:",
            f"    {_shared(shape, 'cuda.atomic.add', 'rows', -1, '0', 'rows')}",
        ]
        for number, total in enumerate(shape.totals):
            name = {"least": "min", "most": "max"}.get(total.kind, "add")
            added = _shared(shape, f"cuda.atomic.{name}", total.kind, number, "0", f"total{number}")
            lines.append(f"    {added}")
    lines += [
        "cuda.syncthreads()",
        "slot = cuda.threadIdx.x",
        "while slot < group_count:",
        f"    found = int64(counts[{2 * shape.word_count} * group_count + slot])",
        "    if found > 0:",
        "        cuda.atomic.add(out_rows, slot, found)",
    ]
    for number, total in enumerate(shape.totals):
        name = {"least": "min", "most": "max"}.get(total.kind, "add")
        words = "floats" if total.kind == "float" else "words"
        added = f"cuda.atomic.{name}(out{number}, slot, {words}[{number} * group_count + slot])"
        lines.append(f"        {added}")
    lines.append("    slot += cuda.blockDim.x")
    return lines
