"""Hashes and filters, by the compiled loops and by NumPy, which agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from raydb.kernels.codecs import bloom_loops
from raydb.storage.flat import bloom

if TYPE_CHECKING:
    from types import ModuleType


def hashed(items: list[bytes], loops: ModuleType | None) -> list[int]:
    data = np.frombuffer(b"".join(items), np.uint8)
    offsets = np.cumsum([0, *map(len, items)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bloom, "_loops_for", lambda _count: loops)
        found: list[int] = bloom.hash_parts(data, offsets).tolist()
    return found


def test_texts_of_all_lengths_have_the_hash_of_the_library() -> None:
    random = np.random.default_rng(5)
    items = [random.bytes(size) for size in [*range(300), 1000, 0]]
    assert hashed(items, bloom_loops) == [xxh3_64_intdigest(item) for item in items]


@settings(deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=300), st.sampled_from([b"\0" * 16, b"\xff" * 240]))))
def test_texts_have_one_hash(items: list[bytes]) -> None:
    assert hashed(items, bloom_loops) == hashed(items, None)


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 3)), max_size=40), min_size=1
    )
)
def test_filters_have_the_same_bits(chunks: list[list[int]]) -> None:
    bounds = np.cumsum([0, *map(len, chunks)])
    found = []
    for loops in (None, bloom_loops):
        hashes = np.array([key for chunk in chunks for key in chunk], np.uint64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bloom, "_loops_for", lambda _count, loops=loops: loops)
            words, counts = bloom.build_filters(hashes, bounds, 0)
        found.append((words.tolist(), counts.tolist()))
    assert found[0] == found[1]
    assert len(found[0][0]) == sum(found[0][1])
