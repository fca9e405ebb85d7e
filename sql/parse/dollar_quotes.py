r"""Strings between dollars, $$it's$$ and $tag$it's$tag$, which have no escapes.

sqlglot would take `$a,$b$` for the beginning of one. So others stand for them while a text is
split: of the same length, so that places stay, and with spaces around, so that none touches what
is beside it.
"""

from __future__ import annotations

import re

from sqlglot import Token
from sqlglot.errors import TokenError

from raydb.keywords import Scanner
from raydb.sql.parse.dialect import split_tokens


def split(text: str) -> list[Token]:
    """Return the tokens of a text; raises sqlglot's TokenError.

    >>> [token.text for token in split("SELECT $a$it's$a$, $b")]
    ['SELECT', "it's", ',', '$', 'b']
    """
    if text.count("$") < len("$$"):
        return split_tokens(text)
    pieces: list[str] = []
    found: dict[int, str] = {}
    place = 0
    for kind, piece in Scanner().scan(text):
        shown = piece
        if kind == "string" and piece[0] == "$":
            mark = piece[: piece.index("$", 1) + 1]
            if len(piece) < 2 * len(mark) or not piece.endswith(mark):
                raise TokenError("a string between dollars does not end")
            found[place + 1] = piece[len(mark) : -len(mark)]
            inside = re.sub(r"[^\n]", "x", piece[2:-2])
            shown = f" '{inside}' "
        pieces.append(shown)
        place += len(piece)
    if not found:
        return split_tokens(text)
    return [
        Token(each.token_type, found[each.start], each.line, each.col, each.start - 1, each.end + 1)
        if each.start in found
        else each
        for each in split_tokens("".join(pieces))
    ]
