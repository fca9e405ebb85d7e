"""The text of the kernel for one shape of job.

A query engine on a device is as fast as its inner loop is plain, so each shape (which maps, which
totals, where they are accumulated) has a kernel of its own, as Crystal has one for each query, but
written by the program. The rows of the runs are cut into units of four neighbouring rows, which one
thread loads at once: 16 bytes of a 4-byte column. A thread has several units in flight, and loads
the columns of all of them before it looks at the first.

    run     [6, 11)  -> units 1 and 2, rows 4 to 11, of which 4, 5 and 11 are masked
    tile    the units of a block at one time, numbered through all runs
    control what the host tells of the runs: which run a tile begins in, so that a thread
            looks for its own only among those of its tile

Where few rows pass, a thread goes from one that passes to the next, and reads what it adds row by
row: columns that no filter needs are read only there. Else it takes the rows of its units as they
come, four values at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from raydb.kernels.backends.aggregates import WORDS
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.kernels.backends.device_totals import Total

LANES = range(4)

Where = Literal["shared", "global", "list"]
Test = Literal["none", "word", "words", "bits"]

# Tests by bits in registers: in one of 32 bits, in two.
SHORT_TESTS: tuple[Test, ...] = ("word", "words")


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a kernel does with the codes of one map by row.

    test: how it learns whether a code passes: not at all, by the bits of one register or of two, or
        by bits in memory.
    adds: whether a code adds to the group; a part below zero then leaves the row out.
    """

    test: Test
    adds: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides a kernel's text.

    input_count: how many inputs the totals read.
    where: in shared memory or in global memory; `list` accumulates nothing, and writes the place
        and the group of every row.
    units: how many units a thread has in flight: 1, 2 or 4.
    is_sparse: whether few rows pass the tests.
    has_run_groups: whether runs have groups other than 0.
    """

    lookups: tuple[Lookup, ...]
    input_count: int
    totals: tuple[Total, ...]
    where: Where
    units: int
    is_sparse: bool = False
    has_run_groups: bool = True

    @property
    def by_run(self) -> bool:
        """Whether all rows of a run have one group: a thread then adds up in registers."""
        return not any(lookup.adds for lookup in self.lookups)

    @property
    def float_count(self) -> int:
        """How many totals are sums of floats."""
        return sum(total.kind == "float" for total in self.totals)

    def row_of(self, number: int) -> int:
        """Return the row of a total among the results: those of floats lie behind the others."""
        is_float = self.totals[number].kind == "float"
        before = sum((total.kind == "float") == is_float for total in self.totals[:number])
        return before if is_float else before + 1


def kernel_source(shape: Shape) -> str:
    """Return the kernel `fused` as Python text.

    Its arguments: control, where in it the first runs of tiles lie, how many tiles there are and
    how many a block gets, group_count and copies; of each map its codes and where in control its
    bits and its parts lie; the inputs; the rows and the totals, and those of floats.
    """
    arguments = ["control", "tiles", "tile_count", "block_tiles", "group_count", "copies"]
    for number, lookup in enumerate(shape.lookups):
        arguments += [f"codes{number}"]
        arguments += [f"test{number}"] if lookup.test != "none" else []
        arguments += [f"parts{number}"] if lookup.adds else []
    arguments += [f"input{number}" for number in range(shape.input_count)]
    arguments += ["out", *(["out_floats"] if shape.float_count else [])]
    lines = [
        f"def fused({', '.join(arguments)}):",
        "    tile = int32(cuda.blockIdx.x * block_tiles)",
        "    end_tile = int32(min(tile + block_tiles, tile_count))",
        *_indent(_begin(shape), 1),
        "    run = load_one(control, int32(tiles) + tile)",
        "    before, start, end, group = load_four(control, int32(4 * run))",
        "    run_end = end_of(before, start, end)",
        *(
            f"    mask{number} = load_{lookup.test}(control, test{number})"
            for number, lookup in enumerate(shape.lookups)
            if lookup.test in SHORT_TESTS
        ),
        "    while tile < end_tile:",
        "        last_run = load_one(control, int32(tiles) + tile + 1)",
        "        unit = int32(tile * TILE_UNITS + cuda.threadIdx.x)",
        "        tile = int32(tile + 1)",
        "        end_unit = int32(tile * TILE_UNITS)",
        "        while unit < end_unit:",
        *_indent(_find_units(shape), 3),
        *_indent(_load_codes(shape), 3),
        *_indent(_test_rows(shape), 3),
        *_indent(_list_rows(shape) if shape.where == "list" else _add_units(shape), 3),
        f"            unit = int32(unit + {shape.units} * THREADS)",
        *_indent(_end(shape), 1),
    ]
    return "\n".join(lines) + "\n"


def _indent(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]


def _begin(shape: Shape) -> list[str]:
    """Set the accumulators of a block, and of a thread, to what no rows have."""
    lines = []
    if shape.where == "shared":
        # The same bytes several times: words first, behind them the rows as 32-bit integers. Each
        # group is there as often as `copies` says, which neighbouring threads add to in turn.
        lines = [
            "words = cuda.shared.array(0, INT64)",
            "halves = cuda.shared.array(0, UINT32)",
            "floats = cuda.shared.array(0, FLOAT64)",
            "counts = cuda.shared.array(0, INT32)",
            "slots = int32(group_count * copies)",
            "copy = int32(cuda.threadIdx.x) & int32(copies - 1)",
            "slot = int32(cuda.threadIdx.x)",
            "while slot < slots:",
            f"    counts[uint32({2 * len(shape.totals)} * slots + slot)] = 0",
        ]
        for number, total in enumerate(shape.totals):
            lines.append(f"    words[uint32({number} * slots + slot)] = {total.neutral}")
        lines += ["    slot = int32(slot + THREADS)", "cuda.syncthreads()"]
    if shape.by_run and shape.where != "list":
        lines += ["held = int32(0)", *_forget(shape)]
    return lines


def _forget(shape: Shape) -> list[str]:
    """Set the accumulators of a thread to what no rows have."""
    lines = ["rows = int32(0)"]
    for number, total in enumerate(shape.totals):
        neutral = "0.0" if total.kind == "float" else f"int64({total.neutral})"
        lines.append(f"total{number} = {neutral}")
    return lines


def _find_units(shape: Shape) -> list[str]:
    """Find for each unit its place, the lanes that are rows of its run, and its run's group.

    Inside a long run all units are whole, and follow each other.
    """
    inside, found = [], []
    for unit in range(shape.units):
        number = "unit" if unit == 0 else f"int32(unit + {unit} * THREADS)"
        inside += [
            f"place{unit} = int32(place + {4 * unit} * THREADS)",
            f"lanes{unit} = int32(15)",
        ]
        found += [
            f"other = {number}",
            "if other >= run_end and run < last_run:",
            "    run = find_run(control, int32(run + 1), last_run, other)",
            "    before, start, end, group = load_four(control, int32(4 * run))",
            "    run_end = end_of(before, start, end)",
            f"place{unit} = int32((start & -4) + 4 * (other - before))",
            f"lanes{unit} = lanes_of(place{unit}, start, end)",
            # Beyond the last unit any row will do.
            f"place{unit} = place{unit} if lanes{unit} else int32(start & -4)",
        ]
        if shape.has_run_groups:
            inside.append(f"group{unit} = group")
            found.append(f"group{unit} = group")
    return [
        f"if before < unit and int32(unit + {shape.units - 1} * THREADS + 1) < run_end:",
        "    place = int32((start & -4) + 4 * (unit - before))",
        *_indent(inside, 1),
        "else:",
        *_indent(found, 1),
    ]


def _load_codes(shape: Shape) -> list[str]:
    """Load the codes of all units whose rows must all be looked up, before any is used."""
    lines = [
        f"codes{number}_{unit} = load_four(codes{number}, place{unit})"
        for number, lookup in enumerate(shape.lookups)
        if lookup.test != "none" or not shape.is_sparse
        for unit in range(shape.units)
    ]
    return [*lines, "await_loads()"] if lines else []


def _test_rows(shape: Shape) -> list[str]:
    """Leave the lanes that pass the tests."""
    lines = []
    for unit in range(shape.units):
        lanes = []
        for lane in LANES:
            bits = []
            for number, lookup in enumerate(shape.lookups):
                code = f"codes{number}_{unit}[{lane}]"
                if lookup.test in SHORT_TESTS:
                    bits.append(f"bit_of(mask{number}, {code})")
                elif lookup.test == "bits":
                    bits.append(f"bit_at(control, test{number}, {code})")
            lanes.append(" & ".join(bits))
        if lanes[0]:
            lines.append(f"lanes{unit} = int32(lanes{unit} & packed({', '.join(lanes)}))")
    return lines


def _group(shape: Shape, unit: int, lane: int) -> list[str]:
    """Look up the group of a row as `found`, below zero where it does not pass."""
    parts = []
    lines = []
    for number, lookup in enumerate(shape.lookups):
        if lookup.adds:
            code = f"codes{number}_{unit}[{lane}]"
            lines.append(f"part{number} = load_one(control, int32(parts{number}) + {code})")
            parts.append(f"part{number}")
    least = f"min({', '.join(parts)})" if len(parts) > 1 else "".join(parts)
    passes = f"lanes{unit} & {1 << lane}" + (f" and {least} >= 0" if parts else "")
    group = " + ".join([*([f"group{unit}"] if shape.has_run_groups else []), *parts]) or "0"
    return [*lines, f"found{unit}_{lane} = int32({group}) if {passes} else NONE"]


def _list_rows(shape: Shape) -> list[str]:
    lines = []
    for unit in range(shape.units):
        for lane in LANES:
            found = f"found{unit}_{lane}"
            lines += [
                *_group(shape, unit, lane),
                f"out[uint32(unit + {unit} * THREADS) * 4 + {lane}] = "
                f"listed({found}, place{unit} + {lane})",
            ]
    return lines


def _add_units(shape: Shape) -> list[str]:
    if shape.is_sparse:
        return _add_rows(shape)
    return _add_by_run(shape) if shape.by_run else _add_by_row(shape)


def _add_rows(shape: Shape) -> list[str]:
    """Go from one row that passes to the next."""
    units = range(shape.units)
    lanes = " | ".join(f"(lanes{unit} << {4 * unit})" for unit in units)
    places = ", ".join(f"place{unit}" for unit in units)
    groups = ", ".join(f"group{unit}" for unit in units)
    lines = [
        f"lanes = int32({lanes})",
        "while lanes:",
        "    lane = int32(cuda.ffs(lanes) - 1)",
        "    lanes = int32(lanes & (lanes - 1))",
        f"    place = int32(choose{shape.units}(lane >> 2, {places}) + (lane & 3))",
    ]
    if shape.has_run_groups:
        lines.append(f"    found = choose{shape.units}(lane >> 2, {groups})")
    elif not shape.by_run:
        lines.append("    found = int32(0)")
    for number, lookup in enumerate(shape.lookups):
        if lookup.adds:
            lines.append(f"    code{number} = load_one(codes{number}, place)")
    lines += [f"    value{n} = load_one(input{n}, place)" for n in range(shape.input_count)]
    for number, lookup in enumerate(shape.lookups):
        if lookup.adds:
            part = f"load_one(control, int32(parts{number}) + code{number})"
            lines.append(f"    found = int32(found + {part})")
    values = [f"value{number}" for number in range(shape.input_count)]
    if shape.by_run:
        lines += _indent([*_hold(shape, "found"), "rows = int32(rows + 1)"], 1)
        lines += _indent(_add_values(shape, values, "held"), 1)
    else:
        lines += _indent([_add(shape, -1, "1", "found"), *_add_values(shape, values, "found")], 1)
    return lines


def _load_inputs(shape: Shape) -> list[str]:
    """Load the inputs of the units in which a row passes; of others always the same row."""
    is_tested = any(lookup.test != "none" for lookup in shape.lookups)
    lines = []
    for unit in range(shape.units):
        place = f"place{unit}"
        if is_tested:
            lines.append(f"place{unit} = place{unit} if lanes{unit} else int32(start & -4)")
        lines += [
            f"values{number}_{unit} = load_four(input{number}, {place})"
            for number in range(shape.input_count)
        ]
    return lines


def _add_by_run(shape: Shape) -> list[str]:
    """Add up in registers, as long as the group stays the same."""
    lines = _load_inputs(shape)
    for unit in range(shape.units):
        lines += [
            f"if lanes{unit}:",
            *_indent(_hold(shape, f"group{unit}"), 1),
            f"    rows = int32(rows + cuda.popc(lanes{unit}))",
        ]
        for lane in LANES if shape.totals else ():
            values = [f"values{number}_{unit}[{lane}]" for number in range(shape.input_count)]
            lines += [
                f"    if lanes{unit} & {1 << lane}:",
                *_indent(_add_values(shape, values, "held"), 2),
            ]
    return lines


def _hold(shape: Shape, group: str) -> list[str]:
    """Write what a thread holds where another group begins."""
    if not shape.has_run_groups:
        return []
    return [f"if {group} != held:", *_indent(_flush(shape), 1), f"    held = {group}"]


def _flush(shape: Shape) -> list[str]:
    """Add what a thread holds to its group's accumulators."""
    lines = ["if rows > 0:", f"    {_add(shape, -1, 'rows', 'held')}"]
    lines += [
        f"    {_add(shape, number, f'total{number}', 'held')}"
        for number in range(len(shape.totals))
    ]
    return [*lines, *_indent(_forget(shape), 1)]


def _add_by_row(shape: Shape) -> list[str]:
    """Look up all groups, load the inputs of units with a row that passes, and add its values."""
    lines = []
    for unit in range(shape.units):
        for lane in LANES:
            lines += _group(shape, unit, lane)
        found = " & ".join(f"found{unit}_{lane}" for lane in LANES)
        # All are below zero, where none passes.
        lines.append(f"lanes{unit} = lanes{unit} if ({found}) >= 0 else int32(0)")
    lines += _load_inputs(shape)
    for unit in range(shape.units):
        for lane in LANES:
            found = f"found{unit}_{lane}"
            values = [f"values{number}_{unit}[{lane}]" for number in range(shape.input_count)]
            lines += [
                f"if {found} >= 0:",
                f"    {_add(shape, -1, '1', found)}",
                *_indent(_add_values(shape, values, found), 1),
            ]
    return lines


def _add_values(shape: Shape, values: list[str], group: str) -> list[str]:
    """Add a row's values to all totals: to those of a thread where a run has one group."""
    lines = []
    for number, total in enumerate(shape.totals):
        value = _value(total, values)
        if not shape.by_run:
            added = _add(shape, number, value, group)
        else:
            added = f"total{number} = {WORDS[total.kind].both.format(f'total{number}', value)}"
        if total.valid is None:
            lines.append(added)
        else:
            lines += [f"if {values[total.valid]}:", f"    {added}"]
    return lines


def _value(total: Total, values: list[str]) -> str:
    """Return what a row adds to a total."""
    value = values[total.input]
    return f"ordered({value})" if total.ordered else WORDS[total.kind].cuda.format(value)


def _word(shape: Shape, number: int, group: str) -> tuple[str, str]:
    """Return the array and the place of a total's accumulator."""
    is_float = shape.totals[number].kind == "float"
    if shape.where == "global":
        place = f"uint64(int64({shape.row_of(number)} * group_count) + {group})"
        return "out_floats" if is_float else "out", place
    place = f"uint32(int32({number} * slots) + {group} * int32(copies) + copy)"
    return "floats" if is_float else "words", place


def _add(shape: Shape, number: int, value: str, group: str) -> str:
    """Return the statement that adds to a total's accumulator; -1 is the number of rows."""
    if number < 0:
        if shape.where == "global":
            return f"cuda.atomic.add(out, uint64({group}), int64({value}))"
        place = f"int32({2 * len(shape.totals)} * slots) + {group} * int32(copies) + copy"
        return f"cuda.atomic.add(counts, uint32({place}), int32({value}))"
    array, place = _word(shape, number, group)
    function = WORDS[shape.totals[number].kind].atomic
    if array == "words" and function == "add":
        return f"add_word(words, halves, {place}, {value})"
    return f"cuda.atomic.{function}({array}, {place}, {value})"


def _end(shape: Shape) -> list[str]:
    """Bring what a thread holds to its block's accumulators, and those of a block to memory."""
    lines = _flush(shape) if shape.by_run and shape.where != "list" else []
    if shape.where != "shared":
        return lines
    lines += [
        "cuda.syncthreads()",
        "slot = int32(cuda.threadIdx.x)",
        "while slot < int32(group_count):",
        *_indent(_forget(shape), 1),
        "    first = int32(slot * copies)",
        "    for place in range(first, int32(first + copies)):",
        f"        rows += counts[uint32({2 * len(shape.totals)} * slots + place)]",
    ]
    adds = []
    for number, total in enumerate(shape.totals):
        array, name = ("floats", "out_floats") if total.kind == "float" else ("words", "out")
        found = f"{array}[uint32({number} * slots + place)]"
        lines.append(
            f"        total{number} = {WORDS[total.kind].both.format(f'total{number}', found)}"
        )
        place = f"uint32({shape.row_of(number)} * group_count + slot)"
        adds.append(
            f"        cuda.atomic.{WORDS[total.kind].atomic}({name}, {place}, total{number})"
        )
    return [
        *lines,
        "    if rows > 0:",
        "        cuda.atomic.add(out, uint32(slot), int64(rows))",
        *adds,
        "    slot = int32(slot + THREADS)",
    ]
