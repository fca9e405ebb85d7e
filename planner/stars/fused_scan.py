"""FusedScanAggregate: Scan, GroupBy and Aggregate of a star as one job on one BVH."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.kernels.backends.choice import ELSE
from raydb.planner.expressions.nodes import attributes_of, expressions_of
from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes.aggregate import GroupedRows
from raydb.planner.stars.sieve import describe_reads, describe_sieve
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.planner.catalog import NewerRows
    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.planner.plan.nodes import Star
    from raydb.planner.plan.nodes.node import Calls, Items
    from raydb.planner.stars.codes.encoded import KeyTuples

# Weight of a scanned attribute against a grouped or aggregated one (section 4.5, alpha): a
# predicate outside of Z makes every row of the cells be read, a measure outside of X only those
# rows that pass.
SCAN_WEIGHT = 2

# Accumulators are arrays over the query's box up to 32 MiB each; a larger box is compacted to the
# groups that occur.
DENSE_GROUPS = 2**22


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the query's attributes a BVH encodes: x of X, y of Y, z of Z."""

    aggregate: int
    aggregate_total: int
    group_by: int
    group_by_total: int
    scan: int
    scan_total: int

    @property
    def score(self) -> int:
        """X + y + alpha * z (section 4.5)."""
        return self.aggregate + self.group_by + SCAN_WEIGHT * self.scan


@dataclass(frozen=True, eq=False, slots=True)
class GroupPart:
    """The keys of one hierarchy: part p of a group number is group // stride % count.

    columns: those of the keys, or of the aggregates whose arguments are made keys.
    tuples: for each of `columns` its value in every key tuple, of which `chosen` has those of the
        parts; None where all are parts.
    shared: the key tuples where other queries have them too.
    """

    columns: tuple[Column, ...]
    tuples: tuple[pa.Array, ...]
    stride: int
    count: int
    chosen: NDArray[np.integer[Any]] | None = None
    shared: KeyTuples | None = None

    @property
    def values(self) -> tuple[pa.Array, ...]:
        """For each of `columns` the key's value of every part, shape (count,)."""
        if self.chosen is None:
            return self.tuples
        chosen = pa.array(self.chosen)
        return tuple([each.take(chosen) for each in self.tuples])


@dataclass(frozen=True, eq=False, slots=True)
class JobCells:
    """The cells of a star's job, and what the groups of their rows are made of.

    The fields are those of `FusedJob` and `FusedScanAggregate`. passing: about which share of the
    rows of the runs the maps let pass, where these are known.
    """

    intervals: NDArray[np.int64]
    maps: tuple[CodeMap, ...]
    group_count: int
    row_count: int
    parts: tuple[GroupPart, ...]
    key_count: int
    value_parts: tuple[GroupPart, ...] = ()
    residual_predicates: tuple[Expression, ...] = ()
    residual_keys: Items = ()
    runs: NDArray[np.int64] | None = None
    passing: float = 1.0


@dataclass(frozen=True, eq=False, slots=True)
class FusedScanAggregate(GroupedRows):
    """A fused job with its reasons; `index` is the BVH that it runs on.

    backends: those that may run it, in the order in which they are tried.

    gathered: the aggregates whose arguments are fetched by row id and folded.
    parts: what a group number below `key_count` is made of; value_parts: what lies above, for the
        aggregates that are answered by which values of an attribute occur.
    measures: the other aggregates' distinct arguments; measure_positions: where X holds each, or
        None where it is computed for each row.
    running: what is accumulated, by positions in `measures`; every measure's count is among it.
    residual_*: what is fetched by row id. `estimated_rows` come from the offsets.
    estimated_cells: where the job is sieved, how many cells it touches; else None.
    sieve_obstacle: why the totals that the BVH keeps of its cells are of no use, if so.
    newer: the rows that the job does not read because the BVH does not hold them.
    star: what it answers; None where its constants were filled in later.
    runs: int64, shape (3, run_count), the job's runs where they are known; some of their rows may
        be deleted. passing: of their rows the share that maps let pass, see `JobCells`.
    """

    explain_name = "FusedScanAggregate"

    table: str
    bvh: str
    index: Bvh
    backends: tuple[str, ...]
    backend_reason: str
    choice_reason: str
    coverage: Coverage
    keys: Items
    aggregates: Calls
    gathered: Calls
    job: FusedJob
    parts: tuple[GroupPart, ...]
    value_parts: tuple[GroupPart, ...]
    key_count: int
    measures: tuple[Expression, ...]
    measure_positions: tuple[int | None, ...]
    running: tuple[Accumulator, ...]
    residual_predicates: tuple[Expression, ...]
    residual_keys: tuple[tuple[Column, Expression], ...]
    estimated_rows: int
    newer: NewerRows | None = None
    estimated_cells: int | None = None
    sieve_obstacle: str | None = None
    star: Star | None = None
    runs: NDArray[np.int64] | None = None
    passing: float = 1.0

    @property
    def details(self) -> dict[str, Any]:
        """What EXPLAIN says of the job: what the BVH gives to it, and what it reads."""
        return {
            "table": self.table,
            "bvh": self.bvh,
            "choice_reason": self.choice_reason,
            "coverage": {**asdict(self.coverage), "score": self.coverage.score},
            "intervals": len(self.job.intervals),
            **describe_reads(self),
            "rows_total": self.index.row_count,
            "rows_dead": 0 if self.index.dead is None else len(self.index.dead),
            "backend": ELSE.join(self.backends),
            "backend_reason": self.backend_reason,
            "by_row_id": [show(expression) for expression in self.fetched],
        }

    @staticmethod
    def lines(said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines of EXPLAIN for the details, and for the kernel's time where measured."""
        coverage, sieve = said["coverage"], said["sieve"]
        lines = {
            "bvh": f"{said['bvh']} ({said['choice_reason']})",
            "coverage": ", ".join(
                f"{axis} {coverage[name]} of {coverage[name + '_total']}"
                for axis, name in (("X", "aggregate"), ("Y", "group_by"), ("Z", "scan"))
            ),
            "intervals": said["intervals"],
            **({"sieve": describe_sieve(sieve)} if sieve else {}),
            "estimated rows": f"{said['rows_touched']} of {said['rows_total']}",
            "backend": f"{said['backend']} ({said['backend_reason']})",
        }
        if said["rows_dead"]:
            lines["left out"] = f"{said['rows_dead']} deleted rows"
        if said["by_row_id"]:
            lines["fetched by row id"] = ", ".join(said["by_row_id"])
        if "kernel_ms" in said:
            lines["kernel"] = f"{said['kernel_ms']:.3f} ms"
        return lines

    @property
    def fetched(self) -> list[Expression]:
        """What the BVH lacks of the query, which is fetched by row id."""
        measures = zip(self.measures, self.measure_positions, strict=True)
        read = dict.fromkeys(each for _, call in self.gathered for each in expressions_of(call))
        return [
            *self.residual_predicates,
            *(key for _, key in self.residual_keys),
            *(measure for measure, position in measures if position is None),
            *(each for each in read if attributes_of(each)),
        ]

    @property
    def estimated_reads(self) -> int:
        """About how many rows are read, or totals of cells in their place."""
        if self.estimated_cells is None or not all(m.by_cell for m in self.job.maps):
            return self.estimated_rows
        return min(self.estimated_cells, self.estimated_rows)

    @property
    def estimated_bytes(self) -> int:
        """The bytes that the estimated rows have in X and in the codes that the job reads."""
        return self.estimated_rows * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """The bytes that a row has in X and in the codes that the job reads."""
        measures = {accumulator.measure for accumulator in self.job.accumulators}
        width = sum(self.index.measures[measure].values.itemsize for measure in measures)
        stored = [m.hierarchy for m in self.job.maps if not m.by_cell]
        width += sum(self.index.codes[self.index.stored.index(n)].itemsize for n in stored)
        return width

    @property
    def is_direct(self) -> bool:
        """Whether the kernels alone give the answer, with no row fetched and no group compacted."""
        return (
            not self.residual_predicates
            and not self.residual_keys
            and not self.gathered
            and None not in self.measure_positions
            and self.job.group_count <= DENSE_GROUPS
        )
