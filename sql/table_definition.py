"""CREATE TABLE: sqlglot's tree to a table definition, with every constraint accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.sql.file_layout import file_layout
from raydb.sql.nodes import require_only
from raydb.sql.reader import fold
from raydb.sql.types import data_type_of
from raydb.storage.table import ForeignKey, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONSTRAINT_NAMES: dict[type[exp.Expr], str] = {
    exp.AutoIncrementColumnConstraint: "AUTO_INCREMENT",
    exp.CheckColumnConstraint: "CHECK",
    exp.CollateColumnConstraint: "COLLATE",
    exp.CommentColumnConstraint: "COMMENT",
    exp.ComputedColumnConstraint: "a generated column",
    exp.DefaultColumnConstraint: "DEFAULT",
    exp.GeneratedAsIdentityColumnConstraint: "a generated column",
    exp.LikeProperty: "LIKE",
}


def table_definition(name: str, tree: exp.Expr) -> TableDefinition:
    """Return the definition that a CREATE TABLE tree writes.

    Raises NotSupportedError for what is not kept (DEFAULT, CHECK, ...) and ProgrammingError for a
    column that is defined twice or unknown to a constraint, and for a second primary key.
    """
    require_only(tree, "this", "kind", "exists", "properties")
    schema = tree.this
    if not isinstance(schema, exp.Schema):
        raise ProgrammingError(f"table '{name}' has no columns")
    require_only(schema, "this", "expressions")
    entries = schema.expressions
    columns = [entry for entry in entries if isinstance(entry, exp.ColumnDef)]
    constraints = [
        *((kind, (fold(column.this),)) for column in columns for kind in _kinds(column)),
        *((kind, ()) for entry in entries for kind in _table_constraints(entry)),
    ]
    fields = _fields(name, columns)
    primary_keys: list[tuple[str, ...]] = []
    unique_keys: list[tuple[str, ...]] = []
    foreign_keys: list[ForeignKey] = []
    required: set[str] = set()
    for kind, own in constraints:
        match kind:
            case exp.NotNullColumnConstraint():
                require_only(kind, "allow_null")
                required.update(() if kind.args.get("allow_null") else own)
            case exp.PrimaryKeyColumnConstraint() | exp.PrimaryKey():
                primary_keys.append(own or _listed(kind))
            case exp.UniqueColumnConstraint():
                unique_keys.append(own or _unique_columns(kind))
            case exp.Reference() | exp.ForeignKey():
                foreign_keys.append(_foreign_key(kind, own))
            case _:
                raise NotSupportedError(f"{_constraint_name(kind)} is not supported")
    for keys in (*primary_keys, *unique_keys, *(key.columns for key in foreign_keys)):
        _check_columns(name, keys, [field.name for field in fields])
    if len(primary_keys) > 1:
        raise ProgrammingError(f"table '{name}' has more than one primary key")
    primary_key = primary_keys[0] if primary_keys else ()
    required.update(primary_key)
    return TableDefinition(
        name,
        pa.schema([field.with_nullable(field.name not in required) for field in fields]),
        primary_key,
        tuple(unique_keys),
        tuple(foreign_keys),
        file_layout(name, tree.args.get("properties"), fields),
    )


def _fields(table: str, columns: list[exp.ColumnDef]) -> list[pa.Field]:
    fields: dict[str, pa.Field] = {}
    for column in columns:
        require_only(column, "this", "kind", "constraints")
        name = fold(column.this)
        if name in fields:
            raise ProgrammingError(f"table '{table}' has two columns named '{name}'")
        fields[name] = pa.field(name, data_type_of(column.args["kind"]))
    if not fields:
        raise ProgrammingError(f"table '{table}' has no columns")
    return list(fields.values())


def _kinds(column: exp.ColumnDef) -> Iterator[exp.Expr]:
    """Yield the constraints behind a column; their names (CONSTRAINT x) are not kept."""
    for constraint in column.args.get("constraints") or ():
        require_only(constraint, "this", "kind")
        yield constraint.args["kind"]


def _table_constraints(entry: exp.Expr) -> Iterator[exp.Expr]:
    match entry:
        case exp.ColumnDef():
            return
        case exp.Constraint():
            yield from entry.expressions
        case exp.Identifier():
            raise ProgrammingError(f"the column '{fold(entry)}' has no type")
        case _:
            yield entry


def _listed(kind: exp.Expr) -> tuple[str, ...]:
    _check_index_parameters(kind)
    return tuple(fold(column) for column in kind.expressions)


def _unique_columns(kind: exp.Expr) -> tuple[str, ...]:
    _check_index_parameters(kind)
    return tuple(fold(column) for column in kind.this.expressions)


def _check_index_parameters(kind: exp.Expr) -> None:
    require_only(kind, "this", "expressions", "include")
    if (parameters := kind.args.get("include")) is not None:
        require_only(parameters)


def _foreign_key(kind: exp.Expr, own: tuple[str, ...]) -> ForeignKey:
    """Return a foreign key; `references` is empty where it means the primary key of the table."""
    if isinstance(kind, exp.ForeignKey):
        require_only(kind, "expressions", "reference")
        own = tuple(fold(column) for column in kind.expressions)
        kind = kind.args["reference"]
    for option in kind.args.get("options") or ():
        raise NotSupportedError(f"{str(option).upper()} of a foreign key is not supported")
    require_only(kind, "this")
    target = kind.this
    references: tuple[str, ...] = ()
    if isinstance(target, exp.Schema):
        references = tuple(fold(column) for column in target.expressions)
        target = target.this
    require_only(target, "this")
    if references and len(references) != len(own):
        raise ProgrammingError(
            f"the foreign key ({', '.join(own)}) has {len(own)} columns,"
            f" but it references {len(references)}"
        )
    return ForeignKey(own, fold(target.this), references)


def _check_columns(table: str, columns: tuple[str, ...], known: list[str]) -> None:
    for index, column in enumerate(columns):
        if column not in known:
            raise ProgrammingError(
                f"column '{column}' does not exist in '{table}'{did_you_mean(column, known)}"
            )
        if column in columns[:index]:
            raise ProgrammingError(f"column '{column}' is twice in a key of '{table}'")


def _constraint_name(kind: exp.Expr) -> str:
    if type(kind) in _CONSTRAINT_NAMES:
        return _CONSTRAINT_NAMES[type(kind)]
    return f"'{kind.sql(dialect='postgres')}' in CREATE TABLE"
