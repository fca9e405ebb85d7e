"""RETURNING: what a statement that changes rows gives of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.query.output import typed
from raydb.sql.bind.query.select_list import Item, bind_items
from raydb.sql.parse.nodes import require_only
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Column, Expression
    from raydb.sql.bind.scope import Scope, Visible


def bind_returning(
    tree: exp.Expr, scope: Scope, binding: Binding, beside: Sequence[Visible] = ()
) -> tuple[tuple[Column, Expression], ...]:
    """Return the columns of a statement's RETURNING, none where it has no such clause.

    beside: what has a name there, but is not one of `*`.
    """
    clause = tree.args.get("returning")
    if clause is None:
        return ()
    require_only(clause, "expressions")
    items: list[Item] = []
    named = replace(scope, visible=(*scope.visible, *beside))
    bind_items(clause.expressions, scope, context_of(binding, named, "RETURNING"), items)
    values = [(item.name, typed(item.expression)) for item in items]
    return tuple((new_column(binding, name, value.type), value) for name, value in values)


def written_name(target: exp.Expr, table: str) -> str:
    """Return the name that a statement has for the table that it writes to, given by its key."""
    if isinstance(target, exp.Schema):
        target = target.this
    alias = target.args.get("alias")
    if alias is None:
        return own_name(target, table)
    require_only(alias, "this")
    return str(alias.this.name)


def own_name(target: exp.Expr, table: str) -> str:
    """Return the name of the table that a statement writes to: its key without a schema."""
    if isinstance(target, exp.Schema):
        target = target.this
    return table[-len(target.name) :]
