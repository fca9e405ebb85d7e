"""What searches with a promise miss among filtered rows, and what that costs beside a fixed nprobe.

    python tests/bench/bench_filtered_search.py [--rows 20000] [--queries 400] [--fnr 0.05]
                                                [--sets clusters,tails,ties,flat]

Filters pass 1, 10 and 50 % of the rows: at random, those least and those greatest in the direction
of most variance, and those that are far from a fifth of the queries. What is missed is counted by
distance beside NumPy's, so that of rows at the same distance any one counts. Milliseconds are of
processor time for a single search, medians.

clusters: gaussians of unequal weight; tails: Student's t with 2 degrees of freedom; ties: whole
numbers, each vector up to 40 times; flat: 6 directions in 64; digits: those of scikit-learn, where
that is installed, not by default.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

SHARES = (0.01, 0.1, 0.5)
CALIBRATION_QUERIES = 400
K = 10
TIMED = 30


def make(name: str, count: int, rng: np.random.Generator) -> Vectors:
    """Return vectors (count, d); of the digits only as many as there are."""
    match name:
        case "clusters":
            centers = rng.normal(size=(200, 64))
            members = rng.choice(200, count, p=rng.dirichlet(np.full(200, 0.7)))
            made = centers[members] + rng.normal(size=(count, 64)) * 0.7
        case "tails":
            made = rng.standard_t(2, size=(count, 32))
        case "ties":
            some = rng.integers(-2, 3, size=(count // 20, 24))
            made = some[np.minimum(rng.geometric(20 / count, count), len(some) - 1)]
        case "flat":
            angles = np.sin(rng.uniform(-2, 2, size=(count, 6)) @ rng.normal(size=(6, 64)))
            made = angles + rng.normal(size=(count, 64)) * 0.01
        case _:
            digits = importlib.import_module("sklearn.datasets").load_digits().data
            made = rng.permutation(digits)[:count]
    return made.astype(np.float32)


def table_of(vectors: Vectors, **columns: NDArray[np.generic]) -> pa.Table:
    """Return rows with their numbers, vectors and other columns."""
    emb = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.table({"n": range(len(vectors)), "emb": emb, **columns})


def filters(vectors: Vectors, queries: Vectors, rng: np.random.Generator) -> Iterator[tuple]:
    """Yield a name, a share and a key of rows: those pass whose keys are least."""
    centered = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(centered[:5000].T))
    along = centered @ axes[:, -1]
    fifth = queries[:: len(queries) // 5].mean(axis=0)
    keys = {
        "random": rng.random(len(vectors)),
        "least": along,
        "greatest": -along,
        "far": -np.linalg.norm(vectors - fifth, axis=1),
    }
    for name, key in keys.items():
        for share in SHARES:
            yield name, share, key.astype(np.float64)


def missed(vectors: Vectors, queries: Vectors, found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the k nearest of vectors that is missed by distances (q, k), a query."""
    one, other = vectors.astype(np.float64), queries.astype(np.float64)
    k = min(K, len(vectors))
    exact = np.array([np.partition(np.linalg.norm(one - q, axis=1), k - 1)[k - 1] for q in other])
    return 1 - (found <= exact[:, None] * (1 + 1e-9)).sum(axis=1) / k


def run(name: str, rows: int, query_count: int, fnr: float) -> None:
    """Print the missed shares of one set of vectors."""
    rng = np.random.default_rng(7)
    both = make(name, rows + CALIBRATION_QUERIES + query_count, rng)
    vectors, queries = np.split(both, [len(both) - CALIBRATION_QUERIES - query_count])
    asked, new = np.split(queries, [CALIBRATION_QUERIES])
    con = raydb.connect()
    for table, made in (("asked", asked), ("new", new)):
        con.register("made", table_of(made))
        con.execute(f"CREATE TABLE {table} AS SELECT * FROM made")
    for filter_name, share, key in filters(vectors, new, rng):
        con.register("made", table_of(vectors, key=key))
        con.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM made")
        con.execute("CREATE INDEX i ON t USING ivf (emb) WITH (seed = 1)")
        con.execute(f"CALIBRATE INDEX i USING (SELECT emb FROM asked) WITH (fnr = {fnr}, seed = 1)")
        count = max(round(share * len(vectors)), K)
        limit = np.partition(key, count - 1)[count - 1]
        passing = key <= limit
        searched = "vector_search((SELECT * FROM t WHERE key <= $limit), emb,"
        text = f"SELECT q.n, distance FROM new q, LATERAL {searched} q.emb, fnr => {fnr})"
        answer = con.execute(text, {"limit": limit}).arrow()
        found = np.full((len(new), K), np.inf)
        places = np.arange(len(answer)) % min(K, passing.sum())
        found[answer["n"].to_numpy(), places] = answer["distance"].to_numpy()
        shares = missed(vectors[passing], new, found)
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        times = {}
        for options in (f"fnr => {fnr}", "nprobe => 8"):
            taken = []
            for query in new[:TIMED]:
                given = {"limit": limit, "q": query}
                before = time.process_time()
                con.execute(f"SELECT n FROM {searched} $q, {options})", given).arrow()
                taken.append(time.process_time() - before)
            times[options] = statistics.median(taken) * 1000
        told = ", ".join(f"{options} {ms:.2f} ms" for options, ms in times.items())
        state = "kept" if shares.mean() <= fnr + 2 * error else "BROKEN"
        print(
            f"{name} {filter_name} {share:.0%}: {shares.mean():.4f} +- {error:.4f} {state}, {told}"
        )


def main() -> None:
    """Run the sets that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--fnr", type=float, default=0.05)
    parser.add_argument("--sets", default="clusters,tails,ties,flat")
    options = parser.parse_args()
    for name in options.sets.split(","):
        run(name, options.rows, options.queries, options.fnr)


if __name__ == "__main__":
    main()
