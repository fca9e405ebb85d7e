"""A writer that is killed at any moment loses no acknowledged statement, and leaves none half done.

    python tests/reliability/kills.py --kills 5000 --seed 1

Each writer is killed after some acknowledgements and some milliseconds, or while it opens. A reader
beside it looks on: what it sees has to be the states in their order, none older than what was
acknowledged before it looked.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

from processes import PATIENCE_S, Child, FindingError, History, scratch, watch, write
from workload import Workload, digest, expected_states

import raydb

if TYPE_CHECKING:
    from pathlib import Path

    from workload import Step

MOST_FINDINGS = 10  # which end a run
STEPS = 150  # of one database


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
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    figures, findings = run(options.kills, options.seed, options.steps)
    print(figures, f"{len(findings)} findings", *findings, sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
