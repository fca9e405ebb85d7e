"""Nodes of trees and tokens: those that are not supported raise; none is ignored in silence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from sqlglot import Token, TokenType, exp

from raydb.errors import Error, NotSupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_Node = TypeVar("_Node", bound=exp.Expr)

# How to call what is not supported, where the name of sqlglot's class or argument says too little.
_NODE_NAMES: dict[type[exp.Expr], str] = {
    exp.All: "ALL (SELECT ...)",
    exp.Any: "ANY (...)",
    exp.Array: "an array",
    exp.BitString: "a constant b'...'",
    exp.Bracket: "a subscript [...]",
    exp.ByteString: "a constant e'...'",
    exp.Concat: "a string constant in several parts",
    exp.Describe: "DESCRIBE in place of a query",
    exp.Dot: "a qualified function",
    exp.Escape: "LIKE ... ESCAPE",
    exp.Exists: "EXISTS (SELECT ...)",
    exp.GroupingSets: "GROUPING SETS",
    exp.HexString: "a constant x'...'",
    exp.JSONExtract: "the operator ->",
    exp.JSONExtractScalar: "the operator ->>",
    exp.Kwarg: "a named argument =>",
    exp.Limit: "LIMIT in an aggregate",
    exp.National: "a constant n'...'",
    exp.Order: "ORDER BY in an aggregate",
    exp.PropertyEQ: "the operator :=",
    exp.Subquery: "a subquery in an expression",
    exp.UnicodeString: "a constant u&'...'",
    exp.Var: "DEFAULT",
}
_ARGUMENT_NAMES = {
    "catalog": "the name of a catalog",
    "connect": "CONNECT BY",
    "db": "a name qualified by a schema",
    "except_": "EXCLUDE",
    "joins": "a join in UPDATE or DELETE",
    "laterals": "LATERAL",
    "limit_options": "WITH TIES or PERCENT",
    "locks": "FOR UPDATE",
    "match": "MATCH_RECOGNIZE",
    "nulls": "NULLS NOT DISTINCT",
    "order": "ORDER BY",
    "pivots": "PIVOT",
    "properties": "an option of CREATE TABLE",
    "query": "IN with a query",
    "sample": "TABLESAMPLE",
    "when": "AS OF",
    "with_": "WITH",
    "with_fill": "WITH FILL",
}


def require_only(node: exp.Expr, *known: str) -> None:
    """Raise NotSupportedError if a node has an argument other than the known ones."""
    for name, value in node.args.items():
        if value is None or value is False or name in known or value == []:
            continue
        words = _ARGUMENT_NAMES.get(name, name.strip("_").replace("_", " ").upper())
        raise NotSupportedError(f"{words} is not supported")


def unsupported(node: exp.Expr) -> NotSupportedError:
    """Return the error for a kind of node that RayDB does not bind."""
    name = _NODE_NAMES.get(type(node))
    if name is None:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).upper()
    return NotSupportedError(f"{name} is not supported")


def locate(error: Error, node: exp.Expr) -> None:
    """Give an error the position where a node begins, unless it has a nearer one."""
    if error.position is None:
        places = [part.meta for part in node.walk() if "start" in part.meta]
        if places:
            first = min(places, key=lambda place: place["start"])
            # sqlglot counts the column of a token at its end.
            error.position = first["line"], first["col"] - (first["end"] - first["start"])


# What most arguments of nodes are; no node is below them.
_LEAVES = frozenset({str, bool, type(None), exp.Identifier, exp.Literal, exp.Null, exp.Boolean})


def before_dot(node: exp.Expr) -> exp.Expr:
    """Return what stands before the dot of `x.f()` or `t.x.f()`; sqlglot leaves its names bare."""
    match node:
        case exp.Identifier():
            return exp.Column(this=node)
        case exp.Dot(this=exp.Identifier() as table, expression=exp.Identifier() as column):
            return exp.Column(this=column, table=table)
        case _:
            return node


def nodes_of(tree: exp.Expr, *kinds: type[_Node]) -> list[_Node]:
    """Return the nodes of some kinds in a tree, itself too, in sqlglot's order: level by level.

    The kinds are none of `_LEAVES`. sqlglot's `find_all` resumes three generators for each node:
    with it a sixth of the time of a new text was spent here.
    """
    return [node for node in walk(tree) if isinstance(node, kinds)]


def walk(tree: exp.Expr) -> list[exp.Expr]:
    """Return the nodes of a tree but those of `_LEAVES`, in sqlglot's order: level by level."""
    nodes: list[exp.Expr] = [tree]
    for node in nodes:
        for value in node.args.values():
            kind = type(value)
            if kind is list:
                nodes += [each for each in value if _IS_INNER[type(each)]]
            elif _IS_INNER[kind]:
                nodes.append(value)
    return nodes


class _IsInner(dict[type, bool]):
    """Whether values of a type are nodes that `walk` returns."""

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = issubclass(kind, exp.Expr) and kind not in _LEAVES
        return found


_IS_INNER = _IsInner()


def unlink(tree: exp.Expr) -> None:
    """Let the nodes of a tree that is read no more forget those below them.

    A node and what is below it know each other, so they would wait for Python's garbage collector:
    a tenth of the time of short queries was its walks.
    """
    nodes = nodes_read(tree)
    for node in nodes:
        node.args.clear()
    nodes.clear()


_WORDS = "words"


class _Words:
    """What a tree was made of; a copy, which may be changed, knows nothing of it.

    kinds: those of its tokens. text: what they are in, in lower case. nodes: those of `walk`.
    """

    __slots__ = ("kinds", "nodes", "text")

    def __init__(self, kinds: frozenset[TokenType], text: str, nodes: list[exp.Expr]) -> None:
        self.kinds, self.text, self.nodes = kinds, text, nodes

    def __deepcopy__(self, _: object) -> None:
        return None


def note_words(tree: exp.Expr, tokens: Sequence[Token], text: str, nodes: list[exp.Expr]) -> None:
    """Let a tree know the tokens that it was made of, the text that has them, and its nodes."""
    kinds = frozenset([token.token_type for token in tokens])
    tree.meta[_WORDS] = _Words(kinds, text.lower(), nodes)


def forget_words(tree: exp.Expr) -> None:
    """Let a tree that gets other nodes know no more what it was made of."""
    tree.meta.pop(_WORDS, None)


def may_have(tree: exp.Expr, *kinds: TokenType) -> bool:
    """Tell whether nodes that are written by one of these words may be in a tree."""
    words = tree.meta.get(_WORDS)
    return words is None or not words.kinds.isdisjoint(kinds)


def may_name(node: exp.Expr, name: str) -> bool:
    """Tell whether the statement of a node may have a name, given in lower case."""
    words = node.root().meta.get(_WORDS)
    return words is None or name in words.text


def nodes_read(tree: exp.Expr) -> list[exp.Expr]:
    """Return what `walk` does, without a walk where the tree is as it was read."""
    words = tree.meta.get(_WORDS)
    return walk(tree) if words is None else words.nodes


class _RefuseDeepNesting:
    """What every statement enters some times: a generator would take longer."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if error is not None and isinstance(error, RecursionError):
            raise _too_deep() from None


_REFUSING = _RefuseDeepNesting()


def refuse_deep_nesting() -> _RefuseDeepNesting:
    """Turn Python's limit on recursion, within, into an error about the statement."""
    return _REFUSING


def _too_deep() -> NotSupportedError:
    return NotSupportedError("the statement is nested too deeply")


MOST_NESTED = 200
"""How many brackets are open at most; for each the parser takes up to 3 KB of the stack."""

# For JOINs whose ON or USING is still to come, sqlglot takes twice the time for each one more.
_MOST_JOINS = 10

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_CONSTANTS = (TokenType.NUMBER, TokenType.STRING)
_ENDS_CHAINS = (TokenType.COMMA, TokenType.AND, TokenType.OR)
_QUERIES = (TokenType.FROM, TokenType.DESCRIBE, TokenType.DESC, TokenType.SUMMARIZE)
_NESTED_TYPES = (TokenType.STRUCT, TokenType.MAP, TokenType.ARRAY, TokenType.LIST, TokenType.RANGE)


# What each further level of tokens below is written with; a bracket [ may be two.
_DEEPENING = ("(", "[", "[", "{", "<", ":=", "AT", "WITH", "FROM", "DESC", "SUMMARIZE")


def may_nest_deeply(text: str) -> bool:
    """Tell whether `refuse_deep_tokens` may find the tokens of a text too deep."""
    words = text.upper()
    levels = sum(map(words.count, _DEEPENING))
    return levels > MOST_NESTED or words.count("JOIN") > _MOST_JOINS


def refuse_deep_tokens(tokens: Sequence[Token]) -> None:
    """Raise NotSupportedError for tokens at which the parser would call itself too deeply.

    Compiled, it counts no levels and would overflow the stack. Beside brackets it does so for
    JOINs without a condition, WITH behind WITH, FROM FROM, `x[1][1]`, AT TIME ZONE, `:=` and
    `TYPE<`; for operators before their operand see `dialect`.
    """
    around: list[tuple[int, int, int]] = []  # the counts outside of each bracket that is open
    joins, kept, chain = 0, 0, 0
    before = TokenType.SEMICOLON
    for token in tokens:
        kind = token.token_type
        if kind in _CONSTANTS:
            pass
        elif kind in _OPENING:
            chain += kind is TokenType.L_BRACKET and before is TokenType.R_BRACKET
            around.append((joins, kept, chain))
            joins, kept, chain = 0, kept + chain + 1, 0
        elif kind in _CLOSING and around:
            joins, kept, chain = around.pop()
        elif kind is TokenType.JOIN and before not in (TokenType.CROSS, TokenType.NATURAL):
            joins += 1
        elif kind in (TokenType.ON, TokenType.USING):
            joins = max(joins - 1, 0)
        elif (
            kind is TokenType.WITH
            or (kind is TokenType.LT and before in _NESTED_TYPES)
            or (kind in _QUERIES and before in _QUERIES)
        ):
            kept += 1
        elif kind in _ENDS_CHAINS:
            chain = 0
        elif kind is TokenType.COLON_EQ or token.text.upper() == "AT":
            chain += 1
        if joins > _MOST_JOINS or kept + chain > MOST_NESTED:
            raise _too_deep()
        before = kind


def collation_name(node: exp.Expr) -> str:
    """Return the name behind COLLATE, which sqlglot takes for columns: NOACCENT.NOCASE."""
    if isinstance(node, exp.Column):
        parts = [node.args.get(part) for part in ("catalog", "db", "table", "this")]
        names = [part.name for part in parts if part]
        # As psql writes the collation of what has none.
        name = ".".join(names)
        return "BINARY" if name.lower() == "pg_catalog.default" else name
    return node.name
