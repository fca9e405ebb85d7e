"""The bytes of a Parquet object: which ones some columns of some row groups are, and to bring them.

A trip brings the column chunks of the row groups that are asked for. Whoever goes through all row
groups has the next ones on the same trip, the more the further it has come.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyarrow import parquet

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.objects.ranges import Range

# The length of the footer and what a file ends with.
_TAIL = struct.Struct("<I4s")
# What row groups are brought ahead at a time, at first and at most.
_FIRST_AHEAD, _MOST_AHEAD = 4 << 20, 64 << 20


def bring_footer(file: InputFile) -> None:
    """Bring the metadata of a Parquet file, which mostly came when it was opened."""
    if not file.is_remote:
        return
    size = file.size_bytes
    end = max(size - _TAIL.size, 0)
    file.bring([(end, size)])
    if end:
        length, _ = _TAIL.unpack(file.open().read_at(_TAIL.size, end))
        file.bring([(max(end - length, 0), size)])


class ColumnChunks:
    """The column chunks of an object; threads may share it."""

    def __init__(self, file: InputFile, metadata: parquet.FileMetaData) -> None:
        self._file, self._metadata = file, metadata
        self._step = _FIRST_AHEAD
        self._lock = threading.Lock()
        self._there: set[tuple[int, int]] = set()

    def bring(
        self, groups: Iterable[int], names: Sequence[str], behind: Iterable[int] = ()
    ) -> None:
        """Bring the chunks of some columns in some row groups, in one trip.

        behind: row groups that are likely to be asked for next, of which some come too.
        """
        leaves = self._leaves(names)
        with self._lock:
            missing = self._missing(groups, leaves)
            if not missing:
                return
            ranges = [self._range(*each) for each in missing]
            ahead = 0
            for number in behind:
                further = self._missing([number], leaves)
                more = [self._range(*each) for each in further]
                ahead += sum(stop - start for start, stop in more)
                if ahead > self._step:
                    break
                missing, ranges = missing + further, ranges + more
            self._file.bring(ranges)
            self._there.update(missing)
            if behind:
                self._step = min(2 * self._step, _MOST_AHEAD)

    def size_bytes(self, groups: Iterable[int], names: Sequence[str]) -> int:
        """Return how many bytes some columns of some row groups are."""
        leaves = self._leaves(names)
        return sum(self._length(number, leaf) for number in groups for leaf in leaves)

    def steps(self, groups: Sequence[int], names: Sequence[str]) -> Iterator[list[int]]:
        """Yield row groups, some at a time, whose chunks are there."""
        leaves = self._leaves(names)
        some: list[int] = []
        held = 0
        for number in groups:
            size = sum(self._length(number, leaf) for leaf in leaves)
            if some and held + size > _MOST_AHEAD:
                self.bring(some, names)
                yield some
                some, held = [], 0
            some.append(number)
            held += size
        if some:
            self.bring(some, names)
            yield some

    def _leaves(self, names: Sequence[str]) -> list[int]:
        """Return the places of the stored columns that Arrow reads for some names."""
        wanted = set(names)
        schema = self._metadata.schema
        paths = [schema.column(place).path for place in range(self._metadata.num_columns)]
        return [
            place
            for place, path in enumerate(paths)
            if path in wanted or any(path.startswith(f"{name}.") for name in wanted)
        ]

    def _missing(self, groups: Iterable[int], leaves: Sequence[int]) -> list[tuple[int, int]]:
        wanted = [(number, leaf) for number in groups for leaf in leaves]
        return [each for each in wanted if each not in self._there]

    def _length(self, number: int, leaf: int) -> int:
        start, stop = self._range(number, leaf)
        return max(stop - start, 0)

    def _range(self, number: int, leaf: int) -> Range:
        """Return where a column chunk lies, within the file even if it is damaged."""
        chunk = self._metadata.row_group(number).column(leaf)
        start = chunk.data_page_offset
        first = chunk.dictionary_page_offset
        # Some writers have 0 for a dictionary that is not there.
        if first is not None and 0 < first < start:
            start = first
        start = min(max(start, 0), self._file.size_bytes)
        stop = min(start + max(chunk.total_compressed_size, 0), self._file.size_bytes)
        return start, stop
