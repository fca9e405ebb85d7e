"""Workers are killed and stopped in mid-query: answers are right, or errors name the segments.

    python tests/reliability/cluster_kills.py --kills 100 --stops 30 --seed 1 [--copies 2]

Each query is begun on two local workers, and one of them is killed or stopped (SIGSTOP) at a random
moment of it. What counts is who was hit before the answer was there; the others are tried again. A
worker that was stopped goes on when the query has ended. The figures are the milliseconds from the
signal to the answer. With copies each query is asked before it is hit. A third of the queries are
of scans, of jobs on a BVH, and of motifs each.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from processes import PATIENCE_S, FindingError, scratch

import raydb
from raydb.engine.session import queries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROWS = 2_000_000
EDGES = 400_000
TIMEOUT_MS = 500
WARM = 4
BEGIN = f"""
    CREATE TABLE d (k INTEGER PRIMARY KEY, name VARCHAR, day DATE);
    INSERT INTO d SELECT range, 'n' || (range % 97), DATE '2026-01-01' + (range % 500)::INTEGER
    FROM range(5000);
    CREATE TABLE f (id INTEGER, k INTEGER REFERENCES d (k), v INTEGER, x DOUBLE);
    INSERT INTO f SELECT range, range * 31 % 5000, range * 7919 % 1000, range * 0.25
    FROM range({ROWS});
    CREATE TABLE g AS SELECT name, v, id, x FROM f JOIN d USING (k);
    CREATE BVH b ON g (SCAN (v, name), AGGREGATE (v, x, id));
    CREATE TABLE e (s INTEGER, t INTEGER, at INTEGER);
    INSERT INTO e SELECT range * 7919 % 3000, range * 104729 % 3001, range / 4 FROM range({EDGES});
"""
SCANS = (
    "SELECT name, count(*), sum(v), max(id) FROM f JOIN d USING (k) WHERE v < {v} GROUP BY name",
    "SELECT day, sum(x), avg(v) FROM f JOIN d USING (k) WHERE id % 7 < {n} GROUP BY day",
    "SELECT name, count(DISTINCT v), min(x) FROM f JOIN d USING (k) WHERE v >= {v} GROUP BY name"
    " HAVING count(*) > 1",
    "SELECT count(*), sum(v), sum(x) FROM f JOIN d USING (k) WHERE name > 'n{n}' AND v <> {v}",
)
BVHS = (
    "SELECT name, count(*), sum(x), max(id) FROM g WHERE v <> {v} GROUP BY name",
    "SELECT v, min(x), max(id), sum(v) FROM g WHERE name > 'n{n}' GROUP BY v",
)
COUNT = "SELECT count FROM motif_count(e, src => 's', dst => 't', time => 'at', method => 'exact',"
MOTIFS = (
    f"{COUNT} motif => 'a->b, b->c', delta => {{v}}0)",
    f"{COUNT} motif => 'a->b, b->c, c->a', delta => {{v}})",
)
KINDS = {"scans": SCANS, "BVHs": BVHS, "motifs": MOTIFS}
ENDS = "have no worker left"


class Asked:
    """A query that runs on a thread of its own. `end`: when it was answered."""

    def __init__(self, con: Any, text: str) -> None:
        self.text, self.rows, self.error = text, [], None
        self.said: Sequence[Any] = ()
        self.end = 0.0
        self._con = con
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            cursor = self._con.execute(self.text)
            self.rows, self.said = sorted(cursor.fetchall()), cursor.messages
        except BaseException as error:  # noqa: BLE001  (it is judged)
            self.error = error
        self.end = time.monotonic()

    def join(self) -> None:
        """Wait for the answer."""
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            raise FindingError(f"no answer after {PATIENCE_S} s: {self.text}")


class Run:
    """Hits of one seed. times: from a signal to the answer, in ms, by signal and kind of query."""

    def __init__(self, path: Path, seed: int, copies: int) -> None:
        self.rng = random.Random(seed)
        self.errors = self.missed = 0
        self.times: dict[tuple[signal.Signals, str], list[float]] = {}
        self.alone = raydb.connect(path, read_only=True)
        self.con = raydb.connect(path, read_only=True, cluster="local")
        self.con.execute(f"SET worker_timeout = {TIMEOUT_MS}; SET segment_copies = {copies}")
        # Workers are asked for jobs on BVHs that take less than a question.
        queries.CALL_COST = 0.0
        self.copies = copies
        self.usual: dict[str, float] = {}

    def close(self) -> None:
        """End the workers."""
        self.con.close()
        self.alone.close()

    def workers(self) -> list[int]:
        """Wait until at least two workers are ready; return their processes."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = self.con.execute("SELECT process FROM workers() WHERE state <> 'lost'")
            if len(ready := [pid for (pid,) in found.fetchall()]) > 1:
                return ready
            time.sleep(0.05)
        raise FindingError(f"no two workers after {PATIENCE_S} s")

    def hit(self, number: signal.Signals) -> None:
        """Send a worker a signal in mid-query, and judge the answer."""
        while not self._hit(number):
            self.missed += 1

    def _hit(self, number: signal.Signals) -> bool:
        rng = self.rng
        kind = rng.choice(list(KINDS))
        shape = rng.choice(KINDS[kind])
        text = shape.format(v=rng.randrange(1, 999), n=rng.randrange(1, 7))
        expected = sorted(self.alone.execute(text).fetchall())
        self.con.execute(f"SET segment_rows = {ROWS // rng.randint(2, 12) + 1}")
        chosen = rng.choice(self.workers())
        explained = self.con.execute(f"EXPLAIN {text}").fetchall()
        assert any("workers answer 1 of 1" in line for (line,) in explained), text
        if self.copies > 1:
            self._warm(text)
        start = time.monotonic()
        asked = Asked(self.con, text)
        usual = self.usual.get(shape, 0.2)
        time.sleep(rng.random() * usual)
        moment = time.monotonic()
        with suppress(ProcessLookupError):
            os.kill(chosen, number)
        try:
            asked.join()
        finally:
            if number == signal.SIGSTOP:
                with suppress(ProcessLookupError):
                    os.kill(chosen, signal.SIGCONT)
        self._judge(asked, expected)
        if asked.end < moment:
            # Half of the time is what moments are drawn from: most are in mid-query.
            self.usual[shape] = 0.7 * usual + 0.3 * (asked.end - start)
            return False
        self.times.setdefault((number, kind), []).append((asked.end - moment) * 1000)
        return True

    def _warm(self, text: str) -> None:
        """Ask a query as often as in use, and wait until workers have made what they keep."""
        for _ in range(WARM):
            self.con.execute(text).fetchall()
        end = time.monotonic() + PATIENCE_S
        while self.con.execute("SELECT sum(calls) FROM workers()").fetchone()[0]:
            if time.monotonic() > end:
                raise FindingError(f"copies take more than {PATIENCE_S} s")
            time.sleep(0.02)

    def _judge(self, asked: Asked, expected: list[Any]) -> None:
        if asked.error is not None:
            if not isinstance(asked.error, raydb.OperationalError) or ENDS not in str(asked.error):
                raise FindingError(f"{asked.text}: {asked.error!r}")
            self.errors += 1
        elif not _same(asked.rows, expected):
            raise FindingError(f"a wrong answer: {asked.text}: {asked.rows[:3]} {expected[:3]}")
        elif asked.said:
            raise FindingError(f"the coordinator scanned: {asked.text}: {asked.said}")


def _same(found: list[Any], expected: list[Any]) -> bool:
    """Compare rows; sums of doubles may differ in their last digits."""
    return len(found) == len(expected) and all(
        one == other or (isinstance(one, float) and abs(one - other) <= 1e-9 * abs(other))
        for row, right in zip(found, expected, strict=True)
        for one, other in zip(row, right, strict=True)
    )


def run(kills: int, stops: int, seed: int, copies: int = 1) -> tuple[str, list[str]]:
    """Hit workers so often; return the figures, and what went wrong."""
    findings = []
    with scratch() as folder:
        path = folder / "shop.raydb"
        with raydb.connect(path) as con:
            con.execute(BEGIN)
        each = Run(path, seed, copies)
        signals = [signal.SIGKILL] * kills + [signal.SIGSTOP] * stops
        each.rng.shuffle(signals)
        try:
            for number in signals:
                each.hit(number)
        except FindingError as error:
            findings.append(f"seed {seed}: {error}")
        finally:
            each.close()
    figures = [
        f"{len(times)} {'kills' if number == signal.SIGKILL else 'stops'} in {kind}, answered"
        f" {statistics.median(times):.0f} ms later (median; at most {max(times):.0f})"
        for (number, kind), times in sorted(each.times.items(), reverse=True)
    ]
    figures.append(f"{each.errors} errors, {each.missed} signals after the answer")
    return "; ".join(figures), findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--stops", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    figures, findings = run(options.kills, options.stops, options.seed, options.copies)
    print(f"seed {options.seed}", figures, f"{len(findings)} findings", *findings, sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
