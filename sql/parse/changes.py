"""Statements that change rows: INSERT, UPDATE, DELETE and COPY."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.sql import ast
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.query import query_of, select_columns
from raydb.sql.parse.reader import TokenReader, fold, parse_tree, syntax_error

if TYPE_CHECKING:
    from sqlglot import Token

# What may follow the assignments of an UPDATE or the rows of an INSERT.
_CLAUSES = (TokenType.WHERE, TokenType.FROM, TokenType.RETURNING)


def read_insert(reader: TokenReader) -> ast.Insert:
    """Read INSERT INTO, the word INSERT being read."""
    if reader.accept("OR") and not reader.accept_any("REPLACE", "IGNORE"):
        raise reader.error("REPLACE or IGNORE")
    reader.expect("INTO")
    return as_insert(_whole_tree(reader))


def as_insert(tree: exp.Expr) -> ast.Insert:
    """Return the INSERT that a tree is."""
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if tree.args.get("expression") is None and not tree.args.get("default"):
        raise ProgrammingError("INSERT needs VALUES, a query or DEFAULT VALUES")
    return ast.Insert(_target(table, "INSERT"), tree)


def read_update(reader: TokenReader) -> ast.Update:
    """Read UPDATE, that word being read."""
    return as_update(_whole_tree(reader))


def as_update(tree: exp.Expr) -> ast.Update:
    """Return the UPDATE that a tree is."""
    if not tree.expressions:
        raise ProgrammingError("UPDATE needs SET column = value")
    return ast.Update(_target(tree.this, "UPDATE"), tree)


def read_delete(reader: TokenReader) -> ast.Delete:
    """Read DELETE FROM, the word DELETE being read."""
    if not reader.at_any("FROM"):
        raise reader.error("'FROM'")
    return as_delete(_whole_tree(reader))


def as_delete(tree: exp.Expr) -> ast.Delete:
    """Return the DELETE that a tree is."""
    return ast.Delete(_target(tree.this, "DELETE"), tree)


def _whole_tree(reader: TokenReader) -> exp.Expr:
    """Return the tree of a statement whose first words have been read."""
    for token, after in pairwise(reader.rest()):
        # sqlglot takes a comma too many before the next clause.
        if token.token_type is TokenType.COMMA and after.token_type in _CLAUSES:
            raise syntax_error(reader.text, after)
    return parse_tree(reader.text, reader.all_tokens())


def _target(table: exp.Expr, statement: str) -> str:
    """Return the name of the table that a statement writes to."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise ProgrammingError(f"{statement} needs the name of a table")
    require_only(table, "this", "alias")
    return fold(table.this)


def read_copy(reader: TokenReader) -> ast.Copy | ast.CopyTo:
    """Read COPY, that word being read."""
    if reader.at_any("("):
        select = query_of(reader.text, reader.parenthesised())
        reader.expect("TO")
        return _copy_to(reader, select)
    table = reader.relation("the name of a table")
    columns = reader.names("the name of a column") if reader.at_any("(") else None
    if reader.accept("TO"):
        return _copy_to(reader, select_columns(table, columns))
    reader.expect("FROM")
    if reader.accept("STDIN"):
        raise NotSupportedError("COPY ... FROM STDIN is not supported")
    path = reader.string("the path of a file, in single quotes")
    reader.accept("WITH")
    return ast.Copy(table, columns, path, _copy_options(reader))


def _copy_to(reader: TokenReader, select: ast.Select) -> ast.CopyTo:
    if reader.accept("STDOUT"):
        raise NotSupportedError("COPY ... TO STDOUT is not supported")
    path = reader.string("the path of a file, in single quotes")
    reader.accept("WITH")
    return ast.CopyTo(select, path, _copy_options(reader))


def _copy_options(reader: TokenReader) -> dict[str, str | bool]:
    options: dict[str, str | bool] = {}

    def read_option() -> None:
        name = reader.name("the name of an option")
        if name in options:
            raise ProgrammingError(f"the option '{name}' of COPY is given twice")
        options[name] = True if reader.at_any(",", ")") else _option_value(reader.take())

    if reader.at_any("("):
        reader.listed(read_option)
    return options


def _option_value(token: Token) -> str | bool:
    if token.token_type is TokenType.STRING:
        return token.text
    word = token.text.lower()
    return {"true": True, "on": True, "false": False, "off": False}.get(word, word)
