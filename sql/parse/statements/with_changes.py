"""WITH whose queries change rows, as the statements that are run one after the other.

WITH gone AS (DELETE FROM t RETURNING *) INSERT INTO log SELECT * FROM gone

DELETE FROM t RETURNING *                          its rows are the table "rows of gone"
WITH gone AS (SELECT * FROM "rows of gone") INSERT INTO log SELECT * FROM gone
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.sql import ast
from raydb.sql.parse.nodes import forget_words, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
"""The nodes of statements that change rows."""


def split_changes(tree: exp.Expr, read: Callable[[exp.Expr], ast.Asked]) -> ast.WithChanges | None:
    """Return a tree whose WITH changes rows as its parts, None for another one.

    read: returns the statement that a tree without such a WITH is. Raises ProgrammingError for a
    reference to what has no RETURNING.
    """
    clause = tree.args.get("with_")
    if clause is None:
        return None
    queries = clause.expressions
    written = [place for place, each in enumerate(queries) if isinstance(each.this, CHANGES)]
    if not written:
        return None
    if clause.args.get("recursive"):
        word = queries[written[0]].this.key.upper()
        raise NotSupportedError(f"{word} in WITH RECURSIVE is not supported")
    forget_words(tree)
    count = written[-1] + 1
    parts: list[ast.Part] = []
    known: list[exp.Expr] = []
    silent: dict[str, str] = {}
    for query in queries[:count]:
        name = query.args["alias"].this.name
        part = query.this
        _refuse_silent(part, silent)
        rows = f"rows of {name}"
        parts.append(ast.Part(rows, read(_knowing(part, known))))
        if isinstance(part, CHANGES) and part.args.get("returning") is None:
            silent[fold(name)] = name
            continue
        table = exp.Table(this=exp.to_identifier(rows, quoted=True))
        query.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=table)))
        known.append(query)
    clause.set("expressions", [*known, *queries[count:]])
    if not clause.expressions:
        tree.set("with_", None)
    _refuse_silent(tree, silent)
    return ast.WithChanges(tuple(parts), read(tree))


def _knowing(part: exp.Expr, known: list[exp.Expr]) -> exp.Expr:
    """Return a query or a change before which others are named; its own WITH may hide these."""
    own = part.args.get("with_")
    queries = [] if own is None else own.expressions
    hidden = {fold(each.args["alias"].this.name) for each in queries}
    seen = [each.copy() for each in known if fold(each.args["alias"].this.name) not in hidden]
    if not seen:
        return part
    if own is None:
        part.set("with_", exp.With(expressions=seen))
    else:
        own.set("expressions", [*seen, *queries])
    return part


def _refuse_silent(tree: exp.Expr, silent: dict[str, str]) -> None:
    """Raise ProgrammingError for a reference to a change that gives no rows."""
    for table in nodes_of(tree, exp.Table) if silent else ():
        if not table.db and (name := silent.get(fold(table.name))) is not None:
            raise ProgrammingError(f"'{name}' has no RETURNING, so there are no rows of it")
