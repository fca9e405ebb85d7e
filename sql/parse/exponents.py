"""Numbers with exponents in sums: sqlglot takes `1e3+1e4` for the number `1e3+1` and a name."""

from __future__ import annotations

import re

from sqlglot import Token, TokenType

_SUM = re.compile(r"([\d.]+[eE]\d+)([+-])[\d.]")


def part_exponents(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `1e3+1e4` is a sum of two numbers."""
    if not any(_SUM.match(token.text) for token in tokens):
        return tokens
    parted: list[Token] = []
    for token in tokens:
        found = _SUM.match(token.text) if token.token_type is TokenType.NUMBER else None
        if found is not None:
            length = len(found[1])
            sign = TokenType.PLUS if found[2] == "+" else TokenType.DASH
            parted.append(_within(token, TokenType.NUMBER, 0, length))
            parted.append(_within(token, sign, length, length + 1))
            parted.append(_within(token, TokenType.NUMBER, length + 1, len(token.text)))
        elif parted and _is_exponent(token, parted[-1]):
            number = parted.pop()
            whole = number.text + token.text
            place = token.line, token.col, number.start, token.end
            parted.append(Token(TokenType.NUMBER, whole, *place))
        else:
            parted.append(token)
    return parted


def _is_exponent(token: Token, before: Token) -> bool:
    """Whether a word is the exponent of the number before it: `e3`."""
    is_near = before.token_type is TokenType.NUMBER and token.start == before.end + 1
    return is_near and re.fullmatch(r"[eE]\d+", token.text) is not None


def _within(token: Token, kind: TokenType, first: int, last: int) -> Token:
    """Return a part of a token as a token."""
    rest = len(token.text) - last
    place = token.line, token.col - rest, token.start + first, token.end - rest
    return Token(kind, token.text[first:last], *place)
