"""HEAD, the one object of a database that changes: a version, its log, some bytes of its files.

    0    8 bytes  "RAYDHEAD"
    8    u32      format, 1
    12   u32      bytes of the description
    16   u64      how many times HEAD was written
    24   16 bytes random: which write this is
    40   u64      bytes of the manifest
    48   u64      bytes of the log
    56   u64      number of names of writes before
    64            the manifest (durable/manifest.py), the log (durable/wal.py)
                  the names of the writes before, 16 bytes each, the last one first
                  the description: JSON {file: {"opening": [[start, stop], ...],
                  "metadata": [...], "inlined": [...]}, ...}
                  the bytes of all that are inlined, in order
                  u64 XXH3-64 of everything before it

Readers need of a file what `opening` says when they open the database, and `metadata` before they
read of it; what is inlined they have already. Little-endian.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from raydb.errors import NotSupportedError
from raydb.kernels.stored.described import Described
from raydb.storage.durable.manifest import decode_manifest
from raydb.storage.durable.wal import decode_log
from raydb.storage.flat.metadata.damage import damaged
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.storage.durable.manifest import Manifest
    from raydb.storage.durable.wal import Tail
    from raydb.storage.objects.ranges import Range

_MAGIC = b"RAYDHEAD"
_FORMAT = 1
_HEADER = struct.Struct("<8sIIQ16sQQQ")
_CHECKSUM = struct.Struct("<Q")
_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Parts:
    """Ranges of a file that are needed early, and the bytes of some of them."""

    opening: tuple[Range, ...] = ()
    metadata: tuple[Range, ...] = ()
    inlined: tuple[tuple[Range, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """What HEAD holds.

    number: of this write. write_id: tells it from those of other writers. earlier: those of the
    writes before, the last one first.
    """

    number: int
    write_id: bytes
    earlier: tuple[bytes, ...]
    manifest: bytes
    log: bytes
    parts: Mapping[str, Parts]


def encode_head(head: Head) -> bytes:
    """Return the bytes of HEAD."""
    described = json.dumps(
        {
            name: {
                "opening": each.opening,
                "metadata": each.metadata,
                "inlined": [range_ for range_, _ in each.inlined],
            }
            for name, each in head.parts.items()
        }
    ).encode()
    sizes = len(head.manifest), len(head.log), len(head.earlier)
    header = _HEADER.pack(_MAGIC, _FORMAT, len(described), head.number, head.write_id, *sizes)
    held = [data for each in head.parts.values() for _, data in each.inlined]
    content = b"".join([header, head.manifest, head.log, *head.earlier, described, *held])
    return content + _CHECKSUM.pack(xxh3_64_intdigest(content))


def decode_head(data: memoryview, url: str) -> Head:
    """Return what `encode_head` made bytes of.

    Raises OperationalError with the offset where they are not that, and NotSupportedError if a
    later RayDB wrote them.
    """
    least = _HEADER.size + _CHECKSUM.size
    if len(data) < least:
        raise damaged(url, 0, f"{least} bytes or more", f"{len(data)} bytes")
    magic, layout, described_size, number, write_id, *sizes = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise damaged(url, 0, repr(_MAGIC), repr(magic))
    end = len(data) - _CHECKSUM.size
    (stored,) = _CHECKSUM.unpack_from(data, end)
    computed = xxh3_64_intdigest(data[:end])
    if stored != computed:
        raise damaged(url, end, f"checksum {computed:016x}", f"{stored:016x}")
    if layout != _FORMAT:
        raise NotSupportedError(
            f"file '{url}' has format {layout} of databases; this RayDB knows {_FORMAT}"
        )
    log_at = _HEADER.size + sizes[0]
    earlier_at = log_at + sizes[1]
    described_at = earlier_at + _ID_BYTES * sizes[2]
    place = described_at + described_size
    if place > end:
        raise damaged(url, 40, f"sizes of {end - _HEADER.size} bytes", f"{place - _HEADER.size}")
    described = Described.parse(bytes(data[described_at:place]), url, "description")
    parts: dict[str, Parts] = {}
    for name, each in described.entries().items():
        inlined = []
        for start, stop in map(_range_of, each["inlined"].items()):
            if place + stop - start > end:
                raise damaged(url, place, f"{stop - start} bytes of '{name}'", f"{end - place}")
            inlined.append(((start, stop), bytes(data[place : place + stop - start])))
            place += stop - start
        opening, metadata = (
            tuple(map(_range_of, each[kind].items())) for kind in ("opening", "metadata")
        )
        parts[name] = Parts(opening, metadata, tuple(inlined))
    manifest, log = bytes(data[_HEADER.size : log_at]), bytes(data[log_at:earlier_at])
    places = range(earlier_at, described_at, _ID_BYTES)
    earlier = tuple(bytes(data[place : place + _ID_BYTES]) for place in places)
    return Head(number, write_id, earlier, manifest, log, parts)


def decode_version(head: Head, url: str) -> tuple[Manifest, Tail]:
    """Return the manifest and the log of HEAD. Raises OperationalError where they are damaged."""
    version = int.from_bytes(head.manifest[16:24], "little")
    manifest = decode_manifest(head.manifest, version, url)
    tail = decode_log(head.log, manifest.log_id, url)
    if tail.end != len(head.log):
        raise damaged(url, tail.end, "whole frames of its log", "other bytes")
    return manifest, tail


def _range_of(described: Described) -> Range:
    low, high = described.items(2)
    start = low.integer()
    return start, high.integer(start)
