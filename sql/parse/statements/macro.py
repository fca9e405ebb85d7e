"""CREATE MACRO: names for expressions and for queries, with parameters.

    add(a, b := 5) AS a + b
    top(n) AS TABLE SELECT * FROM sale ORDER BY amount DESC LIMIT n
    area(r) AS 3.14 * r * r, (a, b) AS a * b

The database keeps a definition as text, from its first parenthesis on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from raydb.errors import ProgrammingError
from raydb.names import fold
from raydb.sql import ast
from raydb.sql.parse.nodes import nodes_of
from raydb.sql.parse.query import query_of, refuse_parameters
from raydb.sql.parse.reader import TokenReader, tokenize
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import Token

_ASSIGNS = (":=", "=>", "=")


@dataclass(frozen=True, eq=False, slots=True)
class MacroParameter:
    """A parameter of a macro: its folded name, and its type and its default where it has them."""

    name: str
    type: exp.DataType | None
    default: exp.Expr | None


@dataclass(frozen=True, eq=False, slots=True)
class Overload:
    """A definition of a macro: what stands for a call with such arguments; `text` is that of it."""

    parameters: tuple[MacroParameter, ...]
    body: exp.Expr
    is_table: bool
    text: str

    @property
    def signature(self) -> str:
        """The parameters as messages name them."""
        return f"({', '.join(each.name for each in self.parameters)})"


def read_macro(reader: TokenReader, replace: bool) -> ast.CreateMacro:
    """Read CREATE MACRO or CREATE FUNCTION, these words being read."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise ProgrammingError("CREATE OR REPLACE MACRO takes no IF NOT EXISTS")
    name = str(reader.relation("the name of a macro"))
    tokens = reader.rest()
    if not tokens:
        raise reader.error("'('")
    overloads = _overloads(reader.text, tokens)
    _check(name, overloads)
    text = reader.text[tokens[0].start : tokens[-1].end + 1]
    return ast.CreateMacro(name, text, overloads[0].is_table, if_not_exists, replace)


@lru_cache(maxsize=256)
def macro_of(text: str) -> tuple[Overload, ...]:
    """Return the overloads of a definition; errors as in `parse`.

    Its trees are for all that ask, and their nodes tell no place in a text.
    """
    (tokens,) = tokenize(text)
    overloads = _overloads(text, tokens)
    for overload in overloads:
        forget_places(overload.body)
        for each in overload.parameters:
            if each.default is not None:
                forget_places(each.default)
    return overloads


def forget_places(tree: exp.Expr) -> None:
    """Let the nodes of a tree tell no place in a text."""
    for node in tree.walk():
        node.meta.clear()


def _overloads(text: str, tokens: tuple[Token, ...]) -> tuple[Overload, ...]:
    parts = list(_parts(tokens))
    return tuple(_overload(text, tokens[start:stop]) for start, stop in parts)


def _parts(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield where each definition begins and ends: behind a comma come parentheses and AS."""
    start = 0
    depth = 0
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.COMMA and not depth and _begins(tokens, place + 1):
            yield start, place
            start = place + 1
        depth += (token.text in "([{") - (token.text in ")]}")
    yield start, len(tokens)


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Tell whether `( ... ) AS` stands at a place; of a query that is followed by TABLE."""
    depth = 0
    first = place
    while place < len(tokens):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        place += 1
        if not depth:
            break
    words = [each.text.upper() for each in tokens[place : place + 2]]
    is_table = "TABLE" in [each.text.upper() for each in tokens[:first]]
    return place > first + 1 and words[: 1 + is_table] == ["AS", "TABLE"][: 1 + is_table]


def _overload(text: str, tokens: tuple[Token, ...]) -> Overload:
    reader = TokenReader(text, tokens)
    if not reader.at_any("("):
        raise reader.error("'('")
    inside = TokenReader(text, reader.parenthesised())
    parameters: tuple[MacroParameter, ...] = ()
    if inside.peek() is not None:
        parameters = inside.separated(lambda: _parameter(inside))
        inside.finish()
    reader.expect("AS")
    is_table = reader.accept("TABLE")
    body = query_of(text, reader.rest()).tree if is_table else reader.scalar()
    reader.finish()
    refuse_parameters(body, "a macro")
    written = text[tokens[0].start : tokens[-1].end + 1]
    return Overload(parameters, body, is_table, written)


def _parameter(reader: TokenReader) -> MacroParameter:
    name = fold(reader.name("the name of a parameter"))
    data_type = None
    if not reader.at_any(",", *_ASSIGNS) and reader.peek() is not None:
        data_type = reader.data_type(*_ASSIGNS)
    default = None
    if reader.accept_any(*_ASSIGNS) is not None:
        default = reader.scalar()
        if next(iter(nodes_of(default, exp.Column)), None) is not None:
            raise ProgrammingError(f"the default of parameter '{name}' cannot have columns")
    return MacroParameter(name, data_type, default)


def _check(name: str, overloads: Sequence[Overload]) -> None:
    """Raise ProgrammingError for parameters that are ambiguous and names that nothing has."""
    for overload in overloads:
        if overload.is_table != overloads[0].is_table:
            raise ProgrammingError(f"the macro '{name}' gives a table or a value, not both")
        seen: set[str] = set()
        has_default = False
        for each in overload.parameters:
            if each.name in seen:
                raise ProgrammingError(f"the macro '{name}' has two parameters '{each.name}'")
            if has_default and each.default is None:
                raise ProgrammingError(
                    f"parameter '{each.name}' of the macro '{name}' needs a default: one before it"
                    " has one"
                )
            seen.add(each.name)
            has_default = has_default or each.default is not None
        if not overload.is_table:
            _check_names(name, overload.body, seen)
    counts = [
        (len(each.parameters), *(str(one.type) for one in each.parameters)) for each in overloads
    ]
    twice = next((each for place, each in enumerate(counts) if each in counts[:place]), None)
    if twice is not None:
        raise ProgrammingError(
            f"the macro '{name}' is defined twice for {twice[0]}"
            f" argument{'' if twice[0] == 1 else 's'}"
        )


def _check_names(macro: str, body: exp.Expr, known: set[str]) -> None:
    """Raise ProgrammingError for a column outside of the body's queries that is no parameter."""
    if isinstance(body, exp.Star):
        raise ProgrammingError(f"the macro '{macro}' is an expression: * is none")
    waiting: list[tuple[exp.Expr, frozenset[str]]] = [(body, frozenset(known))]
    for node, names in waiting:
        if isinstance(node, exp.Query):
            continue
        inner = names
        if isinstance(node, exp.Lambda):
            inner = names | {fold(each.name) for each in node.expressions}
        elif isinstance(node, exp.Column):
            name = node.parts[0].name
            if not isinstance(node.this, exp.Star) and fold(name) not in names:
                raise ProgrammingError(
                    f"the macro '{macro}' has no parameter '{name}', and no FROM with such a column"
                )
            continue
        waiting += ((each, inner) for each in node.iter_expressions())
