"""Arrays that a graph keeps: in half of its memory while they fit, else in temporary files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Room:
    """The room for the arrays of one graph.

    limit: bytes, None for any number. folder: of temporary files, None for the system's.
    """

    def __init__(self, limit: int | None, folder: str | None) -> None:
        self._left = None if limit is None else limit // 2
        self._folder = TemporaryFolder(folder)

    def has(self, size_bytes: int) -> bool:
        """Tell whether an array fits into memory."""
        return self._left is None or size_bytes <= self._left

    def held(self, values: NDArray[Any]) -> NDArray[Any]:
        """Count an array that stays in memory, and return it."""
        if self._left is not None:
            self._left -= values.nbytes
        return values

    def new(self, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return an array to be written. Raises OperationalError where the disk fails."""
        size = count * np.dtype(kind).itemsize
        if self.has(size) or not size:
            return self.held(np.empty(count, kind))
        self._folder.take(size)
        with self._folder.new_file() as file:
            try:
                file.truncate(size)
                return np.memmap(file, kind, "r+", shape=(count,)).view(np.ndarray)
            except OSError as error:
                raise self._folder.failed(error) from error

    def kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of an array that others wait for."""
        copy = self.new(len(values), values.dtype.type)
        copy[:] = values
        return copy
