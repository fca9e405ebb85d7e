"""Which rows have which words: a text index, built from a column of texts.

term        words in ascending order, as UTF-8 bytes one after the other
postings    the rows of each term in ascending order, and a code of each: see `loops`
lengths     how many words each row has

Terms are words, or their stems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.interrupts import check_interrupt
from raydb.kernels.stored.stored_arrays import between, spans
from raydb.kernels.text.words import query_words, stemmer, words_of
from raydb.kernels.vector.exact_search import frozen
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl
    from raydb.kernels.stored.described import Described
    from raydb.kernels.stored.stored_arrays import StoredArrays

    # Texts, and the number of the first row that they are of; rows between blocks have none.
    Block: TypeAlias = tuple[pa.Array, int]

_ARRAYS = ("term_bytes", "term_offsets", "offsets", "extremes", "rows", "codes", "lengths")
_PROPERTIES = ("row_count", "text_count", "word_count")

# Bytes of text whose words are found at a time, between two of which an interrupt is heard.
_BLOCK_BYTES = 2**23

# What a build takes for each word: its term, its row and its count, and postings once more.
_WORD_BYTES = 16

# What a word that no other is takes in a build, beside its own letters.
_TERM_BYTES = 200


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class TextIndex:
    """The postings of the words of `row_count` rows.

    term_bytes, term_offsets (terms + 1): the terms. offsets (terms + 1): where the postings of each
    are. rows (n) uint32, codes (n) uint16: the postings. extremes (terms) uint16: the code of the
    least length and the greatest count of each term. lengths (row_count) int32: the words of each
    row, -1 for a row without a text. text_count, word_count: the rows with one, and all words.
    """

    row_count: int
    text_count: int
    word_count: int
    term_bytes: NDArray[np.uint8]
    term_offsets: NDArray[np.int64]
    offsets: NDArray[np.int64]
    extremes: NDArray[np.uint16]
    rows: NDArray[np.uint32]
    codes: NDArray[np.uint16]
    lengths: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Make the arrays read-only, as mapped ones are."""
        for name in _ARRAYS:
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name))))

    @property
    def longest(self) -> int:
        """The words of the longest text."""
        return int(self.lengths.max(initial=0))

    @property
    def term_count(self) -> int:
        """The number of terms."""
        return len(self.offsets) - 1

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    def term(self, number: int) -> bytes:
        """Return a term by its number."""
        start, end = self.term_offsets[number : number + 2]
        return self.term_bytes[start:end].tobytes()

    def postings_of(self, word: str) -> tuple[int, int, int]:
        """Return where the postings of a term begin and end, and its extremes; 0 without any."""
        wanted, low, high = word.encode(), 0, self.term_count
        while low < high:
            middle = (low + high) // 2
            if self.term(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        if low == self.term_count or self.term(low) != wanted:
            return 0, 0, 0
        start, end = self.offsets[low : low + 2]
        return int(start), int(end), int(self.extremes[low])


def terms_of(text: str, language: str) -> list[str]:
    """Return the terms of a text that is searched for, each once, in order."""
    words = query_words(text)
    return list(dict.fromkeys(map(stemmer(language), words)))


def build_text_index(
    blocks: Iterable[Block], row_count: int, language: str, control: BuildControl
) -> TextIndex:
    """Return the index of the texts of some rows.

    blocks: their texts, by ascending row numbers. language: what `stemmer` takes. Raises what
    `control` does where its room is too small, or to end the build.
    """
    words = _Words(stemmer(language), control)
    lengths = np.full(row_count, -1, np.int32)
    control.room.take(lengths.nbytes)
    parts: list[tuple[int, NDArray[np.int64], NDArray[np.int32]]] = []
    for texts, first in blocks:
        step = max(int(len(texts) * _BLOCK_BYTES / max(texts.nbytes, 1)), 1)
        for start in range(0, len(texts), step):
            check_interrupt()
            control.report("words", (first + start) / max(row_count, 1))
            some = texts.slice(start, step)
            counts, terms = words.add(some)
            lengths[first + start : first + start + len(some)] = counts
            parts.append((first + start, counts, terms))
    return _of_terms(parts, words.numbers, lengths, control)


class _Words:
    """The numbers of terms while texts are read."""

    def __init__(self, stem: Callable[[str], str], control: BuildControl) -> None:
        self.numbers: dict[str, int] = {}
        self._of_words: dict[str, int] = {}
        self._stem, self._control = stem, control

    def add(self, texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return how many words each text has, -1 for none, and the term of each word."""
        counts, words = words_of(texts)
        self._control.room.take(_WORD_BYTES * len(words))
        encoded = words.dictionary_encode()
        known, numbers, new = self._of_words, self.numbers, 0
        terms = np.empty(len(encoded.dictionary), np.int32)
        for place, word in enumerate(encoded.dictionary.to_pylist()):
            number = known.get(word)
            if number is None:
                new += len(word) + _TERM_BYTES
                number = known[word] = numbers.setdefault(self._stem(word), len(numbers))
            terms[place] = number
        self._control.room.take(new)
        return counts, terms[encoded.indices.to_numpy()]


def _of_terms(
    parts: Sequence[tuple[int, NDArray[np.int64], NDArray[np.int32]]],
    numbers: dict[str, int],
    lengths: NDArray[np.int32],
    control: BuildControl,
) -> TextIndex:
    """Return the index of rows by the terms of their words, part by part."""
    # numba takes 0.3 s to import, and few processes search texts.
    from raydb.kernels.text.loops import close_up, place_words  # noqa: PLC0415

    names = sorted(numbers)
    ranks = np.empty(len(names), np.int32)
    ranks[[numbers[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    totals = np.zeros(len(names), np.int64)
    for _, _, terms in parts:
        totals += np.bincount(ranks[terms], minlength=len(names))
    word_count = int(totals.sum())
    starts = np.cumsum(totals) - totals
    places = starts.copy()
    rows, codes = np.empty(word_count, np.uint32), np.zeros(word_count, np.uint16)
    for number, (first, own, terms) in enumerate(parts):
        check_interrupt()
        control.report("postings", number / len(parts))
        place_words(ranks[terms], own, first, places, rows, codes)
    ends = places + (totals > 0)
    extremes = np.empty(len(names), np.uint16)
    kept = close_up(starts, ends, rows, codes, extremes)
    texts = [name.encode() for name in names]
    return TextIndex(
        len(lengths),
        int(np.count_nonzero(lengths >= 0)),
        word_count,
        np.frombuffer(b"".join(texts), np.uint8),
        np.cumsum([0, *map(len, texts)], dtype=np.int64),
        np.append(starts, kept).astype(np.int64),
        extremes,
        rows[:kept].copy(),
        codes[:kept].copy(),
        lengths,
    )


def renumber(index: TextIndex, live: NDArray[np.bool_]) -> TextIndex:
    """Return the index once only the rows with `live` (bool, by row number) are left, in order."""
    numbers = np.cumsum(live, dtype=np.int64) - 1
    kept = live[index.rows]
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
    lengths = index.lengths[live[: index.row_count]]
    is_text = lengths >= 0
    return replace(
        index,
        row_count=len(lengths),
        text_count=int(np.count_nonzero(is_text)),
        word_count=int(lengths[is_text].sum(dtype=np.int64)),
        offsets=before[index.offsets],
        rows=numbers[index.rows[kept]].astype(np.uint32),
        codes=index.codes[kept],
        lengths=lengths,
    )


def to_arrays(index: TextIndex) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return an index's arrays by name, and its properties as JSON values."""
    arrays = {name: getattr(index, name) for name in _ARRAYS}
    return arrays, {name: getattr(index, name) for name in _PROPERTIES}


def from_arrays(arrays: StoredArrays, properties: Described, row_limit: int) -> TextIndex:
    """Return the index of `to_arrays`; the arrays are used as they are, mapped ones too.

    row_limit: the rows of the table. All of it is checked. Raises OperationalError.
    """
    row_count, text_count = (
        properties[name].integer(0, row_limit) for name in ("row_count", "text_count")
    )
    term_bytes = arrays.take("term_bytes", np.uint8, (-1,))
    term_offsets = arrays.take("term_offsets", np.int64, (-1,), spans(len(term_bytes)))
    rows = arrays.take("rows", np.uint32, (-1,), between(0, max(row_count - 1, 0)))
    offsets = arrays.take("offsets", np.int64, term_offsets.shape, spans(len(rows)))
    if len(rows) and not row_count:
        raise arrays.fault("rows", "none", "some")
    # The loops go through a term's rows once.
    falls = np.flatnonzero(rows[1:] <= rows[:-1]) + 1
    if not np.isin(falls, offsets).all():
        raise arrays.fault("rows", "ascending by term", "other values")
    return TextIndex(
        row_count,
        text_count,
        properties["word_count"].integer(0, 2**62),
        term_bytes,
        term_offsets,
        offsets,
        arrays.take("extremes", np.uint16, (len(offsets) - 1,)),
        rows,
        arrays.take("codes", np.uint16, (len(rows),)),
        arrays.take("lengths", np.int32, (row_count,), between(-1, 2**31 - 1)),
    )
