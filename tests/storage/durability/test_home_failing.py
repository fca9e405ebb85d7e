"""A disk that fails: what was acknowledged stays, and the rest is told."""

from __future__ import annotations

import errno

import pytest
from faults import Fault, Handle, SimulatedDisk
from homes import SEED, SHOP, small_disk

from raydb.errors import (
    OperationalError,
)
from raydb.storage.durable.database_directory import Home


def failing(operations: int, number: int, lasting: bool = False) -> tuple[SimulatedDisk, Home]:
    """Return an open database whose disk fails at the n-th operation from now."""
    disk = small_disk()
    home = Home.open(SHOP, read_only=False, files=disk)
    disk.fault = Fault(disk.operations + operations, number, lasting)
    return disk, home


def test_a_full_disk_is_named_and_can_be_used_again() -> None:
    disk, home = failing(1, errno.ENOSPC, lasting=True)
    for _ in range(2):
        with pytest.raises(
            OperationalError, match=r"cannot append: .*/wal/2-.*\.log': no space left on device"
        ):
            home.append(b"too much")
    with pytest.raises(OperationalError, match=r"cannot commit: .*no space left on device"):
        home.commit(b"", [])
    disk.fault = None
    home.append(b"fits")
    home.close()
    with Home.open(SHOP, read_only=True, files=disk) as home:
        assert home.records == (b"first", b"", b"the third", b"fits")


def test_a_write_that_fails_after_its_last_byte_is_undone_durably(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = small_disk()
    home = Home.open(SHOP, read_only=False, files=disk)

    def fail(handle: Handle, data: bytes, offset: int) -> None:
        original(handle, data, offset)
        raise OSError(errno.EIO, "Input/output error", "x")

    original = Handle.write
    with monkeypatch.context() as patch:
        patch.setattr(Handle, "write", fail)
        with pytest.raises(OperationalError, match="input/output error"):
            home.append(b"undone")
    print(f"seed {SEED}")
    for after in (disk.kill(), *(disk.cut_power(0.5) for _ in range(50))):
        with Home.open(SHOP, read_only=False, files=after) as found:
            assert found.records == (b"first", b"", b"the third")


def test_after_a_failed_sync_the_log_takes_nothing_until_a_commit() -> None:
    _, home = failing(2, errno.EIO)
    with pytest.raises(OperationalError, match="input/output error"):
        home.append(b"perhaps")
    with pytest.raises(OperationalError, match="so only a checkpoint, or opening the database"):
        home.append(b"not now")
    home.commit(b"all", [])
    home.append(b"works")
    home.close()


def test_an_interrupt_leaves_a_record_out_or_stops_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for call, place in ((Handle, "write"), (Handle, "sync"), (Home, "_acknowledge")):
        disk = small_disk()
        home = Home.open(SHOP, read_only=False, files=disk)
        with monkeypatch.context() as patch:
            original = getattr(call, place)
            calls = iter((interrupt, *[original] * 9))
            patch.setattr(call, place, lambda *arguments, c=calls: next(c)(*arguments))
            with pytest.raises(KeyboardInterrupt):
                home.append(b"interrupted")
        if place == "_acknowledge":
            with pytest.raises(OperationalError, match="an earlier write of the log failed"):
                home.append(b"next")
            home.commit(b"all", [])
        home.append(b"next")
        home.close()
        with Home.open(SHOP, read_only=True, files=disk) as home:
            assert b"interrupted" not in home.records
            assert home.records[-1] == b"next"
