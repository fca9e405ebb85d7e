"""Temporal motifs: exact counts beside plain backtracking in C++, and sampled ones.

    python tests/bench/bench_motifs.py [--edges 100000 1000000] [--file EDGES] [--delta 21600]
                                       [--budget 200000000] [--threads 2] [--motifs cycle4 ...]
                                       [--parts exact speed error constraints memory]
                                       [--samples 10000000] [--json figures.json]

The graph is made up: parties are chosen by how often they were before, a quarter of the edges
answer a recent one, a quarter pass on, a tenth close a path, and the times come in bursts. Or it is
a file of lines 'src dst time', with any further columns.

Every motif is counted under `ties => 'strict'`. The rival (motif_backtracking.cpp, compiled here
with g++ -O3) matches the motif's edges in the order of time and visits every match, on one thread;
it gets as many seconds as `--seconds` says, and the part of the edges that it has tried by then
stands beside its time. Counts are compared where both finish.

The other parts are in motif_samples.py: `speed`, the time of a sample; `error`, the time to an
estimate within 5 % after an exact count as `auto` tries it; `constraints`, what becomes of samples
with and without each of TIMEST's constraints; `memory`, the peak of a process (Linux only).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import motif_samples
import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from raydb.kernels.backends.cpu.threads import processor_count
from raydb.kernels.motif.estimate import estimate
from raydb.kernels.motif.exact import ExactCount, count_exact
from raydb.kernels.motif.graph import TemporalGraph, build_graph
from raydb.kernels.motif.shape import Motif
from raydb.kernels.motif.tree_choice import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]

PARTS = ("exact", "speed", "error", "constraints", "memory")
SEED = 1
MEAN_GAP_SECONDS = 20
SOURCE = Path(__file__).with_name("motif_backtracking.cpp")

# Each edge as the letters of its ends.
MOTIFS = {
    "cycle3": "ab bc ca",
    "cycle4": "ab bc cd da",
    "cycle5": "ab bc cd de ea",
    "cycle6": "ab bc cd de ef fa",
    "clique4": "ab ac ad bc bd cd",
    "path5": "ab bc cd de ef",
    "path4": "ab bc cd de",
    "star_out3": "ab ac ad",
    "ping_pong": "ab ba ab ba",
    "scatter_gather3": "ab ac ad be ce de",
    "scatter_gather4": "ab ac ad ae bf cf df ef",
    "bipartite23": "ax ay az bx by bz",
}


def motif_of(text: str) -> Motif:
    names: dict[str, int] = {}
    edges = tuple(
        (names.setdefault(one, len(names)), names.setdefault(other, len(names)))
        for one, other in text.split()
    )
    return Motif(len(names), edges, tuple(range(len(edges))))


# The graph


def make_edges(edge_count: int, seed: int = SEED) -> Columns:
    """Return sources, targets and times in seconds; the same ones for the same seed."""
    source, target = np.zeros(edge_count, np.uint32), np.zeros(edge_count, np.uint32)
    draw_ends(seed, source, target)
    rng = np.random.default_rng(seed)
    gaps = np.minimum(rng.pareto(1.3, edge_count), 5000)
    gaps *= MEAN_GAP_SECONDS / gaps.mean()
    return source, target, np.cumsum(gaps).astype(np.int64)


@numba.njit(cache=True)
def draw_ends(seed: int, source: NDArray[np.uint32], target: NDArray[np.uint32]) -> None:
    np.random.seed(seed)
    target[0] = 1
    vertex_count = 2
    for edge in range(1, len(source)):
        kind = np.random.random()
        recent = max(0, edge - 1 - int(300 * np.random.random() ** 2))
        other = max(0, edge - 1 - int(300 * np.random.random() ** 2))
        # An end of an earlier edge: a party that has had many of them is a likely one.
        one, two = int(edge * np.random.random()), int(edge * np.random.random())
        first = source[one] if np.random.random() < 0.5 else target[one]
        second = source[two] if np.random.random() < 0.5 else target[two]
        if kind < 0.25:
            source[edge], target[edge] = target[recent], source[recent]
        elif kind < 0.5:
            source[edge], target[edge] = target[recent], second
        elif kind < 0.6:
            source[edge], target[edge] = target[recent], source[other]
        else:
            if np.random.random() < 0.1:
                first = vertex_count
                vertex_count += 1
            if np.random.random() < 0.2:
                second = vertex_count
                vertex_count += 1
            source[edge], target[edge] = first, second


def read_edges(path: Path) -> Columns:
    """Return the columns of a file of lines 'src dst time', its vertices numbered from 0 up."""
    source, target, times = np.loadtxt(path, np.int64, usecols=(0, 1, 2), unpack=True)
    _, codes = np.unique(np.concatenate([source, target]), return_inverse=True)
    ends = codes.astype(np.uint32).reshape(2, -1)
    return ends[0], ends[1], times


# Exact counts


@dataclass(frozen=True)
class Rival:
    """What plain backtracking has found: up to which edge, and how long it took."""

    count: int
    steps: int
    roots: int
    seconds: float


def compile_rival(folder: Path) -> Path:
    program = folder / "motif_backtracking"
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", program, SOURCE], check=True)
    return program


def write_edges(graph: TemporalGraph, path: Path) -> None:
    with path.open("wb") as file:
        for array in (graph.source, graph.target, graph.time):
            array.tofile(file)


def run_rival(program: Path, edges: Path, motif: Motif, delta: int, seconds: float) -> Rival:
    ends = [str(vertex) for edge in motif.edges for vertex in edge]
    command = [str(program), str(edges), str(delta), "1", str(seconds), *ends]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return Rival(int(words[0]), int(words[1]), int(words[2]), float(words[3]))


def count_timed(
    graph: TemporalGraph, motif: Motif, delta: int, budget: int, threads: int
) -> tuple[ExactCount, float]:
    """Return the count and the seconds it took, the least of three where it is quick."""
    times: list[float] = []
    while not times or (len(times) < 3 and sum(times) < 2):
        begin = time.perf_counter()
        found = count_exact(graph, motif, delta, "strict", budget, threads)
        times.append(time.perf_counter() - begin)
    return found, min(times)


def compare_exact(
    graph: TemporalGraph, options: argparse.Namespace, folder: Path
) -> list[dict[str, Any]]:
    """Return the exact counts and times of each motif, one thread and several, beside the rival."""
    program, edges = compile_rival(folder), folder / "edges"
    write_edges(graph, edges)
    rows = []
    for name in options.motifs:
        motif = motif_of(MOTIFS[name])
        found, alone = count_timed(graph, motif, options.delta, options.budget, 1)
        same, several = count_timed(graph, motif, options.delta, options.budget, options.threads)
        assert not same.finished or same == found, (same, found)
        rival = run_rival(program, edges, motif, options.delta, options.seconds)
        part = rival.roots / graph.edge_count
        if part == 1 and found.finished:
            assert rival.count == found.count, (name, rival, found)
        ratios = [
            f"{'' if part == 1 else '> '}{rival.seconds / spent:.1f}" if found.finished else "-"
            for spent in (alone, several)
        ]
        rows.append(
            {
                "motif": name,
                "count": found.count if found.finished else "over budget",
                "steps": found.steps,
                "1 thread s": round(alone, 3),
                f"{options.threads} threads s": round(several, 3),
                "ns/step": round(alone / found.steps * 1e9),
                "C++ s": round(rival.seconds, 3),
                "C++ steps": rival.steps,
                "C++ done": f"{part:.0%}",
                "ratio 1": ratios[0],
                f"ratio {options.threads}": ratios[1],
            }
        )
    return rows


# Sampled counts


def sample_rows(
    part: str, graph: TemporalGraph, columns: Columns, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the rows of a part of motif_samples."""
    rows = []
    for name in options.motifs:
        motif = motif_of(MOTIFS[name])
        asked = graph, name, motif, options.delta
        match part:
            case "speed":
                rows.append(motif_samples.time_samples(*asked, options.samples, options.threads))
            case "error":
                rows.append(motif_samples.time_to_error(*asked, 60.0, options.threads))
            case "constraints":
                rows += motif_samples.rate_constraints(*asked, 10**6, options.threads)
            case _:
                make = partial(make_edges, len(columns[0]))
                if options.file:
                    make = partial(read_edges, options.file)
                rows.append(
                    motif_samples.measure_memory(make, name, motif, options.delta, options.threads)
                )
    return rows


def table_of(rows: list[dict[str, Any]]) -> Table:
    table = Table(*rows[0])
    for row in rows:
        table.add_row(
            *(f"{value:,}" if type(value) is int else str(value) for value in row.values())
        )
    return table


def describe(graph: TemporalGraph, seconds: float) -> str:
    days = (graph.time[-1] - graph.time[0]) / 86400
    return (
        f"{graph.edge_count:,} edges, {graph.vertex_count:,} vertices, {graph.pair_count:,} pairs, "
        f"{graph.loop_count:,} self-loops left out, {graph.duplicate_count:,} duplicates, "
        f"{days:,.0f} days; built in {seconds:.2f} s, "
        f"{graph.size_bytes / graph.edge_count:.1f} bytes an edge"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edges", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--file", type=Path, help="lines 'src dst time' instead of a made-up graph")
    parser.add_argument("--delta", type=int, default=7200, help="in the unit of the times")
    parser.add_argument("--budget", type=int, default=200_000_000, help="steps of a count")
    parser.add_argument("--seconds", type=float, default=20, help="what the rival gets a motif")
    parser.add_argument("--threads", type=int, default=processor_count())
    parser.add_argument("--motifs", nargs="+", choices=MOTIFS, default=list(MOTIFS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["exact"])
    parser.add_argument("--samples", type=int, default=10**7, help="of the part `speed`")
    parser.add_argument("--json", type=Path, help="where all figures are written")
    options = parser.parse_args()
    console = Console(width=140)
    begin = time.perf_counter()
    tiny = build_graph(*make_edges(100))
    count_exact(tiny, motif_of("ab bc ca"), 10, "strict")
    if set(options.parts) - {"exact"}:
        estimate(prepare(tiny, motif_of("ab bc cd"), 1000, "strict"), max_samples=1)
    console.print(f"loops ready after {time.perf_counter() - begin:.1f} s")
    figures: list[dict[str, Any]] = []
    made = (make_edges(count) for count in options.edges)
    for columns in [read_edges(options.file)] if options.file else made:
        begin = time.perf_counter()
        graph = build_graph(*columns)
        console.print(describe(graph, time.perf_counter() - begin))
        for part in options.parts:
            if part == "exact":
                with tempfile.TemporaryDirectory() as folder:
                    rows = compare_exact(graph, options, Path(folder))
            else:
                rows = sample_rows(part, graph, columns, options)
            console.print(part, table_of(rows))
            figures.append({"edges": graph.edge_count, "part": part, "rows": rows})
    if options.json:
        options.json.write_text(json.dumps({"delta": options.delta, "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
