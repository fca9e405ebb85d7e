"""Texts of many chunks decoded at once: as they were, whatever their codes, rows and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from flat_model import parse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_flat_round_trip import stored

from raydb.errors import OperationalError
from raydb.kernels.backends.cpu.threads import machine_processors, use_processors
from raydb.kernels.codecs.rows import entries, text_loops
from raydb.storage.flat import open_table
from raydb.storage.flat.encodings import text_runs
from raydb.storage.flat.layout import Flags

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODED = ("onpair", "fsst", "dictionary")
# Shorter and longer than what is copied at once, with bytes that FSST escapes.
PIECES = [b"", b"a", b"dog ", b"x" * 31, b"y" * 32, b"z" * 33, b"long " * 40, b"\xff\0", b"the "]
TEXTS = st.lists(
    st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join) | st.none(),
    min_size=1,
    max_size=60,
)


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a few bytes be worth a thread, and the loops be there."""
    assert text_loops.BAD_CODE < 0
    monkeypatch.setattr(entries, "_THREAD_BYTES", 64)
    monkeypatch.setattr(entries, "_SLICE_BYTES", 256)
    use_processors(3)
    yield
    use_processors(machine_processors())


def written(values: list[bytes | None], folder: Path, chunk_rows: int, data_type: Any) -> Any:
    column = pa.array(values, pa.binary()).cast(data_type)
    table = pa.table(dict.fromkeys(CODED, column))
    wanted = {name: name for name in CODED}
    return table, stored(table, folder, chunk_rows=chunk_rows, encodings=wanted)


@pytest.mark.long
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(values=TEXTS, chunk_rows=st.integers(1, 9), is_large=st.booleans(), data=st.data())
def test_texts_are_as_they_were(
    values: list[bytes | None], chunk_rows: int, is_large: bool, data: st.DataObject, tmp_path: Path
) -> None:
    data_type = pa.large_binary() if is_large else pa.binary()
    table, flat = written(values, tmp_path, chunk_rows, data_type)
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    for name in CODED:
        part = flat.slice(name, start, stop)
        part.validate(full=True)
        assert part.equals(table.column(name).slice(start, stop - start))
        for _ in range(2):  # The second time the sizes are known.
            whole = flat.column(name)
            whole.validate(full=True)
            assert whole.equals(table.column(name))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_many_rows_and_codes_of_each(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    words = [
        "".join(map(chr, random.integers(97, 123, size))) for size in random.integers(1, 50, 90)
    ]
    lengths = np.where(random.random(4000) < 0.01, 2000, random.integers(0, 9, 4000))
    texts = [" ".join(random.choice(words, size)) for size in lengths]
    few = [words[place] for place in np.sort(random.integers(0, 90, 4000))]
    short = [words[place][:16] for place in random.integers(0, 90, 4000)]
    table = pa.table({"long": texts, "symbols": texts, "some": few, "runs": few, "short": short})
    wanted = {
        "long": "onpair",
        "symbols": "fsst",
        **dict.fromkeys(("some", "runs", "short"), "dictionary"),
    }
    for chunk_rows in (None, 100, 4000):
        flat = stored(table, tmp_path, encodings=wanted, chunk_rows=chunk_rows)
        for name in table.column_names:
            assert flat.column(name).num_chunks == 1, name
        assert flat.scan().equals(table)
        assert flat.scan().equals(table)


@pytest.mark.parametrize("seed", range(4))
def test_codes_of_runs(seed: int, tmp_path: Path) -> None:
    """A code a run in some chunks and a code a row in others: scans, slices, codes, filters."""
    random = np.random.default_rng(seed)
    words = [None, *(f"{'long ' * (number % 9)}{number}" for number in range(40))]
    lengths = [1 if row // 150 % 2 else int(random.integers(1, 30)) for row in range(600)]
    spread = np.repeat(random.integers(0, 41, 600), lengths)
    texts = pa.array([words[number] for number in spread])
    table = pa.table({"t": texts, "n": spread * 1.5})
    flat = stored(table, tmp_path, chunk_rows=97, encodings=dict.fromkeys(("t", "n"), "dictionary"))
    in_runs = flat.reader("t").column.entries["flags"] & Flags.RUNS != 0
    assert in_runs.any()
    assert not in_runs.all()
    assert flat.scan().equals(table)
    coded = flat.scan(["t"], read_dictionary=["t"]).column(0)
    assert coded.to_pylist() == texts.to_pylist()
    for start in random.integers(0, len(texts), 60).tolist():
        stop = min(start + int(random.integers(0, 300)), len(texts))
        assert flat.slice("t", start, stop).to_pylist() == texts[start:stop].to_pylist()
    for word in random.choice(words[1:], 8).tolist():
        for wanted in (
            pc.field("t") == word,
            pc.starts_with(pc.field("t"), word[:6]),
            pc.field("n") == float(word[5 * word.count("long ") :]) * 1.5,
        ):
            assert flat.scan(filter=wanted).equals(table.filter(wanted)), wanted


def test_more_than_offsets_tell_are_several_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [b"some text %d" % row for row in range(60)]
    table, flat = written([*values], tmp_path, 4, pa.binary())
    monkeypatch.setattr(text_runs, "MAX_PAYLOAD_BYTES", 100)
    for name in CODED:
        found = flat.column(name)
        assert found.num_chunks > 7
        assert found.equals(table.column(name))


def test_a_text_that_ends_in_an_escape_is_named(tmp_path: Path) -> None:
    # Two rows of one code each: where the first is an escape, its byte is the second row's.
    table = pa.table({"x": pa.array([b"a", b"a", b"abababab" * 9], pa.binary())})
    path = tmp_path / "table.flat"
    stored(table, tmp_path, encodings={"x": "fsst"}, offset_index={"x": False})
    model = parse(path)
    (chunk,) = model.columns[0].chunks
    assert list(chunk.sections["index"][:2]) == [1, 1]
    chunk.sections["payload"] = b"\xff" + chunk.sections["payload"][1:]
    path.write_bytes(model.to_bytes())
    with pytest.raises(OperationalError, match="readable texts in a chunk of column 'x'"):
        open_table(path).column("x")
