"""Names with a schema: `main.t` is `t`, and `information_schema.tables` a table function's call."""

from __future__ import annotations

from sqlglot import exp

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import fold
from raydb.planner.catalog import MAIN
from raydb.sql.parse.nodes import nodes_of

INFORMATION = "information_schema"
"""The schema of what describes the tables and views."""


def check_schema(name: str) -> None:
    """Raise ProgrammingError unless a schema is that of the tables."""
    if fold(name) == INFORMATION:
        raise ProgrammingError(f"the schema '{INFORMATION}' can only be read")
    if fold(name) != MAIN:
        raise unknown_schema(name)


def unknown_schema(name: str) -> ProgrammingError:
    """Return the error for a schema that there is not."""
    near = did_you_mean(name, (MAIN, INFORMATION))
    return ProgrammingError(f"schema '{name}' does not exist{near}")


def resolve_schemas(tree: exp.Expr) -> exp.Expr:
    """Return a tree without the schemas in its names; raises ProgrammingError for unknown ones.

    A table of the information schema becomes a call in FROM, which nothing can write to.
    """
    for node in nodes_of(tree, exp.Table, exp.Column):
        if (written := node.args.get("db")) is None:
            continue
        schema = fold(written.name)
        if schema not in (MAIN, INFORMATION):
            if isinstance(node, exp.Column):
                continue  # it may be a field of a struct, as in s.inner.field
            raise unknown_schema(written.name)
        node.set("db", None)
        if schema == INFORMATION and isinstance(node, exp.Table):
            table = fold(node.this.name)
            if node.args.get("alias") is None:
                name = exp.to_identifier(table, quoted=True)
                node.set("alias", exp.TableAlias(this=name))
            node.set("this", exp.Anonymous(this=f"{INFORMATION}.{table}"))
    return tree
