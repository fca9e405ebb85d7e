"""Text to statements: sqlglot reads queries and definitions, the small statements are read here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from sqlglot import TokenType, exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.sql import ast
from raydb.sql.parse import shown
from raydb.sql.parse.nodes import refuse_deep_nesting
from raydb.sql.parse.query import (
    QUERY_WORDS,
    describe_table,
    query_of,
    read_query,
    select_columns,
    summary_of,
)
from raydb.sql.parse.reader import TokenReader, parse_tree, tokenize, word_of
from raydb.sql.parse.rewritten_tokens import at_token
from raydb.sql.parse.statements.calibrate import read_calibrate
from raydb.sql.parse.statements.changes import (
    as_query_or_change,
    read_change,
    read_copy,
    read_delete,
    read_insert,
)
from raydb.sql.parse.statements.databases import (
    read_attach,
    read_detach,
    read_export,
    read_import,
    read_place,
    read_pragma,
    read_use,
    read_value,
)
from raydb.sql.parse.statements.definitions import (
    read_alter,
    read_comment,
    read_create,
    read_drop,
    read_reindex,
    read_truncate,
)
from raydb.sql.types import data_type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from sqlglot import Token

# Statements of other databases, so that they are told from a misspelt word.
_UNSUPPORTED = "CLOSE CLUSTER DECLARE DO FETCH GRANT KILL LISTEN LOCK NOTIFY REFRESH REVOKE"

# Those of DuckDB whose work RayDB does.
_EXTENSIONS = (
    "autocomplete core_functions excel fts httpfs icu json parquet sqlite sqlite_scanner vss"
)

# What changes rows, beside a query that does so behind WITH.
_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE")


def parse(text: str) -> tuple[ast.Statement, ...]:
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


def each_statement(text: str) -> Iterator[ast.Statement]:
    """Return the statements of a text, each read when it is asked for; errors as in `parse`."""
    return (_parse_one(text, tokens) for tokens in tokenize(text))


def _parse_one(text: str, tokens: tuple[Token, ...]) -> ast.Statement:
    with refuse_deep_nesting():
        return _parse_statement(text, tokens)


def _parse_statement(text: str, tokens: tuple[Token, ...]) -> ast.Statement:
    reader = TokenReader(text, tokens)
    if reader.at_any(*QUERY_WORDS):
        return as_query_or_change(parse_tree(reader.text, reader.rest()))
    read = _STATEMENTS.get(word_of(tokens[0]))
    if read is not None:
        reader.take()
        statement = read(reader)
        reader.finish()
        if reader.place and isinstance(statement, ast.Definition | ast.Write):
            return ast.InPlace(reader.place, statement)
        return statement
    word = tokens[0].text.upper()
    if reader.at_any(*_UNSUPPORTED.split()):
        raise NotSupportedError(f"{word} is not supported")
    raise ProgrammingError(str(reader.error()) + did_you_mean(word, ("SELECT", *_STATEMENTS)))


_Format = Literal["text", "json", "html"]
_FORMATS: tuple[_Format, ...] = get_args(_Format)


def _explain(reader: TokenReader) -> ast.Explain:
    analyze = reader.accept("ANALYZE")
    written: _Format = "text"
    if reader.accept("(", "ANALYZE"):
        analyze = True
        if not reader.accept(","):
            reader.expect(")")
        else:
            reader.expect("FORMAT")
            written = _explain_format(reader)
    elif reader.accept("(", "FORMAT"):
        written = _explain_format(reader)
    if reader.peek() is None:
        raise reader.error("a query, INSERT, UPDATE, DELETE or EXECUTE")
    _refuse_others(reader, "EXPLAIN", *QUERY_WORDS, *_CHANGES, "EXECUTE")
    statement = _parse_statement(reader.text, reader.rest())
    if isinstance(statement, ast.WithChanges):
        raise NotSupportedError("EXPLAIN of a statement whose WITH changes rows is not supported")
    assert isinstance(
        statement,
        ast.Select | ast.Dml | ast.Execute | ast.InPlace,
    ), statement
    return ast.Explain(statement, written, analyze)


def _refuse_others(reader: TokenReader, what: str, *words: str) -> None:
    """Raise NotSupportedError for a statement that begins with none of the words."""
    is_known = reader.at_any(*_STATEMENTS, *_UNSUPPORTED.split())
    if is_known and not reader.at_any(*words):
        raise NotSupportedError(f"{what} {reader.take().text.upper()} is not supported")


def _explain_format(reader: TokenReader) -> _Format:
    written = reader.take().text.upper()
    chosen = next((each for each in _FORMATS if each.upper() == written), None)
    if chosen is None:
        raise ProgrammingError(f"EXPLAIN has the formats TEXT, JSON and HTML, not {written}")
    reader.expect(")")
    return chosen


def _describe(reader: TokenReader) -> ast.Describe | ast.Select:
    if reader.peek() is None:
        return _catalog_query(shown.ALL_TABLES)
    if reader.at_any(*QUERY_WORDS):
        return ast.Describe(None, read_query(reader))
    if (file := _rows_of_file(reader)) is not None:
        return ast.Describe(None, file)
    table = reader.relation("the name of a table")
    return describe_table(table, reader.place)


def _rows_of_file(reader: TokenReader) -> ast.Select | None:
    """Read 'a.csv' as FROM 'a.csv', if a string comes next."""
    token = reader.peek()
    if token is None or token.token_type is not TokenType.STRING:
        return None
    tokens = (at_token(token, TokenType.FROM, "FROM"), reader.take())
    return query_of(reader.text, tokens)


def _analyze(reader: TokenReader) -> ast.Analyze:
    """Read ANALYZE; columns behind the table are PostgreSQL's."""
    reader.accept("VERBOSE")
    if reader.peek() is None:
        return ast.Analyze()
    table = reader.relation("the name of a table")
    columns = reader.names("the name of a column") if reader.at_any("(") else None
    return ast.Analyze(
        ast.Describe(None, select_columns(table, columns, reader.place), reader.place)
    )


def _summarize(reader: TokenReader) -> ast.Select:
    if reader.at_any(*QUERY_WORDS):
        return summary_of(read_query(reader))
    if (file := _rows_of_file(reader)) is not None:
        return summary_of(file)
    table = reader.relation("the name of a table")
    return summary_of(select_columns(table, None, reader.place))


def _catalog_query(text: str) -> ast.Select:
    (tokens,) = tokenize(text)
    return query_of(text, tokens)


def _show(reader: TokenReader) -> ast.Catalog | ast.Select:
    if reader.peek() is None:
        return _catalog_query(shown.ALL_TABLES)
    if reader.at_any(*QUERY_WORDS):
        return _describe(reader)
    if (file := _rows_of_file(reader)) is not None:
        return ast.Describe(None, file)
    if reader.accept("TABLES"):
        if not reader.accept_any("FROM", "IN"):
            return ast.ShowTables()
        return ast.ShowTables(reader.place_named())
    if reader.accept("DATABASES"):
        return ast.ShowDatabases()
    if reader.accept("ALL", "TABLES"):
        return _catalog_query(shown.ALL_TABLES)
    if reader.accept("SCHEMAS"):
        return _catalog_query(shown.SCHEMAS)
    if reader.at_any("ALL"):
        raise NotSupportedError("SHOW ALL is not supported; SHOW ALL TABLES lists the tables")
    if reader.accept("TRANSACTION", "ISOLATION", "LEVEL"):
        return ast.ShowOption("transaction_isolation")
    name = reader.relation("TABLES or the name of a setting or a table")
    return describe_table(name, reader.place) if reader.place else ast.ShowOption(fold(name))


def _setting(reader: TokenReader) -> str:
    """Read the name of a setting; those of PostgreSQL's extensions have two parts."""
    name = reader.word("the name of a setting")
    return f"{name}.{reader.word('the rest of a name')}" if reader.accept(".") else name


def _set(reader: TokenReader) -> ast.SetOption | ast.SetVariable | ast.Use:
    if reader.accept("VARIABLE"):
        name = fold(reader.name("the name of a variable"))
        if not reader.accept("="):
            reader.expect("TO")
        return ast.SetVariable(name, ast.Select(exp.Select(expressions=[reader.scalar()])))
    if scope := reader.accept_any("LOCAL", "GLOBAL"):
        raise NotSupportedError(f"SET {scope} is not supported")
    reader.accept("SESSION")
    if reader.accept("TIME", "ZONE"):
        name = "timezone"
    else:
        name = _setting(reader)
        if not reader.accept("="):
            reader.expect("TO")
        if name in ("schema", "search_path"):
            return ast.Use(read_place(reader))
    return ast.SetOption(name, read_value(reader, name))


def _reset(reader: TokenReader) -> ast.ResetOption | ast.SetVariable:
    if reader.accept("VARIABLE"):
        return ast.SetVariable(fold(reader.name("the name of a variable")), None)
    if reader.at_any("ALL"):
        raise NotSupportedError("RESET ALL is not supported; name a setting")
    return ast.ResetOption(_setting(reader))


def _start(reader: TokenReader) -> ast.Begin:
    reader.expect("TRANSACTION")
    return _begin(reader)


def _begin(reader: TokenReader) -> ast.Begin:
    """Read what follows BEGIN or START TRANSACTION."""
    reader.accept_any("TRANSACTION", "WORK")
    if not reader.accept("READ"):
        return ast.Begin()
    word = reader.accept_any("ONLY", "WRITE")
    if word is None:
        raise reader.error("ONLY or WRITE")
    return ast.Begin(word == "ONLY")


def _transaction(statement: ast.Control, reader: TokenReader) -> ast.Control:
    reader.accept_any("TRANSACTION", "WORK")
    return statement


def _rollback(reader: TokenReader) -> ast.Control:
    reader.accept_any("TRANSACTION", "WORK")
    if not reader.accept("TO"):
        return ast.Rollback()
    reader.accept("SAVEPOINT")
    return ast.RollbackTo(reader.word("the name of a savepoint"))


def _savepoint(reader: TokenReader) -> ast.Savepoint:
    return ast.Savepoint(reader.word("the name of a savepoint"))


def _release(reader: TokenReader) -> ast.Release:
    reader.accept("SAVEPOINT")
    return ast.Release(reader.word("the name of a savepoint"))


def _prepare(reader: TokenReader) -> ast.Prepare:
    """Read PREPARE; the statement is parsed for its errors, and kept as text."""
    name = str(reader.name("the name of the statement"))
    types: tuple[pa.DataType, ...] = ()
    if reader.at_any("("):
        types = reader.listed(lambda: data_type_of(reader.data_type()))
    reader.expect("AS")
    _refuse_others(reader, "PREPARE of", *QUERY_WORDS, *_CHANGES)
    tokens = reader.rest()
    _parse_statement(reader.text, tokens)
    return ast.Prepare(name, types, reader.text[tokens[0].start : tokens[-1].end + 1])


def _execute(reader: TokenReader) -> ast.Execute:
    name = reader.name("the name of a prepared statement")
    if not reader.at_any("(") or reader.accept("(", ")"):
        return ast.Execute(name, ())
    arguments = reader.listed(reader.named_scalar)
    names = [fold(each) for each, _ in arguments if each is not None]
    if names and len(names) < len(arguments):
        raise ProgrammingError("the values of EXECUTE all have a name, or none has")
    twice = next((each for place, each in enumerate(names) if each in names[:place]), None)
    if twice is not None:
        raise ProgrammingError(f"parameter '{twice}' is given twice")
    return ast.Execute(name, arguments)


def _deallocate(reader: TokenReader) -> ast.Deallocate:
    reader.accept("PREPARE")
    if reader.accept("ALL"):
        return ast.Deallocate(None)
    return ast.Deallocate(reader.name("the name of a prepared statement"))


def _call(reader: TokenReader) -> ast.Select:
    """Read CALL f(x), which is FROM f(x)."""
    called = reader.scalar()
    if not isinstance(called, exp.Anonymous):
        raise ProgrammingError("CALL needs a table function, as in CALL pragma_table_info('t')")
    source = exp.From(this=exp.Table(this=called))
    return ast.Select(exp.Select(expressions=[exp.Star()], from_=source))


def _extension(reader: TokenReader) -> ast.Analyze:
    """Read INSTALL or LOAD of an extension of DuckDB, whose work RayDB does without one."""
    at = reader.peek()
    name = reader.take().text if at and at.token_type is TokenType.STRING else reader.name("a name")
    if reader.accept("FROM"):
        reader.take()
    if name.lower() not in _EXTENSIONS.split():
        raise NotSupportedError(f"RayDB has no extensions, and nothing of '{name}'")
    return ast.Analyze()


def _force_checkpoint(reader: TokenReader) -> ast.Checkpoint:
    """Read FORCE CHECKPOINT, as DuckDB has it: no checkpoint ends the transactions of others."""
    reader.expect("CHECKPOINT")
    return ast.Checkpoint()


def _vacuum(reader: TokenReader) -> ast.Vacuum:
    reader.accept("ANALYZE")
    if reader.peek() is not None:
        raise NotSupportedError("VACUUM of one table, or with an option, is not supported")
    return ast.Vacuum()


_STATEMENTS: dict[str, Callable[[TokenReader], ast.Statement]] = {
    "EXPLAIN": _explain,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SUMMARIZE": _summarize,
    "ANALYZE": _analyze,
    "INSTALL": _extension,
    "LOAD": _extension,
    "SHOW": _show,
    "CREATE": read_create,
    "DROP": read_drop,
    "ALTER": read_alter,
    "TRUNCATE": read_truncate,
    "COMMENT": read_comment,
    "REINDEX": read_reindex,
    "CALIBRATE": read_calibrate,
    "INSERT": read_insert,
    "UPDATE": read_change,
    "DELETE": read_delete,
    "MERGE": read_change,
    "COPY": read_copy,
    "SET": _set,
    "RESET": _reset,
    "BEGIN": _begin,
    "START": _start,
    "COMMIT": partial(_transaction, ast.Commit()),
    "END": partial(_transaction, ast.Commit()),
    "ROLLBACK": _rollback,
    "ABORT": partial(_transaction, ast.Rollback()),
    "SAVEPOINT": _savepoint,
    "PREPARE": _prepare,
    "EXECUTE": _execute,
    "DEALLOCATE": _deallocate,
    "RELEASE": _release,
    "CHECKPOINT": lambda _: ast.Checkpoint(),
    "FORCE": _force_checkpoint,
    "VACUUM": _vacuum,
    "EXPORT": read_export,
    "IMPORT": read_import,
    "ATTACH": read_attach,
    "DETACH": read_detach,
    "USE": read_use,
    "PRAGMA": read_pragma,
    "CALL": _call,
}
