"""The statements of RayDB as frozen values, parsed but not yet bound to a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from raydb.storage.table import TableDefinition


@dataclass(frozen=True, slots=True)
class Select:
    """A query: SELECT, VALUES or `FROM t`. The tree is sqlglot's and opaque outside of `sql`."""

    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN SELECT ... or EXPLAIN (FORMAT JSON) SELECT ..."""

    select: Select
    format: Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE. The foreign keys written without a column list have empty `references`."""

    definition: TableDefinition
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE VIEW. `text` is the query exactly as written; it is bound each time it is used."""

    name: str
    text: str
    or_replace: bool


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP VIEW."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO table [(columns)] followed by VALUES or a query."""

    table: str
    columns: tuple[str, ...] | None
    select: Select


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY table [(columns)] FROM 'path' [(option value, ...)].

    The names of the options are in lower case; an option without a value is True.
    """

    table: str
    columns: tuple[str, ...] | None
    path: str
    options: Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class CopyTo:
    """COPY table [(columns)] TO 'path' [(option value, ...)] or COPY (SELECT ...) TO ..."""

    select: Select
    path: str
    options: Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE table SET column = value, ... [WHERE condition]. The tree is the whole statement's."""

    table: str
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM table [WHERE condition]. The tree is the whole statement's."""

    table: str
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class CreateBvh:
    """CREATE BVH name ON table (SCAN (...), GROUP BY (...), AGGREGATE (...)).

    Each part holds sqlglot's trees; a part that is not written is empty. `text` is the statement as
    written: a database on disk keeps it and binds it again when it is opened.
    """

    name: str
    table: str
    scan: tuple[exp.Expr, ...]
    group_by: tuple[exp.Expr, ...]
    aggregate: tuple[exp.Expr, ...]
    text: str


@dataclass(frozen=True, slots=True)
class DropBvh:
    """DROP BVH."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET name = value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN [TRANSACTION] or START TRANSACTION."""


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT [TRANSACTION]."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK [TRANSACTION]."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """CHECKPOINT: move the rows of the log into files."""


@dataclass(frozen=True, slots=True)
class Vacuum:
    """VACUUM: give back the room of deleted and replaced rows."""


Statement = (
    Select
    | Explain
    | CreateTable
    | DropTable
    | CreateView
    | DropView
    | Insert
    | Copy
    | CopyTo
    | Update
    | Delete
    | CreateBvh
    | DropBvh
    | SetOption
    | Begin
    | Commit
    | Rollback
    | Checkpoint
    | Vacuum
)
