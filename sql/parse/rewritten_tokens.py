"""Tokens as the parser takes them, where sqlglot reads what is written otherwise or not at all."""

from __future__ import annotations

import re

from sqlglot import Token, TokenType
from sqlglot.parsers.postgres import PostgresParser

from raydb.sql.parse.dialect import LAMBDA

OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_TYPE_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_TYPES = frozenset(PostgresParser.TYPE_TOKENS)
_BEFORE_BY = {
    "ORDER": TokenType.ORDER_BY,
    "GROUP": TokenType.GROUP_BY,
    "PARTITION": TokenType.PARTITION_BY,
}
_SUM = re.compile(r"([\d.]+[eE]\d+)([+-])[\d.]")


def row_types(tokens: list[Token]) -> list[Token]:
    """Return tokens in which ROW(name type, ...), a type, is written STRUCT(name type, ...).

    Where no type follows the first name it is the constructor ROW(a, ...).
    """
    prepared = list(tokens)
    for place, token in enumerate(tokens[:-3]):
        opening, name, kind = tokens[place + 1 : place + 4]
        if (
            token.token_type is TokenType.ROW
            and opening.token_type is TokenType.L_PAREN
            and name.token_type in _TYPE_NAMES
            and (kind.token_type in _TYPES or kind.token_type in _TYPE_NAMES)
        ):
            prepared[place] = at_token(token, TokenType.STRUCT, "STRUCT")
    return prepared


def joined_words(tokens: list[Token]) -> list[Token]:
    """Return tokens in which ORDER BY, GROUP BY and PARTITION BY are one, for all comments inside.

    sqlglot takes them together only where nothing but blanks is between them.
    """
    prepared: list[Token] = []
    for token in tokens:
        before = prepared[-1] if prepared else None
        if (
            before is not None
            and token.token_type is TokenType.VAR
            and token.text.upper() == "BY"
            and before.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)
            and (joined := _BEFORE_BY.get(before.text.upper())) is not None
        ):
            prepared[-1] = at_token(before, joined, f"{before.text} {token.text}")
        else:
            prepared.append(token)
    return prepared


def number_parameters(tokens: list[Token]) -> list[Token]:
    """Return tokens in which each ? is written $1, $2, ... in their order."""
    numbered: list[Token] = []
    count = 0
    for token in tokens:
        if token.token_type is TokenType.PLACEHOLDER:
            count += 1
            numbered.append(at_token(token, TokenType.PARAMETER, "$"))
            numbered.append(at_token(token, TokenType.NUMBER, str(count)))
        else:
            numbered.append(token)
    return numbered


def arrow_lambdas(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `lambda x, y: x + y` is written `(x, y) -> x + y`."""
    prepared: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        stop = place + 1
        if token.token_type is TokenType.VAR and token.text.lower() == LAMBDA:
            while stop + 1 < len(tokens) and tokens[stop + 1].token_type is TokenType.COMMA:
                stop += 2
            if stop + 1 < len(tokens) and tokens[stop + 1].token_type is TokenType.COLON:
                prepared.append(at_token(token, TokenType.L_PAREN, LAMBDA))
                prepared += tokens[place + 1 : stop + 1]
                prepared.append(at_token(tokens[stop + 1], TokenType.R_PAREN, ")"))
                prepared.append(at_token(tokens[stop + 1], TokenType.ARROW, "->"))
                place = stop + 2
                continue
        prepared.append(token)
        place += 1
    return prepared


def name_field_types(tokens: list[Token]) -> list[Token]:
    """Return tokens in which a field of a type of CREATE TYPE is written NULLABLE(type).

    sqlglot expects no such name in `STRUCT(field type)`. NULLABLE, ClickHouse's word, may stand
    before any type, and its tree is that of the type.
    """
    prepared: list[Token] = []
    structs: list[bool] = []  # of each bracket that is open, whether it is that of a STRUCT
    named: list[int] = []  # how many brackets are open around each NULLABLE
    for place, token in enumerate(tokens):
        before, kind = tokens[place - 1].token_type, token.token_type
        ends = kind is TokenType.COMMA or kind in CLOSING
        if ends and named and named[-1] == len(structs):
            named.pop()
            prepared.append(at_token(token, TokenType.R_PAREN, ")"))
        if kind in OPENING:
            structs.append(before is TokenType.STRUCT)
        elif kind in CLOSING and structs:
            structs.pop()
        elif (
            kind in _TYPE_NAMES
            and before in _TYPE_NAMES
            and structs
            and structs[-1]
            and tokens[place - 2].token_type in (TokenType.COMMA, TokenType.L_PAREN)
        ):
            named.append(len(structs))
            prepared.append(at_token(token, TokenType.NULLABLE, "NULLABLE"))
            prepared.append(at_token(token, TokenType.L_PAREN, "("))
        prepared.append(token)
    return prepared


def without_generated(tokens: list[Token]) -> tuple[list[Token], list[Token] | None, bool]:
    """Return a column of CREATE TABLE without `[GENERATED ALWAYS] AS (...) [VIRTUAL | STORED]`.

    Then the expression, None where the column has none, and whether a type is written: where none
    is, UNKNOWN stands for it. sqlglot would take words behind the expression for a part of it.
    """
    depth = 0
    for place, token in enumerate(tokens[:-1]):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        is_open = tokens[place + 1].token_type is TokenType.L_PAREN
        if depth or not place or token.token_type is not TokenType.ALIAS or not is_open:
            continue
        start = place
        if [each.text.upper() for each in tokens[place - 2 : place]] == ["GENERATED", "ALWAYS"]:
            start -= 2
        stop = place + 2
        depth = 1
        while stop < len(tokens) and depth:
            kind = tokens[stop].token_type
            depth += (kind in OPENING) - (kind in CLOSING)
            stop += 1
        rest = tokens[stop:]
        if rest and rest[0].text.upper() in ("VIRTUAL", "STORED"):
            rest = rest[1:]
        has_type = start > 1
        kinds = [] if has_type else [at_token(token, TokenType.UNKNOWN, "UNKNOWN")]
        return [*tokens[:start], *kinds, *rest], tokens[place + 2 : stop - 1], has_type
    return tokens, None, True


def key_lists(tokens: list[Token]) -> list[Token]:
    """Return tokens in which the list of USING KEY (...) AS, aggregates and all, is one name.

    sqlglot expects names in it; `settle` reads it again, with its parentheses.
    """
    prepared: list[Token] = []
    stop = 0
    for place, token in enumerate(tokens):
        if place < stop:
            continue
        prepared.append(token)
        words = [each.text.upper() for each in tokens[place - 2 : place + 1]]
        if words[1:] != ["KEY", "("] or tokens[place - 2].token_type is not TokenType.USING:
            continue
        depth, stop = 1, place + 1
        while stop < len(tokens) and depth:
            kind = tokens[stop].token_type
            depth += (kind in OPENING) - (kind in CLOSING)
            stop += 1
        following = [each.token_type for each in tokens[stop : stop + 1]]
        if stop == place + 2 or following != [TokenType.ALIAS]:
            stop = 0
            continue
        closing = tokens[stop - 1]
        place_of_list = token.line, token.col, token.start, closing.end
        prepared += [Token(TokenType.IDENTIFIER, "keys", *place_of_list), closing]
    return prepared


def at_token(place: Token, kind: TokenType, text: str) -> Token:
    """Return a token that is where another one is."""
    return Token(kind, text, place.line, place.col, place.start, place.end)


def part_exponents(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `1e3+1e4`, which sqlglot takes for `1e3+1` and `e4`, is a sum."""
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


def replace_into(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `REPLACE INTO`, SQLite's, is `INSERT OR REPLACE INTO`."""
    prepared: list[Token] = []
    verb = TokenType.REPLACE, TokenType.INTO
    for token, after in zip(tokens, (*tokens[1:], None), strict=True):
        is_behind_or = bool(prepared) and prepared[-1].token_type is TokenType.OR
        if after and (token.token_type, after.token_type) == verb and not is_behind_or:
            prepared.append(at_token(token, TokenType.INSERT, "INSERT"))
            prepared.append(at_token(token, TokenType.OR, "OR"))
        prepared.append(token)
    return prepared


def called_names(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `apply`, a word of CROSS APPLY, is the name of a call `apply(...)`."""
    before = TokenType.CROSS, TokenType.OUTER
    return [
        _within(token, TokenType.VAR, 0, len(token.text))
        if token.token_type is TokenType.APPLY and tokens[place - 1].token_type not in before
        else token
        for place, token in enumerate(tokens)
    ]


def positional_names(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `positional` is a name, unless JOIN follows."""
    following = (*tokens[1:], None)
    return [
        _within(token, TokenType.VAR, 0, len(token.text))
        if token.token_type is TokenType.POSITIONAL
        and (after is None or after.token_type is not TokenType.JOIN)
        else token
        for token, after in zip(tokens, following, strict=True)
    ]


def _is_exponent(token: Token, before: Token) -> bool:
    """Whether a word is the exponent of the number before it: `e3`."""
    is_near = before.token_type is TokenType.NUMBER and token.start == before.end + 1
    return is_near and re.fullmatch(r"[eE]\d+", token.text) is not None


def _within(token: Token, kind: TokenType, first: int, last: int) -> Token:
    """Return a part of a token as a token."""
    rest = len(token.text) - last
    place = token.line, token.col - rest, token.start + first, token.end - rest
    return Token(kind, token.text[first:last], *place)
