"""Texts in pairs and beside narrow indexes: read in every way, found by value, or refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from flat_model import parse
from test_flat_round_trip import check_everything, stored

from raydb.errors import OperationalError, ProgrammingError
from raydb.storage.flat import chunk, column_reader, open_table, write_table
from raydb.storage.flat.encodings import onpair, text_runs
from raydb.storage.flat.layout import Flags

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 16_000
WORDS = ["a", "brown", "dog", "near", "the", "harbor", "ünder", "on", "red", "board", "and", "x"]


@pytest.fixture(scope="module")
def texts() -> pa.Table:
    random = np.random.default_rng(5)
    lines = [" ".join(random.choice(WORDS, size)) for size in random.integers(1, 14, ROWS)]
    with_nulls = pa.array(lines, mask=random.random(ROWS) < 0.1)
    return pa.table(
        {
            "line": lines,
            "nulls": with_nulls,
            "large": pa.array(lines, pa.large_string()),
            "bytes": pa.array([line.encode()[::-1] for line in lines], pa.binary()),
            "lengths": lines,
            "verbatim": lines,
            "fsst": lines,
        }
    )


SETTINGS: dict[str, Any] = {
    "encodings": {"verbatim": "verbatim", "fsst": "fsst", "lengths": "onpair"},
    "offset_index": {"lengths": False},
}


def test_texts_come_back(texts: pa.Table, tmp_path: Path) -> None:
    flat = stored(texts, tmp_path, **SETTINGS)
    random = np.random.default_rng(6)
    check_everything(texts, flat, random.integers(0, ROWS, 300).tolist())
    columns = {column.name: column for column in flat.metadata.columns}
    for name in ("line", "nulls", "large", "bytes", "lengths"):
        assert set(columns[name].encodings) == {"onpair"}, name
    assert columns["line"].size_bytes < columns["fsst"].size_bytes < columns["verbatim"].size_bytes
    for start, stop in ((5, 6), (100, 3000), (ROWS - 3, ROWS), (7, 7)):
        for name in texts.column_names:
            expected = texts.column(name).slice(start, stop - start)
            assert flat.slice(name, start, stop).equals(expected), (name, start)


def test_texts_are_found_by_value(texts: pa.Table, tmp_path: Path) -> None:
    flat = stored(texts, tmp_path, **SETTINGS)
    for name in texts.column_names:
        for row in (3, 4000, ROWS - 1):
            value = texts.column(name)[row]
            if value.as_py() is not None:
                wanted = pc.field(name) == value
                assert flat.scan(filter=wanted).equals(texts.filter(wanted)), (name, row)


def test_few_rows_need_no_loop(texts: pa.Table, tmp_path: Path) -> None:
    write_table(texts.select(["line", "verbatim"]), tmp_path / "x.flat")
    program = (
        "import sys\n"
        "from raydb.storage.flat import open_table\n"
        f"flat = open_table({str(tmp_path / 'x.flat')!r})\n"
        "print(flat.item(7, 'line') == flat.take([7])['line'][0].as_py(), 'numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True False\n"


def at(data: bytes, place: int, value: bytes) -> bytes:
    return data[:place] + value + data[place + len(value) :]


@pytest.mark.parametrize(
    ("name", "section", "damage", "expected"),
    [
        ("pairs", "index", lambda p: p[:9], "an offset index of 16 bytes or more"),
        ("pairs", "index", lambda p: at(p, 0, b"\x40"), "a narrow offset index of"),
        ("pairs", "index", lambda p: at(p, 8, b"\xff" * 8), "a narrow offset index of"),
        ("pairs", "index", lambda p: at(p, 1, b"\1"), "offsets that rise from 0"),
        ("pairs", "payload", lambda p: p + b"\0", "bytes of codes"),
        ("pairs", "payload", lambda p: b"\xff" * len(p), "readable texts"),
        ("texts", "index", lambda p: at(p, 1, b"\1"), "offsets that rise from 0 to"),
    ],
)
def test_what_does_not_hold_is_named(
    name: str, section: str, damage: Callable[[bytes], bytes], expected: str, tmp_path: Path
) -> None:
    lines = [f"a brown dog near the harbor {row}" for row in range(60)]
    table = pa.table({"pairs": lines, "texts": lines})
    flat = stored(table, tmp_path, encodings={"pairs": "onpair", "texts": "verbatim"})
    flat.close()
    path = tmp_path / "table.flat"
    model = parse(path)
    sections = model.columns[table.column_names.index(name)].chunks[0].sections
    sections[section] = damage(sections[section])
    path.write_bytes(model.to_bytes())
    with (
        open_table(path) as opened,
        pytest.raises(OperationalError, match=f"expected .*{expected}"),
    ):
        opened.scan([name])
    with (
        open_table(path) as opened,
        pytest.raises(OperationalError, match=f"expected .*{expected}"),
    ):
        opened.item(0, name)


def test_pairs_that_are_none_are_named(tmp_path: Path) -> None:
    lines = [f"a brown dog near the harbor {row}" for row in range(60)]
    stored(pa.table({"pairs": lines}), tmp_path, encodings={"pairs": "onpair"}).close()
    path = tmp_path / "table.flat"
    for part, expected in ((b"\xff\xff\0\0", "a table of pairs"), (b"", "the pairs of its column")):
        model = parse(path)
        model.columns[0].parts["symbols"] = part
        (tmp_path / "forged.flat").write_bytes(model.to_bytes())
        with (
            open_table(tmp_path / "forged.flat") as opened,
            pytest.raises(OperationalError, match=expected),
        ):
            opened.scan()


@pytest.mark.parametrize("by_loop", [False, True])
def test_items_are_read_by_loops_and_without(
    by_loop: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(8)
    lines: list[str | None] = [" ".join(random.choice(WORDS, n)) for n in range(900)]
    lines += ["", None, "ü", "\0" * 5000]
    many = [None if line is None else line.encode() + b"\xff" for line in lines]
    table = pa.table({"text": lines, "bytes": pa.array(many, pa.binary())})
    flat = stored(table, tmp_path, encodings={"text": "onpair", "bytes": "onpair"}, chunk_rows=50)
    monkeypatch.setattr(onpair, "are_loops_loaded", lambda: by_loop)

    def read(name: str) -> list[Any]:
        return [flat.item(row, name) for row in range(len(lines))]

    assert read("text") == lines
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, ["text", "bytes"] * 8)) == [lines, many] * 8


@pytest.mark.parametrize("with_loops", [True, False])
def test_texts_are_read_as_dictionaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_loops: bool
) -> None:
    monkeypatch.setattr(chunk, "are_loops_loaded", lambda: with_loops)
    random = np.random.default_rng(8)
    words = [f"word {number}" for number in random.integers(0, 9, 2500)]
    words[1100] = "seldom"
    table = pa.table(
        {
            "id": range(2500),
            "word": pa.array(words, mask=random.random(2500) < 0.1),
            "runs": pa.array(sorted(words), pa.binary()),
            "large": pa.array(words, pa.large_string()),
            "fsst": [f"a dog on a board {row % 97}" for row in range(2500)],
            "nothing": pa.nulls(2500, pa.string()),
            "list": [[row] for row in range(2500)],
        }
    )
    encodings = {"word": "dictionary", "runs": "dictionary", "large": "dictionary", "fsst": "fsst"}
    path = tmp_path / "x.flat"
    write_table(table, path, encodings=encodings, chunk_rows=400)
    names = ["word", "runs", "large", "fsst", "nothing"]
    with open_table(path) as flat:
        for given in (None, pc.field("id") >= 900, pc.field("word") == "seldom"):
            found = flat.scan(filter=given, read_dictionary=names)
            wanted = table if given is None else table.filter(given)
            for name in table.column_names:
                array = found.column(name)
                assert pa.types.is_dictionary(array.type) == (name in names)
                array.validate(full=True)
                assert array.to_pylist() == wanted.column(name).to_pylist(), name
                assert found.schema.field(name).type == array.type
        column = flat.reader("word").column
        assert found.schema.field("word").type == pa.dictionary(pa.int32(), pa.string())
        assert flat.scan(["word"], read_dictionary=names).column(0).num_chunks == 3
        assert column.entries["dictionary_count"].tolist() == [0, 0, 1, 0, 0, 0, 0]
        flags = flat.reader("runs").column.entries["flags"]
        assert (flags & Flags.RUNS).any()
        with pytest.raises(ProgrammingError, match="column 'id' has the type int64; only texts"):
            flat.scan(["word"], read_dictionary=["id"])
        with pytest.raises(ProgrammingError, match="column 'wort' does not exist"):
            flat.scan(["word"], read_dictionary=["wort"])
    write_table(table.slice(0, 0), path)
    with open_table(path) as flat:
        assert flat.scan(["word"], read_dictionary=["word"]).num_rows == 0


def test_two_pieces_of_a_chunk_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their codes are spread a piece at a time: those of the first are not those of the second."""
    monkeypatch.setattr(text_runs, "are_loops_loaded", lambda: True)
    texts = [f"word {row // 50 * 7919 % 20}" for row in range(1000)]
    numbers = [row // 50 * 7 % 10**9 / 8 for row in range(1000)]
    table, path = pa.table({"t": texts, "n": numbers}), tmp_path / "x.flat"
    write_table(table, path, encodings={"t": "dictionary", "n": "dictionary"})
    with open_table(path) as flat:
        for name in table.column_names:
            assert flat.reader(name).column.entries["flags"][0] & Flags.RUNS
            found = flat.reader(name).read([(5, 140), (490, 700)])
            whole = table.column(name).to_pylist()
            assert pa.chunked_array(found).to_pylist() == [*whole[5:140], *whole[490:700]]


@pytest.mark.parametrize("by_loop", [False, True])
def test_rows_are_taken_alike_with_and_without_the_loop(
    by_loop: bool, texts: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, count = np.random.default_rng(8), 4000
    texts = texts.slice(0, count)
    # A few texts are long: the room that is expected is too short for them.
    lines = [
        line * (90 if row % 1000 == 7 else 1) for row, line in enumerate(texts["line"].to_pylist())
    ]
    uneven = ["x" if row % 64 else " ".join(WORDS) * 500 for row in range(count)]
    columns = {"long": lines, "ascii": [line.replace("ü", "u") for line in lines], "uneven": uneven}
    table = pa.table({**columns, **{n: texts[n] for n in ("nulls", "large", "bytes")}})
    pairs = dict.fromkeys(table.column_names, "onpair")
    # Few rows have an index of whole words.
    flat = stored(table, tmp_path, encodings=pairs, chunk_rows={"uneven": 3})
    for module in (onpair, column_reader):
        monkeypatch.setattr(module, "are_loops_loaded", lambda: by_loop)
    for rows in (
        random.integers(0, count, 100),
        random.integers(0, count, 3000),
        np.arange(7, count, 1000),
        np.zeros(9, np.int64),
    ):
        assert flat.take(rows).equals(table.take(rows))
    assert not (flat.reader("uneven").column.entries["flags"] & Flags.NARROW).any()


@pytest.mark.parametrize("data_type", [pa.string(), pa.large_binary()], ids=str)
@pytest.mark.parametrize("chunk_rows", [1, 3, 60, 4000])
def test_chunks_are_the_same_one_by_one(
    chunk_rows: int, data_type: pa.DataType, texts: pa.Table, tmp_path: Path
) -> None:
    random = np.random.default_rng(chunk_rows)
    lines = [line.encode() for line in texts["line"].to_pylist()[:1200]]
    # Equal ones, NULLs alone, empty ones, and some that pairs make longer.
    lines[300:450], lines[500:620] = [b"equal"] * 150, [b""] * 120
    lines[700:900] = [bytes(row) for row in random.integers(1, 127, (200, 40), np.uint8)]
    mask = random.random(1200) < 0.1
    mask[40:200], mask[900:] = True, False
    column = pa.array(lines, pa.large_binary(), mask=mask).cast(data_type)
    # An array of Arrow holds no two rows: what is known of some chunks at once is not looked for.
    single = pa.chunked_array([column.slice(row, 1) for row in range(1200)])
    files = []
    for number, each in enumerate((column, single)):
        name = tmp_path / f"{number}.flat"
        write_table(pa.table({"x": each}), name, encodings={"x": "onpair"}, chunk_rows=chunk_rows)
        files.append(name.read_bytes())
        assert open_table(name).scan()["x"].combine_chunks().equals(column)
    assert files[0] == files[1]
