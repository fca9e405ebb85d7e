"""CREATE TABLE: columns and constraints to a table definition, with each accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import Qualified, fold, known_name
from raydb.sql.parse.nodes import collation_name, require_only
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.statements.sequence import column_type, identity, is_serial
from raydb.sql.parse.stored_expressions import stored_check, stored_generated, stored_text
from raydb.storage.fields import field_collation, with_collation
from raydb.storage.tables.constraints import check_different
from raydb.storage.tables.following import ACTIONS
from raydb.storage.tables.table import (
    UNTYPED,
    Check,
    FileLayout,
    ForeignKey,
    Generated,
    TableDefinition,
    UniqueKey,
)
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.sql.parse.reader import TokenReader
    from raydb.storage.tables.sequence import Identity

# WITH (chunk_rows = 1000, image.chunk_rows = 100, caption.encoding = fsst)
_LAYOUT_OPTIONS = ("chunk_rows", "encoding", "offset_index")
_SWITCH = {"on": True, "true": True, "off": False, "false": False}

_CONSTRAINT_NAMES: dict[type[exp.Expr], str] = {
    exp.CommentColumnConstraint: "COMMENT",
    exp.LikeProperty: "LIKE",
}
# What a foreign key may say beside its columns that is as if it were not written.
_PLAIN_OPTIONS = ("NO ACTION", "RESTRICT", "NOT DEFERRABLE", "INITIALLY IMMEDIATE")


def read_table(name: str, reader: TokenReader) -> TableDefinition:
    """Read what follows CREATE TABLE name: `(column or constraint, ...) [WITH (option, ...)]`.

    Raises NotSupportedError for what is not kept (COMMENT, ...) and ProgrammingError for a column
    that is defined twice, a second primary key, and a DEFAULT or CHECK with a query.
    """
    reader.expect("(")
    entries = []
    while not reader.at_any(")"):
        entries.append(reader.table_entry())
        if not reader.accept(","):
            break
    reader.expect(")")
    definition = define(name, entries)
    if not len(definition.schema):
        raise ProgrammingError(f"table '{name}' has no columns")
    return replace(definition, layout=_read_layout(name, reader, definition.schema))


def define(name: str, entries: Sequence[exp.Expr]) -> TableDefinition:
    """Return the definition that the entries of CREATE TABLE write, columns and constraints.

    ALTER TABLE has a single entry: a column, or a constraint and no columns.
    """
    columns = [entry for entry in entries if isinstance(entry, exp.ColumnDef)]
    fields = _fields(name, columns)
    defaults: dict[str, str] = {}
    primary_keys: list[UniqueKey] = []
    unique_keys: list[UniqueKey] = []
    foreign_keys: list[ForeignKey] = []
    checks: list[Check] = []
    required: set[str] = set()
    identities: list[Identity] = []
    generated: list[Generated] = []
    for written in _constraints(entries):
        kind, own = written.kind, written.columns
        match kind:
            case exp.NotNullColumnConstraint():
                require_only(kind, "allow_null")
                required.update(() if kind.args.get("allow_null") else own)
            case exp.DefaultColumnConstraint():
                require_only(kind, "this")
                defaults[own[0]] = stored_text(kind.this, f"the default of column '{own[0]}'")
            case exp.CollateColumnConstraint():
                fields = _collated(fields, own[0], kind)
            case exp.ComputedColumnConstraint():
                require_only(kind, "this")
                generated.append(stored_generated(name, own[0], kind.this))
            case exp.GeneratedAsIdentityColumnConstraint() | exp.AutoIncrementColumnConstraint():
                field = next(each for each in fields if each.name == own[0])
                identities.append(identity(kind, field))
            case exp.PrimaryKeyColumnConstraint() | exp.PrimaryKey():
                primary_keys.append(UniqueKey(own or _key_columns(kind, kind), written.name))
            case exp.UniqueColumnConstraint():
                unique_keys.append(UniqueKey(own or _key_columns(kind, kind.this), written.name))
            case exp.Reference() | exp.ForeignKey():
                foreign_keys.append(_foreign_key(kind, written))
            case exp.CheckColumnConstraint():
                require_only(kind, "this")
                checks.append(stored_check(name, kind.this, written.name))
            case _:
                raise NotSupportedError(f"{_constraint_name(kind)} is not supported")
    if len(primary_keys) > 1:
        raise ProgrammingError(f"table '{name}' has more than one primary key")
    required.update(column for key in primary_keys for column in key.columns)
    required.update(each.column for each in identities)
    made = [each.column for each in identities] + [each.column for each in generated]
    _check_values(name, made, defaults)
    return TableDefinition(
        name,
        pa.schema([field.with_nullable(field.name not in required) for field in fields]),
        primary_keys[0] if primary_keys else None,
        tuple(unique_keys),
        tuple(foreign_keys),
        tuple(checks),
        tuple(defaults.items()),
        identities=tuple(identities),
        generated=tuple(generated),
    )


def _kind_of(column: exp.ColumnDef) -> exp.DataType | None:
    """Return the type of a column as it is written, None where it is that of its expression."""
    kind: exp.DataType | None = column.args.get("kind")
    if kind is None and not any(
        isinstance(each.kind, exp.ComputedColumnConstraint) for each in column.constraints
    ):
        raise ProgrammingError(f"the column '{column.name}' has no type")
    return kind


def _check_values(table: str, columns: list[str], defaults: dict[str, str]) -> None:
    """Raise where one of the columns, which make their values, makes them in another way too."""
    for place, column in enumerate(columns):
        if column in columns[:place] or column in defaults:
            raise ProgrammingError(
                f"column '{column}' of table '{table}' has more than one default, identity or"
                " expression that generates it"
            )


def _fields(table: str, columns: list[exp.ColumnDef]) -> list[pa.Field]:
    fields = []
    for column in columns:
        require_only(column, "this", "kind", "constraints")
        kind = _kind_of(column)
        fields.append(pa.field(column.this.name, UNTYPED if kind is None else column_type(kind)))
    check_different(table, [field.name for field in fields])
    return fields


def _collated(fields: list[pa.Field], column: str, kind: exp.Expr) -> list[pa.Field]:
    """Return the fields with the collation of one, as it is written."""
    if any(field.name == column and field_collation(field) for field in fields):
        raise ProgrammingError(f"column '{column}' has two collations")
    written = collation_name(kind.this)
    return [with_collation(each, written) if each.name == column else each for each in fields]


@dataclass(frozen=True, slots=True)
class _Written:
    """A constraint, the name that CONSTRAINT gives it, and the column that it stands behind."""

    kind: exp.Expr
    name: str
    columns: tuple[str, ...] = ()


def _constraints(entries: Sequence[exp.Expr]) -> Iterator[_Written]:
    """Yield the constraints: first those behind columns, then those of the table."""
    for entry in entries:
        if isinstance(entry, exp.ColumnDef):
            own = (entry.this.name,)
            kind = _kind_of(entry)
            if kind is not None and is_serial(kind):
                yield _Written(exp.AutoIncrementColumnConstraint(), "", own)
            for constraint in entry.args.get("constraints") or ():
                require_only(constraint, "this", "kind")
                yield _Written(constraint.args["kind"], _name(constraint), own)
    for entry in entries:
        match entry:
            case exp.ColumnDef():
                pass
            case exp.Constraint():
                for kind in entry.expressions:
                    yield _Written(kind, _name(entry))
            case exp.Identifier():
                raise ProgrammingError(f"the column '{entry.name}' has no type")
            case _:
                yield _Written(entry, "")


def _name(constraint: exp.Expr) -> str:
    return "" if constraint.this is None else str(constraint.this.name)


def _key_columns(kind: exp.Expr, listed: exp.Expr) -> tuple[str, ...]:
    """Return the columns of a key; index parameters are not supported."""
    require_only(kind, "this", "expressions", "include")
    if (parameters := kind.args.get("include")) is not None:
        require_only(parameters)
    return tuple(map(name_in, listed.expressions))


def _foreign_key(kind: exp.Expr, written: _Written) -> ForeignKey:
    """Return a foreign key; `references` is empty where it means the primary key of the table."""
    own = written.columns
    if isinstance(kind, exp.ForeignKey):
        require_only(kind, "expressions", "reference")
        own = tuple(map(name_in, kind.expressions))
        kind = kind.args["reference"]
    actions = {"ON DELETE": "", "ON UPDATE": ""}
    for option in kind.args.get("options") or ():
        word = str(option).upper()
        event = word[: len("ON DELETE")]
        action = word[len(event) + 1 :] if event in actions else word
        if event in actions and action in ACTIONS:
            actions[event] = action
        elif action not in _PLAIN_OPTIONS:
            raise NotSupportedError(f"{word} of a foreign key is not supported")
    require_only(kind, "this", "options")
    target = kind.this
    references: tuple[str, ...] = ()
    if isinstance(target, exp.Schema):
        references = tuple(map(name_in, target.expressions))
        target = target.this
    require_only(target, "this", "catalog", "db")
    name, place = name_in(target.this), qualifiers_of(target)
    if references and len(references) != len(own):
        raise ProgrammingError(
            f"the foreign key ({', '.join(own)}) has {len(own)} columns,"
            f" but it references {len(references)}"
        )
    there = Qualified(name, *reversed(place)) if place else name
    return ForeignKey(own, there, references, written.name, *actions.values())


def _constraint_name(kind: exp.Expr) -> str:
    if type(kind) in _CONSTRAINT_NAMES:
        return _CONSTRAINT_NAMES[type(kind)]
    return f"'{kind.sql(dialect='postgres')}' in CREATE TABLE"


# -- how files are laid out


def _read_layout(table: str, reader: TokenReader, fields: Sequence[pa.Field]) -> FileLayout:
    """Read the options of CREATE TABLE ... WITH, if there are any, and return their layout.

    An option without a column goes for every column (offset_index: for those of text and bytes);
    one with a column goes before it. Raises ProgrammingError for unknown options and columns and
    for bad values.
    """
    chunk_rows: dict[str, int] = {}
    encodings: dict[str, str] = {}
    offset_index: dict[str, bool] = {}
    options = reader.listed(lambda: _option(reader)) if reader.accept("WITH") else ()
    names = [field.name for field in fields]
    for written, option, value in sorted(options, key=lambda entry: entry[0] is not None):
        column = written and known_name(written, names, "column", f" in '{table}'")
        match option:
            case "chunk_rows":
                rows = _count(value)
                chunk_rows.update(dict.fromkeys(names if column is None else [column], rows))
            case "encoding" if column is not None:
                encodings[column] = value
            case "encoding":
                raise ProgrammingError("encoding is an option of a column: write column.encoding")
            case "offset_index":
                texts = [field.name for field in fields if _is_text(field.type)]
                switch = _switch(value)
                offset_index.update(dict.fromkeys(texts if column is None else [column], switch))
            case _:
                near = did_you_mean(option, _LAYOUT_OPTIONS)
                raise ProgrammingError(f"option '{option}' of a table does not exist{near}")
    return FileLayout(
        tuple(chunk_rows.items()), tuple(encodings.items()), tuple(offset_index.items())
    )


def _option(reader: TokenReader) -> tuple[str | None, str, str]:
    """Read `[column.]option = value`; return (column or None, option, value in lower case)."""
    column, option = None, reader.name("the name of an option")
    if reader.accept("."):
        column, option = option, reader.name("the name of an option")
    reader.expect("=")
    sign = "-" if reader.accept("-") else ""
    return column, fold(option), sign + reader.take().text.lower()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _count(value: str) -> int:
    if not value.isdigit() or int(value) == 0:
        raise ProgrammingError(f"chunk_rows is a number above 0, not '{value}'")
    return int(value)


def _switch(value: str) -> bool:
    if value not in _SWITCH:
        raise ProgrammingError(f"offset_index is 'on' or 'off', not '{value}'")
    return _SWITCH[value]
