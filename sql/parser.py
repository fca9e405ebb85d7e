"""Text to statements. Queries and CREATE TABLE are read by sqlglot, the small statements here."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.sql.files import files_of
from raydb.sql.nodes import refuse_deep_nesting, require_only
from raydb.sql.reader import TokenReader, fold, parse_tree, syntax_error, tokenize
from raydb.sql.statements import (
    Begin,
    Checkpoint,
    Commit,
    Copy,
    CopyTo,
    CreateBvh,
    CreateTable,
    CreateView,
    Delete,
    DropBvh,
    DropTable,
    DropView,
    Explain,
    Insert,
    Rollback,
    Select,
    SetOption,
    Statement,
    Update,
    Vacuum,
)
from raydb.sql.table_definition import table_definition

if TYPE_CHECKING:
    from sqlglot import Token

_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
# Statements of other databases, so that they are told from a misspelt word.
_UNSUPPORTED = (
    "ABORT ALTER ANALYZE ATTACH CALL CLOSE CLUSTER COMMENT DEALLOCATE DECLARE"
    " DESC DESCRIBE DETACH DO EXECUTE EXPORT FETCH GRANT IMPORT INSTALL KILL LISTEN LOAD LOCK MERGE"
    " NOTIFY PIVOT PRAGMA PREPARE REFRESH REINDEX RELEASE REPLACE RESET REVOKE SAVEPOINT SHOW"
    " SUMMARIZE TRUNCATE UNPIVOT USE"
)
# What may follow the assignments of an UPDATE.
_CLAUSES = (TokenType.WHERE, TokenType.FROM, TokenType.RETURNING)
_PARTS = ("SCAN", "GROUP BY", "AGGREGATE")


def parse(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text, separated by ';'.

    Raises ProgrammingError with the line, the column and the word for a syntax error and for a
    text without a statement, and NotSupportedError for statements that RayDB does not have.

    >>> parse("BEGIN; SET backend = 'cpu'")
    (Begin(), SetOption(name='backend', value='cpu'))
    """
    statements = tokenize(text)
    if not statements:
        raise ProgrammingError("there is no statement to run")
    with refuse_deep_nesting():
        return tuple(_parse_statement(text, tokens) for tokens in statements)


def _parse_statement(text: str, tokens: tuple[Token, ...]) -> Statement:
    reader = TokenReader(text, tokens)
    if reader.at_any(*_QUERY_WORDS):
        return _query(reader)
    for word, read in _STATEMENTS.items():
        if reader.accept(word):
            statement = read(reader)
            reader.finish()
            return statement
    word = tokens[0].text.upper()
    if reader.at_any(*_UNSUPPORTED.split()):
        raise NotSupportedError(f"{word} is not supported")
    raise ProgrammingError(str(reader.error()) + did_you_mean(word, ("SELECT", *_STATEMENTS)))


def _query(reader: TokenReader) -> Select:
    tree = parse_tree(reader.text, reader.rest())
    if not isinstance(tree, exp.Query | exp.Values):
        raise NotSupportedError(f"{tree.key.upper()} after WITH is not supported")
    return Select(tree)


def _explain(reader: TokenReader) -> Explain:
    if reader.accept("ANALYZE"):
        raise NotSupportedError("EXPLAIN ANALYZE is not supported")
    written = "TEXT"
    if reader.accept("(", "FORMAT"):
        written = reader.take().text.upper()
        if written not in ("TEXT", "JSON"):
            raise ProgrammingError(f"EXPLAIN has the formats TEXT and JSON, not {written}")
        reader.expect(")")
    if not reader.at_any(*_QUERY_WORDS) and reader.peek() is not None:
        raise NotSupportedError(f"EXPLAIN {reader.take().text.upper()} is not supported")
    return Explain(_query(reader), "json" if written == "JSON" else "text")


def _create(reader: TokenReader) -> Statement:
    replace = reader.accept("OR", "REPLACE")
    kind = reader.take().text.upper()
    match kind:
        case "TABLE" if not replace:
            return _create_table(reader)
        case "VIEW":
            return _create_view(reader, replace)
        case "BVH" if not replace:
            return _create_bvh(reader)
        case _:
            raise NotSupportedError(
                f"CREATE {'OR REPLACE ' if replace else ''}{kind} is not supported"
            )


def _create_table(reader: TokenReader) -> CreateTable:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    name = reader.name("the name of a table")
    if reader.accept("AS"):
        raise NotSupportedError("CREATE TABLE ... AS is not supported")
    if reader.accept("."):
        raise NotSupportedError("a name qualified by a schema is not supported")
    if not reader.at_any("("):
        raise reader.error("'('")
    reader.rest()
    tree = parse_tree(reader.text, reader.all_tokens())
    return CreateTable(table_definition(name, tree), if_not_exists)


def _create_view(reader: TokenReader, replace: bool) -> CreateView:
    name = reader.name("the name of a view")
    if reader.accept("("):
        raise NotSupportedError("a list of columns in CREATE VIEW is not supported")
    reader.expect("AS")
    if not reader.at_any(*_QUERY_WORDS):
        raise reader.error("SELECT")
    tokens = reader.rest()
    select = _query(TokenReader(reader.text, tokens))
    if files_of(select):
        raise NotSupportedError(f"the view '{name}' can't read a file; copy it into a table first")
    if select.tree.find(exp.Parameter, exp.Placeholder) is not None:
        raise ProgrammingError(f"the view '{name}' can't have parameters")
    return CreateView(name, reader.text[tokens[0].start : tokens[-1].end + 1], replace)


def _create_bvh(reader: TokenReader) -> CreateBvh:
    name = reader.name("the name of a BVH")
    reader.expect("ON")
    table = reader.name("the name of a table")
    reader.expect("(")
    parts: dict[str, tuple[exp.Expr, ...]] = {}
    while True:
        part = reader.accept_any(*_PARTS)
        if part is None:
            raise reader.error("SCAN, GROUP BY or AGGREGATE")
        if part in parts:
            raise ProgrammingError(f"the BVH '{name}' has {part} twice")
        parts[part] = reader.scalars()
        if not reader.accept(","):
            break
    reader.expect(")")
    scan, group_by, aggregate = (parts.get(part, ()) for part in _PARTS)
    tokens = reader.all_tokens()
    text = reader.text[tokens[0].start : tokens[-1].end + 1]
    return CreateBvh(name, table, scan, group_by, aggregate, text)


def _drop(reader: TokenReader) -> Statement:
    kind = reader.take().text.upper()
    if kind not in ("TABLE", "VIEW", "BVH"):
        raise NotSupportedError(f"DROP {kind} is not supported")
    if_exists = reader.accept("IF", "EXISTS")
    name = reader.name(f"the name of a {kind if kind == 'BVH' else kind.lower()}")
    if reader.accept(","):
        raise NotSupportedError(f"DROP {kind} of several names is not supported")
    if option := reader.accept_any("CASCADE", "RESTRICT"):
        raise NotSupportedError(f"DROP {kind} ... {option} is not supported")
    match kind:
        case "TABLE":
            return DropTable(name, if_exists)
        case "VIEW":
            return DropView(name, if_exists)
        case _:
            return DropBvh(name, if_exists)


def _insert(reader: TokenReader) -> Insert:
    if word := reader.accept_any("OR", "OVERWRITE"):
        raise NotSupportedError(f"INSERT {word} is not supported")
    reader.expect("INTO")
    table = reader.name("the name of a table")
    columns = reader.names("the name of a column") if reader.at_any("(") else None
    if reader.accept("DEFAULT", "VALUES"):
        raise NotSupportedError("DEFAULT VALUES is not supported")
    if not reader.at_any(*_QUERY_WORDS):
        raise reader.error("VALUES or SELECT")
    tokens = reader.rest()
    for token, after in zip(tokens, (*tokens[1:], None), strict=True):
        word = "" if token.token_type is TokenType.IDENTIFIER else token.text.upper()
        if word == "RETURNING":
            raise NotSupportedError("RETURNING is not supported")
        if word == "ON" and after is not None and after.text.upper() == "CONFLICT":
            raise NotSupportedError("ON CONFLICT is not supported")
    return Insert(table, columns, _query(TokenReader(reader.text, tokens)))


def _update(reader: TokenReader) -> Update:
    tree = _whole_tree(reader)
    if not tree.expressions:
        raise ProgrammingError("UPDATE needs SET column = value")
    return Update(_target(tree, "UPDATE"), tree)


def _delete(reader: TokenReader) -> Delete:
    if not reader.at_any("FROM"):
        raise reader.error("'FROM'")
    tree = _whole_tree(reader)
    return Delete(_target(tree, "DELETE"), tree)


def _whole_tree(reader: TokenReader) -> exp.Expr:
    """Return the tree of a statement whose first word has been read."""
    tokens = reader.rest()
    for token, after in pairwise(tokens):
        # sqlglot takes a comma too many before the next clause.
        if token.token_type is TokenType.COMMA and after.token_type in _CLAUSES:
            raise syntax_error(reader.text, after)
    return parse_tree(reader.text, reader.all_tokens())


def _target(tree: exp.Expr, statement: str) -> str:
    """Return the name of the table that an UPDATE or DELETE writes to."""
    table = tree.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise ProgrammingError(f"{statement} needs the name of a table")
    require_only(table, "this", "alias")
    return fold(table.this)


def _copy(reader: TokenReader) -> Copy | CopyTo:
    if reader.at_any("("):
        query = TokenReader(reader.text, reader.parenthesised())
        if not query.at_any(*_QUERY_WORDS):
            raise query.error("SELECT")
        reader.expect("TO")
        return _copy_to(reader, _query(query))
    table = reader.name("the name of a table")
    columns = reader.names("the name of a column") if reader.at_any("(") else None
    if reader.accept("TO"):
        return _copy_to(reader, _select_columns(table, columns))
    reader.expect("FROM")
    if reader.accept("STDIN"):
        raise NotSupportedError("COPY ... FROM STDIN is not supported")
    path = reader.string("the path of a file, in single quotes")
    reader.accept("WITH")
    return Copy(table, columns, path, _copy_options(reader))


def _copy_to(reader: TokenReader, select: Select) -> CopyTo:
    if reader.accept("STDOUT"):
        raise NotSupportedError("COPY ... TO STDOUT is not supported")
    path = reader.string("the path of a file, in single quotes")
    reader.accept("WITH")
    return CopyTo(select, path, _copy_options(reader))


def _select_columns(table: str, columns: tuple[str, ...] | None) -> Select:
    """Return `SELECT columns FROM table`; the names are as the reader has folded them."""
    items = [exp.column(exp.to_identifier(name, quoted=True)) for name in columns or ()]
    source = exp.From(this=exp.Table(this=exp.to_identifier(table, quoted=True)))
    return Select(exp.Select(expressions=items or [exp.Star()], from_=source))


def _copy_options(reader: TokenReader) -> dict[str, str | bool]:
    options: dict[str, str | bool] = {}
    if not reader.accept("("):
        return options
    while True:
        name = reader.name("the name of an option")
        if name in options:
            raise ProgrammingError(f"the option '{name}' of COPY is given twice")
        options[name] = True if reader.at_any(",", ")") else _option_value(reader.take())
        if not reader.accept(","):
            break
    reader.expect(")")
    return options


def _option_value(token: Token) -> str | bool:
    if token.token_type is TokenType.STRING:
        return token.text
    word = token.text.lower()
    return {"true": True, "on": True, "false": False, "off": False}.get(word, word)


def _set(reader: TokenReader) -> SetOption:
    if scope := reader.accept_any("SESSION", "LOCAL", "GLOBAL"):
        raise NotSupportedError(f"SET {scope} is not supported")
    name = reader.name("the name of a setting")
    if not reader.accept("="):
        reader.expect("TO")
    sign = "-" if reader.accept("-") else ""
    token = reader.take()
    kind = token.token_type
    if kind in (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER):
        return SetOption(name, sign + token.text)
    if sign or not token.text.isidentifier():
        raise ProgrammingError(f"the setting '{name}' needs a value: a word, a number or a string")
    return SetOption(name, token.text.lower())


def _begin(reader: TokenReader) -> Begin:
    reader.accept_any("TRANSACTION", "WORK")
    return Begin()


def _start(reader: TokenReader) -> Begin:
    reader.expect("TRANSACTION")
    return Begin()


def _commit(reader: TokenReader) -> Commit:
    reader.accept_any("TRANSACTION", "WORK")
    return Commit()


def _rollback(reader: TokenReader) -> Rollback:
    reader.accept_any("TRANSACTION", "WORK")
    if reader.accept("TO"):
        raise NotSupportedError("ROLLBACK TO is not supported")
    return Rollback()


def _checkpoint(_: TokenReader) -> Checkpoint:
    return Checkpoint()


def _vacuum(reader: TokenReader) -> Vacuum:
    if reader.peek() is not None:
        raise NotSupportedError("VACUUM of one table, or with an option, is not supported")
    return Vacuum()


_STATEMENTS = {
    "EXPLAIN": _explain,
    "CREATE": _create,
    "DROP": _drop,
    "INSERT": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
    "COPY": _copy,
    "SET": _set,
    "BEGIN": _begin,
    "START": _start,
    "COMMIT": _commit,
    "ROLLBACK": _rollback,
    "CHECKPOINT": _checkpoint,
    "VACUUM": _vacuum,
}
