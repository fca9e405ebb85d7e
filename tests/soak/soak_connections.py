"""A soak: two threads on one connection, and eight processes that read what one writes.

    python tests/soak/soak_connections.py --seconds 60

Every statement leaves two rows that cancel each other out, on a table with a BVH, so any reader at
any moment must find a sum of zero and an even count. The run fails on a wrong answer, on a thread
or a process that stands still, and on memory that grows.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import raydb

if TYPE_CHECKING:
    from raydb.engine.api.connection import Connection

# Nothing takes longer than this, so who does is in a deadlock.
PATIENCE_S = 30

# Rows that are kept; older ones are deleted, so that memory has no reason to grow.
KEPT_PAIRS = 20_000

# How much the memory of the last third of a run may exceed that of the second third.
GROWTH = 1.10

READERS = 8

QUERIES = (
    "SELECT count(*), sum(x) FROM pair",
    "SELECT sum(n), sum(s) FROM (SELECT k, count(*) AS n, sum(x) AS s FROM pair GROUP BY k) AS g",
    "SELECT count(*), sum(x) FROM pair WHERE k < {0}",
    "SELECT count(*), sum(x) FROM pair JOIN side ON side.id = pair.side WHERE name <> 'none {0}'",
)


class SoakError(Exception):
    """What a soak is there to find."""


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def prepare(path: str) -> None:
    with raydb.connect(path) as con:
        con.execute("""
            CREATE TABLE side (id INTEGER PRIMARY KEY, name VARCHAR);
            INSERT INTO side VALUES (0, 'left'), (1, 'right');
            CREATE TABLE pair (
                k INTEGER, side INTEGER NOT NULL REFERENCES side (id), x INTEGER NOT NULL);
            CREATE BVH pairs ON pair (SCAN (k), GROUP BY (name), AGGREGATE (x))
        """)


def check(con: Connection, rng: random.Random) -> int:
    query = rng.choice(QUERIES).format(rng.randrange(50))
    count, total = con.execute(query).fetchone()
    if (count or 0) % 2 or (total or 0):
        raise SoakError(f"{query}: count {count}, sum {total}")
    return count or 0


def write(con: Connection, rng: random.Random, number: int) -> None:
    x, k = rng.randrange(1, 1000), rng.randrange(50)
    con.execute("INSERT INTO pair VALUES (?, 0, ?), (?, 1, ?)", [k, x, k, -x])
    if number % 40 == 0:
        con.execute("UPDATE pair SET x = x * -1 WHERE k = ?", [k])
    if number % 200 == 0:
        con.execute("DELETE FROM pair WHERE k = ?", [rng.randrange(50)])
    if number % 1000 == 0:
        con.execute("CHECKPOINT")
    if number % KEPT_PAIRS == 0:
        con.execute("DELETE FROM pair; VACUUM")


class Memory:
    """The memory of a process over time, in thirds."""

    def __init__(self, seconds: float) -> None:
        self.start = time.monotonic()
        self.seconds = seconds
        self.thirds: list[list[int]] = [[], [], []]

    def note(self) -> None:
        third = int(3 * (time.monotonic() - self.start) / self.seconds)
        self.thirds[min(third, 2)].append(resident_bytes())

    def check(self) -> dict[str, float]:
        second, last = (statistics.median(each) for each in self.thirds[1:])
        if last > second * GROWTH:
            raise SoakError(f"memory grew from {second / 1e6:.0f} to {last / 1e6:.0f} MB")
        return {"memory_mb": round(last / 1e6, 1), "growth": round(last / second, 3)}


# -- two threads on one connection


def soak_threads(seconds: float, seed: int) -> dict[str, float]:
    failures: list[BaseException] = []
    counts = [0, 0]
    end = time.monotonic() + seconds
    memory = Memory(seconds)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "d.raydb")
        prepare(path)
        con = raydb.connect(path)

        def work(place: int) -> None:
            rng = random.Random(seed + place)
            try:
                while time.monotonic() < end and not failures:
                    counts[place] += 1
                    if rng.random() < 0.5:
                        write(con, rng, counts[place])
                    else:
                        check(con, rng)
                    if counts[place] % 50 == 0:
                        memory.note()
            except BaseException as error:  # noqa: BLE001  (told by the main thread)
                failures.append(error)

        threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(end - time.monotonic(), 0) + PATIENCE_S)
            if thread.is_alive():
                raise SoakError("a thread stands still")
        if failures:
            raise failures[0]
        con.close()
    return {"statements": sum(counts), **memory.check()}


# -- one process writes, eight read


def writer(path: str, seconds: float, seed: int) -> dict[str, float]:
    with raydb.connect(path) as con:
        rng, memory, number = random.Random(seed), Memory(seconds), 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number += 1
            write(con, rng, number)
            memory.note()
        return {"statements": number, **memory.check()}


def reader(path: str, seconds: float, seed: int) -> dict[str, float]:
    with raydb.connect(path, read_only=True) as con:
        rng, memory, number, most = random.Random(seed), Memory(seconds), 0, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number += 1
            most = max(most, check(con, rng))
            memory.note()
    if not most:
        raise SoakError("the reader never saw a row")
    return {"statements": number, **memory.check()}


def soak_processes(seconds: float, seed: int) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "d.raydb")
        prepare(path)
        roles = ["writer", *["reader"] * READERS]
        command = [sys.executable, __file__, "--seconds", str(seconds), "--path", path]
        processes = [
            subprocess.Popen(
                [*command, "--role", role, "--seed", str(seed + place)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for place, role in enumerate(roles)
        ]
        found = []
        for role, process in zip(roles, processes, strict=True):
            try:
                output, _ = process.communicate(timeout=seconds + PATIENCE_S)
            except subprocess.TimeoutExpired:
                for each in processes:
                    each.kill()
                raise SoakError(f"a {role} stands still") from None
            if process.returncode:
                raise SoakError(f"a {role} failed; its message is above")
            found.append({"role": role, **json.loads(output)})
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", choices=["writer", "reader"], help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        run = {"writer": writer, "reader": reader}[options.role]
        print(json.dumps(run(options.path, options.seconds, options.seed)))
        return
    print(f"seed {options.seed}")
    print("two threads on one connection:", soak_threads(options.seconds, options.seed))
    for found in soak_processes(options.seconds, options.seed):
        print(found)


if __name__ == "__main__":
    main()
