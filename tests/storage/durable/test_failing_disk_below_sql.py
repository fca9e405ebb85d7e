"""A disk that fails: what was acknowledged stays, and the rest is told."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from directories import SEED, SHOP, small_disk
from faults import Fault, Handle, SimulatedDisk

from raydb.errors import (
    OperationalError,
)
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.mark import MarkFile

if TYPE_CHECKING:
    from pathlib import Path


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


def test_what_a_failed_sync_leaves_is_undone_durably() -> None:
    disk, directory = failing(2, errno.EIO)
    with pytest.raises(OperationalError, match=r"input/output error$"):
        directory.append(b"undone")
    print(f"seed {SEED}")
    for after in (disk.kill(), *(disk.cut_power(0.5) for _ in range(50))):
        with DatabaseDirectory.open(SHOP, read_only=False, files=after) as found:
            assert found.shown.records == (b"first", b"", b"the third")
    directory.append(b"works")
    directory.close()


def test_a_commit_whose_last_sync_fails_is_undone_durably(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = small_disk()
    directory = DatabaseDirectory.open(SHOP, read_only=False, files=disk)
    original = SimulatedDisk.sync_directory

    def fail(disk: SimulatedDisk, path: Path) -> None:
        if path.name == "manifests" and disk.fault is None:
            disk.fault = Fault(disk.operations + 1, errno.EIO)
        original(disk, path)

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedDisk, "sync_directory", fail)
        with pytest.raises(OperationalError, match=r"input/output error$"):
            directory.commit(b"undone", [])
    for after in (disk.kill(), *(disk.cut_power(0.5) for _ in range(50))):
        with DatabaseDirectory.open(SHOP, read_only=False, files=after) as found:
            assert found.shown.state == b"state"
            assert found.shown.records == (b"first", b"", b"the third")
    directory.append(b"works")
    assert directory.commit(b"done", []) == 4
    directory.close()


def test_where_nothing_can_be_undone_the_error_says_so_and_the_log_takes_nothing() -> None:
    disk, directory = failing(2, errno.EIO, lasting=True)
    with pytest.raises(OperationalError, match="input/output error; only a checkpoint, or opening"):
        directory.append(b"perhaps")
    disk.fault = None
    with pytest.raises(OperationalError, match="so only a checkpoint, or opening the database"):
        directory.append(b"not now")
    directory.commit(b"all", [])
    directory.append(b"works")
    directory.close()
    for operation in (10, 12):  # the folder of the manifest is synced, CURRENT is opened
        disk, directory = failing(operation, errno.EIO, lasting=True)
        with pytest.raises(OperationalError, match="a commit did not finish, so only a checkpoint"):
            directory.commit(b"perhaps", [])
        disk.fault = None
        assert directory.commit(b"all", []) == 4
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
