"""motif_count() by slices of time, which workers count: each the instances that begin in its own.

    slice            begins at             edges
    1 of 2           the least time        from there to delta behind the next one's begin
    2 of 2           the median time       from there on

An instance that begins in a slice has all of its edges among those. Those that begin later are the
ones among the edges behind the slice's end, which are counted as well and taken off.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Relation, joined
from raydb.engine.table_functions.motif.graph_cache import (
    ROW_BYTES,
    graph_key,
    make_graph,
    moments_of,
    number_vertices,
)
from raydb.engine.table_functions.motif.motif_conditions import conditions_of
from raydb.engine.table_functions.motif.motif_rows import told_of_rows
from raydb.engine.table_functions.motif.motif_search import (
    Clock,
    Search,
    count_instances,
    method_of,
)
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.plan.nodes import Values
from raydb.planner.segments.rows import AskedRows, driving, rows_in
from raydb.planner.stars.table_scan import MIN_ROWS
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import SearchRows

# Edges are cut into so many slices, or fewer: a slice takes at least so many times delta, for what
# lies behind its end is counted twice.
_SLICES = 8
_LEAST_DELTAS = 4

# What an edge of the graph takes for an edge of the motif, in ns.
_EDGE_COST = 100.0

# An estimate of a slice may be so many times further off: errors of slices even out.
_SLICE_ERROR = 2.0

# What is added up of slices.
_SUMS = ("samples", "nonzero", "edges", "vertices", "skipped_rows", "duplicates", "self_loops")


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class _Slice:
    """The edges of a slice, and those of them behind its end, by their places among all rows."""

    places: NDArray[np.int64]
    edges: EdgeGraph
    behind_places: NDArray[np.int64]
    behind: EdgeGraph

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        places = int(self.places.nbytes + self.behind_places.nbytes)
        return places + self.edges.size_bytes + self.behind.size_bytes


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class _Slices:
    """Slices by their numbers; vertices: how many there are in all; skipped: rows without edges."""

    slices: Mapping[int, _Slice]
    vertices: int
    skipped: int

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(each.size_bytes for each in self.slices.values())


def count_in_segments(plan: SearchRows, catalog: CatalogInfo) -> AskedRows | str:
    """Return how slices of time give a count, or why they do not."""
    asked: MotifQuestion = plan.options
    found = driving(plan.right, partial(rows_in, catalog))
    if found is None or plan.how is None:
        return "motifs in edges that are not rows of one table, or only those that are new"
    if plan.left.columns or not isinstance(plan.left, Values) or plan.given:
        return "motifs that rows ask for"
    split = asked.by is not None or asked.every is not None or asked.shuffles
    if asked.function != "motif_count" or split:
        return "instances of motifs, and counts that are split or beside shuffled times"
    rows = catalog.tables[found.scan.table].row_count
    if rows < MIN_ROWS:
        return f"'{found.scan.table}' has less than {MIN_ROWS} rows"
    edges = len(asked.written.motif.edges) * len(asked.variants)
    told = asked, plan.how, plan.right, plan.read
    cost = _EDGE_COST * rows * edges
    return AskedRows(plan, told, found, cost, lambda read: read, slices=_SLICES)


def count_slices(
    plan: SearchRows, numbers: Sequence[int], count: int, sources: Sources
) -> Relation:
    """Return a row with what motif_count() says of each of some slices, of so many in all.

    `edges` and what else is counted of rows are those of the slice, but vertices and rows without
    edges: the first slice has those of all. Raises what `motif_rows` does.
    """
    asked: MotifQuestion = plan.options
    clock = Clock.starting(asked.function, asked.max_seconds)
    clock.make_ready("graph")
    read: list[pa.ChunkedArray | pa.Array] = []

    def values() -> list[pa.ChunkedArray | pa.Array]:
        if not read:
            # A worker that has just come opens files, and may compile what decodes them.
            with clock.standing():
                read.extend(sources.rows_with(plan.right, (), plan.read)[1])
        return read

    owners, what = graph_key(plan.how, sources.tables)
    key = (what, asked.delta, tuple(numbers), count)
    cut: _Slices = sources.context.cache.get(
        owners, key, lambda: _cut(asked, values(), numbers, count, sources.memory)
    )
    rows = []
    for done, number in enumerate(numbers):
        check_interrupt()
        if number not in cut.slices:
            continue
        own = cut.slices[number]
        # What is left is shared by estimates, which may take all of it.
        left = 1 if method_of(asked) == "exact" else len(numbers) - done
        given = values, clock, left, sources
        of_edges = _count(plan, _of_slice(asked, number), own.places, own.edges, *given)
        # These are few, mostly: an estimate of next to nothing takes long.
        exactly = asked if asked.method == "exact" else replace(asked, method="auto")
        behind = _count(plan, exactly, own.behind_places, own.behind, *given)
        found = _without(of_edges, behind)
        if number == 0:
            found |= {"vertices": cut.vertices, "skipped_rows": cut.skipped}
        rows.append({**found, "seconds": round(clock.passed, 6)})
    made = {c: pa.array([row.get(c.name) for row in rows], c.type) for c in plan.found}
    return Relation(made, len(rows))


def _of_slice(asked: MotifQuestion, number: int) -> MotifQuestion:
    """Return what a slice is asked, whose samples are others than those of other slices."""
    rel_error = min(_SLICE_ERROR * asked.rel_error, 1.0)
    return replace(asked, rel_error=rel_error, seed=(asked.seed + number) % 2**63)


def _cut(
    asked: MotifQuestion,
    values: Sequence[pa.ChunkedArray | pa.Array],
    numbers: Sequence[int],
    count: int,
    memory: Memory,
) -> _Slices:
    """Return the graphs of some slices."""
    starts, ends, times = values[:3]
    is_edge = pc.and_(pc.and_(starts.is_valid(), ends.is_valid()), times.is_valid())
    places = np.flatnonzero(joined(is_edge).to_numpy(zero_copy_only=False))
    moments = moments_of(joined(times).take(pa.array(places)))
    begins = _begins(moments, asked.delta, count)
    most = int(moments.max(initial=0))
    found = {}
    for number in numbers:
        if number >= len(begins):
            continue
        end = begins[number + 1] if number + 1 < len(begins) else most + 1
        chosen = (moments >= begins[number]) & (moments <= min(end + asked.delta, most))
        own, later = places[chosen], places[chosen & (moments >= end)]
        memory.check(ROW_BYTES * len(own), f"the temporal graph of {len(own)} rows")
        graphs = [_graph(asked, values, each) for each in (own, later)]
        found[number] = _Slice(own, graphs[0], later, graphs[1])
    vertices = 0
    if 0 in numbers:
        taken = pa.array(places)
        vertices = len(number_vertices(joined(starts).take(taken), joined(ends).take(taken))[1])
    return _Slices(found, vertices, len(times) - len(places))


def _begins(moments: NDArray[np.int64], delta: int, count: int) -> list[int]:
    """Return the times at which slices begin."""
    if not len(moments):
        return [0]
    ranks = [len(moments) * number // count for number in range(1, count)]
    begins = [int(moments.min())]
    for moment in np.partition(moments, ranks)[ranks].tolist():
        if moment - begins[-1] > _LEAST_DELTAS * delta:
            begins.append(moment)
    return begins


def _graph(
    asked: MotifQuestion, values: Sequence[pa.ChunkedArray | pa.Array], places: NDArray[np.int64]
) -> EdgeGraph:
    taken = pa.array(places)
    ends = [joined(each).take(taken) for each in values[:3]]
    return make_graph(ends[0], ends[1], ends[2], asked.function)


def _count(
    plan: SearchRows,
    asked: MotifQuestion,
    places: NDArray[np.int64],
    edges: EdgeGraph,
    values: Any,
    clock: Clock,
    left: int,
    sources: Sources,
) -> dict[str, Any]:
    """Return what motif_count() says of some edges.

    clock: that of all slices, of which so many are left to share its time.
    """
    taken = pa.array(places)
    plains = conditions_of(asked, edges, lambda place: joined(values()[place]).take(taken))
    own = Clock.starting(asked.function, clock.left / left)
    delta, kind = edges.clamp(asked.delta), plan.read[2].type
    search = Search(edges.graph, plains, asked, method_of(asked), delta, kind, own, sources.memory)
    try:
        found, _ = count_instances(search)
    finally:
        clock.stand(own.stood)
    return {
        **found,
        "edges": edges.graph.edge_count + edges.graph.loop_count,
        "duplicates": edges.graph.duplicate_count,
        "self_loops": edges.graph.loop_count,
    }


def _without(found: Mapping[str, Any], behind: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of edges without what is said of those behind the end of a slice."""
    less: dict[str, Any] = dict.fromkeys(("estimate", "std_error", "count"))
    if found.get("estimate") is not None and behind.get("estimate") is not None:
        less["estimate"] = found["estimate"] - behind["estimate"]
        less["std_error"] = math.hypot(found["std_error"], behind["std_error"])
    if found.get("count") is not None and behind.get("count") is not None:
        less["count"] = found["count"] - behind["count"]
    return {
        **found,
        **less,
        "exact": bool(found["exact"] and behind["exact"]),
        "method": "exact" if found["method"] == behind["method"] == "exact" else "timest",
        **{each: found[each] + behind[each] for each in ("samples", "nonzero")},
        **{each: found[each] - behind[each] for each in ("edges", "duplicates", "self_loops")},
    }


def joined_slices(plan: SearchRows, rows: Relation, sources: Sources) -> Relation | None:
    """Return the row of motif_count() from those of all slices, and tell what it would tell.

    None where their estimates leave more open than was asked for.
    """
    asked: MotifQuestion = plan.options
    said = {column.name: joined(rows.columns[column]).to_pylist() for column in plan.found}
    row: dict[str, Any] = {each: sum(filter(None, said[each])) for each in _SUMS}
    counts = said["count"]
    row["count"] = None if None in counts or sum(counts) >= 2**63 else sum(counts)
    row["exact"] = all(said["exact"])
    is_exact = set(said["method"]) <= {"exact"}
    row["method"] = "exact" if is_exact else "timest"
    row["tree"] = next(filter(None, said["tree"]), None)
    weights = list(filter(None, said["total_weight"]))
    row["total_weight"] = None if is_exact else math.fsum(weights)
    row["seconds"] = max(said["seconds"], default=0.0)
    row |= _interval(asked, said)
    sources.context.warnings.extend(
        [*asked.notes, *told_of_rows(row["skipped_rows"], row["duplicates"])]
    )
    if not row["converged"]:
        return None
    made = {column: pa.array([row[column.name]], column.type) for column in plan.found}
    return Relation(made, 1)


def _interval(asked: MotifQuestion, said: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the sum of estimates, and where the count lies with the confidence asked for."""
    if None in said["estimate"]:
        return {"converged": False}
    estimate = math.fsum(said["estimate"])
    error = math.sqrt(math.fsum(each * each for each in said["std_error"]))
    spread = NormalDist().inv_cdf(0.5 + asked.confidence / 2) * error
    most = asked.rel_error * max(estimate, 0.0)
    return {
        "estimate": estimate,
        "std_error": error,
        "ci_low": max(estimate - spread, 0.0),
        "ci_high": estimate + spread,
        "converged": error == 0.0 or (all(said["converged"]) and spread <= most),
    }
