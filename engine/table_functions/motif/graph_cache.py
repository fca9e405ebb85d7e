"""The rows of a query as a temporal graph, which is kept with the table that they are of.

    s      d      t                  vertex 0 -> 1 at 0        the graph has numbers of vertices
    'ann'  'bob'  2026-01-01    ->   vertex 1 -> 2 at 86400    and times from 0 on; `vertices` and
    'bob'  'eve'  2026-01-02         ...                       `first_time` lead back to the rows'

Rows without a source, a target or a time are no edges; they are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.context.progress import report
from raydb.engine.operators.relation import joined
from raydb.errors import DataError
from raydb.kernels.motif.graph import build_graph
from raydb.late import pc
from raydb.planner.expressions.nodes import Attribute, columns_of, substitute
from raydb.planner.plan.table_rows import rows_of_table
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.operators.run import Sources
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Search, SearchRows
    from raydb.storage.tables.table import Table

    Values: TypeAlias = pa.ChunkedArray | pa.Array

    # Returns what is made of values of the edges, by its kind and the places of what is read.
    Keep: TypeAlias = Callable[[str, tuple[int, ...], Callable[[], Any]], Any]

# Integers are vertices by a table of flags where they span less than this, or than the edges times
# the other number: 0.1 s for 10M edges, where a dictionary takes 0.8 s.
_DIRECT_SPAN = 2**20
_DIRECT_SHARE = 4

# While a graph is built, each row takes 60 to 90 bytes for vertex numbers, times, the sort and the
# lists, and where its vertices go through a dictionary 30 more, of few rows a vertex up to 270.
ROW_BYTES = 120

# The sums of times and windows stay within 64 bits.
_MAX_TIME = 2**63 - 1


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class EdgeGraph:
    """Rows as a temporal graph, whose `row` has the places of the edges among all rows, from 0.

    vertices: the value of each vertex number. first_time: the time that the graph calls 0.
    skipped_count: the rows that have no source, target or time.
    """

    graph: TemporalGraph
    vertices: pa.Array
    first_time: int
    skipped_count: int

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        return self.graph.size_bytes + int(self.vertices.nbytes)

    def clamp(self, delta: int) -> int:
        """Return a delta that allows the same instances and keeps sums of times in 64 bits.

        Raises DataError where the times lie too far apart for that.
        """
        last = int(self.graph.time[-1]) if self.graph.edge_count else 0
        clamped = min(delta, last)
        if last + 2 * clamped > _MAX_TIME:
            raise DataError(
                f"the times span {last}, and with twice the delta of {delta} that is more than 64 "
                "bits hold"
            )
        return clamped


class GraphOf(NamedTuple):
    """Whose graph a search is about: the table, and what is computed of its rows.

    Columns have other numbers in each statement, so they are attributes of the table here. read:
    all that is read of the rows.
    """

    table: str
    identity: tuple[Expression, ...]
    read: tuple[Expression, ...]


def graph_of(plan: Search) -> GraphOf | None:
    """Return the table whose rows are edges; None where one table's rows do not say all."""
    rows = None if plan.pairs else rows_of_table(plan.right)
    if rows is None:
        return None
    read = [substitute(each, rows.definitions) for each in plan.read]
    names = {
        column: Attribute((), column.name, column.type)
        for expression in (*read, *rows.predicates)
        for column in columns_of(expression)
    }
    named = tuple(substitute(each, names) for each in read)
    predicates = (substitute(each, names) for each in rows.predicates)
    return GraphOf(rows.scan.table, (*named[:3], *predicates), named)


def kept_graph(
    plan: SearchRows,
    sources: Sources,
    read: Callable[[], Sequence[Values]],
    least: int | None = None,
) -> tuple[EdgeGraph, bool]:
    """Return the graph of a search, and whether it was there already.

    read: gives the sources, the targets and the times of all rows. least: the time from which on
    rows are edges, where that is all that is asked about. Raises DataError for times that
    64 bits cannot tell apart, and OperationalError where memory is too small.
    """

    def make() -> EdgeGraph:
        starts, ends, times = read()[:3]
        count = len(times)
        sources.memory.check(ROW_BYTES * count, f"the temporal graph of {count} rows")
        return make_graph(starts, ends, times, plan.function.name, least)

    if plan.how is None:
        return make(), False
    owners, what = graph_key(plan.how, sources.tables)
    is_kept = sources.context.cache.has(owners, what)
    found: EdgeGraph = sources.context.cache.get(owners, what, make)
    return found, is_kept


def graph_state(plan: SearchRows, tables: Mapping[str, Table], cache: DerivedCache) -> str:
    """Return where the graph of a search comes from."""
    graph: GraphOf | None = plan.how
    if plan.pairs:
        return "built for each row that has edges of its own"
    if plan.options.since is not None:
        return "built for this query, of the rows that may belong to what is new"
    if graph is None:
        return "built for this query, whose edges are not the rows of one table"
    if graph.table not in tables:
        return f"built for this query, '{graph.table}' is read anew each time"
    if cache.has(*graph_key(graph, tables)):
        return f"kept with '{graph.table}'"
    return f"built, then kept with '{graph.table}' until that changes"


def graph_key(graph: GraphOf, tables: Mapping[str, Table]) -> tuple[tuple[object, ...], object]:
    """Return what a kept graph is made of, and its name."""
    table = tables[graph.table]
    owners = (table.rows,) if table.live is None else (table.rows, table.live)
    return owners, ("motif graph", graph.table, graph.identity)


def keeper(plan: SearchRows, sources: Sources) -> Keep:
    """Return what keeps things made of the values of edges with the graph, where that is kept."""
    graph: GraphOf | None = plan.how

    def keep(kind: str, places: tuple[int, ...], make: Callable[[], Any]) -> Any:
        if graph is None:
            return make()
        owners, what = graph_key(graph, sources.tables)
        values = tuple(graph.read[place] for place in places)
        return sources.context.cache.get(owners, (kind, what, values), make)

    return keep


def make_anew(_kind: str, _places: tuple[int, ...], make: Callable[[], Any]) -> Any:
    """Return what is made of values of edges that are not kept."""
    return make()


def make_graph(
    sources: Values, targets: Values, times: Values, function: str, least: int | None = None
) -> EdgeGraph:
    """Return the graph of rows: vertices of one type, times an integer type, DATE or TIMESTAMP.

    least: the time from which on rows are edges, None for all.

    It reports its progress to whoever listens to the `function`. Raises DataError for times that
    lie 2**63 units or more apart.
    """

    def tell(share: float) -> None:
        report(f"{function}: graph", share)

    tell(0.0)
    row_count = len(times)
    numbers: NDArray[np.int64] | None = None
    if sources.null_count or targets.null_count or times.null_count:
        is_edge = pc.and_(pc.and_(sources.is_valid(), targets.is_valid()), times.is_valid())
        sources, targets, times = (values.filter(is_edge) for values in (sources, targets, times))
        numbers = np.flatnonzero(_to_numpy(is_edge))
    moments = moments_of(times)
    skipped_count = row_count - len(moments)
    if least is not None:
        kept = np.flatnonzero(moments >= least)
        moments = moments[kept]
        numbers = kept if numbers is None else numbers[kept]
        sources, targets = (values.take(pa.array(kept)) for values in (sources, targets))
    first = int(moments.min()) if len(moments) else 0
    if len(moments) and int(moments.max()) - first > _MAX_TIME:
        raise DataError(f"the times from {first} to {int(moments.max())} span more than 64 bits")
    ends, vertices = number_vertices(sources, targets)
    source, target = ends[: len(moments)], ends[len(moments) :]
    graph = build_graph(source, target, moments - first, numbers, keep_going=tell)
    return EdgeGraph(graph, vertices, first, skipped_count)


def moments_of(times: Values) -> NDArray[np.int64]:
    """Return times as whole numbers of their unit."""
    if pa.types.is_date32(times.type):
        times = times.cast(pa.int32())
    return _to_numpy(times.cast(pa.int64())).astype(np.int64, copy=False)


def number_vertices(sources: Values, targets: Values) -> tuple[NDArray[np.integer], pa.Array]:
    """Return the numbers of the sources and then of the targets, and the value of each number."""
    kind = sources.type
    if pa.types.is_integer(kind) and len(sources):
        found = _number_integers(_to_numpy(sources), _to_numpy(targets), kind)
        if found is not None:
            return found
    both = joined(pa.chunked_array([*_chunks(sources), *_chunks(targets)], type=kind))
    if pa.types.is_floating(kind):
        both = pc.add(both, pa.scalar(0.0, kind))  # -0.0 and 0.0 are one vertex
    if not len(both):
        return np.empty(0, np.int32), pa.array([], kind)
    encoded = pc.dictionary_encode(both)
    if isinstance(encoded, pa.ChunkedArray):  # More text than one array can hold.
        encoded = encoded.unify_dictionaries()
    chunks = _chunks(encoded)
    return np.concatenate([chunk.indices.to_numpy() for chunk in chunks]), chunks[0].dictionary


def _number_integers(
    sources: NDArray[np.integer], targets: NDArray[np.integer], kind: pa.DataType
) -> tuple[NDArray[np.integer], pa.Array] | None:
    """Number integers in their order; None where they span too much for that."""
    low = min(int(sources.min()), int(targets.min()))
    span = max(int(sources.max()), int(targets.max())) - low + 1
    if span > max(_DIRECT_SPAN, _DIRECT_SHARE * len(sources)):
        return None
    there = np.zeros(span, np.bool_)
    places = np.concatenate([sources, targets]).astype(np.int64)
    places -= low
    there[places] = True
    numbers = np.cumsum(there, dtype=np.int32)
    numbers -= 1
    return numbers[places], pa.array(np.flatnonzero(there) + low).cast(kind)


def _chunks(values: Values) -> list[pa.Array]:
    return list(values.chunks) if isinstance(values, pa.ChunkedArray) else [values]


def _to_numpy(values: Values) -> NDArray[np.integer]:
    found: NDArray[np.integer] = joined(values).to_numpy(zero_copy_only=False)
    return found
