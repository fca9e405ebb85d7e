"""The files of a database directory: how they are named, read, checked and written.

Nothing here remembers anything; `DatabaseDirectory` knows which version is open and who holds a
lock.
"""

from __future__ import annotations

import io
import re
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from xxhash import xxh3_64

from raydb.errors import OperationalError
from raydb.interrupts import check_interrupt
from raydb.storage.durable.filesystem import reported
from raydb.storage.durable.manifest import (
    DataFile,
    Manifest,
    decode_manifest,
    is_data_name,
)
from raydb.storage.durable.wal import Tail, decode_frames, decode_log
from raydb.storage.flat.metadata.damage import damaged
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from raydb.storage.durable.filesystem import File, FileSystem
    from raydb.storage.durable.mark import Mark

# What is not yet written to its end has this after its name.
TEMPORARY = ".tmp"

_MANIFEST_NAME = re.compile(r"([1-9][0-9]{0,17})\.man")
_LOG_NAME = re.compile(r"[1-9][0-9]{0,17}-[0-9a-f]{16}\.log")
_FOLDERS = ("manifests", "data", "wal")
_ENTRIES = {"LOCK", "RESERVE", "CURRENT", *_FOLDERS}
_READ_BYTES = 1 << 22
_WRITE_BYTES = 1 << 20


def log_name(manifest: Manifest) -> str:
    """Return the name of the log that follows a manifest."""
    return f"{manifest.version}-{manifest.log_id:016x}.log"


@dataclass(frozen=True)
class DatabaseFiles:
    """The files of a database directory in a file system."""

    path: Path
    system: FileSystem

    def manifest_path(self, version: int) -> Path:
        """Return the path of a version's manifest."""
        return self.path / "manifests" / f"{version}.man"

    def log_path(self, manifest: Manifest) -> Path:
        """Return the path of the log that follows a manifest."""
        return self.path / "wal" / log_name(manifest)

    def data_path(self, name: str) -> Path:
        """Return the path of a data file."""
        return self.path / "data" / name

    # The directory

    def enter(self) -> None:
        """Make the directory if it is absent; raise if it is something else than a database."""
        try:
            names = self.system.names(self.path)
        except NotADirectoryError:
            raise OperationalError(f"'{self.path}' is a file, not a database directory") from None
        except FileNotFoundError:
            names = []
            try:
                with suppress(FileExistsError):  # another process was faster; the lock decides
                    self.system.make_directory(self.path)
            except FileNotFoundError:
                raise OperationalError(f"directory '{self.path.parent}' does not exist") from None
        foreign = sorted(set(names) - _ENTRIES)
        if foreign and "manifests" not in names:
            raise OperationalError(
                f"directory '{self.path}' is not a database: it holds '{foreign[0]}', no manifests"
            )

    def check_exists(self, name: str) -> None:
        """Raise OperationalError, with the database's name, where there is none to be read."""
        try:
            names = self.system.names(self.path)
        except FileNotFoundError:
            raise OperationalError(f"database '{name}' does not exist") from None
        except NotADirectoryError:
            raise OperationalError(f"'{name}' is a file, not a database directory") from None
        if "manifests" not in names:
            raise OperationalError(f"directory '{name}' is not a database: no manifests")
        self.check_parts()

    def make_parts(self) -> None:
        """Make the folders that are absent; raise for what is none."""
        made = False
        for part in _FOLDERS:
            with suppress(FileExistsError):
                self.system.make_directory(self.path / part)
                made = True
        self.check_parts()
        if made:
            self.system.sync_directory(self.path)

    def check_parts(self) -> None:
        """Raise OSError where a folder is a link, which may lead anywhere, or a file."""
        for part in _FOLDERS:
            with suppress(FileNotFoundError):  # an empty one may be lost where a database is copied
                self.system.check_directory(self.path / part)

    # Names

    def versions(self) -> list[int]:
        """Return the versions that have a manifest, in no order."""
        names = self.system.names(self.path / "manifests")
        matches = (_MANIFEST_NAME.fullmatch(name) for name in names)
        return [int(match.group(1)) for match in matches if match is not None]

    def temporary_manifests(self) -> list[str]:
        """Return the names of manifests that were not linked, or still have their first name."""
        names = self.system.names(self.path / "manifests")
        return [name for name in names if name.endswith(TEMPORARY)]

    def data_names(self) -> list[str]:
        """Return the names of data files, also of those not yet written to their end."""
        names = self.system.names(self.path / "data")
        return [name for name in names if is_data_name(name.removesuffix(TEMPORARY))]

    def log_names(self) -> list[str]:
        """Return the names of logs."""
        names = self.system.names(self.path / "wal")
        return [name for name in names if _LOG_NAME.fullmatch(name)]

    def may_exist(self, path: Path) -> bool:
        """Tell whether there is a file, or no way to find out."""
        try:
            self.system.size(path)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def withdraw(self, path: Path) -> bool:
        """Remove the name of a file durably; tell whether that is certain."""
        try:
            self.system.unlink(path)
            self.system.sync_directory(path.parent)
        except OSError:
            return False
        return True

    # Reading

    def newest(self, versions: Iterable[int], mark: Mark | None) -> int:
        """Return the newest of the versions (0: none), which must not be older than the mark."""
        newest = max(versions, default=0)
        if mark is not None and mark.version > newest:
            raise OperationalError(
                f"file '{self.manifest_path(mark.version)}' is missing: this version was "
                f"acknowledged, and the newest that is left is {newest or 'none'}"
            )
        return newest

    def read_manifest(self, version: int) -> Manifest:
        """Return the manifest of a version; OperationalError if it is damaged."""
        path = self.manifest_path(version)
        return decode_manifest(self.system.read(path), version, path)

    def load(self, version: int, mark: Mark | None, limit: int) -> tuple[Manifest, Tail]:
        """Return a version and what the first `limit` bytes of its log (-1: all) hold.

        Raises OperationalError if anything is damaged or missing, or a data file has another size.
        """
        manifest = self.read_manifest(version)
        self.check_data(manifest.files, version)
        path = self.log_path(manifest)
        try:
            data = self.system.read(path, 0, limit)
        except FileNotFoundError:
            raise _missing(path, version) from None
        tail = decode_log(data, manifest.log_id, path)
        _check_acknowledged(tail, version, mark, path)
        return manifest, tail

    def load_more(self, manifest: Manifest, tail: Tail, mark: Mark | None, limit: int) -> Tail:
        """Return the tail of a log now, of which all before `tail` is known."""
        start = tail.end
        if 0 <= limit <= start:
            return tail
        path = self.log_path(manifest)
        data = self.system.read(path, start, limit - start if limit > 0 else -1)
        tail = decode_frames(data, tail, start, manifest.log_id, path)
        _check_acknowledged(tail, manifest.version, mark, path)
        return tail

    def check_data(self, files: Mapping[str, DataFile], version: int) -> None:
        """Raise OperationalError for a file of a version that is missing or of another size."""
        for name, file in files.items():
            path = self.data_path(name)
            try:
                size = self.system.size(path)
            except FileNotFoundError:
                raise _missing(path, version) from None
            _check_size(path, size, file)

    def verify(self, name: str, file: DataFile) -> None:
        """Read a data file; OperationalError if its size or checksum is another."""
        path, size, digest = self.data_path(name), 0, xxh3_64()
        while part := self.system.read(path, size, _READ_BYTES):
            digest.update(part)
            size += len(part)
        _check_size(path, size, file)
        if digest.intdigest() != file.checksum:
            expected = f"checksum {file.checksum:016x} of the whole file"
            raise damaged(str(path), 0, expected, f"{digest.intdigest():016x}")

    # Writing

    def write_new(self, path: Path, content: bytes) -> File:
        """Make a new file with this content, durable except for its name; it stays open."""
        file = self.system.create(path)
        try:
            file.write(content, 0)
            file.sync()
        except BaseException:
            file.close()
            raise
        return file

    def write_data(self, path: Path, write: Callable[[BinaryIO], None], failure: str) -> DataFile:
        """Make a new file of what `write` writes, durable except for its name.

        Errors of the file system are OperationalError that begins with `failure`; whatever else
        `write` raises is passed on.
        """
        with reported(failure):
            file = self.system.create(path)
        try:
            sink = _Sink(file, failure)
            stream = io.BufferedWriter(cast("io.RawIOBase", sink), _WRITE_BYTES)
            try:
                write(cast("BinaryIO", stream))
                if not stream.closed:
                    stream.flush()
            finally:
                sink.file = None
            with reported(failure):
                file.sync()
        finally:
            file.close()
        return DataFile(sink.size, sink.digest.intdigest())

    def repair_log(self, log: File, manifest: Manifest, tail: Tail) -> None:
        """Cut a torn frame off, and make the last whole one durable.

        It may never have been synced, or its sync may have failed, after which the system takes its
        pages for written. Writing the bytes again makes sure that the next sync writes them.
        """
        path = self.log_path(manifest)
        if self.system.size(path) > tail.end:
            log.truncate(tail.end)
        log.write(self.system.read(path, tail.last, tail.end - tail.last), tail.last)
        log.sync()


class _Sink(io.RawIOBase):
    """Passes bytes on to a new file, counting and checksumming them."""

    def __init__(self, file: File, failure: str) -> None:
        # None when it is over: a stream that is dropped flushes what a failure has left in it.
        self.file: File | None = file
        self.size = 0
        self.digest = xxh3_64()
        self._failure = failure

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        check_interrupt()
        content = memoryview(data).cast("B")
        if self.file is not None:
            with reported(self._failure):
                self.file.write(content, self.size)
            self.digest.update(content)
            self.size += len(content)
        return len(content)


def _missing(path: Path, version: int) -> OperationalError:
    return OperationalError(f"file '{path}' is missing: version {version} names it")


def _check_size(path: Path, size: int, file: DataFile) -> None:
    if size != file.size:
        raise damaged(str(path), min(size, file.size), f"{file.size} bytes", size)


def _check_acknowledged(tail: Tail, version: int, mark: Mark | None, path: Path) -> None:
    """Raise if a log ends before what was acknowledged."""
    if mark is not None and mark.version == version and tail.end < mark.log_size:
        expected = f"whole frames to offset {mark.log_size}, which were acknowledged"
        raise damaged(str(path), tail.end, expected, "none here")
