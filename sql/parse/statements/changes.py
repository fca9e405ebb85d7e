"""Statements that change rows: INSERT, UPDATE, DELETE and COPY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.sql import ast
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.options import SWITCH
from raydb.sql.parse.query import as_query, qualifiers_of, query_of, select_columns
from raydb.sql.parse.reader import TokenReader, name_in, parse_tree, syntax_error
from raydb.sql.parse.statements.with_changes import split_changes
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import Token

# What may follow the assignments of an UPDATE or the rows of an INSERT.
_CLAUSES = (TokenType.WHERE, TokenType.FROM, TokenType.RETURNING)


def read_insert(reader: TokenReader) -> ast.Statement:
    """Read INSERT INTO, the word INSERT being read."""
    if reader.accept("OR") and not reader.accept_any("REPLACE", "IGNORE"):
        raise reader.error("REPLACE or IGNORE")
    reader.expect("INTO")
    return read_change(reader)


def read_delete(reader: TokenReader) -> ast.Statement:
    """Read DELETE FROM, the word DELETE being read."""
    if not reader.at_any("FROM"):
        raise reader.error("'FROM'")
    return read_change(reader)


def read_change(reader: TokenReader) -> ast.Statement:
    """Read an INSERT, UPDATE, DELETE or MERGE whose first words have been read."""
    rest = reader.rest()
    for before, token, after in zip(rest, rest[1:], rest[2:], strict=False):
        # sqlglot takes a comma too many before the next clause, and VALUE for VALUES.
        is_comma = before.token_type is TokenType.COMMA and token.token_type in _CLAUSES
        if is_comma or (
            after.token_type is TokenType.L_PAREN
            and before.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN)
            and token.text.upper() == "VALUE"
        ):
            raise syntax_error(reader.text, token)
    tokens, overrides = _without_overriding(reader.all_tokens())
    tree = parse_tree(reader.text, tokens)
    statement = as_query_or_change(tree)
    match statement:
        case ast.Insert() if overrides:
            return replace(statement, overrides=True)
        case ast.InPlace(statement=ast.Insert() as insert) if overrides:
            return replace(statement, statement=replace(insert, overrides=True))
        case _:
            return statement


def _without_overriding(tokens: tuple[Token, ...]) -> tuple[tuple[Token, ...], bool]:
    """Return the tokens of a statement and whether it says OVERRIDING SYSTEM VALUE, left out."""
    words = [token.text.upper() for token in tokens]
    for place in range(2, len(words) - 3):
        if words[place : place + 3] == ["OVERRIDING", "SYSTEM", "VALUE"]:
            return (*tokens[:place], *tokens[place + 3 :]), True
    return tokens, False


def as_query_or_change(tree: exp.Expr) -> ast.Asked:
    """Return the INSERT, UPDATE, DELETE, MERGE or query that a tree is, or the parts of a WITH."""
    parts = split_changes(tree, as_query_or_change)
    if parts is not None:
        return parts
    match tree:
        case exp.Insert():
            table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
            if tree.args.get("expression") is None and not tree.args.get("default"):
                raise ProgrammingError("INSERT needs VALUES, a query or DEFAULT VALUES")
            return _written(table, "INSERT", lambda name: ast.Insert(name, tree))
        case exp.Update():
            if not tree.expressions:
                raise ProgrammingError("UPDATE needs SET column = value")
            return _written(tree.this, "UPDATE", lambda name: ast.Update(name, tree))
        case exp.Delete():
            return _written(tree.this, "DELETE", lambda name: ast.Delete(name, tree))
        case exp.Merge():
            return _written(tree.this, "MERGE", lambda name: ast.Merge(name, tree))
        case _:
            return as_query(tree)


def _written(
    table: exp.Expr, statement: str, make: Callable[[str], ast.Dml]
) -> ast.Dml | ast.InPlace:
    """Return the statement that writes to a table, whose name is left without its database."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise ProgrammingError(f"{statement} needs the name of a table")
    require_only(table, "this", "alias", "catalog", "db")
    place = qualifiers_of(table)
    table.set("catalog", None)
    table.set("db", None)
    made = make(name_in(table.this))
    return ast.InPlace(place, made) if place else made


_OLD_OPTIONS = ("DELIMITER", "NULL", "QUOTE", "ESCAPE", "ENCODING")


def read_copy(reader: TokenReader) -> ast.Copy | ast.CopyTo | ast.CopyDatabase:
    """Read COPY, that word being read."""
    if reader.at_any("("):
        select = query_of(reader.text, reader.parenthesised())
        reader.expect("TO")
        return ast.CopyTo(select, *_file_and_options(reader, "TO STDOUT"))
    if reader.accept("FROM", "DATABASE"):
        source = reader.name("the name of a database")
        reader.expect("TO")
        return ast.CopyDatabase(source, reader.name("the name of a database"))
    table = reader.relation("the name of a table")
    columns = reader.names("the name of a column") if reader.at_any("(") else None
    if reader.accept("TO"):
        select = select_columns(table, columns, reader.place)
        return ast.CopyTo(select, *_file_and_options(reader, "TO STDOUT"))
    reader.expect("FROM")
    return ast.Copy(table, columns, *_file_and_options(reader, "FROM STDIN"))


def _file_and_options(reader: TokenReader, stream: str) -> tuple[str, dict[str, ast.CopyOption]]:
    """Read `'path' [[WITH] (option [value], ...)]`; a stream in place of the path is an error.

    Without parentheses the options are those of PostgreSQL before version 9: `WITH CSV HEADER`.
    """
    if reader.accept(stream.split()[1]):
        raise NotSupportedError(f"COPY ... {stream} is not supported")
    path = reader.string("the path of a file, in single quotes")
    reader.accept("WITH")
    options: dict[str, ast.CopyOption] = {}

    def add(name: str, value: ast.CopyOption) -> None:
        if name in options:
            raise ProgrammingError(f"the option '{name}' of COPY is given twice")
        options[name] = value

    def read_option() -> None:
        name = reader.word("the name of an option")
        if name in {"partition_by", "by_reference"}:
            add(name, _columns(reader))
        else:
            add(name, True if reader.at_any(",", ")") else _option_value(reader))

    if reader.at_any("("):
        reader.listed(read_option)
        return path, options
    while (word := reader.accept_any("CSV", "HEADER", *_OLD_OPTIONS)) is not None:
        if word in _OLD_OPTIONS:
            reader.accept("AS")
            add(word.lower(), reader.string(f"the value of {word}, in single quotes"))
        else:
            add(*(("format", "csv") if word == "CSV" else ("header", True)))
    return path, options


def _columns(reader: TokenReader) -> tuple[str, ...]:
    """Read `name`, `(name, ...)` or `('name', ...)`."""

    def name() -> str:
        token = reader.peek()
        if token is not None and token.token_type is TokenType.STRING:
            return reader.string("the name of a column")
        return reader.name("the name of a column")

    return reader.listed(name) if reader.at_any("(") else (name(),)


def _option_value(reader: TokenReader) -> ast.CopyOption:
    """Read the value of an option: a word, a number, a string, or a list of strings."""
    if reader.accept("["):
        texts = reader.separated(lambda: reader.string("a text, in single quotes"))
        reader.expect("]")
        return texts
    if reader.at_any("("):
        return reader.listed(lambda: reader.string("a text, in single quotes"))
    token = reader.take()
    if token.token_type is TokenType.STRING:
        return token.text
    word = token.text.lower()
    return SWITCH.get(word, word)
