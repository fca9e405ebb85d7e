"""NULLs as marks: what is stored is what is read, by loops and without, and the smallest form."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from flat_model import parse

from raydb.errors import OperationalError
from raydb.kernels.codecs.rows import mark_loops
from raydb.storage.flat import open_table, write_table
from raydb.storage.flat.encodings import validity
from raydb.storage.flat.layout import Flags

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"
FORMS = {"rare nulls": Flags.RARE, "rare values": Flags.RARE, "changes": Flags.CHANGES, "bits": 0}


def masks(row_count: int, seed: int) -> dict[str, NDArray[np.bool_]]:
    """Return which rows are NULL, in a way for each form."""
    random = np.random.default_rng(seed)
    places = random.random((3, row_count))
    runs = np.repeat(np.arange(row_count) % 2 == seed % 2, random.integers(1, 80, row_count))
    return {
        "rare nulls": places[0] < 0.04,
        "rare values": places[1] >= 0.04,
        "changes": runs[:row_count],
        "bits": places[2] < 0.4,
    }


def table_of(row_count: int, seed: int) -> pa.Table:
    """Return a table of some types, whose columns are named by their NULLs."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 900, row_count)
    kinds: dict[str, Any] = {
        "int": numbers,
        "double": numbers / 8,
        "bool": numbers % 2 == 0,
        "text": [f"a dog {number}" for number in numbers],
        "word": [f"{number % 5}" for number in numbers],
        "decimal": [decimal.Decimal(int(number)) / 4 for number in numbers],
    }
    return pa.table(
        {
            f"{kind} {form}": pa.array(values, mask=mask)
            for form, mask in masks(row_count, seed).items()
            for kind, values in kinds.items()
        }
    )


def validity_flags(path: Path, name: str) -> set[int]:
    with open_table(path) as flat:
        flags = flat.reader(name).column.entries["flags"]
    return set((flags & (Flags.RARE | Flags.CHANGES)).tolist())


@pytest.mark.parametrize("with_loops", [True, False])
@pytest.mark.parametrize("chunk_rows", [1000, 2003])
def test_all_ways_of_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_rows: int, with_loops: bool
) -> None:
    monkeypatch.setattr(validity, "are_loops_loaded", lambda: with_loops)
    table, path = table_of(3333, chunk_rows), tmp_path / "x.flat"
    write_table(table, path, chunk_rows=chunk_rows)
    rows = np.random.default_rng(5).integers(0, 3333, 60)
    with open_table(path) as flat:
        for name in table.column_names:
            values = table.column(name).take(rows).to_pylist()
            assert [flat.item(row, name) for row in rows.tolist()] == values, name
    with open_table(path) as flat:
        assert flat.take(rows).equals(table.take(rows))
        assert flat.scan().equals(table)
        for name in table.column_names:
            arrays = flat.reader(name).read([(5, 1400), (1999, 3330)])
            parts = [table.column(name).slice(5, 1395), table.column(name).slice(1999, 1331)]
            wanted = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
            assert pa.chunked_array(arrays).equals(wanted), name
        flat.verify()
    for name in table.column_names:
        assert validity_flags(path, name) == {FORMS[name.split(" ", 1)[1]]}, name


def test_a_filter_leaves_nulls_out(tmp_path: Path) -> None:
    table, path = table_of(4000, 3), tmp_path / "x.flat"
    write_table(table, path, chunk_rows=1000)
    with open_table(path) as flat:
        for form in FORMS:
            name = f"int {form}"
            found = flat.scan([name], filter=pc.field(name) < 50)
            assert found.equals(table.select([name]).filter(pc.field(name) < 50))
            assert found.num_rows > 0


def test_the_smallest_form_is_written() -> None:
    for form, is_null in masks(16384, 2).items():
        stored = validity.store_validity(~is_null, int(is_null.sum()))
        assert stored.flags == FORMS[form]
        assert (len(stored.data) < 2048 * 7 / 8) == (stored.flags > 0)
    few = validity.store_validity(np.arange(24) != 3, 1)
    assert (few.flags, len(few.data)) == (0, 3)
    # As many marks as a start can tell, and one more.
    for count, flags in ((2**16 - 1, Flags.RARE), (2**16, 0)):
        mask = np.ones(2**21, np.bool_)
        mask[: 2 * count : 2] = False
        assert validity.store_validity(mask, count).flags == flags


def test_the_loop_takes_what_numpy_takes() -> None:
    random = np.random.default_rng(9)
    taken = 0
    for _ in range(3000):
        row_count = int(random.integers(1, 700))
        blocks = -(-row_count // 256)
        count = int(random.integers(1, 6))
        rows = np.sort(random.choice(row_count + random.integers(0, 2) * 60, count))
        starts = np.zeros(blocks + 1, np.uint16)
        np.cumsum(np.bincount(rows // 256, minlength=blocks)[:blocks], out=starts[1:])
        places = rows.astype(np.uint8)
        if random.random() < 0.2:
            starts[random.integers(0, blocks + 1)] += random.integers(-2, 3)
        for are_changes in (False, True):
            for is_set in (True, are_changes):
                found = []
                for read in (mark_loops.set_by_marks, validity._set_by_marks):
                    out = np.zeros(-(-row_count // 8), np.uint8)
                    found.append(read(starts, places, row_count, are_changes, is_set, out))
                    if found[-1] >= 0:
                        bits = np.unpackbits(out, count=row_count, bitorder="little")
                        assert bits.sum() == found[-1]
                        found += bits.tolist()
                half = len(found) // 2
                assert found[:half] == found[half:]
                taken += half > 1
    assert 1000 < taken < 11000


def change_marks(place: int, value: int) -> Callable[[Any], None]:
    def change(chunk: Any) -> None:
        data = bytearray(chunk.sections["validity"])
        data[place] = value
        chunk.sections["validity"] = bytes(data)

    return change


def cut(chunk: Any) -> None:
    chunk.sections["validity"] = chunk.sections["validity"][:10]


def both(chunk: Any) -> None:
    chunk.fields["flags"] |= Flags.RARE | Flags.CHANGES


def other(chunk: Any) -> None:
    chunk.fields["flags"] ^= Flags.RARE | Flags.CHANGES


@pytest.mark.parametrize("with_loops", [True, False])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_marks(0, 1), "expected 3 marks that rise to below 1000 in a chunk"),
        (change_marks(2, 9), "expected 3 marks that rise"),
        (change_marks(8, 0), "expected 3 marks that rise"),
        (change_marks(12, 240), "expected 3 marks that rise"),
        (change_marks(10, 20), "expected 3 marks that rise"),
        (cut, "validity of a bit a row, or of marks in fewer bytes"),
        (both, "validity of a bit a row, or of marks in fewer bytes"),
        (other, "expected marks of 3 NULLs in a chunk"),
    ],
)
def test_marks_that_are_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any], None],
    message: str,
    with_loops: bool,
) -> None:
    monkeypatch.setattr(validity, "are_loops_loaded", lambda: with_loops)
    path = tmp_path / "x.flat"
    is_null = np.isin(np.arange(1000), (10, 20, 999))
    write_table(pa.table({"a": pa.array(np.arange(1000) % 7, mask=is_null)}), path)
    model = parse(path)
    assert len(model.columns[0].chunks[0].sections["validity"]) == 13
    change(model.columns[0].chunks[0])
    path.write_bytes(model.to_bytes())
    with pytest.raises(OperationalError, match=message):
        open_table(path).item(3, "a")


def table_of_marks() -> pa.Table:
    """Return the table that validity.flat was written from."""
    rows = np.arange(1001)
    nulls = {"rare": rows % 90 == 7, "values": rows % 90 != 7, "runs": rows // 60 % 2 == 1}
    columns = {name: pa.array(rows % 10, mask=mask) for name, mask in nulls.items()}
    return pa.table({**columns, "bits": pa.array(rows % 10, mask=rows % 3 == 1)})


def test_marks_of_version_2_are_read() -> None:
    path, table = DATA / "validity.flat", table_of_marks()
    with open_table(path) as flat:
        assert flat.metadata.format_version == 2
        assert flat.scan().equals(table)
        flat.verify()
    flags = [validity_flags(path, name) for name in table.column_names]
    assert flags == [{Flags.RARE}, {Flags.RARE}, {Flags.CHANGES}, {0}]
