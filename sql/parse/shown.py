"""SHOW and DESCRIBE in parentheses, where a query stands: (SHOW TABLES), (SHOW t), (DESC t)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from raydb.sql.parse.dialect import split_tokens
from raydb.sql.parse.rewritten_tokens import CLOSING, OPENING, at_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import Token

ALL_TABLES = """
    SELECT database_name AS database, schema_name AS schema, table_name AS name,
        list(column_name ORDER BY column_index) AS column_names,
        list(data_type ORDER BY column_index) AS column_types,
        database_name = 'temp' AS temporary
    FROM duckdb_columns() WHERE NOT internal GROUP BY ALL ORDER BY ALL"""
"""SHOW ALL TABLES: those of every database and schema, with their columns."""

SCHEMAS = """
    SELECT database_name, schema_name,
        database_name = current_database() AND schema_name = current_schema() AS "current"
    FROM duckdb_schemas() WHERE NOT internal ORDER BY ALL"""
"""SHOW SCHEMAS: those of every database."""

_TABLES = "SELECT DISTINCT table_name AS name FROM information_schema.tables WHERE {} ORDER BY name"
# As SHOW TABLES: those that no schema is needed for.
_OWN_TABLES = _TABLES.format(
    "table_catalog = current_database() AND table_schema IN (current_schema(), 'main')"
    " OR table_catalog = 'temp'"
)
_TABLES_FROM = (
    f"({_TABLES}) UNION ALL SELECT error({{}})"  # noqa: S608  (of a constant)
    " FROM information_schema.schemata WHERE {} HAVING count(*) = 0"
)
_DATABASES = (
    "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY database_name"
)
_QUERIES = {
    ("TABLES",): _OWN_TABLES,
    ("ALL", "TABLES"): ALL_TABLES,
    ("DATABASES",): _DATABASES,
    ("SCHEMAS",): SCHEMAS,
}

_BEFORE = (TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.ALIAS)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
_QUOTED = (TokenType.IDENTIFIER, TokenType.STRING)
_QUERY = (TokenType.SELECT, TokenType.FROM, TokenType.WITH, TokenType.VALUES)
_SHOWING = ("SHOW", "DESC", "DESCRIBE", "SUMMARIZE")


def shown_queries(tokens: list[Token]) -> list[Token]:
    """Return tokens in which (SHOW ...) is a query of the catalog or (DESCRIBE ...)."""
    prepared: list[Token] = []
    place = 0
    while place < len(tokens):
        stop = _end(tokens, place)
        if not stop:
            prepared.append(tokens[place])
            place += 1
            continue
        opening, word, *inner, closing = tokens[place:stop]
        query = _query(word, inner)
        if tokens[place - 1].token_type is TokenType.ALIAS:  # WITH t AS (DESCRIBE ...)
            query = [at_token(word, TokenType.FROM, "FROM"), opening, *query, closing]
        prepared += [opening, *query, closing]
        place = stop
    return prepared


def _end(tokens: Sequence[Token], place: int) -> int:
    """Return where `(SHOW ...)` at a place ends, 0 where there is none.

    `CREATE TABLE t (show INTEGER)` and `(show + 1)` are other things.
    """
    if (
        tokens[place].token_type is not TokenType.L_PAREN
        or not place
        or tokens[place - 1].token_type not in _BEFORE
        or len(tokens) < place + 4
        or tokens[place + 1].text.upper() not in _SHOWING
        or tokens[place + 1].token_type in _QUOTED
    ):
        return 0
    depth, stop = 1, place + 1
    while stop < len(tokens) and depth:
        kind = tokens[stop].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        stop += 1
    inner = tokens[place + 2 : stop - 1]
    if depth or not inner:
        return 0
    if inner[0].token_type in _QUERY or _key(inner) in _QUERIES:
        return stop
    if len(inner) > 2 and _key(inner[:2]) in (("TABLES", "FROM"), ("TABLES", "IN")):
        inner = inner[2:]
    dots = inner[1::2]
    are_dots = all(each.token_type is TokenType.DOT for each in dots)
    are_names = all(each.token_type in _NAMES for each in inner[::2])
    return stop if are_names and are_dots and len(inner) % 2 else 0


def _key(inner: Sequence[Token]) -> tuple[str, ...]:
    """Return the words of tokens; quoted names and strings are none."""
    return tuple("" if each.token_type in _QUOTED else each.text.upper() for each in inner)


def _query(word: Token, inner: list[Token]) -> list[Token]:
    """Return what stands in the parentheses: a query of the catalog, or DESCRIBE."""
    shown = word.text.upper()
    if shown == "SHOW" and (text := _text(inner)) is not None:
        return [at_token(word, each.token_type, each.text) for each in split_tokens(text)]
    if shown in ("SHOW", "DESC"):
        return [at_token(word, TokenType.DESCRIBE, "DESCRIBE"), *inner]
    if inner[0].token_type is TokenType.STRING:  # SUMMARIZE 'a.csv'
        return [word, at_token(word, TokenType.FROM, "FROM"), *inner]
    return [word, *inner]


def _text(inner: Sequence[Token]) -> str | None:
    """Return the query that tells what SHOW names, None for a table or a query."""
    key = _key(inner)
    if key[:2] not in (("TABLES", "FROM"), ("TABLES", "IN")):
        return _QUERIES.get(key)
    names = ", ".join(exp.Literal.string(each.text.lower()).sql() for each in inner[2::2])
    operator = "=" if len(inner) > 3 else "IN"
    there = f"({names}) {operator} (lower(table_catalog), lower(table_schema))"
    known = f"({names}) {operator} (lower(catalog_name), lower(schema_name))"
    written = ".".join(each.text for each in inner[2::2])
    unknown = exp.Literal.string(f"schema '{written}' does not exist").sql()
    return _TABLES_FROM.format(there, unknown, known)
