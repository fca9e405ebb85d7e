"""Statements about transactions, databases, settings and secrets as values: `raydb.sql.ast`."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from raydb.values import dataclass

if TYPE_CHECKING:
    from sqlglot import exp

    from raydb.sql.ast import Select


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN [TRANSACTION] [READ {ONLY | WRITE}] or START TRANSACTION ..."""

    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT [TRANSACTION] or END [TRANSACTION]."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK [TRANSACTION] or ABORT [TRANSACTION]."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """SAVEPOINT name."""

    name: str


@dataclass(frozen=True, slots=True)
class Release:
    """RELEASE [SAVEPOINT] name."""

    name: str


@dataclass(frozen=True, slots=True)
class RollbackTo:
    """ROLLBACK [TRANSACTION] TO [SAVEPOINT] name."""

    name: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """CHECKPOINT: move the rows of the log into files."""


@dataclass(frozen=True, slots=True)
class Vacuum:
    """VACUUM: give back the room of deleted and replaced rows."""


@dataclass(frozen=True, slots=True)
class ExportDatabase:
    """EXPORT DATABASE 'folder' [(FORMAT parquet | csv | flat)]."""

    path: str
    file_format: str


@dataclass(frozen=True, slots=True)
class ImportDatabase:
    """IMPORT DATABASE 'folder'."""

    path: str


@dataclass(frozen=True, slots=True)
class CopyDatabase:
    """COPY FROM DATABASE source TO target."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Attach:
    """ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(option, ...)].

    kind: raydb or sqlite, None where the file tells it. all_varchar: whether all columns of a
    SQLite database are texts. read_only: None where nothing is said of it. without_effect: options
    of the files of DuckDB.
    """

    path: str
    name: str
    kind: str | None = None
    all_varchar: bool = False
    read_only: bool | None = None
    without_effect: tuple[str, ...] = ()
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class Detach:
    """DETACH [DATABASE] [IF EXISTS] name."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Use:
    """USE place, a database and a schema or one of them: names that name none are there now."""

    place: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """SHOW DATABASES, or PRAGMA database_list, which has their files too."""

    with_files: bool = False


@dataclass(frozen=True, slots=True)
class CreateSecret:
    """CREATE [OR REPLACE] [TEMPORARY] SECRET [IF NOT EXISTS] [name] (option value, ...).

    options: their names in lower case, and sqlglot's trees of their values, which nothing shows.
    """

    name: str | None
    options: tuple[tuple[str, exp.Expr], ...] = field(repr=False)
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class DropSecret:
    """DROP [TEMPORARY] SECRET [IF EXISTS] name."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET name = value, or PRAGMA name, which has none."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET VARIABLE name = value, that of a query, or RESET VARIABLE name, which has none."""

    name: str
    value: Select | None


@dataclass(frozen=True, slots=True)
class ResetOption:
    """RESET name: the setting is again what it was when the connection was opened."""

    name: str


@dataclass(frozen=True, slots=True)
class ShowOption:
    """SHOW name, of a setting, or of the table of that name."""

    name: str
