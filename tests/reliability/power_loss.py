"""A loss of power at any moment: what was acknowledged is there, nothing is half there.

    python tests/reliability/power_loss.py --states 20000 --seed 1

A writer's system calls are recorded and replayed on the model of a disk. After each call that
changes the disk, some of the states that a loss of power may leave are written to a folder and
opened. `--controls` leaves out the syncs of one kind after the other: then the judge has to find
losses, or it would find none of ours either.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import random
import shutil
from typing import TYPE_CHECKING

from lost_power import Disk, File
from processes import Child, FindingError, scratch, write
from system_calls import CHANGING, recorded, traced, wait_for_end, why_not
from workload import Workload, digest, expected_states

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from system_calls import Call
    from workload import Step

STEPS = 100
MOST_FINDINGS = 10  # which end a run

# The syncs that can be left out, by what is synced.
KINDS = ("data", "wal", "manifests", "folders")


class Recording:
    """The calls of a writer that worked through some steps, and the states to be found."""

    def __init__(self, seed: int, folder: Path, steps: int) -> None:
        self.folder = folder
        self.steps: list[Step] = Workload(seed).steps(steps)
        self.states = expected_states(self.steps, folder)
        self.path = folder / "disk" / "d.raydb"
        self.path.parent.mkdir()
        log = folder / "calls"
        child = Child(write, self.steps, 0, self.path, folder, held=True)
        try:
            with traced(child, "-y", "-xx", "-s", "1000000000", f"--trace={CHANGING}", log=log):
                child.go()
                wait_for_end(child)
        finally:
            child.close()
        self.calls = list(recorded(log))
        shutil.rmtree(self.path.parent)

    def moments(self, without: str = "") -> Iterator[tuple[int, Disk]]:
        """Yield how many steps were acknowledged, and the disk, after each change of it."""
        disk = Disk(str(self.path.parent))
        done = 0
        for call in self.calls:
            if call.name == "sendto" and call.data.startswith(b"done "):
                done = int(call.data.split()[1])
            elif not self.is_left_out(call, disk, without) and disk.apply(call):
                yield done, disk

    def is_left_out(self, call: Call, disk: Disk, kind: str) -> bool:
        if not kind or call.name not in {"fsync", "fdatasync"}:
            return False
        is_file = isinstance(disk.find(call.path()), File)
        return is_file and f"/{kind}/" in call.path() if kind != "folders" else not is_file


class Judge:
    """Opens what a loss of power left."""

    def __init__(self, recording: Recording, chance: random.Random) -> None:
        self.recording = recording
        self.random = chance
        self.known: set[bytes] = set()
        self.path = recording.path

    def judge(self, done: int, disk: Disk) -> bool:
        """Judge one state; return whether it is a new one."""
        left = disk.cut_power(self.random)
        name = hashlib.blake2b(repr((done, sorted(left.items()))).encode(), digest_size=16).digest()
        if name in self.known:
            return False
        self.known.add(name)
        for place, content in left.items():
            target = self.path.parent / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                target.mkdir(exist_ok=True)
            else:
                target.write_bytes(content)
        self.path.parent.mkdir(exist_ok=True)
        try:
            self.open(done)
        except raydb.Error as error:
            raise FindingError(f"after {done} steps it cannot be opened: {error}") from error
        finally:
            shutil.rmtree(self.path.parent)
        return True

    def open(self, done: int) -> None:
        states, steps = self.recording.states, self.recording.steps
        allowed = states[done : done + 2]
        with raydb.connect(self.path) as con:
            seen = digest(con)
            if seen not in allowed:
                known = [number for number, state in enumerate(states) if state == seen]
                raise FindingError(f"{done} steps were acknowledged, the state is that of {known}")
            number = done + allowed.index(seen)
            if number < len(steps) and self.random.random() < 0.1:
                steps[number].run(con, self.recording.folder)
                number += 1
        if self.random.random() < 0.2:
            with raydb.connect(self.path, read_only=True) as con:
                if digest(con) != states[number]:
                    raise FindingError(f"opened again, the state is not that after {number} steps")


def find_controls(seed: int, steps: int) -> list[str]:
    """Leave out the syncs of each kind, and return what the judge finds."""
    found = []
    with scratch() as folder:
        recording = Recording(seed * 1000, folder, steps)
        for kind in KINDS:
            judge = Judge(recording, random.Random(f"without {kind} {seed}"))
            try:
                for done, disk in recording.moments(kind):
                    for _ in range(4):
                        judge.judge(done, disk)
            except FindingError as error:
                found.append(f"without syncs of {kind}, found: {error}")
            else:
                raise FindingError(f"syncs of {kind} are left out, and nothing is found")
    return found


def run(states: int, seed: int, steps: int = STEPS) -> tuple[str, list[str]]:
    """Judge so many states; return the figures, and what went wrong."""
    found = calls = moments = 0
    findings: list[str] = []
    for life in itertools.count(seed * 1000):
        with scratch() as folder:
            recording = Recording(life, folder, steps)
            calls += len(recording.calls)
            points = sum(1 for _ in recording.moments())
            chance = random.Random(f"power {life}")
            judge = Judge(recording, chance)
            each = min(6.0, (states - found) / points)  # states of each moment on average
            for done, disk in recording.moments():
                moments += 1
                for _ in range(int(each + chance.random())):
                    try:
                        found += judge.judge(done, disk)
                    except FindingError as error:
                        findings.append(f"steps of seed {life}, change {moments}: {error}")
        if found >= states * 0.95 or states <= points or len(findings) > MOST_FINDINGS:
            figures = f"{found} states after {moments} changes of the disk, in {calls} calls"
            return figures, findings
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=20000)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--controls", action="store_true")
    options = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"not possible here: {reason}")
    print(f"seed {options.seed}")
    if options.controls:
        print(*find_controls(options.seed, options.steps), sep="\n")
    else:
        figures, findings = run(options.states, options.seed, options.steps)
        print(figures, f"{len(findings)} findings", *findings, sep="\n")
        raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
