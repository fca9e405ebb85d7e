"""Footers of Parquet files: whether Arrow may be asked about what they say of column chunks.

Arrow ends the process where it is asked about a column chunk that is encrypted, has another type
than its column or an unknown codec. Where it reads rows these are errors, so it is let begin to
read from a file that has none: it gets as far as that where it can make sense of the chunks.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from raydb.errors import DataError

if TYPE_CHECKING:
    from pyarrow import parquet

_SIZE = 2**62
_LEAST_BUFFER = 1 << 12


class _UnreadError(OSError):
    """Raised where bytes are asked for."""


class _Nowhere(io.RawIOBase):
    """A file of any size, of which nothing can be read."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return _SIZE if whence == os.SEEK_END else offset

    def tell(self) -> int:
        return _SIZE

    def read(self, size: int = -1) -> NoReturn:
        raise _UnreadError


def check_chunks(path: str, metadata: parquet.FileMetaData) -> None:
    """Raise DataError for a file about whose columns Arrow cannot be asked safely."""
    groups = list(range(metadata.num_row_groups))
    for group in map(metadata.row_group, groups):
        if group.num_columns != metadata.num_columns:
            counts = f"a row group of {group.num_columns} columns, not {metadata.num_columns}"
            raise damaged(path, ValueError(counts))
    if not groups or not metadata.num_columns:
        return
    # To find where all chunks lie, it looks at each; a microsecond each, and 0.2 ms in all.
    _begin(path, metadata, groups, ahead=True)
    kinds = [metadata.schema.column(place).physical_type for place in range(metadata.num_columns)]
    for group in map(metadata.row_group, groups):
        for place, kind in enumerate(kinds):
            if (found := group.column(place).physical_type) != kind:
                raise damaged(path, ValueError(f"a column of {kind} is stored as {found}"))


def check_codecs(path: str, metadata: parquet.FileMetaData) -> None:
    """Raise DataError for a column chunk of an unknown codec."""
    for number in range(metadata.num_row_groups):
        _begin(path, metadata, [number], ahead=False)


def damaged(path: str, error: Exception) -> DataError:
    """Return the error about a file that Arrow gives up."""
    return DataError(f"file '{path}' is a damaged Parquet file: {in_one_line(error)}")


def in_one_line(error: Exception) -> str:
    """Return what an error says."""
    return " ".join(str(error).split())


def _begin(path: str, metadata: parquet.FileMetaData, groups: list[int], *, ahead: bool) -> None:
    """Let Arrow begin to read row groups; it looks at all their chunks, ahead or one by one."""
    from pyarrow import parquet  # noqa: PLC0415  (few statements need it)

    source = pa.PythonFile(_Nowhere(), mode="r")
    try:
        file = parquet.ParquetFile(
            source, metadata=metadata, pre_buffer=ahead, buffer_size=0 if ahead else _LEAST_BUFFER
        )
        next(file.iter_batches(1, groups, use_threads=False), None)
    except _UnreadError:
        return
    except (pa.ArrowException, OSError, ValueError) as error:  # a name may be no UTF-8
        raise damaged(path, error) from None
