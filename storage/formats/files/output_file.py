"""Files that are written: each appears as a whole or not at all, here or in an object store."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from raydb.errors import OperationalError
from raydb.running import current
from raydb.storage.durable.replace import replace_file
from raydb.storage.objects.urls import is_listed, is_url, shown
from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable


def write_file(path: str, write: Callable[[BinaryIO], None], buffer_bytes: int = -1) -> None:
    """Call `write` with a file that becomes the one at a path or URL; see `replace_file`.

    An object is a temporary file first, of the size of what is written.
    """
    if not is_url(path):
        replace_file(path, write, buffer_bytes)
        return
    from raydb.storage.objects.store import open_store  # noqa: PLC0415  (few need it)

    store, key = open_store(path)
    if not key or key.endswith("/"):
        raise OperationalError(f"'{shown(path)}' is a directory, not a file")
    running = current.get()
    folder = TemporaryFolder(None if running is None else running.temp_folder)
    with folder.new_file() as opened:
        file = cast("BinaryIO", opened)
        try:
            write(file)
            file.flush()
        except OSError as error:
            raise folder.failed(error) from None
        size = file.tell()
        file.seek(0)
        try:
            store.put_stream(key, file, size)
        except OSError as error:
            raise not_written("file", path, error) from None


def not_written(what: str, path: str, error: OSError) -> OperationalError:
    """Return the error about a file or a directory that cannot be written."""
    reason = error.strerror or str(error)
    reason = reason if is_url(path) else reason.lower()
    return OperationalError(f"{what} '{shown(path)}' cannot be written: {reason}")


class Folders(Protocol):
    """Where PARTITION_BY writes: folders below one place."""

    def files(self) -> list[str]:
        """Return what is there already, whatever is in a folder behind it."""

    def make(self, folder: str) -> str:
        """Return the path of a folder, which is there then."""

    def remove(self, paths: list[str]) -> None:
        """Remove files, and folders that are empty then."""

    def undo(self, written: set[str]) -> None:
        """Remove what was written, and folders that were made for it."""


def folders_at(path: str) -> Folders:
    """Return the place of a path or the URL that objects begin with."""
    return _Objects(path) if is_url(path) else _Directory(path)


class _Directory:
    """A directory of the file system."""

    def __init__(self, path: str) -> None:
        self._root = Path(path)
        self._made: list[Path] = []

    def files(self) -> list[str]:
        return [str(each) for each in sorted(self._root.rglob("*"))] if self._root.is_dir() else []

    def make(self, folder: str) -> str:
        path = self._root / folder
        missing = [each for each in (path, *path.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            self._made.append(each)
        return str(path)

    def remove(self, paths: list[str]) -> None:
        for each in map(Path, reversed(paths)):
            if each.is_dir() and not each.is_symlink():
                with suppress(OSError):  # It holds what was written.
                    each.rmdir()
            else:
                each.unlink()

    def undo(self, written: set[str]) -> None:
        for folder in reversed(self._made):
            with suppress(OSError):
                for file in folder.iterdir():
                    if str(file) in written:
                        file.unlink()
                folder.rmdir()


class _Objects:
    """The objects whose keys begin with a folder's; folders need not be made."""

    def __init__(self, url: str) -> None:
        from raydb.storage.objects.store import open_store  # noqa: PLC0415  (few need it)

        self._url = shown(url).rstrip("/")
        self._store, key = open_store(self._url)
        self._key = key and f"{key}/"

    def files(self) -> list[str]:
        if not is_listed(self._url):
            return []
        root = self._url[: len(self._url) - len(self._key.rstrip("/"))].rstrip("/")
        return [f"{root}/{each.key}" for each in self._store.entries(self._key)]

    def make(self, folder: str) -> str:
        return f"{self._url}/{folder}"

    def remove(self, paths: list[str]) -> None:
        from raydb.storage.objects.urls import split_url  # noqa: PLC0415

        self._store.delete([split_url(each)[1] for each in paths])

    def undo(self, written: set[str]) -> None:
        with suppress(OSError):
            self.remove(sorted(written))
