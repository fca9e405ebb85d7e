"""INSERT ... ON CONFLICT: which rows conflict, and what DO UPDATE makes of those that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.names import is_same
from raydb.planner.plan.nodes import Filter, Plan, Scan
from raydb.sql.bind.binding import context_of, new_column, table_columns
from raydb.sql.bind.expression.expression import bind_condition
from raydb.sql.bind.query.query import statement_binding
from raydb.sql.bind.scope import Scope, table_scope
from raydb.sql.bind.statements.assignment import field_of, target_definition
from raydb.sql.bind.statements.returning import written_target
from raydb.sql.bind.statements.update_delete import Matching, bind_assignments, changed_rows
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.reader import name_in
from raydb.storage.tables.table import UniqueKey, constraint_names
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.ast import Insert
    from raydb.sql.template.parameters import Parameters
    from raydb.storage.tables.table import TableDefinition

EXCLUDED = "excluded"
"""The name that DO UPDATE has for the row which was not inserted."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What becomes of a row with a key that is there: it is skipped, or it updates that row."""

    updates: bool
    keys: tuple[UniqueKey, ...]


def bind_conflict(insert: Insert, catalog: CatalogInfo) -> Conflict | None:
    """Return what an INSERT says of conflicts, None if they are errors.

    Raises ProgrammingError for a target that is no key of the table, and for DO UPDATE without a
    target where the table has several keys.
    """
    definition = target_definition(insert.table, catalog)
    clause = insert.tree.args.get("conflict")
    alternative = insert.tree.args.get("alternative")
    if alternative is not None:
        if clause is not None:
            raise ProgrammingError(f"INSERT OR {alternative} takes no ON CONFLICT")
        updates = alternative == "REPLACE"
        return Conflict(updates, _only_key(definition) if updates else definition.keys)
    if clause is None:
        return None
    require_only(clause, "expressions", "action", "conflict_keys", "constraint", "where")
    updates = clause.args["action"].name.upper() == "DO UPDATE"
    if (constraint := clause.args.get("constraint")) is not None:
        return Conflict(updates, (_named_key(definition, name_in(constraint)),))
    if written := clause.args.get("conflict_keys"):
        return Conflict(updates, (_key_of(definition, [_column(node) for node in written]),))
    return Conflict(updates, _only_key(definition) if updates else definition.keys)


def _column(node: exp.Expr) -> str:
    if isinstance(node, exp.Ordered):
        require_only(node, "this")
        node = node.this
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        raise ProgrammingError("ON CONFLICT takes the names of columns")
    return name_in(node.this)


def _key_of(definition: TableDefinition, columns: list[str]) -> UniqueKey:
    named = {field_of(definition, column).name for column in columns}
    for key in definition.keys:
        if set(key.columns) == named:
            return key
    raise ProgrammingError(
        f"ON CONFLICT ({', '.join(columns)}): there is no such primary or unique key of table "
        f"'{definition.name}'"
    )


def _named_key(definition: TableDefinition, name: str) -> UniqueKey:
    for constraint, known in constraint_names(definition):
        if is_same(known, name) and isinstance(constraint, UniqueKey):
            return constraint
    raise ProgrammingError(
        f"table '{definition.name}' has no primary or unique key with the name '{name}'"
    )


def _only_key(definition: TableDefinition) -> tuple[UniqueKey, ...]:
    if len(definition.keys) != 1:
        raise ProgrammingError(
            f"table '{definition.name}' has {len(definition.keys)} primary and unique keys: "
            "ON CONFLICT (columns) DO UPDATE says which one is meant"
        )
    return definition.keys


def bind_upsert(
    insert: Insert, source: str, catalog: CatalogInfo, parameters: Parameters = ()
) -> Plan:
    """Return a plan of rows that DO UPDATE changes: the number, their columns, RETURNING's.

    The table `source` has a row for each conflict, whose columns are called "0", "1", ...: the
    number of the row that is there, its columns, and those of the row that was not inserted.
    """
    tree = insert.tree
    definition = target_definition(insert.table, catalog)
    with statement_binding(tree, catalog, parameters) as binding:
        fields = catalog.tables[source].definition.schema
        number = new_column(binding, fields.names[0], fields.types[0])
        both = table_columns(binding.numbers, [*definition.schema, *definition.schema])
        pairs = zip(both, fields.names[1:], strict=True)
        scanned = (number, *(replace(column, name=name) for column, name in pairs))
        width = len(definition.schema)
        columns = table_columns(binding.numbers, definition.schema)
        written = written_target(tree.this, insert.table, catalog)
        old, new = scanned[1 : 1 + width], scanned[1 + width :]
        names = definition.schema.names
        own = written.scope(old, names)
        excluded = table_scope(EXCLUDED, new, names)
        # Without a qualifier a name means the row that is there.
        scope = Scope(own.tables + excluded.tables, own.visible)
        plan: Plan = Scan(source, scanned)
        values: dict[str, Expression] = dict(zip(names, new, strict=True))
        if (clause := tree.args.get("conflict")) is not None:
            if (where := clause.args.get("where")) is not None:
                require_only(where, "this")
                plan = Filter(plan, bind_condition(where.this, context_of(binding, scope, "WHERE")))
            values = bind_assignments(clause.expressions, definition, scope, binding)
        values = {**dict(zip(names, old, strict=True)), **values}
        matching = Matching(definition, written, plan, number, columns, Scope())
        return changed_rows(matching, values, tree, binding)
