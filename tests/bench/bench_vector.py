"""Vector search beside faiss: build, batches and single queries by nprobe, and recall@10.

    python tests/bench/bench_vector.py [--sets 200000x96,50000x384] [--queries 1000] [--seed 1]

The sets are mixtures of 500 gaussians. Exact answers agree with faiss's before the clock starts;
times are medians of 5 in ms a query, ours and faiss's by turns in one process, all cores. faiss-cpu
takes part where it is installed; its index has the same number of lists.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.ivf import build_ivf, search_ivf
from raydb.kernels.nearest import nearest, no_neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

K = 10
REPEATS = 5
CENTERS = 500
PROBES = (1, 8, 16, 64)
SINGLE_QUERIES = 200


def make(
    rng: np.random.Generator, count: int, width: int, queries: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return vectors and queries around the same centers."""
    centers = rng.normal(size=(CENTERS, width))
    every = centers[rng.integers(0, CENTERS, count + queries)]
    every += rng.normal(size=every.shape) * 0.7
    both = every.astype(np.float32)
    return both[:count], both[count:]


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(runs: dict[str, Callable[[], Any]], queries: int) -> dict[str, float]:
    """Return ms a query, the contestants by turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, run in runs.items():
            times[name].append(seconds(run))
    return {name: statistics.median(each) * 1000 / queries for name, each in times.items()}


def recall(found: NDArray[Any], exact: NDArray[Any]) -> float:
    pairs = zip(found, exact, strict=True)
    return float(np.mean([len(set(a) & set(b)) / K for a, b in pairs]))


def show(name: str, times: dict[str, float], recalls: dict[str, float]) -> None:
    parts = [f"{who} {times[who]:.3f} ms ({recalls[who]:.3f})" for who in times]
    print(f"  {name:18} {'   '.join(parts)}")


def compare(count: int, width: int, query_count: int, seed: int, faiss: Any) -> None:
    rng = np.random.default_rng(seed)
    vectors, queries = make(rng, count, width, query_count)
    rows = np.arange(count, dtype=np.uint32)
    lists = round(count**0.5)
    print(f"{count} x {width}, {lists} lists, {query_count} queries, k = {K}, seed {seed}")

    def search_exactly(some: NDArray[np.float32]) -> NDArray[np.int64]:
        found = no_neighbours(len(some), K)
        nearest([(vectors, rows)], some, K, "l2", found)
        return found.rows

    index = build_ivf(vectors[:1000], rows[:1000], 1000, 10, "l2", seed)
    search_ivf(index, queries, K, 1)  # compiles the loops
    exact = search_exactly(queries)
    start = time.perf_counter()
    index = build_ivf(vectors, rows, count, lists, "l2", seed)
    built = {"raydb": time.perf_counter() - start}
    rival = flat = None
    if faiss is not None:
        start = time.perf_counter()
        rival = faiss.IndexIVFFlat(faiss.IndexFlatL2(width), width, lists)
        rival.train(vectors)
        rival.add(vectors)
        built["faiss"] = time.perf_counter() - start
        flat = faiss.IndexFlatL2(width)
        flat.add(vectors)
        agree = recall(flat.search(queries, K)[1], exact)
        assert agree > 0.999, f"exact answers differ: {agree}"
    print("  build              " + "   ".join(f"{who} {t:.1f} s" for who, t in built.items()))
    runs: dict[str, Callable[[], Any]] = {"raydb": lambda: search_exactly(queries)}
    if flat is not None:
        runs["faiss"] = lambda: flat.search(queries, K)
    show("exact, batch", medians(runs, query_count), dict.fromkeys(runs, 1.0))
    runs = {"raydb": lambda: search_exactly(queries[:1])}
    if flat is not None:
        runs["faiss"] = lambda: flat.search(queries[:1], K)
    show("exact, single", medians(runs, 1), dict.fromkeys(runs, 1.0))
    for nprobe in PROBES:
        compare_probes(nprobe, index, rival, queries, exact)


def compare_probes(
    nprobe: int, index: Any, rival: Any, queries: NDArray[np.float32], exact: NDArray[np.int64]
) -> None:
    single = queries[:SINGLE_QUERIES]
    recalls = {"raydb": recall(search_ivf(index, queries, K, nprobe).rows, exact)}
    batch: dict[str, Callable[[], Any]] = {
        "raydb": lambda: search_ivf(index, queries, K, nprobe),
    }
    alone: dict[str, Callable[[], Any]] = {
        "raydb": lambda: [search_ivf(index, q[None], K, nprobe) for q in single],
    }
    if rival is not None:
        rival.nprobe = nprobe
        recalls["faiss"] = recall(rival.search(queries, K)[1], exact)
        batch["faiss"] = lambda: rival.search(queries, K)
        alone["faiss"] = lambda: [rival.search(q[None], K) for q in single]
    show(f"nprobe {nprobe}, batch", medians(batch, len(queries)), recalls)
    show(f"nprobe {nprobe}, single", medians(alone, len(single)), recalls)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", default="200000x96,50000x384")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        faiss = importlib.import_module("faiss")
    except ImportError:
        faiss = None
        print("faiss-cpu is not installed")
    for each in options.sets.split(","):
        count, width = map(int, each.split("x"))
        compare(count, width, options.queries, options.seed, faiss)


if __name__ == "__main__":
    main()
