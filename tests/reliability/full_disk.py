"""A disk that is full at any moment: statements fail cleanly, and nothing is lost.

    python tests/reliability/full_disk.py --statements 400 --seed 1

The database lies on a small file system in memory, of a mount namespace of its own. Before some of
the steps a file takes all room but for some bytes; what fails then has changed nothing, DROP works
with no byte free, and once the file is gone the step is done.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from processes import FindingError
from workload import Workload, digest, expected_states

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

DISK_MB = 8


def why_not() -> str:
    """Return why no file system can be mounted here, "" if it can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    done = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", tempfile.gettempdir()],
        capture_output=True,
        check=False,
        text=True,
    )
    return f"no mount in a namespace: {done.stderr.strip()}" if done.returncode else ""


class Disk:
    """A small file system, and what fills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"

    def fill(self, free: int) -> None:
        """Leave so many bytes free, in whole pages."""
        self.make_room()
        status = os.statvfs(self.folder)
        size = status.f_bavail * status.f_frsize - free // status.f_frsize * status.f_frsize
        with self.ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(size, 1))

    def make_room(self) -> None:
        self.ballast.unlink(missing_ok=True)


def attempt(con: Any, step: Any, folder: Path) -> str:
    """Run a step; return the class of its error, "" for none."""
    try:
        step.run(con, folder)
    except raydb.OperationalError as error:
        if con.in_transaction:
            con.rollback()
        return str(error)
    return ""


def run(disk: Disk, statements: int, seed: int) -> str:
    """Run the steps on a disk that is full before half of them; return the figures."""
    chance = random.Random(f"full {seed}")
    steps = Workload(seed, draws=False).steps(statements)
    path, outcomes = disk.folder / "d.raydb", Counter[str]()
    with tempfile.TemporaryDirectory() as elsewhere:
        states = expected_states(steps, Path(elsewhere))
        con = raydb.connect(path)
        for number, step in enumerate(steps):
            # Of COPY, the files it writes are elsewhere: the database's disk is the full one.
            if chance.random() < 0.5:
                disk.fill(chance.choice((0, 0, 4096, 8192, 20000, 60000)))
                message = attempt(con, step, Path(elsewhere))
                outcomes["failed" if message else "done"] += 1
                if message and "no space" not in message.lower():
                    raise FindingError(f"{step}: {message}")
                if message and step.kind == "drop table":
                    raise FindingError(f"DROP needs room: {message}")
                if digest(con) != states[number + (not message)]:
                    raise FindingError(f"{step} failed and changed something: {message}")
                if chance.random() < 0.3:  # a full disk can be opened, too
                    con.close()
                    con = raydb.connect(path)
                    if digest(con) != states[number + (not message)]:
                        raise FindingError(f"opened on a full disk, not the state of {number}")
                disk.make_room()
                if not message:
                    continue
            step.run(con, Path(elsewhere))
            if digest(con) != states[number + 1]:
                raise FindingError(f"with room again, {step} does not lead to its state")
        con.close()
        with raydb.connect(path) as con:
            if digest(con) != states[-1]:
                raise FindingError("opened again, the last state is another one")
    return f"{statements} statements, full before {outcomes.total()}: {dict(outcomes)}"


def in_namespace(program: str, *options: str) -> str:
    """Run a program in a namespace, in which it may mount a file system; return what it says."""
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, program, "--mounted", *options],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        raise FindingError(done.stdout + done.stderr)
    return done.stdout.strip()


@contextmanager
def mounted(size_mb: int) -> Iterator[Disk]:
    """Give a small file system."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", folder]
        subprocess.run(mount, check=True)
        try:
            yield Disk(Path(folder))
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--statements", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mounted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.mounted:
        with mounted(DISK_MB) as disk:
            print(run(disk, options.statements, options.seed))
        return
    if reason := why_not():
        raise SystemExit(f"not possible here: {reason}")
    print(f"seed {options.seed}")
    given = ("--statements", str(options.statements), "--seed", str(options.seed))
    print(in_namespace(__file__, *given))


if __name__ == "__main__":
    main()
