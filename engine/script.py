"""Scripts: where one statement of a text ends and the next begins, without reading any SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Strings, quoted names and comments are pieces of their own, whatever they hold; the last one of a
# text may be left open.
_PIECE = re.compile(
    r"""'(?:[^']|'')*+'? | "(?:[^"]|"")*+"? | --[^\n]*+ | /\*.*?(?:\*/|\Z) | ; | [^;'"/-]++ | .""",
    re.DOTALL | re.VERBOSE,
)


def split_statements(text: str) -> list[str]:
    """Return the statements of a text, without those that are empty.

    >>> split_statements("SELECT ';'; -- one; two")
    ["SELECT ';';"]
    """
    statements: list[list[str]] = [[]]
    for piece in _PIECE.findall(text):
        statements[-1].append(piece)
        if piece == ";":
            statements.append([])
    return ["".join(pieces).strip() for pieces in statements if _words(pieces) not in ([], [";"])]


def is_complete(text: str) -> bool:
    """Say whether a text ends with a ';', or holds nothing at all.

    >>> is_complete("SELECT ';"), is_complete("SELECT 1; -- one")
    (False, True)
    """
    return _words(_PIECE.findall(text))[-1:] in ([], [";"])


def _words(pieces: Sequence[str]) -> list[str]:
    """Return the pieces that are neither blank nor a comment."""
    return [piece for piece in pieces if piece.strip() and not piece.startswith(("--", "/*"))]
