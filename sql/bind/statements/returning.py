"""RETURNING: what a statement that changes rows gives of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.sql.bind.binding import Binding, context_of, new_column
from raydb.sql.bind.query.output import typed
from raydb.sql.bind.query.select_list import Item, bind_items
from raydb.sql.bind.scope import table_scope
from raydb.sql.parse.nodes import require_only
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.catalog import CatalogInfo, Place
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


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement writes to, as the statement names it: `own` without a schema.

    alias: '' where it has none; place: its database and its schema.
    """

    own: str
    alias: str
    place: Place

    def scope(
        self,
        columns: Sequence[Column],
        names: Sequence[str] = (),
        row_number: Column | None = None,
    ) -> Scope:
        """Return the scope of the table; see `table_scope`."""
        place = ("", "") if self.alias else self.place
        return table_scope(self.alias or self.own, columns, names, self.own, place, row_number)


def written_target(node: exp.Expr, table: str, catalog: CatalogInfo) -> Target:
    """Return the table that a statement writes to, given by its key and how it is written."""
    if isinstance(node, exp.Schema):
        node = node.this
    name = ""
    if (alias := node.args.get("alias")) is not None:
        require_only(alias, "this")
        name = str(alias.this.name)
    return Target(table[-len(node.name) :], name, catalog.relations.place_of(table))
