"""The first argument of vector_search() is a table, though it is written like a column.

Made one in the tree, it is found wherever a statement's tables are looked for.
"""

from __future__ import annotations

from sqlglot import exp

VECTOR_SEARCH = "vector_search"


def is_vector_search(node: exp.Expr) -> bool:
    """Say whether a source in FROM is a call of vector_search()."""
    call = node.this
    return isinstance(call, exp.Anonymous) and call.name.lower() == VECTOR_SEARCH


def name_searched_tables(tree: exp.Expr) -> exp.Expr:
    """Return a tree in which the first argument of each vector_search() is a table."""
    for node in list(tree.find_all(exp.Table, exp.Lateral)):
        if is_vector_search(node) and node.this.expressions:
            first = node.this.expressions[0]
            if isinstance(first, exp.Column):
                table = exp.Table(this=first.this, db=first.args.get("table"))
                node.this.set("expressions", [table, *node.this.expressions[1:]])
    return tree
