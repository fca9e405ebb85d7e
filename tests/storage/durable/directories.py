"""Ways to open and to fill a database directory."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, BinaryIO

from faults import SimulatedDisk

from raydb.errors import OperationalError
from raydb.storage.durable.database_directory import DatabaseDirectory

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.durable.version import Version


SEED = 1
ROOT = Path("/disk")
SHOP = ROOT / "shop.raydb"


def write(content: bytes) -> Callable[[BinaryIO], None]:
    def to(stream: BinaryIO) -> None:
        stream.write(content)

    return to


def writer(path: Path) -> DatabaseDirectory:
    return DatabaseDirectory.open(path, read_only=False)


def reader(path: Path) -> DatabaseDirectory:
    return DatabaseDirectory.open(path, read_only=True)


def listing(path: Path) -> list[str]:
    return sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())


def small_disk() -> SimulatedDisk:
    """Return a disk with a database that was closed: 2 versions, 2 files, 3 records."""
    disk = SimulatedDisk(ROOT, Random(SEED))
    with DatabaseDirectory.open(SHOP, read_only=False, files=disk) as directory:
        files = [
            directory.write_file("flat", write(content)) for content in (b"one", b"number two")
        ]
        directory.commit(b"state", files)
        for record in (b"first", b"", b"the third"):
            directory.append(record)
    return disk


def outcome(disk: SimulatedDisk, *, read_only: bool) -> Version | str:
    """Open a copy of a disk; return what it holds, or what is said about it."""
    try:
        with DatabaseDirectory.open(SHOP, read_only=read_only, files=disk.kill()) as directory:
            directory.verify()
            return directory.shown
    except OperationalError as error:
        return str(error)
