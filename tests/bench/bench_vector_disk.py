"""A table of vectors on disk with its index: bytes, and what reading and changing it takes.

    python tests/bench/bench_vector_disk.py [--rows 1000000] [--width 128] [--method ivf]
                                            [--folder /tmp]

ms of processor time and of the clock; of what is repeated, medians. What is read is compared with
what was written before it is timed. Beside a second REINDEX another connection inserts rows one by
one, and how long these took at most is told, of those before it as well.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SEARCHES, POINT_READS, SCANS = 300, 200, 3
# Seconds of inserts before the REINDEX beside them.
BEFORE_S = 2


def timed(what: str, call: Callable[[], Any], times: int = 1) -> None:
    """Print what a call takes."""
    taken = []
    for _ in range(times):
        begun = time.process_time(), time.perf_counter()
        call()
        taken.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
    cpu, wall = (statistics.median(some) * 1000 for some in zip(*taken, strict=True))
    print(f"{what}: {cpu:.3f} ms of a processor, {wall:.3f} of the clock", flush=True)


def table_of(vectors: NDArray[np.float32], first: int) -> pa.Table:
    """Return rows with vectors, numbered from `first` on."""
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.table({"id": np.arange(first, first + len(vectors)), "emb": column})


def told(what: str, path: Path, raw_bytes: float) -> None:
    """Print how many bytes the database takes in parts of its vectors."""
    files = [file.stat().st_size for file in path.rglob("*") if file.name != "RESERVE"]
    print(f"{what}: {sum(files) / raw_bytes:.3f} of the vectors", flush=True)


def read(path: Path, vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    """Open the database and read it."""
    con = raydb.connect(path)
    one = "SELECT emb FROM t WHERE id = ?"
    timed("the first row after it was opened", lambda: con.execute(one, [77]).fetchall())
    found = con.execute("SELECT emb FROM t ORDER BY id").to_arrow_table().column(0)
    assert np.array_equal(found.combine_chunks().flatten().to_numpy(), vectors.ravel())
    del found
    con.close()
    con = raydb.connect(path)
    search = "SELECT {} FROM vector_search(t, emb, ?, k => 10, nprobe => 8)"
    timed("the first search", lambda: con.execute(search.format("id"), [queries[0]]).fetchall())
    for columns in ("id, distance", "id, emb"):
        text, some = search.format(columns), iter(queries)
        timed(f"a search for {columns}", lambda: con.execute(text, [next(some)]), SEARCHES)  # noqa: B023
    numbers = iter(range(1000, 2000))
    timed("a row", lambda: con.execute(one, [next(numbers)]).fetchall(), POINT_READS)
    whole = "SELECT emb FROM t"
    timed("the column", lambda: con.execute(whole).to_arrow_table())
    timed("the column again", lambda: con.execute(whole).to_arrow_table(), SCANS)
    con.close()


def reindex_beside_inserts(con: raydb.Connection, row: list[Any]) -> None:
    """Print the longest INSERT of a row before a REINDEX and beside it."""
    other, is_over, taken = con.duplicate(), threading.Event(), []

    def insert() -> None:
        while not is_over.is_set():
            begun = time.perf_counter()
            other.execute("INSERT INTO t VALUES (?, ?)", row)
            taken.append((begun, time.perf_counter() - begun))

    thread = threading.Thread(target=insert)
    thread.start()
    time.sleep(BEFORE_S)
    begun = time.perf_counter()
    timed("REINDEX beside inserts", lambda: con.execute("REINDEX i"))
    is_over.set()
    thread.join()
    before = [wait for start, wait in taken if start + wait < begun]
    beside = [wait for start, wait in taken if start + wait >= begun]
    for when, waits in ("before", before), ("beside", beside):
        longest, usual = 1000 * max(waits), 1000 * statistics.median(waits)
        print(f"{len(waits)} inserts {when} it: {longest:.0f} ms at most, median {usual:.0f}")


def main() -> None:
    """Print a line for each thing that is measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--method", default="ivf", choices=["ivf", "hnsw"])
    parser.add_argument("--folder")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(500, options.width)).astype(np.float32)

    def make(count: int) -> NDArray[np.float32]:
        found = rng.normal(size=(count, options.width)).astype(np.float32) * np.float32(0.7)
        found += centers[rng.integers(0, len(centers), count)]
        return found

    vectors, queries = make(options.rows), make(SEARCHES)
    more = make(options.rows * 61 // 1000)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "t.raydb"
        con = raydb.connect(path)
        con.register("made", table_of(vectors, 0))
        con.execute("CREATE TABLE t AS SELECT * FROM made")
        told("without an index", path, vectors.nbytes)
        timed(
            "CREATE INDEX", lambda: con.execute(f"CREATE INDEX i ON t USING {options.method} (emb)")
        )
        told("with an index", path, vectors.nbytes)
        con.close()
        read(path, vectors, queries)
        con = raydb.connect(path)
        con.register("more", table_of(more, options.rows))
        con.execute("INSERT INTO t SELECT * FROM more")
        timed("REINDEX", lambda: con.execute("REINDEX i"))
        told("after REINDEX", path, vectors.nbytes + more.nbytes)
        con.execute("INSERT INTO t SELECT id + 10000000, emb FROM more")
        reindex_beside_inserts(con, [20_000_000, queries[0]])
        con.execute("DELETE FROM t WHERE id >= 10000000")
        con.execute("DELETE FROM t WHERE id % 10 = 3")
        timed("VACUUM", lambda: con.execute("VACUUM"))
        told("after VACUUM", path, 0.9 * (vectors.nbytes + more.nbytes))
        timed("DROP INDEX", lambda: con.execute("DROP INDEX i"))
        told("after DROP INDEX", path, 0.9 * (vectors.nbytes + more.nbytes))
        con.close()


if __name__ == "__main__":
    main()
