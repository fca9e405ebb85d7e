"""The physical plan: how it is done. Every choice names its reason, which EXPLAIN prints.

    PhysicalPlan = ScanTable | ConstantRows | FilterRows | ComputeColumns | HashJoin
                 | HashAggregate | FusedScanAggregate | SortRows | LimitRows

Two ways to run, and only two: `FusedScanAggregate` is one job on a BVH; every other node runs
vectorised over Arrow. Nodes compare by identity where they hold arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from raydb.planner.expression import AggregateCall, Column, Expression
    from raydb.planner.fuse import FusedScanAggregate
    from raydb.planner.logical import SortKey


@dataclass(frozen=True, slots=True)
class ScanTable:
    """The rows of a stored table; each output column bears the name of the column it reads."""

    table: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """Rows of constant expressions, one expression for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class FilterRows:
    """Rows for which the predicate is true."""

    source: PhysicalPlan
    predicate: Expression


@dataclass(frozen=True, slots=True)
class ComputeColumns:
    """New columns computed from the source's; those not listed are gone."""

    source: PhysicalPlan
    items: tuple[tuple[Column, Expression], ...]


@dataclass(frozen=True, slots=True)
class HashJoin:
    """An equi-join: the right side is hashed, the left side probes it. NULL keys never match.

    Without keys it is a cross product. `residual` conditions decide, with the keys, whether two
    rows are partners; in an outer join a row without partners is kept with NULLs.
    """

    kind: Literal["inner", "left", "right", "full"]
    left: PhysicalPlan
    right: PhysicalPlan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class HashAggregate:
    """One row for each distinct tuple of keys; exactly one row where there are no keys.

    `reason` says why the node is not part of a fused job.
    """

    source: PhysicalPlan
    keys: tuple[tuple[Column, Expression], ...]
    aggregates: tuple[tuple[Column, AggregateCall], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class SortRows:
    """The source's rows in order."""

    source: PhysicalPlan
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class LimitRows:
    """`count` rows (all where None) after the first `offset`."""

    source: PhysicalPlan
    count: int | None
    offset: int


PhysicalPlan: TypeAlias = (
    "ScanTable | ConstantRows | FilterRows | ComputeColumns | HashJoin"
    " | HashAggregate | FusedScanAggregate | SortRows | LimitRows"
)
