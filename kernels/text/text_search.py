"""The rows whose texts fit some words best, by BM25.

What a word counts in a row that has it n times, among N rows with texts of `mean` words, df of them
with the word:

    ln(1 + (N - df + 0.5) / (df + 0.5)) * n * (k1 + 1) / (n + k1 * (1 - b + b * length / mean))

The score of a row is the sum over the words. All rows that are searched count for N, df and the
mean, and no others: with an index and without there are the same scores.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from raydb.interrupts import check_interrupt
from raydb.kernels.vector.exact_search import EVERY, frozen
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.text.text_index import TextIndex

# Rows that are scored between two of which an interrupt is heard: some ms for a common word.
_ROWS = 2**22


@dataclass(frozen=True, eq=False, slots=True)
class SearchedPart:
    """Some rows of a table, from number `first` on, by the index of their texts.

    allowed (rows of the index): whether each row counts; None where all do.
    """

    index: TextIndex
    first: int
    allowed: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class TextRule:
    """What is found: the k best rows, those with all words alone where `all_words`."""

    k: int
    k1: float = 1.2
    b: float = 0.75
    all_words: bool = False


class TextSearch:
    """A search in the rows of some parts, which may be asked many times."""

    def __init__(self, parts: Sequence[SearchedPart]) -> None:
        from raydb.kernels.text.loops import count_texts  # noqa: PLC0415  (numba, see TextIndex)

        self.parts = parts
        self.text_count = self.word_count = 0
        self._known: dict[tuple[int, float, float], NDArray[np.float64]] = {}
        for part in parts:
            totals = np.array((part.index.text_count, part.index.word_count))
            if part.allowed is not None:
                totals[:] = 0
                count_texts(part.index.lengths, frozen(part.allowed), totals)
            self.text_count += int(totals[0])
            self.word_count += int(totals[1])

    def best(
        self, terms: Sequence[str], rule: TextRule
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows that fit some terms best and their scores, the best first.

        Of rows with the same score the one with the smaller number is first.
        """
        found = {term: [part.index.postings_of(term) for part in self.parts] for term in terms}
        counts = {term: self._rows_with(spans) for term, spans in found.items()}
        total = max(self.text_count, *counts.values(), 0)
        weights = {
            term: (rule.k1 + 1) * log(1 + (total - count + 0.5) / (count + 0.5))
            for term, count in counts.items()
            if count
        }
        most = min(rule.k, sum(counts.values()))
        if rule.all_words:
            most = min(rule.k, *counts.values(), most)
        scores, rows, filled = np.empty(most), np.empty(most, np.int64), 0
        if not most:
            return rows, scores
        order = sorted(weights, key=lambda term: (weights[term], term))
        ascending = np.array([weights[term] for term in order])
        for number, part in enumerate(self.parts):
            spans = [found[term][number] for term in order]
            filled = self._score(part, np.array(spans), ascending, rule, (scores, rows, filled))
        places = np.lexsort((rows[:filled], -scores[:filled]))
        return rows[places], scores[places]

    def _rows_with(self, spans: Sequence[tuple[int, int, int]]) -> int:
        """Return how many rows have a term, whose postings in each part are given."""
        from raydb.kernels.text.loops import count_rows  # noqa: PLC0415  (numba, see TextIndex)

        count = 0
        for part, (start, end, _) in zip(self.parts, spans, strict=True):
            if part.allowed is None:
                count += end - start
            else:
                count += count_rows(part.index.rows, start, end, frozen(part.allowed))
        return count

    def _score(
        self,
        part: SearchedPart,
        spans: NDArray[np.int64],
        weights: NDArray[np.float64],
        rule: TextRule,
        best: tuple[NDArray[np.float64], NDArray[np.int64], int],
    ) -> int:
        """Score the rows of a part, and keep the best of all; return how many there are now."""
        from raydb.kernels.text.loops import MOST_COUNTED, score_rows  # noqa: PLC0415  (numba)

        scores, rows, filled = best
        index = part.index
        mean = max(self.word_count / max(self.text_count, 1), 1e-300)
        fixed, slope = rule.k1 * (1 - rule.b), rule.k1 * rule.b / mean
        impacts = self._impacts(part, fixed, slope)
        places, ends, extremes = (np.ascontiguousarray(each) for each in spans.T)
        most = extremes & MOST_COUNTED
        bounds = weights * most / np.maximum(most + fixed + slope * (extremes >> 8), 1e-300)
        words = places, ends, weights, np.cumsum(bounds)
        allowed = EVERY if part.allowed is None else frozen(part.allowed)
        for low in range(0, index.row_count, _ROWS):
            check_interrupt()
            filled = score_rows(
                (index.rows, index.codes, index.lengths),
                words,
                impacts,
                (fixed, slope, rule.all_words),
                (low, min(low + _ROWS, index.row_count), part.first),
                allowed,
                (scores, rows, filled),
            )
        return int(filled)

    def _impacts(self, part: SearchedPart, fixed: float, slope: float) -> NDArray[np.float64]:
        """Return what short texts count by the codes of their postings; see `score_rows`."""
        from raydb.kernels.text.loops import MOST_COUNTED  # noqa: PLC0415  (numba, see TextIndex)

        key = part.first, fixed, slope
        if key not in self._known:
            codes = np.arange(min(part.index.longest + 1, MOST_COUNTED) << 8)
            counted = codes & MOST_COUNTED
            divided = np.maximum(counted + fixed + slope * (codes >> 8), 1e-300)
            self._known[key] = counted / divided
        return self._known[key]
