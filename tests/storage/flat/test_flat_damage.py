"""A damaged or hostile file is a named error or reads right: never a crash or a wrong row.

RAYDB_FLIPS says how many of a file's bytes are flipped, each on its own (default 2000; 0 is all).
"""

from __future__ import annotations

import os
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from flat_model import parse
from xxhash import xxh3_64_intdigest

from raydb.errors import NotSupportedError, OperationalError
from raydb.storage.flat import open_table, write_table
from raydb.storage.flat.encodings.vectors import VECTORS
from raydb.storage.flat.layout import CHUNK_ENTRY, SECTION, TAIL, ChunkEntry
from raydb.storage.flat.metadata.flatbuffer import RootTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLIPS = int(os.environ.get("RAYDB_FLIPS", "2000"))
DAMAGE = re.compile(r"file '.*x\.flat' is damaged at offset \d+: expected .+, found .+", re.DOTALL)


def small_table() -> tuple[pa.Table, dict[str, Any]]:
    """Return a table with a column in each encoding, and the settings that give it."""
    texts = ["a dog", "", None, "a dog on a red board", "a dog", "two dogs"]
    table = pa.table(
        {
            "number": [5, 9, None, 7, 5, 30_000],
            "verbatim": [0.5, float("nan"), 1.5, -0.0, 2.5, 3.5],
            "runs": [4, 4, 4, 4, 7, 7],
            "word": ["AIR", "SHIP", "AIR", None, "AIR", "RAIL"],
            "other": ["SHIP", "AIR", "RAIL", "AIR", "AIR", "SHIP"],
            "text": texts,
            "fsst": texts,
            "lengths": texts,
            "constant": ["x"] * 6,
            "nothing": pa.nulls(6, pa.int8()),
            "list": [[1], [], None, [2, 3], [4], [5]],
            "flag": [True, False, None, True, True, False],
        }
    )
    return table, {
        "chunk_rows": {"fsst": 1, "list": 4, "number": 2},
        "encodings": {
            "runs": "run_length",
            "word": "dictionary",
            "other": "dictionary",
            "fsst": "fsst",
            "text": "verbatim",
        },
        "offset_index": {"lengths": False},
    }


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, pa.Table]:
    path = tmp_path_factory.mktemp("small") / "x.flat"
    table, settings = small_table()
    write_table(table, path, **settings)
    return path.read_bytes(), table


def read_in_all_ways(path: Path) -> list[str]:
    """Return what a file holds, read as single rows, as taken rows and as columns."""
    with open_table(path) as flat:
        names = flat.schema.names
        items = [[flat.item(row, name) for name in names] for row in range(flat.row_count)]
        taken = flat.take([*range(flat.row_count)])
        scanned = flat.scan()
        scanned.validate(full=True)
        return [repr(items), repr(taken.to_pydict()), repr(scanned.to_pydict())]


def check(path: Path, right: list[str], where: object) -> bool:
    """Read a file; tell whether it was found damaged. Wrong rows and other errors fail."""
    try:
        found = read_in_all_ways(path)
    except OperationalError as error:
        if DAMAGE.fullmatch(str(error)):
            return True
        raise
    assert found == right, where
    return False


@pytest.mark.long
def test_a_flipped_byte_is_found_or_harmless(small: tuple[bytes, pa.Table], tmp_path: Path) -> None:
    data, _ = small
    path = tmp_path / "x.flat"
    path.write_bytes(data)
    right = read_in_all_ways(path)
    random = np.random.default_rng(1)
    places = np.sort(random.permutation(len(data))[: FLIPS or len(data)])
    flips = random.integers(1, 256, len(places))
    harmless = 0
    with path.open("r+b", buffering=0) as file:
        for place, flip in zip(places.tolist(), flips.tolist(), strict=True):
            os.pwrite(file.fileno(), bytes([data[place] ^ flip]), place)
            harmless += not check(path, right, (place, flip))
            os.pwrite(file.fileno(), data[place : place + 1], place)
    # Only the zeros between aligned sections are not covered by a checksum.
    assert harmless < len(places) * 0.2


def test_every_truncation_is_found(small: tuple[bytes, pa.Table], tmp_path: Path) -> None:
    data, _ = small
    path = tmp_path / "x.flat"
    path.write_bytes(data)
    for length in reversed(range(len(data))):
        os.truncate(path, length)
        with pytest.raises(OperationalError, match="is damaged at offset"):
            open_table(path)


def test_verify_reads_everything(small: tuple[bytes, pa.Table], tmp_path: Path) -> None:
    data, table = small
    path = tmp_path / "x.flat"
    path.write_bytes(data)
    with open_table(path) as flat:
        flat.verify()
        chunk = flat.metadata.columns[5].chunks[0]
    broken = bytearray(data)
    broken[chunk.offset + 9] ^= 1
    path.write_bytes(broken)
    with open_table(path) as flat:
        expected = f"at offset {chunk.offset}: expected chunk 0 of column 'text' with checksum"
        with pytest.raises(OperationalError, match=expected):
            flat.verify()
        assert flat.column("number").to_pylist() == table.column("number").to_pylist()


def test_a_later_version_is_refused(small: tuple[bytes, pa.Table], tmp_path: Path) -> None:
    data = bytearray(small[0])
    struct.pack_into("<I", data, 8, 3)
    struct.pack_into("<Q", data, 24, xxh3_64_intdigest(data[:24]))
    (tmp_path / "x.flat").write_bytes(data)
    with pytest.raises(NotSupportedError, match="version 3; this RayDB reads versions 1 to 2"):
        open_table(tmp_path / "x.flat")


class Forger:
    """Change bytes of a file and make every checksum above them right again."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self.vtable = TAIL.unpack_from(self.data, len(data) - TAIL.size)[0]
        root = RootTable("", 0, memoryview(data)[self.vtable : len(data) - TAIL.size])
        self.table_at = self.vtable + root.required(1, SECTION.size)
        start, self.column_count = root.vector(2, SECTION.size)
        self.columns_at = self.vtable + start

    def section(self, place: int) -> tuple[int, int]:
        offset, length, _ = SECTION.unpack_from(self.data, place)
        return offset, length

    def column(self, number: int) -> tuple[int, int, RootTable]:
        offset, length = self.section(self.columns_at + number * SECTION.size)
        view = memoryview(bytes(self.data[offset : offset + length]))
        return offset, length, RootTable("", 0, view)

    def sign(self) -> bytes:
        for number in range(self.column_count):
            offset, _, root = self.column(number)
            entries, count = root.vector(1, CHUNK_ENTRY.size)
            checksums, _ = root.vector(2, 8)
            for chunk in range(count):
                place = offset + entries + chunk * CHUNK_ENTRY.size
                entry = ChunkEntry._make(CHUNK_ENTRY.unpack_from(self.data, place))
                body = self.data[entry.offset : entry.offset + entry.length]
                digest = xxh3_64_intdigest(bytes(body))
                struct.pack_into("<Q", self.data, offset + checksums + 8 * chunk, digest)
            self._sign_section(self.columns_at + number * SECTION.size)
        self._sign_section(self.table_at)
        end = len(self.data) - TAIL.size
        digest = xxh3_64_intdigest(bytes(self.data[self.vtable : end]))
        struct.pack_into("<Q", self.data, end + 16, digest)
        return bytes(self.data)

    def _sign_section(self, place: int) -> None:
        offset, length = self.section(place)
        if offset + length <= len(self.data):
            digest = xxh3_64_intdigest(bytes(self.data[offset : offset + length]))
            struct.pack_into("<Q", self.data, place + 16, digest)


def forge_entry(
    change: Callable[[ChunkEntry], ChunkEntry], column: int
) -> Callable[[bytes], bytes]:
    def forge(data: bytes) -> bytes:
        forger = Forger(data)
        offset, _, root = forger.column(column)
        place = offset + root.vector(1, CHUNK_ENTRY.size)[0]
        entry = ChunkEntry._make(CHUNK_ENTRY.unpack_from(forger.data, place))
        CHUNK_ENTRY.pack_into(forger.data, place, *change(entry))
        return forger.sign()

    return forge


def forge_payload(position: int, value: bytes, column: int) -> Callable[[bytes], bytes]:
    def forge(data: bytes) -> bytes:
        forger = Forger(data)
        offset, _, root = forger.column(column)
        place = offset + root.vector(1, CHUNK_ENTRY.size)[0]
        entry = ChunkEntry._make(CHUNK_ENTRY.unpack_from(forger.data, place))
        at = entry.offset + position
        forger.data[at : at + len(value)] = value
        return forger.sign()

    return forge


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (forge_entry(lambda e: e._replace(offset=2**63), 1), "chunk 0 aligned and before byte"),
        (forge_entry(lambda e: e._replace(offset=e.offset + 8), 1), "chunk 0 aligned and before"),
        (forge_entry(lambda e: e._replace(payload_length=2**32 - 1), 1), "chunk 0 aligned and"),
        (forge_entry(lambda e: e._replace(row_count=7), 1), "chunks of 6 rows"),
        (forge_entry(lambda e: e._replace(first_row=1), 1), "chunks that follow each other"),
        (forge_entry(lambda e: e._replace(null_count=6), 1), "expected column .* with 0 NULLs"),
        (forge_entry(lambda e: e._replace(encoding=6), 1), "encodings of its kind, found \\[6\\]"),
        (forge_entry(lambda e: e._replace(width=32), 1), "48 bytes of 64 bits"),
        (forge_entry(lambda e: e._replace(width=58), 0), "a width of 1 to 57 or 64 bits"),
        (forge_entry(lambda e: e._replace(flags=32), 5), "lengths of 1, 2 or 4 bytes"),
        (forge_payload(8 + 4, b"\xff\xff\xff\x7f", 5), "offsets that rise from 0 to 38"),
        (forge_payload(4, b"\0\0\0\0", 2), "run ends that rise to 6"),
        (forge_payload(0, b"\xff\xff\xff\xff", 2), "runs in a chunk .* found 4294967295 runs"),
        (forge_payload(8, b"\xff", 3), "codes below"),
        (forge_payload(40, b"\xff", 5), "readable texts in a chunk of column 'text'"),
    ],
)
def test_forged_metadata_are_named(
    small: tuple[bytes, pa.Table],
    tmp_path: Path,
    forge: Callable[[bytes], bytes],
    message: str,
) -> None:
    path = tmp_path / "x.flat"
    path.write_bytes(forge(small[0]))
    with pytest.raises(OperationalError, match=message) as caught:
        read_in_all_ways(path)
    assert DAMAGE.fullmatch(str(caught.value))


def test_metadata_beside_a_chunk_must_agree(small: tuple[bytes, pa.Table], tmp_path: Path) -> None:
    forger = Forger(small[0])
    offset, _, root = forger.column(1)
    entry = ChunkEntry._make(
        CHUNK_ENTRY.unpack_from(forger.data, offset + root.vector(1, CHUNK_ENTRY.size)[0])
    )
    place = entry.offset + entry.starts()[4]
    own = RootTable("", 0, memoryview(bytes(forger.data[place : place + entry.metadata_length])))
    forger.data[place + own.required(0, CHUNK_ENTRY.size)] ^= 1
    path = tmp_path / "x.flat"
    path.write_bytes(forger.sign())
    with open_table(path) as flat, pytest.raises(OperationalError, match="expected the entry"):
        flat.verify()


def test_codes_without_an_entry_are_told_and_not_followed(tmp_path: Path) -> None:
    path, texts = tmp_path / "x.flat", [f"/page/{row % 50}/item" for row in range(2000)]
    write_table(pa.table({"x": texts}), path, encodings={"x": "onpair"}, chunk_rows=500)
    model = parse(path)
    sections = model.columns[0].chunks[1].sections
    sections["payload"] = b"\xff" * 12 + sections["payload"][12:]
    path.write_bytes(model.to_bytes())
    with open_table(path) as flat:
        assert flat.take([3, 1500])["x"].to_pylist() == [texts[3], texts[1500]]
        for rows in ([500], [500, 501, 502], list(range(400, 600))):
            with pytest.raises(OperationalError, match="is damaged"):
                flat.take(rows)


def test_vectors_among_other_values_are_told(tmp_path: Path) -> None:
    path, table = tmp_path / "x.flat", pa.table({"x": [[row] for row in range(200)]})
    write_table(table, path, chunk_rows=100)
    model = parse(path)
    model.columns[0].chunks[1].fields["encoding"] = VECTORS.code
    path.write_bytes(model.to_bytes())
    with open_table(path) as flat:
        assert flat.take([7, 3])["x"].to_pylist() == [[7], [3]]
        with pytest.raises(OperationalError, match="is damaged"):
            flat.take([7, 103])


@pytest.mark.parametrize("size", [0, 4, 11, 12, 40])
def test_flatbuffers_of_noise_are_refused_or_bounded(size: int) -> None:
    random = np.random.default_rng(size)
    for _ in range(300):
        view = memoryview(random.integers(0, 24, size).astype(np.uint8).tobytes())
        try:
            root = RootTable("x.flat", 100, view)
            for slot in range(4):
                position = root.inline(slot, 8)
                assert position is None or 0 <= position <= size - 8
                start, count = root.vector(slot, 8)
                assert start + 8 * count <= size
        except OperationalError as error:
            if not DAMAGE.fullmatch(str(error)):
                raise


def test_nulls_of_a_required_column_are_named_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.flat"
    write_table(pa.table({"a": [1, None], "b": [1, 2]}), path)
    with open_table(path) as table:
        table.require(frozenset({"a", "b"}))
        assert table.column("b").to_pylist() == [1, 2]
        for read in (table.column, table.reader):
            with pytest.raises(OperationalError, match="no NULL in column 'a', found 1"):
                read("a")
