"""The physical plan: how it is done. Every choice names its reason, which EXPLAIN prints.

    PhysicalPlan = ScanTable | ConstantRows | SeriesRows | SharedRows | WorkingRows
                 | FilterRows | ComputeColumns | UnnestRows | WindowRows
                 | HashAggregate | FusedScanAggregate | FusedTableScan | DeltaScan
                 | HashJoin | NearestRows | MotifRows | ConcatenateRows | RecursiveRows | SortRows
                 | LimitRows

Two ways to run, and only two: `FusedScanAggregate` is one job on a BVH, `FusedTableScan` one on a
table, `DeltaScan` one beside a BVH; every other node runs vectorised over Arrow. Nodes compare by
identity where they hold arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from raydb.kernels.vector.exact_search import Metric
    from raydb.kernels.vector.ivf import Ivf
    from raydb.planner.catalog import CalibrationInfo
    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression, WindowCall
    from raydb.planner.expressions.nodes import Literal as Constant
    from raydb.planner.plan.logical import GroupingSets, MotifQuestion, Pairs, SortKey
    from raydb.planner.stars.delta import DeltaScan
    from raydb.planner.stars.fuse import FusedScanAggregate
    from raydb.planner.stars.table_scan import FusedTableScan


@dataclass(frozen=True, slots=True)
class KeySearch:
    """Some values of the columns of a key or an index; `index` is its name.

    keys: for each key that is sought the value of each column, as pairs with `columns`.
    """

    index: str
    columns: tuple[str, ...]
    keys: tuple[tuple[Constant, ...], ...]
    is_unique: bool


@dataclass(frozen=True, slots=True)
class ScanTable:
    """The rows of a stored table; each output column bears the name of the column it reads.

    search: where only rows with some keys are wanted. Others may be among what is given.
    """

    table: str
    columns: tuple[Column, ...]
    search: KeySearch | None = None


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """Rows of constant expressions, one expression for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class SeriesRows:
    """The integers `start`, `start + step`, ... before `stop`."""

    column: Column
    start: int
    stop: int
    step: int


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The rows of a query that several nodes of this number read; it runs once."""

    number: int
    name: str
    query: PhysicalPlan
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class WorkingRows:
    """The rows that the last step of the RecursiveRows node of this number has added."""

    number: int
    columns: tuple[Column, ...]


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
class UnnestRows:
    """The source's rows once for every element of their lists; see `logical.Unnest`."""

    source: PhysicalPlan
    items: tuple[tuple[Column, Expression], ...]
    keep: bool
    number: Column | None


@dataclass(frozen=True, slots=True)
class WindowRows:
    """The source's rows with a column more for each window function."""

    source: PhysicalPlan
    calls: tuple[tuple[Column, WindowCall], ...]


@dataclass(frozen=True, slots=True)
class HashJoin:
    """An equi-join: partners are found by their keys. NULL keys never match.

    The keys at the places in `null_safe` are an exception: they match where both are NULL. Without
    keys it is a cross product. `residual` conditions decide, with the keys, whether two rows are
    partners; in an outer join a row without partners is kept with NULLs. A semi join keeps the
    left rows with a partner, an anti join those without, and a mark join all of them, with the
    column `mark` to tell.
    """

    kind: Literal["inner", "left", "right", "full", "semi", "anti", "mark"]
    left: PhysicalPlan
    right: PhysicalPlan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: tuple[Expression, ...] = ()
    mark: Column | None = None
    null_safe: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index that a vector search uses: its name, its arrays, and how many lists to scan.

    calibrated: what says when to stop instead, for a search with a promise.
    """

    name: str
    arrays: Ivf
    nprobe: int
    calibrated: CalibrationInfo | None = None


@dataclass(frozen=True, slots=True)
class NearestRows:
    """Each row of `queries` with the k rows of `source` nearest to its `query`; see `VectorSearch`.

    A table is searched by row numbers, and what is asked of its columns is read for the rows that
    are found. `selection` gives in its one column the numbers of the rows that count, None for
    all. `index` is None where all rows are compared; `reason` says why, or which index it is.
    keep: whether a row that finds nothing stays, with NULLs. note: which argument has no effect.
    pairs: columns of both sides that are equal, or both NULL, where a row is searched for another.
    """

    queries: PhysicalPlan
    query: Expression
    source: PhysicalPlan
    vector: Column
    selection: ComputeColumns | None
    k: int
    metric: Metric
    exact: bool
    index: VectorIndex | None
    reason: str
    found: tuple[Column, ...]
    keep: bool = False
    note: str = ""
    pairs: Pairs = ()


@dataclass(frozen=True, slots=True)
class MotifRows:
    """Each row of `queries` with a count or a sample of motifs among the source's rows.

    See `logical.MotifSearch`. The graph of the rows is kept with `table` by its `identity`: the
    vertices, the time and the predicates over the table's attributes. Without a table it is built
    for this search alone, and where there are pairs for each row with other values in them.
    """

    queries: PhysicalPlan
    source: PhysicalPlan
    ends: tuple[Expression, Expression]
    time: Expression
    question: MotifQuestion
    given: tuple[tuple[str, Expression], ...]
    pairs: Pairs
    place: Column | None
    table: str
    identity: tuple[Expression, ...]
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HashAggregate:
    """One row for each distinct tuple of keys; exactly one row where there are no keys.

    `reason` says why the node is not part of a fused job; it is empty where the node puts fused
    jobs together.
    """

    source: PhysicalPlan
    keys: tuple[tuple[Column, Expression], ...]
    aggregates: tuple[tuple[Column, AggregateCall], ...]
    reason: str
    grouping: GroupingSets | None = None


@dataclass(frozen=True, slots=True)
class ConcatenateRows:
    """The rows of all sources; column i is column i of each source."""

    sources: tuple[PhysicalPlan, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RecursiveRows:
    """The rows of `base`, and of `step` over the rows added last, until there are none."""

    number: int
    base: PhysicalPlan
    step: PhysicalPlan
    columns: tuple[Column, ...]
    distinct: bool


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


def sources_of(plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """Return the plans that a node reads from, the query of shared rows among them."""
    match plan:
        case SharedRows(query=query):
            return (query,)
        case HashJoin(left=left, right=right):
            return (left, right)
        case NearestRows(queries=queries, source=source, selection=selection):
            return (queries, source if selection is None else selection)
        case MotifRows(queries=queries, source=source):
            return (queries, source)
        case ConcatenateRows(sources=sources):
            return sources
        case RecursiveRows(base=base, step=step):
            return (base, step)
        case (
            FilterRows(source=source)
            | ComputeColumns(source=source)
            | UnnestRows(source=source)
            | WindowRows(source=source)
            | HashAggregate(source=source)
            | SortRows(source=source)
            | LimitRows(source=source)
        ):
            return (source,)
        case _:
            return ()


PhysicalPlan: TypeAlias = (
    "ScanTable | ConstantRows | SeriesRows | SharedRows | WorkingRows"
    " | FilterRows | ComputeColumns | UnnestRows | WindowRows | HashAggregate | FusedScanAggregate"
    " | FusedTableScan | DeltaScan | HashJoin | NearestRows | MotifRows | ConcatenateRows"
    " | RecursiveRows | SortRows | LimitRows"
)
