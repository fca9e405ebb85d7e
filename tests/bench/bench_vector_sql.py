"""A single vector search through SQL, each time for another vector, beside faiss and LanceDB.

    python tests/bench/bench_vector_sql.py [--rows 100000] [--width 128] [--nprobe 8]
                                            [--queries 300]

ms of processor time, medians of the queries, in five turns of which the least and the median are
told, and the median by the clock, which counts for LanceDB: it searches in threads of its own. The
vector is a NumPy array, a list, a literal in brackets, and one in quotes. First the answers are
checked: each way finds what the search alone does, and recall is told, that of faiss-cpu and
lancedb with as many lists too, where they are installed.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import raydb
from raydb.kernels.vector.ivf import build_ivf, search_ivf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TURNS = 5
# Queries that the answers are checked with, and whose texts are not timed.
CHECKED = 100


def median_ms(call: Callable[[Any], object], arguments: Sequence[Any]) -> tuple[float, float]:
    """Return the median milliseconds of a call for each argument: processor's, and the clock's."""
    taken, waited = [], []
    for argument in arguments:
        before, began = time.process_time(), time.perf_counter()
        call(argument)
        taken.append(time.process_time() - before)
        waited.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000, statistics.median(waited) * 1000


def faiss_search(vectors: Any, lists: int, nprobe: int) -> Callable[[Any], Any] | None:
    """Return faiss' search for the rows near vectors (q, d), in one thread; None without faiss."""
    try:
        faiss: Any = importlib.import_module("faiss")
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    width = vectors.shape[1]
    coarse = faiss.IndexFlatL2(width)
    index = faiss.IndexIVFFlat(coarse, width, lists)
    index.train(vectors)
    index.add(vectors)
    index.nprobe = nprobe
    # The coarse index must live as long.
    return lambda queries, kept=coarse: index.search(queries, 10)[1]


def lance_search(rows: pa.Table, lists: int, nprobe: int, folder: str) -> Callable[[Any], Any]:
    """Return LanceDB's search for the rows near a vector (d) in an index without compression.

    rows: id and emb. Raises ImportError without lancedb.
    """
    lancedb: Any = importlib.import_module("lancedb")
    table = lancedb.connect(folder).create_table("t", rows)
    kind: Any = importlib.import_module("lancedb.index").IvfFlat
    table.create_index("emb", config=kind(distance_type="l2", num_partitions=lists))
    assert table.index_stats("emb_idx").num_unindexed_rows == 0

    def search(query: Any) -> list[tuple[int, float]]:
        asked = table.search(query, vector_column_name="emb").select(["id", "_distance"])
        found = asked.limit(10).nprobes(nprobe).to_arrow()
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    return search


def recall(vectors: Any, queries: Any, found: Sequence[Any]) -> float:
    """Return the share of found rows that are as near as the tenth of all."""
    hits = 0
    for query, rows in zip(queries, found, strict=True):
        away = np.sqrt(((vectors - query).astype(np.float64) ** 2).sum(axis=1))
        hits += int((away[rows] <= np.partition(away, 9)[9] * (1 + 1e-9)).sum())
    return hits / (10 * len(queries))


def main() -> None:
    """Print a line for each way to search."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--nprobe", type=int, default=8)
    parser.add_argument("--queries", type=int, default=300)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(500, options.width))
    members = rng.integers(0, 500, options.rows + options.queries + CHECKED)
    every = centers[members] + rng.normal(size=(len(members), options.width)) * 0.7
    vectors, queries = np.split(every.astype(np.float32), [options.rows])
    con = raydb.connect()
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), options.width)
    made = pa.table({"id": np.arange(options.rows), "emb": column})
    con.register("made", made)
    con.execute("CREATE TABLE t AS SELECT * FROM made")
    con.execute("CREATE INDEX i ON t USING ivf (emb)")
    numbers = np.arange(options.rows, dtype=np.uint32)
    index = build_ivf(vectors, numbers, options.rows, round(options.rows**0.5), "l2", 0)
    search = "SELECT id, distance FROM vector_search(t, emb, {}, k => 10, nprobe => "
    search += f"{options.nprobe})"
    lists = [query.tolist() for query in queries]
    by_parameter = search.format("?")

    def ask(text: str, *parameters: object) -> object:
        return con.execute(text, parameters).fetchall()

    ways: dict[str, tuple[Callable[[Any], object], Sequence[Any]]] = {
        "SELECT 1": (lambda _: ask("SELECT 1"), lists),
        "the search alone": (lambda q: search_ivf(index, q[None], 10, options.nprobe), queries),
        "parameter, NumPy": (lambda q: ask(by_parameter, q), queries),
        "parameter, list": (lambda q: ask(by_parameter, q), lists),
        "[..]": (ask, [search.format(each) for each in lists]),
        "'[..]'": (ask, [search.format(f"'{each}'") for each in lists]),
    }
    beside = faiss_search(vectors, index.list_count, options.nprobe)
    alone = search_ivf(index, queries, 10, options.nprobe).rows
    for name, (call, arguments) in ways.items():
        if name not in ("SELECT 1", "the search alone"):
            found = [{row[0] for row in call(each)} for each in arguments[-CHECKED:]]
            assert found == [set(rows) for rows in alone.tolist()[-CHECKED:]], name
    print(f"recall {recall(vectors, queries, alone):.4f}")
    if beside is not None:
        print(f"recall of faiss {recall(vectors, queries, beside(queries)):.4f}")
        ways["faiss"] = (lambda q: beside(q[None]), queries)
    with tempfile.TemporaryDirectory() as folder:
        try:
            rival = lance_search(made, index.list_count, options.nprobe, folder)
        except ImportError:
            print("lancedb is not installed")
        else:
            checked = queries[-CHECKED:]
            found = [[row for row, _ in rival(query)] for query in checked]
            print(f"recall of LanceDB {recall(vectors, checked, found):.4f}")
            ways["LanceDB"] = (rival, queries)
        tell_times(ways, options.queries // TURNS)


def tell_times(ways: dict[str, tuple[Callable[[Any], object], Sequence[Any]]], size: int) -> None:
    """Print what each way takes, by turns of `size` searches."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    # Each turn has vectors of its own, so that no text comes twice.
    for turn in range(TURNS):
        for name, (call, arguments) in ways.items():
            times[name].append(median_ms(call, arguments[turn * size : (turn + 1) * size]))
    for name, measured in times.items():
        taken, waited = (list(each) for each in zip(*measured, strict=True))
        told = f"{name}: {min(taken):.3f} ms, median {statistics.median(taken):.3f}"
        print(f"{told}; by the clock {statistics.median(waited):.3f}")


if __name__ == "__main__":
    main()
