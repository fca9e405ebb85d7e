"""Workers of a cluster: calls, bytes, segments, a second worker; beside Dask dataframe and Polars.

    python tests/bench/bench_cluster.py [--sf 1] [--data DIR] [--runs 15]
                                        [--parts counts segments workers rivals] [--json FILE]

The 13 queries of the Star Schema Benchmark by scans, each thread of RayDB, of its workers and of
Dask's on a processor:

    counts      questions to workers and bytes, beside workers x groups x row + 1 KB a worker
    segments    one worker, 1 and 64 segments: what a segment more costs
    workers     one and two workers of one thread
    rivals      two workers beside one process, Dask dataframe on two workers, and Polars

Answers are those of brute force before anything is timed. Engines take turns, so that all meet the
same load. Where others use the machine too, times are upper bounds; so processor times are there as
well: what two workers would save is that of one beside that of the busier of two.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

import raydb
from raydb.engine.cluster.local_workers import LocalWorkers
from raydb.ssb import check, workload
from raydb.ssb.flat import FlatTable
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.ssb.run import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Ask = Callable[[], list[tuple[Any, ...]]]

SEGMENTS = 8
WARM_S = 4.0
# A scan of nearly all rows, and some hundred groups.
HEAVY = """
    SELECT c_nation, s_nation, sum(lo_revenue - lo_supplycost), avg(lo_extendedprice * lo_discount),
      min(lo_tax), max(lo_quantity), count(*)
    FROM lineorder, customer, supplier
    WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_quantity > 2
    GROUP BY c_nation, s_nation
"""


class Counted:
    """An engine that counts questions, and the bytes of them and of their answers."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.calls = self.sent = self.received = 0
        # Workers of this machine share its threads.
        self.is_local = True

    def call(self, questions: Mapping[str, bytes]) -> Any:
        self.calls += len(questions)
        self.sent += sum(map(len, questions.values()))
        answers = self.engine.call(questions)
        for answer in answers.values():
            answer.add_done_callback(self._count)
        return answers

    def _count(self, answer: Any) -> None:
        self.received += len(answer.result())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


@contextmanager
def clustered(path: Path, workers: int, segments: int, rows: int) -> Iterator[Any]:
    """Give a connection with so many workers of one thread in all a processor."""
    local = LocalWorkers(workers)
    try:
        config = {"segment_rows": -(-rows // segments)}
        with raydb.connect(path, read_only=True, cluster=local.client, config=config) as con:
            con.execute(f"SET threads = {workers}")
            cluster = con._session.queries.cluster
            cluster.engine = Counted(cluster.engine)
            yield con
    finally:
        local.close()


def asks_of(con: Any, texts: Mapping[str, str]) -> dict[str, Ask]:
    """Return what asks each text; the rows are those of workers."""

    def asking(text: str) -> Ask:
        def ask() -> list[tuple[Any, ...]]:
            cursor = con.execute(text)
            assert not cursor.messages, cursor.messages
            return list(cursor.fetchall())

        return ask

    return {name: asking(text) for name, text in texts.items()}


def warm(asks: Mapping[str, Ask], seconds: float = WARM_S) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for ask in asks.values():
            ask()


def checked(asks: Mapping[str, Ask], right: Mapping[str, Any], who: str) -> None:
    for name, ask in asks.items():
        faults = check.differences(name, ask(), right[name])
        assert not faults, f"{who}, {name}: {faults[0]}"


def in_turns(
    asks: Mapping[str, Ask], runs: int, pids: Mapping[str, Sequence[int]]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return each one's times in ms, and the processor time in ms of its busiest process."""
    times: dict[str, list[float]] = {name: [] for name in asks}
    busiest: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(runs):
        for name, ask in asks.items():
            before = [processor_s(pid) for pid in pids.get(name, ())]
            start = time.perf_counter()
            ask()
            times[name].append(1e3 * (time.perf_counter() - start))
            after = [processor_s(pid) for pid in pids.get(name, ())]
            spent = [1e3 * (b - a) for a, b in zip(before, after, strict=True)]
            busiest[name].append(max(spent, default=0.0))
    return times, busiest


def processor_s(pid: int) -> float:
    # By the nanosecond; ps knows hundredths of a second.
    text = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii")
    main = int(text.split()[0])
    others = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if task.name != str(pid):
            others += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return (main + others) / 1e9


def pids_of(con: Any) -> list[int]:
    return [pid for (pid,) in con.execute("SELECT process FROM workers()").fetchall()]


def counts(path: Path, rows: int, right: Mapping[str, Any], _: int) -> list[dict[str, Any]]:
    """Count questions and bytes of each query."""
    found = []
    with clustered(path, 2, SEGMENTS, rows) as con:
        engine = con._session.queries.cluster.engine
        asks = asks_of(con, {name: workload.query(name, "star") for name in workload.QUERIES})
        checked(asks, right, "workers")
        for name, ask in asks.items():
            engine.calls = engine.sent = engine.received = 0
            groups = con.execute(workload.query(name, "star")).to_arrow_table()
            assert ask()
            calls, sent, received = engine.calls // 2, engine.sent // 2, engine.received // 2
            row_bytes = groups.nbytes / max(groups.num_rows, 1)
            found.append(
                {
                    "query": name,
                    "groups": groups.num_rows,
                    "calls": calls,
                    "sent": sent,
                    "received": received,
                    "bar": round(2 * groups.num_rows * row_bytes + 2 * 1024),
                }
            )
    return found


def segments(path: Path, rows: int, right: Mapping[str, Any], runs: int) -> list[dict[str, Any]]:
    """Time one worker with 1 and with 64 segments."""
    found = []
    with ExitStack() as stack:
        cons = {n: stack.enter_context(clustered(path, 1, n, rows)) for n in (1, 64)}
        for name in ("q1.1", "q2.1", "q3.1", "q4.1"):
            text = workload.query(name, "star")
            asks = {str(n): asks_of(con, {name: text})[name] for n, con in cons.items()}
            for ask in asks.values():
                checked({name: ask}, right, "workers")
            warm(asks)
            own = {name: [os.getpid()] for name in asks}
            times, coordinator = in_turns(asks, runs, own)
            theirs = {str(n): pids_of(con) for n, con in cons.items()}
            _, worker = in_turns(asks, runs, theirs)
            found.append(
                {
                    "query": name,
                    "wall_ms": medians(times),
                    "coordinator_ms": medians(coordinator),
                    "worker_ms": medians(worker),
                    "us_a_segment_wall": a_segment(times),
                    "us_a_segment_processor": round(a_segment(coordinator) + a_segment(worker), 1),
                }
            )
    return found


def a_segment(times: Mapping[str, list[float]]) -> float:
    one, many = (statistics.median(times[name]) for name in ("1", "64"))
    return round(1e3 * (many - one) / 63, 1)


def medians(times: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: round(statistics.median(each), 3) for name, each in times.items()}


def workers(path: Path, rows: int, _: Mapping[str, Any], runs: int) -> list[dict[str, Any]]:
    """Time a heavy scan by one and by two workers of a thread."""
    with ExitStack() as stack:
        cons = {n: stack.enter_context(clustered(path, n, SEGMENTS, rows)) for n in (1, 2)}
        asks = {str(n): asks_of(con, {"heavy": HEAVY})["heavy"] for n, con in cons.items()}
        with raydb.connect(path, read_only=True) as alone:
            right = sorted(alone.execute(HEAVY).fetchall())
        assert all(sorted(ask()) == right for ask in asks.values())
        warm(asks, 2 * WARM_S)
        pids = {str(n): pids_of(con) for n, con in cons.items()}
        times, busiest = in_turns(asks, runs, pids)
        one, two = medians(times), medians(busiest)
        return [
            {
                "groups": len(right),
                "wall_ms": one,
                "least_ms": {name: round(min(each), 3) for name, each in times.items()},
                "speedup": round(one["1"] / one["2"], 2),
                "busiest_worker_ms": two,
                "speedup_of_workers": round(two["1"] / two["2"], 2),
            }
        ]


def rivals(path: Path, rows: int, right: Mapping[str, Any], runs: int) -> list[dict[str, Any]]:
    """Time two workers, one process, Dask dataframe and Polars on the 13 queries."""
    queries = [workload.find(name) for name in workload.QUERIES]
    texts = {query.name: query.star for query in queries}
    flat = FlatTable(path.parent.parent / "data")
    asks: dict[str, Mapping[str, Ask]] = {}
    with ExitStack() as stack:
        alone = stack.enter_context(raydb.connect(path, read_only=True))
        asks["one process"] = asks_of(alone, texts)
        asks["workers"] = asks_of(stack.enter_context(clustered(path, 2, SEGMENTS, rows)), texts)
        if find_spec("polars") is None:
            print("without Polars: it is not installed")
        else:
            from raydb.ssb.rivals.polars_rival import Polars

            polars = Polars("star")
            polars.load(flat, lambda: None)
            asks["Polars"] = {query.name: polars.prepare(query) for query in queries}
        if find_spec("pandas") is None:
            print("without Dask dataframe: pandas is not installed")
        else:
            asks["Dask dataframe"] = stack.enter_context(dask_frame(flat))
        for who, each in asks.items():
            checked(each, right, who)
        for each in (asks["one process"], asks["workers"]):
            warm(each, 2 * WARM_S)
        found = []
        for query in queries:
            turns = {who: each[query.name] for who, each in asks.items()}
            times, _ = in_turns(turns, runs, {})
            found.append({"query": query.name, "wall_ms": medians(times)})
    means = {
        who: round(statistics.geometric_mean(each["wall_ms"][who] for each in found), 2)
        for who in asks
    }
    return [*found, {"query": "geometric mean", "wall_ms": means}]


@contextmanager
def dask_frame(flat: FlatTable) -> Iterator[dict[str, Ask]]:
    """Give what asks Dask's frame, which is in the memory of two workers of a thread."""
    import dask.dataframe as dd
    import distributed
    import pyarrow as pa

    logging.getLogger("distributed").setLevel(logging.ERROR)
    table = pa.Table.from_batches(list(flat.batches()), flat.schema)
    frame = table.to_pandas()
    domains = {}
    for column in frame:
        if frame[column].dtype == "category":
            frame[column] = frame[column].cat.as_ordered()
            domains[column] = np.array(frame[column].cat.categories, str)
        else:
            domains[column] = np.unique(frame[column])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster),
    ):
        lines = dd.from_pandas(frame, npartitions=SEGMENTS).persist()
        distributed.wait(lines)
        del frame, table
        yield {name: by_dask(lines, name, domains) for name in workload.QUERIES}


def by_dask(lines: Any, name: str, domains: Mapping[str, Any]) -> Ask:
    """Return what asks one of the 13 queries: comparisons, a sum, groups."""
    question = check.QUESTIONS[name]
    chosen = lines
    for column, condition in question.conditions.items():
        values = domains[column][condition(domains[column])].tolist()
        least, most = values[0], values[-1]
        between = (domains[column] >= least) & (domains[column] <= most)
        if int(between.sum()) == len(values):
            chosen = chosen[(chosen[column] >= least) & (chosen[column] <= most)]
        else:
            chosen = chosen[chosen[column].isin(values)]
    measure = question.measure(chosen)
    if question.keys:
        named = chosen.assign(measure=measure)
        totals = named.groupby(list(question.keys), observed=True)["measure"].sum(split_out=1)
    else:
        totals = measure.sum()

    def ask() -> list[tuple[Any, ...]]:
        done = totals.compute()
        if not question.keys:
            return [(int(done),)]
        found = [
            dict(zip(question.keys, keys, strict=True)) | {"sum": int(total)}
            for keys, total in zip(done.index.tolist(), done.tolist(), strict=True)
        ]
        rows = [tuple(row[column] for column in question.columns) for row in found]
        return sorted(rows, key=question.sort_key)

    return ask


PARTS = {"counts": counts, "segments": segments, "workers": workers, "rivals": rivals}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"sf": options.sf, "load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(prefix="raydb-", dir=options.data) as folder:
        data = Path(folder) / "data"
        kept = DataSet(options.sf)
        if options.data is None:
            prepare(data, kept, Progress(Console(stderr=True)))
        else:
            prepare(options.data / kept.folder_name, kept, Progress(Console(stderr=True)))
            data.symlink_to((options.data / kept.folder_name).resolve())
        path = Path(folder) / "database" / "ssb.raydb"
        path.parent.mkdir()
        with raydb.connect(path) as con:
            fill(con, data)
            ((rows,),) = con.execute("SELECT count(*) FROM lineorder").fetchall()
        right = {name: each.rows for name, each in check.brute_force(data).items()}
        for name in options.parts:
            found[name] = PARTS[name](path, rows, right, options.runs)
            print(f"\n{name}:", *map(json.dumps, found[name]), sep="\n", flush=True)
    found["load_after"] = os.getloadavg()[0]
    print(f"\nload {found['load_before']:.1f} to {found['load_after']:.1f}")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
