"""EXPLAIN's words for what INSERT, UPDATE, DELETE and MERGE would change."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from sqlglot import exp

from raydb.sql import ast
from raydb.sql.bind.expression.row_values import row_nodes
from raydb.sql.bind.statements.assignment import field_of, target_definition
from raydb.sql.bind.statements.merge import action_words
from raydb.sql.bind.statements.upsert import bind_conflict
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.written import text_of
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.catalog import CatalogInfo
    from raydb.storage.tables.table import TableDefinition


@dataclass(frozen=True, slots=True)
class Changed:
    """The node at the top of a statement's plan: its kind, what it writes to, and what follows."""

    node: str
    summary: str
    details: Mapping[str, str]


def describe_change(statement: ast.Dml, catalog: CatalogInfo) -> Changed:
    """Return what a statement would change; it binds, so its names are known."""
    tree, table = statement.tree, statement.table
    details: dict[str, str] = {}
    match statement:
        case ast.Insert():
            node, columns = "InsertRows", _inserted(statement, catalog)
            conflict = bind_conflict(statement, catalog)
            if conflict is not None:
                keys = ", ".join(f"({', '.join(key.columns)})" for key in conflict.keys)
                action = "DO UPDATE" if conflict.updates else "DO NOTHING"
                details["on conflict"] = f"{keys} {action}".lstrip()
        case ast.Update():
            node, columns = "UpdateRows", _assigned(tree, target_definition(table, catalog))
        case ast.Delete():
            node, columns = "DeleteRows", ()
            cascaded = _cascaded(table, catalog)
            if cascaded:
                details["cascades to"] = ", ".join(cascaded)
        case ast.Merge():
            node, columns = "MergeRows", ()
            details |= action_words(tree)
        case _:
            assert_never(statement)
    returning = tree.args.get("returning")
    if returning is not None:
        details["returning"] = ", ".join(text_of(each) for each in returning.expressions)
    return Changed(node, f"{table} ({', '.join(columns)})" if columns else table, details)


def _inserted(statement: ast.Insert, catalog: CatalogInfo) -> tuple[str, ...]:
    """Return the columns that an INSERT names, or all of them."""
    target, definition = statement.tree.this, target_definition(statement.table, catalog)
    if isinstance(target, exp.Schema):
        return tuple(field_of(definition, name_in(each)).name for each in target.expressions)
    return tuple(definition.given_schema.names)


def _assigned(tree: exp.Expr, definition: TableDefinition) -> tuple[str, ...]:
    """Return the columns that the assignments of an UPDATE change, in their order."""
    targets = [each for part in tree.expressions for each in (row_nodes(part.this) or [part.this])]
    return tuple(field_of(definition, name_in(each.this)).name for each in targets)


def _cascaded(table: str, catalog: CatalogInfo) -> tuple[str, ...]:
    """Return the tables whose rows may go or change with those of a table, directly or not."""
    found = {table: None}
    waiting = [table]
    while waiting:
        target = waiting.pop()
        for name, info in catalog.tables.items():
            keys = info.definition.foreign_keys
            if name not in found and any(k.table == target and k.on_delete for k in keys):
                found[name] = None
                waiting.append(name)
    return tuple(found)[1:]
