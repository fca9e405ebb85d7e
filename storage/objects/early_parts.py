"""What of a data file is needed before its rows: to open the database, to read a first row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.storage.durable.sections import read_sections
from raydb.storage.flat import open_table
from raydb.storage.objects.head import Parts
from raydb.storage.objects.ranges import runs
from raydb.storage.objects.remote_file import BLOCK_BYTES, block_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from raydb.storage.mapped import Source
    from raydb.storage.objects.ranges import Range

# So many bytes of files are in HEAD, which each commit writes anew.
INLINED_BYTES = 1 << 18
# Arrays that are smaller are read when a database is opened, such as the levels of a BVH.
_SMALL_ARRAY = 1 << 17


def early_parts(kind: str, source: Source) -> Parts:
    """Return the parts of a file that was just written, with their bytes."""
    size = len(source.view)
    if kind == "flat":
        table = open_table(source)
        opening = [table.opening_range]
        metadata = [table.metadata_range, *table.chunk_ranges(table.schema.names, [])]
    else:
        sections = read_sections(source)
        opening, metadata = [sections.directory_range, *sections.small_ranges(_SMALL_ARRAY)], []
    if size <= 2 * BLOCK_BYTES:
        metadata = [(0, size)]
    first = _blocks(opening, size)
    then = _blocks(metadata, size) & ~first
    opening, metadata = _ranges(first, size), _ranges(then, size)
    held = [(each, bytes(source.view[slice(*each)])) for each in (*opening, *metadata)]
    if sum(len(data) for _, data in held) > INLINED_BYTES:
        held = held[: len(opening)]
    return Parts(tuple(opening), tuple(metadata), tuple(held))


def chosen_parts(parts: Mapping[str, Parts]) -> dict[str, Parts]:
    """Return parts with those bytes that HEAD has room for: what opening needs goes first."""
    least = {
        name: tuple(held for held in each.inlined if held[0] in each.opening)
        for name, each in parts.items()
    }
    room = INLINED_BYTES
    chosen: dict[str, tuple[tuple[Range, bytes], ...]] = dict.fromkeys(parts, ())
    for level in (least, {name: each.inlined for name, each in parts.items()}):
        for name in sorted(level, key=lambda name: _size(level[name])):
            more = _size(level[name]) - _size(chosen[name])
            if 0 < more <= room:
                chosen[name] = level[name]
                room -= more
    return {name: Parts(each.opening, each.metadata, chosen[name]) for name, each in parts.items()}


def _size(inlined: Iterable[tuple[Range, bytes]]) -> int:
    return sum(len(data) for _, data in inlined)


def _blocks(ranges: Iterable[Range], size: int) -> NDArray[np.bool_]:
    """Return a flag for each block, whether it holds some of the ranges."""
    flags = np.zeros(block_count(size), np.bool_)
    for start, stop in ranges:
        flags[start // BLOCK_BYTES : block_count(stop)] = True
    return flags


def _ranges(blocks: NDArray[np.bool_], size: int) -> list[Range]:
    return [(first * BLOCK_BYTES, min(last * BLOCK_BYTES, size)) for first, last in runs(blocks)]
