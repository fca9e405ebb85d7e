"""Compiled loops of full-text search: postings put in order, rows scored, the best ones kept.

A posting is a row that has a word, and a code: the row's length times 256 and how often it has the
word, each 255 at most. The postings of a word are in the order of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import entry, inlined, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows whose scores are added up together, and of which those are looked at that may be found: the
# scores take 32 KiB.
_WINDOW = 4096
_BLOCK = 64

# A posting counts a word no further, and lengths from here on are looked up.
MOST_COUNTED = 255

# To look up a word for a row takes as long as to score so many of its rows.
_LOOK_UP = 8

# What the order in which numbers are added up may change of a sum.
_SLACK = 1e-9


@entry
def place_words(
    terms: NDArray[np.int32],
    word_counts: NDArray[np.int64],
    first_row: int,
    next_places: NDArray[np.int64],
    rows: NDArray[np.uint32],
    codes: NDArray[np.uint16],
) -> None:
    """Add the words of some rows, given by their terms (n), to the postings of these.

    word_counts (rows): how many words each row has, -1 for no text. next_places (terms): the last
    posting of each term, or its first place. rows, codes: the postings; 0 where there is none yet.
    """
    at = 0
    for number in range(len(word_counts)):
        row = np.uint32(first_row + number)
        length = min(max(word_counts[number], 0), MOST_COUNTED) << 8
        for _ in range(max(word_counts[number], 0)):
            term = terms[at]
            at += 1
            place = next_places[term]
            if codes[place] and rows[place] == row:
                if codes[place] & MOST_COUNTED < MOST_COUNTED:
                    codes[place] += 1
                continue
            if codes[place]:
                place += 1
            rows[place], codes[place] = row, length | 1
            next_places[term] = place


@entry
def close_up(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    rows: NDArray[np.uint32],
    codes: NDArray[np.uint16],
    extremes: NDArray[np.uint16],
) -> int:
    """Move the postings of terms, each from its start to its end, next to each other; count them.

    starts becomes where each term's begin now. extremes (terms): the code of the least length and
    the greatest count of each.
    """
    to = 0
    for term in range(len(ends)):
        first, starts[term] = starts[term], to
        least, most = np.int64(MOST_COUNTED << 8), np.int64(0)
        for place in range(first, ends[term]):
            code = np.int64(codes[place])
            rows[to], codes[to] = rows[place], code
            least, most = min(least, code & ~MOST_COUNTED), max(most, code & MOST_COUNTED)
            to += 1
        extremes[term] = least | most
    return to


@entry
def count_texts(
    lengths: NDArray[np.int32], allowed: NDArray[np.bool_], totals: NDArray[np.int64]
) -> None:
    """Add the number of texts and that of their words to `totals`, of rows that are allowed."""
    texts, words = 0, 0
    for row in range(len(lengths)):
        if lengths[row] >= 0 and allowed[row]:
            texts += 1
            words += lengths[row]
    totals[0] += texts
    totals[1] += words


@entry
def count_rows(rows: NDArray[np.uint32], start: int, end: int, allowed: NDArray[np.bool_]) -> int:
    """Return how many postings from `start` to before `end` are of rows that are allowed."""
    count = 0
    for place in range(start, end):
        count += allowed[rows[place]]
    return count


@inlined
def _is_worse(score: float, row: int, other: float, other_row: int) -> bool:
    return score < other or (score == other and row > other_row)


@leaf
def _push(
    score: float, row: int, filled: int, scores: NDArray[np.float64], rows: NDArray[np.int64]
) -> int:
    """Keep a row in a heap with the worst of the best rows first; return how many it has."""
    if filled < len(rows):
        place = filled
        while place:
            above = (place - 1) // 2
            if not _is_worse(score, row, scores[above], rows[above]):
                break
            scores[place], rows[place] = scores[above], rows[above]
            place = above
        scores[place], rows[place] = score, row
        return filled + 1
    if not _is_worse(scores[0], rows[0], score, row):
        return filled
    place = 0
    while 2 * place + 1 < filled:
        child = 2 * place + 1
        if child + 1 < filled and _is_worse(
            scores[child + 1], rows[child + 1], scores[child], rows[child]
        ):
            child += 1
        if not _is_worse(scores[child], rows[child], score, row):
            break
        scores[place], rows[place] = scores[child], rows[child]
        place = child
    scores[place], rows[place] = score, row
    return filled


@inlined
def _impact(
    code: int,
    row: int,
    lengths: NDArray[np.int32],
    impacts: NDArray[np.float64],
    rule: tuple[float, float],
) -> float:
    """Return what a posting counts, by its code; see `score_rows`."""
    if code < len(impacts):
        return float(impacts[code])
    n, (fixed, slope) = np.float64(code & MOST_COUNTED), rule
    return float(n / (n + fixed + slope * lengths[row]))


@leaf
def _find(row: int, low: int, end: int, rows: NDArray[np.uint32]) -> int:
    """Return the first posting from `low` on whose row is not less, in steps that double."""
    step = 1
    while low + step < end and rows[low + step] < row:
        low += step
        step *= 2
    high = min(low + step, end)
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _is_above(scores: NDArray[np.float64], start: int, end: int, least: float) -> bool:
    """Tell whether one of some scores is that great; many are compared at once."""
    count = 0
    for number in range(start, end):
        count += scores[number] >= least
    return count > 0


@inlined
def _passive_count(
    bounds: NDArray[np.float64], left: NDArray[np.int64], least: float, needs_all: bool
) -> int:
    """Return how many of the first words put no row among the best, and are better looked up.

    bounds: the most that each word and those before it count. left: the postings of each word and
    those behind it.
    """
    last = len(bounds) - 1
    if needs_all:
        return last
    found = 0
    for word in range(last):
        is_little = bounds[word] * (1 + _SLACK) <= least
        if is_little and _LOOK_UP * left[word + 1] < left[0] - left[word + 1]:
            found = word + 1
    return found


@inlined
def _add_word(
    word: int,
    base: int,
    end_row: int,
    postings: tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int32]],
    words: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    impacts: NDArray[np.float64],
    rule: tuple[float, float, bool],
    scores: NDArray[np.float64],
) -> None:
    """Add what a word counts to the scores of the rows from `base` to before `end_row`."""
    rows, codes, lengths = postings
    place, end, weight = words[0][word], words[1][word], words[2][word]
    while place < end and rows[place] < end_row:
        row = np.int64(rows[place])
        impact = _impact(codes[place], row, lengths, impacts, (rule[0], rule[1]))
        scores[row - base] += weight * impact
        place += 1
    words[0][word] = place


@leaf
def _total(
    row: int,
    postings: tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int32]],
    words: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    impacts: NDArray[np.float64],
    rule: tuple[float, float, bool],
    least: float,
) -> float:
    """Return the score of a row, -1 where it is below `least` or lacks a word that it needs.

    It is the sum of the same numbers in the same order, whatever was added up before. words: where
    each is looked for from, which moves on, and the rest as in `score_rows`.
    """
    rows, codes, lengths = postings
    begins, ends, weights, bounds = words
    fixed, slope, needs_all = rule
    total = 0.0
    for word in range(len(ends) - 1, -1, -1):
        if total + bounds[word] < least * (1 - _SLACK):
            return -1.0
        low = _find(row, begins[word], ends[word], rows)
        begins[word] = low
        if low < ends[word] and rows[low] == row:
            total += weights[word] * _impact(codes[low], row, lengths, impacts, (fixed, slope))
        elif needs_all:
            return -1.0
    return total


@entry
def score_rows(
    postings: tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int32]],
    words: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    impacts: NDArray[np.float64],
    rule: tuple[float, float, bool],
    within: tuple[int, int, int],
    allowed: NDArray[np.bool_],
    best: tuple[NDArray[np.float64], NDArray[np.int64], int],
) -> int:
    """Score those of some rows that have words, and keep the best; return how many there are.

    postings: the rows and the codes of all postings, and the length of each row. words: where the
    postings of each begin and end, its weight, and the most that it and those before it may count
    together; the first of these move on. impacts: what the codes from 0 on count; n / (n + fixed +
    slope * length) for the others, with rule = (fixed, slope, whether rows have all words). within:
    the first of the rows, the one behind the last, and what is added to their numbers. allowed:
    whether a row counts; empty where all do. best: a heap of scores and rows, and how many it has.

    Words come by ascending weight. Once the heap is full, the first ones together may count too
    little for a row that has no other: only rows with one of the others are looked at, and the
    first words are looked up for them (MaxScore; Turtle and Flood, 1995).
    """
    places, ends, bounds = words[0], words[1], words[3]
    base, last, shift = within
    best_scores, best_rows, filled = best
    count, scores, begins = len(ends), np.zeros(_WINDOW, np.float64), places.copy()
    left = np.zeros(count + 1, np.int64)
    for word in range(count - 1, -1, -1):
        left[word] = left[word + 1] + ends[word] - places[word]
    while base < last:
        least = best_scores[0] if filled == len(best_rows) else 0.0
        if bounds[count - 1] * (1 + _SLACK) <= least:
            break
        passive = _passive_count(bounds, left, least, rule[2])
        base, following = last, base
        for word in range(passive, count):
            begins[word] = places[word] = _find(following, places[word], ends[word], postings[0])
            if places[word] < ends[word]:
                base = min(base, int(np.int64(postings[0][places[word]])))
        end_row = min(base + _WINDOW, last)
        for word in range(passive, count):
            _add_word(word, base, end_row, postings, words, impacts, rule, scores)
        # Of what passive words count there is only the most.
        rest = bounds[passive - 1] if passive else 0.0
        for start in range(0, end_row - base, _BLOCK):
            stop = min(start + _BLOCK, end_row - base)
            wanted = max((least - rest) - _SLACK * (least + rest), 1e-300)
            if not _is_above(scores, start, stop, wanted):
                continue
            for number in range(start, stop):
                row = np.int64(base + number)
                if scores[number] < wanted or (len(allowed) and not allowed[row]):
                    continue
                looked_up = begins, ends, words[2], bounds
                total = _total(row, postings, looked_up, impacts, rule, least)
                if total > 0.0:
                    filled = _push(total, row + shift, filled, best_scores, best_rows)
                    least = best_scores[0] if filled == len(best_rows) else 0.0
                    wanted = max((least - rest) - _SLACK * (least + rest), 1e-300)
        scores[: end_row - base] = 0.0
        base = end_row
    return int(filled)
