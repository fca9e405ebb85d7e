"""Objects of databases as they are kept on disk: a file each, with what was fetched of it so far.

    bytes of the object, with holes     up to a multiple of a block
    a bit for each block                whether its bytes are there

Processes share the folder. An object never changes, so that two that fetch the same blocks write
the same bytes; a bit is set after its bytes are written. Whoever reads compares check sums that the
object itself holds, and fetches anew what is damaged here, such as after a loss of power. A file
that is removed stays with those who have it open.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from contextlib import suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np
from xxhash import xxh3_128_hexdigest

from raydb.errors import OperationalError
from raydb.running import current
from raydb.storage.mapped import map_file
from raydb.storage.objects.remote_file import (
    BLOCK_BYTES,
    HELD_BYTES,
    Memory,
    TemporaryBacking,
    block_count,
    write_at,
)
from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.remote import Access
    from raydb.storage.objects.remote_file import Backing

_ENDING = ".obj"
# After so many bytes it is asked again whether the folder holds too much.
_CHECKED_BYTES = 64 << 20
# A file that is written by a process that died is removed after so long.
_STALE_S = 24 * 3600


def default_folder() -> Path:
    """Return the user's folder for what can be fetched again."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given) / "raydb" / "objects"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/raydb/objects").expanduser()
    return Path("~/.cache/raydb/objects").expanduser()


class ObjectCache:
    """The folder, and how many bytes of objects may lie in it; threads may share it."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self._open: WeakValueDictionary[str, CacheFile] = WeakValueDictionary()
        self._checking = threading.Lock()
        self._unchecked = 0

    @staticmethod
    def of(access: Access) -> ObjectCache | None:
        """Return the folder that a connection has, None for none."""
        if not access.cache_bytes:
            return None
        folder = default_folder() if access.cache_folder is None else Path(access.cache_folder)
        return ObjectCache(folder, access.cache_bytes)

    def backing(self, url: str, size: int) -> Backing:
        """Return where the bytes of an object are kept: here, or where that fails, until the end.

        A warning of the statement says why it fails.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            known = self._open.get(url)
            if known is None:
                self._make_room(0)
                known = self._open[url] = CacheFile(self, self._path(url, size), size)
        except OSError as error:
            running, reason = current.get(), (error.strerror or str(error)).lower()
            warning = f"cache_directory '{self.folder}' is not used: {reason}"
            if running is not None and warning not in running.remarks.warnings:
                running.remarks.warnings.append(warning)
            return temporary_backing(size)
        return known

    def staging_path(self) -> Path:
        """Return the path of a new file that `adopt` takes. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder / f"{uuid.uuid4().hex}.tmp"

    def adopt(self, staged: Path, url: str, size: int) -> None:
        """Keep a file that holds an object as a whole; where that fails it is fetched when used."""
        blocks = block_count(size)
        bits = np.packbits(np.ones(blocks, np.bool_), bitorder="little").tobytes()
        try:
            with staged.open("r+b") as file:
                file.seek(blocks * BLOCK_BYTES)
                file.write(bits)
            staged.chmod(0o600)
            staged.replace(self._path(url, size))
            self._make_room(size)
        except OSError:
            with suppress(OSError):
                staged.unlink()

    def note_written(self, size: int) -> None:
        """Count bytes that were fetched."""
        self._unchecked += size
        if self._unchecked >= _CHECKED_BYTES:
            self._make_room(0)

    def free_space(self) -> None:
        """Remove what nobody here has open, for a disk that is full."""
        self._remove(0)

    def _path(self, url: str, size: int) -> Path:
        return self.folder / f"{xxh3_128_hexdigest(f'{url} {size}'.encode())}{_ENDING}"

    def _make_room(self, more: int) -> None:
        """Remove what was used longest ago where the folder holds too much."""
        self._unchecked = 0
        if self._checking.acquire(blocking=False):
            try:
                self._remove(max(self._most_bytes - more, 0))
            finally:
                self._checking.release()

    def _remove(self, most_bytes: int) -> None:
        kept = {each.path.name for each in self._open.values()}
        files = sorted(self._files(), key=lambda file: file[1])
        total = sum(size for _, _, size in files)
        for path, _, size in files:
            if total <= most_bytes:
                break
            if path.name not in kept:
                with suppress(OSError):
                    path.unlink()
                total -= size

    def _files(self) -> Iterator[tuple[Path, float, int]]:
        """Yield path, moment of last use and bytes of each file; old unfinished ones go."""
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_ENDING):
                        yield Path(entry.path), status.st_mtime, status.st_blocks * 512
                    elif entry.name.endswith(".tmp"):
                        with suppress(OSError):
                            if _age_of(status) > _STALE_S:
                                Path(entry.path).unlink()


class CacheFile:
    """An object's bytes in a file of the folder."""

    def __init__(self, cache: ObjectCache, path: Path, size: int) -> None:
        self.path, self._cache, self._size = path, cache, size
        blocks = block_count(size)
        self._bits_at = blocks * BLOCK_BYTES
        whole = self._bits_at + -(-blocks // 8)
        self._descriptor = -1
        self._descriptor, view = _open_file(path, whole)
        os.utime(self._descriptor)
        bits = np.frombuffer(os.pread(self._descriptor, whole - self._bits_at, self._bits_at), "u1")
        self.view = view[:size]
        self.present = np.unpackbits(bits, count=blocks, bitorder="little").astype(np.bool_)

    def write(self, start: int, data: memoryview) -> None:
        """Keep bytes. Raises OperationalError where the disk is full, and nothing can go."""
        try:
            try:
                self._write(start, data)
            except OSError as error:
                if error.errno not in (ENOSPC, EDQUOT):
                    raise
                self._cache.free_space()
                self._write(start, data)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OperationalError(
                f"cache_directory '{self.path.parent}' takes no bytes of an object: {reason};"
                " SET cache_size = 0 does without"
            ) from error
        self._cache.note_written(len(data))

    def _write(self, start: int, data: memoryview) -> None:
        write_at(self._descriptor, start, data)
        first, count = start // BLOCK_BYTES, block_count(len(data))
        low, high = first // 8, -(-(first + count) // 8)
        bits = os.pread(self._descriptor, high - low, self._bits_at + low)
        flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
        flags[first - 8 * low : first - 8 * low + count] = 1
        packed = np.packbits(flags, bitorder="little").tobytes()
        write_at(self._descriptor, self._bits_at + low, memoryview(packed))

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def temporary_backing(size: int) -> Backing:
    """Return a place for an object's bytes that is gone with the last reference."""
    if size <= HELD_BYTES:
        return Memory(size)
    running = current.get()
    return TemporaryBacking(size, TemporaryFolder(None if running is None else running.temp_folder))


def _open_file(path: Path, size: int) -> tuple[int, memoryview]:
    """Return the descriptor and the bytes of a file of this size, a new one unless there is one."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    for _ in range(10):
        descriptor = os.open(path, flags, 0o600)
        try:
            status = os.fstat(descriptor)
            if status.st_size == 0:
                os.ftruncate(descriptor, size)
            if status.st_size in (0, size):
                # It is mapped by its name, which may be of another file by now.
                view = map_file(str(path))
                if os.path.samestat(status, path.stat()) and len(view) == size:
                    return descriptor, view
            else:
                path.unlink(missing_ok=True)
        except OperationalError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise OSError(None, "its files come and go", str(path))


def _age_of(status: os.stat_result) -> float:
    return time.time() - status.st_mtime
