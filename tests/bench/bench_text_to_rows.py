"""What a query costs beside its fused job: from its text to rows in Python.

    python tests/bench/bench_text_to_rows.py [--sf 0.1] [--data DIR] [--threads N]

For some queries of the Star Schema Benchmark, the medians of three ways to ask:

    cached      the same text again
    constants   a text that differs from an earlier one in constants only
    new         a text that was never there

"whole" is execute(text).fetchall(), "fixed" is that without the fused job: the kernel, and but for
cached texts the decoding of groups. Rows are compared with those of the general path before the
clock starts.

With --threads: so many threads of a web application, a connection each, ask 100 shapes of these
queries with random constants, one question after the other.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import raydb
from raydb.ssb import workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.ssb.run import build_bvhs, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUERIES = ("q1.1", "q2.1", "q3.1", "q4.1")
SHAPE_COUNT = 100
SECONDS = 10.0
CACHED_RUNS = 500
OTHER_RUNS = 50

# The kernels are compiled, or loaded, in the background.
WARM_UP_SECONDS = 3.0


class FusedTime:
    """Adds up the time in fused jobs, whose rows go over Arrow at first and later straight."""

    def __init__(self) -> None:
        # The connection has imported them, in an order that works.
        from raydb.engine.fused import jobs
        from raydb.kernels.backends.cpu.cpu_backend import CpuJob

        self.seconds = 0.0
        self._is_timing = False
        setattr(jobs, "run_fused", self._timed(jobs.run_fused))  # noqa: B010
        setattr(CpuJob, "launch", self._timed(CpuJob.launch))  # noqa: B010

    def _timed(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            if self._is_timing:
                return run(*arguments)
            self._is_timing = True
            start = time.perf_counter()
            try:
                return run(*arguments)
            finally:
                self.seconds += time.perf_counter() - start
                self._is_timing = False

        return timed


def changed(name: str, text: str) -> Iterator[str]:
    """Yield texts that differ in constants; each is another question."""
    for number in range(OTHER_RUNS):
        match name:
            case "q1.1":
                yield text.replace("1993", f"{1992 + number % 7}").replace("25", f"{25 + number}")
            case "q2.1":
                yield text.replace("MFGR#12", f"MFGR#{11 + number}")
            case "q3.1":
                yield text.replace("1997", f"{1992 + number}")
            case _:
                yield text.replace("MFGR#2'", f"MFGR#{2 + number}'")


def measure(ask: Callable[[str], object], texts: Iterator[str], spent: FusedTime) -> str:
    """Return the median times of asking texts, in microseconds."""
    whole, fixed = [], []
    for text in texts:
        spent.seconds = 0.0
        start = time.perf_counter()
        ask(text)
        whole.append((time.perf_counter() - start) * 1e6)
        fixed.append(whole[-1] - spent.seconds * 1e6)
    return f"{statistics.median(whole):10,.0f} {statistics.median(fixed):10,.0f}"


def shapes() -> Iterator[list[str]]:
    """Yield the texts of each shape: queries with other aggregates, each with other constants."""
    for count in ("", "COUNT(*), "):
        for function in ("SUM", "MIN", "MAX", "AVG", "COUNT"):
            for name in workload.QUERIES:
                text = workload.query(name, "star").replace("SUM(", f"{function}(")
                text = text.replace("SELECT ", f"SELECT {count}", 1)
                yield [text, *islice(workload.with_other_constants(text), 50)]


def measure_threads(connection: raydb.Connection, thread_count: int) -> None:
    """Print how many questions a second several threads are answered, and how long they wait."""
    asked = list(islice(shapes(), SHAPE_COUNT))
    connections = [connection.duplicate() for _ in range(thread_count)]
    for texts in asked:
        for text in texts[:4]:
            for each in connections:
                each.execute(text).fetchall()
    waits: list[list[float]] = [[] for _ in connections]
    until = time.perf_counter() + SECONDS

    def ask(number: int) -> None:
        rng = random.Random(number)
        while (start := time.perf_counter()) < until:
            connections[number].execute(rng.choice(rng.choice(asked))).fetchall()
            waits[number].append(time.perf_counter() - start)

    spent = time.process_time()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(thread_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.process_time() - spent
    all_of = sorted(wait for each in waits for wait in each)
    p50, p99 = (all_of[int(share * len(all_of))] * 1e3 for share in (0.5, 0.99))
    print(
        f"{thread_count} threads, {len(asked)} shapes: {len(all_of) / SECONDS:,.0f} a second, "
        f"{spent / len(all_of) * 1e6:,.0f} µs of a processor each, "
        f"median {p50:.2f} ms, p99 {p99:.2f} ms, longest {all_of[-1] * 1e3:.1f} ms"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sf", type=float, default=0.1)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "raydb-ssb")
    parser.add_argument("--threads", type=int, metavar="N")
    options = parser.parse_args()
    progress = Progress(Console(stderr=True))
    data = DataSet(options.sf)
    folder = options.data / data.folder_name
    prepare(folder, data, progress)
    with raydb.connect() as connection:
        spent = FusedTime()
        load(connection, folder, progress)
        build_bvhs(connection, progress)

        def ask(text: str) -> list[tuple[Any, ...]]:
            return connection.execute(text).fetchall()

        time.sleep(WARM_UP_SECONDS)
        if options.threads:
            measure_threads(connection, options.threads)
            return
        print(f"{'query':6} {'rows':>6} {'asked':10} {'whole µs':>10} {'fixed µs':>10}")
        for name in QUERIES:
            text = workload.query(name, "star")
            rows = ask(text)
            connection.execute("SET fused_path = 'off'")
            assert ask(text) == rows, name
            connection.execute("SET fused_path = 'on'")
            ways = {
                "cached": iter([text] * CACHED_RUNS),
                "constants": changed(name, text),
                "new": (text + "\n" * (number + 1) for number in range(OTHER_RUNS)),
            }
            for way, texts in ways.items():
                print(f"{name:6} {len(rows):6,} {way:10} {measure(ask, texts, spent)}")


if __name__ == "__main__":
    main()
