"""Vector search on a device beside the processor with two threads: batches over an IVF's lists.

    python tests/bench/bench_gpu_vectors.py [--sets 1000000x128,10000000x96] [--json results.json]

The lists are those that the vectors were drawn around, so that no k-means has to run first. Answers
are compared before the clock starts. Times are medians in ms a query; nprobe 64, k 10.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.registry import obstacle, open_search
from raydb.kernels.vector.ivf import Ivf, no_codes, search_ivf

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
NPROBE, K = 64, 10
BATCHES = (1, 100, 1000)
THREADS = 2
BLOCK = 2**18


def make(count: int, width: int, list_count: int) -> tuple[Ivf, Any]:
    """Return an index of vectors around random centres, and a batch of queries of their kind."""
    rng = np.random.default_rng(count)
    centroids = rng.standard_normal((list_count, width), np.float32)
    offsets = np.linspace(0, count, list_count + 1).astype(np.int64)
    vectors = np.repeat(centroids, np.diff(offsets), axis=0)
    for start in range(0, count, BLOCK):
        part = vectors[start : start + BLOCK]
        part += rng.standard_normal(part.shape, np.float32)
    queries = vectors[rng.integers(0, count, max(BATCHES))]
    queries += 0.5 * rng.standard_normal(queries.shape, np.float32)
    squares = (centroids**2).sum(axis=1)
    longest = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max()))
    rows, none = np.arange(count, dtype=np.uint32), np.empty(0, np.float32)
    known = centroids, squares, offsets, rows, vectors, none
    return Ivf("l2", count, longest, *known, **no_codes(width)), queries


def median_ms(run: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(index: Ivf, queries: Any) -> dict[str, Any]:
    """Return ms a query of both, by the size of the batch."""
    search = open_search("cuda")
    found = {}
    for batch in BATCHES:
        asked = index, queries[:batch], K, NPROBE
        start = time.perf_counter()
        mine = search(*asked)
        first_ms = (time.perf_counter() - start) * 1000
        theirs = search_ivf(*asked, threads=THREADS)
        assert np.array_equal(mine.rows, theirs.rows)
        assert mine.distances.tobytes() == theirs.distances.tobytes()
        cuda = median_ms(lambda asked=asked: search(*asked), ROUNDS) / batch
        rounds = 2 if batch == max(BATCHES) else ROUNDS
        cpu = median_ms(lambda a=asked: search_ivf(*a, threads=THREADS), rounds) / batch
        found[str(batch)] = {"first_ms": first_ms, "cuda_ms": cuda, "cpu_ms": cpu}
        print(f"  by {batch}: cuda {cuda:.4f} ms, cpu {cpu:.4f} ms, {cpu / cuda:.2f}x", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", default="1000000x128,10000000x96")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reason = obstacle("cuda")
    if reason is not None:
        print(f"Nothing was measured: {reason}")
        return
    results = {}
    for each in options.sets.split(","):
        count, width = map(int, each.split("x"))
        print(each, flush=True)
        results[each] = measure(*make(count, width, round(count**0.5)))
        if options.json is not None:
            options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
