"""A disk that fails: what was acknowledged stays, and the rest is told."""

from __future__ import annotations

import errno

import pytest
from directories import SEED, SHOP, small_disk
from faults import Fault, Handle, SimulatedDisk

from raydb.errors import (
    OperationalError,
)
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.mark import MarkFile


def failing(
    operations: int, number: int, lasting: bool = False
) -> tuple[SimulatedDisk, DatabaseDirectory]:
    """Return an open database whose disk fails at the n-th operation from now."""
    disk = small_disk()
    directory = DatabaseDirectory.open(SHOP, read_only=False, files=disk)
    disk.fault = Fault(disk.operations + operations, number, lasting)
    return disk, directory


def test_a_full_disk_is_named_and_can_be_used_again() -> None:
    disk, directory = failing(1, errno.ENOSPC, lasting=True)
    for _ in range(2):
        with pytest.raises(
            OperationalError, match=r"cannot append: .*/wal/2-.*\.log': no space left on device"
        ):
            directory.append(b"too much")
    with pytest.raises(OperationalError, match=r"cannot commit: .*no space left on device"):
        directory.commit(b"", [])
    disk.fault = None
    directory.append(b"fits")
    directory.close()
    with DatabaseDirectory.open(SHOP, read_only=True, files=disk) as directory:
        assert directory.shown.records == (b"first", b"", b"the third", b"fits")


def test_a_write_that_fails_after_its_last_byte_is_undone_durably(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = small_disk()
    directory = DatabaseDirectory.open(SHOP, read_only=False, files=disk)

    def fail(handle: Handle, data: bytes, offset: int) -> None:
        original(handle, data, offset)
        raise OSError(errno.EIO, "Input/output error", "x")

    original = Handle.write
    with monkeypatch.context() as patch:
        patch.setattr(Handle, "write", fail)
        with pytest.raises(OperationalError, match="input/output error"):
            directory.append(b"undone")
    print(f"seed {SEED}")
    for after in (disk.kill(), *(disk.cut_power(0.5) for _ in range(50))):
        with DatabaseDirectory.open(SHOP, read_only=False, files=after) as found:
            assert found.shown.records == (b"first", b"", b"the third")


def test_after_a_failed_sync_the_log_takes_nothing_until_a_commit() -> None:
    _, directory = failing(2, errno.EIO)
    with pytest.raises(OperationalError, match="input/output error"):
        directory.append(b"perhaps")
    with pytest.raises(OperationalError, match="so only a checkpoint, or opening the database"):
        directory.append(b"not now")
    directory.commit(b"all", [])
    directory.append(b"works")
    directory.close()


def test_an_interrupt_leaves_a_record_out_or_stops_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for call, place in ((Handle, "write"), (Handle, "sync"), (MarkFile, "write")):
        disk = small_disk()
        directory = DatabaseDirectory.open(SHOP, read_only=False, files=disk)
        with monkeypatch.context() as patch:
            original = getattr(call, place)
            calls = iter((interrupt, *[original] * 9))
            patch.setattr(call, place, lambda *arguments, c=calls: next(c)(*arguments))
            with pytest.raises(KeyboardInterrupt):
                directory.append(b"interrupted")
        if call is MarkFile:
            with pytest.raises(OperationalError, match="an earlier write of the log failed"):
                directory.append(b"next")
            directory.commit(b"all", [])
        directory.append(b"next")
        directory.close()
        with DatabaseDirectory.open(SHOP, read_only=True, files=disk) as directory:
            assert b"interrupted" not in directory.shown.records
            assert directory.shown.records[-1] == b"next"
