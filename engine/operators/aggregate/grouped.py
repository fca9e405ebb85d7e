"""The rows that one aggregate of a GROUP BY folds, with the group of each."""

from __future__ import annotations

import functools
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.aggregate.exact_sums import limb_sums
from raydb.engine.operators.codes import (
    Membership,
    encode,
    group_rows,
    join_words,
    key_word,
    sort_rows,
)
from raydb.engine.operators.relation import MIN_ROWS, Relation, concatenate, joined
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.aggregates import SEES_NULLS
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.codes import Groups
    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression

    Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows with the group of each; arguments: a value for each row.

    distances, products: what statistics have made of the rows, see statistics.py.
    """

    members: Membership
    arguments: tuple[pa.ChunkedArray | pa.Array, ...]
    distances: list[tuple[Doubles, Doubles]] = field(default_factory=list)
    products: dict[tuple[int, ...], Doubles] = field(default_factory=dict)

    @functools.cached_property
    def limb_sums(self) -> list[NDArray[np.int64]]:
        """The sums of the limbs of the first argument, of integers or decimals."""
        return limb_sums(self.arguments[0], self.members.numbers, self.members.count)

    @property
    def few_integers(self) -> list[int] | None:
        """The values of the first argument where these are few integers of one group."""
        values = self.arguments[0]
        is_few = self.members.count == 1 and len(values) <= MIN_ROWS
        if not is_few or values.null_count or not pt.is_integer(values.type):
            return None
        found: list[int] = values.to_pylist()
        return found

    def take(self, rows: NDArray[np.int64]) -> Grouped:
        """Return some of the rows, in their order."""
        check_interrupt()
        chosen = pa.array(rows)
        return Grouped(
            Membership(self.members.numbers[rows], self.members.count),
            tuple(joined(argument).take(chosen) for argument in self.arguments),
        )


def rows_of(
    call: AggregateCall,
    groups: Groups,
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
) -> Grouped:
    """Return the rows that an aggregate folds, in the order of its ORDER BY.

    Those are the rows that pass its FILTER, with no NULL among their arguments unless the
    aggregate sees NULLs, and each tuple of arguments once where it is DISTINCT.
    """
    check_interrupt()
    arguments = tuple(values[argument] for argument in call.arguments)
    rows = Grouped(groups.members, arguments)
    keys = [values[item.expression] for item in call.order_by]
    mask = _mask(call, arguments, values)
    if mask is not None:
        chosen = np.flatnonzero(mask)
        rows, keys = rows.take(chosen), _take_each(keys, chosen)
    if call.distinct:
        numbers = rows.members.numbers
        groups_of = [] if rows.members.count == 1 else [pa.array(numbers)]
        distinct = group_rows([*groups_of, *rows.arguments], len(numbers))
        chosen = np.sort(distinct.rows)
        rows, keys = rows.take(chosen), _take_each(keys, chosen)
    if call.order_by:
        words = [
            key_word(encode(key), item.descending, item.nulls_first)
            for key, item in zip(keys, call.order_by, strict=True)
        ]
        rows = rows.take(sort_rows(join_words(words, len(rows.members.numbers))))
    return rows


def sees_nulls(call: AggregateCall) -> bool:
    """Tell whether rows whose arguments are NULL take part."""
    return call.function in SEES_NULLS


def _mask(
    call: AggregateCall,
    arguments: Sequence[pa.ChunkedArray | pa.Array],
    values: Mapping[Expression, pa.ChunkedArray | pa.Array],
) -> NDArray[np.bool_] | None:
    """Return which rows take part; None for all of them."""
    masks = []
    if call.filter is not None:
        masks.append(pc.fill_null(values[call.filter], False))
    if not sees_nulls(call):
        masks += [pc.is_valid(argument) for argument in arguments if argument.null_count]
    if not masks:
        return None
    mask: NDArray[np.bool_] = np.logical_and.reduce(
        [joined(mask).to_numpy(zero_copy_only=False) for mask in masks]
    )
    return mask


def _take_each(
    keys: Sequence[pa.ChunkedArray | pa.Array], rows: NDArray[np.int64]
) -> list[pa.ChunkedArray | pa.Array]:
    return [joined(key).take(pa.array(rows)) for key in keys]


def places_beside(rows: Relation, groups: Relation, keys: Sequence[Column]) -> NDArray[np.int64]:
    """Return for each row the place of its keys among groups, -1 for none of them."""
    both = concatenate([rows.select(keys), groups.select(keys)], keys)
    numbers = group_rows([both.columns[key] for key in keys], both.row_count).members.numbers
    place_of = np.full(int(numbers.max(initial=0)) + 1, -1)
    place_of[numbers[rows.row_count :]] = np.arange(groups.row_count)
    places: NDArray[np.int64] = place_of[numbers[: rows.row_count]]
    return places
