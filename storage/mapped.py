"""The bytes of files: mapped, which costs no descriptor, or brought from elsewhere when needed."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pyarrow as pa
from xxhash import xxh3_64_intdigest

from raydb.errors import OperationalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Source:
    """The bytes of a file; those of an object in a store are brought when they are needed.

    name: for messages. view: all bytes, of which those count that were asked for with `need`.
    """

    is_remote = False

    def __init__(self, name: str, view: memoryview) -> None:
        self.name, self.view = name, view

    def need(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Return when the bytes of some ranges are there. Raises OperationalError."""

    def need_with(self, wanted: Sequence[tuple[Source, Iterable[tuple[int, int]]]]) -> None:
        """Return when ranges of several files are there, this one among them."""

    def beside(self, name: str, size: int) -> Source:
        """Return an object of the same folder, of whose first bytes ranges may be asked for."""
        raise NotImplementedError

    def has(self, start: int, stop: int) -> bool:
        """Tell whether the bytes of a range are there."""
        return 0 <= start <= stop <= len(self.view)

    def bring_again(self, range_: tuple[int, int]) -> bool:
        """Fetch bytes anew that are damaged here; tell whether that could be done."""
        return range_[0] < range_[1] and self.is_remote

    def digest(self, start: int, stop: int, wanted: int) -> int:
        """Return the XXH3-64 of a range, which is brought; `wanted` unless it is damaged."""
        self.need([(start, stop)])
        digest = xxh3_64_intdigest(self.view[start:stop])
        if digest != wanted and self.bring_again((start, stop)):
            digest = xxh3_64_intdigest(self.view[start:stop])
        return digest


def open_source(path: str | os.PathLike[str] | Source) -> Source:
    """Return the bytes of a local file, mapped; see `map_file`."""
    if isinstance(path, Source):
        return path
    name = os.fspath(path)
    return Source(name, map_file(name))


def map_file(path: str) -> memoryview:
    """Return the bytes of a file; they stay mapped while anything refers to them.

    Python's own mmap keeps a descriptor for each map, and a process usually has 1,024 of them: a
    database of more files could not be opened. Raises OperationalError for what cannot be read.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  (a Path costs 5 us)
        if not stat.S_ISREG(mode):
            kind = "directory" if stat.S_ISDIR(mode) else "device"
            raise OperationalError(f"'{path}' is a {kind}, not a file")
        with pa.memory_map(path) as file:
            # For what a buffer spans the system is told to read ahead; its parent is the whole map.
            whole = file.read_buffer(1).parent
    except FileNotFoundError:
        raise OperationalError(f"file '{path}' does not exist") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OperationalError(f"file '{path}' cannot be read: {reason.lower()}") from None
    return memoryview(b"" if whole is None else whole).cast("B")
