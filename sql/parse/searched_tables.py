"""The first argument of vector_search() and of motif functions is a table, written like a column.

Made one in the tree, it is found wherever a statement's tables are looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

VECTOR_SEARCH = "vector_search"
MOTIF_FUNCTIONS = ("motif_count", "motif_sample")

# An error lists the names of so many columns.
_MAX_NAMES = 12


def is_vector_search(node: exp.Expr) -> bool:
    """Say whether a source in FROM is a call of vector_search()."""
    return _function(node) == VECTOR_SEARCH


def is_motif_search(node: exp.Expr) -> bool:
    """Say whether a source in FROM is a call of motif_count() or motif_sample()."""
    return _function(node) in MOTIF_FUNCTIONS


def name_columns(name: str, known: Sequence[str]) -> str:
    """Return what an error adds about a column that is not there: a near name, or all names."""
    few = f"; the columns are {', '.join(known)}" if 0 < len(known) <= _MAX_NAMES else ""
    return did_you_mean(name, known) or few


def _function(node: exp.Expr) -> str:
    call = node.this
    return call.name.lower() if isinstance(call, exp.Anonymous) else ""


def name_searched_tables(tree: exp.Expr) -> exp.Expr:
    """Return a tree in which the first argument of each such call is what FROM would make of it."""
    waiting = list(tree.find_all(exp.Table, exp.Lateral))
    for node in waiting:
        if (is_vector_search(node) or is_motif_search(node)) and node.this.expressions:
            table = _as_table(node.this.expressions[0])
            if table is not None:
                node.this.set("expressions", [table, *node.this.expressions[1:]])
                waiting.append(table)
    return tree


def _as_table(argument: exp.Expr) -> exp.Table | None:
    """Return the name of a table, a file or a call as a source, None for another argument."""
    while isinstance(argument, exp.Paren):
        argument = argument.this
    match argument:
        case exp.Column():
            return exp.Table(this=argument.this, db=argument.args.get("table"))
        case exp.Literal(is_string=True):
            return exp.Table(this=argument)
        case exp.Anonymous() if argument.name.lower() != "unnest":  # no rows of a table
            return exp.Table(this=argument)
        case _:
            return None
