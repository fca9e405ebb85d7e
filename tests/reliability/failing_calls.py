"""Each system call fails once: the statement answers, or raises an error and changes nothing.

    python tests/reliability/failing_calls.py --statements 200 --share 1

The statements are cut into pieces of a few. A piece runs once for each call that it makes and each
error that the call may give. A statement may raise an error of PEP 249; then it has changed nothing
and is run again, or the process ends there as if it were killed. After that the database is opened
and compared.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
from collections import Counter
from typing import TYPE_CHECKING

from processes import Child, FindingError, scratch
from system_calls import recorded, traced, wait_for_end, why_not
from workload import Workload, digest, expected_states

import raydb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from processes import Say
    from workload import Step

PIECE = 5

# Calls that fail, and how; "?" is before those that not every machine has. What asks for memory is
# not among them: Python's own threads do not survive that.
ERRORS = {
    "openat": ("EMFILE", "EIO"),
    "pwrite64": ("ENOSPC", "EIO"),
    "write": ("ENOSPC", "EIO"),
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
    "ftruncate": ("EIO",),
    "?link": ("ENOSPC", "EIO"),
    "linkat": ("ENOSPC", "EIO"),
    "?rename": ("ENOSPC", "EIO"),
    "?unlink": ("EIO",),
    "unlinkat": ("EIO",),
    "?mkdir": ("ENOSPC",),
    "mkdirat": ("ENOSPC",),
    "flock": ("ENOLCK",),
    "read": ("EIO",),
    "pread64": ("EIO",),
    "getdents64": ("EIO",),
    "lseek": ("EIO",),
    "newfstatat": ("EIO",),
}
# What an error says where nobody can know what is stored: a statement that failed so, and whose
# process ended at once, may be found when the database is opened again.
DOUBT = "makes it certain what is stored"


def work(
    say: Say, steps: Sequence[Step], states: Sequence[str], path: Path, folder: Path, stops: bool
) -> None:
    """Run the steps, each until it succeeds; `stops` ends the process at the first error."""
    con = None
    while con is None:
        try:
            con = raydb.connect(path)
        except raydb.Error as error:
            say("refused", 0, type(error).__name__, False)
    for number, step in enumerate(steps, 1):
        while True:
            try:
                step.run(con, folder)
                break
            except raydb.Error as error:
                say("refused", number, type(error).__name__, DOUBT in str(error))
                if stops:
                    os._exit(0)
                if con.in_transaction:
                    con.rollback()
                if digest(con) != states[number - 1]:
                    raise FindingError(f"{step} failed and changed something") from error
        say("done", number)
    con.close()


class Piece:
    """A few steps, and the database before them."""

    def __init__(self, steps: list[Step], states: list[str], before: Path, folder: Path) -> None:
        self.steps, self.states = steps, states
        self.before, self.folder = before, folder
        self.path = folder / "d.raydb"

    def run(self, *options: str, stops: bool = False, log: Path) -> list[list[str]]:
        """Run the steps on a copy of the database, under strace; return what was said."""
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.before, self.path)
        arguments = (self.steps, self.states, self.path, self.folder, stops)
        child = Child(work, *arguments, held=True)
        try:
            with traced(child, *options, log=log):
                child.go()
                said = wait_for_end(child)
        finally:
            child.close()
        if child.status:
            raise FindingError(f"ended with {child.status}")
        return said

    def count(self) -> Counter[str]:
        """Return how often the steps make each call."""
        log = self.folder / "calls"
        self.run("-xx", "-s", "1000000000", f"--trace={','.join(ERRORS)}", log=log)
        return Counter(call.name for call in recorded(log))

    def judge(self, name: str, number: int, error: str, stops: bool) -> str:
        """Let a call fail; return the class of the error that came of it, "" for none."""
        log = self.folder / "injected"
        said = self.run(
            f"--trace={name}", f"--inject={name}:error={error}:when={number}", stops=stops, log=log
        )
        if "(INJECTED)" not in log.read_text(encoding="utf-8", errors="replace"):
            return "not made"
        done = max((int(words[1]) for words in said if words[0] == "done"), default=0)
        refused = [words for words in said if words[0] == "refused"]
        allowed = [self.states[done]]
        if refused and stops and refused[-1][3] == "True":
            allowed.append(self.states[min(done + 1, len(self.steps))])
        with raydb.connect(self.path) as con:
            if (seen := digest(con)) not in allowed:
                place = self.states.index(seen) if seen in self.states else "none"
                raise FindingError(f"{done} steps were acknowledged, the state is that of {place}")
        if not refused:
            return ""
        return f"{refused[0][2]} in doubt" if refused[0][3] == "True" else refused[0][2]


def pieces(count: int, seed: int, folder: Path) -> list[Piece]:
    """Return the pieces of a workload, each with a copy of the database before it."""
    steps = Workload(seed, draws=False).steps(count)
    states = expected_states(steps, folder)
    found = []
    path = folder / "whole"
    raydb.connect(path).close()
    for first in range(0, count, PIECE):
        before = folder / f"before {first}"
        shutil.copytree(path, before)
        some = steps[first : first + PIECE]
        found.append(Piece(some, states[first : first + PIECE + 1], before, folder))
        with raydb.connect(path) as con:
            for step in some:
                step.run(con, folder)
    return found


def run(statements: int, share: float, seed: int) -> tuple[str, list[str]]:
    """Let that share of the calls fail, each once with each error.

    Returns the figures, and what went wrong.
    """
    findings: list[str] = []
    chance = random.Random(f"calls {seed}")
    outcomes: Counter[str] = Counter()
    by_call: Counter[str] = Counter()
    with scratch() as folder:
        for place, piece in enumerate(pieces(statements, seed, folder)):
            for name, calls in sorted(piece.count().items()):
                for number in range(1, calls + 1):
                    for error in ERRORS.get(name) or ERRORS[f"?{name}"]:
                        if chance.random() >= share:
                            continue
                        stops = chance.random() < 0.4
                        try:
                            outcome = piece.judge(name, number, error, stops)
                        except (AssertionError, TimeoutError, raydb.Error) as finding:
                            findings.append(
                                f"seed {seed}, piece {place} ({piece.steps}), call {number} of "
                                f"{name}: {error}, stops: {stops}: {finding}"
                            )
                            outcome = "finding"
                        outcomes[outcome or "no error"] += 1
                        by_call[name] += outcome != "not made"
    told = ", ".join(f"{name} {count}" for name, count in by_call.most_common())
    endings = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    return f"{by_call.total()} calls failed ({told}): {endings}", findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--statements", type=int, default=200)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"not possible here: {reason}")
    print(f"seed {options.seed}")
    figures, findings = run(options.statements, options.share, options.seed)
    print(figures, f"{len(findings)} findings", *findings[:20], sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
