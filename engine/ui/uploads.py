"""Files that were dropped on a page, until they are imported: each in a folder of its own.

Formats are told by extensions, so a file keeps its own, and nothing else of its name.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.storage.formats.format import Use
from raydb.storage.formats.known import FORMATS
from raydb.storage.formats.paths import COMPRESSIONS

if TYPE_CHECKING:
    from raydb.storage.temporary_files import TemporaryFolder


class Upload:
    """A file that comes from a browser piece by piece."""

    def __init__(self, name: str, folder: TemporaryFolder) -> None:
        self._folder = folder
        ending = _ending_of(name)
        try:
            self._home = Path(tempfile.mkdtemp(prefix="raydb-ui-", dir=folder.path))
        except OSError as error:
            raise folder.failed(error) from error
        self.path = self._home / f"file{ending}"
        self._file: IO[bytes] | None = self.path.open("wb")

    def write(self, piece: bytes) -> None:
        """Append a piece. Raises OperationalError where the disk fails or is too small."""
        assert self._file is not None
        self._folder.take(len(piece))
        try:
            self._file.write(piece)
        except OSError as error:
            raise self._folder.failed(error) from error

    def finish(self) -> None:
        """The last piece has come."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Remove the file."""
        self.finish()
        shutil.rmtree(self._home, ignore_errors=True)


def _ending_of(name: str) -> str:
    """Return the extension of a file that can be read, such as '.csv.gz'.

    Raises NotSupportedError for one that no format has.
    """
    suffixes = [each.lower() for each in PurePosixPath(name).suffixes[-2:]]
    packed = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    ending = suffixes[-1] if suffixes else ""
    known = {
        extension
        for each in FORMATS.values()
        if Use.QUERY in each.uses
        for extension in (each.name, *each.extensions)
    }
    if ending.removeprefix(".") not in known:
        raise NotSupportedError(
            f"file '{name}' is none that RayDB reads; it reads .csv, .parquet, .json, .xlsx and"
            " others that docs/sql/statements.md lists"
        )
    return ending + packed


class Uploads:
    """The files of a page, by their paths."""

    def __init__(self) -> None:
        self._kept: dict[str, Upload] = {}

    def keep(self, upload: Upload) -> str:
        """Keep a file until it is dropped, and return its path."""
        upload.finish()
        self._kept[str(upload.path)] = upload
        return str(upload.path)

    def drop(self, path: str) -> None:
        """Remove a file. Raises ProgrammingError for a path that is none of them."""
        upload = self._kept.pop(path, None)
        if upload is None:
            raise ProgrammingError("there is no such upload")
        upload.close()

    def close(self) -> None:
        """Remove all files."""
        while self._kept:
            self._kept.popitem()[1].close()
