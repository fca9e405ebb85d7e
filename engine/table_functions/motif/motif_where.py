"""`where` of motif_count() and its like: a condition over the edges e1 .. en and the vertices.

    e1.kind = 'wire'            one edge        a filter: the edge is looked for among those rows
    e2.amount < e1.amount * 2   two, each side  a comparison, as soon as both edges are bound
                                of one edge
    e3.x = e1.x + e2.x          whatever else   asked of whole instances, many at a time

A vertex stands for the column that an edge has it in. Each side, and each condition on one edge, is
an expression over the rows, which the plan computes with the sources, the targets and the times.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
    conjuncts,
    substitute,
)
from raydb.planner.expressions.registry import may_raise
from raydb.planner.expressions.types import is_interval
from raydb.planner.expressions.typing_rules import choose
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raydb.engine.table_functions.motif.motif_text import WrittenMotif
    from raydb.engine.table_functions.motif.motif_variants import Variant
    from raydb.kernels.motif.conditions import Operator
    from raydb.planner.plan.table_function import FunctionCall

# Larger factors leave no room for a value in 64 bits.
_FACTOR_DIGITS = 18

# A comparison is kept as one of few, its sides perhaps exchanged.
_OPERATORS: Mapping[str, tuple[Operator, bool]] = {
    "less": ("<", False),
    "less_equal": ("<=", False),
    "greater": ("<", True),
    "greater_equal": ("<=", True),
    "equal": ("=", False),
    "not_equal": ("<>", False),
}


@dataclass(frozen=True, slots=True)
class KeyTest:
    """A value of an edge beside one of another; keys: places among what is read of the rows."""

    edge: int
    key: int
    operator: Operator
    other_edge: int
    other_key: int


@dataclass(frozen=True, slots=True)
class Multiple:
    """A value whose keys are those of another value times literals and a power of ten.

    All digits of a literal count, as those of a whole number.
    """

    key: int
    of: int
    literals: tuple[Literal, ...]
    power: int

    @property
    def factor(self) -> int:
        """What the keys of the other value are multiplied by."""
        return math.prod(map(_all_digits, self.literals), start=10**self.power)


@dataclass(frozen=True, slots=True)
class InstanceTest:
    """A condition on whole instances; inputs: its columns, the edge of each and what it reads."""

    condition: Expression
    inputs: tuple[tuple[Column, int, int], ...]


@dataclass(frozen=True, slots=True)
class Where:
    """The conditions on the edges of a variant; numbers are places among what is read of the rows.

    filters: by edge of the motif, None for no condition on it alone. multiples: the keys that are
    those of another value times a factor.
    """

    filters: tuple[int | None, ...] = ()
    comparisons: tuple[KeyTest, ...] = ()
    rest: tuple[InstanceTest, ...] = ()
    multiples: tuple[Multiple, ...] = ()


class Reads:
    """The expressions over the rows that a search reads, each once."""

    def __init__(self, first: Sequence[Expression]) -> None:
        self.expressions = list(first)

    def place_of(self, expression: Expression) -> int:
        """Return the place of an expression, which is appended if it is not there."""
        if expression not in self.expressions:
            self.expressions.append(expression)
        return self.expressions.index(expression)


class WhereText:
    """The condition of a call, bound over the columns of each edge and over the vertices."""

    def __init__(
        self, text: Literal, call: FunctionCall, written: WrittenMotif, vertex: pa.DataType
    ) -> None:
        assert call.rows is not None
        assert call.bind_text is not None
        tables = {
            f"e{edge + 1}": [call.new_column(c.name, c.type) for c in call.rows.columns]
            for edge in range(len(written.motif.edges))
        }
        vertices = [call.new_column(name, vertex) for name in written.names]
        place = f"where of {call.function.name}()"
        self._condition = call.bind_text(text, place, tables, vertices)
        self._of_edge = {
            column: (edge, own)
            for edge, columns in enumerate(tables.values())
            for column, own in zip(columns, call.rows.columns, strict=True)
        }
        self._of_vertex = {column: vertex for vertex, column in enumerate(vertices)}

    def of(self, variant: Variant, ends: Sequence[Expression], reads: Reads) -> Where:
        """Return the conditions on the edges of a variant; ends: the source and the target."""
        alone: list[list[Expression]] = [[] for _ in variant.motif.edges]
        together: list[_Part] = []
        for condition in conjuncts(self._condition):
            columns = columns_of(condition)
            edges = {self._of_edge[column][0] for column in columns if column in self._of_edge}
            vertices = [self._of_vertex[column] for column in columns - set(self._of_edge)]
            places = {vertex: _place_among(variant, vertex, edges) for vertex in vertices}
            part = _Part(condition, self, places, ends)
            if not edges and len(vertices) == 1:
                # Every edge of the vertex is looked for among rows with such a vertex.
                for place in variant.places_of(vertices[0]):
                    own = _Part(condition, self, {vertices[0]: place}, ends)
                    alone[place[0]].append(own.of_rows(condition))
            elif len(part.edges) < 2:
                alone[next(iter(part.edges), 0)].append(part.of_rows(condition))
            else:
                together.append(part)
        guards = [conjunction(each) if each else None for each in alone]
        tests = [part.comparison(guards, reads) for part in together]
        pairs = list(zip(together, tests, strict=True))
        filters = tuple(None if each is None else reads.place_of(each) for each in guards)
        compared = tuple(test for test in tests if test is not None)
        keys = {key for test in compared for key in (test.key, test.other_key)}
        return Where(
            filters if any(alone) else (),
            compared,
            tuple(part.instance_test(reads) for part, test in pairs if test is None),
            tuple(_multiples(sorted(keys), reads)),
        )

    def place_of(self, column: Column) -> tuple[int, Column] | int:
        """Return the edge of a column and that of the rows, or the vertex that it stands for."""
        return self._of_edge.get(column) or self._of_vertex[column]


class _Part:
    """A condition that holds together with others; places: the edges that give its vertices."""

    def __init__(
        self,
        condition: Expression,
        text: WhereText,
        places: Mapping[int, tuple[int, bool]],
        ends: Sequence[Expression],
    ) -> None:
        self._condition = condition
        self._of: dict[Column, tuple[int, Expression]] = {}
        for column in columns_of(condition):
            found = text.place_of(column)
            if isinstance(found, int):
                edge, is_source = places[found]
                self._of[column] = edge, ends[0 if is_source else 1]
            else:
                self._of[column] = found
        self.edges = self._edges_of(condition)

    def _edges_of(self, expression: Expression) -> set[int]:
        return {self._of[column][0] for column in columns_of(expression)}

    def of_rows(self, expression: Expression) -> Expression:
        """Return an expression of one edge as one over the rows."""
        return substitute(expression, {c: self._of[c][1] for c in columns_of(expression)})

    def comparison(self, guards: Sequence[Expression | None], reads: Reads) -> KeyTest | None:
        """Return a comparison of a value of one edge with one of another, None for what is none.

        guards: the condition on each edge alone; a value that may be an error is computed only for
        the rows for which that holds.
        """
        part = self._condition
        if not isinstance(part, Call) or part.function not in _OPERATORS:
            return None
        edges = [self._edges_of(side) for side in part.arguments]
        kind = part.arguments[0].type
        has_no_keys = pa.types.is_nested(kind) or is_interval(kind)
        if has_no_keys or any(len(each) != 1 for each in edges):
            return None
        sides = []
        for (edge,), side in zip(edges, part.arguments, strict=True):
            value, guard = self.of_rows(side), guards[edge]
            if guard is not None and may_raise(value):
                value = choose((guard,), (value, Literal(None, value.type)))
            sides.append((edge, reads.place_of(value)))
        operator, is_turned = _OPERATORS[part.function]
        one, other = sides[::-1] if is_turned else sides
        return KeyTest(*one, operator, *other)

    def instance_test(self, reads: Reads) -> InstanceTest:
        """Return the condition as one on whole instances."""
        of_edge = sorted(self._of.items(), key=lambda item: item[0].number)
        named = {
            column: Column(column.number, f"e{edge + 1}.{column.name}", column.type)
            for column, (edge, _) in of_edge
        }
        inputs = tuple(
            (named[column], edge, reads.place_of(value)) for column, (edge, value) in of_edge
        )
        return InstanceTest(substitute(self._condition, named), inputs)


def _multiples(keys: Sequence[int], reads: Reads) -> Iterator[Multiple]:
    """Yield those of some values that are known multiples of others, which are read."""
    for key in keys:
        of, literals, power = _factored(reads.expressions[key])
        if of is not reads.expressions[key]:
            yield Multiple(key, reads.place_of(of), literals, power)


def _factored(value: Expression) -> tuple[Expression, tuple[Literal, ...], int]:
    """Return a value, and the literals and the power of ten that give another one with it.

    As whole numbers: of a decimal, all its digits. Nothing in between is too large for its type.
    """
    kind = value.type
    if not (isinstance(value, Call) and pa.types.is_decimal128(kind)):
        return value, (), 0
    match value.function, value.arguments:
        case "cast", (inner,):
            digits = _digits(inner.type)
            if digits is not None and kind.precision - kind.scale >= digits[0] - digits[1] >= 0:
                of, literals, power = _factored(inner)
                more = kind.scale - digits[1]
                return (of, literals, power + more) if more >= 0 else (value, (), 0)
        case "multiply", (Literal() as by, inner) | (inner, Literal() as by):
            digits, own = _digits(inner.type), _digits(by.type)
            if digits is None or own is None or by.is_null:
                return value, (), 0
            fits = kind.precision >= digits[0] + own[0] and kind.scale == digits[1] + own[1]
            if fits and own[0] <= _FACTOR_DIGITS:
                of, literals, power = _factored(inner)
                return of, (by, *literals), power
    return value, (), 0


def _all_digits(exact: Literal) -> int:
    """Return an exact number without its point."""
    digits = _digits(exact.type)
    assert digits is not None
    return int(Decimal(exact.value).scaleb(digits[1]))


def _digits(kind: pa.DataType) -> tuple[int, int] | None:
    """Return the digits of an exact number, and those behind its point; None for other types."""
    if pa.types.is_decimal128(kind):
        return kind.precision, kind.scale
    return (len(str(2 ** (kind.bit_width - 1))), 0) if pa.types.is_signed_integer(kind) else None


def _place_among(variant: Variant, vertex: int, edges: set[int]) -> tuple[int, bool]:
    """Return an edge that has a vertex and whether it leads from it, best one of some edges."""
    places = variant.places_of(vertex)
    return next((place for place in places if place[0] in edges), places[0])
