"""LIKE, SIMILAR TO, GLOB and regular expressions."""

from __future__ import annotations

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.functions.signature import (
    Signature,
    require_integer,
    require_text,
    takes,
    typed,
)

_TEXT, _BOOLEAN = pa.string(), pa.bool_()
_OPERATORS = {
    "like": ("LIKE", "like"),
    "ilike": ("ILIKE", "ilike"),
    "similar": ("SIMILAR TO", "similar"),
    "glob": ("GLOB", "glob"),
    "~": ("~", "regexp_matches"),
    "~*": ("~*", "regexp_matches"),
}


def match(operator: str, *operands: Expression) -> Expression:
    """Return `text operator pattern`, for LIKE and SIMILAR TO with an escape behind it.

    `operator` is one of like, ilike, similar, glob, ~ and ~*.
    """
    written, function = _OPERATORS[operator]
    texts = tuple(typed(operand, _TEXT) for operand in operands)
    for text in texts:
        if text.type != _TEXT:
            raise ProgrammingError(f"{written} needs strings, not {describe(text)}")
    if operator == "~*":
        texts = (*texts, Literal("i", _TEXT))
    return Call(function, texts, _BOOLEAN)


def _regexp_extract(name: str, *arguments: Expression) -> Expression:
    text, pattern, *rest = arguments
    group = rest[0] if rest else Literal(0, pa.int32())
    checked = (
        require_text(name, text),
        require_text(name, pattern),
        require_integer(name, group),
        *(require_text(name, flags) for flags in rest[1:]),
    )
    return Call(name, checked, _TEXT)


_THREE_TEXTS = (require_text, require_text, require_text)
_MATCHES = Signature(takes("regexp_matches", _BOOLEAN, *_THREE_TEXTS), 2, 3)

PATTERNS = {
    "regexp_extract": Signature(_regexp_extract, 2, 4),
    "regexp_full_match": Signature(takes("regexp_full_match", _BOOLEAN, *_THREE_TEXTS), 2, 3),
    "regexp_like": _MATCHES,
    "regexp_matches": _MATCHES,
    "regexp_replace": Signature(takes("regexp_replace", _TEXT, *_THREE_TEXTS, require_text), 3, 4),
}
