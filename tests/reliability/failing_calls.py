"""Each system call fails once: the statement answers, or raises an error and changes nothing.

    python tests/reliability/failing_calls.py --statements 200 --share 1

Each statement runs once for each call that it makes and each error that the call may give; opening
and closing the database do before every fifth. A statement may raise an error of PEP 249; then it
has changed nothing and is run again, or the process ends there as if it were killed. The statement
behind it has to find everything as it should be. After that the database is opened and compared.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import secrets
import shutil
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from processes import Child, FindingError, scratch
from system_calls import recorded, traced, wait_for_end, why_not
from workload import Workload, digest, expected_states

import raydb

if TYPE_CHECKING:
    from pathlib import Path

    from processes import Say
    from workload import Step

# So many statements share the calls of one opening.
OPENED_EVERY = 5

# strace counts the calls of each thread. Where a statement's are those of a thread of its own, they
# fail each time that it is tried, so that it is given up.
MOST_TRIES = 5

# So long a statement and the one behind it may take, on a machine that others use as well.
PATIENCE_S = 60

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


def work(say: Say, piece: Piece, stops: bool) -> None:
    """Open the database and run the steps, each until it succeeds.

    Calls are counted from where it waits; `stops` ends the process at the first error.
    """

    tries = 0

    def refused(error: raydb.Error) -> None:
        nonlocal tries
        tries += 1
        say("refused", type(error).__name__, DOUBT in str(error))
        if stops:
            os._exit(0)
        if tries > MOST_TRIES:
            say("given up")
            os._exit(0)

    choose_names(piece.place)
    con = None
    if not piece.opens:
        con = raydb.connect(piece.path)
    say("waits")
    say.wait()
    while con is None:
        try:
            con = raydb.connect(piece.path)
        except raydb.Error as error:
            refused(error)
    say("opened")
    for step, before in zip(piece.steps, piece.states, strict=False):
        while True:
            try:
                step.run(con, piece.folder)
                break
            except raydb.Error as error:
                refused(error)
                if con.in_transaction:
                    con.rollback()
                if digest(con) != before:
                    raise FindingError(f"{step} failed and changed something") from error
        say("done")
    con.close()


def choose_names(seed: int) -> None:
    """Let files have the names that a seed chooses: then equal runs leave equal files."""
    chance = random.Random(f"names {seed}")
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128))
    secrets.randbits = chance.getrandbits
    secrets.token_bytes = chance.randbytes


@dataclass(frozen=True)
class Piece:
    """A step and the one behind it, the states of the database about them, and a copy of it before.

    opens: whether the calls of opening and closing are to fail, and not those of the step.
    """

    place: int
    opens: bool
    steps: list[Step]
    states: list[str]
    before: Path
    folder: Path

    @property
    def path(self) -> Path:
        """The database that the steps change."""
        return self.folder / "d.raydb"

    def __str__(self) -> str:
        return f"{'opening before' if self.opens else ''} statement {self.place} ({self.steps[0]})"

    def run(self, *options: str, stops: bool = False, log: Path) -> list[list[str]]:
        """Run the steps on a copy of the database, under strace; return what was said."""
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.before, self.path)
        child = Child(work, self, stops)
        try:
            if not child.lines(PATIENCE_S):
                raise TimeoutError(f"the database does not open\n{child.stacks()}")
            with traced(child, *options, log=log):
                child.go()
                said = wait_for_end(child, PATIENCE_S)
        finally:
            child.close()
        if child.status:
            raise FindingError(f"ended with {child.status}")
        return said

    def calls(self) -> dict[tuple[str, int], bool]:
        """Return the calls that are to fail: name, and number among a thread's of that name.

        The value tells whether another thread than the first makes such a call.
        """
        log = self.folder / "calls"
        self.run("-xx", "-s", "1000000000", f"--trace=sendto,{','.join(ERRORS)}", log=log)
        counts: Counter[tuple[int, str]] = Counter()
        found: dict[tuple[str, int], bool] = {}
        first = done = 0
        is_open = False
        for call in recorded(log):
            if call.name == "sendto":
                first = call.thread
                is_open = True
                done += call.data == b"done\n"
                continue
            counts[call.thread, call.name] += 1
            if (not is_open or done == len(self.steps)) if self.opens else not done:
                key = call.name, counts[call.thread, call.name]
                found[key] = found.get(key, False) or call.thread != (first or call.thread)
        return found

    def judge(self, name: str, number: int, error: str, stops: bool, states: States) -> str:
        """Let a call fail; return the class of the error that came of it, "" for none."""
        log = self.folder / "injected"
        said = self.run(
            f"--trace={name}", f"--inject={name}:error={error}:when={number}", stops=stops, log=log
        )
        if "(INJECTED)" not in log.read_text(encoding="utf-8", errors="replace"):
            return "not made"
        done = said.count(["done"])
        refused = [words for words in said if words[0] == "refused"]
        allowed = [self.states[done]]
        if refused and stops and refused[-1][2] == "True":
            allowed.append(self.states[min(done + 1, len(self.steps))])
        if (seen := states.of(self.path)) not in allowed:
            place = self.states.index(seen) if seen in self.states else "none"
            raise FindingError(f"{done} steps were acknowledged, the state is that of {place}")
        if not refused:
            return ""
        if ["given", "up"] in said:
            return f"{refused[0][1]} each time"
        return f"{refused[0][1]} in doubt" if refused[0][2] == "True" else refused[0][1]


class States:
    """What databases hold. Those with equal files hold the same: one of them is opened."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def of(self, path: Path) -> str:
        """Open a database, or know one like it; return the digest."""
        files = hashlib.blake2b()
        for file in sorted(path.rglob("*")):
            # The lock holds the number of the process.
            data = file.read_bytes() if file.is_file() and file.name != "LOCK" else b""
            files.update(b"%b %d " % (bytes(file.relative_to(path)), len(data)) + data)
        key = files.digest()
        if key not in self._known:
            with raydb.connect(path) as con:
                self._known[key] = digest(con)
        return self._known[key]


def pieces(count: int, seed: int, folder: Path) -> list[Piece]:
    """Return the pieces of a workload.

    All of it has run then, each step in a database that was opened for it: whatever a child needs
    is imported and compiled.
    """
    steps = Workload(seed, draws=False).steps(count)
    states = expected_states(steps, folder)
    found = []
    path = folder / "whole"
    raydb.connect(path).close()
    for place, step in enumerate(steps):
        before = folder / f"before {place}"
        shutil.copytree(path, before)
        some = steps[place : place + 2], states[place : place + 3]
        if place % OPENED_EVERY == 0:
            found.append(Piece(place, True, *some, before, folder))
        found.append(Piece(place, False, *some, before, folder))
        with raydb.connect(path) as con:
            step.run(con, folder)
            if digest(con) != states[place + 1]:
                raise FindingError(f"{step} undisturbed")
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
        for piece in pieces(statements, seed, folder):
            if piece.opens:
                print(f"{piece.place} statements, {by_call.total()} calls", flush=True)
            states = States()
            for (name, number), is_beside in piece.calls().items():
                for error in ERRORS.get(name) or ERRORS[f"?{name}"]:
                    if chance.random() >= share:
                        continue
                    # The first thread's call comes first: another's is met when it is tried again.
                    stops = chance.random() < 0.4 and not is_beside
                    try:
                        outcome = piece.judge(name, number, error, stops, states)
                    except (AssertionError, TimeoutError, raydb.Error) as finding:
                        findings.append(
                            f"seed {seed}, {piece}, call {number} of {name}: {error}, "
                            f"stops: {stops}: {finding}"
                        )
                        print(findings[-1], flush=True)
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
    print(figures, f"{len(findings)} findings", sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
