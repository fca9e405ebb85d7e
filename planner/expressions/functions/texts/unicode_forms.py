"""Texts without accents and in one form of Unicode, by which collations compare."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.types import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.nodes import Call


def _of_letters(change: Callable[[str], str]) -> Callable[..., Values]:
    """Make a function of texts a kernel that leaves those in ASCII as they are."""

    def changed(array: pa.Array) -> pa.Array:
        if pc.all(pc.string_is_ascii(array)).as_py() is not False:
            return array
        encoded = array.dictionary_encode()
        texts = [change(text) for text in encoded.dictionary.to_pylist()]
        return pa.array(texts, TEXT).take(encoded.indices)

    return lambda _, values: each(values, changed, TEXT)


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


scalar(
    "strip_accents(text) -> VARCHAR", "without accents: strip_accents('mühleisen') -> 'muhleisen'"
)(_of_letters(_without_accents))
scalar(
    "nfc_normalize(text) -> VARCHAR",
    "with composed characters, Unicode's form NFC: length(nfc_normalize(e'e\\u0301')) -> 1",
)(_of_letters(_composed))


def _unchanged(_: Call, values: Values, __: Values) -> Values:
    return values


scalar(name="collate")(_unchanged)
