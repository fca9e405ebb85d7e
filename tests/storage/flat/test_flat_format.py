"""The bytes of the format: version 1 stays readable, each tier holds what it should."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from flatstor_schema.ChunkMetadata import ChunkMetadata
from flatstor_schema.ColumnMetadata import ColumnMetadata
from flatstor_schema.GlobalVTable import GlobalVTable
from flatstor_schema.TableMetadata import TableMetadata

from raydb.errors import ProgrammingError
from raydb.flatstor import add_modality
from raydb.storage.flat import inspect, modality, open_table, write_table
from raydb.storage.flat.encodings import ENCODINGS
from raydb.storage.flat.layout import MAGIC, TAIL, TAIL_MAGIC
from raydb.storage.flat.modality import media_type

DATA = Path(__file__).parent / "data"


def table_of_version_1() -> pa.Table:
    """Return the table that version_1.flat was written from, with the settings below."""
    texts = ["a dog", "", None, "a dog on a red board", "a dog", "two dogs", "ü", "\0"]
    return pa.table(
        {
            "frame": pa.array([5, 9, None, 7, 5, 30_000, -3, 0]),
            "unsigned": pa.array([2**64 - 1, 2**64 - 2, *range(6)], pa.uint64()),
            "float": [0.5, float("inf"), 1.5, -0.0, 2.5, 3.5, None, 1e300],
            "runs": pa.array([4, 4, 4, 4, 7, 7, 7, 7], pa.int16()),
            "word": ["AIR", "SHIP", "AIR", None, "AIR", "RAIL", "AIR", "SHIP"],
            "other": ["SHIP", "AIR", "RAIL", "AIR", "AIR", "SHIP", "AIR", "AIR"],
            "mode": ["AIR", "SHIP", "AIR", "AIR", "AIR", "RAIL", "AIR", "SHIP"],
            "key": [number * 2**32 for number in (9, 1, 7, 2, 8, 3, 6, 4)],
            "text": texts,
            "fsst": texts,
            "lengths": pa.array(texts, pa.large_string()),
            "raw": pa.array([b"\xff", b"", None, b"\0", b"a", b"b", b"c", b"d"]),
            "constant": ["x"] * 8,
            "nothing": pa.nulls(8, pa.int8()),
            "list": [[1], [], None, [2, 3], [4], [5], [6], [None]],
            "vector": pa.FixedSizeListArray.from_arrays(np.arange(16, dtype=np.float32), 2),
            "flag": [True, False, None, True, True, False, True, True],
            "price": pa.array([decimal.Decimal(n) / 4 for n in range(8)], pa.decimal128(9, 2)),
            "wide": pa.array([decimal.Decimal(10**30), *range(7)], pa.decimal128(38, 0)),
            "day": [dt.date(2020, 1, 1) + dt.timedelta(n) for n in range(8)],
            "time": pa.array([dt.datetime(2020, 1, 1, 0, 0, n) for n in range(8)]),
        },
        metadata={"origin": "format version 1"},
    )


SETTINGS_OF_VERSION_1 = {
    "chunk_rows": {"frame": 3, "fsst": 4, "list": 4, "mode": 2, "key": 2},
    "encodings": {
        "runs": "run_length",
        "word": "dictionary",
        "other": "dictionary",
        "mode": "dictionary",
        "fsst": "fsst",
    },
    "offset_index": {"lengths": False},
}


def test_version_1_is_read() -> None:
    table = table_of_version_1()
    with open_table(DATA / "version_1.flat") as flat:
        flat.verify()
        assert flat.metadata.format_version == 1
        assert flat.schema.equals(table.schema, check_metadata=True)
        assert flat.scan().equals(table)
        assert flat.take([7, 0, 0]).equals(table.take([7, 0, 0]))
        encodings = {name for column in flat.metadata.columns for name in column.encodings}
    assert encodings == {
        "all_null",
        "constant",
        "verbatim",
        "frame",
        "run_length",
        "dictionary",
        "fsst",
        "arrow",
    }


def table_of_version_2() -> pa.Table:
    """Return the table that version_2.flat was written from, with the settings below."""
    table = table_of_version_1()
    columns = {
        "three bits": [5, 9, None, 7, 5, 3, 4, 8],
        "57 bits": [2**56, 0, 2**57 - 1, 1, None, 3, 4, 5],
        "line": [100, 107, 114, None, 128, 135, 142, 149],
        "steps": pa.array([2**63 + 10 * row + row % 2 for row in range(8)], pa.uint64()),
        "short": [4, 4, 1, 1, 1, 9, 9, 9],
        "pairs": [f"a red dog {row}" for row in range(8)],
        "prices": [1.25, 0.5, None, -0.0, 99.75, 12.0, float("inf"), 3.0],
        "far": [3, 1, 2, -(2**40), 2, 2**40, None, 1],
        "seconds": [n * 10**6 + 1 for n in (5, 9, 7, 5, 3, 0, 4, 8)],
    }
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


SETTINGS_OF_VERSION_2 = {
    "chunk_rows": {**SETTINGS_OF_VERSION_1["chunk_rows"], "short": 5},
    "encodings": {
        **SETTINGS_OF_VERSION_1["encodings"],
        "57 bits": "frame",
        "line": "line",
        "steps": "line",
        "short": "runs",
        "seconds": "stride",
        "prices": "alp",
        "far": "patched",
        "pairs": "onpair",
    },
    "offset_index": SETTINGS_OF_VERSION_1["offset_index"],
}


def test_version_2_is_read() -> None:
    table = table_of_version_2()
    with open_table(DATA / "version_2.flat") as flat:
        flat.verify()
        assert flat.metadata.format_version == 2
        assert flat.schema.equals(table.schema, check_metadata=True)
        assert flat.scan().equals(table)
        assert flat.take([7, 0, 0]).equals(table.take([7, 0, 0]))
        encodings = {name for column in flat.metadata.columns for name in column.encodings}
        rows = [{name: flat.item(row, name) for name in table.column_names} for row in range(8)]
    assert rows == table.to_pylist()
    assert encodings == {each.name for each in ENCODINGS.values()} - {"references"}


def test_references_of_version_2_are_read() -> None:
    """The file refers to its neighbour of version 1, whole and in parts."""
    data = (DATA / "version_1.flat").read_bytes()
    with open_table(DATA / "references.flat") as flat:
        flat.verify()
        assert flat.scan().column("part").to_pylist() == [data, data[:8], None, b""]
        assert flat.metadata.columns[0].encodings == {"references": 1}


def test_the_ends_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.flat"
    write_table(pa.table({"a": [1, 2]}), path)
    data = path.read_bytes()
    assert data[:16] == MAGIC + struct.pack("<II", 2, 64)
    offset, length, _, magic = TAIL.unpack(data[-32:])
    assert (offset + length, magic) == (len(data) - 32, TAIL_MAGIC)


def test_the_tiers_are_flatbuffers(tmp_path: Path) -> None:
    path = tmp_path / "x.flat"
    texts = [f"{n % 7} dogs" for n in range(100)]
    write_table(pa.table({"id": range(100), "text": texts}), path, chunk_rows=40)
    data = path.read_bytes()
    vtable = GlobalVTable.GetRootAs(data, TAIL.unpack(data[-32:])[0])
    assert vtable.FileLength() == len(data)
    table = TableMetadata.GetRootAs(data, vtable.Table().Offset())
    assert table.RowCount() == 100
    assert pa.ipc.read_schema(pa.py_buffer(table.SchemaAsNumpy())).names == ["id", "text"]
    for number in range(vtable.ColumnsLength()):
        column = ColumnMetadata.GetRootAs(data, vtable.Columns(number).Offset())
        assert (column.Header().RowCount(), column.ChunksLength()) == (100, 3)
        assert [column.Chunks(chunk).FirstRow() for chunk in range(3)] == [0, 40, 80]
        for chunk in range(3):
            entry = column.Chunks(chunk)
            assert entry.Offset() % 64 == 0
            sections = (
                entry.ValidityLength(),
                entry.IndexLength(),
                entry.PayloadLength(),
                entry.DictionaryLength(),
                entry.SymbolsLength(),
            )
            start = entry.Offset() + sum(-(-size // 8) * 8 for size in sections)
            own = ChunkMetadata.GetRootAs(data, start)
            assert own.Entry().FirstRow() == entry.FirstRow()
            if number == 0:
                assert (own.Range().Minimum(), own.Range().Maximum()) == (
                    40 * chunk,
                    min(40 * chunk + 39, 99),
                )
            else:
                assert bytes(own.TextMinimumAsNumpy()) == b"0 dogs"


def test_dictionaries_are_promoted(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    common = ["AIR", "FOB", "MAIL", "RAIL"]
    modes = [str(mode) for mode in random.choice(common, 400)]
    modes[150] = "RARE"
    cities = [f"city {n}" for n in random.integers(0, 40, 400)]
    homes = [f"city {n}" for n in random.integers(1, 40, 400)]
    scattered = [f"{n // 100}-{n % 3}" for n in range(400)]
    table = pa.table({"mode": modes, "city": cities, "home": homes, "scattered": scattered})
    path = tmp_path / "x.flat"
    rows = {"mode": 100, "city": 400, "home": 400, "scattered": 100}
    write_table(table, path, chunk_rows=rows, encodings=dict.fromkeys(rows, "dictionary"))
    with open_table(path) as flat:
        metadata = flat.metadata
        assert flat.scan().equals(table)
        assert flat.item(150, "mode") == "RARE"
    mode, city, home, apart = metadata.columns
    assert (mode.dictionary_tier, mode.dictionary_entries) == ("column", 4)
    assert [chunk.own_entries for chunk in mode.chunks] == [0, 1, 0, 0]
    assert (apart.dictionary_tier, apart.dictionary_entries) == ("chunk", 0)
    assert [chunk.own_entries for chunk in apart.chunks] == [3, 3, 3, 3]
    assert city.dictionary_tier == home.dictionary_tier == "table"
    assert city.shared_dictionary == home.shared_dictionary == 0
    assert metadata.shared_dictionaries == (40,)


def test_zone_maps(tmp_path: Path) -> None:
    table = pa.table(
        {
            "number": pa.array([3, None, -7, 9]),
            "big": pa.array([2**64 - 1, 5, 6, 7], pa.uint64()),
            "float": [float("nan"), 2.5, -1.0, None],
            "text": ["b" * 30, "a" * 30, "b", None],
            "high": [b"\xff" * 30, b"\xff" * 31, b"a", b"b"],
            "nothing": pa.nulls(4, pa.string()),
        }
    )
    path = tmp_path / "x.flat"
    write_table(table, path, encodings={"high": "verbatim"})
    with open_table(path) as flat:
        chunks = {column.name: column.chunks[0] for column in flat.metadata.columns}
    bounds = {name: (chunk.minimum, chunk.maximum) for name, chunk in chunks.items()}
    assert bounds == {
        "number": (-7, 9),
        "big": (5, 2**64 - 1),
        "float": (-1.0, 2.5),
        "text": (b"a" * 24, b"b" * 23 + b"c"),
        "high": (b"a", None),
        "nothing": (None, None),
    }
    assert chunks["float"].has_nan
    assert not chunks["number"].has_nan


def test_the_offset_index_is_switchable(tmp_path: Path) -> None:
    table = pa.table({"text": [f"caption number {n}" for n in range(1000)]})
    sizes = {}
    for indexed in (True, False):
        path = tmp_path / f"{indexed}.flat"
        write_table(table, path, encodings={"text": "verbatim"}, offset_index={"text": indexed})
        with open_table(path) as flat:
            chunk = flat.metadata.columns[0].chunks[0]
            assert chunk.offset_index is indexed
            assert flat.item(17, "text") == "caption number 17"
            assert flat.take([999, 3]).equals(table.take([999, 3]))
            sizes[indexed] = chunk.size_bytes
    # One byte a length, seven bits an offset.
    assert sizes[False] - sizes[True] == pytest.approx(1000 - 1001 * 7 // 8, abs=32)


def png(size: int, seed: int) -> bytes:
    pixels = np.random.default_rng(seed).bytes(size)
    data = zlib.compress(pixels, 0)
    length = struct.pack(">I", len(data))
    return b"\x89PNG\r\n\x1a\n" + length + b"IDAT" + data + struct.pack(">I", zlib.crc32(data))


def test_media_are_stored_verbatim_in_chunks_of_their_own(tmp_path: Path) -> None:
    images = [png(9000, seed) if seed % 5 else None for seed in range(60)]
    table = pa.table({"image": images, "id": range(60)})
    path = tmp_path / "x.flat"
    write_table(table, path)
    with open_table(path) as flat:
        image, number = flat.metadata.columns
        assert flat.scan().equals(table)
        assert flat.item(59, "image") == images[59]
    assert (image.modality, image.media_types) == ("image", ("image/png",))
    assert image.chunk_rows < number.chunk_rows
    assert set(image.encodings) == {"verbatim"}
    assert image.size_bytes < sum(len(item) for item in images if item) * 1.01


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"BM" + struct.pack("<I", 64) + bytes(58), "image/bmp"),
        (b"BM" + struct.pack("<I", 65) + bytes(58), None),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", "audio/wav"),
        (b"RIFF\0\0\0\0AVI LIST", "video/avi"),
        (b"RIFF\0\0\0\0????", None),
        (b"fLaC", "audio/flac"),
        (b"OggS", "audio/ogg"),
        (b"ID3\x04", "audio/mpeg"),
        (b"\xff\xfb\x90\x00", "audio/mpeg"),
        (b"\xff\xff\xff\xff", None),
        (b"\0\0\0\x18ftypisom", "video/mp4"),
        (b"\0\0\0\x18ftypqt  ", "video/quicktime"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\x1a\x45\xdf\xa3...matroska", "video/x-matroska"),
        (b"\x1a\x45\xdf\xa3...webm", "video/webm"),
        (b"%PDF-1.7", "application/pdf"),
        (b"", None),
        (b"a dog", None),
    ],
)
def test_magic_numbers(head: bytes, name: str | None) -> None:
    assert media_type(head, len(head)) == name


def test_modalities(tmp_path: Path) -> None:
    table = pa.table(
        {
            "mixed": [b"GIF89a", b"OggS", None],
            "plain": [b"GIF89a", b"no", None],
            "paper": [b"%PDF-1.4", b"", None],
            "vector": pa.FixedSizeListArray.from_arrays(np.zeros(6, np.float32), 2),
            "list": [["a"], [], None],
        }
    )
    write_table(table, tmp_path / "x.flat")
    with open_table(tmp_path / "x.flat") as flat:
        found = {column.name: column.modality for column in flat.metadata.columns}
    assert found == {
        "mixed": "mixed_media",
        "plain": "bytes",
        "paper": "document",
        "vector": "vector",
        "list": "nested",
    }


@pytest.fixture
def _no_modalities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modality, "_ADDED", {})


@pytest.mark.usefixtures("_no_modalities")
def test_added_modalities(tmp_path: Path) -> None:
    clouds = [b"LASF" + bytes([n]) * 5000 if n % 7 else None for n in range(64)]
    table = pa.table(
        {
            "cloud": clouds,
            "smiles": [f"C{'CO' * n}" for n in range(64)],
            "image": [png(9000, n) for n in range(64)],
            "other": [b"LASF", *clouds[1:-1], b"x"],
        }
    )
    add_modality("point cloud", b"LASF")
    add_modality("molecule", lambda head, length: {*head} <= {*b"CO"}, verbatim=False)
    write_table(table, tmp_path / "x.flat")
    modality._ADDED.clear()
    with open_table(tmp_path / "x.flat") as flat:
        columns = {each.name: each for each in flat.metadata.columns}
        assert flat.scan().equals(table)
    found = [each.modality for each in columns.values()]
    assert found == ["point cloud", "molecule", "image", "bytes"]
    assert "cloud: binary, point cloud, " in inspect(tmp_path / "x.flat")
    cloud = columns["cloud"]
    assert (cloud.encodings, cloud.chunk_rows) == ({"verbatim": 2}, 62)
    assert cloud.chunks[0].minimum is None
    assert columns["smiles"].chunks[0].minimum == b"C"


@pytest.mark.usefixtures("_no_modalities")
def test_modalities_that_cannot_be(tmp_path: Path) -> None:
    for name, text in (
        ("Image", "'Image' is one of FlatStor's own"),
        ("mixed media", "'mixed media' is one of FlatStor's own"),
        ("", "has a name of 1 to 64 printable characters"),
        (5, "has a name of 1 to 64 printable characters"),
        ("x" * 65, "has a name of 1 to 64 printable characters"),
        ("a\nb", "has a name of 1 to 64 printable characters"),
    ):
        with pytest.raises(ProgrammingError, match=text):
            add_modality(name, b"x")  # type: ignore[arg-type]
    add_modality("broken", lambda head, length: bool(head[length]))
    with pytest.raises(ProgrammingError, match="modality 'broken' cannot tell its items: index"):
        write_table(pa.table({"t": ["a"]}), tmp_path / "x.flat")


def test_inspect_draws_the_tiers() -> None:
    drawing = inspect(DATA / "version_1.flat")
    assert "FlatStor version 1, 8 rows, 21 columns" in drawing
    assert "dictionary of 3 entries, shared by word, other" in drawing
    assert "frame: int64, number" in drawing
    assert "rows 0 to 2, frame 4-bit" in drawing
    assert "-3 to 0" in drawing


def test_reading_rows_imports_no_numba(tmp_path: Path) -> None:
    texts = [f"a dog on a red board {n}" for n in range(300)]
    write_table(pa.table({"text": texts}), tmp_path / "x.flat", encodings={"text": "fsst"})
    program = (
        "import sys\n"
        "from raydb.storage.flat import open_table\n"
        f"flat = open_table({str(tmp_path / 'x.flat')!r})\n"
        "print(flat.item(7, 'text'), flat.take([3]).num_rows, 'numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "a dog on a red board 7 1 False\n"


def test_one_table_has_one_sequence_of_bytes() -> None:
    from raydb.storage.flat import write_stream

    sinks = [io.BytesIO(), io.BytesIO()]
    for sink in sinks:
        write_stream(sink, table_of_version_1(), **SETTINGS_OF_VERSION_1)
    assert sinks[0].getvalue() == sinks[1].getvalue()
