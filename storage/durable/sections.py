"""A file of named arrays: how BVHs, foreign rows and other derived arrays lie on disk.

    offset 0   b"RAYARRAY", u32 version, u32 directory size, u64 XXH3 of the directory
           24  directory: JSON {"properties": {...},
               "sections": [{name, dtype, shape, offset, hash}, ...]}
               the arrays, each at a multiple of 64 bytes, little-endian, row-major

The arrays are mapped, not read: opening a file costs its directory alone. An array's check sum is
compared when the array is first asked for, and damage is named by file and offset.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import xxhash

from raydb.errors import OperationalError
from raydb.kernels.stored.described import Described
from raydb.kernels.stored.pieces import Pieces
from raydb.kernels.stored.stored_arrays import StoredArrays
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.mapped import Source, open_source
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MAGIC = b"RAYARRAY"
VERSION = 1
ALIGNMENT = 64
HEADER = struct.Struct("<8sIIQ")
_BEGIN = 1 << 16


# The types that arrays are written in; others, such as objects, are no numbers at all.
_TYPES = {np.dtype(kind).str for kind in "?bhiqBHIQfd"}


@dataclass(frozen=True, eq=False, slots=True)
class Sections:
    """Named arrays (read-only) with properties, which are JSON values."""

    arrays: StoredArrays
    properties: Described
    directory_range: tuple[int, int]
    _sections: Mapping[str, _Section]

    def small_ranges(self, most_bytes: int) -> list[tuple[int, int]]:
        """Return where arrays of at most so many bytes lie."""
        ranges = [(each.start, each.end) for each in self._sections.values()]
        return [(start, end) for start, end in ranges if end - start <= most_bytes]


@dataclass(frozen=True, eq=False, slots=True)
class _Section:
    """Where an array lies, and the hash of its bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    digest: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + self.dtype.itemsize * math.prod(self.shape)


def write_sections(
    sink: BinaryIO, arrays: Mapping[str, NDArray[Any] | Pieces], properties: Mapping[str, Any]
) -> None:
    """Write arrays of fixed-width types and JSON properties."""
    given = {
        name: array if isinstance(array, Pieces) else Pieces.of(np.ascontiguousarray(array))
        for name, array in arrays.items()
    }
    # The directory's size decides where the first array lies: offsets count from there.
    sections = []
    offset = 0
    for name, array in given.items():
        sections.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": array.shape,
                "offset": offset,
                "hash": _digest(array),
            }
        )
        offset += _aligned(array.nbytes)
    directory = json.dumps({"properties": properties, "sections": sections}).encode()
    header = HEADER.pack(MAGIC, VERSION, len(directory), xxhash.xxh3_64_intdigest(directory))
    start = _aligned(len(header) + len(directory))
    sink.write((header + directory).ljust(start, b"\0"))
    for array in given.values():
        sink.writelines(map(_bytes, array.blocks()))
        sink.write(b"\0" * (_aligned(array.nbytes) - array.nbytes))


def read_sections(source: Path | Source) -> Sections:
    """Return the arrays of a file, which is mapped, or brought when they are asked for.

    Raises OperationalError naming the file, the offset and what is wrong there; an array of other
    bytes than were written raises it when it is asked for.
    """
    opened = open_source(source)
    path, data = opened.name, opened.view
    try:
        directory, start = _read_directory(opened)
    except OperationalError:
        # What no checksum covers is fetched anew before it is believed to be damaged.
        if not opened.bring_again((0, min(_BEGIN, len(data)))):
            raise
        directory, start = _read_directory(opened)
    sections: dict[str, _Section] = {}
    for described in directory["sections"].items():
        name = described["name"].text()
        if name in sections:
            raise described["name"].fault("a name of its own")
        sections[name] = section = _read_section(described, start)
        if section.end > len(data):
            expected = f"{section.end - section.start} bytes of '{name}'"
            found = f"{max(len(data) - section.start, 0)} bytes"
            raise damaged(path, section.start, expected, found)
    arrays = {
        name: np.frombuffer(data[each.start : each.end], each.dtype).reshape(each.shape)
        for name, each in sections.items()
    }

    def bring(names: Iterable[str]) -> None:
        opened.need((sections[name].start, sections[name].end) for name in names)

    def verify(name: str) -> None:
        section = sections[name]
        found = opened.digest(section.start, section.end, section.digest)
        if found != section.digest:
            expected = f"'{name}' with hash {section.digest:x}"
            raise damaged(path, section.start, expected, f"{found:x}")

    stored = StoredArrays(arrays, path, verify, bring)
    return Sections(stored, directory["properties"], (0, start), sections)


def _read_directory(source: Source) -> tuple[Described, int]:
    path, data = source.name, source.view
    if len(data) < HEADER.size:
        raise damaged(path, 0, f"{HEADER.size} bytes of header", f"{len(data)} bytes")
    source.need([(0, HEADER.size)])
    magic, version, size, digest = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise damaged(path, 0, repr(MAGIC), repr(magic))
    if version != VERSION:
        raise damaged(path, 8, f"version {VERSION}", f"version {version}")
    source.need([(0, HEADER.size + size)])
    text = data[HEADER.size : HEADER.size + size]
    found = xxhash.xxh3_64_intdigest(text)
    if len(text) != size or found != digest:
        raise damaged(path, HEADER.size, f"a directory with hash {digest:x}", f"{found:x}")
    return Described.parse(bytes(text), path, "directory"), _aligned(HEADER.size + size)


def _read_section(described: Described, start: int) -> _Section:
    """Return what the directory says of an array; `start`: where the first array lies."""
    offset = described["offset"].integer()
    if offset % ALIGNMENT:
        raise described["offset"].fault(f"a multiple of {ALIGNMENT}")
    shape = tuple(length.integer() for length in described["shape"].items())
    digest = described["hash"].integer(0, 2**64 - 1)
    dtype = np.dtype(described["dtype"].text(*sorted(_TYPES)))
    return _Section(dtype, shape, start + offset, digest)


def _digest(array: Pieces) -> int:
    digest = xxhash.xxh3_64()
    for block in array.blocks():
        digest.update(_bytes(block))
    return digest.intdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
