"""The parts of ALTER TABLE as frozen values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.values import dataclass

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from raydb.storage.tables.table import TableDefinition


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN: the definition is that of a table of this column alone."""

    definition: TableDefinition
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP COLUMN."""

    column: str
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME COLUMN column TO to."""

    column: str
    to: str


@dataclass(frozen=True, slots=True)
class RenameTable:
    """RENAME TO to."""

    to: str


@dataclass(frozen=True, slots=True)
class SetDefault:
    """ALTER COLUMN column SET DEFAULT text; None is DROP DEFAULT."""

    column: str
    text: str | None


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """ALTER COLUMN column SET NOT NULL, or DROP NOT NULL."""

    column: str
    required: bool


@dataclass(frozen=True, slots=True)
class SetType:
    """ALTER COLUMN column TYPE type [COLLATE collation] [USING expression]."""

    field: pa.Field
    using: exp.Expr | None


@dataclass(frozen=True, slots=True)
class RestartIdentity:
    """ALTER COLUMN column RESTART [WITH value]; None is where it began."""

    column: str
    value: int | None


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """ADD [CONSTRAINT name] constraint: the definition has the constraint and no columns."""

    definition: TableDefinition


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """DROP CONSTRAINT name."""

    name: str
    if_exists: bool
    cascade: bool


Alteration = (
    AddColumn
    | DropColumn
    | RenameColumn
    | RenameTable
    | SetDefault
    | SetNotNull
    | SetType
    | RestartIdentity
    | AddConstraint
    | DropConstraint
)
