"""Which rows of two sides are partners, as row numbers.

keys         a table with a place for each key of the smaller side, looked up by the larger
comparisons  the smaller side sorted: the partners of a row are a range of it
neither      every row is a partner of every row
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.codes import Word, are_words, encode, sort_rows
from raydb.engine.operators.join.key_set import key_set
from raydb.engine.operators.join.keys import encode_keys, find_distinct, in_morsels
from raydb.engine.operators.join.ranges import (
    Comparison,
    Ranges,
    find_ranges,
    one_after_the_other,
)
from raydb.engine.operators.relation import MORSEL_ROWS, joined
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.relation import Relation
    from raydb.planner.expressions.nodes import Expression

    # What returns some pairs as rows of the probe side and of the build side.
    Part = Callable[[], tuple[NDArray[np.integer], NDArray[np.integer]]]

# In the order in which a loop numbers them.
MIRRORED = {
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}

# Ranges of so many rows are copied one by one, and not row by row.
_LONG_RANGE = 64


@dataclass(frozen=True, slots=True)
class Compared:
    """A condition `left <function> right`, each of them computed from one side."""

    function: str
    left: Expression
    right: Expression
    condition: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Side:
    """One side of a join: the rows to carry, and for each what decides on its partners.

    compared: the values of each comparison of the join; may_match: the rows that can have a
    partner, None for all of them.
    """

    rows: Relation
    keys: Sequence[pa.ChunkedArray | pa.Array]
    compared: Sequence[pa.ChunkedArray | pa.Array]
    may_match: NDArray[np.bool_] | None


@dataclass(frozen=True, eq=False, slots=True)
class Partners:
    """The partners of each probe row: at most one, in `places` (-1 for none), or `ranges`.

    `fulfilled` are the conditions that hold for all of them.
    """

    probe_is_left: bool
    places: NDArray[np.int32] | None = None
    ranges: Ranges | None = None
    fulfilled: tuple[Expression, ...] = ()

    @property
    def probe_count(self) -> int:
        """The number of probe rows, where each has at most one partner."""
        assert self.places is not None
        return len(self.places)

    def pair_count(self) -> int:
        """Return the number of pairs."""
        if self.places is not None:
            return int(np.count_nonzero(self.places >= 0))
        assert self.ranges is not None
        return self.ranges.pair_count()

    def all_pairs(self) -> tuple[NDArray[np.integer] | None, NDArray[np.integer]]:
        """Return every pair as (probe row, build row); None for all probe rows, each once."""
        if self.places is None:
            parts = [part() for part in self.parts()]
            return np.concatenate([p for p, _ in parts]), np.concatenate([b for _, b in parts])
        found = self.places >= 0
        if found.all():
            return None, self.places
        rows = np.flatnonzero(found)
        return rows, self.places[rows]

    def parts(self, most: int = MORSEL_ROWS) -> Iterator[Part]:
        """Yield functions that return a morsel of pairs each, or at most so many; one at least.

        Any thread may call them.
        """
        step = min(most, MORSEL_ROWS)
        if self.places is not None:
            for start in range(0, max(len(self.places), 1), step):
                yield partial(self._pairs_of_places, start, start + step)
            return
        assert self.ranges is not None
        counts = self.ranges.stop - self.ranges.start
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        for first in range(0, max(total, 1), step):
            yield partial(self._pairs_between, first, min(first + step, total), ends, counts)

    def _pairs_of_places(
        self, start: int, stop: int
    ) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        assert self.places is not None
        places = self.places[start:stop]
        rows = np.flatnonzero(places >= 0)
        return rows + start, places[rows]

    def _pairs_between(
        self, first: int, last: int, ends: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Return the pairs number `first` to `last`, counted through all ranges."""
        assert self.ranges is not None
        ranges = self.ranges
        low = int(np.searchsorted(ends, first, "right"))
        high = min(int(np.searchsorted(ends, last, "left")) + 1, len(ends))
        begins = ends[low:high] - counts[low:high]
        shares = np.minimum(ends[low:high], last) - np.maximum(begins, first)
        rows = np.arange(low, high) if ranges.rows is None else ranges.rows[low:high]
        probe = np.repeat(rows, shares)
        # Where each range is entered.
        starts = ranges.start[low:high] + np.maximum(first - begins, 0)
        if ranges.order is not None and len(rows) * _LONG_RANGE < last - first:
            bounds = zip(starts.tolist(), (starts + shares).tolist(), strict=True)
            return probe, np.concatenate([ranges.order[start:stop] for start, stop in bounds])
        build = np.repeat(starts - (np.cumsum(shares) - shares), shares)
        build += np.arange(last - first)
        return probe, build if ranges.order is None else ranges.order[build]


def find_partners(
    left: Side,
    right: Side,
    comparisons: Sequence[Compared],
    null_safe: Collection[int],
) -> Partners:
    """Return which rows are partners by keys, or else by comparisons.

    NULL equals nothing, but NULL for the keys at the places in `null_safe`, and compares with
    nothing; doubles are in total order, so NaN equals NaN.
    """
    probe_is_left = left.rows.row_count >= right.rows.row_count
    probe, build = (left, right) if probe_is_left else (right, left)
    if left.keys:
        return _by_keys(probe, build, null_safe, probe_is_left=probe_is_left)
    if comparisons:
        return _by_comparisons(left, right, comparisons)
    if build.rows.row_count == 1 and build.may_match is None and probe.may_match is None:
        return Partners(probe_is_left, places=np.zeros(probe.rows.row_count, np.int32))
    order = None if build.may_match is None else np.flatnonzero(build.may_match)
    count = build.rows.row_count if order is None else len(order)
    stop = np.full(probe.rows.row_count, count)
    if probe.may_match is not None:
        stop[~probe.may_match] = 0
    return Partners(probe_is_left, ranges=Ranges(np.zeros_like(stop), stop, order))


def left_rows_with_partner(
    left: Side,
    right: Side,
    comparisons: Sequence[Compared],
    null_safe: Collection[int],
) -> NDArray[np.bool_]:
    """Return for each left row whether it has a partner by keys, one comparison, or both.

    No pair is made.
    """
    if len(left.keys) == 1 and not null_safe and not comparisons:
        marked = _rows_with_key(left, right)
        if marked is not None:
            return marked
    if left.keys:
        probe_is_left = left.rows.row_count >= right.rows.row_count
        probe, build = (left, right) if probe_is_left else (right, left)
        codes = encode_keys(build.keys, probe.keys, null_safe)
        of_probe = _masked(codes.probe, probe.may_match)
        of_build = _masked(codes.build, build.may_match)
        ours, theirs = (of_probe, of_build) if probe_is_left else (of_build, of_probe)
        if comparisons:
            sides = left.compared[0], right.compared[0]
            return _beside_extremes(comparisons[0].function, sides, (ours, theirs), codes.size)
        occurs = np.zeros(codes.size + 1, np.bool_)
        occurs[theirs] = True
        occurs[-1] = False  # where a code of -1 has led
        found = np.empty(len(ours), np.bool_)

        def compute(start: int, stop: int) -> None:
            found[start:stop] = occurs[ours[start:stop]]

        in_morsels(len(ours), compute)
        return found
    partners = find_partners(left, right, comparisons, null_safe)
    return rows_in_pairs(partners, left.rows.row_count, is_left=True)


def _rows_with_key(left: Side, right: Side) -> NDArray[np.bool_] | None:
    """Return for each left row whether its only key is among the right ones, by a bitmap of these.

    None where they are too far apart for one.
    """
    theirs = right.keys[0]
    if right.may_match is not None:
        theirs = theirs.filter(pa.array(right.may_match))
    if not (are_words(theirs.type) and are_words(left.keys[0].type)):
        return None
    keys = key_set(theirs)
    if keys is None:
        return None
    ours = joined(left.keys[0])
    found = np.empty(len(ours), np.bool_)

    def compute(start: int, stop: int) -> None:
        found[start:stop] = keys.marks(ours.slice(start, stop - start))

    in_morsels(len(found), compute)
    return found if left.may_match is None else found & left.may_match


def _beside_extremes(
    function: str,
    sides: tuple[pa.ChunkedArray | pa.Array, pa.ChunkedArray | pa.Array],
    keys: tuple[NDArray[np.int64], NDArray[np.int64]],
    key_count: int,
) -> NDArray[np.bool_]:
    """Return for each left row whether `left <function> right` for a right row of its key.

    It is for some if it is for the one with the least or the greatest value. keys: -1 for none.
    """
    codes = encode(one_after_the_other(*sides))
    count = len(sides[0])
    mine, others = codes.codes[:count], codes.codes[count:]
    ours, theirs = keys
    if codes.valid is not None:
        ours = np.where(codes.valid[:count], ours, -1)
        theirs = np.where(codes.valid[count:], theirs, -1)
    from raydb.kernels.codecs.key_loops import (  # noqa: PLC0415  (numba: 0.24 s)
        beside_extremes,
        find_extremes,
    )

    least, most = np.full((2, key_count), [[2**63 - 1], [-(2**63)]])
    find_extremes(theirs, others, least, most)
    found = np.empty(count, np.bool_)
    compared = [*MIRRORED].index(function)

    def compute(start: int, stop: int) -> None:
        some = slice(start, stop)
        beside_extremes(ours[some], mine[some], least, most, compared, found[some])

    in_morsels(count, compute)
    return found


def rows_in_pairs(partners: Partners, row_count: int, *, is_left: bool) -> NDArray[np.bool_]:
    """Return for each row of a side, which has so many, whether it has a partner.

    No pair is made.
    """
    is_probe = partners.probe_is_left == is_left
    found = np.zeros(row_count, np.bool_)
    if partners.places is not None:
        if is_probe:
            return partners.places >= 0
        found[partners.places[partners.places >= 0]] = True
        return found
    assert partners.ranges is not None
    ranges = partners.ranges
    some = ranges.stop > ranges.start
    if is_probe:
        found[some if ranges.rows is None else ranges.rows[some]] = True
        return found
    # A build row has a partner if more ranges have begun than ended where it is.
    begun = np.bincount(ranges.start[some], minlength=row_count + 1)
    ended = np.bincount(ranges.stop[some], minlength=row_count + 1)
    covered = np.flatnonzero(np.cumsum(begun - ended)[:row_count] > 0)
    found[covered if ranges.order is None else ranges.order[covered]] = True
    return found


def _by_keys(
    probe: Side, build: Side, null_safe: Collection[int], *, probe_is_left: bool
) -> Partners:
    if len(build.keys) == 1 and not null_safe:
        distinct = find_distinct((build.keys[0], build.may_match), (probe.keys[0], probe.may_match))
        if distinct is not None:
            return Partners(probe_is_left, places=distinct)
    codes = encode_keys(build.keys, probe.keys, null_safe)
    own = _masked(codes.build, build.may_match)
    others = _masked(codes.probe, probe.may_match)
    check_interrupt()
    known = np.flatnonzero(own >= 0)
    # The last place is where a code of -1 leads.
    table = np.full(codes.size + 1, -1, np.int32)
    table[own[known]] = known
    places = np.empty(len(others), np.int32)

    def look_up(start: int, stop: int) -> None:
        places[start:stop] = table[others[start:stop]]

    if np.array_equal(table[own[known]], known):
        in_morsels(len(others), look_up)
        return Partners(probe_is_left, places=places)
    # Rows of equal codes are a run of the order, and the table has the numbers of runs.
    order = known[sort_rows(Word(own[known].view(np.uint64), codes.size.bit_length()))]
    ordered = own[order]
    edges = np.flatnonzero(np.diff(ordered, prepend=-1, append=codes.size))
    table[ordered[edges[:-1]]] = np.arange(len(edges) - 1)
    in_morsels(len(others), look_up)
    rows = np.flatnonzero(places >= 0)
    runs = places[rows]
    ranges = Ranges(edges[runs], edges[runs + 1], order, rows)
    return Partners(probe_is_left, ranges=ranges)


def _by_comparisons(left: Side, right: Side, comparisons: Sequence[Compared]) -> Partners:
    """Return the partners by the comparisons of one column, of those that leave few pairs.

    Columns with several comparisons come first, and no more pairs than rows are few.
    """
    best: Partners | None = None
    lefts = [_nulls_where_not(values, left.may_match) for values in left.compared]
    rights = [_nulls_where_not(values, right.may_match) for values in right.compared]
    groups = [
        (probe_is_left, group)
        for probe_is_left in (True, False)
        for group in _places([each.right if probe_is_left else each.left for each in comparisons])
    ]
    for probe_is_left, group in sorted(groups, key=lambda each: -len(each[1])):
        check_interrupt()
        probes, builds = (lefts, rights) if probe_is_left else (rights, lefts)
        chosen = []
        for place in group:
            function = comparisons[place].function
            function = function if probe_is_left else MIRRORED[function]
            chosen.append(Comparison(function, probes[place], builds[group[0]]))
        ranges = find_ranges(chosen)
        if best is None or ranges.pair_count() < best.pair_count():
            fulfilled = tuple(comparisons[place].condition for place in group)
            best = Partners(probe_is_left, ranges=ranges, fulfilled=fulfilled)
        if best.pair_count() <= left.rows.row_count + right.rows.row_count:
            break
    assert best is not None
    return best


def _places(expressions: Sequence[Expression]) -> list[list[int]]:
    """Return the places of each distinct expression."""
    groups: dict[Expression, list[int]] = {}
    for place, expression in enumerate(expressions):
        groups.setdefault(expression, []).append(place)
    return list(groups.values())


def _masked(codes: NDArray[np.int64], may_match: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    return codes if may_match is None else np.where(may_match, codes, -1)


def _nulls_where_not(
    values: pa.ChunkedArray | pa.Array, may_match: NDArray[np.bool_] | None
) -> pa.ChunkedArray | pa.Array:
    if may_match is None:
        return values
    return pc.if_else(pa.array(may_match), values, pa.scalar(None, values.type))
