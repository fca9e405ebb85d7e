"""Searches along the graph of an hnsw index, through SQL and alone, beside other libraries' HNSW.

    python tests/bench/bench_graph.py [--rows 100000] [--width 128] [--queries 500] [--seed 1]
                                      [--efs 16,32,64,128] [--sets tails,clusters]
                                      [--only raydb,alone,hnswlib,faiss,usearch]

For each `ef` the recall of the 10 nearest rows, and microseconds of processor time of one search in
one thread: the median of the queries, by turns. Rivals are those of hnswlib, faiss-cpu and usearch
that are installed, with 16 links (32 below), and 128 of construction; builds are in seconds of
processor time.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from typing import Any

import numpy as np
import pyarrow as pa

import raydb
from raydb.kernels.bvh.build_input import unwatched
from raydb.kernels.vector.exact_search import nearest, no_neighbours
from raydb.kernels.vector.graph_build import with_graph
from raydb.kernels.vector.graph_search import search_graph
from raydb.kernels.vector.ivf import build_ivf

# Those who build return a function of one vector (d) or some (q, d) and an `ef`, which gives the
# rows (q, k) that are near.
K, LINKS, CONSTRUCTION = 10, 16, 128


def tails(rng: Any, count: int, width: int) -> Any:
    """Return vectors of 2,000 kinds of many sizes and widths, in 24 directions."""
    members = rng.choice(2000, count, p=rng.dirichlet(np.full(2000, 0.5)))
    centers, spreads = 2 * rng.normal(size=(2000, 24)), rng.lognormal(0, 0.5, 2000)
    directions = rng.normal(size=(24, width)).astype(np.float32)
    made = np.empty((count, width), np.float32)
    for start in range(0, count, 50_000):
        some = members[start : start + 50_000]
        noise = rng.normal(size=(len(some), 24)) * spreads[some, None]
        part = np.abs((centers[some] + noise).astype(np.float32) @ directions)
        part += 0.05 * part.std() * rng.normal(size=part.shape).astype(np.float32)
        made[start : start + 50_000] = part
    return made


def clusters(rng: Any, count: int, width: int) -> Any:
    """Return vectors around 500 centers, which overlap."""
    centers = rng.normal(size=(500, width)).astype(np.float32)
    made = np.float32(0.7) * rng.standard_normal((count, width), dtype=np.float32)
    made += centers[rng.integers(0, 500, count)]
    return made


def hnswlib(vectors: Any) -> Any:
    index = importlib.import_module("hnswlib").Index(space="l2", dim=vectors.shape[1])
    index.init_index(len(vectors), M=LINKS, ef_construction=CONSTRUCTION, random_seed=1)
    index.add_items(vectors, num_threads=1)
    index.set_num_threads(1)

    def search(queries: Any, ef: int) -> Any:
        index.set_ef(ef)
        return index.knn_query(queries, K)[0].astype(np.int64)

    return search


def faiss(vectors: Any) -> Any:
    module: Any = importlib.import_module("faiss")
    module.omp_set_num_threads(1)
    index = module.IndexHNSWFlat(vectors.shape[1], LINKS)
    index.hnsw.efConstruction = CONSTRUCTION
    index.add(vectors)

    def search(queries: Any, ef: int) -> Any:
        index.hnsw.efSearch = ef
        return index.search(np.atleast_2d(queries), K)[1]

    return search


def usearch(vectors: Any) -> Any:
    given = {"ndim": vectors.shape[1], "metric": "l2sq", "dtype": "f32", "connectivity": LINKS}
    index = importlib.import_module("usearch.index").Index(**given, expansion_add=CONSTRUCTION)
    index.add(np.arange(len(vectors)), vectors, threads=1)

    def search(queries: Any, ef: int) -> Any:
        index.expansion_search = ef
        found = index.search(np.atleast_2d(queries), K, threads=1)
        return np.asarray(found.keys).astype(np.int64).reshape(-1, K)

    return search


def ours(vectors: Any) -> Any:
    con = raydb.connect(config={"threads": 1})
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    con.register("made", pa.table({"id": np.arange(len(vectors)), "emb": column}))
    con.execute("CREATE TABLE t AS SELECT * FROM made")
    con.unregister("made")
    before = time.process_time()
    con.execute(f"CREATE INDEX i ON t USING hnsw (emb) WITH (m = {LINKS})")
    print(f"  build {time.process_time() - before:.1f} s")
    text = "SELECT id, distance FROM vector_search(t, emb, ?, k => 10, ef => {})"

    def search(queries: Any, ef: int) -> Any:
        if queries.ndim == 1:
            return con.execute(text.format(ef), [queries]).fetchall()
        found = [con.execute(text.format(ef), [query]).fetchall() for query in queries]
        return np.array([[row for row, _ in rows] for rows in found])

    return search


def alone(vectors: Any) -> Any:
    """Return the search of ours without SQL."""
    rows, lists = np.arange(len(vectors), dtype=np.uint32), round(len(vectors) ** 0.5)
    index = build_ivf(vectors, rows, len(vectors), lists, "l2", 0)
    index = with_graph(index, unwatched(), 2 * LINKS, 3 * LINKS)

    def search(queries: Any, ef: int) -> Any:
        return search_graph(index, np.atleast_2d(queries), K, ef, threads=1).rows

    return search


def main() -> None:
    """Print a line for each library and `ef`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--efs", default="16,32,64,128")
    parser.add_argument("--sets", default="tails,clusters")
    parser.add_argument("--only", default="raydb,alone,hnswlib,faiss,usearch")
    options = parser.parse_args()
    makers: dict[str, Any] = {"tails": tails, "clusters": clusters}
    builders: dict[str, Any] = {"raydb": ours, "hnswlib": hnswlib, "faiss": faiss}
    builders |= {"usearch": usearch, "alone": alone}
    search = ours(clusters(np.random.default_rng(1), 3000, 16))
    search(np.ones((2, 16), np.float32), 20)
    print("loops are compiled")
    for name in options.sets.split(","):
        rng = np.random.default_rng(options.seed)
        made = makers[name](rng, options.rows + options.queries, options.width)
        vectors, queries = made[: options.rows].copy(), made[options.rows :].copy()
        best = no_neighbours(len(queries), K)
        nearest([(vectors, np.arange(len(vectors)))], queries, K, "l2", best)
        farthest = best.distances[:, -1:] * (1 + 1e-6)
        for library in options.only.split(","):
            print(f"{name}, {library}", flush=True)
            try:
                before = time.process_time()
                search = builders[library](vectors)
                print(f"  with the rows {time.process_time() - before:.1f} s", flush=True)
            except ImportError:
                print("  is not installed")
                continue
            for ef in map(int, options.efs.split(",")):
                found = search(queries, ef)
                away = np.sqrt(((vectors[found] - queries[:, None]) ** 2).sum(axis=2))
                taken = []
                for query in queries:
                    start = time.process_time()
                    search(query, ef)
                    taken.append(time.process_time() - start)
                recall, median = (away <= farthest).mean(), statistics.median(taken) * 1e6
                print(f"  ef {ef}: recall {recall:.4f}, {median:.0f} us", flush=True)


if __name__ == "__main__":
    main()
