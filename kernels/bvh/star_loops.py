"""The compiled loop of a star that is known but for its constants: from ranks of values to runs.

What `planner.stars.fuse`, `intervals.cell_intervals` and the CPU's `find_runs` do with arrays, one
step after the other, is done in one pass here: each of some fifty calls of NumPy takes longer than
the thousand codes or cells that it is about.

codes lie side by side, those of one hierarchy behind those of another; so do coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np

from raydb.kernels.jit import entry, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

# The columns of the table of hierarchies: where its codes and coordinates begin and how many there
# are, and the distance in cells between two coordinates.
CODES, CODE_COUNT, AXIS, AXIS_COUNT, STRIDE = range(5)

# The columns of the table of the parts of a group number: the hierarchy, which row of the codes has
# their tuples, where these begin and how many there are.
OWNER, NUMBERS, TUPLES, TUPLE_COUNT = range(4)

# The columns of the table of comparisons: the number of its predicate, its hierarchy, where the
# ranks of its attribute begin, the branch of OR that it is of, and the ranks that it lets pass,
# from the first to before the end. Those of branches come first, all others are of branch -1.
PREDICATE, HIERARCHY, RANKS, BRANCH, FIRST, END = range(6)

# What a job looks up for a hierarchy: nothing, what a cell tells, what the stored code of a row
# tells, and that where it may drop the row.
NOTHING, BY_CELL, BY_ROW, BY_ROW_DROPPING = range(4)

# A job has no more groups, and reads no more ranges of cells, or another way is taken.
MOST_GROUPS = 2**22
MOST_STEPS = 2**16

# What became of it. MIXED: rows of a cell differ in what OR over several hierarchies asks.
DONE, TOO_MANY_GROUPS, TOO_MANY_CELLS, MIXED = range(4)


@leaf
def _keep_compared(
    compared: Integers, hierarchies: Integers, ranks: NDArray[np.int32], passing: Integers
) -> None:
    """Keep in each code the branches whose predicates it passes; it has to pass all of a branch.

    It passes a predicate that passes one of its comparisons, which lie together. passing: a bit for
    each branch.
    """
    first = 0
    while first < len(compared):
        end = first + 1
        while end < len(compared) and compared[end, PREDICATE] == compared[first, PREDICATE]:
            end += 1
        hierarchy = compared[first, HIERARCHY]
        begin, bit = hierarchies[hierarchy, CODES], 1 << max(compared[first, BRANCH], 0)
        for code in range(hierarchies[hierarchy, CODE_COUNT]):
            if passing[begin + code] & bit != 0:
                passes = False
                for row in range(first, end):
                    rank = ranks[compared[row, RANKS] + code]
                    if compared[row, FIRST] <= rank < compared[row, END]:
                        passes = True
                        break
                if not passes:
                    passing[begin + code] &= ~bit
        first = end


@leaf
def _branches_with_codes(hierarchies: Integers, branches: Integers) -> int:
    """Return the branches that have codes in every hierarchy."""
    alive: int = -1
    for hierarchy in range(len(hierarchies)):
        begin, some = hierarchies[hierarchy, CODES], 0
        for code in range(begin, begin + hierarchies[hierarchy, CODE_COUNT]):
            some |= branches[code]
        alive &= some
    return alive


@leaf
def _keep_allowed(
    compared: Integers,
    hierarchies: Integers,
    ranks: NDArray[np.int32],
    allowed: Integers,
    branches: Integers,
) -> int:
    """Keep the codes that pass all predicates, as far as each tells alone; return what OR leaves.

    These are the branches that some codes pass.
    """
    split = 0
    while split < len(compared) and compared[split, BRANCH] >= 0:
        split += 1
    _keep_compared(compared[split:], hierarchies, ranks, allowed)
    if len(branches) == 0:
        return 1
    _keep_compared(compared[:split], hierarchies, ranks, branches)
    alive: int = _branches_with_codes(hierarchies, branches)
    for code in range(len(allowed)):
        if branches[code] & alive == 0:
            allowed[code] = 0
    return alive


@leaf
def _branches_of_axes(
    hierarchies: Integers,
    coordinates: NDArray[np.int32],
    branches: Integers,
    alive: int,
    axis_branches: Integers,
) -> bool:
    """Reduce the branches of codes to coordinates; tell whether all codes of each have the same."""
    for hierarchy in range(len(hierarchies)):
        begin, axis = hierarchies[hierarchy, CODES], hierarchies[hierarchy, AXIS]
        for place in range(axis, axis + hierarchies[hierarchy, AXIS_COUNT]):
            axis_branches[place] = 0
        last = -1
        for code in range(begin, begin + hierarchies[hierarchy, CODE_COUNT]):
            place = axis + coordinates[code]
            own = branches[code] & alive
            # Codes of a coordinate lie together.
            if place == last and axis_branches[place] != own:
                return False
            axis_branches[place], last = own, place
    return True


@leaf
def _number_groups(
    hierarchies: Integers,
    keyed: Integers,
    codes: NDArray[np.int32],
    allowed: Integers,
    parts: Integers,
    chosen: Integers,
    counts: Integers,
) -> int:
    """Number the key tuples of the codes that are allowed; return how many groups there are.

    parts: becomes what each code adds to the group, -1 where it is not allowed. chosen, counts:
    the tuples of each part that occur, and how many they are. -1 where there are too many.
    """
    for hierarchy in range(len(hierarchies)):
        begin = hierarchies[hierarchy, CODES]
        for code in range(begin, begin + hierarchies[hierarchy, CODE_COUNT]):
            parts[code] = 0 if allowed[code] else -1
    stride = 1
    for part in range(len(keyed)):
        hierarchy, row = keyed[part, OWNER], keyed[part, NUMBERS]
        begin, first = hierarchies[hierarchy, CODES], keyed[part, TUPLES]
        end, count = begin + hierarchies[hierarchy, CODE_COUNT], 0
        for place in range(first, first + keyed[part, TUPLE_COUNT]):
            chosen[place] = -1
        for code in range(begin, end):
            if allowed[code]:
                chosen[first + codes[row, code]] = 0
        for place in range(first, first + keyed[part, TUPLE_COUNT]):
            if chosen[place] == 0:
                chosen[place] = count
                count += 1
        for code in range(begin, end):
            if allowed[code]:
                parts[code] += chosen[first + codes[row, code]] * stride
        place = first
        for number in range(keyed[part, TUPLE_COUNT]):
            if chosen[first + number] >= 0:
                chosen[place] = number
                place += 1
        counts[part] = count
        stride *= max(count, 1)
        if stride > MOST_GROUPS:
            return -1
    return stride


@leaf
def _reduce_to_axes(
    hierarchies: Integers,
    coordinates: NDArray[np.int32],
    parts: Integers,
    axis_parts: Integers,
    ways: Integers,
) -> None:
    """Reduce what codes say to coordinates, where all codes of each one say the same.

    axis_parts: becomes what each coordinate adds to the group, -1 where none of its codes is
    allowed. ways: becomes what has to be looked up.
    """
    for hierarchy in range(len(hierarchies)):
        begin, axis = hierarchies[hierarchy, CODES], hierarchies[hierarchy, AXIS]
        end, axis_end = begin + hierarchies[hierarchy, CODE_COUNT], axis
        axis_end += hierarchies[hierarchy, AXIS_COUNT]
        for place in range(axis, axis_end):
            axis_parts[place] = -2
        differ, drops = False, False
        for code in range(begin, end):
            place = axis + coordinates[code]
            if axis_parts[place] == -2:
                axis_parts[place] = parts[code]
            elif axis_parts[place] != parts[code]:
                differ = True
                drops |= axis_parts[place] < 0 or parts[code] < 0
                axis_parts[place] = max(axis_parts[place], parts[code])
        has_parts = False
        for place in range(axis, axis_end):
            if axis_parts[place] == -2:
                axis_parts[place] = -1
            if differ and axis_parts[place] > 0:
                axis_parts[place] = 0
            has_parts |= axis_parts[place] > 0
        ways[hierarchy] = NOTHING
        if differ:
            ways[hierarchy] = BY_ROW_DROPPING if drops else BY_ROW
        elif has_parts:
            ways[hierarchy] = BY_CELL


@leaf
def _share_passing(
    hierarchies: Integers,
    coordinates: NDArray[np.int32],
    parts: Integers,
    axis_parts: Integers,
    ways: Integers,
) -> float:
    """Return which share of the rows the stored codes let pass, if all codes are as frequent."""
    share = 1.0
    for hierarchy in range(len(hierarchies)):
        if ways[hierarchy] == BY_ROW_DROPPING:
            begin, axis = hierarchies[hierarchy, CODES], hierarchies[hierarchy, AXIS]
            passing, touched = 0, 0
            for code in range(begin, begin + hierarchies[hierarchy, CODE_COUNT]):
                passing += parts[code] >= 0
                touched += axis_parts[axis + coordinates[code]] >= 0
            share *= passing / max(touched, 1)
    return share


@leaf
def _list_steps(
    hierarchies: Integers,
    axis_parts: Integers,
    axis_branches: Integers,
    alive: int,
    steps: Integers,
    firsts: Integers,
) -> int:
    """List the coordinates that are allowed; return the last hierarchy that says anything.

    steps: becomes (first, end, part, branches) of them, those of hierarchy h from firsts[h] to
    firsts[h + 1]; of the last one neighbours that say the same are one step.
    """
    last = -1
    for hierarchy in range(len(hierarchies)):
        axis = hierarchies[hierarchy, AXIS]
        for place in range(axis, axis + hierarchies[hierarchy, AXIS_COUNT]):
            if axis_parts[place] != 0 or axis_branches[place] != alive:
                last = hierarchy
    count = 0
    # Where none does, all of the first one is one step.
    last = max(last, 0)
    for hierarchy in range(last + 1):
        firsts[hierarchy] = count
        axis = hierarchies[hierarchy, AXIS]
        for place in range(hierarchies[hierarchy, AXIS_COUNT]):
            part, own = axis_parts[axis + place], axis_branches[axis + place]
            if part < 0:
                continue
            before = count - 1
            if (
                hierarchy == last
                and before >= firsts[hierarchy]
                and steps[before, 1] == place
                and steps[before, 2] == part
                and steps[before, 3] == own
            ):
                steps[before, 1] = place + 1
            else:
                steps[count, 0], steps[count, 1] = place, place + 1
                steps[count, 2], steps[count, 3] = part, own
                count += 1
    firsts[last + 1] = count
    return last


@leaf
def _entry_of(cell: int, cells: Integers, low: int) -> int:
    """Return the first place, from `low` on, of a cell that is not before this one."""
    high = len(cells)
    while low < high:
        middle = (low + high) // 2
        if cells[middle] < cell:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def _walk(
    hierarchies: Integers,
    steps: Integers,
    firsts: Integers,
    places: Integers,
    cells: Integers,
    offsets: Integers,
    table: Integers,
    intervals: Integers,
) -> tuple[int, int, int]:
    """Put the runs and the intervals of all combinations of steps into arrays that have the room.

    places: the step of each hierarchy, the first one of all. Returns how many runs, intervals and
    rows there are.
    """
    last = len(firsts) - 2
    runs, interval_count, rows, place = 0, 0, 0, 0
    while True:
        base, group, branches = 0, 0, -1
        for hierarchy in range(last):
            step = places[hierarchy]
            base += steps[step, 0] * hierarchies[hierarchy, STRIDE]
            group += steps[step, 2]
            branches &= steps[step, 3]
        for step in range(firsts[last], firsts[last + 1]):
            if branches & steps[step, 3] == 0:
                continue
            low = base + steps[step, 0] * hierarchies[last, STRIDE]
            high = base + steps[step, 1] * hierarchies[last, STRIDE]
            if interval_count and intervals[interval_count - 1, 1] == low:
                intervals[interval_count - 1, 1] = high
            else:
                intervals[interval_count, 0], intervals[interval_count, 1] = low, high
                interval_count += 1
            if len(cells):
                low = place = _entry_of(low, cells, place)
                high = place = _entry_of(high, cells, place)
            start, end, own = offsets[low], offsets[high], group + steps[step, 2]
            if end == start:
                continue
            rows += end - start
            if runs and table[1, runs - 1] == start and table[2, runs - 1] == own:
                table[1, runs - 1] = end
            else:
                table[0, runs], table[1, runs], table[2, runs] = start, end, own
                runs += 1
        hierarchy = last - 1
        while hierarchy >= 0 and places[hierarchy] + 1 == firsts[hierarchy + 1]:
            places[hierarchy] = firsts[hierarchy]
            hierarchy -= 1
        if hierarchy < 0:
            return runs, interval_count, rows
        places[hierarchy] += 1


@entry
def find_star_runs(
    hierarchies: Integers,
    keyed: Integers,
    codes: NDArray[np.int32],
    ranks: NDArray[np.int32],
    compared: Integers,
    passing: Integers,
    cells: Integers,
    offsets: Integers,
) -> Any:
    """Return the job of a star and its runs, from the codes that its comparisons allow.

    keyed: the parts of a group number. codes: of each code its coordinate on Z, and its tuples of
    keys and of values. ranks: of each code of a level that is compared the rank of its value.
    passing: 1 for each code that other predicates let pass; behind these, where there is OR over
    several hierarchies, a bit of each code for each branch whose other predicates it passes. It is
    changed. cells: empty where all are addressable.

    Returns (state, job, ranges, run_count, group_count, row_count, share), of another state than
    DONE nothing else counts. Each array that is returned takes a microsecond: the job has the ways
    of the hierarchies and how many tuples of each part are chosen, what all codes add to a group,
    what all coordinates add, and the chosen tuples; ranges the runs, shape (3, run_count), and the
    intervals, shape (k, 2).
    """
    allowed, branches = passing[: codes.shape[1]], passing[codes.shape[1] :]
    alive = _keep_allowed(compared, hierarchies, ranks, allowed, branches)
    count = len(hierarchies)
    tuple_count, axis_count = 0, 0
    for part in range(len(keyed)):
        tuple_count += keyed[part, TUPLE_COUNT]
    for hierarchy in range(count):
        axis_count += hierarchies[hierarchy, AXIS_COUNT]
    first_code = count + len(keyed)
    first_axis = first_code + len(allowed)
    job = np.zeros(first_axis + axis_count + tuple_count, np.int64)
    ways, counts, parts = job[:count], job[count:first_code], job[first_code:first_axis]
    axis_parts, chosen = job[first_axis:][:axis_count], job[first_axis + axis_count :]
    ranges = np.empty(0, np.int64)
    state, runs, rows = DONE, 0, 0
    groups = _number_groups(hierarchies, keyed, codes, allowed, parts, chosen, counts)
    _reduce_to_axes(hierarchies, codes[0], parts, axis_parts, ways)
    share = _share_passing(hierarchies, codes[0], parts, axis_parts, ways)
    axis_branches, is_mixed = np.full(axis_count, alive, np.int64), False
    if len(branches):
        is_mixed = not _branches_of_axes(hierarchies, codes[0], branches, alive, axis_branches)
    steps, firsts = np.empty((axis_count, 4), np.int64), np.zeros(count + 1, np.int64)
    last = _list_steps(hierarchies, axis_parts, axis_branches, alive, steps, firsts)
    total = 1
    for hierarchy in range(last + 1):
        total *= min(firsts[hierarchy + 1] - firsts[hierarchy], MOST_STEPS)
        total = min(total, MOST_STEPS + 1)
    if groups < 0:
        state = TOO_MANY_GROUPS
    elif is_mixed:
        state = MIXED
    elif total > MOST_STEPS:
        state = TOO_MANY_CELLS
    elif total:
        room, wide = np.empty((3, total), np.int64), np.empty((total, 2), np.int64)
        firsts = firsts[: last + 2]
        places = firsts.copy()
        runs, intervals, rows = _walk(
            hierarchies, steps, firsts, places, cells, offsets, room, wide
        )
        ranges = np.empty(3 * runs + 2 * intervals, np.int64)
        for column in range(3):
            ranges[column * runs : (column + 1) * runs] = room[column, :runs]
        ranges[3 * runs :] = wide[:intervals].ravel()
    return state, job, ranges, runs, groups, rows, share
