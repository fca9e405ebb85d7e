"""Sampled motif counts for bench_motifs.py: speed, time to an error, constraints, and memory.

Each part returns rows of plain values, which become a table and JSON.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raydb.engine.table_functions.motif.motif_search import AUTO_STEPS, AUTO_STEPS_PER_EDGE
from raydb.kernels.motif.estimate import estimate
from raydb.kernels.motif.exact import count_exact
from raydb.kernels.motif.graph import build_graph
from raydb.kernels.motif.loops.tree_loops import (
    COUNTED,
    NO_CHILD,
    NO_WAY,
    OUT_OF_ORDER,
    TOO_LONG,
    VERTEX_TWICE,
)
from raydb.kernels.motif.sample import draw_samples
from raydb.kernels.motif.tree_choice import prepare
from raydb.kernels.motif.trees import ranked_trees
from raydb.kernels.motif.weights import Constraints

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.shape import Motif

    Row = dict[str, Any]

RULES = {
    "windows": Constraints(order=False, ends=False, windows=True, narrow=False),
    "windows, order": Constraints(ends=False, windows=True, narrow=False),
    "windows, ends": Constraints(order=False, windows=True, narrow=False),
    "order, ends": Constraints(narrow=False),
    "all three": Constraints(windows=True, narrow=False),
    "order, narrowed": Constraints(ends=False),
    "order, ends, narrowed": Constraints(),
}

# What is asked of memory: words of 8 bytes an edge, so many beside one for each tree edge.
LIMIT_WORDS = 6


def time_samples(
    graph: TemporalGraph, name: str, motif: Motif, delta: int, samples: int, threads: int
) -> Row:
    """Return the time of so many samples, with and without the choice of a tree and weights."""
    began = time.perf_counter()
    prepared = prepare(graph, motif, delta, "strict", threads=threads)
    ready = time.perf_counter()
    assert prepared.sampler is not None
    draw = draw_samples(
        prepared.sampler, prepared.weights, 1, 0, samples // 2, threads, lambda _: None
    )
    end = time.perf_counter()
    return {
        "motif": name,
        "samples": draw.samples,
        "prepare s": round(ready - began, 2),
        "draw s": round(end - ready, 2),
        "us/sample drawn": round((end - ready) / draw.samples * 1e6, 3),
        "us/sample in all": round((end - began) / draw.samples * 1e6, 3),
        "valid": round(draw.nonzero / draw.samples, 4),
    }


def time_to_error(
    graph: TemporalGraph, name: str, motif: Motif, delta: int, seconds: float, threads: int
) -> Row:
    """Return what `auto` does: exact under its budget of steps, then an estimate to 5 %."""
    budget = max(AUTO_STEPS, AUTO_STEPS_PER_EDGE * graph.edge_count)
    began = time.perf_counter()
    exact = count_exact(graph, motif, delta, "strict", budget, threads)
    tried = time.perf_counter()
    prepared = prepare(graph, motif, delta, "strict", threads=threads)
    ready = time.perf_counter()
    left = seconds - (ready - began)
    found = estimate(prepared, max_seconds=left, threads=threads)
    end = time.perf_counter()
    half = (found.ci_high - found.ci_low) / 2
    return {
        "motif": name,
        "exact": "finished" if exact.finished else "over budget",
        "exact s": round(tried - began, 1),
        "prepare s": round(ready - tried, 1),
        "estimate s": round(end - ready, 1),
        "all s": round(end - began, 1),
        "estimate": round(found.estimate),
        "error": f"{half / max(found.estimate, 1):.1%}",
        "converged": found.converged,
        "samples": found.samples,
        "nonzero": found.nonzero,
        "true": exact.count if exact.finished else None,
    }


def rate_constraints(
    graph: TemporalGraph, name: str, motif: Motif, delta: int, samples: int, threads: int
) -> list[Row]:
    """Return what becomes of the samples of the tightest tree under each choice of constraints."""
    tree, rows = ranked_trees(motif)[0], []
    for words, rules in RULES.items():
        prepared = prepare(graph, motif, delta, "strict", rules, tree, threads)
        assert prepared.sampler is not None
        draw = draw_samples(
            prepared.sampler, prepared.weights, 1, 0, samples // 2, threads, lambda _: None
        )
        shares = {
            label: f"{draw.outcomes[outcome] / draw.samples:.2%}"
            for label, outcome in (
                *(("valid", COUNTED), ("no way", NO_WAY), ("vertex twice", VERTEX_TWICE)),
                *(("too long", TOO_LONG), ("out of order", OUT_OF_ORDER), ("no child", NO_CHILD)),
            )
        }
        error = draw.variance**0.5 / draw.estimate if draw.estimate else float("nan")
        rows.append(
            {
                "motif": name,
                "constraints": words,
                "weight": f"{float(prepared.total_weight):.3g}",
                **shares,
                "std error": f"{error:.2%}",
            }
        )
    return rows


def measure_memory(
    make: Callable[[], Any], name: str, motif: Motif, delta: int, threads: int
) -> Row:
    """Return the most memory a graph and its samples take, by the system, in a fresh process."""
    queue: Any = multiprocessing.get_context("spawn").SimpleQueue()
    arguments = make, name, motif, delta, threads, queue
    process = multiprocessing.get_context("spawn").Process(target=_measure, args=arguments)
    process.start()
    row: Row = queue.get()
    process.join()
    return row


def _measure(
    make: Callable[[], Any], name: str, motif: Motif, delta: int, threads: int, queue: Any
) -> None:
    # Loops are loaded before: compiling and their code are no part of an edge.
    columns = make()
    small = build_graph(*(column[:20_000] for column in columns))
    prepared = prepare(small, motif, delta, "strict", threads=threads)
    estimate(prepared, max_samples=1, threads=threads)
    unsorted = tuple(column[:100][::-1].copy() for column in columns)
    build_graph(*unsorted)
    del small
    gc.collect()
    before = _begin_peak()
    graph = build_graph(*columns, threads=threads)
    build_peak = _peak() - before
    del columns
    gc.collect()
    before = _begin_peak()
    prepared = prepare(graph, motif, delta, "strict", threads=threads)
    assert prepared.sampler is not None
    for stream in range(2):
        draw_samples(prepared.sampler, prepared.weights, 1, stream, 2**19, threads, lambda _: None)
    count, tree = graph.edge_count, motif.vertex_count - 1
    queue.put(
        {
            "motif": name,
            "edges": count,
            "graph B/edge": round(graph.size_bytes / count, 1),
            "build peak B/edge": round(build_peak / count, 1),
            "sampling peak B/edge": round((_peak() - before) / count, 1),
            "graph and sampling B/edge": round((graph.size_bytes + _peak() - before) / count, 1),
            "asked B/edge": 8 * (tree + LIMIT_WORDS),
        }
    )


def _begin_peak() -> int:
    """Forget the highest memory of this process so far; return what it has now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))
