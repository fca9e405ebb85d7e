"""A reader whose reloads are interrupted or fail never answers from an old version afterwards.

    python tests/reliability/reloads.py --failures 1000 --seed 1

A writer counts, by statements of several kinds; readers beside it ask for the count while Ctrl-C
comes at any moment, while no descriptor is left, or while calls that open files fail. A statement
may fail; one that answers has to tell at least what was acknowledged before it began.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from processes import PATIENCE_S, Child, FindingError, scratch
from system_calls import traced, why_not

import raydb

if TYPE_CHECKING:
    from pathlib import Path

    from processes import Say

# How readers are disturbed.
WAYS = ("interrupt", "descriptors", "calls")

INJECTED = ("--trace=openat,mmap", "--inject=openat:error=EMFILE:when=9+13")


def commit(con: Any, n: int) -> None:
    """Make the count n, with changes that come as log records or as files."""
    con.begin()
    con.execute("UPDATE counter SET n = ?", [n])
    con.execute("INSERT INTO fact VALUES (?, ?, 'text')", [n % 3, n])
    if n % 5 == 0:
        con.execute(f"CREATE TABLE IF NOT EXISTS t{n % 25} AS SELECT * FROM fact LIMIT 3")
    con.commit()


def tidy(con: Any, n: int) -> None:
    """Move the changes to files, and the rows out of the way."""
    if n % 3 == 0:
        con.execute("CHECKPOINT")
    if n % 200 == 0:
        con.execute("DELETE FROM fact; VACUUM")


def count(say: Say, path: Path) -> None:
    """Commit numbers from 1 on, telling each that is durable."""
    with raydb.connect(path) as con:
        for n in range(1, 1 << 60):
            commit(con, n)
            say("done", n, time.monotonic())
            tidy(con, n)


def prepare(path: Path) -> None:
    """Make the tables, and compile what writer and readers need: an interrupt would find that."""
    with raydb.connect(path) as con:
        con.execute("""
            CREATE TABLE counter (n INTEGER);
            INSERT INTO counter VALUES (0);
            CREATE TABLE side (id INTEGER PRIMARY KEY, name VARCHAR);
            INSERT INTO side VALUES (0, 'a'), (1, 'b'), (2, 'c');
            CREATE TABLE fact (s INTEGER REFERENCES side (id), m INTEGER, t VARCHAR);
            CREATE BVH x ON fact (SCAN (name), AGGREGATE (m));
        """)
        for n in (5, 3, 200, 0):
            commit(con, n)
            tidy(con, n)
        con.execute("CHECKPOINT")
    with raydb.connect(path, read_only=True) as con:
        con.execute("SELECT n FROM counter").fetchone()


class Interrupts:
    """Ctrl-C, which reaches statements alone: not what this harness does between them."""

    def __init__(self) -> None:
        self.armed = False
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, number: int, frame: Any) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt


def opened(path: Path) -> Any:
    """Open the database, however often that fails."""
    while True:
        try:
            return raydb.connect(path, read_only=True)
        except raydb.OperationalError:
            time.sleep(0.01)


def is_expected(error: BaseException) -> bool:
    """Tell whether an error is one that a disturbed statement may end with.

    Python's own locks make another error of Ctrl-C where it comes within them.
    """
    if isinstance(error, (KeyboardInterrupt, raydb.OperationalError)):
        return True
    return isinstance(error.__context__, KeyboardInterrupt)


def next_descriptor() -> int:
    """Return the number that the next file gets: limits are compared with it, not with a count."""
    number = os.dup(0)
    os.close(number)
    return number


def ask(say: Say, path: Path, way: str, seed: int) -> None:
    """Ask for the count again and again, disturbed, telling what came of it."""
    interrupts, chance = Interrupts(), random.Random(seed)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with opened(path) as con:
        while True:
            bound = soft
            if way == "descriptors":
                bound = next_descriptor() + chance.randrange(4)
            start, answer = time.monotonic(), None
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(bound, soft), hard))
            try:
                interrupts.armed = way == "interrupt"
                answer = con.execute("SELECT n FROM counter").fetchone()[0]
                interrupts.armed = False
            except BaseException as error:
                if not is_expected(error):
                    raise
                outcome = type(error).__name__
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            if answer is None:
                say("failed_one", start, outcome)
            else:
                say("saw", start, answer)


class Judge:
    """What was acknowledged when, and what each reader has seen."""

    def __init__(self) -> None:
        self.done = [(0.0, 0)]
        self.seen: dict[str, int] = {}
        self.outcomes: Counter[str] = Counter()

    def judge(self, way: str, words: list[str]) -> None:
        if words[0] == "failed_one":
            self.outcomes[f"{way}: {words[2]}"] += 1
            return
        start, answer = float(words[1]), int(words[2])
        least = self.seen.get(way, 0)
        for moment, number in reversed(self.done):
            if moment < start:
                least = max(least, number)
                break
        if answer < least:
            raise FindingError(f"{way}: the reader answers {answer} after {least}")
        self.outcomes[f"{way}: answered"] += 1
        self.seen[way] = answer

    def failures(self, way: str) -> int:
        return sum(
            self.outcomes[key]
            for key in self.outcomes
            if key.startswith(way) and not key.endswith("answered")
        )


def run(failures: int, seed: int) -> str:
    """Disturb readers until so many statements of each way have failed; return the figures."""
    ways = WAYS[: 2 if why_not() else 3]
    chance, judge = random.Random(f"reloads {seed}"), Judge()
    with scratch() as folder, ExitStack() as stack:
        path = folder / "d.raydb"
        prepare(path)
        readers = {}
        for place, way in enumerate(ways):
            readers[way] = Child(ask, path, way, seed + place, held=True)
            stack.callback(readers[way].close)
            if way == "calls":
                stack.enter_context(traced(readers[way], *INJECTED))
                stack.callback(readers[way].kill)
            readers[way].go()
        writer = Child(count, path)
        stack.callback(writer.close)
        everyone = {"writer": writer, **readers}
        heard = dict.fromkeys(everyone, time.monotonic())
        while True:
            if "interrupt" in judge.seen:
                readers["interrupt"].signal(signal.SIGINT)
            time.sleep(chance.random() * 0.02)
            # What the readers saw is taken first: their answers then have their acknowledgements.
            said = {way: reader.lines() for way, reader in readers.items()}
            said["writer"] = writer.lines()
            for words in said["writer"]:
                judge.done.append((float(words[2]), int(words[1])))
            for way in ways:
                for words in said[way]:
                    judge.judge(way, words)
            for name, child in everyone.items():
                if said[name]:
                    heard[name] = time.monotonic()
                if time.monotonic() > heard[name] + PATIENCE_S:
                    raise FindingError(f"{name} stands still\n{child.stacks()}")
            if all(judge.failures(way) >= failures for way in ways):
                told = ", ".join(f"{key} {n}" for key, n in sorted(judge.outcomes.items()))
                return f"{judge.done[-1][1]} commits; {told}; none stale"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failures", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    print(run(options.failures, options.seed))


if __name__ == "__main__":
    main()
