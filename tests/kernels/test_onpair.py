"""Tables of pairs: items come back, equal items have equal codes, hostile tables are refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydb.kernels.codecs import onpair
from raydb.kernels.codecs.onpair import BYTES, LONGEST_ENTRY, MAX_ENTRIES, PairTable
from raydb.kernels.codecs.pairs.train import _Entries, train
from raydb.storage.flat.encodings.bits import pack

WORDS = [b"a dog", b" on a ", b"red ", b"board", b"", b"\0", b"\xff", b"near the harbor "]
ITEMS = st.lists(
    st.one_of(st.binary(max_size=20), st.lists(st.sampled_from(WORDS), max_size=9).map(b"".join)),
    max_size=30,
)


def joined(items: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    data = np.frombuffer(b"".join(items), np.uint8)
    return data, np.cumsum([0, *map(len, items)]).astype(np.int64)


def trained() -> PairTable:
    random = np.random.default_rng(1)
    items = [b"".join(random.choice(WORDS, 6).tolist()) for _ in range(400)]
    return train(*joined(items))


TABLE = trained()


def read(table: PairTable, items: list[bytes]) -> list[bytes]:
    codes, bounds = onpair.compress(table, *joined(items))
    data = np.concatenate([pack(codes, table.width).view(np.uint8), np.zeros(8, np.uint8)])
    starts, counts = bounds[:-1].astype(np.int64) * table.width, np.diff(bounds.astype(np.int64))
    for number, item in enumerate(items):
        own = codes[bounds[number] : bounds[number + 1]].tolist()
        assert onpair.compress_one(table, item) == own
    found, offsets = onpair.decompress(table, data, starts, counts, table.width)
    few = onpair._decompress_few(table, data, starts, counts, table.width)
    assert few[0].tobytes() == found.tobytes()
    assert few[1].tolist() == offsets.tolist()
    return [found[a:b].tobytes() for a, b in pairwise(offsets.tolist())]


@given(ITEMS)
def test_items_come_back(items: list[bytes]) -> None:
    assert read(TABLE, items) == items


def test_entries_are_pairs_that_save_codes() -> None:
    items = [b"a dog on a red board near the harbor "] * 50
    codes, _ = onpair.compress(TABLE, *joined(items))
    assert len(codes) <= 50 * 6
    assert max(map(len, TABLE.entries)) <= LONGEST_ENTRY
    assert len(set(TABLE.entries)) == len(TABLE.entries) <= MAX_ENTRIES
    again = PairTable.from_bytes(TABLE.to_bytes())
    assert again.entries == TABLE.entries
    assert trained().to_bytes() == TABLE.to_bytes()


def test_many_words_fill_the_table() -> None:
    random = np.random.default_rng(2)
    words = random.integers(97, 123, (3000, 6)).astype(np.uint8)
    items = [words[random.integers(0, 3000, 5)].tobytes() for _ in range(20_000)]
    table = train(*joined(items))
    assert len(table.entries) > MAX_ENTRIES * 3 // 4
    assert table.width == 12
    assert read(table, items[:100]) == items[:100]


@settings(max_examples=40)
@given(st.data())
def test_any_pairs_are_found(data: st.DataObject) -> None:
    pairs: list[tuple[int, int]] = []
    lengths = [1] * BYTES
    for _ in range(data.draw(st.integers(0, 60))):
        codes = [*range(97, 101), *range(BYTES, len(lengths))]
        left, right = data.draw(st.sampled_from(codes)), data.draw(st.sampled_from(codes))
        if lengths[left] + lengths[right] <= LONGEST_ENTRY:
            pairs.append((left, right))
            lengths.append(lengths[left] + lengths[right])
    table = PairTable(np.array(pairs, np.uint16).reshape(-1, 2))
    items = data.draw(st.lists(st.lists(st.sampled_from(table.entries[97:101]), max_size=80)))
    texts = [*map(b"".join, items), *table.entries[BYTES:]]
    assert read(table, texts) == texts


@pytest.mark.parametrize("each", [1, 2, 15, 60, 255])
def test_entries_with_many_next_bytes_are_found(each: int) -> None:
    starts = [(byte, other) for byte in range(97, 123) for other in range(256)]
    starts = starts[: (MAX_ENTRIES - BYTES) // (each + 1)]
    random = np.random.default_rng(each)
    following = [random.choice(256, each, replace=False).tolist() for _ in starts]
    nexts = [(BYTES + place, byte) for place, some in enumerate(following) for byte in some]
    table = PairTable(np.array(starts + nexts, np.uint16))
    items = [random.choice(table.entries, 9).tolist() for _ in range(300)]
    texts = [*map(b"".join, items), *table.entries]
    assert read(table, texts) == texts


def test_no_items_need_no_pairs() -> None:
    table = train(*joined([]))
    assert len(table.entries) == BYTES
    assert table.width == 8
    assert read(table, [b"", b"abc"]) == [b"", b"abc"]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[256, 0]], "entry 256 is of the entries 256 and 0"),
        ([[0, 1], [300, 0]], "entry 257 is of the entries 300 and 0"),
        ([[0, 0], *[[code, code] for code in range(256, 262)]], "entry 261 has 64 bytes"),
        ([[0, 0]] * 3841, "at most 3840 pairs, found 3841"),
    ],
)
def test_wrong_pairs_are_refused(pairs: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PairTable.from_bytes(np.array(pairs, "<u2").tobytes())
    with pytest.raises(ValueError, match="pairs take 4 bytes each, found 5"):
        PairTable.from_bytes(b"12345")


def test_codes_without_an_entry_are_refused() -> None:
    table = PairTable(np.array([[97, 98]], np.uint16))
    data = np.concatenate([pack(np.array([256, 300]), 9), np.zeros(8, np.uint8)])
    starts, counts = np.array([0, 9]), np.array([1, 1])
    for decompress in (onpair.decompress, onpair._decompress_few):
        with pytest.raises(ValueError, match="item 1 has a code without an entry"):
            decompress(table, data, starts, counts, 9)


@given(ITEMS)
def test_joined_and_parted_codes_are_of_the_same_items(items: list[bytes]) -> None:
    items = [*items, b"a red dog on a red board", b"a dog"]
    entries = _Entries()
    codes, ends = entries.parse(*joined(items))
    for wanted in (9, 40, 40):
        known, before = entries.count, len(codes)
        entries.add(codes, ends, wanted, 1)
        codes, ends = entries.join(codes, ends, known)
        assert len(codes) < before or entries.count == known
        assert decoded(entries, codes, ends) == items
    before = entries.count
    codes, ends = entries.prune(codes, ends)
    assert BYTES < entries.count < before
    assert decoded(entries, codes, ends) == items


def decoded(entries: _Entries, codes: np.ndarray, ends: np.ndarray) -> list[bytes]:
    """Return the items of codes, by the pairs alone."""
    texts = PairTable(entries.pairs[BYTES : entries.count]).entries
    return [
        b"".join([texts[code] for code in codes[start:end].tolist()])
        for start, end in pairwise([0, *ends.tolist()])
    ]
