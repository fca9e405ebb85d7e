"""Where window functions look: rows arranged by partition and order, and the frame of each row.

    source row     3  0  4  1  2      places, sorted by partition and then by order
    partitions     0        3     5   where each begins, and the end
    peers          0  1     3  4  5   where the rows that are equal in the order begin

A frame is a list of pieces, ranges of places (starts, ends): one, or up to three with EXCLUDE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from raydb.engine.operators.codes import (
    Codes,
    Word,
    encode,
    group_numbers,
    join_words,
    key_word,
    sort_rows,
)
from raydb.errors import DataError, NotSupportedError
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.columns.moments import (
    Intervals,
    keep_infinite,
    moments_later,
    numbers_of,
)
from raydb.planner.expressions.columns.order import canonical_floats, order_codes
from raydb.planner.expressions.columns.units import with_nanoseconds
from raydb.planner.expressions.columns.zones import add_in_zone, session_zone
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Literal
from raydb.planner.expressions.types import TIMESTAMP_NS, TIMESTAMPTZ
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.expressions.nodes import Bound, Expression, Frame, OrderItem, WindowCall

Places: TypeAlias = NDArray[np.int64]
Pieces: TypeAlias = list[tuple[Places, Places]]

_LEAST, _MOST = -(2**63), 2**63 - 1

# An array of so many partitions is never too large.
_FEW_PARTITIONS = 2**16

# Behind all rows of a partition; words leave room for a row number.
_NO_ROW = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False, slots=True)
class Arrangement:
    """rows: the source row at each place; partitions, peers: where they begin, and the end."""

    rows: Places
    partitions: Places
    peers: Places

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.rows)


def arrange(
    partition_by: Sequence[Expression],
    order_by: Sequence[OrderItem],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
) -> Arrangement:
    """Sort rows by partition and order; equal rows stay in the source's order."""
    partition, order = _words(partition_by, order_by, values, row_count)
    whole = join_words([partition, order], row_count)
    rows = sort_rows(whole)
    peers = _starts(whole.numbers[rows])
    if not order_by:
        return Arrangement(rows, peers, peers)
    return Arrangement(rows, _starts(partition.numbers[rows]), peers)


def first_places(
    call: WindowCall,
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
    most: int,
) -> NDArray[np.int64] | None:
    """Return the places of rows that hold all whose number in their partition is at most `most`.

    None where there are too many partitions for an array of them.
    """
    partition, order = _words(call.partition_by, call.order_by, values, row_count)
    if 2**partition.bits > max(row_count, _FEW_PARTITIONS):
        return None
    parts = partition.numbers.astype(np.int64)
    last = np.full(2**partition.bits, _NO_ROW)
    np.minimum.at(last, parts, order.numbers)
    for _ in range(most - 1):
        check_interrupt()
        later = order.numbers > last[parts]
        last = np.full_like(last, _NO_ROW)
        np.minimum.at(last, parts[later], order.numbers[later])
    return np.flatnonzero(order.numbers <= last[parts])


def _words(
    partition_by: Sequence[Expression],
    order_by: Sequence[OrderItem],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    row_count: int,
) -> tuple[Word, Word]:
    """Return words that sort rows by partition, and by order."""
    partition = join_words(
        [key_word(_partition_codes(values[key]), False, False) for key in partition_by],
        row_count,
    )
    order = join_words(
        [
            key_word(encode(values[item.expression]), item.descending, item.nulls_first)
            for item in order_by
        ],
        row_count,
    )
    return partition, order


def _partition_codes(values: pa.ChunkedArray | pa.Array) -> Codes:
    """Return a key of partitions as codes, in the order of its values but for lists."""
    if not pt.is_nested(values.type):
        return encode(canonical_floats(values))
    return Codes(group_numbers(values), None, pa.int64())


def _starts(sorted_numbers: NDArray[np.uint64]) -> Places:
    """Return where runs of equal numbers begin, and the end."""
    changes = np.flatnonzero(np.diff(sorted_numbers) != 0) + 1
    count = len(sorted_numbers)
    return np.concatenate([[0], changes, [count]]) if count else np.zeros(1, np.int64)


def spread(starts: Places, values: Places) -> Places:
    """Give each place the value of the run that it is in; `starts` has the end too."""
    return np.repeat(values, np.diff(starts))


def frame_pieces(
    call: WindowCall,
    arrangement: Arrangement,
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
) -> Pieces:
    """Return the frame of each place."""
    frame = call.frame
    starts = _bound(frame.start, call, arrangement, values, is_start=True)
    ends = _bound(frame.end, call, arrangement, values, is_start=False)
    return _exclude(frame, starts, np.maximum(starts, ends), arrangement)


def _bound(
    bound: Bound,
    call: WindowCall,
    arrangement: Arrangement,
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
    *,
    is_start: bool,
) -> Places:
    """Return where each place's frame begins, or the place after its end."""
    partitions, peers = arrangement.partitions, arrangement.peers
    match bound.kind, call.frame.unit:
        case "unbounded_preceding", _:
            return spread(partitions, partitions[:-1])
        case "unbounded_following", _:
            return spread(partitions, partitions[1:])
        case "current_row", "rows":
            return np.arange(arrangement.row_count) + (0 if is_start else 1)
        case "current_row", _:
            return spread(peers, peers[:-1] if is_start else peers[1:])
        case kind, "range":
            item = call.order_by[0]
            return _range_bound(
                item, bound, values[item.expression], arrangement, is_start=is_start
            )
        case kind, unit:
            offset = _whole_offset(bound, arrangement.row_count)
            distance = (-offset if kind == "preceding" else offset) + (0 if is_start else 1)
            if unit == "rows":
                places = np.arange(arrangement.row_count) + distance
                first, last = (spread(partitions, p) for p in (partitions[:-1], partitions[1:]))
                return np.clip(places, first, last)
            return _group_bound(distance, arrangement)


def _whole_offset(bound: Bound, row_count: int) -> int:
    assert isinstance(bound.offset, Literal), "offsets are constant"
    return min(int(bound.offset.value), row_count + 1)


def _group_bound(distance: int, arrangement: Arrangement) -> Places:
    """Return the beginning of the group of peers that lies so many groups after a place's own."""
    partitions, peers = arrangement.partitions, arrangement.peers
    groups = np.arange(len(peers) - 1)
    first_groups = np.searchsorted(peers, partitions)
    of_partition = np.repeat(np.arange(len(partitions) - 1), np.diff(first_groups))
    target = np.clip(groups + distance, first_groups[of_partition], first_groups[of_partition + 1])
    return spread(peers, peers[target])


def _exclude(frame: Frame, starts: Places, ends: Places, arrangement: Arrangement) -> Pieces:
    """Take the current row, its peers, or both out of the frames."""
    if frame.exclude == "no_others":
        return [(starts, ends)]
    here = np.arange(arrangement.row_count)
    first = last = here
    if frame.exclude != "current_row":
        peers = arrangement.peers
        first, last = spread(peers, peers[:-1]), spread(peers, peers[1:]) - 1
    before = (starts, np.clip(first, starts, ends))
    behind = (np.clip(last + 1, starts, ends), ends)
    if frame.exclude != "ties":
        return [before, behind]
    own = (np.clip(here, starts, ends), np.clip(here + 1, starts, ends))
    return [before, own, behind]


# -- RANGE with an offset


def _range_bound(
    item: OrderItem,
    bound: Bound,
    keys: pa.ChunkedArray | pa.Array,
    arrangement: Arrangement,
    *,
    is_start: bool,
) -> Places:
    """Return the first place whose key is within the offset, or the one after the last.

    Rows whose key is NULL have their peers only, and are within reach of nobody else.
    """
    from raydb.kernels.window.fold_loops import find_places  # noqa: PLC0415  (numba takes 0.24 s)

    assert isinstance(bound.offset, Literal), "offsets are constant"
    ordered = encode(keys.take(pa.array(arrangement.rows)))
    if ordered.ranked is not None:
        raise NotSupportedError("RANGE with an offset over more than 64 bits is not supported")
    codes = ordered.codes if ordered.valid is None else np.where(ordered.valid, ordered.codes, 0)
    backward = (bound.kind == "preceding") != item.descending
    targets = _shift(codes, ordered.kind, bound.offset, backward=backward)
    if item.descending:  # ~ turns the order of int64 round
        codes, targets = ~codes, ~targets
    partitions, peers = arrangement.partitions, arrangement.peers
    lows, highs = partitions[:-1], partitions[1:]
    if ordered.valid is not None and arrangement.row_count:
        nulls = np.add.reduceat((~ordered.valid).astype(np.int64), partitions[:-1])
        lows, highs = (lows + nulls, highs) if item.nulls_first else (lows, highs - nulls)
    places = np.empty(arrangement.row_count, np.int64)
    find_places(
        codes, spread(partitions, lows), spread(partitions, highs), targets, not is_start, places
    )
    if ordered.valid is not None:
        own = spread(peers, peers[:-1] if is_start else peers[1:])
        places = np.where(ordered.valid, places, own)
    return places


def _shift(
    codes: NDArray[np.int64], kind: pa.DataType, offset: Literal, *, backward: bool
) -> NDArray[np.int64]:
    """Return the codes of the keys plus, or minus where `backward`, an offset."""
    constant = evaluate(offset, {}, 1)
    if pt.is_interval(offset.type):
        parts = numbers_of(constant)
        sign = -1 if backward else 1
        interval = Intervals(sign * parts.months, sign * parts.days, sign * parts.microseconds)
        try:
            if kind == TIMESTAMPTZ:
                return add_in_zone(codes, interval, session_zone())
            if kind == TIMESTAMP_NS:
                micros = keep_infinite(lambda nanoseconds: nanoseconds // 1000)(codes)
                return with_nanoseconds(moments_later(micros, interval), codes)
            return moments_later(codes, interval)
        except pa.ArrowInvalid as error:
            raise DataError("a bound of a RANGE frame is out of range for TIMESTAMP") from error
    if pt.is_floating(kind):
        return _shift_doubles(codes, -offset.value if backward else offset.value)
    (distance,) = encode(constant).codes
    if backward:
        shifted = codes - distance
        return np.where(shifted > codes, _LEAST, shifted)
    shifted = codes + distance
    return np.where(shifted < codes, _MOST, shifted)


def _shift_doubles(codes: NDArray[np.int64], distance: float) -> NDArray[np.int64]:
    """Shift the codes of doubles; NaN stays, and infinity minus infinity is -infinity."""
    bits = codes ^ ((codes >> 63) & np.int64(_MOST))
    doubles = bits.view(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = doubles + distance
    lost = np.isnan(shifted) & ~np.isnan(doubles)
    shifted = np.where(lost, distance, shifted)
    result: NDArray[np.int64] = order_codes(pa.array(shifted)).to_numpy()
    return result
