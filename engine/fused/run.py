"""Runs a fused job and turns its groups into Arrow rows.

The direct way is one launch over what the BVH holds. Where something must be fetched by row id, the
rows are located first, filtered and grouped further, and then accumulated.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from raydb.engine.fused import gather, table_scan
from raydb.engine.fused.fold_values import Groups, count_values, finish, fold_values, renumber
from raydb.engine.operators.relation import joined
from raydb.engine.operators.scan.late_rows import Late, LateRows
from raydb.kernels.backends.aggregates import AGGREGATES, WIDE
from raydb.kernels.backends.backend import Accumulator, FusedResult
from raydb.kernels.backends.cpu.cpu_backend import CpuBackend
from raydb.kernels.backends.cpu.runs import living_runs, runs_of
from raydb.kernels.backends.cpu.states import find_states
from raydb.kernels.backends.fallback import prepare_job
from raydb.kernels.bvh.bvh import Measure, narrow_measure
from raydb.kernels.bvh.encode import EncodedColumn, encode_column, join_codes
from raydb.kernels.codecs.arrow_numbers import to_numbers
from raydb.late import pc
from raydb.planner.expressions.nodes import Column
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.fused.table_job import TableJob
    from raydb.engine.operators.relation import Relation
    from raydb.kernels.backends.backend import PreparedJob
    from raydb.kernels.backends.cpu.cpu_backend import CpuJob
    from raydb.kernels.backends.cpu.runs import Runs
    from raydb.kernels.backends.cpu.states import CpuStates
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.planner.expressions.nodes import AggregateCall, Expression
    from raydb.planner.stars.fused_scan import FusedScanAggregate, GroupPart, JobCells
    from raydb.storage.tables.table import Table

T = TypeVar("T")

# The number of a group beside its columns, which have numbers from 0 on; codes of keys come before.
_NUMBER = Column(-(2**62), "group", pa.int64())

# The keys of no more groups are decoded at once.
_FEW_GROUPS = 4096


def prepare_fused(plan: FusedScanAggregate) -> PreparedJob:
    """Return what every run of the plan needs, to be made once."""
    if plan.runs is None or plan.backends != ("cpu",) or plan.job.sieved:
        return prepare_job(plan.backends, plan.index, plan.job)
    jobs, job = StarJobs(plan), plan.job
    if job.places is None:
        runs = living_runs(jobs.bvh, job.maps, plan.runs, plan.estimated_rows, plan.passing)
    else:
        runs = runs_of(jobs.bvh, job.maps, plan.runs, job.places)
    return jobs.prepare(runs, job.group_count)


# Of a BVH the states of so many lists of functions are kept.
MOST_STATES = 64

# With each: whether fewer rows make it narrower.
_states: WeakKeyDictionary[Bvh, dict[tuple[Hashable, bool], tuple[CpuStates, bool]]]
_states = WeakKeyDictionary()


class StarJobs:
    """What jobs on the CPU whose runs are known have in common, whatever a star's constants are."""

    def __init__(self, plan: FusedScanAggregate) -> None:
        self.bvh = plan.index.with_checked_rows()
        self._backend = CpuBackend()
        self._functions = tuple([(each.function, each.measure) for each in plan.job.accumulators])
        self._known = _states.setdefault(self.bvh, {})

    def of_cells(self, cells: JobCells) -> CpuJob:
        """Return the job over some cells, ready to be launched."""
        assert cells.runs is not None
        runs = living_runs(self.bvh, cells.maps, cells.runs, cells.row_count, cells.passing)
        return self.prepare(runs, cells.group_count)

    def prepare(self, runs: Runs, group_count: int) -> CpuJob:
        """Return the job over some runs, ready to be launched."""
        return self._backend.prepare_runs(runs, group_count, partial(self._states_of, runs))

    def _states_of(self, runs: Runs, *, by_runs: bool) -> CpuStates:
        """Return the states of all rows, unless fewer rows make them narrower."""
        asked = self._functions, by_runs
        known = self._known.get(asked)
        if known is None:
            states = self._find_states(self.bvh.row_count, by_runs=by_runs)
            known = states, any(state.kind in WIDE for state in states.states)
            if len(self._known) >= MOST_STATES:
                self._known.clear()
            self._known[asked] = known
        states, is_wide = known
        return self._find_states(runs.row_count, by_runs=by_runs) if is_wide else states

    def _find_states(self, row_count: int, *, by_runs: bool) -> CpuStates:
        return find_states(self._functions, self.bvh.measures, row_count, by_runs=by_runs)


class TimedJob:
    """A prepared job that notes the seconds of its launch, or of locating rows."""

    def __init__(self, prepared: PreparedJob) -> None:
        self._prepared = prepared
        self.seconds = 0.0

    def launch(self) -> FusedResult:
        """Do as the job does."""
        return self._timed(self._prepared.launch)

    def locate(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Do as the job does."""
        return self._timed(self._prepared.locate)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._prepared, name)

    def _timed(self, run: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return run()
        finally:
            self.seconds += time.perf_counter() - start


def run_fused(
    plan: FusedScanAggregate,
    prepared: PreparedJob | TimedJob,
    tables: Mapping[str, Table],
    cache: DerivedCache,
    memory: Memory,
) -> Relation:
    """Return the plan's rows: the columns of the keys, then of the aggregates.

    cache: what was made of whole columns before. Raises DataError when a sum does not fit its type.
    """
    if plan.is_direct:
        return decode_groups(plan, prepared.launch())
    image = table_scan.Image(tables, tables[plan.table], cache)
    return _run_by_row(plan, prepared, image, memory)


def run_table_job(job: TableJob, memory: Memory) -> tuple[Relation, PreparedJob | None]:
    """Return a scan's rows as `run_fused` does, and the job of a backend where one has run it."""
    made = None
    if job.scan is not None:
        rows = decode_groups(job.plan, job.run())
    else:
        plan = job.filled()
        made = prepare_fused(plan)
        if job.by_row:
            image = table_scan.Image(job.image.tables, job.image.fact, job.image.cache)
            rows = _run_by_row(plan, made, image, memory)
        else:
            rows = decode_groups(plan, made.launch())
    return gather.read_chosen(rows, job.chosen, job.image), made


def decode_groups(plan: FusedScanAggregate, result: FusedResult) -> Relation:
    """Return the rows of a direct plan from what its job gave; errors as in `run_fused`."""
    counted = count_values(plan, result)
    if counted is not None:
        return _decoded(plan, *counted)
    numbers = result.occurring if plan.keys else np.arange(len(result.rows))
    if len(numbers) < len(result.rows):
        result = FusedResult(result.rows[numbers], tuple(v[numbers] for v in result.values))
    return _rows_of(plan, Groups(numbers, (), result))


def _rows_of(
    plan: FusedScanAggregate, groups: Groups, known: dict[Column, pa.Array] | None = None
) -> Relation:
    """Fold the values that are hidden keys, and decode; the columns of `known` are there."""
    if plan.value_parts:
        return _decoded(plan, *fold_values(plan, groups))
    return _decoded(plan, groups, known or {})


def _decoded(
    plan: FusedScanAggregate, groups: Groups, stored: dict[Column, pa.Array | pa.ChunkedArray]
) -> Relation:
    """Return the groups' rows; of many groups keys are late, and some columns may be stored."""
    late: dict[Column, Late] = {}
    for part in plan.parts:
        late |= _keys_of(part)
    for place, ((column, _), key) in enumerate(
        zip(plan.residual_keys, groups.residual_keys, strict=True), start=1
    ):
        codes = replace(_NUMBER, number=_NUMBER.number - place)
        stored[codes] = pa.array(key.codes)
        late[column] = Late(codes, key.values.take)
    if plan.parts:
        stored[_NUMBER] = pa.array(groups.numbers)
    for column, call in plan.aggregates:
        if column not in stored and column not in late:
            stored[column] = _decode(plan, call, groups.result)
    columns = [column for column, _ in (*plan.keys, *plan.aggregates)]
    rows = LateRows.of(columns, stored, late, len(groups.numbers))
    return rows if rows.row_count > _FEW_GROUPS else rows.plain()


def _keys_of(part: GroupPart) -> dict[Column, Late]:
    """Return how the keys of a hierarchy come from the numbers of groups."""
    last: list[tuple[pa.Array | pa.ChunkedArray, pa.Array]] = []

    def places_of(numbers: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return which of the key tuples those of the groups are; all keys are of the same.

        Where an outer join has no group there is no number, and no tuple.
        """
        for known, found in last:
            if known is numbers:
                return found
        column = joined(numbers)
        held = pc.fill_null(column, 0).to_numpy().view(np.uint64)
        places = (held // np.uint64(part.stride) % np.uint64(part.count)).view(np.int64)
        mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        chosen = places if part.chosen is None else part.chosen[places]
        found = pa.array(chosen, mask=mask)
        last[:] = [(numbers, found)]
        return found

    def late(values: pa.Array) -> Late:
        return Late(_NUMBER, lambda numbers: values.take(places_of(numbers)))

    return {column: late(values) for column, values in zip(part.columns, part.tuples, strict=True)}


class _Rows:
    """Rows of the fact table under evaluation: attributes are fetched by row id."""

    def __init__(
        self, plan: FusedScanAggregate, places: NDArray[np.int64], image: table_scan.Image
    ) -> None:
        self.plan = plan
        self.image = image
        self.places = places

    def keep(self, mask: NDArray[np.bool_]) -> None:
        self.places = self.places[mask]

    def sort(self) -> NDArray[np.int64] | None:
        """Put the rows in the order of their table; return how, None where they were in it."""
        row_ids = self.plan.index.row_numbers()[self.places]
        if bool((row_ids[1:] > row_ids[:-1]).all()):
            return None
        order = np.argsort(row_ids, kind="stable")
        self.places = self.places[order]
        return order

    def evaluate(self, expression: Expression) -> pa.Array:
        return self.image.values_at(expression, self.plan.index.row_numbers()[self.places])

    def encode(self, expression: Expression) -> EncodedColumn:
        """Encode an expression's values; the dictionary may have others beside them."""
        coded = self.image.coded(expression, self.plan.index.row_numbers()[self.places])
        if coded is None:
            return encode_column(self.evaluate(expression))
        codes, values = coded
        encoded = encode_column(values)
        return EncodedColumn(encoded.codes[codes], encoded.values)


def _run_by_row(
    plan: FusedScanAggregate,
    prepared: PreparedJob | TimedJob,
    image: table_scan.Image,
    memory: Memory,
) -> Relation:
    """Locate rows, apply what the BVH does not encode, and accumulate (RayDB, section 4.5)."""
    places, groups = prepared.locate()
    rows = _Rows(plan, places, image)
    for predicate in plan.residual_predicates:
        mask = pc.fill_null(rows.evaluate(predicate), fill_value=False)
        passed = mask.to_numpy(zero_copy_only=False)
        rows.keep(passed)
        groups = groups[passed]
    order = rows.sort() if plan.gathered else None
    if order is not None:
        groups = groups[order]

    # The number of a row's key tuple among those that occur, dense and in order.
    keys = [renumber(groups), *(rows.encode(key) for _, key in plan.residual_keys)]
    codes, tuples = join_codes(keys)
    if not len(tuples) and not plan.keys:  # There is one group even of no rows.
        keys, tuples = [renumber(np.zeros(1, np.int64))], np.zeros((1, 1), np.int32)

    measures = [
        _measure(plan, rows, expression, position)
        for expression, position in zip(plan.measures, plan.measure_positions, strict=True)
    ]
    result = prepared.accumulate(
        [run.function for run in plan.running],
        [measures[run.measure] for run in plan.running],
        codes.astype(np.int64),
        len(tuples),
    )
    known = None
    if plan.gathered:
        numbers = codes.astype(np.int64) if plan.keys else None
        known = gather.fold_gathered(
            plan.gathered, rows.evaluate, numbers, len(tuples), memory, len(rows.places)
        )
    return _rows_of(plan, Groups.of_tuples(keys, tuples, result), known)


def _measure(
    plan: FusedScanAggregate, rows: _Rows, expression: Expression, position: int | None
) -> Measure:
    """Return a measure's values for the rows, from X or computed from fetched attributes."""
    if position is not None:
        held = plan.index.measures[position]
        valid = None if held.valid is None else held.valid[rows.places]
        return Measure(held.values[rows.places], valid, held.low, held.high)
    values = rows.evaluate(expression)
    number = plan.measures.index(expression)
    if any(run.measure == number and run.function != "count" for run in plan.running):
        return narrow_measure(*to_numbers(values))
    # COUNT takes every type and asks for no value.
    valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return Measure(np.zeros(len(valid), np.int8), valid)


def _decode(
    plan: FusedScanAggregate,
    call: AggregateCall,
    result: FusedResult,
) -> pa.Array:
    """Return an aggregate's value for each group."""
    if call.function == "count_star":
        return pa.array(result.rows)
    measure = plan.measures.index(call.arguments[0])
    *values, counts = (
        result.values[plan.running.index(Accumulator(each, measure))]
        for each in (*AGGREGATES[call.function], "count")
    )
    return pa.array(counts) if call.function == "count" else finish(call, values, counts)
