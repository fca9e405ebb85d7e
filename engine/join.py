"""Joins over Arrow: partners are found as row numbers, and columns are fetched for the pairs last.

    pairs      = partners for which the residual condition is true
    left join  = pairs + left rows in no pair, with NULLs for the right columns
    semi join  = left rows in some pair

A residual condition has to be known before a row without a partner is, so every kind of join takes
this one path. It is checked on some 100 000 pairs at a time, however many there are.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.engine.join_partners import (
    MIRRORED,
    Compared,
    Side,
    find_partners,
    left_rows_with_partner,
)
from raydb.engine.relation import Relation, concatenate, joined
from raydb.planner.expression import Call, columns_of, conjuncts
from raydb.planner.functions import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from raydb.engine.join_partners import Partners
    from raydb.planner.expression import Column, Expression
    from raydb.planner.physical import HashJoin, PhysicalPlan

    RunWith = Callable[
        [PhysicalPlan, Sequence[Column], Sequence[Expression]],
        tuple[Relation, list[pa.ChunkedArray | pa.Array]],
    ]


@dataclass(frozen=True, eq=False, slots=True)
class _Pairs:
    """Row numbers of both sides; None for all rows of a side, each once and in order."""

    left: NDArray[np.integer] | None
    right: NDArray[np.integer] | None

    def count(self) -> int:
        """Return the number of pairs."""
        rows = self.right if self.left is None else self.left
        assert rows is not None
        return len(rows)


def run_join(
    plan: HashJoin,
    columns: Sequence[Column],
    sides: tuple[Sequence[Column], Sequence[Column]],
    run_with: RunWith,
) -> Relation:
    """Return some columns of a join's rows.

    `sides` are the columns of the left and of the right plan; `run_with` returns columns of a
    plan's rows, and the values of expressions over all its columns.
    """
    parts = [part for condition in plan.residual for part in conjuncts(condition)]
    own = [[part for part in parts if columns_of(part) <= set(side)] for side in sides]
    residual = [part for part in parts if part not in own[0] and part not in own[1]]
    compared = [] if plan.left_keys else _comparisons(residual, *sides)
    wanted = {*columns}.union(*(columns_of(part) for part in residual))
    left = _run_side(
        (plan.left, [column for column in sides[0] if column in wanted]),
        (plan.left_keys, [each.left for each in compared], own[0]),
        run_with,
    )
    right = _run_side(
        (plan.right, [column for column in sides[1] if column in wanted]),
        (plan.right_keys, [each.right for each in compared], own[1]),
        run_with,
    )
    if plan.kind in ("semi", "anti", "mark"):
        found = _left_rows_in_pairs(plan, left, right, compared, residual)
        return _left_rows(plan, left.rows, found, columns)
    partners = find_partners(left, right, compared, plan.null_safe)
    unchecked = [part for part in residual if part not in partners.fulfilled]
    if plan.kind == "inner" and not columns and not unchecked:
        return Relation({}, partners.pair_count())
    pairs = _checked(partners, left.rows, right.rows, unchecked)
    results = [_fetch(left.rows, right.rows, pairs, columns)]
    if plan.kind in ("left", "full"):
        results.append(_unpaired(left.rows, pairs.left, columns))
    if plan.kind in ("right", "full"):
        results.append(_unpaired(right.rows, pairs.right, columns))
    return results[0] if len(results) == 1 else concatenate(results, columns)


def _run_side(
    source: tuple[PhysicalPlan, Sequence[Column]],
    expressions: tuple[Sequence[Expression], Sequence[Expression], Sequence[Expression]],
    run_with: RunWith,
) -> Side:
    """Run a side with its keys, its compared values and the conditions on it alone."""
    keys, compared, conditions = expressions
    rows, values = run_with(*source, [*keys, *compared, *conditions])
    masks = [_mask(condition) for condition in values[len(keys) + len(compared) :]]
    return Side(
        rows,
        values[: len(keys)],
        values[len(keys) : len(keys) + len(compared)],
        np.logical_and.reduce(masks) if masks else None,
    )


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


def _checked(
    partners: Partners, left: Relation, right: Relation, conditions: Sequence[Expression]
) -> _Pairs:
    """Return the pairs of partners for which all conditions are true."""
    if not conditions:
        probe, build = partners.all_pairs()
        return _Pairs(probe, build) if partners.probe_is_left else _Pairs(build, probe)
    parts = list(_accepted(partners, left, right, conditions))
    return _Pairs(
        np.concatenate([rows for rows, _ in parts]), np.concatenate([rows for _, rows in parts])
    )


def _accepted(
    partners: Partners, left: Relation, right: Relation, conditions: Sequence[Expression]
) -> Iterator[tuple[NDArray[np.integer], NDArray[np.integer]]]:
    """Yield the pairs for which all conditions are true, a morsel at a time, as (left, right)."""
    read = {column for condition in conditions for column in columns_of(condition)}
    left = left.select(column for column in left.columns if column in read).combined()
    right = right.select(column for column in right.columns if column in read).combined()

    def check(
        pairs: tuple[NDArray[np.integer], NDArray[np.integer]],
    ) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        ours, theirs = pairs if partners.probe_is_left else (pairs[1], pairs[0])
        for condition in conditions:
            columns = columns_of(condition)
            some_left = left.select(c for c in left.columns if c in columns).take(pa.array(ours))
            some_right = right.select(c for c in right.columns if c in columns)
            values = {**some_left.columns, **some_right.take(pa.array(theirs)).columns}
            mask = _mask(evaluate(condition, values, len(ours)))
            ours, theirs = ours[mask], theirs[mask]
        return ours, theirs

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        waiting: deque[Future[tuple[NDArray[np.integer], NDArray[np.integer]]]] = deque()
        for pairs in partners.pairs_in_parts():
            waiting.append(threads.submit(check, pairs))
            # A few morsels at a time: all pairs of a cross product would not fit.
            if len(waiting) > 2 * pa.cpu_count():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _left_rows_in_pairs(
    plan: HashJoin,
    left: Side,
    right: Side,
    compared: Sequence[Compared],
    residual: Sequence[Expression],
) -> NDArray[np.bool_]:
    """Return for each left row whether it is in a pair."""
    if len(residual) == len(compared) <= 1:
        return left_rows_with_partner(left, right, compared, plan.null_safe)
    partners = find_partners(left, right, compared, plan.null_safe)
    unchecked = [part for part in residual if part not in partners.fulfilled]
    found = np.zeros(left.rows.row_count, np.bool_)
    for ours, _ in _accepted(partners, left.rows, right.rows, unchecked):
        found[ours] = True
    return found


def _mask(values: pa.ChunkedArray | pa.Array) -> NDArray[np.bool_]:
    """Return where a condition is true."""
    mask: NDArray[np.bool_] = joined(pc.fill_null(values, False)).to_numpy(zero_copy_only=False)
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


def _fetch(left: Relation, right: Relation, pairs: _Pairs, columns: Sequence[Column]) -> Relation:
    """Return columns of the pairs, each column in a thread."""
    numbers = {
        side: None if rows is None else pa.array(rows)
        for side, rows in (("left", pairs.left), ("right", pairs.right))
    }

    def fetch(column: Column) -> pa.ChunkedArray | pa.Array:
        side, rows = ("left", left) if column in left.columns else ("right", right)
        chosen = numbers[side]
        values = rows.select([column])
        return (values if chosen is None else values.take(chosen)).columns[column]

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        values = list(threads.map(fetch, columns))
    return Relation(dict(zip(columns, values, strict=True)), pairs.count())


def _unpaired(
    rows: Relation, paired: NDArray[np.integer] | None, columns: Sequence[Column]
) -> Relation:
    """Return the rows of one side that are in no pair, NULL in the other side's columns."""
    lonely = np.full(rows.row_count, paired is not None)
    if paired is not None:
        lonely[paired] = False
    count = int(np.count_nonzero(lonely))
    kept = rows.filter(pa.array(lonely), count).columns
    return Relation({c: kept[c] if c in kept else pa.nulls(count, c.type) for c in columns}, count)
