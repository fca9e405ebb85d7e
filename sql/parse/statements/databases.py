"""Statements about whole databases: ATTACH, DETACH, USE, EXPORT and IMPORT."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath

from sqlglot import TokenType

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.planner.catalog import CATALOG, MAIN, TEMP
from raydb.sql import ast
from raydb.sql.parse.options import SWITCH, read_list
from raydb.sql.parse.query import query_of
from raydb.sql.parse.reader import TokenReader, tokenize
from raydb.sql.parse.schema_names import INFORMATION

# What names of attached databases would hide, here or in DuckDB.
_RESERVED = (MAIN, INFORMATION, CATALOG, TEMP, "system")

_KINDS = ("raydb", "sqlite")
_WITHOUT_EFFECT = ("storage_version", "row_group_size", "block_size", "recovery_mode")
_OPTIONS = ("type", "read_only", "read_write", "sqlite_all_varchar", *_WITHOUT_EFFECT)


def read_attach(reader: TokenReader) -> ast.Attach:
    """Read ATTACH, that word being read."""
    or_replace = reader.accept("OR", "REPLACE")
    reader.accept("DATABASE")
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        raise ProgrammingError("ATTACH OR REPLACE takes no IF NOT EXISTS")
    path = reader.string("the path of a database, in single quotes")
    named = str(reader.name("the name of the database")) if reader.accept("AS") else None
    name = named or ("memory" if path == ":memory:" else PurePath(path).stem)
    if fold(name) in _RESERVED or not name:
        raise ProgrammingError(
            f"a database cannot be attached as '{name}'; ATTACH ... AS gives it another name"
        )
    options: dict[str, str | bool] = {}
    if reader.at_any("("):
        owner = f"ATTACH of '{name}'"
        options = read_list(reader, _OPTIONS, "ATTACH", owner, partial(_value, reader=reader))
    kind, read_only = options.get("type"), options.get("read_only")
    if options.get("read_write") is True:
        if read_only is True:
            raise ProgrammingError("ATTACH takes READ_ONLY or READ_WRITE, not both")
        read_only = False
    if read_only is False and kind == "sqlite":
        raise NotSupportedError("READ_ONLY false is not supported: SQLite's files are only read")
    return ast.Attach(
        path,
        name,
        kind if isinstance(kind, str) else None,
        options.get("sqlite_all_varchar") is True,
        read_only if isinstance(read_only, bool) else None,
        tuple(option for option in options if option in _WITHOUT_EFFECT),
        if_not_exists,
        or_replace,
    )


def _value(option: str, reader: TokenReader) -> str | bool:
    """Return the value of an option: a type, or a switch, which is on where it stands alone."""
    reader.accept("=")
    if option in _WITHOUT_EFFECT:
        return reader.take().text
    if option != "type":
        if reader.at_any(",", ")"):
            return True
        word = reader.take().text.lower()
        if word not in SWITCH:
            raise ProgrammingError(f"option '{option}' of ATTACH is true or false, not '{word}'")
        return SWITCH[word]
    written = reader.take().text
    if written.lower() not in _KINDS:
        near = did_you_mean(written.lower(), _KINDS)
        raise NotSupportedError(f"ATTACH knows the types raydb and sqlite, not '{written}'{near}")
    return written.lower()


def read_detach(reader: TokenReader) -> ast.Detach:
    """Read DETACH, that word being read."""
    reader.accept("DATABASE")
    if_exists = reader.accept("IF", "EXISTS")
    return ast.Detach(reader.name("the name of a database"), if_exists)


def read_use(reader: TokenReader) -> ast.Use:
    """Read USE, that word being read."""
    return ast.Use(reader.place_named())


def read_place(reader: TokenReader) -> tuple[str, ...]:
    """Read the value of SET schema or search_path: one place, as a name or as a text."""
    token = reader.peek()
    if token is None or token.token_type is not TokenType.STRING:
        return reader.place_named()
    text = reader.string("the name of a schema")
    (tokens,) = tokenize(text) or ((),)
    inside = TokenReader(text, tokens)
    place = inside.place_named()
    if inside.at_any(","):
        raise NotSupportedError("a search path of several schemas is not supported; it names one")
    inside.finish()
    return place


def read_pragma(reader: TokenReader) -> ast.Statement:
    """Read a pragma, that word being read: a list, a call in FROM, or a setting."""
    name = reader.word("the name of a pragma")
    if name == "database_list":
        return ast.ShowDatabases(with_files=True)
    if name == "show_tables":
        return ast.ShowTables()
    if name == "version":
        return _query("SELECT version() AS library_version")
    if reader.at_any("("):
        tokens = reader.rest()
        arguments = reader.text[tokens[0].start : tokens[-1].end + 1]
        return _query(f"SELECT * FROM pragma_{name}{arguments}")  # noqa: S608 - only parsed
    if not reader.accept("="):
        return ast.SetOption(name, None)
    return ast.SetOption(name, read_value(reader, name))


def _query(text: str) -> ast.Statement:
    return query_of(text, tokenize(text)[0])


def read_value(reader: TokenReader, name: str) -> str:
    """Read the value of a setting, a word as it is folded."""
    sign = "-" if reader.accept("-") else ""
    token = reader.take()
    if token.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER):
        return sign + token.text
    if sign or not token.text.isidentifier():
        raise ProgrammingError(f"the setting '{name}' needs a value: a word, a number or a string")
    return token.text.lower()


_EXPORT_FORMATS = ("PARQUET", "CSV", "FLAT")


def read_export(reader: TokenReader) -> ast.ExportDatabase:
    """Read EXPORT DATABASE, the word EXPORT being read."""
    reader.expect("DATABASE")
    path = reader.string("the path of a folder, in single quotes")
    chosen = "PARQUET"
    if reader.accept("("):
        reader.expect("FORMAT")
        written = reader.take().text
        chosen = written.upper()
        if chosen not in _EXPORT_FORMATS:
            raise ProgrammingError(f"EXPORT has the formats PARQUET, CSV and FLAT, not {written}")
        reader.expect(")")
    return ast.ExportDatabase(path, chosen.lower())


def read_import(reader: TokenReader) -> ast.ImportDatabase:
    """Read IMPORT DATABASE, the word IMPORT being read."""
    reader.expect("DATABASE")
    return ast.ImportDatabase(reader.string("the path of a folder, in single quotes"))
