"""The compiled loop of a star that is known but for its constants: from ranks of values to runs.

What `planner.stars.fuse`, `intervals.cell_intervals` and the CPU's `find_runs` do with arrays, one
step after the other, is done in one pass here: each of some fifty calls of NumPy takes longer than
the thousand codes or cells that it is about.

codes lie side by side, those of one hierarchy behind those of another; so do coordinates.

Loops over codes have unsigned indexes and no branch, so that they are vector instructions: with
other constants than before a branch goes another way than the processor foresees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np

from raydb.kernels.jit import entry, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Unsigned = NDArray[np.uint64]

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

ONE = np.uint64(1)

# What a job looks up for a hierarchy: nothing, what a cell tells, what the stored code of a row
# tells, and that where it may drop the row.
NOTHING, BY_CELL, BY_ROW, BY_ROW_DROPPING = range(4)

# Before and behind the part of any code.
NO_PART, EVERY_PART = np.int64(-1), np.int64(2**62)

# A job has no more groups, and reads no more ranges of cells, or another way is taken.
MOST_GROUPS = 2**22
MOST_STEPS = np.int64(2**16)

# What became of it. MIXED: rows of a cell differ in what OR over several hierarchies asks.
DONE, TOO_MANY_GROUPS, TOO_MANY_CELLS, MIXED = range(4)


@leaf
def _keep_compared(
    compared: Integers,
    branches: tuple[int, int],
    hierarchies: Unsigned,
    ranks: NDArray[np.int32],
    passed: Integers,
    passing: Integers,
) -> None:
    """Keep in each code the branches whose predicates it passes; it has to pass all of a branch.

    It passes a predicate that passes one of its comparisons, which lie together. branches: the rows
    of `compared` that count, from the first to before the end. passed: room for a hierarchy's
    codes. passing: a bit for each branch.
    """
    row, last = branches
    while row < last:
        predicate, hierarchy = compared[row, PREDICATE], compared[row, HIERARCHY]
        begin, count = hierarchies[hierarchy, CODES], hierarchies[hierarchy, CODE_COUNT]
        bit = 1 << max(compared[row, BRANCH], 0)
        for code in range(count):
            passed[code] = 0
        while row < last and compared[row, PREDICATE] == predicate:
            at = np.uint64(compared[row, RANKS])
            first, end = compared[row, FIRST], compared[row, END]
            for code in range(count):
                rank = ranks[at + code]
                passed[code] |= np.int64(rank >= first) & np.int64(rank < end)
            row += 1
        for code in range(count):
            passing[begin + code] &= ~bit | -passed[code]


@leaf
def _branches_with_codes(hierarchies: Unsigned, branches: Integers) -> np.int64:
    """Return the branches that have codes in every hierarchy."""
    alive = np.int64(-1)
    for hierarchy in range(len(hierarchies)):
        begin, some = hierarchies[hierarchy, CODES], np.int64(0)
        for code in range(hierarchies[hierarchy, CODE_COUNT]):
            some |= branches[begin + code]
        alive &= some
    return alive


@leaf
def _keep_allowed(
    compared: Integers,
    hierarchies: Unsigned,
    ranks: NDArray[np.int32],
    passed: Integers,
    allowed: Integers,
    branches: Integers,
) -> np.int64:
    """Keep the codes that pass all predicates, as far as each tells alone; return what OR leaves.

    These are the branches that some codes pass.
    """
    split = 0
    while split < len(compared) and compared[split, BRANCH] >= 0:
        split += 1
    _keep_compared(compared, (split, len(compared)), hierarchies, ranks, passed, allowed)
    if len(branches) == 0:
        return np.int64(1)
    _keep_compared(compared, (0, split), hierarchies, ranks, passed, branches)
    alive: np.int64 = _branches_with_codes(hierarchies, branches)
    for code in range(np.uint64(len(allowed))):
        allowed[code] &= np.int64(branches[code] & alive != 0)
    return alive


@leaf
def _branches_of_axes(
    hierarchies: Unsigned,
    codes: NDArray[np.uint32],
    branches: Integers,
    alive: np.int64,
    axis_branches: Integers,
) -> bool:
    """Reduce the branches of codes to coordinates; tell whether all codes of each have the same."""
    for hierarchy in range(len(hierarchies)):
        begin, axis = hierarchies[hierarchy, CODES], hierarchies[hierarchy, AXIS]
        for place in range(hierarchies[hierarchy, AXIS_COUNT]):
            axis_branches[axis + place] = 0
        last, is_first = np.uint64(0), True
        for code in range(hierarchies[hierarchy, CODE_COUNT]):
            place = axis + codes[0, begin + code]
            own = branches[begin + code] & alive
            # Codes of a coordinate lie together.
            if place == last and not is_first and axis_branches[place] != own:
                return False
            axis_branches[place], last, is_first = own, place, False
    return True


@leaf
def _number_groups(
    hierarchies: Unsigned,
    keyed: Unsigned,
    codes: NDArray[np.uint32],
    allowed: Integers,
    parts: Integers,
    chosen: Integers,
    counts: Integers,
) -> np.int64:
    """Number the key tuples of the codes that are allowed; return how many groups there are.

    parts: becomes what each code adds to the group, -1 where it is not allowed. chosen: zeros;
    chosen, counts: become the tuples of each part that occur, and how many they are. -1 where
    there are too many groups.
    """
    for code in range(np.uint64(len(allowed))):
        parts[code] = allowed[code] - 1
    stride = np.int64(1)
    for part in range(len(keyed)):
        hierarchy, row = keyed[part, OWNER], keyed[part, NUMBERS]
        first, tuple_count = keyed[part, TUPLES], keyed[part, TUPLE_COUNT]
        begin, code_count = hierarchies[hierarchy, CODES], hierarchies[hierarchy, CODE_COUNT]
        for code in range(begin, begin + code_count):
            chosen[first + codes[row, code]] |= allowed[code]
        count = np.int64(0)
        for place in range(first, first + tuple_count):
            occurs = chosen[place]
            chosen[place] = count
            count += occurs
        for code in range(begin, begin + code_count):
            parts[code] += chosen[first + codes[row, code]] * stride & -allowed[code]
        # The number of a tuple that occurs is less than that of the next one.
        for number in range(tuple_count):
            following = chosen[first + number + ONE] if number + ONE < tuple_count else count
            place = first + np.uint64(chosen[first + number])
            if following > chosen[first + number]:
                chosen[place] = np.int64(number)
        counts[part] = count
        stride *= max(count, np.int64(1))
        if stride > MOST_GROUPS:
            return np.int64(-1)
    return stride


@leaf
def _reduce_to_axes(
    hierarchies: Unsigned,
    codes: NDArray[np.uint32],
    parts: Integers,
    lowest: Integers,
    axis_parts: Integers,
    ways: Integers,
) -> None:
    """Reduce what codes say to coordinates, where all codes of each one say the same.

    lowest: room for a number a coordinate. axis_parts: becomes what each coordinate adds to the
    group, -1 where none of its codes is allowed. ways: becomes what has to be looked up.
    """
    for place in range(np.uint64(len(axis_parts))):
        lowest[place], axis_parts[place] = EVERY_PART, NO_PART
    for hierarchy in range(len(hierarchies)):
        begin, axis = hierarchies[hierarchy, CODES], hierarchies[hierarchy, AXIS]
        axis_end = axis + hierarchies[hierarchy, AXIS_COUNT]
        for code in range(begin, begin + hierarchies[hierarchy, CODE_COUNT]):
            place = axis + codes[0, code]
            lowest[place] = min(lowest[place], parts[code])
            axis_parts[place] = max(axis_parts[place], parts[code])
        differ, drops, highest = False, False, NO_PART
        for place in range(axis, axis_end):
            low, high = lowest[place], axis_parts[place]
            differ |= low < high
            drops |= (low < 0) & (low < high)
            highest = max(highest, high)
        ways[hierarchy] = NOTHING
        if differ:
            ways[hierarchy] = BY_ROW_DROPPING if drops else BY_ROW
            for place in range(axis, axis_end):
                axis_parts[place] = min(axis_parts[place], 0)
        elif highest > 0:
            ways[hierarchy] = BY_CELL


@leaf
def _share_passing(
    hierarchies: Unsigned,
    codes: NDArray[np.uint32],
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
                touched += axis_parts[axis + codes[0, code]] >= 0
            share *= passing / max(touched, 1)
    return share


@leaf
def _last_saying(
    hierarchies: Unsigned, axis_parts: Integers, axis_branches: Integers, alive: np.int64
) -> int:
    """Return the last hierarchy whose coordinates do not all say nothing; 0 where none does."""
    for hierarchy in range(len(hierarchies) - 1, 0, -1):
        axis, says = hierarchies[hierarchy, AXIS], np.int64(0)
        for place in range(axis, axis + hierarchies[hierarchy, AXIS_COUNT]):
            says |= axis_parts[place] | (axis_branches[place] ^ alive)
        if says != 0:
            return hierarchy
    return 0


@leaf
def _list_steps(
    hierarchies: Unsigned,
    axis_parts: Integers,
    axis_branches: Integers,
    alive: np.int64,
    steps: Integers,
    firsts: Unsigned,
) -> int:
    """List the coordinates that are allowed; return the last hierarchy that says anything.

    steps: becomes (first, end, part, branches) of them, those of hierarchy h from firsts[h] to
    firsts[h + 1]; of the last one neighbours that say the same are one step.
    """
    last: int = _last_saying(hierarchies, axis_parts, axis_branches, alive)
    count = np.uint64(0)
    for hierarchy in range(last + 1):
        firsts[hierarchy] = count
        axis = hierarchies[hierarchy, AXIS]
        # What differs from the part and the branches of any coordinate begins a step.
        part, own = NO_PART, np.int64(0)
        for place in range(hierarchies[hierarchy, AXIS_COUNT]):
            goes_on = hierarchy == last and place > np.uint64(0)
            goes_on &= part == axis_parts[axis + place] and own == axis_branches[axis + place]
            part, own = axis_parts[axis + place], axis_branches[axis + place]
            if part < 0:
                continue
            if not goes_on:
                steps[count, 0], steps[count, 2], steps[count, 3] = np.int64(place), part, own
                count += ONE
            steps[count - ONE, 1] = np.int64(place) + 1
    firsts[last + 1] = count
    return last


@leaf
def _combinations(firsts: Unsigned) -> np.int64:
    """Return how many combinations of steps there are, or a number above MOST_STEPS."""
    total = np.int64(1)
    for hierarchy in range(len(firsts) - 1):
        total *= min(np.int64(firsts[hierarchy + 1] - firsts[hierarchy]), MOST_STEPS)
        total = min(total, MOST_STEPS + np.int64(1))
    return total


@leaf
def _entry_of(cell: np.int64, cells: Integers, low: np.uint64) -> np.uint64:
    """Return the first place, from `low` on, of a cell that is not before this one.

    It is found in steps that double, for it is near.
    """
    high, step = low, ONE
    while high < np.uint64(len(cells)) and cells[high] < cell:
        low = high + ONE
        high += step
        step += step
    high = min(high, np.uint64(len(cells)))
    while low < high:
        middle = (low + high) >> ONE
        if cells[middle] < cell:
            low = middle + ONE
        else:
            high = middle
    return low


@leaf
def _walk(
    hierarchies: Unsigned,
    steps: Integers,
    firsts: Unsigned,
    places: Unsigned,
    cells: Integers,
    offsets: Integers,
    table: Integers,
    intervals: Integers,
) -> tuple[np.int64, np.int64, np.int64]:
    """Put the runs and the intervals of all combinations of steps into arrays that have the room.

    places: the step of each hierarchy, the first one of all. Returns how many runs, intervals and
    rows there are.
    """
    last = len(firsts) - 2
    runs, interval_count, place, rows = np.uint64(0), np.uint64(0), np.uint64(0), np.int64(0)
    end_before, group_before, high_before = np.int64(-1), np.int64(-1), np.int64(-1)
    stride = np.int64(hierarchies[last, STRIDE])
    while True:
        base, group, branches = np.int64(0), np.int64(0), np.int64(-1)
        for hierarchy in range(last):
            step = places[hierarchy]
            base += steps[step, 0] * np.int64(hierarchies[hierarchy, STRIDE])
            group += steps[step, 2]
            branches &= steps[step, 3]
        for step in range(firsts[last], firsts[last + 1]):
            if branches & steps[step, 3] == 0:
                continue
            low, high = base + steps[step, 0] * stride, base + steps[step, 1] * stride
            if low != high_before:
                intervals[interval_count, 0] = low
                interval_count += ONE
            intervals[interval_count - ONE, 1] = high_before = high
            first, behind = np.uint64(low), np.uint64(high)
            if len(cells):
                first = _entry_of(low, cells, place)
                behind = place = _entry_of(high, cells, first)
            start, end, own = offsets[first], offsets[behind], group + steps[step, 2]
            if end == start:
                continue
            rows += end - start
            if end_before != start or group_before != own:
                table[0, runs], table[2, runs] = start, own
                runs += ONE
            table[1, runs - ONE] = end
            end_before, group_before = end, own
        hierarchy = last - 1
        while hierarchy >= 0 and places[hierarchy] + ONE == firsts[hierarchy + 1]:
            places[hierarchy] = firsts[hierarchy]
            hierarchy -= 1
        if hierarchy < 0:
            return np.int64(runs), np.int64(interval_count), rows
        places[hierarchy] += ONE


@entry
def find_star_runs(
    hierarchies: Unsigned,
    keyed: Unsigned,
    codes: NDArray[np.uint32],
    ranks: NDArray[np.int32],
    compared: Integers,
    passing: Integers,
    cells: Integers,
    offsets: Integers,
) -> Any:
    """Return the job of a star and its runs, from the codes that its comparisons allow.

    keyed: the parts of a group number. codes: of each code its coordinate on Z, and its tuples of
    keys and of values. ranks: of each code of a level that is compared the rank of its value.
    passing: 1 for each code that other predicates let pass, else 0; behind these, where there is OR
    over several hierarchies, a bit of each code for each branch whose other predicates it passes.
    It is changed. cells: empty where all are addressable.

    Returns (state, job, ranges, run_count, group_count, row_count, share), of another state than
    DONE nothing else counts. Each array that is returned takes a microsecond: the job has the ways
    of the hierarchies and how many tuples of each part are chosen, what all codes add to a group,
    what all coordinates add, and the chosen tuples; ranges the runs, shape (3, run_count), and the
    intervals, shape (k, 2).
    """
    allowed, branches = passing[: codes.shape[1]], passing[codes.shape[1] :]
    count = len(hierarchies)
    tuple_count, axis_count = np.int64(0), np.int64(0)
    for part in range(len(keyed)):
        tuple_count += np.int64(keyed[part, TUPLE_COUNT])
    for hierarchy in range(count):
        axis_count += np.int64(hierarchies[hierarchy, AXIS_COUNT])
    first_code = count + len(keyed)
    first_axis = first_code + len(allowed)
    job = np.zeros(first_axis + axis_count + tuple_count, np.int64)
    ways, counts, parts = job[:count], job[count:first_code], job[first_code:first_axis]
    axis_parts, chosen = job[first_axis:][:axis_count], job[first_axis + axis_count :]
    ranges = np.empty(0, np.int64)
    state, runs, rows = DONE, np.int64(0), np.int64(0)
    alive = _keep_allowed(compared, hierarchies, ranks, parts, allowed, branches)
    groups = _number_groups(hierarchies, keyed, codes, allowed, parts, chosen, counts)
    axis_branches = np.empty(axis_count, np.int64)
    _reduce_to_axes(hierarchies, codes, parts, axis_branches, axis_parts, ways)
    share = _share_passing(hierarchies, codes, parts, axis_parts, ways)
    is_mixed = False
    if len(branches):
        is_mixed = not _branches_of_axes(hierarchies, codes, branches, alive, axis_branches)
    else:
        axis_branches[:] = alive
    steps, firsts = np.empty((axis_count, 4), np.int64), np.zeros(count + 1, np.uint64)
    last = _list_steps(hierarchies, axis_parts, axis_branches, alive, steps, firsts)
    total = _combinations(firsts[: last + 2])
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
