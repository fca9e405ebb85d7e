"""One compiled pass over rows in their order: filter, number the groups, accumulate.

All columns come as addresses, so that one machine-coded loop serves any number of them of any
types. Of a piece of the table the rows that pass are listed (`filter_loops`), then block by block
their groups and values are read and added up (`add_loops`); what a block needs stays in the
first-level cache.

Fewer steps are taken where they answer: a piece of which all rows pass is not listed, nor is a
block of one group whose sums are asked for, which is added up under its mask.

`scan` says what the tables below hold, and its `scan_in_numpy` is the twin in NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np

from raydb.kernels.backends.backend import CHUNK_ROWS
from raydb.kernels.backends.cpu.scans.add_loops import (
    CODE_COUNT,
    FLOAT,
    PACKED_GROUPS,
    PACKED_ROWS,
    SUM,
    add_by_code,
    add_packed,
    add_rows,
    count_packed,
    flush,
    read_integers,
    sum_masked_column,
)
from raydb.kernels.backends.cpu.scans.filter_loops import (
    ADDS,
    BLOCK,
    FILTERS,
    array_at,
    count_mask,
    filter_by_tables,
    list_mask,
    mask_rows,
    number_groups,
)
from raydb.kernels.jit import compiled, leaf
from raydb.kernels.memory_loops import prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The rows of a block are added up under the mask where at least one of so many passes.
MASKED_SHARE = 32

# All of a block is asked for before its rows are gathered, where one of so many passes, and not one
# of so few, whose rows memory brings in time by itself.
ASKED_LEAST, ASKED_MOST = 64, 8


@leaf
def _ask_for(address: Any, width: Any, first: Any, count: Any) -> None:
    """Let memory bring the rows of a block, line by line."""
    start = address + first * (8 if width == FLOAT else width)
    for place in range(start, start + count * (8 if width == FLOAT else width), 64):
        prefetch(place)


@leaf
def _list_piece(
    piece: Any,
    share: Any,
    job: tuple[Any, ...],
    counts: NDArray[np.int64],
    states: NDArray[np.int64],
    masks: tuple[Any, ...],
) -> Any:
    """List the rows of a piece that pass all maps by range or by bits; return how many there are.

    share: blocks of which one of so many rows passes, or more, are added up at once (0: none is).
    """
    pieces, bases, active, maps, _ = job
    mask, words, rows = masks
    begin, end = pieces[piece, 0], pieces[piece, 1]
    listed = np.int64(0)
    for first in range(begin, end, BLOCK):
        count = min(end - first, BLOCK)
        mask_rows(piece, first, count, active, maps, mask)
        passed = count_mask(words)
        if passed * share >= count:
            counts[bases[piece]] += passed
            for number in range(len(states)):
                sums = array_at(np.uintp(states[number, 4]), np.int64)
                sums[bases[piece]] += sum_masked_column(
                    states[number, 0], states[number, 1], first, count, mask
                )
        elif passed:
            if passed * ASKED_LEAST >= count > passed * ASKED_MOST:
                for number in range(len(states)):
                    _ask_for(states[number, 0], states[number, 1], first, count)
                for number in range(len(maps)):
                    if active[piece, number] & ADDS:
                        _ask_for(maps[number, 0], maps[number, 1], first, count)
            list_mask(words, count, first - begin, np.int64(rows.ctypes.data) + 2 * listed)
            listed += passed
    return listed


@leaf
def _judge(piece: Any, only_sums: Any, active: NDArray[np.uint8], maps: NDArray[np.int64]) -> Any:
    """Return what a piece needs.

    Whether rows are masked, and whether they are looked up in tables; the map whose codes they are
    added up by (-1: none), and how many maps add to the group.
    """
    is_masked, by_table, adder, adders = False, False, np.int64(-1), 0
    for number in range(len(maps)):
        if active[piece, number] & FILTERS:
            if maps[number, 7]:
                is_masked = True
            else:
                by_table = True
        if active[piece, number] & ADDS:
            adder, adders = np.int64(number), adders + 1
    if not only_sums or adders != 1 or maps[adder, 3] or maps[adder, 1] > 1:
        adder = np.int64(-1)
    return is_masked, by_table, adder, adders


@leaf
def _add_by_group(
    block: tuple[Any, ...],
    adders: Any,
    is_packed: Any,
    only_sums: Any,
    job: tuple[Any, ...],
    states: NDArray[np.int64],
    counts: NDArray[np.int64],
    scratch: tuple[Any, ...],
) -> None:
    """Count and add the rows of a block that pass.

    block: the number of its piece, its first row, whether rows are listed, which and how many pass.
    adders: how many maps add to their group. is_packed, only_sums: as in `scan_rows`.
    """
    piece, first, is_listed, rows, count = block
    _, bases, active, maps, tables = job
    _, looked_up, groups, columns, packed, _, _ = scratch
    read, begin = np.int64(0), 0
    if not adders:
        counts[bases[piece]] += count
        for row in range(np.uint64(1 if only_sums else count)):
            groups[row] = bases[piece]
    else:
        number_groups(block, bases[piece], active, maps, tables, looked_up, groups)
        if len(counts) > PACKED_GROUPS:
            for row in range(np.uint64(count)):
                counts[groups[row]] += 1
        elif is_packed:
            read, begin = states[0, 0], 1
            read_integers(read, states[0, 1], first, is_listed, rows, count, columns[0])
            add_packed(columns[0], count, groups, packed)
        else:
            count_packed(count, groups, packed)
    added = (first, is_listed, rows, count, not adders, begin, read)
    add_rows(added, states, len(counts), groups, columns)


@compiled
def scan_rows(
    low: Any,
    high: Any,
    job: tuple[Any, ...],
    states: NDArray[np.int64],
    counts: NDArray[np.int64],
    scratch: tuple[Any, ...],
) -> None:
    """Filter, group and accumulate the rows of the pieces of a table from `low` to `high`.

    job: (pieces, bases, active, maps, tables).
    pieces: shape (piece_count, 2), half-open ranges of rows, each with the group number to begin
        from (bases) and, for each map, whether it filters (1) and whether it adds to the group (2).
    maps: shape (map_count, 10): address and width of the codes, the same of the second codes of a
        pair (0, 0 for none) and the stride between pairs, start and length in `tables`, and how
        the map filters: 0 by its table, 1 by a range (low, span), 2 by bits.
    states: shape (state_count, 5): address and width of the values (9 for float64), address of
        their validity (0 for none), the kind, and the address of its words, which have the shape
        (word_count, group_count).
    counts: shape (group_count,), the rows of each group.
    scratch: what `make_scratch` returns.
    """
    pieces, bases, active, maps, tables = job
    masks, looked_up, _, _, packed, coded, coded_states = scratch
    only_sums = True
    for number in range(len(states)):
        only_sums &= states[number, 3] == SUM and states[number, 1] != FLOAT
    is_packed = len(states) > 0 and states[0, 1] <= 4 and states[0, 3] == SUM
    # What is added up apart: how many groups or codes there are, and how many rows wait there.
    apart, waiting = (np.int64(0), np.int64(-1), np.int64(0), is_packed), np.int64(0)
    for piece in range(low, high):
        is_masked, by_table, adder, adders = _judge(piece, only_sums, active, maps)
        here = (np.int64(len(counts)), np.int64(-1), bases[piece], is_packed)
        if adder >= 0:
            here = (maps[adder, 6], maps[adder, 5], bases[piece], is_packed)
        if waiting and here != apart:
            flush(apart, tables, packed, coded, counts, states)
            waiting = np.int64(0)
        apart = here
        begin, start, end = pieces[piece, 0], pieces[piece, 0], pieces[piece, 1]
        if is_masked:
            share = 0
            if only_sums and not adders and not by_table:
                share = MASKED_SHARE if len(states) else BLOCK
            start, end = np.int64(0), _list_piece(piece, share, job, counts, states, masks)
        for part in range(start, end, BLOCK):
            first = begin if is_masked else part
            listed = masks[2].ctypes.data + (2 * part if is_masked else 0)
            rows = array_at(np.uintp(listed), np.uint16)
            block = (piece, first, is_masked, rows, min(end - part, BLOCK))
            is_listed, count = filter_by_tables(block, active, maps, tables, looked_up)
            if not count:
                continue
            if adders and (adder >= 0 or len(counts) <= PACKED_GROUPS):
                if waiting + count > PACKED_ROWS:
                    flush(apart, tables, packed, coded, counts, states)
                    waiting = np.int64(0)
                waiting += count
            if adder >= 0:
                passed = (is_listed, rows, count)
                add_by_code(first, maps[adder, 0], passed, coded_states, is_packed, packed)
            else:
                passing = (piece, first, is_listed, rows, count)
                _add_by_group(passing, adders, is_packed, only_sums, job, states, counts, scratch)
    if waiting:
        flush(apart, tables, packed, coded, counts, states)


def make_scratch(states: NDArray[np.int64]) -> tuple[Any, ...]:
    """Return the scratch space of a thread for some states."""
    mask = np.zeros(BLOCK, np.uint8)
    # `_list_mask` writes eight numbers where one may be.
    masks = (mask, mask.view(np.uint64), np.empty(CHUNK_ROWS + 8, np.uint16))
    looked_up = (np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32))
    columns = (np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty(BLOCK, np.uint8))
    coded = np.zeros((len(states), 2, CODE_COUNT), np.int64)
    coded_states = states.copy()
    coded_states[:, 4] = coded.ctypes.data + coded.itemsize * 2 * CODE_COUNT * np.arange(
        len(states)
    )
    packed = np.zeros((2, PACKED_GROUPS), np.int64)
    return masks, looked_up, np.empty(BLOCK, np.uint32), columns, packed, coded, coded_states


def warm_up() -> None:
    """Compile the scan, or load it, by a scan of no rows."""
    numbers = np.empty(0, np.int64)
    states = np.empty((0, 5), np.int64)
    job = (
        np.empty((0, 2), np.int64),
        numbers,
        np.empty((0, 0), np.uint8),
        np.empty((0, 10), np.int64),
        np.empty(0, np.int32),
    )
    scan_rows(0, 0, job, states, numbers, make_scratch(states))
