"""How often a motif occurs, by a vertex or by windows of time, and beside shuffled times.

    by => 'a'                 a row for each vertex that is the motif's `a` in some instance
    every => INTERVAL 1 DAY   a row for each window of time in which some instance begins
    shuffles => 100           the mean and the spread of the count where times are exchanged

Windows are counted from 2000-01-03, a Monday, as by time_bucket(), or from 0.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Relation
from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
from raydb.engine.table_functions.motif.instance_rows import as_times
from raydb.engine.table_functions.motif.motif_conditions import conditions_of
from raydb.engine.table_functions.motif.motif_search import (
    TimeIsUp,
    count_instances,
    expects_to_count,
    part_of,
    prepare_trees,
)
from raydb.errors import OperationalError
from raydb.kernels.motif.estimate import estimate
from raydb.kernels.motif.exact import Split, count_split, list_matches
from raydb.kernels.motif.graph import build_graph
from raydb.planner.expressions.types import DATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.table_functions.motif.motif_conditions import Values
    from raydb.engine.table_functions.motif.motif_search import Search
    from raydb.engine.table_functions.motif.motif_variants import Variant
    from raydb.planner.expressions.nodes import Column

    Numbers = NDArray[np.int64]

# The Monday that windows of dates and of times begin with, in days since 1970.
_ORIGIN_DAY = 10_959
_DAY_MICROSECONDS = 86_400_000_000


class _Counts:
    """Numbers of instances by code: the window times the number of vertices, and the vertex."""

    def __init__(
        self, codes: Numbers, estimates: NDArray[Any], errors: NDArray[np.float64] | None
    ) -> None:
        self.codes, self.estimates, self.errors = codes, estimates, errors


def split_count(
    search: Search, columns: Sequence[Column], edges: EdgeGraph
) -> tuple[Relation, str, bool]:
    """Return the rows of a count by vertex, by window or both, how they were found, and if all is.

    They are in the order of windows, the most instances first.
    """
    is_exact = search.method == "exact" or (search.method == "auto" and expects_to_count(search))
    if is_exact:
        found, how, is_complete = _exact_counts(search, edges), "exact", True
    else:
        found, how, is_complete = _estimated_counts(search, edges)
    vertex_count = max(edges.graph.vertex_count, 1)
    order = np.lexsort([found.codes, -found.estimates, found.codes // vertex_count])
    codes, estimates = found.codes[order], found.estimates[order]
    errors = np.zeros(len(codes)) if found.errors is None else found.errors[order]
    spread = errors * NormalDist().inv_cdf(0.5 + search.asked.confidence / 2)
    counts = np.full(len(codes), None) if not is_exact else estimates
    made: dict[str, Any] = {
        "estimate": estimates.astype(np.float64),
        "std_error": errors,
        "ci_low": np.maximum(estimates - spread, 0.0),
        "ci_high": estimates + spread,
        "exact": np.full(len(codes), is_exact),
        "count": counts,
    }
    rows = {}
    for column in columns:
        if column.name == "window":
            rows[column] = _window_times(search, edges, codes // vertex_count, column.type)
        elif column.name in made:
            rows[column] = pa.array(made[column.name], column.type)
        else:
            rows[column] = edges.vertices.take(pa.array(codes % vertex_count)).cast(column.type)
    return Relation(rows, len(codes)), f"{how}, {len(codes)} rows", is_complete


def _windows(search: Search, edges: EdgeGraph) -> Numbers:
    """Return the window of each edge, ascending; all are 0 where none are asked for."""
    width, time = search.asked.every, search.graph.time
    if width is None:
        return np.zeros(len(time), np.int64)
    shift = (edges.first_time - _origin(search)) % width
    found: Numbers = (time + shift) // width
    return found


def _origin(search: Search) -> int:
    """Return the moment that windows are counted from, in units of the times."""
    kind = search.time_type
    if pa.types.is_integer(kind):
        return 0
    return _ORIGIN_DAY * (1 if kind == DATE else _DAY_MICROSECONDS)


def _window_times(
    search: Search, edges: EdgeGraph, windows: Numbers, kind: pa.DataType
) -> pa.Array:
    width = search.asked.every
    assert width is not None
    shift = (edges.first_time - _origin(search)) % width
    return as_times(windows * width - shift + edges.first_time, kind)


def _vertices(search: Search, edges: Numbers, variant: Variant) -> Numbers:
    """Return the vertex that matches are counted by, 0 where they are not; edges: of each."""
    if search.asked.by is None:
        return np.zeros(len(edges), np.int64)
    edge, is_source = variant.place_of(search.asked.by)
    ends = search.graph.source if is_source else search.graph.target
    found: Numbers = ends[edges[:, edge]].astype(np.int64)
    return found


def _coder(search: Search, edges: EdgeGraph, variant: Variant) -> Callable[[Numbers], Numbers]:
    windows, vertex_count = _windows(search, edges), max(search.graph.vertex_count, 1)
    return lambda matches: (
        windows[matches.min(axis=1)] * vertex_count + _vertices(search, matches, variant)
    )


# -- exact


def _exact_counts(search: Search, edges: EdgeGraph) -> _Counts:
    asked, clock = search.asked, search.clock
    clock.make_ready("list" if asked.by is not None and asked.every is not None else "count")
    tell = clock.teller("count", clock.left)
    codes, numbers = np.empty(0, np.int64), np.empty(0, np.int64)
    try:
        for place, (variant, conditions) in enumerate(search.plains):
            told = part_of(tell, place, len(search.plains))
            if asked.by is not None and asked.every is not None:
                code = _coder(search, edges, variant)
                blocks = list_matches(
                    *(search.graph, variant.motif, search.delta, asked.ties, conditions, told)
                )
                for matches, _ in blocks:
                    found, counts = np.unique(code(matches), return_counts=True)
                    codes, numbers = _added(codes, numbers, found, counts)
                continue
            split, known = _split(search, edges, variant)
            by = count_split(
                *(search.graph, variant.motif, search.delta, asked.ties, split),
                keep_going=told,
                conditions=conditions,
            )
            by_code = by.by_window if asked.by is None else by.by_vertex
            assert by_code is not None
            there = np.flatnonzero(by_code)
            codes, numbers = _added(codes, numbers, known[there], by_code[there])
    except TimeIsUp:
        raise OperationalError(
            f"{asked.function}() has not counted all instances within {asked.max_seconds:g} "
            "seconds; raise max_seconds, or let method => 'timest' estimate"
        ) from None
    return _Counts(codes, numbers, None)


def _split(search: Search, edges: EdgeGraph, variant: Variant) -> tuple[Split, Numbers]:
    """Return how matches are split, and the code of each part."""
    vertex_count = search.graph.vertex_count
    if search.asked.by is not None:
        return Split(variant.vertices[search.asked.by]), np.arange(vertex_count)
    windows = _windows(search, edges)
    cuts = np.flatnonzero(np.diff(windows, prepend=-1))
    return Split(cuts=cuts), windows[cuts] * max(vertex_count, 1)


def _added(
    codes: Numbers, numbers: Numbers, more_codes: Numbers, more: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the sums of numbers by code."""
    every, places = np.unique(np.concatenate([codes, more_codes]), return_inverse=True)
    sums = np.zeros(len(every), np.int64)
    np.add.at(sums, places, np.concatenate([numbers, more]))
    return every, sums


# -- estimated


def _estimated_counts(search: Search, edges: EdgeGraph) -> tuple[_Counts, str, bool]:
    asked, clock = search.asked, search.clock
    clock.make_ready("complete")
    prepared = prepare_trees(search, lambda variant: _coder(search, edges, variant))
    nothing = _Counts(np.empty(0, np.int64), np.empty(0), np.empty(0))
    if prepared is None:
        return nothing, "timest, whose weights took all the time", False
    found = estimate(
        *(prepared, asked.rel_error, asked.confidence, asked.seed),
        max_seconds=clock.left,
        keep_going=clock.teller("sample", math.inf),
    )
    how = f"timest, {found.samples} samples"
    if found.tally is None:
        return nothing, how, found.converged
    tally = found.tally
    return _Counts(tally.codes, tally.sums, np.sqrt(tally.squares)), how, found.converged


# -- shuffled times


def beside_shuffled(
    search: Search, edges: EdgeGraph, read: Callable[[int], Values], count: float | None
) -> Mapping[str, Any]:
    """Return how the count stands beside those of graphs whose edges have exchanged their times.

    Each is counted as the graph itself. z_score: by how many standard deviations the count is above
    their mean; None where they do not differ.
    """
    asked, clock, graph = search.asked, search.clock, search.graph
    generator = np.random.default_rng(asked.seed)
    found: list[float] = []
    for number in range(asked.shuffles):
        if not clock.left:
            raise OperationalError(
                f"{asked.function}() has counted {number} of {asked.shuffles} shuffles within "
                f"{asked.max_seconds:g} seconds; raise max_seconds or ask for fewer"
            )
        times = graph.time[generator.permutation(len(graph.time))]
        shuffled = build_graph(graph.source, graph.target, times, graph.row)
        own = EdgeGraph(shuffled, edges.vertices, edges.first_time, edges.skipped_count)
        plains = conditions_of(asked, own, read)
        values, _ = count_instances(search.on(shuffled, plains))
        found.append(values.get("estimate") or 0.0)
    mean, deviation = float(np.mean(found)), float(np.std(found, ddof=1))
    score = None if count is None or deviation == 0 else (count - mean) / deviation
    return {"shuffled_mean": mean, "shuffled_std": deviation, "z_score": score}
