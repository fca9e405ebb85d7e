"""The fixed parts of a FlatStor file: magic bytes, struct layouts, codes and alignments.

    header 64 B | chunks, 64-byte aligned | blooms | dictionaries, symbols | column metadata
    | table metadata | Global VTable | tail 32 B

docs/flatstor.md gives the meaning of every byte.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

import numpy as np

MAGIC = b"FLATSTOR"
TAIL_MAGIC = b"FLATTAIL"
FORMAT_VERSION = 2

# magic, format version, header size, reserved, XXH3-64 of the 24 bytes before; then zeros.
HEADER = struct.Struct("<8sIIQQ32x")
# Global VTable: offset, length, checksum; magic.
TAIL = struct.Struct("<QQQ8s")
HEADER_CHECKED_BYTES = 24

CHUNK_ALIGNMENT = 64
SECTION_ALIGNMENT = 8

# The structs of flatstor.fbs.
SECTION = struct.Struct("<QQQ")
SHARED_DICTIONARY = struct.Struct("<QQQIBBH")
_CHUNK_ENTRY = "QQqIIIIIIIIIBBH"
CHUNK_ENTRY = struct.Struct(f"<{_CHUNK_ENTRY}")
CHUNK_RANGE = struct.Struct("<qq")
COLUMN_HEADER = struct.Struct("<QQQQQQQQQQQIIIBBBB")

# An offset index counts in 32 bits and Arrow's string offsets are signed.
MAX_PAYLOAD_BYTES = 2**31 - 1
# A chunk of one value stands for so many rows at most, so that a file's rows cost it some bytes.
MAX_CHUNK_ROWS = 2**24


class Kind(IntEnum):
    """What the values of a column are, physically."""

    BOOLEAN = 1
    SIGNED = 2
    UNSIGNED = 3
    FLOAT = 4
    DECIMAL = 5
    BYTES = 6
    NESTED = 7


class Modality(IntEnum):
    """What the values of a column are, to people and models."""

    NUMBER = 1
    TEXT = 2
    BYTES = 3
    IMAGE = 4
    AUDIO = 5
    VIDEO = 6
    DOCUMENT = 7
    MIXED_MEDIA = 8
    VECTOR = 9
    NESTED = 10


class Tier(IntEnum):
    """The metadata tier that holds the entries which the chunks of a column share."""

    CHUNK = 1
    COLUMN = 2
    TABLE = 3


class Flags:
    """Bits: what the statistics, the offset index and the validity of a chunk hold.

    Plain integers, because an IntFlag takes 0.5 µs for each `&`.
    """

    HAS_BOUNDS = 1
    HAS_NAN = 2
    MINIMUM_EXACT = 4
    MAXIMUM_EXACT = 8
    MAXIMUM_UNBOUNDED = 16
    LENGTHS = 32
    RUNS = 64
    NARROW = 128
    RARE = 256
    CHANGES = 512


class Section(NamedTuple):
    """Bytes of the file and their XXH3-64; all zero where there are none."""

    offset: int
    length: int
    checksum: int


NO_SECTION = Section(0, 0, 0)


class ChunkEntry(NamedTuple):
    """One column chunk, in the order of the struct in flatstor.fbs."""

    first_row: int
    offset: int
    reference: int
    row_count: int
    null_count: int
    validity_length: int
    index_length: int
    payload_length: int
    dictionary_length: int
    symbols_length: int
    metadata_length: int
    dictionary_count: int
    encoding: int
    width: int
    flags: int

    def starts(self) -> tuple[int, int, int, int, int]:
        """Return where index, payload, dictionary, symbols and metadata begin in the chunk."""
        index = (self.validity_length + 7) & -8
        payload = index + ((self.index_length + 7) & -8)
        dictionary = payload + ((self.payload_length + 7) & -8)
        symbols = dictionary + ((self.dictionary_length + 7) & -8)
        return index, payload, dictionary, symbols, symbols + ((self.symbols_length + 7) & -8)

    @property
    def length(self) -> int:
        """The bytes of the whole chunk: those which its checksum covers."""
        return self.starts()[4] + self.metadata_length


# The same as a field of NumPy's each, whose codes are those of structs.
ENTRY_DTYPE = np.dtype(
    [(n, f"<{c}") for n, c in zip(ChunkEntry._fields, _CHUNK_ENTRY, strict=True)]
)


class ColumnHeader(NamedTuple):
    """The fixed part of a column's metadata, in the order of the struct in flatstor.fbs."""

    row_count: int
    null_count: int
    dictionary: Section
    symbols: Section
    blooms: Section
    chunk_rows: int
    dictionary_count: int
    shared_dictionary: int
    kind: int
    modality: int
    dictionary_tier: int

    def pack(self) -> bytes:
        """Return the struct of flatstor.fbs."""
        return COLUMN_HEADER.pack(
            *self[:2], *self.dictionary, *self.symbols, *self.blooms, *self[5:], 0
        )

    @classmethod
    def unpack(cls, view: memoryview, position: int) -> ColumnHeader:
        """Return the header at a position of a view, whose bounds have been checked."""
        fields = COLUMN_HEADER.unpack_from(view, position)
        sections = (Section(*fields[2:5]), Section(*fields[5:8]), Section(*fields[8:11]))
        return cls(fields[0], fields[1], *sections, *fields[11:17])


def align(length: int, alignment: int = SECTION_ALIGNMENT) -> int:
    """Return the least multiple of `alignment` that is not below `length`.

    >>> align(13)
    16
    """
    return -(-length // alignment) * alignment
