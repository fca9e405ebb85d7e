"""The memory of a statement, and the temporary files that take the rest.

    with Memory(limit, folder) as memory:
        memory.room()                       bytes that a node of the plan may still take
        file = memory.new_file(schema)      file.write(batch), and later file.batches()

Rows that wait between two nodes may fill half of the limit, then they go to files; the other half
is for the node at work. Files have no names: they are gone with the last reference to their rows,
and the system gives their space back even if the process is killed.
"""

from __future__ import annotations

import functools
import mmap
import re
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyarrow import ipc

from raydb.errors import OperationalError, ProgrammingError
from raydb.room import UNITS, machine_memory, too_small
from raydb.running import DeviceMemory
from raydb.storage.tables.decoded import decoded_columns
from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    from types import TracebackType

    from raydb.storage.tables.rows import Rows

DEFAULT_LIMIT = "80%"

_UNITS = UNITS | {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

# Where tables fill the memory already, a statement gets this share of its limit all the same.
_MIN_SHARE = 8

# Fewer rows than take this share of the limit are not worth a write.
_MIN_SPILL_SHARE = 64
_SHARE_BESIDE_FILES = 8


class Memory:
    """The memory of one running statement. Used as a context manager, its files end with it.

    limit: bytes beyond those that were held before, None for any number. folder: where temporary
    files go, the system's folder for them by default. Rows that were read back from files stay
    readable after the end.
    """

    def __init__(self, limit: int | None = None, folder: str | None = None) -> None:
        self.limit = limit
        self.folder = TemporaryFolder(folder)
        self._before = _held_bytes()
        self._files: list[SpillFile] = []
        self._kept = 0

    def room(self) -> int:
        """Return how many bytes the node at work may take."""
        if self.limit is None:
            return sys.maxsize
        return max(self.limit - self._held(), self.limit // _MIN_SHARE)

    def has_room_to_keep(self, need: int, rows: Rows) -> bool:
        """Tell whether columns of a table that take so many bytes more may be kept.

        All of the table's may take half of the room, and columns of others make way for them.
        """
        others = decoded_columns.size_bytes - rows.kept_bytes
        short = 2 * need + rows.kept_bytes - self.room()
        if self.limit is None or short <= 0:
            return True
        if short > others:
            return False
        self._drop_columns(short, beside=rows)
        return True

    def _drop_columns(self, size_bytes: int, beside: Rows | None = None) -> None:
        """Let columns that tables keep go, so that there is so much more room."""
        assert self.limit is not None
        freed = decoded_columns.drop(size_bytes, beside=beside)
        self.limit += freed
        self._before -= freed

    def is_crowded(self, held: int) -> bool:
        """Tell whether rows that wait should go to a file; `held` is the size of some of them."""
        if self.limit is None or held < self.limit // _MIN_SPILL_SHARE:
            return False
        # Once rows go to files, there is little use in keeping others.
        share = _SHARE_BESIDE_FILES if self._files else 2
        return max(held, self._held()) > self.limit // share

    def check(self, need: int, what: str) -> None:
        """Raise OperationalError if `what`, which cannot do with less, needs too many bytes.

        It may take the whole limit beside what waits; columns that tables keep make way for it.
        """
        if self.limit is not None and need > self.limit:
            self._drop_columns(need - self.limit)
            if need > self.limit:
                raise self.too_small(need, what)

    def too_small(self, need: int, what: str) -> OperationalError:
        """Return the error that says what the limit is too small for."""
        assert self.limit is not None
        return too_small(need, what, self.limit)

    def new_file(self, schema: pa.Schema) -> SpillFile:
        """Return a new temporary file for rows. Raises OperationalError if that fails."""
        file = SpillFile(self.folder, schema)
        self._files.append(file)
        return file

    def keep_rows(self, rows: pa.Table, are_many: bool = False) -> pa.Table:
        """Return rows that wait for others: in a file of their own where those fill the memory.

        are_many: it is known that they will.
        """
        # What was decoded is numpy's, which Arrow does not count.
        waiting = self._kept + rows.nbytes
        if self.limit is None or not (are_many or self.is_crowded(max(waiting, self._held()))):
            self._kept = waiting
            return rows
        file = self.new_file(rows.schema)
        for batch in rows.to_batches():
            file.write(batch)
        return pa.Table.from_batches(file.batches(), rows.schema)

    def close(self) -> None:
        """Close the files that are still written."""
        for file in self._files:
            file.close()
        self._files.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _held(self) -> int:
        # What was there before may be freed meanwhile, which gives this statement no more room.
        return max(_held_bytes() - self._before, 0)


def _held_bytes() -> int:
    """Return the bytes that Arrow and the columns that tables keep take."""
    return int(pa.total_allocated_bytes()) + decoded_columns.size_bytes


class SpillFile:
    """A temporary file of record batches, which is written first and then mapped.

    Arrow's own format without compression: what is mapped are the columns themselves, and the
    system may drop their pages from memory whenever it needs them.
    """

    def __init__(self, folder: TemporaryFolder, schema: pa.Schema) -> None:
        """Open; use `Memory.new_file`."""
        self._folder = folder
        self._schema = schema
        self._count = 0
        self._file = folder.new_file()
        self._writer = ipc.new_file(pa.PythonFile(self._file, mode="w"), schema)

    def write(self, batch: pa.RecordBatch) -> int:
        """Append rows and return the number of their batch."""
        self._folder.take(batch.nbytes)
        try:
            self._writer.write_batch(batch)
        except OSError as error:
            raise self._folder.failed(error) from error
        self._count += 1
        return self._count - 1

    def batches(self) -> list[pa.RecordBatch]:
        """Return all rows, mapped; nothing can be written any more."""
        try:
            self._writer.close()
            self._file.flush()
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._folder.failed(error) from error
        self.close()
        reader = ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))
        return [reader.get_batch(number) for number in range(self._count)]

    def close(self) -> None:
        """Close the file; its rows are gone unless they were mapped."""
        self._file.close()


# -- settings


def parse_limit(text: str, name: str = "memory_limit") -> int | None:
    """Return what `SET memory_limit = text` allows a statement now, None for any number of bytes.

    Raises ProgrammingError for another text, by the name of what it should be.

    A share is one of the machine's memory, less what Arrow holds already: tables in memory.

    >>> parse_limit("500MB"), parse_limit("1.5 GiB"), parse_limit("none")
    (500000000, 1610612736, None)
    """
    most, is_share = _limit(text, name)
    if most is None or not is_share:
        return most
    return max(most - int(pa.total_allocated_bytes()), most // _MIN_SHARE)


def whole_limit(text: str, name: str = "memory_limit") -> int | None:
    """Return what a text allows in all, whatever is held already; see `parse_limit`."""
    return _limit(text, name)[0]


def parse_device_memory(text: str, name: str = "device_memory") -> DeviceMemory:
    """Return what `SET device_memory = text` allows on each device; see `parse_limit`.

    A share is one of what is free there, or held by us; 'none' is all of it.
    """
    if text.lower() == "none":
        return DeviceMemory(share=1.0)
    share, size_bytes = _size_of(text, name)
    return DeviceMemory(size_bytes, float(share))


@functools.cache
def _limit(text: str, name: str) -> tuple[int | None, bool]:
    """Return the bytes that a text allows in all, None for any number, and whether as a share."""
    if text.lower() == "none":
        return None, False
    share, size_bytes = _size_of(text, name)
    if size_bytes is not None:
        return size_bytes, False
    return share.numerator * machine_memory() // share.denominator, True


def _size_of(text: str, name: str) -> tuple[Fraction, int | None]:
    """Return a share, or with it a number of bytes, that a setting's text says."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%|[a-z]+)", text.strip(), re.IGNORECASE)
    number = Fraction(found[1]) if found else Fraction(0)
    if found and found[2] == "%" and 0 < number <= 100:
        return number / 100, None
    if found and found[2].upper() in _UNITS and number > 0:
        return Fraction(1), max(int(number * _UNITS[found[2].upper()]), 1)
    raise ProgrammingError(f"{name} is like '2GB', '500MB', '80%' or 'none', not '{text}'")
