"""EXPORT DATABASE and IMPORT DATABASE: a folder from which the database can be made again.

    folder/schema.sql       the statements that make the types, sequences and tables
    folder/<number>.parquet the rows of each table, .flat for types that Parquet lacks
    folder/load.sql         the statements that load them, let sequences go on where they stood, and
                            make indexes, views and BVHs

A folder is written beside its place and moved there when it is whole.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raydb import sql
from raydb.engine.session.settings import check_file
from raydb.errors import DataError, NotSupportedError, OperationalError
from raydb.keywords import quoted
from raydb.planner.catalog import CATALOG
from raydb.sql import ast
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.engine.session.result import Result
    from raydb.engine.session.settings import Settings


def export_database(
    statement: ast.ExportDatabase, run: Callable[[str], Result], settings: Settings
) -> None:
    """Write the database as it is to a new folder. Raises OperationalError where that fails.

    run: runs a text on the database, of one moment for all texts.
    """
    check_file(statement.path, settings)
    folder = Path(statement.path)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        if folder.exists() and any(folder.iterdir()):
            raise OperationalError(f"folder '{folder}' is not empty, so nothing is exported to it")
        unfinished.mkdir(parents=True)
        try:
            _write(unfinished, statement.file_format, run)
            unfinished.replace(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OperationalError(f"folder '{folder}' cannot be written: {reason}") from error


def _write(folder: Path, file_format: str, run: Callable[[str], Result]) -> None:
    # The shell writes schemas as well, and neither is there where the other is used.
    from raydb.engine.shell.schema import (  # noqa: PLC0415
        columns_by_relation,
        quoted_in,
        schema_names,
        schema_parts,
    )

    parts = schema_parts(_Asked(run))
    schemas = schema_names(_Asked(run))
    columns = columns_by_relation(_Asked(run))
    loads = []
    for number, (table, _) in enumerate(parts.tables, 1):
        name = f"{number}.{file_format}"
        written = quoted_in(table, schemas)
        given = ", ".join(quoted(each.name) for each in columns[table] if not each.is_computed)
        rows = f"(SELECT {given} FROM {CATALOG}.{written})"  # noqa: S608  (names)
        path = str(folder / str(number)).replace("'", "''")
        try:
            run(f"COPY {rows} TO '{path}.{file_format}'")
        except NotSupportedError:  # Parquet lacks a type
            if file_format != "parquet":
                raise
            name = f"{number}.flat"
            run(f"COPY {rows} TO '{path}.flat'")
        loads.append(f"COPY {written} FROM '{name}';")
    tables = [text for _, text in parts.tables]
    _write_text(folder / "schema.sql", [*parts.types, *parts.sequences, *tables])
    _write_text(
        folder / "load.sql",
        [
            *(*loads, *parts.references, *parts.restarts, *parts.indexes, *parts.own),
            *(*parts.views, *parts.comments),
        ],
    )


def _write_text(path: Path, statements: list[str]) -> None:
    path.write_text("".join(f"{statement}\n" for statement in statements), encoding="utf-8")


class _Asked:
    """Answers queries as a connection does."""

    def __init__(self, run: Callable[[str], Result]) -> None:
        self._run = run

    def execute(self, query: str) -> _Rows:
        """Return the rows of a query."""
        return _Rows(self._run(query).python_rows())


class _Rows(list[Any]):
    def fetchall(self) -> list[Any]:
        """Return the rows."""
        return self


def statements_of(statement: ast.ImportDatabase, settings: Settings) -> Iterator[ast.Statement]:
    """Yield the statements of an exported folder, whose files lie in it wherever it is."""
    check_file(statement.path, settings)
    folder = Path(statement.path)
    for name in ("schema.sql", "load.sql"):
        try:
            text = (folder / name).read_text(encoding="utf-8")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OperationalError(f"file '{folder / name}' cannot be read: {reason}") from error
        except UnicodeDecodeError as error:
            raise DataError(f"file '{folder / name}' cannot be read: it is not UTF-8") from error
        for each in sql.parse(text) if text.strip() else ():
            inside = each.statement if isinstance(each, ast.InPlace) else each
            if isinstance(inside, ast.Copy):
                copied = replace(inside, path=str(folder / inside.path))
                yield replace(each, statement=copied) if isinstance(each, ast.InPlace) else copied
            elif isinstance(inside, ast.Definition):
                yield each
            else:
                raise DataError(
                    f"file '{folder / name}' has a statement that EXPORT does not write"
                )
