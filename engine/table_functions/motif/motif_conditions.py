"""The conditions of a question on the edges of one graph, from the values of its rows.

    where          filters and comparisons of values that are read of the rows
    min_gap, ...   comparisons of times
    since          the last edge is one of the newer ones

Values become keys: whole numbers in their order, so that one loop compares values of all types.
Keys, and which edges keep a filter, are kept with the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import joined
from raydb.engine.table_functions.motif.graph_cache import make_anew
from raydb.kernels.motif.conditions import NULL_KEY, Comparison, Conditions
from raydb.late import pc
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.types import is_float, is_integer
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph, Keep
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.engine.table_functions.motif.motif_variants import Variant
    from raydb.engine.table_functions.motif.motif_where import InstanceTest, Multiple, Where
    from raydb.kernels.motif.conditions import Operator

    Values: TypeAlias = pa.ChunkedArray | pa.Array
    Keys: TypeAlias = NDArray[np.int64]

    # Keys, and a number that they are to be multiplied by.
    _Factored: TypeAlias = tuple[Keys, int]

# Keys are multiplied where what they give is less.
_MOST_MULTIPLIED = 2**62


def conditions_of(
    asked: MotifQuestion,
    edges: EdgeGraph,
    read: Callable[[int], Values],
    keep: Keep = make_anew,
) -> list[tuple[Variant, Conditions]]:
    """Return the plain motifs that a question is about, and the conditions of each.

    read: gives a value of all rows by its place among what is read. Where instances are asked for
    that are new, those whose last edge is new are shared out to motifs that each want another edge
    of the last ones to be the first that is new.
    """
    maker = _Maker(asked, edges, read, keep)
    found = []
    for number, variant in enumerate(asked.variants):
        where = asked.wheres[number] if asked.wheres else None
        conditions = maker.conditions(variant, where)
        if asked.since is None:
            found.append((variant, conditions))
        else:
            found += [(variant, each) for each in maker.newer(variant, conditions)]
    return found


class _Maker:
    """Makes the conditions of variants, sharing what they have in common."""

    def __init__(
        self,
        asked: MotifQuestion,
        edges: EdgeGraph,
        read: Callable[[int], Values],
        keep: Keep,
    ) -> None:
        self._asked, self._graph, self._edges = asked, edges.graph, edges
        self._read, self._keep = read, keep
        self._of_edges: dict[int, pa.Array | pa.ChunkedArray] = {}
        self._alone: dict[int, Keys | None] = {}
        self._multiples: Mapping[int, Multiple] = {}

    def conditions(self, variant: Variant, where: Where | None) -> Conditions:
        """Return what `where` and the gaps ask of a variant."""
        keys: list[Keys] = []
        comparisons: list[Comparison] = []

        def compare(
            edge: int, one: _Factored, operator: Operator, other_edge: int, other: _Factored
        ) -> None:
            places = []
            for each, _ in (one, other):
                same = [place for place, known in enumerate(keys) if known is each]
                places.append(same[0] if same else len(keys))
                if not same:
                    keys.append(each)
            between = edge, places[0], operator, other_edge, places[1]
            comparisons.append(Comparison(*between, one[1], other[1]))

        self._compare_gaps(variant, compare)
        filters: dict[int, NDArray[np.bool_]] = {}
        filter_of: tuple[int, ...] = ()
        tests: tuple[InstanceTest, ...] = ()
        if where is not None:
            self._multiples = {each.key: each for each in where.multiples}
            for each in where.comparisons:
                one, other = self._keys((each.key, each.other_key))
                compare(each.edge, one, each.operator, each.other_edge, other)
            for place in where.filters:
                if place is not None and place not in filters:
                    filters[place] = self._mask(place)
            numbers: Mapping[int | None, int] = {None: -1, **{p: n for n, p in enumerate(filters)}}
            filter_of = tuple(numbers[place] for place in where.filters)
            tests = where.rest
        judge = self._judge(tests) if tests else None
        return Conditions(
            *(tuple(filters.values()), filter_of, tuple(keys), tuple(comparisons)),
            *(variant.absent, judge),
        )

    def newer(self, variant: Variant, conditions: Conditions) -> list[Conditions]:
        """Return conditions that together ask for an edge no earlier than `since`, too."""
        assert self._asked.since is not None
        since = self._asked.since - self._edges.first_time
        is_new = self._graph.time >= since
        groups = variant.motif.groups
        last = [edge for edge, group in enumerate(groups) if group == groups[-1]]
        found = []
        for first in last:
            filters = list(conditions.filters)
            filter_of = list(conditions.filter_of or [-1] * len(groups))
            for edge in last[: last.index(first) + 1]:
                mask = is_new if edge == first else ~is_new
                own = filter_of[edge]
                filter_of[edge] = len(filters)
                filters.append(mask if own < 0 else mask & conditions.filters[own])
            found.append(replace(conditions, filters=tuple(filters), filter_of=tuple(filter_of)))
        return found

    def _compare_gaps(self, variant: Variant, compare: Callable[..., None]) -> None:
        """Compare the times of edges of each part with those of the next part."""
        asked, time = self._asked, self._graph.time
        if asked.min_gap is None and asked.max_gap is None:
            return
        last = int(time[-1]) if len(time) else 0
        at_least, at_most = (
            None if gap is None else time + min(gap, last + 1)
            for gap in (asked.min_gap, asked.max_gap)
        )
        groups = variant.motif.groups
        for edge, group in enumerate(groups):
            for other, own in enumerate(groups):
                if own == group + 1 and at_least is not None:
                    compare(edge, (at_least, 1), "<=", other, (time, 1))
                if own == group + 1 and at_most is not None:
                    compare(other, (time, 1), "<=", edge, (at_most, 1))

    def _values(self, place: int) -> pa.Array | pa.ChunkedArray:
        """Return what is read of the rows of the edges, in the order of their numbers."""
        if place not in self._of_edges:
            rows = pa.array(self._graph.row)
            self._of_edges[place] = joined(joined(self._read(place)).take(rows))
        return self._of_edges[place]

    def _mask(self, place: int) -> NDArray[np.bool_]:
        """Return for which edges a condition holds; NULL is no."""

        def make() -> NDArray[np.bool_]:
            held = pc.fill_null(self._values(place), False)
            found: NDArray[np.bool_] = held.to_numpy(zero_copy_only=False).astype(np.bool_)
            return found

        found: NDArray[np.bool_] = self._keep("motif mask", (place,), make)
        return found

    def _keys(self, places: tuple[int, int]) -> tuple[_Factored, ...]:
        """Return keys of two values that are compared."""
        alone = [self._factored(place) for place in places]
        found = tuple((keys, factor) for keys, factor in alone if keys is not None)
        if len(found) == len(places):
            return found

        def make() -> tuple[Keys, ...]:
            return _ranks([self._values(each) for each in places])

        ranks: tuple[Keys, ...] = self._keep("motif ranks", places, make)
        return tuple((keys, 1) for keys in ranks)

    def _factored(self, place: int) -> tuple[Keys | None, int]:
        """Return keys of a value by those that they are multiples of, where these are known."""
        multiple = self._multiples.get(place)
        of = None if multiple is None else self._keys_alone(multiple.of)
        if multiple is not None and of is not None:
            most = int(self._keep("motif largest key", (multiple.of,), lambda: _largest(of))[0])
            if 0 < most * abs(multiple.factor) < _MOST_MULTIPLIED:
                return of, multiple.factor
        return self._keys_alone(place), 1

    def _keys_alone(self, place: int) -> Keys | None:
        """Return keys of a value that need no other value, None where there are none."""
        if place not in self._alone:
            self._alone[place] = self._keep(
                "motif keys", (place,), lambda: keys_alone(self._values(place))
            )
        return self._alone[place]

    def _judge(self, tests: Sequence[InstanceTest]) -> Callable[[Keys], NDArray[np.bool_]]:
        def judge(edges: Keys) -> NDArray[np.bool_]:
            kept = np.arange(len(edges))
            for test in tests:
                inputs = {
                    column: self._values(place).take(pa.array(edges[kept, edge]))
                    for column, edge, place in test.inputs
                }
                held = pc.fill_null(evaluate(test.condition, inputs, len(kept)), False)
                kept = kept[joined(held).to_numpy(zero_copy_only=False).astype(np.bool_)]
            found = np.zeros(len(edges), np.bool_)
            found[kept] = True
            return found

        return judge


def keys_alone(values: Values) -> Keys | None:
    """Return values as whole numbers in their order, NULL_KEY for NULL.

    None for a type whose values have no such numbers but among others, and where one would be
    NULL_KEY.

    >>> keys_alone(pa.array([2.5, None, -1.0])).argsort().tolist()
    [1, 2, 0]
    """
    kind, is_known = values.type, None
    if values.null_count:
        is_known = joined(values.is_valid()).to_numpy(zero_copy_only=False).astype(np.bool_)
    if is_float(kind):
        # The bits of a float are in its order, those of negative ones backward.
        real = joined(pc.fill_null(values.cast(pa.float64()), 0.0)).to_numpy(zero_copy_only=False)
        real = np.where(np.isnan(real), np.nan, real + 0.0)
        bits = np.ascontiguousarray(real).view(np.int64)
        keys = np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)
    else:
        plain = _as_integers(values)
        if plain is None:
            return None
        keys = joined(pc.fill_null(plain, 0)).to_numpy(zero_copy_only=False).astype(np.int64)
        if len(keys) and int(keys.min()) == NULL_KEY:
            return None
    return keys if is_known is None else np.where(is_known, keys, NULL_KEY)


def _largest(keys: Keys) -> Keys:
    """Return the largest of keys without their signs, at least 1, shape (1,); NULL is none."""
    known = keys if keys.min(initial=0) > NULL_KEY else keys[keys != NULL_KEY]
    return np.array([max(-int(known.min(initial=0)), int(known.max(initial=1)))])


def _as_integers(values: Values) -> Values | None:
    kind = values.type
    if pa.types.is_decimal128(kind):
        whole = joined(values)
        if not isinstance(whole, pa.Array):
            return None
        words = np.frombuffer(whole.buffers()[1], np.int64).reshape(-1, 2)
        low, high = words[whole.offset : whole.offset + len(whole)].T
        is_known = whole.is_valid() if whole.null_count else None
        # Most values of many digits have few all the same.
        is_long = low >> 63 != high
        if is_known is not None:
            is_long &= is_known.to_numpy(zero_copy_only=False)
        if is_long.any():
            return None
        plain = pa.array(low)
        return (
            plain if is_known is None else pc.if_else(is_known, plain, pa.scalar(None, pa.int64()))
        )
    if pa.types.is_uint64(kind):
        return None
    if pa.types.is_date32(kind):
        return values.cast(pa.int32())
    if is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_timestamp(kind):
        return values.cast(pa.int64())
    return None


def _ranks(several: Sequence[Values]) -> tuple[Keys, ...]:
    """Return the places of values among all values of several arrays, NULL_KEY for NULL."""
    chunks = [
        chunk
        for values in several
        for chunk in (values.chunks if isinstance(values, pa.ChunkedArray) else [values])
    ]
    every = pa.chunked_array(chunks, type=several[0].type)
    distinct = pc.unique(every).drop_null()
    order = pc.array_sort_indices(distinct)
    rank = np.empty(len(distinct), np.int64)
    rank[order.to_numpy()] = np.arange(len(distinct))
    places = pc.fill_null(pc.index_in(every, value_set=distinct), -1)
    numbers = joined(places).to_numpy().astype(np.int64)
    keys = np.where(numbers < 0, NULL_KEY, rank[numbers] if len(rank) else NULL_KEY)
    ends = np.cumsum([len(values) for values in several])[:-1]
    return tuple(each.copy() for each in np.split(keys, ends))
