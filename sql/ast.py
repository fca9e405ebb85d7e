"""The statements of RayDB as frozen values, parsed but not yet bound to a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from raydb.sql.database_ast import Attach as Attach
from raydb.sql.database_ast import Begin as Begin
from raydb.sql.database_ast import Checkpoint as Checkpoint
from raydb.sql.database_ast import Commit as Commit
from raydb.sql.database_ast import CopyDatabase as CopyDatabase
from raydb.sql.database_ast import CreateSecret as CreateSecret
from raydb.sql.database_ast import Detach as Detach
from raydb.sql.database_ast import DropSecret as DropSecret
from raydb.sql.database_ast import ExportDatabase as ExportDatabase
from raydb.sql.database_ast import ImportDatabase as ImportDatabase
from raydb.sql.database_ast import Release as Release
from raydb.sql.database_ast import ResetOption as ResetOption
from raydb.sql.database_ast import Rollback as Rollback
from raydb.sql.database_ast import RollbackTo as RollbackTo
from raydb.sql.database_ast import Savepoint as Savepoint
from raydb.sql.database_ast import SetOption as SetOption
from raydb.sql.database_ast import SetVariable as SetVariable
from raydb.sql.database_ast import ShowDatabases as ShowDatabases
from raydb.sql.database_ast import ShowOption as ShowOption
from raydb.sql.database_ast import Use as Use
from raydb.sql.database_ast import Vacuum as Vacuum
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from sqlglot import exp

    from raydb.kernels.vector.stop_rule import Score
    from raydb.sql.alter import Alteration
    from raydb.storage.tables.sequence import SequenceOptions
    from raydb.storage.tables.table import Index, TableDefinition


@dataclass(frozen=True, slots=True)
class Select:
    """A query: SELECT, VALUES or `FROM t`. The tree is sqlglot's and opaque outside of `sql`."""

    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE. The foreign keys written without a column list have empty `references`."""

    definition: TableDefinition
    if_not_exists: bool
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """CREATE TABLE name [(columns)] AS query [WITH NO DATA]."""

    name: str
    columns: tuple[str, ...]
    select: Select
    with_data: bool
    if_not_exists: bool
    or_replace: bool = False


DropKind = Literal[
    "table", "view", "index", "bvh", "sequence", "type", "schema", "macro", "table macro"
]


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP {TABLE | VIEW | INDEX | BVH | SEQUENCE | TYPE | SCHEMA | MACRO [TABLE]} name, ..."""

    kind: DropKind
    names: tuple[str, ...]
    if_exists: bool
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """COMMENT ON kind name IS 'text', or on a column of a table or a view; None is no comment."""

    kind: DropKind | Literal["column"]
    name: str
    column: str
    text: str | None


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """CREATE SCHEMA [IF NOT EXISTS] name."""

    name: str
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE VIEW. `text` is the query exactly as written; it is bound each time it is used.

    With names for the columns it is `SELECT * FROM (query) AS view (names)`.
    """

    name: str
    text: str
    or_replace: bool
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateMacro:
    """CREATE MACRO. `text` is its parameters and its bodies as written; see `macro_of`."""

    name: str
    text: str
    is_table: bool
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE table alteration, ..."""

    table: str
    if_exists: bool
    alterations: tuple[Alteration, ...]


@dataclass(frozen=True, slots=True)
class RenameView:
    """ALTER VIEW name RENAME TO to."""

    name: str
    if_exists: bool
    to: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE [TABLE] name, ... [RESTART IDENTITY] [CASCADE]."""

    names: tuple[str, ...]
    cascade: bool
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO table [(columns)] query, with its ON CONFLICT and RETURNING.

    The tree is the whole statement's. overrides: OVERRIDING SYSTEM VALUE, which lets it give values
    to columns that are GENERATED ALWAYS.
    """

    table: str
    tree: exp.Expr
    overrides: bool = False


# The value of an option of COPY: True where none is written.
CopyOption: TypeAlias = str | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY table [(columns)] FROM 'path' [(option value, ...)].

    The names of the options are in lower case; an option without a value is True.
    """

    table: str
    columns: tuple[str, ...] | None
    path: str
    options: Mapping[str, CopyOption]


@dataclass(frozen=True, slots=True)
class CopyTo:
    """COPY table [(columns)] TO 'path' [(option value, ...)] or COPY (SELECT ...) TO ..."""

    select: Select
    path: str
    options: Mapping[str, CopyOption]


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE table SET ... [FROM ...] [WHERE ...] [RETURNING ...]; the tree is all of it."""

    table: str
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM table [USING ...] [WHERE ...] [RETURNING ...]; the tree is all of it."""

    table: str
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE INTO table USING ... WHEN ... THEN ... [RETURNING ...]; the tree is all of it."""

    table: str
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name [(type, ...)] AS statement; `text` is the statement as it is written.

    types: those of its parameters $1, $2, ..., empty where none are given.
    """

    name: str
    types: tuple[pa.DataType, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Execute:
    """EXECUTE name [(value, ...)], or with the names of parameters: EXECUTE name (x := 1).

    arguments: the name, None for a place, and sqlglot's tree of each value.
    """

    name: str
    arguments: tuple[tuple[str | None, exp.Expr], ...]


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE [PREPARE] name; None is ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [ANALYZE] statement or EXPLAIN ([ANALYZE,] FORMAT {TEXT | JSON | HTML}) statement.

    analyze: whether the query, or what gives the rows to write, is run and timed.
    """

    statement: Select | Dml | Execute | InPlace
    format: Literal["text", "json", "html"]
    analyze: bool = False


@dataclass(frozen=True, slots=True)
class CreateBvh:
    """CREATE BVH name ON table (SCAN (...), GROUP BY (...), AGGREGATE (...)) [WITH (...)].

    Each part holds sqlglot's trees; a part that is not written is empty. `text` is the statement as
    written: a database on disk keeps it and binds it again when it is opened. `sieve` is the option
    of that name.
    """

    name: str
    table: str
    scan: tuple[exp.Expr, ...]
    group_by: tuple[exp.Expr, ...]
    aggregate: tuple[exp.Expr, ...]
    text: str
    sieve: bool = False


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE [UNIQUE] INDEX name ON table (column [DESC], ...)."""

    table: str
    index: Index
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class CreateSequence:
    """CREATE [OR REPLACE] SEQUENCE name and its options."""

    name: str
    options: SequenceOptions
    if_not_exists: bool
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateType:
    """CREATE [OR REPLACE] TYPE name AS a type, or AS ENUM (query), whose rows are the labels."""

    name: str
    type: pa.DataType | Select
    if_not_exists: bool
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class AlterSequence:
    """ALTER SEQUENCE name and its options.

    numbers: START, INCREMENT, MINVALUE and MAXVALUE as far as they are given; None is that of a new
    sequence, as NO MINVALUE asks for. cycles: None where nothing is said of it. value: behind
    RESTART, None is where it began.
    """

    name: str
    if_exists: bool
    numbers: Mapping[str, int | None]
    cycles: bool | None
    restarts: bool
    value: int | None


@dataclass(frozen=True, slots=True)
class RenameSequence:
    """ALTER SEQUENCE name RENAME TO name."""

    name: str
    if_exists: bool
    to: str


@dataclass(frozen=True, slots=True)
class Reindex:
    """REINDEX [INDEX name | TABLE name | name]: builds vector indexes anew, all without a name."""

    kind: Literal["index", "table"]
    name: str | None


@dataclass(frozen=True, slots=True)
class Calibrate:
    """CALIBRATE INDEX index [USING (query)] [WITH (fnr = ..., k = ..., confidence = 0.95, ...)].

    queries: the query for vectors, None where rows of the table are held out. fnrs: shares of the k
    nearest rows that may be missed; each of them is calibrated with each of `ks`. score: None for
    that of the index. confidence: None for a promise on average over calibrations.
    """

    index: str
    queries: Select | None
    fnrs: tuple[float, ...]
    ks: tuple[int, ...]
    score: Score | None
    seed: int
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW TABLES [FROM place]; place: a database and a schema, or one of them."""

    place: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE table or DESCRIBE query; `table` is None for a query, `place` as in SHOW TABLES."""

    table: str | None
    select: Select
    place: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analyze:
    """ANALYZE [VERBOSE] [table]: it has to be there, and what is known of it is kept with it.

    INSTALL and LOAD of what is there as well.
    """

    table: Describe | None = None


Definition = (
    CreateTable
    | CreateTableAs
    | Drop
    | AlterTable
    | Truncate
    | Comment
    | CreateSchema
    | CreateView
    | CreateMacro
    | RenameView
    | CreateBvh
    | CreateType
    | CreateIndex
    | CreateSequence
    | AlterSequence
    | RenameSequence
    | Reindex
    | Calibrate
)
Dml = Insert | Update | Delete | Merge
Write = Dml | Copy


@dataclass(frozen=True, slots=True)
class InPlace:
    """A statement whose tables are written with a place, such as DROP TABLE shop.sale.

    place: a database and a schema, or one of them. The names within are those of that place.
    """

    place: tuple[str, ...]
    statement: Definition | Write


def written_names(statement: object) -> tuple[str, tuple[str, ...]]:
    """Return the kind and the names of what a statement changes; no names for what it makes."""
    match statement:
        case _ if isinstance(statement, Write):
            return "table", (statement.table,)
        case CreateIndex(table=name) | CreateBvh(table=name) | AlterTable(table=name):
            return "table", (name,)
        case Truncate(names=names):
            return "table", names
        case RenameView(name=name):
            return "view", (name,)
        case AlterSequence(name=name) | RenameSequence(name=name):
            return "sequence", (name,)
        case Calibrate(index=name):
            return "index", (name,)
        case Comment(kind=kind, name=name):
            return kind, (name,)
        case Reindex(kind=kind, name=str(name)):
            return kind, (name,)
        case Drop(kind=kind, names=names):
            return kind, names
        case _:
            return "table", ()


@dataclass(frozen=True, slots=True)
class Part:
    """A query of WITH that runs before what follows it; `rows` is the table that it becomes."""

    rows: str
    statement: Asked


@dataclass(frozen=True, slots=True)
class WithChanges:
    """A statement whose WITH changes rows: its parts, each of which sees what those before did."""

    parts: tuple[Part, ...]
    last: Asked


Asked = Select | Dml | InPlace | WithChanges
"""What gives rows: a query, or a statement that may have RETURNING."""


Control = Begin | Commit | Rollback | Savepoint | Release | RollbackTo
Setting = SetOption | ResetOption | SetVariable
Secret = CreateSecret | DropSecret
Prepared = Prepare | Execute | Deallocate
Backup = CopyDatabase | ExportDatabase | ImportDatabase
Databases = Attach | Detach | Use
Catalog = ShowOption | ShowTables | ShowDatabases | Describe | Analyze

Statement = (
    Select
    | Explain
    | CopyTo
    | Definition
    | Write
    | InPlace
    | WithChanges
    | Control
    | Setting
    | Secret
    | Prepared
    | Backup
    | Databases
    | Catalog
    | Checkpoint
    | Vacuum
)
