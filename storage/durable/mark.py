"""CURRENT: what was acknowledged last.

It is a line of text: version, bytes of its log, boot id ("-": none), XXH3-64 of the line before. It
is overwritten in place and not synced, so a crash may leave an older or a broken one. A broken one
is no mark at all.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from raydb.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from raydb.storage.durable.filesystem import File, FileSystem

_MARK = re.compile(rb"(\d{20}) (\d{20}) ([0-9a-f-]{1,40}) ([0-9a-f]{16})\n")
_MARK_BYTES = 256  # more than any mark has


@dataclass(frozen=True)
class Mark:
    """What had been acknowledged: a version, so many bytes of its log, in one boot ("": any)."""

    version: int
    log_size: int
    boot: str


class MarkFile:
    """The file CURRENT, opened for writing when it is first overwritten."""

    def __init__(self, path: Path, system: FileSystem) -> None:
        self._path, self._system = path, system
        self._file: File | None = None

    def read(self) -> Mark | None:
        """Return what was acknowledged, or None if the file says nothing."""
        for _ in range(3):  # a writer may be overwriting it at this moment
            try:
                mark = decode_mark(self._system.read(self._path, 0, _MARK_BYTES))
            except FileNotFoundError:
                return None
            if mark is not None:
                return mark
        return None

    def write(self, version: int, log_size: int) -> None:
        """Say that a version and so many bytes of its log are durable.

        If that fails the file is removed, as readers would trust the earlier mark, and if that
        fails too, what was to be acknowledged is not: OSError.
        """
        try:
            if self._file is None:
                try:
                    self._file = self._system.open(self._path)
                except FileNotFoundError:
                    self._file = self._system.create(self._path)
            self._file.write(encode_mark(Mark(version, log_size, self._system.boot)), 0)
        except OSError:
            self.close()
            with suppress(FileNotFoundError):
                self._system.unlink(self._path)

    def sync(self) -> None:
        """Make the mark durable. A hint: without it, a later open knows less of what must be."""
        if self._file is not None:
            with suppress(OSError):
                self._file.sync()

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()
        self._file = None


def encode_mark(mark: Mark) -> bytes:
    r"""Return the line for CURRENT.

    >>> encode_mark(Mark(7, 32, ""))
    b'00000000000000000007 00000000000000000032 - 31026c912927e74e\n'
    """
    line = f"{mark.version:020d} {mark.log_size:020d} {mark.boot or '-'} ".encode("ascii")
    return line + f"{xxh3_64_intdigest(line):016x}\n".encode("ascii")


def decode_mark(data: bytes) -> Mark | None:
    """Return the mark that `encode_mark` made a line of, or None for anything else.

    A line may be followed by the rest of a longer one.
    """
    match = _MARK.match(data)
    if match is None:
        return None
    version, log_size, boot, checksum = match.groups()
    if int(checksum, 16) != xxh3_64_intdigest(data[: match.start(4)]):
        return None
    return Mark(int(version), int(log_size), "" if boot == b"-" else boot.decode())
