"""A writer that is killed loses nothing it acknowledged, and a reader beside it notices nothing.

RAYDB_KILLS says how often it is killed (default 20; a long run is 500), RAYDB_KILL_SEED when.

The writer counts. Number n is either a record of its own or, at a commit, the state is n and a data
file holds all numbers up to n. So a database that holds anything else than 1, 2, ... m is torn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from random import Random
from typing import TYPE_CHECKING

from raydb.storage.durable.database_directory import DatabaseDirectory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KILLS = int(os.environ.get("RAYDB_KILLS", "20"))
SEED = int(os.environ.get("RAYDB_KILL_SEED", "1"))

WRITER = """
import sys
from random import Random
from raydb.storage.durable.database_directory import DatabaseDirectory

path, random = sys.argv[1], Random(sys.argv[2])
directory = DatabaseDirectory.open(path, read_only=False)
number = int(directory.shown.state or b"0") + len(directory.shown.records)
while True:
    number += 1
    if random.random() < 0.8:
        directory.append(b"%d " % number + random.randbytes(random.choice((0, 100, 9000))))
    else:
        numbers = b" ".join(b"%d" % n for n in range(1, number + 1))
        name = directory.write_file("numbers", lambda stream: stream.write(numbers))
        directory.commit(b"%d" % number, [name])
        if random.random() < 0.5:
            directory.collect_garbage()
    print(number, flush=True)
"""


def numbers_of(directory: DatabaseDirectory) -> list[int]:
    """Return the numbers that one version of the database holds, from its file and its log."""
    snapshot = directory.shown
    numbers: list[int] = []
    for name in snapshot.files:
        content = directory.path_of(name).read_bytes()
        assert len(content) == snapshot.files[name]
        numbers += map(int, content.split())
    assert len(numbers) == int(snapshot.state or b"0")
    return numbers + [int(record.split(b" ")[0]) for record in snapshot.records]


def check_whole(directory: DatabaseDirectory) -> int:
    """Check that a database holds 1, 2, ... m, and return m."""
    numbers = numbers_of(directory)
    assert numbers == list(range(1, len(numbers) + 1))
    return len(numbers)


def watch(path: Path, acknowledged: Callable[[], int], stop: threading.Event) -> list[str]:
    """Read until told to stop, as other processes do; return what is wrong."""
    faults: list[str] = []
    newest = 0
    with DatabaseDirectory.open(path, read_only=True) as directory:
        while not stop.is_set():
            least = acknowledged()
            directory.refresh()
            count = check_whole(directory)
            if count < max(least, newest):
                faults.append(f"{count} numbers after {newest}, {least} acknowledged")
            newest = count
            time.sleep(0.001)
    return faults


def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    print(f"RAYDB_KILL_SEED={SEED} RAYDB_KILLS={KILLS}")
    random = Random(SEED)
    path = tmp_path / "shop.raydb"
    DatabaseDirectory.open(path, read_only=False).close()
    acknowledged = 0
    faults: list[str] = []
    failures: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        try:
            faults.extend(watch(path, lambda: acknowledged, stop))
        except BaseException as failure:
            failures.append(failure)
            raise

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for kill in range(KILLS):
            acknowledged = write_until_killed(path, f"{SEED} {kill}", random.random() * 0.15)
            with DatabaseDirectory.open(path, read_only=True) as directory:
                assert check_whole(directory) >= acknowledged
            with DatabaseDirectory.open(path, read_only=False) as directory:
                # At most the number that was being written when it was killed.
                assert acknowledged <= check_whole(directory) <= acknowledged + 1
                directory.verify()
                acknowledged = check_whole(directory)
    finally:
        stop.set()
        reader.join()
    assert not faults
    assert not failures
    print(f"{acknowledged} numbers")
    with DatabaseDirectory.open(path, read_only=False) as directory:
        directory.collect_garbage()
    assert len(list((path / "manifests").iterdir())) == 1
    assert len(list((path / "wal").iterdir())) == 1
    assert len(list((path / "data").iterdir())) <= 1


def write_until_killed(path: Path, seed: str, seconds: float) -> int:
    """Start a writer, kill it a while after its first number, return the last it acknowledged."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), seed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    first = writer.stdout.readline()
    assert first, writer.stderr.read().decode()
    timer = threading.Timer(seconds, writer.kill)
    timer.start()
    rest = writer.stdout.read()
    writer.wait()
    timer.join()
    assert writer.returncode == -9, writer.stderr.read().decode()
    writer.stdout.close()
    writer.stderr.close()
    # A number without the end of its line was not printed whole.
    return int((first + rest).rsplit(b"\n", 1)[0].split(b"\n")[-1])
