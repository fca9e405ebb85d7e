"""ALP and PATCHED: values that do not fit the others come back bit by bit, beside these."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from flat_model import parse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_flat_round_trip import check_everything, stored

from raydb.errors import OperationalError
from raydb.storage.flat import column_reader, open_table
from raydb.storage.flat.encodings.patches import Frame, choose_frame, outside

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 5003


def double(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


# Values that no integer gives: NaN of other payloads, zeros with a sign, what lies at the ends.
STRANGE = [
    *map(double, (0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001, 1, 2**52 - 1)),
    *(-0.0, 0.0, float("inf"), float("-inf"), 1.7976931348623157e308, 2.2250738585072014e-308),
    *(0.1 + 0.2, 1 / 3, 2.0**53, 2.0**53 + 2, -(2.0**63), 2.0**63, 9007199254740993.0, 1e22, 1e-22),
]


def decimal_columns() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    prices = random.integers(1, 10**7, ROWS) / 100
    mixed = prices.copy()
    mixed[:: ROWS // 50] = random.random(len(mixed[:: ROWS // 50]))
    strange = prices.copy()
    strange[7 :: ROWS // 40] = np.resize(STRANGE, len(strange[7 :: ROWS // 40]))
    return {
        "prices": prices,
        "coordinates": np.round(random.normal(-52.5, 0.1, ROWS), 6),
        "whole": random.integers(-(2**40), 2**40, ROWS).astype(np.float64),
        "small": random.integers(1, 10**7, ROWS) / 1e12,
        "far ones": np.where(np.arange(ROWS) % 99 == 3, 1e12, random.integers(0, 5000, ROWS) / 10),
        "mixed": mixed,
        "strange": strange,
    }


def encodings_in(flat: Any, name: str) -> set[str]:
    (column,) = [each for each in flat.metadata.columns if each.name == name]
    return {each.encoding for each in column.chunks}


@pytest.fixture(params=[False, True], ids=["by arrays", "by loops"])
def take_by_loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are taken both ways, whichever loops another test has loaded."""
    monkeypatch.setattr(column_reader, "are_loops_loaded", lambda: request.param)


@pytest.mark.usefixtures("take_by_loops")
@pytest.mark.parametrize("name", decimal_columns())
def test_decimals_take_few_bits_and_come_back_bit_by_bit(name: str, tmp_path: Path) -> None:
    numbers = decimal_columns()[name]
    table = pa.table({"d": numbers})
    flat = stored(table, tmp_path, chunk_rows=1500)
    assert encodings_in(flat, "d") == {"alp"}
    assert flat.stored_bytes < 8 * ROWS * 0.85
    check_everything(table, flat, [0, 7, 7, 1499, 1500, ROWS - 1, *range(7, ROWS, ROWS // 40)])
    found = flat.column("d").slice(1400, 300).combine_chunks().to_numpy()
    assert found.tobytes() == numbers[1400:1700].tobytes()
    assert struct.pack("<d", flat.item(7, "d")) == numbers[7:8].tobytes()


def test_doubles_of_chance_stay_as_they_are(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    table = pa.table({"d": random.random(ROWS), "f": random.random(ROWS).astype(np.float32)})
    flat = stored(table, tmp_path, encodings={"f": "alp"})
    assert encodings_in(flat, "d") == {"verbatim"}
    check_everything(table, flat, [0, ROWS - 1])


@pytest.mark.usefixtures("take_by_loops")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.floats(),
            st.sampled_from(STRANGE),
            st.builds(lambda n, e: n / 10.0**e, st.integers(-(2**55), 2**55), st.integers(0, 20)),
            st.integers(0, 2**64 - 1).map(double),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 30),
)
def test_any_doubles_come_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[float | None], chunk_rows: int
) -> None:
    table = pa.table({"d": pa.array(values, pa.float64())})
    folder = tmp_path_factory.mktemp("any")
    flat = stored(table, folder, encodings={"d": "alp"}, chunk_rows=chunk_rows)
    check_everything(table, flat, list(range(len(values))))


def outlying() -> dict[str, pa.Array]:
    random = np.random.default_rng(5)
    few = np.arange(ROWS) % 501 == 3
    near = random.integers(0, 3 * ROWS, ROWS)
    return {
        "above": pa.array(np.where(few, random.integers(0, 2**62, ROWS), near)),
        "below": pa.array(np.where(few, -random.integers(0, 2**40, ROWS), near)),
        "both": pa.array(np.where(few, random.integers(-(2**60), 2**60, ROWS), near)),
        "unsigned": pa.array(np.where(few, 2**62, near).astype(np.uint64)),
        "int32": pa.array(np.where(few, 2**31 - 1, near).astype(np.int32)),
        "decimals": pa.array(np.where(few, 10**15, near)).cast(pa.decimal128(21, 2)),
        "with NULLs": pa.array(np.where(few, -(10**15), near), mask=random.random(ROWS) < 0.1),
    }


@pytest.mark.usefixtures("take_by_loops")
@pytest.mark.parametrize("name", outlying())
def test_integers_far_from_the_others_are_patched(name: str, tmp_path: Path) -> None:
    table = pa.table({"n": outlying()[name]})
    flat = stored(table, tmp_path, chunk_rows={"n": 4500})
    assert "patched" in encodings_in(flat, "n")
    check_everything(table, flat, [0, 3, 504, 4499, 4500, ROWS - 1, *range(3, ROWS, 501)])


def test_a_frame_of_all_is_kept_where_none_is_far(tmp_path: Path) -> None:
    numbers = np.random.default_rng(6).permutation(2**14)
    flat = stored(pa.table({"n": numbers}), tmp_path)
    assert encodings_in(flat, "n") == {"frame"}


@settings(deadline=None)
@given(
    st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=9),
    st.lists(st.integers(0, 300), min_size=30, max_size=90),
)
def test_a_frame_holds_what_it_says(far: list[int], near: list[int]) -> None:
    words = np.array([*far, *near * 4], np.int64)
    least, greatest = int(words.min()), int(words.max())
    frame = choose_frame(words, least, greatest - least)
    assert frame.least >= least
    left = [each - frame.least for each in words[~outside(words, frame)].tolist()]
    assert all(0 <= each < 2**frame.bits for each in left)
    assert len(left) >= 0.5 * len(words)
    assert choose_frame(np.full(99, 7), 7, 0) == Frame(7, 0)


def change(data: bytes, place: int, value: int) -> bytes:
    return data[:place] + value.to_bytes(4, "little") + data[place + 4 :]


@pytest.mark.parametrize(
    ("encoding", "damage", "expected"),
    [
        ("alp", lambda p: p[:7], "exceptions of 8 bytes or more"),
        ("alp", lambda p: change(p, 0, 2**31), "exceptions of at most 24 rows"),
        ("alp", lambda p: change(p, 0, 25), "exceptions of at most 24 rows"),
        ("alp", lambda p: change(p, 0, 0), "bytes of values"),
        ("alp", lambda p: change(p, 4, 19), "a factor up to the exponent up to 18"),
        ("alp", lambda p: change(p, 4, 0x0301), "a factor up to the exponent up to 18"),
        ("alp", lambda p: change(p, 4, 2**16), "a factor up to the exponent up to 18"),
        ("alp", lambda p: change(p, 8, 24), "rows of exceptions that rise to less than 24"),
        ("alp", lambda p: change(p, 12, 2**32 - 1), "rows of exceptions that rise"),
        ("alp", lambda p: p[:8] + p[12:16] + p[8:12] + p[16:], "rows of exceptions that rise"),
        ("alp", lambda p: p + b"\0", "bytes of values"),
        ("patched", lambda p: change(p, 4, 1), "expected zeros"),
        ("patched", lambda p: change(p, 12, 3), "rows of exceptions that rise"),
        ("patched", lambda p: p[:-1], "bytes of values"),
        ("patched", lambda p: change(p, 20, 2**31 - 1), "decimals of 18 digits"),
    ],
)
def test_what_does_not_hold_is_named(
    encoding: str, damage: Any, expected: str, tmp_path: Path
) -> None:
    numbers: Any = [row * 7 % 11 / 10 for row in range(24)]
    numbers[3] = numbers[20] = -0.0
    if encoding == "patched":
        whole = [10**15 if row in {3, 20} else row * 7 % 11 for row in range(64)]
        numbers = pa.array(whole).cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 0))
    path = tmp_path / "table.flat"
    stored(pa.table({"n": numbers}), tmp_path, encodings={"n": encoding})
    model = parse(path)
    sections = model.columns[0].chunks[0].sections
    sections["payload"] = damage(sections["payload"])
    path.write_bytes(model.to_bytes())
    match = expected if expected.startswith("expected") else f"expected .*{expected}"
    with open_table(path) as flat, pytest.raises(OperationalError, match=match):
        flat.scan()


def test_a_reference_beyond_a_double_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.flat"
    stored(pa.table({"n": [0.5, 1.5, 2.5, -0.0]}), tmp_path, encodings={"n": "alp"})
    model = parse(path)
    model.columns[0].chunks[0].fields["reference"] = 2**53 + 1
    path.write_bytes(model.to_bytes())
    with open_table(path) as flat, pytest.raises(OperationalError, match="a reference of 53 bits"):
        flat.scan()


def test_no_doubles_need_no_exponents(tmp_path: Path) -> None:
    none = pa.table({"d": pa.array([], pa.float64())})
    assert stored(none, tmp_path, encodings={"d": "alp"}).scan().equals(none)
