"""A writer and eight readers for half an hour; threads on one connection, and with one each.

    python tests/reliability/soak.py --commits 100000 --seconds 1800

Every statement of the writer leaves rows that cancel each other out, on a table with a BVH, and
every tenth is followed by CHECKPOINT; so a reader finds at any moment a sum of zero, an even count
and a number that never falls. Each process may have 1,024 descriptors. The run fails on a wrong
answer, an error, a process that stands still, memory that grows, more than 200 files in the
database directory or 300 descriptors of a process.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import threading
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from processes import PATIENCE_S, Child, FindingError, descriptors, scratch

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from processes import Say

    # Gets what it returned before.
    Act = Callable[[random.Random, int, Any], Any]

DESCRIPTORS_ALLOWED = 1024
MOST_DESCRIPTORS = 300
MOST_FILES = 200

# How much the memory of the last third of a run may exceed that of the second; shorter runs than
# this are still filling their caches.
GROWTH = 1.10
GROWTH_FROM_S = 120

READERS = 8
CONNECTIONS = 8
ACCOUNTS = 50
KEPT = 4000  # pairs of rows

QUERIES = (
    "SELECT count(*), sum(x), max(n) FROM pair",
    "SELECT sum(c), sum(s), max(n) FROM "
    "(SELECT k, count(*) AS c, sum(x) AS s, max(n) AS n FROM pair GROUP BY k) AS g",
    "SELECT count(*), sum(x), max(n) FROM pair JOIN side ON side.id = pair.side "
    "WHERE name <> '{0}'",
    "SELECT count(*), sum(x), NULL FROM pair WHERE k < {0}",
    "SELECT sum(c), sum(s), NULL FROM (SELECT name, count(*) AS c, sum(x) AS s FROM pair "
    "JOIN side ON side.id = pair.side WHERE k < {0} GROUP BY name) AS g",
)


@dataclass(frozen=True)
class Sample:
    """What a process used at a moment."""

    moment: float
    statements: int
    descriptors: int
    memory_mb: float
    files: int

    @staticmethod
    def read(words: list[str]) -> Sample:
        """Read what `take_sample` says."""
        _, moment, statements, descriptors, memory, files = words
        return Sample(float(moment), int(statements), int(descriptors), float(memory), int(files))


def take_sample(say: Say, statements: int, path: Path) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    memory = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    files = sum(len(names) for _, _, names in os.walk(path))
    say("sample", time.monotonic(), statements, descriptors(), memory, files)


def prepare(path: Path) -> None:
    """Make the tables, and compile what every process needs."""
    with raydb.connect(path) as con:
        con.execute("""
            CREATE TABLE side (id INTEGER PRIMARY KEY, name VARCHAR);
            INSERT INTO side VALUES (0, 'left'), (1, 'right');
            CREATE TABLE pair (k INTEGER, side INTEGER NOT NULL REFERENCES side (id),
                x INTEGER NOT NULL, n INTEGER NOT NULL);
            CREATE BVH pairs ON pair (SCAN (k), GROUP BY (name), AGGREGATE (x))
        """)
        chance = random.Random(0)
        for number in (-3, -2, -1, 0):
            write(con, chance, number)
            con.execute("CHECKPOINT")
        for query in QUERIES:
            con.execute(query.format(7)).fetchall()


def write(con: Any, chance: random.Random, number: int) -> None:
    """Do the statements of one number, the first of which is a commit that has it."""
    x, k = chance.randrange(1, 1000), chance.randrange(50)
    con.execute("INSERT INTO pair VALUES (?, 0, ?, ?), (?, 1, ?, ?)", [k, x, number, k, -x, number])
    if number % 40 == 0:
        con.execute("UPDATE pair SET x = -x WHERE k = ?", [k])
    if number % 2000 == 0:
        con.execute("DELETE FROM pair WHERE n < ?", [number - KEPT])
    if number % 10 == 0:
        con.execute("CHECKPOINT")
    if number % 10_000 == 0:
        con.execute("VACUUM")


def check(con: Any, chance: random.Random, least: int) -> int:
    """Ask one question; return the newest number that is known now."""
    query = chance.choice(QUERIES).format(chance.randrange(50))
    count, total, number = con.execute(query).fetchone()
    if (count or 0) % 2 or (total or 0) or (number is not None and number < least):
        raise FindingError(f"{query}: count {count}, sum {total}, {number} after {least}")
    return least if number is None else number


# -- one process writes, eight read


def writer(say: Say, path: Path, commits: int, seconds: float, seed: int) -> None:
    allow_descriptors()
    chance, number, end = random.Random(seed), 0, time.monotonic() + seconds
    with raydb.connect(path) as con:
        while number < commits or time.monotonic() < end:
            number += 1
            write(con, chance, number)
            if number % 200 == 0:
                take_sample(say, number, path)
        take_sample(say, number, path)


def reader(say: Say, path: Path, seed: int) -> None:
    allow_descriptors()
    chance, newest, statements, told = random.Random(seed), -3, 0, 0.0
    with raydb.connect(path, read_only=True) as con:
        while True:
            newest = check(con, chance, newest)
            statements += 1
            if time.monotonic() > told + 1:
                told = time.monotonic()
                take_sample(say, statements, path)
            time.sleep(chance.random() * 0.8)  # the writer is to have a core of two


def allow_descriptors() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS_ALLOWED, hard), hard))


def soak_processes(commits: int, seconds: float, seed: int, readers: int = READERS) -> list[str]:
    """Run a writer and readers; return the figures of each."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    with scratch() as folder, ExitStack() as stack:
        path = folder / "d.raydb"
        prepare(path)
        children = {"writer": Child(writer, path, commits, seconds, seed)}
        for place in range(readers):
            children[f"reader {place}"] = Child(reader, path, seed + 1 + place)
        for child in children.values():
            stack.callback(child.close)
        heard = dict.fromkeys(children, time.monotonic())
        while not children["writer"].ended():
            time.sleep(0.2)
            for name, child in children.items():
                if found := [Sample.read(words) for words in child.lines()]:
                    samples[name] += found
                    heard[name] = time.monotonic()
                if time.monotonic() > heard[name] + PATIENCE_S:
                    raise FindingError(f"the {name} stands still\n{child.stacks()}")
    return [judge(name, each) for name, each in samples.items()]


def judge(name: str, samples: list[Sample]) -> str:
    """Judge what a process used over time; return its figures."""
    most = max(each.descriptors for each in samples)
    files = max(each.files for each in samples)
    length = samples[-1].moment - samples[0].moment
    thirds: list[list[float]] = [[], [], []]
    for each in samples:
        third = int(3 * (each.moment - samples[0].moment) / (length or 1))
        thirds[min(third, 2)].append(each.memory_mb)
    growth, last = 1.0, samples[-1].memory_mb
    if thirds[1] and thirds[2]:
        last = statistics.median(thirds[2])
        growth = last / statistics.median(thirds[1])
    figures = (
        f"{name}: {samples[-1].statements} statements in {length:.0f} s, at most {most} "
        f"descriptors and {files} files, {last:.0f} MB, {growth:.3f} of the third before"
    )
    if most > MOST_DESCRIPTORS or files > MOST_FILES:
        raise FindingError(figures)
    if length > GROWTH_FROM_S and growth > GROWTH:
        raise FindingError(figures)
    return figures


# -- two threads on one connection


def two_threads(say: Say, path: Path, seconds: float, seed: int) -> None:
    """Threads that write and read through one connection."""
    with raydb.connect(path) as con:

        def act(chance: random.Random, count: int, _: Any) -> None:
            if chance.random() < 0.5:
                write(con, chance, count)
            else:
                check(con, chance, -3)

        run_threads(say, path, [act] * 2, seconds, seed)


def run_threads(say: Say, path: Path, acts: Sequence[Act], seconds: float, seed: int) -> None:
    """Let each thread do its act again and again; what it returns is given to it the next time."""
    failures: list[BaseException] = []
    counts = [0] * len(acts)
    end = time.monotonic() + seconds

    def work(place: int) -> None:
        chance, kept = random.Random(seed + place), None
        try:
            while time.monotonic() < end and not failures:
                counts[place] += 1
                kept = acts[place](chance, counts[place], kept)
                if counts[place] % 50 == 0:
                    take_sample(say, sum(counts), path)
        except BaseException as error:  # noqa: BLE001  (told by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0) + PATIENCE_S)
        if thread.is_alive():
            raise FindingError("a thread stands still")
    if failures:
        raise failures[0]
    take_sample(say, sum(counts), path)


def soak_threads(name: str, work: Any, seconds: float, seed: int) -> str:
    """Run threads in a process of their own; return the figures."""
    samples = []
    with scratch() as folder, ExitStack() as stack:
        path = folder / "d.raydb"
        prepare(path)
        child = Child(work, path, seconds, seed)
        stack.callback(child.close)
        while True:
            ended = child.ended()
            samples += map(Sample.read, child.lines(0.2))
            if ended:
                return judge(name, samples)


# -- threads with a connection each


def transfer(con: Any, chance: random.Random) -> None:
    """Move an amount between two rows, and try again where another thread was faster."""
    one, other = chance.sample(range(ACCOUNTS), 2)
    change = "UPDATE account SET x = x + ? WHERE id = ?"
    while True:
        con.begin()
        try:
            con.execute(change, [7, one])
            con.execute(change, [-7, other])
            con.commit()
        except raydb.ConflictError:
            continue
        return


def several_connections(say: Say, path: Path, seconds: float, seed: int) -> None:
    """Threads that transfer, write pairs, read, and open and close connections, until the end."""

    def act(chance: random.Random, count: int, con: Any) -> Any:
        con = con or first.duplicate()
        transfer(con, chance)
        check(con, chance, -3)
        if (found := con.execute("SELECT sum(x) FROM account").fetchone()) != (0,):
            raise FindingError(f"transfers have left a sum of {found}")
        if count % 20 == 0:
            con.close()
            con = raydb.connect(path)
        return con

    def act_and_write(chance: random.Random, count: int, con: Any) -> Any:
        con = act(chance, count, con)
        write(con, chance, count)
        return con

    with raydb.connect(path) as first:
        first.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, x INTEGER)")
        first.execute(f"INSERT INTO account SELECT range, 0 FROM range({ACCOUNTS})")
        acts = [act_and_write] + [act] * (CONNECTIONS - 1)
        run_threads(say, path, acts, seconds, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--readers", type=int, default=READERS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    seconds = min(options.seconds, 120)
    print(soak_threads("two threads", two_threads, seconds, options.seed))
    print(soak_threads("several connections", several_connections, seconds, options.seed))
    sizes = (options.commits, options.seconds, options.seed, options.readers)
    for figures in soak_processes(*sizes):
        print(figures)


if __name__ == "__main__":
    main()
