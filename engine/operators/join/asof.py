"""ASOF joins: each left row finds the right row nearest to it by one binary search.

    right rows ('a', 10), ('a', 20), ('b', 10), as words in order:  0|10  0|20  1|10
    left row ('a', 15), >=: the last word below 0|16 if it begins with 0: ('a', 10)

The right rows are sorted once by key and value. Where both sides do not fit in memory, they are
joined part by part of the keys; a part of few keys keeps of each block of right rows those that
are nearest to a left row so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.codes import Word, encode, sort_rows
from raydb.engine.operators.join.join import (
    BYTES_A_PAIR,
    FEWEST_PAIRS,
    Pairs,
    fetch_in_threads,
    row_width,
    run_side,
    unpaired_rows,
)
from raydb.engine.operators.join.keys import encode_keys
from raydb.engine.operators.join.partitioned import (
    blocks_of_sides,
    joined_sides,
    parts_of_sides,
    some_of_side,
)
from raydb.engine.operators.join.ranges import one_after_the_other
from raydb.engine.operators.relation import Collector, Relation
from raydb.interrupts import check_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.join.partners import Side
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import AsofJoin

_WORD_BITS = 64


def run_asof_join(plan: AsofJoin, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of the left rows with those of their nearest right rows."""
    collector = Collector(sources.memory, columns)
    wanted = frozenset(columns)
    sides = []
    for source, keys, value in (
        (plan.left, plan.left_keys, plan.left_value),
        (plan.right, plan.right_keys, plan.right_value),
    ):
        carried = [column for column in source.columns if column in wanted]
        sides.append(run_side((source, carried), (keys, [value], []), sources))
    for left, right in parts_of_sides(sides.pop(0), sides.pop(0), sources.memory):
        for rows in _join(plan, columns, (left, right), sources.memory):
            collector.add(rows)
    return collector.relation()


def _join(
    plan: AsofJoin, columns: Sequence[Column], sides: tuple[Side, Side], memory: Memory
) -> Iterator[Relation]:
    lefts, rights = blocks_of_sides(*sides, memory)
    for left in lefts:
        nearest, places = rights[0], _nearest_rows(left, rights[0], plan)
        for right in rights[1:]:
            kept = np.unique(places[places >= 0])
            nearest = joined_sides(some_of_side(nearest, pa.array(kept)), right)
            places = _nearest_rows(left, nearest, plan)
        found = np.flatnonzero(places >= 0)
        ours, theirs = left.rows.combined(), nearest.rows.combined()
        pair_bytes = BYTES_A_PAIR + 2 * row_width(ours) + 2 * row_width(theirs)
        step = max(memory.room() // 4 // pair_bytes, FEWEST_PAIRS)
        for start in range(0, len(found), step):
            rows = found[start : start + step]
            yield fetch_in_threads(ours, theirs, Pairs(rows, places[rows]), columns)
        if plan.kind == "left":
            yield unpaired_rows(left.rows, places >= 0, columns)


def _nearest_rows(left: Side, right: Side, plan: AsofJoin) -> NDArray[np.int64]:
    """Return for each left row its right row, -1 for none."""
    check_interrupt()
    right_count, left_count = right.rows.row_count, left.rows.row_count
    if plan.left_keys:
        keys = encode_keys(right.keys, left.keys, plan.null_safe)
        theirs, ours = keys.build, keys.probe
    else:
        theirs, ours = np.zeros(right_count, np.int64), np.zeros(left_count, np.int64)
    codes = encode(one_after_the_other(right.compared[0], left.compared[0]))
    if codes.valid is not None:
        theirs = np.where(codes.valid[:right_count], theirs, -1)
        ours = np.where(codes.valid[right_count:], ours, -1)
    their_rows, our_rows = np.flatnonzero(theirs >= 0), np.flatnonzero(ours >= 0)
    nearest = np.full(left_count, -1)
    if not len(their_rows) or not len(our_rows):
        return nearest
    theirs, ours = theirs[their_rows], ours[our_rows]
    values, width = _small_values(
        np.concatenate(
            [codes.codes[:right_count][their_rows], codes.codes[right_count:][our_rows]]
        ),
        int(theirs.max()) + 1,
    )
    check_interrupt()
    packed = theirs * width + values[: len(theirs)]
    # What is asked for is at or above all partners by >= or >, and at or below those by <= or <.
    asked = ours * width + values[len(theirs) :] + (plan.comparison in ("greater_equal", "less"))
    order = _order(packed)
    packed, their_rows = packed[order], their_rows[order]
    check_interrupt()
    # In order, the searches run through the right rows once.
    order = _order(asked)
    asked, our_rows, ours = asked[order], our_rows[order], ours[order]
    check_interrupt()
    places = np.searchsorted(packed, asked) - (plan.comparison in ("greater_equal", "greater"))
    inside = np.clip(places, 0, len(packed) - 1)
    found = (places == inside) & (packed[inside] // width == ours)
    nearest[our_rows[found]] = their_rows[places[found]]
    return nearest


def _small_values(codes: NDArray[np.int64], key_count: int) -> tuple[NDArray[np.int64], int]:
    """Return codes in the same order from 0 on, and a number that is above them by two at least.

    Beside so many keys they fit in one word.
    """
    least, most = int(codes.min()), int(codes.max())
    if (most - least + 2) * key_count < 2**62:
        return codes - least, most - least + 2
    distinct, ranks = np.unique(codes, return_inverse=True)
    return ranks, len(distinct) + 1


def _order(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of words in their order; those that are equal stay in order."""
    bits = int(words.max()).bit_length()
    if bits + len(words).bit_length() <= _WORD_BITS:
        return sort_rows(Word(words.view(np.uint64), bits))
    return np.argsort(words, kind="stable")
