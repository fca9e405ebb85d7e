"""The words of texts: lower case, without accents, some script's signs each a word of its own.

    'Éclairs & naïve tea'  ->  eclairs naive tea
    '東京 2026'             ->  東 京 2026

A word is a run of letters, their signs and digits. Chinese and Japanese write no spaces: each Han
and Hiragana sign is a word. Accents are those that NFKD parts from letters (U+0300 to U+036F), as
Latin, Greek and Cyrillic have them; the vowel signs of other scripts stay.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import NotSupportedError
from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_ACCENTS = r"[\x{0300}-\x{036F}]+"
_ALONE = r"([\p{Han}\p{Hiragana}])"
_BETWEEN = r"[^\pL\pN\pM]+"
_ASCII_WORDS = re.compile("[a-z0-9]+")


def words_of(texts: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return how many words each text (VARCHAR) has, and the words (n) of all, in order.

    A text of NULL has -1 words.
    """
    plain = texts
    if not pc.all(pc.string_is_ascii(texts), skip_nulls=True).as_py():
        plain = pc.utf8_normalize(texts, form="NFKD")
        plain = pc.replace_substring_regex(plain, pattern=_ACCENTS, replacement="")
        plain = pc.replace_substring_regex(plain, pattern=_ALONE, replacement=r" \1 ")
    split = pc.split_pattern_regex(pc.utf8_lower(plain), pattern=_BETWEEN)
    words = split.flatten()
    # Before the first and behind the last word there may be an empty one.
    is_word = pc.not_equal(words, "")
    counts = pc.fill_null(pc.list_value_length(split), -1).to_numpy().astype(np.int64)
    if not pc.all(is_word).as_py():
        ends = np.cumsum(np.maximum(counts, 0))
        kept = np.concatenate(([0], np.cumsum(is_word.to_numpy(zero_copy_only=False))))
        starts = ends - np.maximum(counts, 0)
        counts = np.where(counts < 0, -1, kept[ends] - kept[starts])
        words = words.filter(is_word)
    return counts, words


def query_words(text: str) -> list[str]:
    """Return the words of one text, without what it takes to prepare for many: 2 ms."""
    if text.isascii():
        return _ASCII_WORDS.findall(text.lower())
    _, words = words_of(pa.array([text], pa.string()))
    found: list[str] = words.to_pylist()
    return found


def stemmer_names() -> tuple[str, ...]:
    """Return the languages that words are stemmed in.

    Raises NotSupportedError where the package is not there.
    """
    return tuple(sorted(_package().algorithms()))


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return what gives the stem of a word; of '' the word itself.

    Raises NotSupportedError where the package is not there.
    """
    if not language:
        return str
    stem: Callable[[str], str] = _package().stemmer(language).stemWord
    return stem


def _package() -> Any:
    try:
        import snowballstemmer  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise NotSupportedError(
            "stems of words need snowballstemmer: pip install 'raydb[text]'"
        ) from error
    return snowballstemmer
