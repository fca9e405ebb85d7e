"""Files in FROM: `'sales.parquet'`, `'data/*.csv'`, `read_csv('a.csv', header => true)`.

A string where a table could stand names files, and so does a call of one of these functions:

    read_csv, read_parquet, read_json, read_flat    paths or patterns, then options by name
    read_csv_auto, read_json_auto, read_ndjson, parquet_scan    the same, as DuckDB calls them
    glob                                            the files that match, one row each

`=`, `=>` and `:=` mean the same between the name of an option and its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.plan.function_arguments import Argument
from raydb.planner.plan.table_function import TableFunction
from raydb.sql.bind.table_functions.arguments import constant_argument
from raydb.sql.parse.reader import parse_scalar, tokenize
from raydb.sql.parse.searched_tables import function_called, named_argument
from raydb.sql.parse.written import text_of
from raydb.sql.types import bound_type
from raydb.storage.formats.format import Use
from raydb.storage.formats.known import FORMATS
from raydb.storage.formats.paths import table_name
from raydb.storage.formats.sources import FileSource

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.sql.bind.binding import Binding
    from raydb.storage.formats.options import Option


class FileFunction(TableFunction):
    """A function that reads files, and takes options of its own."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        options = FORMATS[kind].options_of(Use.QUERY) if kind in FORMATS else []
        self.arguments = (Argument("path"), *map(Argument, options))
        self.places = 1


FILE_FUNCTIONS = (
    *(
        FileFunction(f"read_{each.name}", each.name)
        for each in FORMATS.values()
        if each.has_function
    ),
    FileFunction("read_csv_auto", "csv"),
    FileFunction("read_json_auto", "json"),
    FileFunction("read_ndjson", "json"),
    FileFunction("parquet_scan", "parquet"),
    FileFunction("glob", "glob"),
)


def is_file(table: exp.Table) -> bool:
    """Say whether a source in FROM is written as a string, or as a function that reads files."""
    return _is_path(table) or isinstance(function_called(table), FileFunction)


def file_table(table: exp.Table) -> str:
    """Return the name of a file's table in the catalog of one statement: as it is written.

    >>> file_table(parse_one("SELECT * FROM 'a.csv' AS a").find(exp.Table))
    "'a.csv'"
    """
    return text_of(table.this)


def file_alias(table: exp.Table) -> str:
    """Return the name of a file's table in the statement, unless it has an alias."""
    return table_name(table.this.name) if _is_path(table) else table.this.name.lower()


def _is_path(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Literal)


def file_source(table: exp.Table, binding: Binding) -> FileSource:
    """Return what a source in FROM says of files; binding: it has the statement's parameters.

    Raises ProgrammingError for arguments that a function does not take, NotSupportedError for
    values that are no constants.
    """
    if _is_path(table):
        return FileSource((table.this.name,))
    called = function_called(table)
    assert isinstance(called, FileFunction), "see `is_file`"
    function, kind = called.name, called.kind
    paths: list[exp.Expr] = []
    options: dict[str, Option] = {}
    for argument in table.this.expressions:
        named = named_argument(argument)
        if named is None:
            if options:
                raise ProgrammingError(f"the paths of {function}() go before its options")
            paths.append(argument)
        else:
            name, value = named
            if name in options:
                raise ProgrammingError(f"option '{name}' of {function}() is given twice")
            options[name] = _option(name, value, binding)
    if len(paths) != 1:
        raise ProgrammingError(
            f"{function}() takes a path or a list of paths, not {len(paths)} arguments"
        )
    patterns = _texts(function, paths[0], binding)
    if not patterns:
        raise ProgrammingError(f"{function}() takes a path or a list of paths, as strings")
    if kind == "glob" and options:
        raise ProgrammingError("glob() takes no options")
    return FileSource(patterns, kind, tuple(options.items()))


def _option(name: str, value: exp.Expr, binding: Binding) -> Option:
    """Return the value of an option: a text, a boolean, a list, or types by column."""
    match value:
        case exp.Boolean():
            return bool(value.this)
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return f"-{number.name}"
        case exp.Literal():
            return str(value.name)
        case exp.Parameter() | exp.Placeholder():
            constant = constant_argument(name, value, binding).value
            return constant if isinstance(constant, bool) else str(constant)
        case exp.Array() if name in ("types", "dtype", "dtypes", "column_types"):
            return tuple(_type(name, each) for each in value.expressions)
        case exp.Array():
            return _texts(name, value, binding)
        case exp.Struct():
            return dict(_column_type(name, entry) for entry in value.expressions)
        case exp.Column(this=exp.Identifier(quoted=False) as word):
            return str(word.name)
        case _:
            raise NotSupportedError(f"option {name} cannot be {text_of(value)}")


def _texts(name: str, value: exp.Expr, binding: Binding) -> tuple[str, ...]:
    """Return the strings of a constant list, or a string alone; nothing for what is neither."""
    found = constant_argument(name, value, binding).value
    texts = tuple(found) if isinstance(found, list | tuple) else (found,)
    return texts if all(isinstance(each, str) for each in texts) else ()


def _column_type(option: str, entry: exp.Expr) -> tuple[str, pa.DataType]:
    named = named_argument(entry)
    if named is None:
        raise ProgrammingError(f"option {option} gives types by name: {{'a': 'INTEGER'}}")
    return entry.this.name, _type(option, named[1])


def _type(option: str, node: exp.Expr) -> pa.DataType:
    """Return a type that is written as a string or as it is in CREATE TABLE."""
    written = node.name if isinstance(node, exp.Literal) and node.is_string else text_of(node)
    text = f"CAST(NULL AS {written})"
    try:
        (tokens,) = tokenize(text)
        cast = parse_scalar(text, tokens)
    except (ProgrammingError, ValueError):
        cast = None
    if not isinstance(cast, exp.Cast) or not isinstance(cast.to, exp.DataType):
        raise ProgrammingError(f"option {option}: '{written}' is not a type")
    return bound_type(cast.to)
