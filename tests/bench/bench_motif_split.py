"""Counts of motifs by vertex and by window beside the same counts of all, through SQL.

    python tests/bench/bench_motif_split.py [--edges 300000] [--delta 7200] [--runs 9]

The graph is that of bench_motifs.py. Counts take turns, so that all meet the same load; what they
are split into is added up and compared with the whole first. Times are those of a processor, of all
threads, and by the clock.
"""

from __future__ import annotations

import argparse
import re
import statistics
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from bench_motif_where import MOTIFS, in_turns
from bench_motifs import make_edges
from rich.console import Console
from rich.table import Table

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable


def question(motif: str, delta: int, split: str) -> str:
    return (
        "SELECT sum(count) FROM motif_count(edges, src => 'src', dst => 'dst', time => 'moment', "
        f"motif => '{motif}', delta => {delta}, method => 'exact'{split})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edges", type=int, default=300_000)
    parser.add_argument("--delta", type=int, default=7200, help="in seconds")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    source, target, moment = make_edges(options.edges)
    con = raydb.connect()
    con.register("made", pa.table({"src": source, "dst": target, "moment": moment}))
    con.execute("CREATE TABLE edges AS SELECT * FROM made")
    table = Table("motif", "by", "processor's ms", "ms", "of the count's", "by the clock")
    for name, motif in MOTIFS.items():
        splits = {"": "", "a day": ", every => 86400"}
        splits |= {
            vertex: f", by => '{vertex}'" for vertex in sorted(set(re.findall(r"\w+", motif)))
        }
        asks: dict[str, Callable[[int], Any]] = {}
        for kind, split in splits.items():
            text = question(motif, options.delta, split)
            asks[kind] = lambda _, text=text: con.execute(text).fetchall()
            assert int(asks[kind](0)[0][0]) == int(asks[""](0)[0][0]), (name, kind)
        times = in_turns(asks, range(options.runs))
        medians = {kind: [statistics.median(each) for each in two] for kind, two in times.items()}
        for kind, (clock, processor) in medians.items():
            parts = processor / medians[""][1], clock / medians[""][0]
            told = [f"{part:.2f}" for part in parts] if kind else []
            table.add_row(name, kind, f"{processor:.1f}", f"{clock:.1f}", *told)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
