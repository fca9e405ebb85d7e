"""Counts of motifs with conditions beside the same counts without them, through SQL.

    python tests/bench/bench_motif_where.py [--edges 300000] [--delta 7200] [--runs 15]

The graph is that of bench_motifs.py, with an amount from 1 to 9,999 by chance on each edge. Counts
take turns, so that all meet the same load: without a condition, with two that were asked before,
and with one whose constant is new each time. Answers are compared with self joins of a part of the
edges before anything is timed. Times are by the clock; those of a processor, of all threads, stand
beside them.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from bench_motifs import make_edges
from rich.console import Console
from rich.table import Table

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable

MOTIFS = {
    "path(3)": "a->b, b->c",
    "path(4)": "a->b, b->c, c->d",
    "star_out(3)": "a->b, a->c, a->d",
    "to and fro twice": "a->b, b->a, a->b, b->a",
    "cycle(3)": "a->b, b->c, c->a",
    "cycle(4)": "a->b, b->c, c->d, d->a",
}
CHECKED_EDGES = 3000


def question(table: str, motif: str, delta: int, where: str = "") -> str:
    condition = f", where => '{where}'" if where else ""
    return (
        f"SELECT count FROM motif_count({table}, src => 'src', dst => 'dst', time => 'moment', "
        f"motif => '{motif}', delta => {delta}, ties => 'strict', method => 'exact'{condition})"
    )


def conditions(motif: str) -> dict[str, Callable[[int], str]]:
    """Return what makes each condition on a motif's edges from the number of a run."""
    last = motif.count("->")
    one, before = f"e{last}.amount", f"e{last - 1}.amount"
    return {
        "BETWEEN": lambda _: f"{one} BETWEEN 0.9 * e1.amount AND e1.amount",
        "new constant": lambda run: f"{one} BETWEEN 0.{9000 + run} * e1.amount AND e1.amount",
        "below": lambda _: f"{one} < {before}",
    }


def joins(table: str, motif: str, delta: int, where: str) -> str:
    """Return the same question as self joins."""
    edges = re.findall(r"(\w+)->(\w+)", motif)
    names = [f"e{number}" for number in range(1, len(edges) + 1)]
    ends: dict[str, list[str]] = {}
    for name, (source, target) in zip(names, edges, strict=True):
        ends.setdefault(source, []).append(f"{name}.src")
        ends.setdefault(target, []).append(f"{name}.dst")
    tests = [f"{one} = {other}" for found in ends.values() for one, other in pairwise(found)]
    tests += [f"{one[0]} <> {other[0]}" for one, other in combinations(ends.values(), 2)]
    tests += [f"{one}.moment < {other}.moment" for one, other in pairwise(names)]
    tests += [f"{names[-1]}.moment - e1.moment <= {delta}", where]
    tables = ", ".join(f"{table} {name}" for name in names)
    return f"SELECT count(*) FROM {tables} WHERE {' AND '.join(tests)}"


def in_turns(
    asks: dict[str, Callable[[int], Any]], runs: range
) -> dict[str, tuple[list[float], list[float]]]:
    """Return the times of each in ms, by the clock and of a processor."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in asks}
    for run in runs:
        for name, ask in asks.items():
            clock, processor = time.perf_counter(), time.process_time()
            ask(run)
            times[name][0].append(1e3 * (time.perf_counter() - clock))
            times[name][1].append(1e3 * (time.process_time() - processor))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edges", type=int, default=300_000)
    parser.add_argument("--delta", type=int, default=7200, help="in seconds")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    source, target, moment = make_edges(options.edges)
    amount = np.random.default_rng(1).integers(1, 10_000, options.edges)
    con = raydb.connect()
    edges = pa.table({"src": source, "dst": target, "moment": moment, "amount": amount})
    con.register("made", edges)
    con.execute("CREATE TABLE edges AS SELECT * FROM made")
    con.execute(f"CREATE TABLE few AS SELECT * FROM made LIMIT {CHECKED_EDGES}")
    table = Table("motif", "where", "ms", "processor's", "of without", "of a processor's")
    for name, motif in MOTIFS.items():
        asks: dict[str, Callable[[int], Any]] = {
            "": lambda _, motif=motif: con.execute(
                question("edges", motif, options.delta)
            ).fetchall()
        }
        for kind, make in conditions(motif).items():
            where = make(0)
            found = con.execute(question("few", motif, options.delta, where)).fetchall()
            right = con.execute(joins("few", motif, options.delta, where)).fetchall()
            assert found == [(float(right[0][0]),)], (name, kind, found, right)
            asks[kind] = lambda run, motif=motif, make=make: con.execute(
                question("edges", motif, options.delta, make(run))
            ).fetchall()
        in_turns(asks, range(-2, 0))
        times = in_turns(asks, range(options.runs))
        medians = {kind: [statistics.median(each) for each in two] for kind, two in times.items()}
        for kind, two in medians.items():
            parts = [f"{one / without:.2f}" for one, without in zip(two, medians[""], strict=True)]
            table.add_row(name, kind, *(f"{each:.1f}" for each in two), *(parts if kind else ()))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
