"""A database directory: versions that survive a crash, for one writer and any number of readers.

    shop.raydb/
      LOCK                       locked by the process that writes, with its number for messages
      RESERVE                    space for when the disk is full
      CURRENT                    what was acknowledged last (mark.Mark): a hint
      manifests/<version>.man    a version: the engine's state, its data files, its log
      data/<uuid>.<kind>         a data file, never changed
      wal/<version>-<id>.log     the records appended after that manifest

A commit syncs the new log and manifest under names that mean nothing yet, links the manifest to the
name of its version (which fails if that exists), and syncs the directory. The newest version is the
database. Its manifest was whole before it had its name, so if it is damaged now, or missing
although CURRENT tells of it, that is an error: an older one is never taken instead.

CURRENT is never waited for. It is a lower bound of what must be found. To a reader, as long as the
machine has not restarted, it is the upper bound as well: it sees nothing before that is durable.
After a restart a reader takes every whole record.

A reader holds a shared lock on the manifest of its version, which needs no right to write; garbage
collection keeps what a manifest names that it cannot lock exclusively. The lock ends with the
process, so that nothing is kept for a reader that was killed.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from raydb.errors import InternalError, OperationalError
from raydb.storage.durable.database_files import TEMPORARY, DatabaseFiles
from raydb.storage.durable.durable_database import DurableDatabase
from raydb.storage.durable.filesystem import LOCAL, reported
from raydb.storage.durable.garbage import collect_garbage
from raydb.storage.durable.manifest import DataFile, Manifest, encode_manifest, is_data_name
from raydb.storage.durable.mark import Mark, MarkFile
from raydb.storage.durable.refusals import UNFINISHED, overtaken, tell_doubt, unlocked
from raydb.storage.durable.reserve import Reserve
from raydb.storage.durable.version import Place
from raydb.storage.durable.wal import HEADER_SIZE, Tail, encode_header
from raydb.storage.durable.writer_lock import take_writer_lock
from raydb.storage.mapped import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raydb.storage.durable.filesystem import File, FileSystem, Lock
    from raydb.storage.mapped import Source

# A reader starts over when the version that it is about to lock has just been collected, or CURRENT
# is being overwritten. Each time a newer version exists; so many in a row do not happen by chance.
_ATTEMPTS = 100


class DatabaseDirectory(DurableDatabase):
    """A database directory: one writer process, any number of reader processes.

    >>> directory = DatabaseDirectory.open("shop.raydb", read_only=False)
    >>> name = directory.write_file("flat", lambda stream: stream.write(b"column chunks"))
    >>> directory.commit(b"catalog: one table", [name])
    2
    >>> directory.append(b"insert one row")
    >>> directory.close()
    >>> directory = DatabaseDirectory.open("shop.raydb", read_only=True)
    >>> shop = directory.shown
    >>> shop.version, shop.state, shop.records
    (2, b'catalog: one table', (b'insert one row',))

    Threads may share it. Errors of the file system are OperationalError and name the path.
    """

    def __init__(self, path: Path, files: FileSystem, *, read_only: bool) -> None:
        """Prepare; use `DatabaseDirectory.open`."""
        super().__init__(str(path), read_only=read_only)
        self._path = path.absolute()  # a program may go to another working directory
        self.local_folder = str(self._path)
        self._system = files
        self._disk = DatabaseFiles(self._path, files)
        self._lock: Lock | None = None
        self._mark = MarkFile(self._path / "CURRENT", files)
        self._reserve = Reserve(self._path / "RESERVE", files)
        self._pending: dict[str, DataFile] = {}  # written, not in the newest version
        self._unsynced: set[str] = set()  # of those, the ones whose names are not durable
        self._writing: set[str] = set()
        self._tried = 0  # the last version that a commit tried to make

    @staticmethod
    def open(path: str | Path, *, read_only: bool, files: FileSystem = LOCAL) -> DatabaseDirectory:
        """Open a database directory; a writer creates it when it is absent.

        Raises OperationalError if it does not exist, cannot be read, is open for writing in another
        process, and for whatever of it is damaged or missing.
        """
        directory = DatabaseDirectory(Path(path), files, read_only=read_only)
        try:
            with reported(f"database '{path}' cannot be opened"):
                if read_only:
                    directory._open_reader()
                else:
                    directory._open_writer()
        except BaseException:
            directory.close()
            raise
        return directory

    @property
    def folder(self) -> Path:
        """The database directory."""
        return self._path

    @property
    def paths(self) -> tuple[Path, Path]:
        """The manifest and the log of this version."""
        return self._disk.manifest_path(self.version), self._disk.log_path(self._place.manifest)

    def give_space(self) -> bool:
        """Give the reserve back to a full disk until the next collection; tell if there was one."""
        self._check_writer()
        return self._reserve.give_up()

    def path_of(self, name: str) -> Path:
        """Return the path of a data file that is part of this version, or was written for one."""
        if name not in self.shown.files and name not in self._pending:
            raise InternalError(
                f"file '{name}' is not part of version {self.version} of database '{self._name}'"
            )
        return self._disk.data_path(name)

    def open_file(self, name: str) -> Source:
        """Return the bytes of a data file, see `path_of`."""
        return open_source(self.path_of(name))

    def verify(self) -> None:
        """Read every data file, and raise OperationalError for one whose checksum is wrong."""
        self._check_open()
        with reported(f"database '{self._name}' cannot be verified"):
            for name, file in self._place.manifest.files.items():
                self._disk.verify(name, file)

    def write_file(self, kind: str, write: Callable[[BinaryIO], None]) -> str:
        """Write data/<uuid>.<kind> and return its name; a commit makes it part of the database.

        `write` gets a stream that can be written and told, not sought. What it raises is passed
        on, and nothing is left of the file. A file that no commit will name is given up with
        `discard_file`, or by closing.
        """
        self._check_writer()
        name = f"{uuid.uuid4().hex}.{kind}"
        assert is_data_name(name), name
        target = self._disk.data_path(name)
        temporary = target.with_name(name + TEMPORARY)
        failure = f"database '{self._name}' cannot write a file"
        self._writing.add(name)
        try:
            entry = self._disk.write_data(temporary, write, failure)
            with reported(failure):
                self._system.rename(temporary, target)
            self._unsynced.add(name)
            self._pending[name] = entry
        except BaseException:
            for path in (temporary, target):
                with suppress(OSError):
                    self._system.unlink(path)
            raise
        finally:
            self._writing.discard(name)
        return name

    def discard_file(self, name: str) -> None:
        """Give up a file that was written and not committed; garbage collection removes it."""
        self._pending.pop(name, None)
        self._unsynced.discard(name)

    def commit(self, state: bytes, files: Iterable[str]) -> int:
        """Make a new version of exactly these data files, and return its number.

        It begins an empty log: `state` and `files` must cover every record appended before, so no
        other thread appends meanwhile. Raises OperationalError if it fails. Then the earlier
        version stays, except where the error says that nobody can know: see `append`.
        """
        self._check_writer()
        failure = f"database '{self._name}' cannot commit"
        with self._mutex, self._writer.paused(), reported(failure):
            entries = self._entries(files)
            if not self._unsynced.isdisjoint(entries):
                self._system.sync_directory(self._path / "data")
                self._unsynced.difference_update(entries)
            version = self._next_version()
            self._disk.check_data(entries, version)
            self._tried = version
            manifest = Manifest(version, int.from_bytes(os.urandom(8)), entries, state)
            log = self._publish(manifest)
            self._begin(manifest, log)
            for name in entries:
                self._pending.pop(name, None)
            return version

    def refresh(self) -> bool:
        """Move a reader to the newest version and record; return whether anything changed.

        Data files of the version before may be gone afterwards, unless they are open or mapped.
        A writer always is at the newest.
        """
        self._check_open()
        if not self.read_only:
            return False
        with self._mutex, reported(f"database '{self._name}' cannot be read"):
            self._place.check_pin(self._name)
            return self._follow()

    def collect_garbage(self, keep: Iterable[str] = ()) -> list[str]:
        """Remove what neither the newest version nor a reader needs; return the names.

        The reserve is filled then, if it was given up. `keep` are data files of earlier versions
        that this process itself still reads.
        """
        self._check_writer()
        with self._mutex, reported(f"database '{self._name}' cannot collect garbage"):
            removed = collect_garbage(
                self._disk,
                self._place.manifest,
                lambda: {*self._writing, *self._pending, *keep},
            )
            self._reserve.keep()
            return removed

    def close(self) -> None:
        """Release the lock or pin; a second call does nothing. Files not committed are given up."""
        if self._closed:
            return
        self._closed = True
        if os.getpid() == self._process:
            self._writer.close()
            self._mark.sync()
        self._mark.close()
        for lock in (self._lock, self._place.pin):
            if lock is not None:
                lock.close()

    def __enter__(self) -> DatabaseDirectory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # What both a writer and a reader do

    def _check_writer(self) -> None:
        super()._check_writer()
        with reported(f"database '{self._name}' takes no changes"):
            self._check_lock()

    def _check_lock(self) -> None:
        """Raise where another process may have opened the database for writing."""
        if not self.is_locked:
            raise unlocked(self._name)

    @property
    def is_locked(self) -> bool:
        """Whether no other process can open the database for writing."""
        return self._lock is not None and self._lock.is_in_place

    # What a reader does

    def _open_reader(self) -> None:
        self._disk.check_exists(self._name)
        self._follow()

    def _follow(self) -> bool:
        """Show and pin the newest version that a reader may see; tell whether that is news."""
        for _ in range(_ATTEMPTS):
            mark = self._mark.read()
            # In the boot that it was written in, the mark is the upper bound as well.
            live = mark is not None and mark.boot != "" and mark.boot == self._system.boot
            bound = mark if live else None
            if bound and (bound.version, bound.log_size) == (self.version, self._place.tail.end):
                return False
            versions = self._disk.versions()
            version = self._disk.newest(versions, mark)
            if not version:
                raise OperationalError(f"database '{self._name}' has not been created completely")
            if bound and bound.version in versions:
                version = bound.version
            limit = bound.log_size if bound and bound.version == version else -1
            if version <= self.version:
                return self._read_on(mark, limit)
            pin: Lock | None = None
            with suppress(FileNotFoundError):  # It is being collected, or has been.
                path = self._disk.manifest_path(version)
                pin = self._system.lock(path, exclusive=False, create=False)
            if pin is not None:
                self._move(pin, version, mark, limit)
                return True
        raise OperationalError(f"database '{self._name}' changes faster than it can be read")

    def _move(self, pin: Lock, version: int, mark: Mark | None, limit: int) -> None:
        try:
            manifest, tail = self._disk.load(version, mark, limit)
        except BaseException:
            pin.close()
            raise
        earlier, self._place = self._place.pin, Place.of(manifest, tail, pin)
        if earlier is not None:
            earlier.close()

    def _read_on(self, mark: Mark | None, limit: int) -> bool:
        """Show the records that were appended to the log since."""
        place = self._place
        tail = self._disk.load_more(place.manifest, place.tail, mark, limit)
        if tail.end == place.tail.end:
            return False
        self._place = Place.of(place.manifest, tail, place.pin)
        return True

    # What a writer does

    def _open_writer(self) -> None:
        self._disk.enter()
        self._lock = take_writer_lock(self._system, self._path / "LOCK", self._name)
        self._disk.make_parts()
        mark = self._mark.read()
        version = self._disk.newest(self._disk.versions(), mark)
        if not version:
            self._create()
            return
        manifest, tail = self._disk.load(version, mark, -1)
        if mark is None or mark.version != version:
            # Whoever linked it may have died before its name was durable.
            self._system.sync_directory(self._path / "manifests")
        log = self._system.open(self._disk.log_path(manifest))
        self._place = Place.of(manifest, tail)
        self._writer.switch(log, manifest.log_id, tail)
        size = self._system.size(self._disk.log_path(manifest))
        if mark is None or (mark.version, mark.log_size) != (version, tail.end) or size > tail.end:
            self._disk.repair_log(log, manifest, tail)
        if mark != Mark(version, tail.end, self._system.boot):
            self._mark.write(version, tail.end)
        self._reserve.keep()

    def _create(self) -> None:
        """Make version 1, in a directory that a crash may have left half-made."""
        if self._disk.data_names():
            raise OperationalError(f"database '{self._name}' has data files, but no manifest left")
        self._system.sync_directory(self._path)
        self._system.sync_directory(self._path.parent)
        manifest = Manifest(1, int.from_bytes(os.urandom(8)), {}, b"")
        self._begin(manifest, self._publish(manifest))
        self._reserve.keep()

    def _begin(self, manifest: Manifest, log: File) -> None:
        """Go on with a version that has just been made durable, and with its log."""
        tail = Tail((), 0, 0, HEADER_SIZE)
        try:
            self._mark.write(manifest.version, tail.end)
        except BaseException as error:
            log.close()
            tell_doubt(error)
            raise
        self._place = Place.of(manifest, tail)
        self._writer.switch(log, manifest.log_id, tail)

    def _acknowledge(self, size: int) -> None:
        """Say that so many bytes of the log are durable, unless that log is no longer the last."""
        # The record is on the disk: what cannot be asked now is as it was before it was written.
        with suppress(OSError):
            self._check_lock()
            self._system.size(self._disk.manifest_path(self.version + 1))
            raise overtaken(self._name)
        self._mark.write(self.version, size)

    def _next_version(self) -> int:
        """Return the number of the next version; one that failed to be made keeps its own."""
        versions = self._disk.versions()
        if self.version not in versions or max(versions) > max(self.version, self._tried):
            raise overtaken(self._name)
        return max(self._tried, *versions) + 1

    def _entries(self, names: Iterable[str]) -> dict[str, DataFile]:
        """Return what is known of data files for the next manifest."""
        known = {**self._place.manifest.files, **self._pending}
        entries = {}
        for name in names:
            if name not in known:
                raise InternalError(f"file '{name}' was not written for database '{self._name}'")
            entries[name] = known[name]
        return entries

    def _publish(self, manifest: Manifest) -> File:
        """Make a version durable, with an empty log, and return that log.

        From the moment that the manifest has its name a crash may bring it back, so that the
        earlier log takes no more records unless that is undone.
        """
        target = self._disk.manifest_path(manifest.version)
        temporary = target.with_name(uuid.uuid4().hex + TEMPORARY)
        log_path = self._disk.log_path(manifest)
        log: File | None = None
        is_linked = False
        distrust, self._writer.distrust = self._writer.distrust, UNFINISHED
        try:
            log = self._disk.write_new(log_path, encode_header(manifest.log_id))
            self._system.sync_directory(log_path.parent)
            self._disk.write_new(temporary, encode_manifest(manifest)).close()
            self._system.link(temporary, target)
            is_linked = True
            self._system.sync_directory(target.parent)
        except BaseException as error:
            if log is not None:
                log.close()
            if self._disk.withdraw(target) if is_linked else not self._disk.may_exist(target):
                self._writer.distrust = distrust
                for path in (temporary, log_path):
                    with suppress(OSError):
                        self._system.unlink(path)
            else:
                tell_doubt(error)
            raise
        with suppress(OSError):  # garbage collection removes it as well
            self._system.unlink(temporary)
        return log
