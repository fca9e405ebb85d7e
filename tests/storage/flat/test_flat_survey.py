"""What is found out about a chunk before it is encoded: by the compiled loops and by NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydb.kernels.codecs import survey_loops
from raydb.storage.flat import zone_map
from raydb.storage.flat.encodings import repeats, survey
from raydb.storage.flat.encodings.encoding import Values
from raydb.storage.flat.encodings.survey import line_bounds, survey_integers
from raydb.storage.flat.layout import Kind
from raydb.storage.flat.zone_map import text_zone

EXTREMES = (0, 1, -1, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63))

words = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=70),
    st.lists(st.integers(-9, 9), min_size=1, max_size=70),
    st.lists(st.sampled_from(EXTREMES), min_size=1, max_size=9),
    st.builds(
        lambda first, step, shakes: [first + step * n + shake for n, shake in enumerate(shakes)],
        st.integers(-(2**40), 2**40),
        st.integers(-(2**40), 2**40),
        st.lists(st.integers(-3, 3), min_size=1, max_size=200),
    ),
    st.builds(
        lambda stride, steps: [stride * step - 77 for step in steps],
        st.integers(1, 2**30),
        st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=70),
    ),
)


def both_ways(run: Any) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for loops in (survey_loops, None):
            for module in (survey, zone_map):
                patch.setattr(module, "survey_loops", lambda loops=loops: loops)
            found.append(run())
    return found[0], found[1]


@settings(deadline=None)
@given(words, st.booleans(), st.sampled_from([7, 8]))
def test_integers_are_surveyed_alike(integers: list[int], unsigned: bool, eighths: int) -> None:
    array = np.array(integers, np.int64)
    compiled, plain = both_ways(lambda: survey_integers(array, unsigned=unsigned, eighths=eighths))
    assert compiled == plain
    values = [each % 2**64 for each in integers] if unsigned else integers
    assert (compiled.least, compiled.greatest) == (min(values), max(values))
    assert compiled.run_count == 1 + int(np.count_nonzero(array[1:] != array[:-1]))
    if compiled.stride:
        assert all((each - compiled.least) % compiled.stride == 0 for each in values)
    if compiled.line is not None:
        reference, step, fraction = compiled.line
        above = [
            (each - reference - step * row - (fraction * row >> 32)) % 2**64
            for row, each in enumerate(integers)
        ]
        assert max(above) < 2**compiled.line_bits


def test_even_distances_are_a_line_and_a_stride() -> None:
    compiled, plain = both_ways(lambda: survey_integers(np.arange(0, 900, 9), unsigned=False))
    assert compiled == plain
    assert (compiled.stride, compiled.line_bits) == (9, 0)
    assert compiled.line == (0, 9, 0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=50))
def test_offsets_are_bounded_by_a_line_alike(lengths: list[int]) -> None:
    offsets = np.cumsum([0, *lengths])
    slope = (int(offsets[-1]) << 32) // len(lengths)
    compiled, plain = both_ways(lambda: line_bounds(offsets, slope))
    assert compiled == plain


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.none(), st.binary(max_size=12), st.sampled_from([b"abcdefgh", b"abcdefghi", b"\xff"])
        ),
        min_size=1,
        max_size=30,
    ).filter(lambda items: any(item is not None for item in items)),
    st.sampled_from([pa.binary(), pa.large_binary()]),
)
def test_texts_are_bounded_alike(items: list[bytes | None], data_type: pa.DataType) -> None:
    values = Values(SimpleNamespace(), 0, pa.array(items, data_type))  # type: ignore[arg-type]
    mask = np.array([item is not None for item in items])
    compiled, plain = both_ways(lambda: text_zone(values, None if mask.all() else mask))
    assert compiled == plain
    present = [item for item in items if item is not None]
    assert (compiled.least, compiled.greatest) == (min(present), max(present))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["", "a", "a\0", "ab", "abcdefgh", "abcdefgh" * 3, "é"]) | st.text())
)
def test_texts_that_repeat_are_counted_alike(texts: list[str]) -> None:
    array = pa.array(["before", *texts], pa.string()).slice(1)
    rows = np.arange(0, len(texts), 2)
    found = []
    for loops in (survey_loops, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(repeats, "survey_loops", lambda loops=loops: loops)
            column = pa.chunked_array([array])
            found.append(repeats._count_distinct(column, Kind.BYTES, rows, step=2))
    assert found == [len(set(texts[::2]))] * 2
