"""What sqlglot leaves as it was written, settled once for all who read a tree."""

from __future__ import annotations

import re

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.sql.parse.dialect import parse_tokens
from raydb.sql.parse.dollar_quotes import split
from raydb.sql.parse.nodes import walk
from raydb.sql.parse.schema_names import resolve_schema
from raydb.sql.parse.searched_tables import name_searched_tables

_SETTLED = frozenset((exp.Column, exp.WindowSpec, exp.CTE, exp.Table, exp.Lateral))


def settle(tree: exp.Expr, text: str) -> list[exp.Expr]:
    """Let a tree say what sqlglot leaves as it was written: words, paths, tables and schemas.

    Return its nodes as `walk` does, where tables that a search is of come last. Raises
    UnexpectedToken for a list of USING KEY that is no SQL.
    """
    nodes = walk(tree)
    for node in [each for each in nodes if type(each) in _SETTLED]:
        if type(node) is exp.Column:
            if "db" in node.args:
                resolve_schema(node)
        elif type(node) is exp.WindowSpec:
            for part in ("kind", "start_side", "end_side"):
                if (word := node.args.get(part)) is not None:
                    node.set(part, word.upper())
        elif type(node) is exp.CTE and node.args.get("key_expressions"):
            nodes += _read_keys(node, text)
        elif type(node) is exp.Table and type(node.this) is exp.Identifier:  # as most are
            _name_path(node, text)
            resolve_schema(node)
        elif type(node) is exp.Table or type(node) is exp.Lateral:
            searched = list(name_searched_tables(node))
            nodes += searched
            for table in (node, *searched):
                if isinstance(table, exp.Table):
                    _name_path(table, text)
                    resolve_schema(table)
    return nodes


def _name_path(table: exp.Table, text: str) -> None:
    """Tell `FROM 'a.csv'`, a path, from `FROM "a.csv"`, a name."""
    name = table.this
    if isinstance(name, exp.Identifier) and name.quoted and text[name.meta["start"]] == "'":
        table.set("this", exp.Literal.string(name.name))


def _read_keys(query: exp.CTE, text: str) -> list[exp.Expr]:
    """Read the list of USING KEY, which stands as one name in the tree; return its nodes."""
    (whole,) = query.args["key_expressions"]
    start, end = whole.meta["start"], whole.meta["end"]
    # What is before it are spaces, so that names and constants have their places.
    part = re.sub(r"[^\n]", " ", text[:start]) + text[start : end + 1]
    tree = parse_tokens(split(part), part, exp.Condition)
    assert tree is not None
    if tree.find(exp.Parameter, exp.Placeholder):
        raise ProgrammingError("USING KEY can't have parameters")
    keys = [tree.this] if isinstance(tree, exp.Paren) else tree.expressions or [tree]
    query.set("key_expressions", keys)
    return [node for each in keys for node in walk(each)]
