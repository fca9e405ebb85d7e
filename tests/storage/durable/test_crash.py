"""A crash at any operation, or a disk that fails at any operation, loses nothing acknowledged.

One seeded workload of appends, commits, garbage collection, reading and reopening runs on a
simulated disk. RAYDB_CRASH_SEED chooses it, and RAYDB_CRASH_RUNS says how many, each of 100 steps
(default 1; a long run is 100).
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from faults import Crash, Fault, SimulatedDisk

from raydb.errors import OperationalError
from raydb.storage.durable.database_directory import DatabaseDirectory

SEED = int(os.environ.get("RAYDB_CRASH_SEED", "1"))
RUNS = int(os.environ.get("RAYDB_CRASH_RUNS", "1"))
SEEDS = range(SEED, SEED + RUNS)
STEPS = 100
ROOT = Path("/disk")
PATH = ROOT / "shop.raydb"


@dataclass(frozen=True)
class Model:
    """What a database should hold."""

    state: bytes = b""
    files: tuple[tuple[str, bytes], ...] = ()
    records: tuple[bytes, ...] = ()


def contents(directory: DatabaseDirectory, disk: SimulatedDisk) -> Model:
    """Return what a database holds, every byte checked."""
    directory.verify()
    files = tuple((name, disk.peek(directory.path_of(name))) for name in directory.shown.files)
    return Model(directory.shown.state, files, directory.shown.records)


def reopened(disk: SimulatedDisk) -> Model:
    with DatabaseDirectory.open(PATH, read_only=False, files=disk) as directory:
        return contents(directory, disk)


class Run:
    """A database under a workload; `allowed` is what a crash at this moment may leave."""

    def __init__(self, disk: SimulatedDisk, model: Model | None = None) -> None:
        self.disk = disk
        self.created = model is not None
        self.model = model or Model()
        self.allowed = (self.model,)
        self.directory: DatabaseDirectory | None = None
        self.reader: DatabaseDirectory | None = None

    def step(self, random: Random) -> None:
        """Do one step of the workload; what it changes is in `model` when it returns."""
        if self.directory is None:
            self.open()
        kinds = (self.append, self.commit, self.collect, self.reopen, self.read)
        random.choices(kinds, weights=(50, 25, 8, 7, 10))[0](random)

    def open(self) -> None:
        self.directory = DatabaseDirectory.open(PATH, read_only=False, files=self.disk)
        assert contents(self.directory, self.disk) == self.model
        self.created = True

    def append(self, random: Random) -> None:
        assert self.directory is not None
        record = random.randbytes(random.choice((0, 1, 20, 200, 2000)))
        self.change(replace(self.model, records=(*self.model.records, record)))
        self.directory.append(record)
        self.model = self.allowed[-1]

    def commit(self, random: Random) -> None:
        assert self.directory is not None
        files = [file for file in self.model.files if random.random() < 0.7]
        for _ in range(random.choice((0, 1, 1, 2))):
            content = random.randbytes(random.choice((0, 10, 3000)))
            name = self.directory.write_file("flat", lambda stream, b=content: stream.write(b))
            if random.random() < 0.9:
                files.append((name, content))
            else:
                self.directory.discard_file(name)
        state = random.randbytes(random.choice((1, 100, 1500)))
        self.change(Model(state, tuple(files), ()))
        self.directory.commit(state, [name for name, _ in files])
        self.model = self.allowed[-1]

    def collect(self, random: Random) -> None:
        assert self.directory is not None
        self.directory.collect_garbage()

    def reopen(self, random: Random) -> None:
        assert self.directory is not None
        self.directory.close()
        self.directory = None
        self.open()

    def read(self, random: Random) -> None:
        """Move the reader, or a new one; in between it keeps what it has."""
        if self.reader is None or random.random() < 0.3:
            self.close_reader()
            self.reader = DatabaseDirectory.open(PATH, read_only=True, files=self.disk)
        else:
            contents(self.reader, self.disk)
            self.reader.refresh()
        assert contents(self.reader, self.disk) == self.model

    def close_reader(self) -> None:
        if self.reader is not None:
            self.reader.close()
        self.reader = None

    def change(self, after: Model) -> None:
        self.allowed = (self.model, after)

    def settle(self) -> None:
        self.allowed = (self.model,)


def crashes(run: Run, disk: SimulatedDisk, random: Random) -> None:
    """Crash at this moment, in several ways, and check what each of them leaves."""
    for after in (
        disk.kill(),
        *(disk.cut_power(keep) for keep in (0, random.choice((0.2, 0.5, 0.9)), 1)),
    ):
        found = check_crashed(after, run)
        if random.random() < 0.2:
            # It crashes again while it recovers, or shortly after it has told what it found.
            after.crash_at = after.operations + random.randint(1, 25)
            allowed = run.allowed
            try:
                DatabaseDirectory.open(PATH, read_only=False, files=after)
                allowed = (found,)
            except Crash:
                pass
            again = after.kill() if random.random() < 0.3 else after.cut_power(random.random())
            check_crashed(again, run, allowed)


def check_crashed(disk: SimulatedDisk, run: Run, allowed: tuple[Model, ...] = ()) -> Model:
    """Open a disk after a crash; what is there must be allowed, and stay."""
    allowed = allowed or run.allowed
    disk = disk.kill()
    seen = None
    if run.created:
        with DatabaseDirectory.open(PATH, read_only=True, files=disk) as reader:
            seen = contents(reader, disk)
            assert seen in allowed
    found = reopened(disk)
    assert found in allowed
    if seen is not None and disk.boot != run.disk.boot:
        assert seen == found
    assert reopened(disk.cut_power(0)) == found
    with DatabaseDirectory.open(PATH, read_only=False, files=disk) as directory:
        directory.append(b"after the crash")
        directory.collect_garbage()
        again = disk.cut_power(0)
    assert reopened(again) == replace(found, records=(*found.records, b"after the crash"))
    return found


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_at_any_operation_leaves_the_state_before_or_after(seed: int) -> None:
    print(f"RAYDB_CRASH_SEED={seed}")
    random = Random(seed)
    disk = SimulatedDisk(ROOT, random)
    run = Run(disk)
    checking = Random(seed)
    disk.observe = lambda: crashes(run, disk, checking)
    moments = 0
    for _ in range(STEPS):
        run.step(random)
        run.settle()
        moments += 1
        crashes(run, disk, checking)
    print(f"{disk.operations} operations, {moments} steps")
    assert len(run.model.files) > 0 or run.model.records


def failures(run: Run, before: SimulatedDisk, step: int, random: Random) -> int:
    """Repeat a step from the disk before it, once for each of its operations, which fails.

    Returns the number of operations that failed.
    """
    operation = 0
    while True:
        operation += 1
        disk = before.kill()
        again = Run(disk, run.model if run.created else None)
        if run.created:
            again.open()
        number = random.choice((errno.EIO, errno.ENOSPC))
        disk.fault = Fault(disk.operations + operation, number, lasting=random.random() < 0.3)
        last = disk.fault.operation
        failed = None
        try:
            again.step(Random(f"{SEED} {step}"))
            again.settle()
        except OperationalError as error:
            failed = error
        assert failed is None or str(PATH) in str(failed)
        if disk.operations < last:
            assert failed is None
            return operation - 1
        disk.fault = None
        again.close_reader()
        check_failed(again, failed, random)


def check_failed(run: Run, failed: OperationalError | None, random: Random) -> None:
    """Check what a step leaves that failed at one operation, now that the disk works again."""
    if run.directory is None or random.random() < 0.3:
        # The process dies, or gives up and opens the database again.
        disk = run.disk.kill() if random.random() < 0.5 else run.disk.cut_power(random.random())
        check_crashed(disk, run)
        return
    try:
        run.directory.append(b"next")
    except OperationalError:
        assert failed is not None
        if random.random() < 0.3:
            run.directory.close()
            found = reopened(run.disk)
            assert found in run.allowed
            assert reopened(run.disk.cut_power(0)) == found
            return
        run.directory.commit(b"all of it", [])
        run.model = Model(b"all of it")
        run.directory.append(b"next")
    # The append worked: what failed is not there, and never will be.
    run.model = replace(run.model, records=(*run.model.records, b"next"))
    run.settle()
    run.directory.collect_garbage()
    check_crashed(run.disk.cut_power(random.random()), run)
    run.directory.close()
    assert reopened(run.disk) == run.model


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_a_failure_at_any_operation_is_clear_and_leaves_a_usable_database(seed: int) -> None:
    print(f"RAYDB_CRASH_SEED={seed}")
    random = Random(seed)
    disk = SimulatedDisk(ROOT, random)
    run = Run(disk)
    count = 0
    for step in range(STEPS):
        count += failures(run, disk, step, random)
        # The step itself, which works, from the same place and with the same choices.
        if run.directory is not None:
            run.close_reader()
            run.directory.close()
            run.open()
        run.step(Random(f"{SEED} {step}"))
        run.settle()
    print(f"{count} failures")
