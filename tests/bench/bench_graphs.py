"""How well graphs are cut beside HDRF, DBH and METIS, how fast, and in how much memory.

    python tests/bench/bench_graphs.py facebook_edges.csv git_edges.csv ind.pubmed.graph
    python tests/bench/bench_graphs.py --rmat 18 --sbm 200000
    python tests/bench/bench_graphs.py --rmat 22 --parts speed

A graph is a file of two columns: a CSV of MUSAE (github.com/benedekrozemberczki/MUSAE), a text of
SNAP (snap.stanford.edu), or the pickle of planetoid (github.com/kimiyoung/planetoid), which runs
what it says: only one of that source. RF is how often a node lies in a part, as a node of it or as
a neighbour. HDRF and DBH place edges; each node is one of a random part among those of its edges,
and gets its whole neighbourhood there (CATGNN, section 3.2). METIS is that of pymetis, if it is
there, with the same balance. Times are those of the processor, with one thread.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import statistics
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numba
import numpy as np
import pyarrow as pa

import raydb
from raydb.kernels.graph.partition import Edges, Question, partition

if TYPE_CHECKING:
    from collections.abc import Iterator

_BALANCE = 1.05
# What HDRF's paper takes.
_LAMBDA = 1.1


def read_graph(path: Path) -> np.ndarray:
    """Return the edges of a file (2, m)."""
    if path.suffix == ".graph":
        with path.open("rb") as file:
            lists = pickle.load(file, encoding="latin1")
        pairs = {(min(u, v), max(u, v)) for u, near in lists.items() for v in near}
        return np.array(sorted(pairs), np.int64).T
    with path.open() as file:
        lines = [line for line in file if line[0].isdigit()]
    separator = "," if "," in lines[0] else None
    return np.array([line.split(separator)[:2] for line in lines], np.int64).T


def rmat(scale: int, seed: int = 1) -> np.ndarray:
    """Return 8 edges a node of an R-MAT graph with Graph500's shares (2, m)."""
    draw = np.random.default_rng(seed)
    edges = np.zeros((2, 8 << scale), np.int64)
    for _ in range(scale):
        x = draw.random(edges.shape[1])
        edges *= 2
        edges[0] += x >= 0.76
        edges[1] += ((x >= 0.57) & (x < 0.76)) | (x >= 0.95)
    return edges


def blocks(count: int, parts: int, inside: float, outside: float, seed: int = 1) -> np.ndarray:
    """Return a stochastic block model: so many edges a node within its block, and so many beside.

    Neither the order of the nodes nor that of the edges tells the blocks.
    """
    draw = np.random.default_rng(seed)
    size = count // parts
    one = draw.integers(0, size * parts, int(count * inside / 2))
    near = np.stack([one, one // size * size + draw.integers(0, size, len(one))])
    far = draw.integers(0, size * parts, (2, int(count * outside / 2)))
    edges = np.concatenate([near, far], axis=1)
    return draw.permutation(size * parts)[edges[:, draw.permutation(edges.shape[1])]]


@numba.njit
def _hdrf(source, target, node_count, k, pull):
    degree = np.zeros(node_count, np.int64)
    there = np.zeros((node_count, k), np.bool_)
    size = np.zeros(k, np.int64)
    for edge in range(len(source)):
        u, v = source[edge], target[edge]
        degree[u] += 1
        degree[v] += 1
        share = degree[u] / (degree[u] + degree[v])
        least, most = size.min(), size.max()
        best, worth = 0, -1.0
        for part in range(k):
            found = pull * (most - size[part]) / (1 + most - least)
            found += (2 - share) * there[u, part] + (1 + share) * there[v, part]
            if found > worth:
                best, worth = part, found
        there[u, best] = there[v, best] = True
        size[best] += 1
    return there


def _dbh(edges: np.ndarray, node_count: int, k: int) -> np.ndarray:
    degree = np.bincount(edges.ravel(), minlength=node_count)
    low = np.where(degree[edges[0]] <= degree[edges[1]], edges[0], edges[1])
    place = ((low.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) % np.uint64(
        k
    )
    there = np.zeros((node_count, k), np.bool_)
    for side in edges:
        there[side, place.astype(np.int64)] = True
    return there


def _one_of(there: np.ndarray) -> np.ndarray:
    """Return a random part of those that each node lies in."""
    draw = np.random.default_rng(1).random(there.shape)
    return np.argmax(np.where(there, draw, -1), axis=1)


def _metis(edges: np.ndarray, node_count: int, k: int) -> np.ndarray | None:
    try:
        pymetis = importlib.import_module("pymetis")
    except ImportError:
        return None
    low, high = np.sort(edges, axis=0)[:, edges[0] != edges[1]]
    low, high = np.divmod(np.unique(low * node_count + high), node_count)
    one, other = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.argsort(one, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(one, minlength=node_count))])
    near = pymetis.CSRAdjacency(starts.astype(np.int32), other[order].astype(np.int32))
    options = pymetis.Options(ufactor=round(1000 * (_BALANCE - 1)), seed=1)
    return np.array(pymetis.part_graph(k, adjacency=near, options=options)[1])


def _judged(con: raydb.Connection, part: np.ndarray) -> tuple[float, float, int]:
    """Return the RF, the greatest load and the cut edges of a partition of the table `edge`."""
    con.register("placed", pa.table({"node": np.arange(len(part)), "part": part}))
    return con.execute(
        "SELECT replication_factor, greatest_load, edges_cut FROM partition_stats(edge, "
        "parts => placed) LIMIT 1"
    ).fetchone()


def quality(edges: np.ndarray, k: int, passes: list[int], seeds: int) -> None:
    """Print figures of each way to cut a graph."""
    node_count = int(edges.max()) + 1
    con = raydb.connect()
    con.register("given", pa.table({"s": edges[0], "d": edges[1]}))
    con.execute("CREATE TABLE edge AS FROM given")

    def tell(name: str, figures: tuple[float, float, int], seconds: float | None = None) -> None:
        rf, load, cut = figures
        took = "" if seconds is None else f"{seconds:8.2f} s"
        print(f"  {name:<22} RF {rf:6.3f}  load {load:6.3f}  cut {cut:>10,}{took}")

    for count in passes:
        found, times = [], []
        for seed in range(1, seeds + 1):
            asked = f"k => {k}, balance => {_BALANCE}, refine => {count}, seed => {seed}"
            start = time.process_time()
            con.execute(f"CREATE OR REPLACE TABLE own AS FROM partition_graph(edge, {asked})")
            times.append(time.process_time() - start)
            part = np.zeros(node_count, np.int64)
            own = con.execute("SELECT node, part FROM own").to_arrow_table()
            part[own["node"].to_numpy()] = own["part"].to_numpy()
            found.append(_judged(con, part))
        middle = sorted(found)[len(found) // 2]
        tell(f"SPRING, {count} passes", middle, statistics.median(times))
    tell("HDRF", _judged(con, _one_of(_hdrf(edges[0], edges[1], node_count, k, _LAMBDA))))
    tell("DBH", _judged(con, _one_of(_dbh(edges, node_count, k))))
    tell("random", _judged(con, np.random.default_rng(1).integers(0, k, node_count)))
    start = time.process_time()
    metis = _metis(edges, node_count, k)
    if metis is not None:
        tell("METIS", _judged(con, metis), time.process_time() - start)


def speed(edges: np.ndarray, k: int) -> None:
    """Print edges a second without moves, of the loops and through SQL, and bytes a node."""
    node_count = int(edges.max()) + 1
    ends = edges.astype(np.int32)
    ends.flags.writeable = False
    batches = [(part[0], part[1]) for part in _batches(ends)]
    asked = Question(k, _BALANCE, 0, 1)
    partition(Edges(batches[:1], node_count), asked)
    times = []
    for _ in range(5):
        start = time.process_time()
        partition(Edges(batches, node_count), asked)
        times.append(time.process_time() - start)
    tracemalloc.start()
    partition(Edges(batches, node_count), asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rate = edges.shape[1] / statistics.median(times) / 1e6
    print(f"  loops: {rate:.1f}M edges/s, {peak / node_count:.1f} bytes a node")
    con = raydb.connect()
    con.execute("SET threads = 1")
    for name, values in (("INTEGER", ends), ("VARCHAR", edges.astype(str))):
        con.register("given", pa.table({"s": values[0], "d": values[1]}))
        con.execute("CREATE OR REPLACE TABLE edge AS FROM given")
        times = []
        for _ in range(4):
            start = time.process_time()
            con.execute(f"SELECT max(part) FROM partition_graph(edge, k => {k}, refine => 0)")
            times.append(time.process_time() - start)
        rate = edges.shape[1] / statistics.median(times[1:]) / 1e6
        print(f"  SQL, nodes of {name}: {rate:.1f}M edges/s")


def _batches(ends: np.ndarray, size: int = 131_072) -> Iterator[np.ndarray]:
    for start in range(0, ends.shape[1], size):
        yield ends[:, start : start + size]


def main() -> None:
    """Measure the graphs of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--rmat", type=int, action="append", default=[], metavar="SCALE")
    parser.add_argument("--sbm", type=int, action="append", default=[], metavar="NODES")
    parser.add_argument("--blocks", type=int, default=8, help="of the SBM")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--passes", type=int, nargs="+", default=[0, 3, 10, 20])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=["quality"], choices=["quality", "speed"])
    given = parser.parse_args()
    graphs = [(path.name, lambda path=path: read_graph(path)) for path in given.paths]
    graphs += [(f"R-MAT {each}", lambda each=each: rmat(each)) for each in given.rmat]
    graphs += [
        (f"SBM of {each}", lambda each=each: blocks(each, given.blocks, 9, 3.5))
        for each in given.sbm
    ]
    for name, make in graphs:
        nodes, numbers = np.unique(make(), return_inverse=True)
        edges = numbers.reshape(2, -1)
        print(f"{name}: {len(nodes):,} nodes, {edges.shape[1]:,} edges, k = {given.k}", flush=True)
        if "quality" in given.parts:
            quality(edges, given.k, given.passes, given.seeds)
        if "speed" in given.parts:
            speed(edges, given.k)


if __name__ == "__main__":
    main()
