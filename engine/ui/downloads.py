"""Results as files: they are written to a temporary file, and fetched once by a key.

A browser that saves a file sends no token with it, so the address has a key that nobody can guess.
"""

from __future__ import annotations

import secrets
import threading
import time
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from raydb.engine.shell.render.answer import Answer, Layout
from raydb.engine.shell.render.modes import MODES
from raydb.engine.ui.runs import temporary_folder
from raydb.errors import InterfaceError, NotSupportedError, ProgrammingError, did_you_mean
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.api.connection import Connection
    from raydb.engine.ui.runs import Result
    from raydb.storage.temporary_files import TemporaryFolder

# The browser fetches a file at once.
_KEPT_S = 60.0
_PIECE_BYTES = 1 << 20

FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True, eq=False, slots=True)
class Download:
    """A file that waits to be fetched, until a moment of the monotonic clock."""

    file: IO[bytes]
    name: str
    media_type: str
    size_bytes: int
    until: float

    def pieces(self) -> Iterator[bytes]:
        """Yield the file."""
        self.file.seek(0)
        while piece := self.file.read(_PIECE_BYTES):
            yield piece

    def close(self) -> None:
        """Give the file up."""
        self.file.close()


class Downloads:
    """The files that wait, by their keys."""

    def __init__(self) -> None:
        self._waiting: dict[str, Download] = {}
        self._lock = threading.Lock()

    def make(self, result: Result, name: str, connection: Connection) -> dict[str, Any]:
        """Write the rows that are there as a file of a format; return where it is fetched."""
        if name not in FORMATS:
            raise ProgrammingError(
                f"format '{name}' is not one of {', '.join(FORMATS)}{did_you_mean(name, FORMATS)}"
            )
        folder = temporary_folder(connection)
        file = folder.new_file()
        try:
            if name == "parquet":
                _write_parquet(result, file)
            else:
                _write_text(result, name, file, folder)
        except OSError as error:
            file.close()
            raise folder.failed(error) from error
        except BaseException:
            file.close()
            raise
        size_bytes, now = file.tell(), time.monotonic()
        made = Download(file, f"result.{name}", FORMATS[name], size_bytes, now + _KEPT_S)
        key = secrets.token_urlsafe(24)
        with self._lock:
            for old in [key for key, each in self._waiting.items() if each.until < now]:
                self._waiting.pop(old).close()
            self._waiting[key] = made
        return {"path": f"/download/{key}/{made.name}"}

    def take(self, key: str) -> Download:
        """Return a file that waits, which nobody gets again. Raises InterfaceError without one."""
        with self._lock:
            found = self._waiting.pop(key, None)
        if found is None or found.until < time.monotonic():
            raise InterfaceError("the file is no longer there; ask for it again")
        return found

    def close(self) -> None:
        """Give up all files that wait."""
        with self._lock:
            for each in self._waiting.values():
                each.close()
            self._waiting.clear()


def _write_text(result: Result, name: str, file: IO[bytes], folder: TemporaryFolder) -> None:
    """Write rows as the shell does."""

    def write(text: str) -> None:
        encoded = text.encode("utf-8", "replace")
        folder.take(len(encoded))
        file.write(encoded)

    rows = result.rows
    MODES[name](Answer(rows.schema, rows.batches()), Layout(), write)


def _write_parquet(result: Result, file: IO[bytes]) -> None:
    try:
        writer = parquet.ParquetWriter(file, result.rows.schema)
    except pa.ArrowNotImplementedError:
        listed = zip(result.names, result.types, strict=True)
        which = [f"'{name}'" for name, kind in listed if "INTERVAL" in kind]
        raise NotSupportedError(
            f"Parquet has no INTERVAL, which column {' and '.join(which)} has; CSV and JSON do"
        ) from None
    with writer:
        for batch in result.rows.batches():
            writer.write_batch(batch)
