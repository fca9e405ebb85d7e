"""A file of named arrays: how BVHs, foreign rows and other derived arrays lie on disk.

    offset 0   b"RAYARRAY", u32 version, u32 directory size, u64 XXH3 of the directory
           24  directory: JSON {"properties": {...},
               "sections": [{name, dtype, shape, offset, hash}, ...]}
               the arrays, each at a multiple of 64 bytes, little-endian, row-major

The arrays are mapped, not read: opening a BVH of 100 MB costs its check sums alone. Everything is
checked before it is used, and damage is named by file and offset.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import xxhash

from raydb.storage.damage import damaged
from raydb.storage.mapped import map_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MAGIC = b"RAYARRAY"
VERSION = 1
ALIGNMENT = 64
HEADER = struct.Struct("<8sIIQ")


@dataclass(frozen=True, eq=False, slots=True)
class Sections:
    """Named arrays (read-only) with properties, which are JSON values."""

    arrays: Mapping[str, NDArray[Any]]
    properties: Mapping[str, Any]


def write_sections(
    sink: BinaryIO, arrays: Mapping[str, NDArray[Any]], properties: Mapping[str, Any]
) -> None:
    """Write arrays of fixed-width types and JSON properties."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    hashes = {name: xxhash.xxh3_64_intdigest(_bytes(array)) for name, array in whole.items()}
    # The directory's size decides where the first array lies: offsets count from there.
    sections = []
    offset = 0
    for name, array in whole.items():
        sections.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": array.shape,
                "offset": offset,
                "hash": hashes[name],
            }
        )
        offset += _aligned(array.nbytes)
    directory = json.dumps({"properties": properties, "sections": sections}).encode()
    header = HEADER.pack(MAGIC, VERSION, len(directory), xxhash.xxh3_64_intdigest(directory))
    start = _aligned(len(header) + len(directory))
    sink.write((header + directory).ljust(start, b"\0"))
    for array in whole.values():
        sink.write(_bytes(array))
        sink.write(b"\0" * (_aligned(array.nbytes) - array.nbytes))


def read_sections(path: Path) -> Sections:
    """Map a file of arrays and check all of it.

    Raises OperationalError naming the file, the offset and what is wrong there.
    """
    data = map_file(str(path))
    directory, start = _read_directory(path, data)
    arrays = {}
    for section in directory["sections"]:
        arrays[section["name"]] = _read_array(path, data, section, start)
    return Sections(arrays, directory["properties"])


def _read_directory(path: Path, data: memoryview) -> tuple[dict[str, Any], int]:
    if len(data) < HEADER.size:
        raise damaged(str(path), 0, f"{HEADER.size} bytes of header", f"{len(data)} bytes")
    magic, version, size, digest = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise damaged(str(path), 0, repr(MAGIC), repr(magic))
    if version != VERSION:
        raise damaged(str(path), 8, f"version {VERSION}", f"version {version}")
    text = data[HEADER.size : HEADER.size + size]
    found = xxhash.xxh3_64_intdigest(text)
    if len(text) != size or found != digest:
        raise damaged(str(path), HEADER.size, f"a directory with hash {digest:x}", f"{found:x}")
    directory: dict[str, Any] = json.loads(bytes(text))
    return directory, _aligned(HEADER.size + size)


def _read_array(
    path: Path, data: memoryview, section: Mapping[str, Any], start: int
) -> NDArray[Any]:
    """Return one array; the directory is whole, so only the array's own bytes are in doubt."""
    dtype = np.dtype(section["dtype"])
    shape = tuple(section["shape"])
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    offset = start + section["offset"]
    raw = data[offset : offset + size]
    if len(raw) != size:
        raise damaged(
            str(path), offset, f"{size} bytes of '{section['name']}'", f"{len(raw)} bytes"
        )
    found = xxhash.xxh3_64_intdigest(raw)
    if found != section["hash"]:
        raise damaged(
            str(path), offset, f"'{section['name']}' with hash {section['hash']:x}", f"{found:x}"
        )
    array: NDArray[Any] = np.frombuffer(raw, dtype).reshape(shape)
    return array


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
