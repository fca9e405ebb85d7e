"""A damaged database directory is an error that names the place, or harmless."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from directories import SEED, SHOP, outcome, small_disk, writer
from xxhash import xxh3_64_intdigest

from raydb.errors import (
    DatabaseError,
    NotSupportedError,
    OperationalError,
)
from raydb.storage.durable import wal as log
from raydb.storage.durable.manifest import decode_manifest
from raydb.storage.durable.mark import Mark, decode_mark, encode_mark
from raydb.storage.durable.version import Version

if TYPE_CHECKING:
    from faults import SimulatedDisk


def damageable(disk: SimulatedDisk, suffix: str) -> Path:
    """Return the file of the newest version with a suffix."""
    folder = SHOP / {".man": "manifests", ".log": "wal", ".flat": "data"}.get(suffix, "")
    names = [name for name in disk.names(folder) if name.endswith(suffix)]
    return folder / max(names)


def with_content(disk: SimulatedDisk, path: Path, content: bytes) -> SimulatedDisk:
    copy = disk.kill()
    file = copy.open(path)
    file.truncate(0)
    file.write(content, 0)
    file.sync()
    return copy


def flips(content: bytes) -> list[bytes]:
    return [
        content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]
        for place in range(len(content))
        for bit in range(8)
    ]


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".man", ".log", ".flat", "CURRENT", "LOCK"])
def test_every_flip_and_truncation_is_named_or_harmless(suffix: str) -> None:
    disk = small_disk()
    expected = outcome(disk, read_only=True)
    assert isinstance(expected, Version)
    path = damageable(disk, suffix)
    content = disk.peek(path)
    said = 0
    for bad in (*flips(content), *(content[:size] for size in range(len(content)))):
        for read_only in (True, False):
            found = outcome(with_content(disk, path, bad), read_only=read_only)
            if found != expected:
                assert isinstance(found, str)
                assert f"file '{path}' is damaged at offset " in found
                said += 1
    # CURRENT is a hint and LOCK a message: nothing is lost. Of the others, everything is told.
    least = 0 if suffix in ("CURRENT", "LOCK") else 2 * 9 * len(content)
    assert said == least


def test_without_a_mark_only_the_last_frame_can_be_taken_for_torn() -> None:
    disk = small_disk()
    disk.unlink(SHOP / "CURRENT")
    expected = outcome(disk, read_only=True)
    assert isinstance(expected, Version)
    shorter = Version(expected.version, expected.state, expected.records[:-1], expected.files)
    path = damageable(disk, ".log")
    content = disk.peek(path)
    last = len(content) - len(log.encode_frame([b"the third"], 3, 0))
    for place, bad in enumerate(flips(content)):
        found = outcome(with_content(disk, path, bad), read_only=False)
        if place // 8 < last:
            assert isinstance(found, str)
            assert f"file '{path}' is damaged at offset" in found
        else:
            assert found == shorter


def test_a_torn_tail_is_cut_off(path: Path) -> None:
    with writer(path) as directory:
        directory.append(b"record")
    (file,) = (path / "wal").iterdir()
    whole = file.read_bytes()
    for tail in (b"\0" * 5000, log.encode_frame([b"next"], 2, 0), b"\xf1RAY" * 100):
        file.write_bytes(whole + tail)
        with writer(path) as directory:
            assert directory.shown.records == (b"record",)
            assert file.read_bytes() == whole


@pytest.mark.parametrize("suffix", [".man", ".log", ".flat"])
def test_a_missing_file_is_named(suffix: str) -> None:
    disk = small_disk()
    path = damageable(disk, suffix)
    disk.unlink(path)
    for read_only in (True, False):
        found = outcome(disk, read_only=read_only)
        assert isinstance(found, str)
        assert f"file '{path}' is missing" in found


def test_lost_manifests_are_told_even_without_a_mark() -> None:
    disk = small_disk()
    disk.unlink(SHOP / "CURRENT")
    for name in disk.names(SHOP / "manifests"):
        disk.unlink(SHOP / "manifests" / name)
    assert outcome(disk, read_only=False) == (
        f"database '{SHOP}' has data files, but no manifest left"
    )


def test_the_log_of_another_version_is_not_replayed() -> None:
    disk = small_disk()
    newest = damageable(disk, ".log")
    (older,) = (name for name in disk.names(SHOP / "wal") if name != newest.name)
    found = outcome(with_content(disk, newest, disk.peek(SHOP / "wal" / older)), read_only=False)
    assert isinstance(found, str)
    assert f"file '{newest}' is damaged at offset 16: expected log id" in found


def test_a_stale_frame_of_the_same_log_is_not_replayed() -> None:
    frames = [log.encode_frame([b"%d" % i], i, 7) for i in (1, 2, 3)]
    header = log.encode_header(7)
    path = Path("x.log")
    tail = log.decode_log(header + frames[0] + frames[1] + frames[0], 7, path)
    assert tail.records == (b"1", b"2")
    assert log.decode_log(header + log.encode_frame([b"x"], 1, 8), 7, path).records == ()
    with pytest.raises(OperationalError, match="expected frame 2, found frame 3"):
        log.decode_log(header + frames[0] + frames[2], 7, path)


def test_hostile_frames_with_right_checksums_are_damage() -> None:
    def frame(body: bytes, count: int) -> bytes:
        head = struct.pack("<4sIIQQ", b"\xf1RAY", len(body), count, 1, xxh3_64_intdigest(body))
        return head + struct.pack("<Q", xxh3_64_intdigest(head, 7)) + body

    path = Path("x.log")
    for body, count in ((b"", 1), (b"\xff" * 4, 1), (b"abcd", 2**32 - 1), (b"left over", 0)):
        with pytest.raises(OperationalError, match=r"file 'x\.log' is damaged at offset 68"):
            log.decode_log(log.encode_header(7) + frame(body, count), 7, path)


def manifest(
    layout: int = 1, count: int = 1, version: int = 3, state: int = 5, name: str = "0" * 32 + ".a"
) -> bytes:
    content = struct.pack("<8sIIQQQ", b"RAYDBMAN", layout, count, version, 9, state)
    content += struct.pack("<BQQ", len(name), 1, 2) + name.encode() + b"state"
    return content + struct.pack("<Q", xxh3_64_intdigest(content))


def test_hostile_manifests_with_right_checksums_are_damage() -> None:
    path = Path("3.man")
    assert decode_manifest(manifest(), 3, path).state == b"state"
    for hostile, offset in (
        (manifest(count=2), 91),
        (manifest(count=2**32 - 1), 91),
        (manifest(count=0), 32),
        (manifest(version=4), 16),
        (manifest(state=4), 32),
        (manifest(state=2**64 - 1), 32),
        (manifest(name="../" * 11 + ".a"), 57),
        (manifest(name=""), 57),
    ):
        with pytest.raises(OperationalError, match=rf"'3\.man' is damaged at offset {offset}:"):
            decode_manifest(hostile, 3, path)
    with pytest.raises(NotSupportedError, match="format 2 of database directories"):
        decode_manifest(manifest(layout=2), 3, path)


def test_random_bytes_are_never_more_than_an_error() -> None:
    print(f"seed {SEED}")
    random = Random(SEED)
    path = Path("x")
    for _ in range(3000):
        content = bytearray(manifest()[:-8])
        for _ in range(random.randint(1, 4)):
            content[random.randrange(8, len(content))] = random.choice((0, 1, 127, 128, 255))
        data = bytes(content) + struct.pack("<Q", xxh3_64_intdigest(bytes(content)))
        with suppress(DatabaseError):
            decode_manifest(data, 3, path)
        decode_mark(random.randbytes(random.randrange(200)))


def test_a_mark_is_read_back() -> None:
    for mark in (Mark(1, 32, ""), Mark(2**60, 2**62, "97c140d1-7c60-4821-9872-55699260be38")):
        assert decode_mark(encode_mark(mark)) == mark
        assert decode_mark(encode_mark(mark) + b"rest of a longer one\n") == mark
    assert decode_mark(b"") is None
