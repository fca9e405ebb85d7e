"""The answer of a fused job in Python, straight from its accumulators.

    group    rows  sum           year   brand        sum               rows of the answer
    0        3     70            1992   'MFGR#11'                      (1992, 'MFGR#11', 70)
    1        0     0        ->   1992   'MFGR#12'             ->       (1993, 'MFGR#11', 12)
    2        9     12            1993   'MFGR#11'

A dashboard asks the same texts again and again, and the kernel takes microseconds: Arrow arrays,
their sort and their way to Python would take several times as long. So the keys of every group are
kept as Python values, in the order of the answer where that depends on keys alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.session.python_values import python_values
from raydb.engine.session.result import LazyRows
from raydb.kernels.backends.backend import Accumulator
from raydb.kernels.bvh.encode import encode_column
from raydb.planner.expressions.nodes import Column
from raydb.planner.expressions.types import TIMESTAMPTZ
from raydb.planner.plan.nodes import Limit, Project, Sort
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedResult
    from raydb.planner.plan.nodes import PhysicalPlan
    from raydb.planner.stars.codes.encoded import KeyTuples
    from raydb.planner.stars.fused_scan import GroupPart

# A plan keeps a Python object for each key of so many groups: 32 KiB a column.
MAX_GROUPS = 4096

_HUGEINT = pa.decimal128(38, 0)
_STEPS = (Project, Limit, Sort)


class Groups:
    """Some groups of a job: their numbers, and the key tuples that these are made of."""

    __slots__ = ("_parts", "_tuples", "numbers")

    def __init__(self, numbers: NDArray[np.integer[Any]], parts: Sequence[GroupPart]) -> None:
        self.numbers = numbers
        self._parts = parts
        self._tuples: dict[int, NDArray[np.integer[Any]]] = {}

    def tuples(self, place: int) -> NDArray[np.integer[Any]]:
        """Return the key tuple that a part stands for in each group, by the place of the part."""
        found = self._tuples.get(place)
        if found is None:
            part = self._parts[place]
            assert part.chosen is not None
            found = self.numbers if part.stride == 1 else self.numbers // part.stride
            if place + 1 < len(self._parts):
                found = found % part.count
            found = self._tuples[place] = part.chosen.take(found)
        return found

    def at(self, places: NDArray[np.integer[Any]] | slice) -> Groups:
        """Return some of them, in another order."""
        some = Groups(self.numbers[places], self._parts)
        some._tuples = {place: tuples[places] for place, tuples in self._tuples.items()}
        return some


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group key: its value in each group, and its rank among them, None where it has no order."""

    values: NDArray[np.object_]
    ranks: NDArray[np.int64] | None

    def at(self, places: NDArray[np.integer[Any]]) -> GroupKey:
        """Return the key of other groups, by the places that its values have here."""
        return GroupKey(self.values[places], None if self.ranks is None else self.ranks[places])

    def values_of(self, groups: Groups) -> NDArray[np.object_]:
        """Return its values in some groups."""
        return self.values.take(groups.numbers)

    def ranks_of(self, groups: Groups) -> NDArray[np.int64]:
        """Return its ranks in some groups."""
        assert self.ranks is not None
        return self.ranks.take(groups.numbers)


@dataclass(frozen=True, slots=True)
class PartKey:
    """A group key by a part of the group's number: its values and ranks of all key tuples."""

    of_tuples: GroupKey
    part: int

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """The ranks of all tuples, None where they have no order."""
        return self.of_tuples.ranks

    def values_of(self, groups: Groups) -> NDArray[np.object_]:
        """Return its values in some groups."""
        return self.of_tuples.values.take(groups.tuples(self.part))

    def ranks_of(self, groups: Groups) -> NDArray[np.int64]:
        """Return its ranks in some groups."""
        assert self.of_tuples.ranks is not None
        return self.of_tuples.ranks.take(groups.tuples(self.part))


@dataclass(frozen=True, slots=True)
class _Total:
    """An accumulator by its place, None for the number of rows. It has a value where `count` has.

    A count has one everywhere: its `count` is None. is_mean: whether it is a sum over that count.
    """

    place: int | None
    count: int | None
    is_mean: bool = False

    @property
    def ranks(self) -> None:
        """No rank is known before the job has run."""

    def rows_of(self, result: FusedResult, numbers: NDArray[np.integer[Any]]) -> list[Any]:
        """Return its values in some groups, which have values."""
        values: list[Any] = _values(self, result).take(numbers).tolist()
        if not self.is_mean:
            return values
        assert self.count is not None
        counts = result.values[self.count].take(numbers).tolist()
        # Python divides two integers to the nearest double, as `exact_sums.average` does.
        return [value / count for value, count in zip(values, counts, strict=True)]


Source: TypeAlias = GroupKey | PartKey | _Total


@dataclass(frozen=True, eq=False, slots=True)
class RowFastPath:
    """How the rows of a plan come from its fused job, whatever its constants are.

    columns: of each column its values by group, or its accumulator.
        Of a path for one run the keys are by part, and no groups are put in order before it; the
        path of more runs is that of one job.
    groups: all groups in the order of the keys that order the answer; None for their own order.
    sort_keys: the ranks by group or the accumulator, and whether it descends; the last decides
        first. Empty where `groups` are in order.
    has_keys: whether groups have keys; a job without has one group.
    integers: the accumulators that have to be integers of 64 bits. counted, ordering: the counts
        of those that are shown and that order the rows: all must have values.
    """

    columns: tuple[Source, ...]
    groups: NDArray[np.int64] | None
    sort_keys: tuple[tuple[Source, bool], ...]
    count: int | None
    offset: int
    has_keys: bool
    integers: tuple[int, ...]
    counted: tuple[int, ...]
    ordering: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """The bytes of its arrays."""
        keys = {id(key): key for key in self.columns if isinstance(key, GroupKey)}
        return sum([key.values.nbytes for key in keys.values()])

    def of_all_groups(self, job: FusedScanAggregate) -> RowFastPath:
        """Return the path for more runs of a job: with all groups' keys, and these in order."""
        every = Groups(np.arange(job.job.group_count), job.parts)
        known: dict[int, Source] = {}

        def dense(source: Source) -> Source:
            if not isinstance(source, PartKey):
                return source
            if id(source) not in known:
                known[id(source)] = source.of_tuples.at(every.tuples(source.part))
            return known[id(source)]

        assert self.groups is None, "a path for one run puts no groups in order"
        columns = tuple([dense(source) for source in self.columns])
        keys = [(dense(source), descends) for source, descends in reversed(self.sort_keys)]
        groups, rest = _ordered(keys)
        return replace(self, columns=columns, groups=groups, sort_keys=rest)

    def order(self, result: FusedResult, parts: Sequence[GroupPart]) -> Groups:
        """Return the groups of the answer, in its order."""
        if not self.has_keys:
            numbers = np.zeros(1, np.int64)
        elif self.groups is None:
            numbers = result.occurring
        else:
            numbers = self.groups.compress(result.rows[self.groups] != 0)
        groups = Groups(numbers, parts)
        if self.sort_keys and len(numbers) > 1:
            keys = [_sorted_by(*key, result, groups) for key in self.sort_keys]
            groups = groups.at(np.lexsort(keys))
        if self.offset or self.count is not None:
            last = len(numbers) if self.count is None else self.offset + self.count
            groups = groups.at(slice(self.offset, last))
        return groups


def _sorted_by(
    source: Source, descending: bool, result: FusedResult, groups: Groups
) -> NDArray[Any]:
    if not isinstance(source, _Total):
        values = source.ranks_of(groups)
    elif source.is_mean:
        means = np.array(source.rows_of(result, groups.numbers))
        return -means if descending else means
    else:
        values = _values(source, result).take(groups.numbers)
    return ~values if descending else values  # The least integer has no negative.


def _values(total: _Total, result: FusedResult) -> NDArray[Any]:
    return result.rows if total.place is None else result.values[total.place]


@dataclass(frozen=True, eq=False, slots=True)
class FastRows(LazyRows):
    """The rows of one run of a plan.

    groups: those of the answer, in its order. make_table: returns the rows the general way.
    """

    fast_path: RowFastPath
    result: FusedResult
    groups: Groups
    make_table: Callable[[], pa.Table]

    @property
    def row_count(self) -> int:
        """How many groups there are."""
        return len(self.groups.numbers)

    def table(self) -> pa.Table:
        """Return the rows as a table."""
        return self.make_table()

    def python_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        columns = [
            source.rows_of(self.result, self.groups.numbers)
            if isinstance(source, _Total)
            else source.values_of(self.groups).tolist()
            for source in self.fast_path.columns
        ]
        return list(zip(*columns, strict=True))


def fast_rows(
    fast_path: RowFastPath,
    parts: Sequence[GroupPart],
    result: FusedResult,
    table: Callable[[], pa.Table],
) -> FastRows | None:
    """Return the rows of a run; None where some value is NULL or no integer of 64 bits.

    parts: what the numbers of the job's groups are made of. table: returns the rows the general
    way.
    """
    for place in fast_path.integers:
        if result.values[place].dtype != np.int64:
            return None
    # What orders the rows must be known of those too that a limit leaves out.
    if not _have_values(fast_path.ordering, result, slice(None), has_keys=fast_path.has_keys):
        return None
    groups = fast_path.order(result, parts)
    if not _have_values(fast_path.counted, result, groups.numbers, has_keys=fast_path.has_keys):
        return None
    return FastRows(fast_path, result, groups, table)


def _have_values(
    counted: Sequence[int],
    result: FusedResult,
    groups: NDArray[np.integer[Any]] | slice,
    *,
    has_keys: bool,
) -> bool:
    """Whether what is counted has a value in each of some groups, as far as these have rows."""
    for place in counted:
        counts = result.values[place]
        # Where no value is NULL they are the rows, and every group of the answer has some.
        if counts is result.rows and has_keys:
            continue
        is_absent = counts[groups] == 0
        if has_keys:
            is_absent &= result.rows[groups] > 0
        if is_absent.any():
            return False
    return True


@dataclass(frozen=True, eq=False, slots=True)
class RowSteps:
    """What becomes of the columns of a fused job: which are returned, and which order the rows.

    sort_keys: columns of the job, and whether each descends; the first decides first.
    """

    columns: tuple[Column, ...]
    sort_keys: tuple[tuple[Column, bool], ...]
    count: int | None
    offset: int

    def over(self, sources: Mapping[Column, Source], *, has_keys: bool) -> RowFastPath | None:
        """Return how the rows come from a job, some of whose columns can be had so."""
        columns = [sources.get(column) for column in self.columns]
        keys = [(sources.get(column), descends) for column, descends in self.sort_keys]
        known = [
            (source, descends)
            for source, descends in keys
            if source is not None and (source.ranks is not None or isinstance(source, _Total))
        ]
        if None in columns or len(known) < len(keys):
            return None
        groups, rest = _ordered(known)
        found = tuple([each for each in columns if each is not None])
        shown = [each for each in found if isinstance(each, _Total)]
        ordering = [each for each, _ in rest if isinstance(each, _Total)]
        return RowFastPath(
            found,
            groups,
            rest,
            self.count,
            self.offset,
            has_keys,
            _distinct([each.place for each in (*shown, *ordering)]),
            _distinct([each.count for each in shown]),
            _distinct([each.count for each in ordering]),
        )


def _distinct(places: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(dict.fromkeys([place for place in places if place is not None]))


def find_row_steps(plan: PhysicalPlan) -> RowSteps | None:
    """Return what becomes of the columns of a plan's fused job, None where rows do not come so."""
    names = plan.columns
    nodes: list[Project | Limit | Sort] = []
    while not isinstance(plan, FusedScanAggregate):
        if not isinstance(plan, _STEPS):
            return None
        nodes.append(plan)
        plan = plan.source
    if not plan.is_direct or plan.value_parts:
        return None
    held = {column: column for column, _ in (*plan.keys, *plan.aggregates)}
    keys: list[tuple[Column, bool]] | None = None
    count, offset = None, 0
    for node in reversed(nodes):
        match node:
            case Project(items=items):
                held = {
                    column: held[value]
                    for column, value in items
                    if isinstance(value, Column) and value in held
                }
            case Limit() if count is None and not offset:
                count, offset = node.count, node.offset
            case Sort() if keys is None and count is None and not offset:
                if any(key.column not in held for key in node.keys):
                    return None
                keys = [(held[key.column], key.descending) for key in node.keys]
            case _:
                return None
    if any(column not in held for column in names):
        return None
    return RowSteps(tuple(held[column] for column in names), tuple(keys or ()), count, offset)


def prepare_row_fast_path(
    plan: PhysicalPlan, keys: Callable[[FusedScanAggregate], dict[Column, Source]]
) -> RowFastPath | None:
    """Return how a plan's rows come straight from its fused job; None where they do not.

    keys: `part_sources` for one run, `key_sources` for more.
    """
    steps = find_row_steps(plan)
    if steps is None:
        return None
    while not isinstance(plan, FusedScanAggregate):
        (plan,) = plan.sources
    if plan.job.group_count > MAX_GROUPS:
        return None
    return steps.over({**keys(plan), **total_sources(plan)}, has_keys=bool(plan.keys))


# The keys of tuples that queries share.
_shared_keys: WeakKeyDictionary[KeyTuples, tuple[GroupKey | None, ...]] = WeakKeyDictionary()


def part_sources(plan: FusedScanAggregate) -> dict[Column, Source]:
    """Return the keys of a fused job by the parts of a group's number, where queries share them."""
    sources: dict[Column, Source] = {}
    for place, part in enumerate(plan.parts):
        if part.shared is not None and part.chosen is not None and len(part.chosen):
            sources |= tuple_sources(part.shared, part.columns, place, MAX_GROUPS)
    return sources


def tuple_sources(
    tuples: KeyTuples, columns: Sequence[Column], place: int, most: int
) -> dict[Column, Source]:
    """Return the keys of one part of a group's number, by its place.

    most: of how many tuples Python objects are made.
    """
    keys = _shared_keys.get(tuples)
    if keys is None:
        if tuples.count > most:
            return {}
        keys = _shared_keys[tuples] = tuple([known_key(values) for values in tuples.values])
    named = zip(columns, keys, strict=True)
    return {column: PartKey(key, place) for column, key in named if key is not None}


def key_sources(plan: FusedScanAggregate) -> dict[Column, Source]:
    """Return the keys of a fused job that can be had."""
    numbers = np.arange(plan.job.group_count)
    sources: dict[Column, Source] = {}
    for part in plan.parts:
        places = numbers // part.stride % part.count
        for column, values in zip(part.columns, part.values, strict=True):
            # No code may be allowed: then a part has no values.
            key = known_key(values) if len(values) == part.count else None
            if key is not None:
                sources[column] = key.at(places)
    return sources


def total_sources(plan: FusedScanAggregate) -> dict[Column, Source]:
    """Return the accumulated integers of a fused job, and their means."""
    sources: dict[Column, Source] = {}
    for column, call in plan.aggregates:
        if call.function == "count_star":
            sources[column] = _Total(None, None)
        elif call.distinct:
            continue
        elif call.function in ("count", "sum", "min", "max") and _is_integer(call.type):
            measure = plan.measures.index(call.arguments[0])
            place = plan.running.index(Accumulator(call.function, measure))
            counted = plan.running.index(Accumulator("count", measure))
            sources[column] = _Total(place, None if call.function == "count" else counted)
        elif call.function == "avg" and pt.is_integer(call.arguments[0].type):
            measure = plan.measures.index(call.arguments[0])
            place, counted = (
                plan.running.index(Accumulator(each, measure)) for each in ("sum", "count")
            )
            sources[column] = _Total(place, counted, is_mean=True)
    return sources


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or kind == _HUGEINT)


def known_key(values: pa.Array) -> GroupKey | None:
    """Return a key that has these values and their ranks; None for one that rows show otherwise."""
    # An interval has no rank, and a time zone is another one from session to session.
    if pt.is_nested(values.type) or pt.is_interval(values.type) or values.type == TIMESTAMPTZ:
        return None
    objects = np.empty(len(values), object)
    objects[:] = python_values(values)
    ranks = None
    # Of NULL and NaN the sort has rules of its own.
    if not values.null_count and not pt.is_floating(values.type):
        ranks = encode_column(values).codes.astype(np.int64)
    return GroupKey(objects, ranks)


def _ordered(
    keys: list[tuple[Source, bool]],
) -> tuple[NDArray[np.int64] | None, tuple[tuple[Source, bool], ...]]:
    """Return all groups in order where keys alone decide it, and what is left to sort by."""
    ranks = [
        ~source.ranks if descending else source.ranks
        for source, descending in reversed(keys)
        if isinstance(source, GroupKey) and source.ranks is not None
    ]
    if not keys or len(ranks) < len(keys):
        return None, tuple(reversed(keys))
    return np.lexsort(ranks), ()
