"""The pairs that leave the fewest codes of a sample of texts, found in rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.backends.cpu.threads import run_parts
from raydb.kernels.codecs.onpair import BYTES, LONGEST_ENTRY, MAX_ENTRIES, PairTable, Tree, parse

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

# The rounds of training, by the part of the sample that they count in, in 8ths; the first ones add
# few entries. Where there is more of it than before, and in the last round, it is parsed; in others
# the new pairs are joined, which takes a third of the time and leaves 1 % more codes.
_ROUNDS = (2, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8)
_FIRST_ROUNDS = 3
# The last rounds drop the quarter of the entries that serve least, and fill up again.
_PRUNING_ROUNDS = 2
_PRUNED_PART = 1 / 4
# What occurs less often in the sample is no entry: it would cost more than it saves.
_MIN_COUNT = 4
_SLOT_BITS = (2 * MAX_ENTRIES - 1).bit_length()


def _loops() -> ModuleType:
    from raydb.kernels.codecs.pairs import train_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return train_loops


class _Entries:
    """The entries so far. words: the 32 bytes of each, uint64, shape (4096, 4)."""

    def __init__(self) -> None:
        self.words = np.zeros((MAX_ENTRIES, LONGEST_ENTRY // 8), np.uint64)
        self.words[:BYTES, 0] = np.arange(BYTES)
        self.lengths = np.ones(MAX_ENTRIES, np.uint8)
        self.pairs = np.zeros((MAX_ENTRIES, 2), np.uint16)
        self.count = BYTES

    @property
    def texts(self) -> NDArray[np.uint8]:
        """The bytes of each entry, shape (count, 32), zeros behind its end."""
        return self.words[: self.count].astype("<u8", copy=False).view(np.uint8)

    def parse(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
        """Return the codes of items and where they end."""
        tree = Tree.of(self.texts, self.lengths[: self.count])
        count = len(offsets) - 1
        halves = [offsets[: count // 2 + 1], offsets[count // 2 :]]
        found = run_parts(lambda part: parse(tree, data, part), halves)
        (codes, bounds), (more, ends) = found
        return np.concatenate([codes, more]), np.concatenate([bounds[1:], ends[1:] + bounds[-1]])

    def add(
        self, codes: NDArray[np.uint16], ends: NDArray[np.uint32], wanted: int, least: int
    ) -> None:
        """Make entries of the most frequent pairs of neighbours, which occur `least` times."""
        loops = _loops()
        room = loops.PairRoom(
            starts=np.empty(self.count + 1, np.uint32),
            stops=np.empty(self.count, np.uint32),
            followers=np.empty(len(codes) + 1, np.uint16),
            counts=np.zeros(self.count, np.uint32),
        )
        found, lengths = np.empty(len(codes) + 1, np.uint64), self.lengths[: self.count]
        size = loops.count_pairs(codes, ends, lengths, LONGEST_ENTRY, least, room, found)
        # By falling count, then by codes.
        order = found[:size]
        order.sort()
        slots = np.zeros(2**_SLOT_BITS, np.uint32)
        chosen = order[: 2 * wanted].astype(np.uint32)
        self.count = loops.add_pairs(
            chosen, self.count, wanted, self.words, self.lengths, self.pairs, _SLOT_BITS, slots
        )

    def join(
        self, codes: NDArray[np.uint16], ends: NDArray[np.uint32], first: int
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
        """Return codes in which neighbours that are an entry from `first` on are joined."""
        bits = max(8, (32 * (self.count - first)).bit_length())
        keys, joined = np.zeros(2**bits, np.uint32), np.zeros(2**bits, np.uint16)
        size = _loops().join_pairs(codes, ends, self.pairs[: self.count], first, bits, keys, joined)
        return codes[:size], ends

    def prune(
        self, codes: NDArray[np.uint16], ends: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
        """Drop the entries that serve least and that no other one is of; return codes of others."""
        uses = np.bincount(codes, minlength=self.count)
        pairs = self.pairs[BYTES : self.count]
        limit = int(np.sort(uses[BYTES:])[int(len(pairs) * _PRUNED_PART)])
        is_kept = uses > limit
        is_kept[:BYTES] = True
        is_kept[pairs.ravel()] = True
        kept = np.flatnonzero(is_kept)
        places = (np.cumsum(is_kept) - 1).astype(np.uint16)
        count, parts = len(kept), np.empty(2 * len(codes), np.uint16)
        # Both parts of one that is dropped are kept.
        size = _loops().part_codes(codes, ends, self.pairs, is_kept, places, parts)
        self.words[:count], self.lengths[:count] = self.words[kept], self.lengths[kept]
        self.words[count:], self.count = 0, count
        self.pairs[:count] = places[self.pairs[kept]]
        return parts[:size], ends


def train(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> PairTable:
    """Choose the entries that leave the fewest codes of a sample. Equal items, equal tables.

    Each round has the codes of the sample, or of a part of it, by the entries so far; the most
    frequent pairs of neighbours become entries.
    """
    entries = _Entries()
    count, before, known = len(offsets) - 1, 0, BYTES
    for number, part in enumerate(_ROUNDS):
        left = len(_ROUNDS) - number
        if part > before or left == 1:
            codes, ends = entries.parse(data, offsets[: 1 + -(-count * part // 8)])
        else:
            codes, ends = entries.join(codes, ends, known)
        if left <= _PRUNING_ROUNDS and entries.count > MAX_ENTRIES * 3 // 4:
            codes, ends = entries.prune(codes, ends)
        before, known = part, entries.count
        room = MAX_ENTRIES - entries.count
        # Slowly: pairs that are joined at once cannot be parts of each other.
        share = room // max(left - _PRUNING_ROUNDS, 1)
        wanted = min(share, 64 << number) if number < _FIRST_ROUNDS else share
        entries.add(codes, ends, wanted, max(_MIN_COUNT * part // 8, 2))
    pairs = entries.pairs[BYTES : entries.count].copy()
    return PairTable.of_entries(pairs, entries.texts.copy(), entries.lengths[: entries.count])
