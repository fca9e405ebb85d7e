"""All instances of a motif, streamed through SQL: instances a second, and the process's memory.

    python tests/bench/bench_motif_list.py [--edges 300000] [--delta 14400] [--motif "path(3)"]
                                           [--instances 10000000] [--columns "*"]

The graph is that of bench_motifs.py. Times are those of the clock and of the processor; memory is
what the process has before, and at the quarters of the instances. That none is told twice, and as
many as are counted, is checked on a shorter delta first.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from bench_motifs import make_edges

import raydb

CHECKED_DELTA = 600


def memory_mb() -> int:
    """Return what the process has in memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * 4096 / 1e6)


def main() -> None:
    """Stream the instances twice, and print what they take."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--edges", type=int, default=300_000)
    parser.add_argument("--delta", type=int, default=14_400)
    parser.add_argument("--motif", default="path(3)")
    parser.add_argument("--instances", type=int, default=10_000_000)
    parser.add_argument("--columns", default="*")
    options = parser.parse_args()
    source, target, moment = make_edges(options.edges)
    con = raydb.connect()
    ends = {"s": source.astype(np.int64), "d": target.astype(np.int64), "t": moment}
    con.register("made", pa.table(ends))
    con.execute("CREATE TABLE e AS SELECT * FROM made")
    asked = f"(e, src => s, dst => d, time => t, motif => '{options.motif}', delta => {{}}"
    checked = asked.format(CHECKED_DELTA)
    counted = con.execute(f"SELECT count FROM motif_count{checked}, method => 'exact')").fetchone()
    rows = f"SELECT DISTINCT COLUMNS('e[0-9]+_row') FROM motif_list{checked})"
    listed = con.execute(f"SELECT count(*) FROM ({rows})").fetchone()
    assert counted == listed, (counted, listed)
    text = f"SELECT {options.columns} FROM motif_list{asked.format(options.delta)})"
    for _ in range(2):
        count, before, held = 0, memory_mb(), list[int]()
        begun = time.perf_counter(), time.process_time()
        for block in con.stream(text):
            count += block.num_rows
            while count >= (len(held) + 1) * options.instances / 4:
                held.append(memory_mb())
            if count >= options.instances:
                break
        clock, processor = time.perf_counter() - begun[0], time.process_time() - begun[1]
        print(
            f"{count} instances: {clock:.2f} s of the clock, {processor:.2f} of a processor, "
            f"{count / clock / 1e6:.2f} M a second; {before} MB before, then {held}",
            flush=True,
        )


if __name__ == "__main__":
    main()
