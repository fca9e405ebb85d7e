"""Joins over Arrow: partners are found as row numbers, and columns are fetched for the pairs last.

    pairs      = partners for which the residual condition is true
    left join  = pairs + left rows in no pair, with NULLs for the right columns
    semi join  = left rows in some pair

A residual condition has to be known before a row without a partner is, so every kind of join takes
this one path. It is checked on some 100 000 pairs at a time, however many there are. Sides that do
not fit in memory are joined part by part; see `partitioned`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.join.key_set import key_set
from raydb.engine.operators.join.partitioned import blocks_of_sides, parts_of_sides
from raydb.engine.operators.join.partners import (
    MIRRORED,
    Compared,
    Side,
    find_partners,
    left_rows_with_partner,
    rows_in_pairs,
)
from raydb.engine.operators.relation import Collector, Relation, joined
from raydb.interrupts import beside
from raydb.planner.expressions.columns.arrays import filled
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, columns_of, conjuncts
from raydb.storage.in_order import in_order, results_at_a_time
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.join.partners import Part, Partners
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import HashJoin, PhysicalPlan


# What the row numbers of a pair take while its columns are fetched.
BYTES_A_PAIR = 48


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Row numbers of both sides; None for all rows of a side, each once and in order.

    padded: whether -1 among the numbers stands for a row of NULLs.
    """

    left: NDArray[np.integer] | None
    right: NDArray[np.integer] | None
    padded: bool = False

    def count(self) -> int:
        """Return the number of pairs."""
        rows = self.right if self.left is None else self.left
        assert rows is not None
        return len(rows)


# The sides without whose rows a join has none: then the other side need not run.
_DECISIVE: Mapping[str, tuple[str, ...]] = {
    "inner": ("left", "right"),
    "semi": ("left", "right"),
    "anti": ("left",),
    "mark": ("left",),
    "left": ("left",),
    "right": ("right",),
    "full": (),
}

# A row may have many partners, a cross join has a pair for each two rows: so many pairs are made at
# a time, or as many as there are rows on both sides.
_MANY_PAIRS = 2**20

# Fewer pairs at a time take longer to begin than to make.
FEWEST_PAIRS = 2**12

# A thread takes longer to begin than to fetch a column of so many pairs.
_FEW_PAIRS = 2**14


def run_join(plan: HashJoin, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return some columns of a join's rows."""
    collector = Collector(sources.memory, columns)
    for rows in join_pieces(plan, columns, sources):
        collector.add(rows)
    return collector.relation()


def join_pieces(plan: HashJoin, columns: Sequence[Column], sources: Sources) -> Iterator[Relation]:
    """Yield some columns of a join's rows, in one piece unless they are very many."""
    memory = sources.memory
    sides = plan.left.columns, plan.right.columns
    parts = [part for condition in plan.residual for part in conjuncts(condition)]
    own = [[part for part in parts if columns_of(part) <= set(side)] for side in sides]
    residual = [part for part in parts if part not in own[0] and part not in own[1]]
    compared = _compared(plan, residual)
    wanted = {*columns}.union(*(columns_of(part) for part in residual))
    asked = {
        "left": (
            (plan.left, [column for column in sides[0] if column in wanted]),
            (plan.left_keys, [each.left for each in compared], own[0]),
        ),
        "right": (
            (plan.right, [column for column in sides[1] if column in wanted]),
            (plan.right_keys, [each.right for each in compared], own[1]),
        ),
    }
    found = _run_sides(plan, asked, sources)
    if found is None:
        yield Relation({c: pa.chunked_array([], c.type) for c in columns}, 0)
        return
    # Where they go to files part by part, the sides as a whole leave memory and theirs.
    shares = parts_of_sides(found.pop("left"), found.pop("right"), memory)
    for sides_of_part in shares:
        yield from _join(plan, columns, sides_of_part, (compared, residual), memory)


def _run_sides(
    plan: HashJoin, asked: Mapping[str, tuple[Any, Any]], sources: Sources
) -> dict[str, Side] | None:
    """Return both sides, by what `run_side` is asked for; None where an empty one decides.

    The plan may run again, over other rows: the keys that one side sends the other go with it.
    """
    found: dict[str, Side] = {}
    try:
        for name in ("left", "right") if plan.filtered == "right" else ("right", "left"):
            found[name] = run_side(*asked[name], sources)
            if not found[name].rows.row_count and name in _DECISIVE[plan.kind]:
                return None
            if name != plan.filtered:
                _send_keys(plan, found[name], sources)
    finally:
        for each in plan.sent:
            sources.key_sets.pop(each.number, None)
    return found


def _join(
    plan: HashJoin,
    columns: Sequence[Column],
    sides: tuple[Side, Side],
    conditions: tuple[Sequence[Compared], Sequence[Expression]],
    memory: Memory,
) -> Iterator[Relation]:
    """Yield the rows of a join, of each two blocks of its sides.

    What becomes of a row without a partner is known when it has met all blocks of the other side.
    """
    lefts, rights = blocks_of_sides(*sides, memory)
    paired_rights = [np.zeros(right.rows.row_count, np.bool_) for right in rights]
    is_whole = len(lefts) == len(rights) == 1
    for left in lefts:
        paired_left = np.zeros(left.rows.row_count, np.bool_)
        for right, paired_right in zip(rights, paired_rights, strict=True):
            if plan.kind in ("semi", "anti", "mark"):
                paired_left |= _left_rows_in_pairs(plan, left, right, *conditions)
                continue
            paired = paired_left, paired_right
            yield from _pairs_of_blocks(
                plan, columns, (left, right), conditions, paired, memory, is_whole=is_whole
            )
        if plan.kind in ("semi", "anti", "mark"):
            yield _left_rows(plan, left.rows, paired_left, columns)
        elif plan.kind in ("left", "full") and not paired_left.all():
            yield unpaired_rows(left.rows, paired_left, columns)
    if plan.kind in ("right", "full"):
        for right, paired_right in zip(rights, paired_rights, strict=True):
            if not paired_right.all():
                yield unpaired_rows(right.rows, paired_right, columns)


def _pairs_of_blocks(
    plan: HashJoin,
    columns: Sequence[Column],
    sides: tuple[Side, Side],
    conditions: tuple[Sequence[Compared], Sequence[Expression]],
    paired: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    memory: Memory,
    *,
    is_whole: bool,
) -> Iterator[Relation]:
    """Yield the columns of pairs of two sides that fit in memory; paired: notes their rows.

    is_whole: whether these are all rows of both sides.
    """
    (left, right), (compared, residual) = sides, conditions
    row_count = left.rows.row_count + right.rows.row_count
    partners = beside(lambda: find_partners(left, right, compared, plan.null_safe), row_count)
    unchecked = [part for part in residual if part not in partners.fulfilled]
    if not columns and not unchecked:
        _mark_pairs(plan, partners, paired)
        yield Relation({}, partners.pair_count())
        return
    left_rows, right_rows = left.rows, right.rows
    stays = not unchecked and is_whole and _stays(plan, partners)
    most, pair_count = FEWEST_PAIRS, partners.probe_count if stays else partners.pair_count()
    if pair_count > most:
        # Two pieces are there at a time, and what comes of them.
        pair_bytes = BYTES_A_PAIR + 2 * row_width(left_rows) + 2 * row_width(right_rows)
        most = max(memory.room() // 4 // pair_bytes, most)
        if partners.ranges is not None:
            most = min(most, max(row_count, _MANY_PAIRS))
    if pair_count <= most and not unchecked:
        _mark_pairs(plan, partners, paired)
        if stays:
            assert partners.places is not None
            paired[0 if partners.probe_is_left else 1][:] = True
            pairs = replace(_sides_of(partners, (None, partners.places)), padded=True)
        else:
            pairs = _sides_of(partners, partners.all_pairs())
        yield fetch_in_threads(left_rows, right_rows, pairs, columns)
        return
    # Joined once, and not again for each part of the pairs.
    left_rows, right_rows = left_rows.combined(), right_rows.combined()
    check = _check(partners, left_rows, right_rows, unchecked)

    def rows_of(part: Part) -> Relation:
        pairs = check(part)
        # Threads that note the same row write the same.
        if plan.kind in ("left", "full"):
            paired[0][pairs.left] = True
        if plan.kind in ("right", "full"):
            paired[1][pairs.right] = True
        return fetch_pairs(left_rows, right_rows, pairs, columns)

    step = max(most // results_at_a_time(), FEWEST_PAIRS)
    yield from in_order(rows_of, partners.parts(step))


def _stays(plan: HashJoin, partners: Partners) -> bool:
    """Tell whether each probe row is in the answer once, with its only partner or none."""
    kept = "left" if partners.probe_is_left else "right"
    return partners.places is not None and plan.kind == kept


def _mark_pairs(
    plan: HashJoin, partners: Partners, paired: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> None:
    """Note which rows are in a pair, of the sides whose other rows are wanted too."""
    if plan.kind in ("left", "full"):
        paired[0][rows_in_pairs(partners, len(paired[0]), is_left=True)] = True
    if plan.kind in ("right", "full"):
        paired[1][rows_in_pairs(partners, len(paired[1]), is_left=False)] = True


def row_width(rows: Relation) -> int:
    """Return the bytes that a row takes, on average."""
    return -(-rows.size_bytes // max(rows.row_count, 1))


def run_side(
    source: tuple[PhysicalPlan, Sequence[Column]],
    expressions: tuple[Sequence[Expression], Sequence[Expression], Sequence[Expression]],
    sources: Sources,
) -> Side:
    """Run a side with its keys, its compared values and the conditions on it alone."""
    keys, compared, conditions = expressions
    rows, values = sources.rows_with(*source, [*keys, *compared, *conditions])
    masks = [_mask(condition) for condition in values[len(keys) + len(compared) :]]
    return Side(
        rows,
        values[: len(keys)],
        values[len(keys) : len(keys) + len(compared)],
        np.logical_and.reduce(masks) if masks else None,
    )


def _send_keys(plan: HashJoin, side: Side, sources: Sources) -> None:
    """Keep the keys of a side for the filters of the other one, where they leave few rows."""
    for each in plan.sent:
        values = side.keys[each.place]
        if side.may_match is not None:
            values = values.filter(pa.array(side.may_match))
        keys = key_set(values, sources.memory.room())
        if keys is not None and keys.count <= each.most:
            sources.key_sets[each.number] = keys


def _compared(plan: HashJoin, residual: Sequence[Expression]) -> list[Compared]:
    """Return the comparisons that decide on partners, or on left rows that have one."""
    found = _comparisons(residual, plan.left.columns, plan.right.columns)
    if not plan.left_keys:
        return [each for each in found if each.function != "not_equal"]
    asks_one = plan.kind in ("semi", "anti", "mark") and len(residual) == len(found) == 1
    if not asks_one or pa.types.is_nested(found[0].left.type):
        return []  # Pairs are found by keys, and then checked.
    return found


def _comparisons(
    conditions: Sequence[Expression], left: Sequence[Column], right: Sequence[Column]
) -> list[Compared]:
    """Return the conditions that compare a value of one side with one of the other."""
    found = []
    for condition in conditions:
        match condition:
            case Call(function=function, arguments=(one, other)) if function in MIRRORED:
                if columns_of(one) <= set(left) and columns_of(other) <= set(right):
                    found.append(Compared(function, one, other, condition))
                elif columns_of(one) <= set(right) and columns_of(other) <= set(left):
                    found.append(Compared(MIRRORED[function], other, one, condition))
    return found


# -- pairs


def _sides_of(
    partners: Partners, pairs: tuple[NDArray[np.integer] | None, NDArray[np.integer]]
) -> Pairs:
    """Return pairs of probe and build rows as those of left and right."""
    return Pairs(*pairs) if partners.probe_is_left else Pairs(pairs[1], pairs[0])


def _check(
    partners: Partners, left: Relation, right: Relation, conditions: Sequence[Expression]
) -> Callable[[Part], Pairs]:
    """Return what gives those of some pairs for which all conditions are true."""
    read = {column for condition in conditions for column in columns_of(condition)}
    left = left.select(column for column in left.columns if column in read).combined()
    right = right.select(column for column in right.columns if column in read).combined()

    def check(part: Part) -> Pairs:
        pairs = _sides_of(partners, part())
        ours, theirs = pairs.left, pairs.right
        assert ours is not None
        assert theirs is not None
        for condition in conditions:
            columns = columns_of(condition)
            some_left = left.select(c for c in left.columns if c in columns).take(pa.array(ours))
            some_right = right.select(c for c in right.columns if c in columns)
            values = {**some_left.columns, **some_right.take(pa.array(theirs)).columns}
            # An index of numbers takes a fifth of the time that one of flags takes.
            kept = np.flatnonzero(_mask(evaluate(condition, values, len(ours))))
            if len(kept) < len(ours):
                ours, theirs = ours[kept], theirs[kept]
        return Pairs(ours, theirs)

    return check


def _left_rows_in_pairs(
    plan: HashJoin,
    left: Side,
    right: Side,
    compared: Sequence[Compared],
    residual: Sequence[Expression],
) -> NDArray[np.bool_]:
    """Return for each left row whether it is in a pair."""
    row_count = left.rows.row_count + right.rows.row_count
    if len(residual) == len(compared) <= 1:
        return beside(
            lambda: left_rows_with_partner(left, right, compared, plan.null_safe), row_count
        )
    partners = beside(lambda: find_partners(left, right, compared, plan.null_safe), row_count)
    unchecked = [part for part in residual if part not in partners.fulfilled]
    found = np.zeros(left.rows.row_count, np.bool_)
    check = _check(partners, left.rows, right.rows, unchecked)
    for pairs in in_order(check, partners.parts()):
        found[pairs.left] = True
    return found


def _mask(values: pa.ChunkedArray | pa.Array) -> NDArray[np.bool_]:
    """Return where a condition is true."""
    mask: NDArray[np.bool_] = joined(filled(values, False)).to_numpy(zero_copy_only=False)
    return mask


# -- rows


def _left_rows(
    plan: HashJoin, rows: Relation, found: NDArray[np.bool_], columns: Sequence[Column]
) -> Relation:
    """Return the left rows that a semi or anti join keeps, or all of them with their mark."""
    if plan.kind == "mark":
        assert plan.mark is not None
        return Relation({**rows.columns, plan.mark: pa.array(found)}, rows.row_count).select(
            columns
        )
    kept = found if plan.kind == "semi" else ~found
    count = int(np.count_nonzero(kept))
    chosen = rows.select(columns)
    return chosen if count == rows.row_count else chosen.filter(pa.array(kept), count)


def fetch_pairs(
    left: Relation, right: Relation, pairs: Pairs, columns: Sequence[Column]
) -> Relation:
    """Return columns of the pairs."""
    return _fetch_by(map, left, right, pairs, columns)


def fetch_in_threads(
    left: Relation, right: Relation, pairs: Pairs, columns: Sequence[Column]
) -> Relation:
    """Return columns of the pairs, each column in a thread where they are many."""
    if pairs.count() <= _FEW_PAIRS:
        return fetch_pairs(left, right, pairs, columns)

    def fetch() -> Relation:
        with ThreadPoolExecutor(pa.cpu_count()) as threads:
            return _fetch_by(threads.map, left, right, pairs, columns)

    return beside(fetch, pairs.count())


def _fetch_by(
    for_each: Callable[..., Iterable[pa.ChunkedArray | pa.Array]],
    left: Relation,
    right: Relation,
    pairs: Pairs,
    columns: Sequence[Column],
) -> Relation:
    numbers = {
        side: None if rows is None else pa.array(rows, mask=rows < 0 if pairs.padded else None)
        for side, rows in (("left", pairs.left), ("right", pairs.right))
    }

    def fetch(column: Column) -> pa.ChunkedArray | pa.Array:
        side, rows = ("left", left) if column in left.columns else ("right", right)
        chosen = numbers[side]
        values = rows.select([column])
        return (values if chosen is None else values.take(chosen)).columns[column]

    return Relation(dict(zip(columns, for_each(fetch, columns), strict=True)), pairs.count())


def unpaired_rows(rows: Relation, paired: NDArray[np.bool_], columns: Sequence[Column]) -> Relation:
    """Return the rows of one side that are in no pair, NULL in the other side's columns."""
    count = len(paired) - int(np.count_nonzero(paired))
    kept = rows.filter(pa.array(~paired), count).columns
    return Relation({c: kept[c] if c in kept else pa.nulls(count, c.type) for c in columns}, count)
