"""A database in an object store: one writer at a time, any number of readers.

    s3://bucket/shop.raydb/
      HEAD                   a version, its log, some bytes of its files (head.py)
      data/<uuid>.<kind>     a data file, never changed
      garbage.json           files that no version names, and since when (sweep.py)

A commit writes data files, then HEAD, on the condition that HEAD still is what this writer read or
wrote last. Whoever loses a race is told which version won, and goes on from there. Nothing is
listed, locked or renamed.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xxhash import xxh3_64_intdigest

from raydb.errors import InternalError, OperationalError
from raydb.running import current
from raydb.storage.durable.database_files import DatabaseFiles
from raydb.storage.durable.durable_database import DurableDatabase
from raydb.storage.durable.filesystem import LOCAL
from raydb.storage.durable.manifest import Manifest, encode_manifest, is_data_name
from raydb.storage.durable.version import Place
from raydb.storage.durable.wal import HEADER_SIZE, Tail, encode_header
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.mapped import open_source
from raydb.storage.objects.cache import ObjectCache, temporary_backing
from raydb.storage.objects.early_parts import chosen_parts, early_parts
from raydb.storage.objects.head import Head, Parts, decode_version
from raydb.storage.objects.head_object import HeadLog, HeadObject
from raydb.storage.objects.remote_file import RemoteFile, bring_together
from raydb.storage.objects.store import current_access, open_store
from raydb.storage.objects.sweep import sweep
from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raydb.storage.durable.manifest import DataFile
    from raydb.storage.objects.store import ObjectStore


class DatabaseObjects(DurableDatabase):
    """A database in an object store, as `DatabaseDirectory` is one on disk; threads may share it.

    Errors are OperationalError and name the URL.
    """

    # HEAD is written as a whole: what is larger goes to files, and a longer log becomes some.
    most_logged_bytes = 1 << 17
    most_log_bytes = 1 << 20

    def __init__(self, url: str, store: ObjectStore, prefix: str, *, read_only: bool) -> None:
        """Prepare; use `DatabaseObjects.open`."""
        super().__init__(url, read_only=read_only)
        self._store, self._prefix = store, prefix
        self._cache = ObjectCache.of(current_access())
        self._pending: dict[str, tuple[DataFile, Parts]] = {}
        self._open_files: dict[str, RemoteFile] = {}
        self._head = HeadObject(url, store, f"{prefix}HEAD")
        self._seen_at = 0.0

    @staticmethod
    def open(url: str, *, read_only: bool) -> DatabaseObjects:
        """Open a database; a writer creates it when it is absent.

        Raises OperationalError if it does not exist, cannot be read, or is damaged.
        """
        store, prefix = open_store(url)
        prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        database = DatabaseObjects(url, store, prefix, read_only=read_only)
        database._read_head(database._head.read)
        if not database._head.is_there:
            if read_only:
                raise OperationalError(f"database '{url}' does not exist")
            database._make(Manifest(1, int.from_bytes(os.urandom(8)), {}, b""), {})
        return database

    # What it holds

    @property
    def folder(self) -> str:
        """The URL."""
        return self._name

    @property
    def paths(self) -> tuple[str, str]:
        """What holds the manifest and the log of this version."""
        return self._head.url, self._head.url

    @property
    def is_overtaken(self) -> bool:
        """Whether another writer has made a version, which `refresh` reads."""
        return self._head.is_overtaken

    @property
    def is_locked(self) -> bool:
        """Whether it is still what was opened: others may write, which a commit finds out."""
        return not self._closed

    def give_space(self) -> bool:
        """Give nothing: there is no disk that is full."""
        return False

    def open_file(self, name: str) -> RemoteFile:
        """Return the bytes of a data file of this version, or of one that was written for one."""
        known = self.shown.files.get(name)
        if known is None:
            if name not in self._pending:
                raise InternalError(
                    f"file '{name}' is not part of version {self.version} of '{self._name}'"
                )
            known = self._pending[name][0].size
        file = self._open_files.get(name)
        if file is None:
            file = self._open_files[name] = self._open_remote(name, known)
            parts = self._head.known.parts.get(name)
            for (start, stop), data in () if parts is None else parts.inlined:
                if not file.has(start, stop):
                    file.keep(start, data)
        return file

    def prepare(self) -> None:
        """Bring what opening the files of this version reads, in one trip."""
        parts = self._head.known.parts
        bring_together(
            [
                (self.open_file(name), parts[name].opening)
                for name in self.shown.files
                if name in parts
            ]
        )

    def verify(self) -> None:
        """Read every data file, and raise OperationalError for one whose checksum is wrong."""
        self._check_open()
        for name, file in self._place.manifest.files.items():
            url = self._store.url_of(self._key(name))
            try:
                content = self._store.get(self._key(name))
            except FileNotFoundError:
                raise self._missing(name) from None
            except OSError as error:
                raise OperationalError(f"file '{url}' cannot be read: {_in_words(error)}") from None
            assert content is not None
            if (size := len(content.data)) != file.size:
                raise damaged(url, min(size, file.size), f"{file.size} bytes", size)
            if (found := xxh3_64_intdigest(content.data)) != file.checksum:
                expected = f"checksum {file.checksum:016x} of the whole file"
                raise damaged(url, 0, expected, f"{found:016x}")

    # Changes

    def write_file(self, kind: str, write: Callable[[BinaryIO], None]) -> str:
        """Write data/<uuid>.<kind> and return its name; a commit makes it part of the database.

        What `write` raises is passed on. A file that no commit will name is garbage.
        """
        self._check_writer()
        name = f"{uuid.uuid4().hex}.{kind}"
        assert is_data_name(name), name
        failure = f"database '{self._name}' cannot write a file"
        path = self._staging_path()
        try:
            entry = DatabaseFiles(path.parent, LOCAL).write_data(path, write, failure)
            parts = early_parts(kind, open_source(path))
            try:
                self._store.put_file(self._key(name), str(path))
            except OSError as error:
                raise OperationalError(f"{failure}: {_in_words(error)}") from None
            self._pending[name] = entry, parts
            if self._cache is not None:
                self._cache.adopt(path, self._store.url_of(self._key(name)), entry.size)
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        return name

    def discard_file(self, name: str) -> None:
        """Give up a file that was written and not committed: it is garbage in the store."""
        self._pending.pop(name, None)
        self._open_files.pop(name, None)

    def commit(self, state: bytes, files: Iterable[str]) -> int:
        """Make a new version of exactly these data files, and return its number.

        It begins an empty log: `state` and `files` must cover every record appended before, so no
        other thread appends meanwhile. Raises OperationalError if it fails, also where another
        writer was faster, which it names.
        """
        self._check_writer()
        with self._mutex, self._writer.paused():
            known, parts = self._entries(files)
            log_id = int.from_bytes(os.urandom(8))
            manifest = Manifest(self.version + 1, log_id, known, state)
            self._make(manifest, chosen_parts(parts))
            for name in known:
                self._pending.pop(name, None)
            return manifest.version

    def refresh(self) -> bool:
        """Move to the newest version and record; return whether anything changed."""
        self._check_open()
        if not (self.read_only or self.is_overtaken):
            return False
        if not self.is_overtaken and self._is_fresh:
            return False
        with self._mutex:
            return self._read_head(self._head.read)

    def refresh_later(self) -> Callable[[], bool] | None:
        """Ask whether there is a newer version; return what waits for the answer, see `refresh`."""
        self._check_open()
        if not self.read_only or self._is_fresh:
            return None
        read = self._head.read_later()

        def refresh() -> bool:
            with self._mutex:
                return self._read_head(read)

        return refresh

    @property
    def _is_fresh(self) -> bool:
        """Whether what was seen last may still be shown."""
        return (time.monotonic() - self._seen_at) * 1000 < current_access().refresh_ms

    def collect_garbage(self, keep: Iterable[str] = ()) -> list[str]:
        """Remove nothing: readers are not known, so that only `sweep` does, after a while."""
        del keep
        return []

    def sweep(self) -> list[str]:
        """Remove files that no version has named for `object_retention`; return their names."""
        self._check_writer()
        with self._mutex, self._writer.paused():
            head = self._head
            try:
                return sweep(
                    self._store,
                    self._prefix,
                    lambda: {*self._place.manifest.files, *self._pending},
                    lambda: head.write(head.known.manifest, head.known.log, head.known.parts),
                    timedelta(hours=current_access().retention_hours),
                )
            except OSError as error:
                raise OperationalError(
                    f"database '{self._name}' cannot remove what it no longer needs:"
                    f" {_in_words(error)}"
                ) from None

    def close(self) -> None:
        """Give everything back; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._open_files.clear()
            if os.getpid() == self._process:
                self._writer.close()

    def _entries(self, names: Iterable[str]) -> tuple[dict[str, DataFile], dict[str, Parts]]:
        """Return what is known of data files for the next manifest."""
        entries, parts = {}, {}
        for name in names:
            if name in self._pending:
                entries[name], parts[name] = self._pending[name]
            elif name in self._place.manifest.files:
                entries[name] = self._place.manifest.files[name]
                parts[name] = self._head.known.parts.get(name, Parts())
            else:
                raise InternalError(f"file '{name}' was not written for database '{self._name}'")
        return entries, parts

    # Objects

    def _key(self, name: str) -> str:
        return f"{self._prefix}data/{name}"

    def _open_remote(self, name: str, size: int) -> RemoteFile:
        key = self._key(name)
        url = self._store.url_of(key)
        cache = self._cache
        backing = temporary_backing(size) if cache is None else cache.backing(url, size)
        return RemoteFile(self._store, key, backing)

    def _staging_path(self) -> Path:
        if self._cache is not None:
            with suppress(OSError):
                return self._cache.staging_path()
        running = current.get()
        folder = TemporaryFolder(None if running is None else running.temp_folder)
        return Path(folder.path) / f"raydb-{uuid.uuid4().hex}.tmp"

    def _missing(self, name: str) -> OperationalError:
        url = self._store.url_of(self._key(name))
        return OperationalError(f"file '{url}' is missing: version {self.version} names it")

    # HEAD

    def _read_head(self, read: Callable[[], Head | None]) -> bool:
        """Show what HEAD holds; tell whether that is news."""
        asked_at = time.monotonic()
        head = read()
        self._seen_at = asked_at
        if head is None:
            return False
        manifest, tail = decode_version(head, self._head.url)
        shown = self._place
        if (manifest.log_id, tail.end) == (shown.manifest.log_id, shown.tail.end):
            return False
        self._go_on(manifest, tail)
        return True

    def _go_on(self, manifest: Manifest, tail: Tail) -> None:
        """Go on with a version and its log."""
        self._place = Place.of(manifest, tail)
        files = {**manifest.files, **self._pending}
        self._open_files = {name: each for name, each in self._open_files.items() if name in files}
        if not self.read_only:
            log = HeadLog(self._head.known.log, self._head.write_log)
            self._writer.switch(log, manifest.log_id, tail)

    def _make(self, manifest: Manifest, parts: Mapping[str, Parts]) -> None:
        """Make a version with an empty log."""
        log = encode_header(manifest.log_id)
        try:
            self._head.write(encode_manifest(manifest), log, parts)
        except OSError as error:
            raise OperationalError(
                f"database '{self._name}' cannot commit: {_in_words(error)}; nobody knows whether"
                " it was done, which the next change settles"
            ) from None
        self._go_on(manifest, Tail((), 0, 0, HEADER_SIZE))


def _in_words(error: OSError) -> str:
    return error.strerror or str(error)
