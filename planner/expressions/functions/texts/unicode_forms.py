"""Texts without accents and in one form of Unicode, as collations compare, and as bytes."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string
from raydb.planner.expressions.nodes import Call
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import require_text
from raydb.planner.expressions.types import BLOB, TEXT
from raydb.planner.expressions.typing_rules import cast, typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.nodes import Expression


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


@scalar(
    "encode(text)",
    r"its bytes in UTF-8, a BLOB: encode('Å') = '\xC3\x85'::BLOB -> true",
    bind=lambda name, text: Call(name, (require_text(name, text),), BLOB),
)
def _encode(_: Call, text: Values) -> Values:
    return text.cast(BLOB)


@scalar(
    "decode(a)",
    r"the text of bytes in UTF-8: decode('\xC3\x85'::BLOB) -> 'Å'",
    bind=lambda name, value: Call(name, (_bytes(name, value),), TEXT),
    can_fail=True,
)
@of_rows
def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise DataError("the bytes of decode() are no text in UTF-8") from None


def _bytes(name: str, operand: Expression) -> Expression:
    operand = cast(typed(operand, BLOB), BLOB) if is_bare_string(operand) else typed(operand, BLOB)
    if operand.type != BLOB:
        raise ProgrammingError(f"{name}() needs a BLOB, not {describe(operand)}")
    return operand
