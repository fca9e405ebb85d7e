"""INSERT and MERGE: what follows these words, where sqlglot forgets or refuses a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

if TYPE_CHECKING:
    from sqlglot.parsers.postgres import PostgresParser

# What may follow ERROR other than its message.
_AFTER_ACTION = (TokenType.WHEN, TokenType.RETURNING, TokenType.SEMICOLON)


def insert(parser: PostgresParser) -> exp.Expr:
    """Read what follows INSERT; sqlglot forgets ORDER BY and LIMIT behind VALUES."""
    insert = parser._parse_insert()
    if word := insert.args.get("alternative"):
        insert.set("alternative", word.upper())
    values = insert.args.get("expression")
    ends = insert.args.get("conflict") or insert.args.get("returning")
    if isinstance(values, exp.Values) and not ends:
        parser._parse_query_modifiers(values)
        insert.set("conflict", parser._parse_on_conflict())
        insert.set("returning", parser._parse_returning())
    return insert


def merge(parser: PostgresParser) -> exp.Expr:
    """Read what follows MERGE.

    A When has as `then` an Update (of `*`, of the word NAME, or of assignments), an Insert, a call
    of error(), or the words DELETE and DO NOTHING.
    """
    _expect(parser, "INTO")
    target = parser._parse_table()
    if not parser._match(TokenType.USING):
        parser.raise_error("unexpected token")
    using = parser._parse_table()
    on, names = None, None
    if parser._match(TokenType.ON):
        on = parser._parse_disjunction()
    elif parser._match(TokenType.USING):
        names = parser._parse_using_identifiers()
    else:
        parser.raise_error("unexpected token")
    whens = []
    while parser._match(TokenType.WHEN):
        whens.append(_when(parser))
    if not whens:
        parser.raise_error("unexpected token")
    read = exp.Merge(
        this=target,
        using=using,
        on=on,
        using_cond=names,
        whens=exp.Whens(expressions=whens),
        returning=parser._parse_returning(),
    )
    return parser.expression(read)


def _expect(parser: PostgresParser, *words: str) -> None:
    if not parser._match_text_seq(*words):
        parser.raise_error("unexpected token")


def _when(parser: PostgresParser) -> exp.Expr:
    is_matched = not parser._match(TokenType.NOT)
    _expect(parser, "MATCHED")
    by_source = False
    if not is_matched and parser._match_text_seq("BY"):
        by_source = bool(parser._match_text_seq("SOURCE"))
        if not by_source:
            _expect(parser, "TARGET")
    condition = parser._parse_disjunction() if parser._match(TokenType.AND) else None
    _expect(parser, "THEN")
    read = exp.When(matched=is_matched, source=by_source, condition=condition, then=_action(parser))
    return parser.expression(read)


def _action(parser: PostgresParser) -> exp.Expr:
    if parser._match(TokenType.UPDATE):
        return parser.expression(exp.Update(expressions=_assignments(parser)))
    if parser._match(TokenType.INSERT):
        return parser.expression(_inserted(parser))
    if parser._match(TokenType.DELETE):
        return exp.Var(this="DELETE")
    if parser._match_text_seq("DO", "NOTHING"):
        return exp.Var(this="DO NOTHING")
    _expect(parser, "ERROR")
    message: exp.Expr | None = exp.Literal.string("MERGE met a row that WHEN .. THEN ERROR refuses")
    if parser._curr and parser._curr.token_type not in _AFTER_ACTION:
        message = parser._parse_disjunction()
    return parser.expression(exp.Anonymous(this="error", expressions=[message]))


def _assignments(parser: PostgresParser) -> list[exp.Expr | None]:
    if parser._match_text_seq("BY", "NAME"):
        return [exp.Var(this="NAME")]
    if not parser._match(TokenType.SET) or parser._match(TokenType.STAR):
        return [exp.Star()]
    return parser._parse_csv(parser._parse_update_assignment)


def _inserted(parser: PostgresParser) -> exp.Insert:
    if parser._match_text_seq("DEFAULT", "VALUES"):
        return exp.Insert(default=True)
    if parser._match_text_seq("BY", "NAME"):
        parser._match(TokenType.STAR)
        return exp.Insert(by_name=True)
    if parser._match(TokenType.STAR):
        return exp.Insert()
    names = None
    if parser._match(TokenType.L_PAREN, advance=False):
        names = exp.Schema(expressions=parser._parse_wrapped_csv(parser._parse_id_var))
    if parser._match_text_seq("VALUES"):
        return exp.Insert(this=names, expression=parser._parse_value())
    if names is not None:
        parser.raise_error("unexpected token")
    return exp.Insert()
