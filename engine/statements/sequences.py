"""CREATE and DROP SEQUENCE, and the sequences of identity columns, which come and go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb import sql
from raydb.engine.statements.dependents import renamed_comments, without_comments
from raydb.engine.statements.names import names_to_drop
from raydb.errors import ProgrammingError
from raydb.late import pc
from raydb.names import find_object, is_same, known_object
from raydb.sql import ast
from raydb.storage.tables.alter import redefine
from raydb.storage.tables.sequence import MOST, Sequence, SequenceOptions
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import pyarrow as pa

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.storage.tables.sequence import Identity
    from raydb.storage.tables.table import Table, TableDefinition


def create_sequence(statement: ast.CreateSequence, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with a new sequence; the one that it replaces may be that of defaults."""
    name = find_object(statement.name, snapshot.sequences, "sequence") or str(statement.name)
    if name in snapshot.sequences:
        if statement.if_not_exists:
            return snapshot
        if not statement.or_replace:
            raise ProgrammingError(f"sequence '{name}' exists already")
        for table, column in _users(name, snapshot):
            if any(each.sequence == name for each in table.definition.identities):
                raise _needed("replaced", name, table, column)
        snapshot = without_comments(snapshot, "sequence", name)
    return snapshot.with_sequence(Sequence(name, statement.options))


def drop_sequences(statement: ast.Drop, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without some sequences; CASCADE drops the defaults that need them."""
    names = names_to_drop("sequence", statement.names, snapshot.sequences, statement.if_exists)
    for name in names:
        if (owner := _owner(name, snapshot)) is not None:
            raise _needed("dropped", name, owner[0], owner[1].column)
    snapshot = _without_defaults(names, snapshot, cascade=statement.cascade)
    left = {name: each for name, each in snapshot.sequences.items() if name not in names}
    return replace(snapshot, sequences=left)


def _without_defaults(names: Iterable[str], snapshot: Snapshot, *, cascade: bool) -> Snapshot:
    """Return the snapshot without the defaults that need some sequences, which are dropped.

    Raises ProgrammingError for one without CASCADE.
    """
    for name in names:
        for table, column in list(_users(name, snapshot)):
            if not cascade:
                raise _needed("dropped", name, table, column, "; CASCADE drops it")
            table = snapshot.tables[table.name]  # noqa: PLW2901  (an earlier default is gone)
            kept = tuple(each for each in table.definition.defaults if each[0] != column)
            definition = replace(table.definition, defaults=kept)
            snapshot = snapshot.with_table(redefine(table, definition, snapshot.tables))
    return snapshot


def without_tables(names: Collection[str], snapshot: Snapshot, *, cascade: bool) -> Snapshot:
    """Return the snapshot without some tables, and the sequences of their columns.

    Raises ProgrammingError where a default of another table needs one, unless that goes as well.
    """
    owned = [
        each.sequence for name in names for each in snapshot.tables[name].definition.identities
    ]
    for name in names:
        snapshot = snapshot.without_table(name)
    return _without_defaults(owned, snapshot, cascade=cascade)


def check_all_defaults(snapshot: Snapshot, what: str) -> None:
    """Raise ProgrammingError for a default that lacks its sequence; `what` is not possible then."""
    for table in snapshot.tables.values():
        for column, text in table.definition.defaults:
            for name in sql.sequences_of(text):
                if find_object(name, snapshot.sequences, "sequence") is None:
                    raise ProgrammingError(
                        f"{what}: column '{column}' of table '{table.name}' needs sequence '{name}'"
                    )


def _users(name: str, snapshot: Snapshot) -> Iterator[tuple[Table, str]]:
    """Yield the columns whose default takes values of a sequence."""
    for table in snapshot.tables.values():
        for column, text in table.definition.defaults:
            if any(is_same(name, each) for each in sql.sequences_of(text)):
                yield table, column


def _needed(verb: str, name: str, table: Table, column: str, hint: str = "") -> ProgrammingError:
    return ProgrammingError(
        f"sequence '{name}' cannot be {verb}: column '{column}' of table '{table.name}'"
        f" needs it{hint}"
    )


def check_defaults(definition: TableDefinition, snapshot: Snapshot) -> None:
    """Raise ProgrammingError for a default that names a sequence which does not exist."""
    for _, text in definition.defaults:
        for name in sql.sequences_of(text):
            known_object(name, snapshot.sequences, "sequence")


def with_identities(
    definition: TableDefinition, snapshot: Snapshot, context: StatementContext
) -> tuple[TableDefinition, Snapshot]:
    """Return a new table's definition, and the snapshot with a sequence for each identity."""
    identities, defaults = [], [*definition.defaults]
    for identity in definition.identities:
        name = f"{definition.name}_{identity.column}_seq"
        number = 0
        while name in snapshot.sequences:
            number += 1
            name = f"{definition.name}_{identity.column}_seq{number}"
        sequence = Sequence(name, identity.options)
        snapshot = snapshot.with_sequence(sequence)
        context.sequences.include(sequence)
        identities.append(replace(identity, sequence=name))
        defaults.append((identity.column, sql.nextval_text(name)))
    changed = replace(definition, identities=tuple(identities), defaults=tuple(defaults))
    return changed, snapshot


def without_column(name: str, column: str, snapshot: Snapshot, *, cascade: bool) -> Snapshot:
    """Return the snapshot without the sequence of a column that is dropped from a table."""
    table = snapshot.tables[name]
    own = {each.sequence for each in table.definition.identities if each.column == column}
    kept = tuple(each for each in table.definition.identities if each.column != column)
    definition = replace(table.definition, identities=kept)
    left = {name: each for name, each in snapshot.sequences.items() if name not in own}
    after = replace(snapshot.with_table(replace(table, definition=definition)), sequences=left)
    return _without_defaults(own, after, cascade=cascade)


def restarted(table: Table, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot in which the identities of a table begin again."""
    for identity in table.definition.identities:
        sequence = snapshot.sequences[identity.sequence]
        snapshot = snapshot.with_sequence(sequence.restarted())
    return snapshot


def alter_sequence(
    statement: ast.AlterSequence | ast.RenameSequence, snapshot: Snapshot
) -> Snapshot:
    """Return the snapshot in which a sequence has another name, other options, or begins again."""
    if statement.if_exists and find_object(statement.name, snapshot.sequences, "sequence") is None:
        return snapshot
    sequence = snapshot.sequences[known_object(statement.name, snapshot.sequences, "sequence")]
    owner = _owner(sequence.name, snapshot)
    if isinstance(statement, ast.RenameSequence):
        return _renamed(sequence, statement.to, owner, snapshot)
    options = _altered_options(sequence, statement, owner)
    if statement.restarts:
        altered = Sequence(sequence.name, options).restarted(statement.value)
    else:
        altered = sequence.altered(sequence.name, options)
    if owner is not None:
        table, identity = owner
        snapshot = _with_identity(table, identity, replace(identity, options=options), snapshot)
    return snapshot.with_sequence(altered)


def _owner(name: str, snapshot: Snapshot) -> tuple[Table, Identity] | None:
    """Return the table and the identity that a sequence is of, None where it is of none."""
    for table in snapshot.tables.values():
        for identity in table.definition.identities:
            if identity.sequence == name:
                return table, identity
    return None


def _altered_options(
    sequence: Sequence, statement: ast.AlterSequence, owner: tuple[Table, Identity] | None
) -> SequenceOptions:
    old, most = sequence.options, MOST
    if owner is not None:
        table, identity = owner
        most = 2 ** (table.definition.schema.field(identity.column).type.bit_width - 1) - 1
    known = {
        "START": old.start,
        "INCREMENT": old.increment,
        "MINVALUE": old.low,
        "MAXVALUE": old.high,
    }
    start, increment, low, high = {**known, **statement.numbers}.values()
    cycles = old.cycles if statement.cycles is None else statement.cycles
    assert increment is not None
    return SequenceOptions.of(sequence.name, start, increment, low, high, cycles=cycles, most=most)


def _renamed(
    sequence: Sequence, to: str, owner: tuple[Table, Identity] | None, snapshot: Snapshot
) -> Snapshot:
    """Return the snapshot in which a sequence, and whatever default needs it, has another name."""
    taken = find_object(to, snapshot.sequences, "sequence")
    if taken is not None and (taken != sequence.name or taken == to):
        raise ProgrammingError(f"sequence '{taken}' exists already")
    if owner is not None:
        table, identity = owner
        snapshot = _with_identity(table, identity, replace(identity, sequence=to), snapshot)
    for name, column in [(each.name, column) for each, column in _users(sequence.name, snapshot)]:
        table = snapshot.tables[name]
        defaults = dict(table.definition.defaults)
        defaults[column] = sql.renamed_sequence(defaults[column], sequence.name, to)
        definition = replace(table.definition, defaults=tuple(defaults.items()))
        snapshot = snapshot.with_table(replace(table, definition=definition))
    sequences = {
        to if name == sequence.name else name: each for name, each in snapshot.sequences.items()
    }
    sequences[to] = sequence.altered(to, sequence.options)
    return renamed_comments(replace(snapshot, sequences=sequences), "sequence", sequence.name, to)


def _with_identity(
    table: Table, identity: Identity, changed: Identity, snapshot: Snapshot
) -> Snapshot:
    identities = tuple(
        changed if each == identity else each for each in table.definition.identities
    )
    definition = replace(table.definition, identities=identities)
    return snapshot.with_table(replace(table, definition=definition))


def restart_identity(column: str, value: int | None, table: Table, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot in which the identity of a column begins again."""
    own = [each.sequence for each in table.definition.identities if each.column == column]
    if not own:
        raise ProgrammingError(f"column '{column}' of table '{table.name}' is no identity")
    return snapshot.with_sequence(snapshot.sequences[own[0]].restarted(value))


def pass_over_chosen(rows: pa.Table, definition: TableDefinition, snapshot: Snapshot) -> None:
    """Let identities go on behind the values that new rows have, which others may have chosen."""
    for identity in definition.identities:
        sequence = snapshot.sequences[identity.sequence]
        ends = pc.min_max(rows.column(identity.column)).as_py()
        farthest = ends["max" if identity.options.increment > 0 else "min"]
        if farthest is not None:
            sequence.pass_over(farthest)


def identity_of_one(rows: pa.Table, definition: TableDefinition) -> int | None:
    """Return the identity of a single row, None for several rows and for a table without one."""
    if rows.num_rows != 1 or not definition.identities:
        return None
    value: int = rows.column(definition.identities[0].column)[0].as_py()
    return value
