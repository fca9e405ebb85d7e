"""Vector search beside faiss: build, memory, exact search, and IVF batches and single queries.

    python tests/bench/bench_vector.py [--sets sift,200000x96,50000x384,digits] [--k 10]
                                       [--probes 8,16,64] [--threads 1,2] [--queries 1000]

`sift` is 1,000,000 x 128 of whole numbers from 0 to 218, like SIFT's, around 2,000 centers of
unequal weight; `digits` those of scikit-learn with rows as queries; others mixtures of 500
gaussians. Exact answers agree with faiss's before the clock starts. Times are medians of 5 in ms a
query, ours, ours with int8 and faiss's by turns in one process; faiss has as many lists and takes
part where it is installed. Memory is the size of the arrays in parts of the raw vectors.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.vector.exact_search import nearest, no_neighbours
from raydb.kernels.vector.ivf import build_ivf, search_ivf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Runs = dict[str, Callable[[], Any]]

REPEATS = 5
CENTERS = 500
SINGLE_QUERIES = 50
EXACT_QUERIES = 200


def make(name: str, queries: int, rng: np.random.Generator) -> tuple[Vectors, Vectors, int]:
    """Return vectors, queries of their kind, and the number of lists."""
    if name == "sift":
        return *make_sift(1_000_000, queries, rng), 1024
    if name == "digits":
        digits = importlib.import_module("sklearn.datasets").load_digits().data.astype(np.float32)
        return digits, digits[rng.choice(len(digits), queries)], round(len(digits) ** 0.5)
    count, width = map(int, name.split("x"))
    centers = rng.normal(size=(CENTERS, width))
    every = centers[rng.integers(0, CENTERS, count + queries)]
    every += rng.normal(size=every.shape) * 0.7
    both = every.astype(np.float32)
    return both[:count], both[count:], round(count**0.5)


def make_sift(count: int, queries: int, rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """Return vectors of 128 whole numbers, many of them 0, that differ in 24 directions most."""
    centers = rng.gamma(0.6, 30, size=(2000, 128)).astype(np.float32)
    weights = rng.dirichlet(np.full(2000, 0.7))
    directions = rng.normal(size=(24, 128)).astype(np.float32) * 2.5
    made = np.empty((count + queries, 128), np.float32)
    for start in range(0, len(made), 50_000):
        part = made[start : start + 50_000]
        part[:] = centers[rng.choice(2000, len(part), p=weights)]
        part += rng.normal(size=(len(part), 24)).astype(np.float32) @ directions
        part += rng.normal(size=part.shape).astype(np.float32) * 9
    np.clip(np.rint(made), 0, 218, out=made)
    return made[:count], made[count:]


def medians(runs: Runs, queries: int) -> dict[str, float]:
    """Return ms a query, the contestants by turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(REPEATS + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                times[name].append((time.perf_counter() - start) * 1000 / queries)
    return {name: statistics.median(each) for name, each in times.items()}


def recall(found: NDArray[Any], exact: NDArray[Any]) -> float:
    pairs = zip(found, exact, strict=True)
    return float(np.mean([len(set(a) & set(b)) / exact.shape[1] for a, b in pairs]))


def show(name: str, times: dict[str, float]) -> None:
    parts = [f"{who} {times[who]:8.4f}" for who in times]
    rivals = [times[who] for who in times if who.startswith("faiss")]
    ratio = f"ratio {times['raydb'] / min(rivals):5.2f}" if rivals else ""
    print(f"  {name:36} {'   '.join(parts)}   {ratio}", flush=True)


class Contest:
    """One set, our indexes and faiss's."""

    def __init__(self, name: str, queries: int, seed: int, k: int, faiss: Any) -> None:
        rng = np.random.default_rng(seed)
        self.vectors, self.queries, lists = make(name, queries, rng)
        self.rows = np.arange(len(self.vectors), dtype=np.uint32)
        self.k, self.faiss = k, faiss
        (count, width), raw = self.vectors.shape, self.vectors.nbytes
        print(f"{name}: {count} x {width}, {lists} lists, {queries} queries, k {k}, seed {seed}")
        some = min(count, 1000)
        build_ivf(self.vectors[:some], self.rows[:some], some, 9, "l2", seed)  # compiles the loops

        def build(*, has_codes: bool) -> Any:
            return build_ivf(self.vectors, self.rows, count, lists, "l2", seed, has_codes=has_codes)

        built, times = {}, {}
        for who, run in (
            ("raydb", lambda: build(has_codes=False)),
            ("int8", lambda: build(has_codes=True)),
            ("faiss", lambda: self.build_rival(lists, width)),
        ):
            if who != "faiss" or faiss is not None:
                start = time.perf_counter()
                built[who] = run()
                times[who] = time.perf_counter() - start
        self.index, self.quantised, self.rival = (*built.values(), None)[:3]
        show("build, s", times)
        scanned = self.quantised.codes.nbytes + self.quantised.code_squares.nbytes
        print(
            f"  memory: {self.index.size_bytes / raw:.3f} of the raw vectors, with int8 "
            f"{self.quantised.size_bytes / raw:.3f} of which scans read {scanned / raw:.3f}"
        )

    def build_rival(self, lists: int, width: int) -> Any:
        rival = self.faiss.IndexIVFFlat(self.faiss.IndexFlatL2(width), width, lists)
        rival.train(self.vectors)
        rival.add(self.vectors)
        return rival

    def exact(self, queries: Vectors, threads: int | None) -> NDArray[np.int64]:
        found = no_neighbours(len(queries), self.k)
        nearest([(self.vectors, self.rows)], queries, self.k, "l2", found, threads)
        return found.rows

    def compare_exact(self, threads: int) -> None:
        for count in (EXACT_QUERIES, 1):
            some = self.queries[:count]
            runs: Runs = {"raydb": lambda some=some: self.exact(some, threads)}
            if self.rival is not None:
                flat = self.faiss.IndexFlatL2(some.shape[1])
                flat.add(self.vectors)
                agree = recall(flat.search(some, self.k)[1], self.exact(some, threads))
                assert agree > 0.99, f"exact answers differ: {agree}"
                runs["faiss"] = lambda some=some, flat=flat: flat.search(some, self.k)
            show(f"exact, {count} at once, {threads} threads", medians(runs, count))

    def ask_rival(self, parts: list[Vectors], parallel_mode: int) -> None:
        self.rival.parallel_mode = parallel_mode
        for part in parts:
            self.rival.search(part, self.k)
        self.rival.parallel_mode = 0

    def compare_lists(self, nprobe: int, threads: int) -> None:
        exact = self.exact(self.queries[:EXACT_QUERIES], None)
        for count, step in ((len(self.queries), len(self.queries)), (SINGLE_QUERIES, 1)):
            parts = [self.queries[i : i + step] for i in range(0, count, step)]
            runs: Runs = {
                who: lambda index=index, parts=parts: [
                    search_ivf(index, part, self.k, nprobe, threads=threads) for part in parts
                ]
                for who, index in (("raydb", self.index), ("int8", self.quantised))
            }
            found = [search_ivf(self.index, self.queries[:EXACT_QUERIES], self.k, nprobe).rows]
            if self.rival is not None:
                self.rival.nprobe = nprobe
                # One query on one thread, or its lists on several: the better counts.
                runs["faiss"] = lambda parts=parts: self.ask_rival(parts, 0)
                if step == 1 and threads > 1:
                    runs["faiss by lists"] = lambda parts=parts: self.ask_rival(parts, 1)
                found.append(self.rival.search(self.queries[:EXACT_QUERIES], self.k)[1])
            recalls = "/".join(f"{recall(each, exact):.3f}" for each in found)
            show(f"nprobe {nprobe} ({recalls}), by {step}, {threads} thr", medians(runs, count))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", default="sift,200000x96,50000x384,digits")
    parser.add_argument("--probes", default="8,16,64")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        faiss = importlib.import_module("faiss")
    except ImportError:
        faiss = None
        print("faiss-cpu is not installed")
    for each in options.sets.split(","):
        contest = Contest(each, options.queries, options.seed, options.k, faiss)
        for threads in map(int, options.threads.split(",")):
            if faiss is not None:
                faiss.omp_set_num_threads(threads)
            contest.compare_exact(threads)
            for nprobe in map(int, options.probes.split(",")):
                contest.compare_lists(nprobe, threads)


if __name__ == "__main__":
    main()
