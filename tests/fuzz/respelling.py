"""Statements with their words in other letters, lower case or upper."""

from __future__ import annotations

from sqlglot import TokenType

from raydb.sql.parse.reader import tokenize

FIXED = {
    *(TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.HEX_STRING),
    *(TokenType.PARAMETER, TokenType.BYTE_STRING),
}


def respelled(text, spell):
    """Return a text with another spelling of its words; what stands in quotes is left alone."""
    parts, place = [], 0
    for token in (token for statement in tokenize(text) for token in statement):
        if token.token_type not in FIXED and token.start >= place:
            parts += [text[place : token.start], spell(text[token.start : token.end + 1])]
            place = token.end + 1
    return "".join(parts) + text[place:]


def in_any_case(rng, text):
    """Return a text with each letter of its words in upper or lower case, by chance."""
    return respelled(text, lambda word: "".join(rng.choice((c.lower(), c.upper())) for c in word))
