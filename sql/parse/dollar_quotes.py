r"""Strings between dollars, $$it's$$ and $tag$it's$tag$, which have no escapes.

sqlglot would take `$a,$b$` for the beginning of one. So others of the same length stand for them
while a text is split.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from raydb.sql.parse.dialect import split_tokens

# A string between dollars, or what may hold such marks and is none.
CLOSED = re.compile(
    r"""
      (?<!\w)[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/
    | (?<![\w$])(?P<mark>\$(?:[^\W\d]\w*)?\$)(?P<text>.*?)(?P=mark)
    """,
    re.VERBOSE | re.DOTALL,
)


def split(text: str) -> list[Token]:
    """Return the tokens of a text; raises sqlglot's TokenError.

    >>> [token.text for token in split("SELECT $a$it's$a$, $b")]
    ['SELECT', "it's", ',', '$', 'b']
    """
    if text.count("$") < len("$$"):
        return split_tokens(text)
    found: dict[int, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        if match["mark"] is None:
            return match[0]
        found[match.start()] = match["text"]
        inside = re.sub(r"[^\n]", "x", match[0][1:-1])
        return f"'{inside}'"

    tokens = split_tokens(CLOSED.sub(stand_in, text))
    for before, after in pairwise(tokens):
        if before.token_type is after.token_type is TokenType.PARAMETER:
            raise TokenError("a string between dollars does not end")
    return [
        Token(each.token_type, found[each.start], each.line, each.col, each.start, each.end)
        if each.start in found
        else each
        for each in tokens
    ]
