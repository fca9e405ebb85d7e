"""How alike two texts are."""

from __future__ import annotations

from raydb.errors import DataError
from raydb.interrupts import check_interrupt
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.registry import scalar

# A longer common beginning makes texts no more alike.
_MOST_PREFIX = 4


@scalar(
    "damerau_levenshtein(text, other: text) -> BIGINT",
    "how many characters must be inserted, deleted, replaced or swapped with a neighbour:"
    " damerau_levenshtein('order', 'odrer') -> 1",
)
@of_rows
def _damerau_levenshtein(one: str, other: str) -> int:
    """Return the distance of Lowrance and Wagner, in which swapped characters may move apart."""
    most = len(one) + len(other)
    rows = [[most] * (len(other) + 2), [most, *range(len(other) + 1)]]
    last_row: dict[str, int] = {}
    for row, character in enumerate(one, 1):
        check_interrupt()
        distances, match = [most, row], 0
        for place, candidate in enumerate(other, 1):
            swapped_row, swapped_place = last_row.get(candidate, 0), match
            cost = character != candidate
            if not cost:
                match = place
            between = (row - swapped_row - 1) + 1 + (place - swapped_place - 1)
            distances.append(
                min(
                    rows[row][place] + cost,
                    distances[place] + 1,
                    rows[row][place + 1] + 1,
                    rows[swapped_row][swapped_place] + between,
                )
            )
        rows.append(distances)
        last_row[character] = row
    distance: int = rows[-1][-1]
    return distance


@scalar(
    "hamming(text, other: text), mismatches(text, other) -> BIGINT",
    "at how many places texts of one length differ: hamming('duck', 'luck') -> 1",
    can_fail=True,
)
@of_rows
def _hamming(one: str, other: str) -> int:
    if len(one) != len(other):
        raise DataError(f"hamming() needs texts of one length, not of {len(one)} and {len(other)}")
    return sum(left != right for left, right in zip(one, other, strict=True))


@scalar(
    "jaccard(text, other: text) -> DOUBLE",
    "the share of their characters that both have: jaccard('duck', 'luck') -> 0.6",
    can_fail=True,
)
@of_rows
def _jaccard(one: str, other: str) -> float:
    if not (one and other):
        raise DataError("jaccard() needs texts that are not empty")
    left, right = set(one), set(other)
    return len(left & right) / len(left | right)


@scalar(
    "jaro_similarity(text, other: text) -> DOUBLE",
    "from 0 to 1, by characters that are near each other:"
    " jaro_similarity('duck', 'dukc') > 0.9 -> true",
)
@of_rows
def _jaro_similarity(one: str, other: str) -> float:
    return _jaro(one, other)


@scalar(
    "jaro_winkler_similarity(text, other: text) -> DOUBLE",
    "the same, more for a common beginning:"
    " jaro_winkler_similarity('duck', 'duckling') > jaro_similarity('duck', 'duckling') -> true",
)
@of_rows
def _jaro_winkler(one: str, other: str) -> float:
    alike = _jaro(one, other)
    if alike <= 0.7:
        return alike
    pairs = zip(one[:_MOST_PREFIX], other[:_MOST_PREFIX], strict=False)
    different = [place for place, (left, right) in enumerate(pairs) if left != right]
    prefix = different[0] if different else min(len(one), len(other), _MOST_PREFIX)
    return alike + prefix * 0.1 * (1 - alike)


def _jaro(one: str, other: str) -> float:
    """Return Jaro's similarity: near characters match, and swapped ones count half."""
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken = [False] * len(other)
    found = []
    for place, character in enumerate(one):
        check_interrupt()
        start, stop = max(place - reach, 0), min(place + reach + 1, len(other))
        for candidate in range(start, stop):
            if not taken[candidate] and other[candidate] == character:
                taken[candidate] = True
                found.append(character)
                break
    if not found:
        return 0.0
    matched = [character for character, is_taken in zip(other, taken, strict=True) if is_taken]
    swapped = sum(left != right for left, right in zip(found, matched, strict=True)) / 2
    count = len(found)
    return (count / len(one) + count / len(other) + (count - swapped) / count) / 3
