"""The bytes of a manifest, which is one version of a database.

A manifest names the data files of its version, with their sizes and checksums, and the log that
follows it; the rest is the engine's state, which means nothing here. Little-endian:

    0   8 bytes   "RAYDBMAN"
    8   u32       format, 1
    12  u32       number of files
    16  u64       version, the same as in the file's name
    24  u64       log id: random, the start of every checksum in the log
    32  u64       bytes of state
    40            for each file: u8 bytes of name, u64 size, u64 XXH3-64 of the content, name
                  state
                  u64 XXH3-64 of everything before it
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from raydb.errors import NotSupportedError
from raydb.storage.flat.metadata.damage import damaged
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAGIC = b"RAYDBMAN"
_FORMAT = 1
_HEADER = struct.Struct("<8sIIQQQ")
_ENTRY = struct.Struct("<BQQ")
_CHECKSUM = struct.Struct("<Q")
_DATA_NAME = re.compile(r"[0-9a-f]{32}\.[a-z0-9_]{1,16}")


@dataclass(frozen=True)
class DataFile:
    """What a manifest knows of a data file: its size in bytes and the XXH3-64 of its content."""

    size: int
    checksum: int


@dataclass(frozen=True)
class Manifest:
    """One version of a database: the files by name, the log that follows, the engine's state."""

    version: int
    log_id: int
    files: Mapping[str, DataFile]
    state: bytes


def is_data_name(name: str) -> bool:
    """Tell whether a name is one that a data file may have, which leads to no other directory.

    >>> is_data_name("0123456789abcdef0123456789abcdef.flat"), is_data_name("../LOCK")
    (True, False)
    """
    return _DATA_NAME.fullmatch(name) is not None


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of a manifest."""
    count, state = len(manifest.files), manifest.state
    parts = [_HEADER.pack(_MAGIC, _FORMAT, count, manifest.version, manifest.log_id, len(state))]
    for name, file in manifest.files.items():
        assert is_data_name(name), name
        parts += [_ENTRY.pack(len(name), file.size, file.checksum), name.encode()]
    content = b"".join([*parts, state])
    return content + _CHECKSUM.pack(xxh3_64_intdigest(content))


def decode_manifest(data: bytes, version: int, path: Path | str) -> Manifest:
    """Return the manifest that `encode_manifest` made of it; `version` is that of its name.

    Raises OperationalError with the offset where the bytes are not a manifest, and
    NotSupportedError if a later RayDB wrote them.
    """
    least = _HEADER.size + _CHECKSUM.size
    if len(data) < least:
        raise damaged(str(path), 0, f"a manifest of {least} bytes or more", f"{len(data)} bytes")
    magic, layout, count, named, log_id, state_size = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise damaged(str(path), 0, repr(_MAGIC), repr(magic))
    end = len(data) - _CHECKSUM.size
    (stored,) = _CHECKSUM.unpack_from(data, end)
    computed = xxh3_64_intdigest(memoryview(data)[:end])
    if stored != computed:
        raise damaged(str(path), end, f"checksum {computed:016x}", f"{stored:016x}")
    if layout != _FORMAT:
        raise NotSupportedError(
            f"file '{path}' has format {layout} of database directories; this RayDB knows {_FORMAT}"
        )
    if named != version:
        raise damaged(str(path), 16, f"version {version}, as in its name", named)
    files: dict[str, DataFile] = {}
    position = _HEADER.size
    for _ in range(count):
        name, file, position = _decode_entry(data, position, end, path)
        if name in files:
            raise damaged(str(path), position, "each file once", f"'{name}' twice")
        files[name] = file
    if state_size != end - position:
        raise damaged(str(path), 32, f"{end - position} bytes of state", state_size)
    return Manifest(version, log_id, files, data[position:end])


def _decode_entry(
    data: bytes, position: int, end: int, path: Path | str
) -> tuple[str, DataFile, int]:
    """Return the file that is named at a position, and the position after it."""
    if end - position < _ENTRY.size:
        found = f"{end - position} bytes"
        raise damaged(str(path), position, f"{_ENTRY.size} bytes for a file", found)
    length, size, checksum = _ENTRY.unpack_from(data, position)
    start = position + _ENTRY.size
    name = data[start : min(start + length, end)].decode("latin-1")
    if not is_data_name(name):
        raise damaged(str(path), start, "the name of a data file", repr(name))
    return name, DataFile(size, checksum), start + length
