"""A writer that is killed at any moment loses no acknowledged statement, and leaves none half done.

    python tests/reliability/kills.py --kills 5000 --seed 1
    python tests/reliability/kills.py --kills 300 --connections 4

Each writer is killed after some acknowledgements and some milliseconds, or while it opens. A reader
beside it looks on: what it sees has to be the states in their order, none older than what was
acknowledged before it looked. With several connections, the killed process has a thread with a
transaction for each, and what all of them acknowledged has to be there.
"""

from __future__ import annotations

import argparse
import itertools
import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from processes import PATIENCE_S, Child, FindingError, History, scratch, watch, write
from workload import Workload, digest, expected_states

import raydb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from processes import Say
    from workload import Step

MOST_FINDINGS = 10  # which end a run
STEPS = 150  # of one database
ACCOUNTS = 20


class Run:
    """The kills of writers that work through one list of steps, one after the other."""

    def __init__(self, seed: int, folder: Path, steps: int) -> None:
        self.folder = folder
        self.path = folder / "d.raydb"
        self.random = random.Random(f"kills {seed}")
        self.steps: list[Step] = Workload(seed).steps(steps)
        self.history = History(expected_states(self.steps, folder))
        self.torn: Counter[str] = Counter()  # what was in flight, and whether it is there

    def kill_all(self, most: int) -> None:
        """Kill writers until the steps are done, or so many were killed."""
        raydb.connect(self.path).close()
        reader = Child(watch, self.path)
        try:
            while self.torn.total() < most and self.history.done < len(self.steps):
                self.kill_one()
                for words in reader.lines():
                    self.history.observe(float(words[1]), float(words[2]), words[3])
        finally:
            reader.close()

    def kill_one(self) -> None:
        writer = Child(write, self.steps, self.history.done, self.path, self.folder)
        try:
            if self.random.random() < 0.15:  # while it opens
                time.sleep(self.random.random() * 0.01)
            else:
                self.wait_for(writer, self.random.randint(0, 4))
                time.sleep(self.random.random() * 0.02)
            writer.kill()
            for words in writer.lines():
                self.history.note(words)
        finally:
            writer.close()
        flying = self.history.begun > self.history.done
        kind = self.steps[self.history.done].kind if flying else "none"
        done = self.history.done
        with raydb.connect(self.path) as con:
            there = self.history.settle(digest(con)) > done
        self.torn[f"{kind}, {'there' if there else 'not there'}"] += 1

    def wait_for(self, writer: Child, acknowledged: int) -> None:
        end = time.monotonic() + PATIENCE_S
        target = min(self.history.done + acknowledged, len(self.steps))
        is_open = False
        while self.history.done < target or not is_open:
            for words in writer.lines(1):
                is_open = True
                self.history.note(words)
            if time.monotonic() > end:
                raise FindingError(f"a writer stands still after {self.history.done} steps")


# -- threads with a connection each


def transfer(say: Say, path: Path, done: Sequence[int], seed: int) -> None:
    """Run numbered transactions in a thread for each connection, telling each that is durable."""
    saying = threading.Lock()

    def work(place: int) -> None:
        chance, number = random.Random(f"{seed} {place}"), done[place]
        con = shared.duplicate() if place % 2 else raydb.connect(path)
        with con:
            while True:
                number += 1
                while not transferred(con, place, number, chance):
                    pass
                with saying:
                    say("done", place, number)
                if chance.random() < 0.05:
                    con.execute("CHECKPOINT")

    with raydb.connect(path) as shared:
        with saying:
            say("open")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(len(done))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def transferred(con: Any, place: int, number: int, chance: random.Random) -> bool:
    """Move an amount from an account to another; return whether no other thread was faster."""
    one, other = chance.sample(range(ACCOUNTS), 2)
    con.begin()
    try:
        for part, account, amount in ((0, one, number), (1, other, -number)):
            con.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?, ?)", [place, number, part, account, amount]
            )
            con.execute("UPDATE account SET x = x + ? WHERE id = ?", [amount, account])
        con.commit()
    except raydb.ConflictError:
        return False
    return True


class Transfers:
    """The kills of processes whose threads have a connection each."""

    def __init__(self, seed: int, folder: Path, connections: int) -> None:
        self.path = folder / "d.raydb"
        self.seed = seed
        self.random = random.Random(f"kills {seed}")
        self.done = [0] * connections
        self.there = 0  # transactions that were in flight
        with raydb.connect(self.path) as con:
            con.execute(f"""
                CREATE TABLE account (id INTEGER PRIMARY KEY, x BIGINT);
                INSERT INTO account SELECT range, 0 FROM range({ACCOUNTS});
                CREATE TABLE part (thread INTEGER, n INTEGER, part INTEGER,
                    account INTEGER REFERENCES account (id), amount BIGINT)
            """)

    def kill_one(self) -> None:
        """Kill a process at a random moment, and judge what it left."""
        child = Child(transfer, self.path, self.done, self.random.randrange(1 << 30))
        try:
            target = sum(self.done) + self.random.randint(0, 30)
            end = time.monotonic() + PATIENCE_S
            is_open = False
            while not is_open or sum(self.done) < target:
                is_open |= self.note(child.lines(1))
                if time.monotonic() > end:
                    raise FindingError(f"transfers stand still\n{child.stacks()}")
            time.sleep(self.random.random() * 0.02)
            child.kill()
            self.note(child.lines())
        finally:
            child.close()
        with raydb.connect(self.path) as con:
            self.judge(con)

    def note(self, lines: list[list[str]]) -> bool:
        """Take down what was acknowledged; return whether anything was said."""
        for words in lines:
            if words[0] == "done":
                self.done[int(words[1])] = int(words[2])
        return bool(lines)

    def judge(self, con: Any) -> None:
        """Compare what is there with what was acknowledged, and the accounts with all transfers."""
        query = "SELECT count(*), count(DISTINCT n), coalesce(max(n), 0), coalesce(sum(part), 0)"
        for place, done in enumerate(self.done):
            found = con.execute(f"{query} FROM part WHERE thread = ?", [place]).fetchone()
            last = found[2]
            if found != (2 * last, last, last, last) or not done <= last <= done + 1:
                raise FindingError(f"thread {place} was told of {done}, and there are {found}")
            self.there += last - done
            self.done[place] = last
        wrong = con.execute(
            "SELECT id, x, coalesce(s, 0) FROM account LEFT JOIN (SELECT account, sum(amount) AS s "
            "FROM part GROUP BY account) ON id = account WHERE x <> coalesce(s, 0)"
        ).fetchall()
        if wrong:
            raise FindingError(f"accounts differ from their transfers: {wrong}")


def run_transfers(kills: int, seed: int, connections: int) -> tuple[str, list[str]]:
    """Kill so many processes with several connections; return the figures, and what went wrong."""
    with scratch() as folder:
        transfers = Transfers(seed, folder, connections)
        findings: list[str] = []
        done = 0
        while done < kills and not findings:
            try:
                transfers.kill_one()
            except FindingError as error:
                findings.append(f"seed {seed}, kill {done}: {error}")
            done += 1
        figures = (
            f"{done} kills, {sum(transfers.done)} transactions of {connections} connections, "
            f"{transfers.there} of them in flight"
        )
        return figures, findings


def run(kills: int, seed: int, steps: int = STEPS) -> tuple[str, list[str]]:
    """Kill so many writers; return the figures, and what went wrong: a database ends with it."""
    done = observations = 0
    findings: list[str] = []
    torn: Counter[str] = Counter()
    acknowledged = 0
    for life in itertools.count(seed * 1000):
        with scratch() as folder:
            each = Run(life, folder, steps)
            try:
                each.kill_all(kills - done)
            except FindingError as error:
                findings.append(f"steps of seed {life}: {error}")
            done += each.torn.total()
            observations += each.history.observations
            acknowledged += each.history.done
            torn += each.torn
        if done >= kills or len(findings) > MOST_FINDINGS:
            break
    kinds = {key.split(",")[0] for key in torn}
    there = sum(count for key, count in torn.items() if key.endswith(", there"))
    gone = sum(torn.values()) - there
    figures = (
        f"{done} kills, {acknowledged} statements acknowledged, {observations} observations of a "
        f"reader; killed in {len(kinds)} kinds of statements, {there} there and {gone} not"
    )
    return figures, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    if options.connections > 1:
        figures, findings = run_transfers(options.kills, options.seed, options.connections)
    else:
        figures, findings = run(options.kills, options.seed, options.steps)
    print(figures, f"{len(findings)} findings", *findings, sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
