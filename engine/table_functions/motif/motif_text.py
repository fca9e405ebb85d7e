"""Motif texts: 'a->b, b->c, {c->d, c->e}, d->a', or the name of a shape, 'cycle(5)'.

    motif  = shape | part {"," part}            the parts in the order of time
    part   = edge | "{" edge {"," edge} "}"     edges in braces in any order
           | "!" edge                           no such edge between the parts beside it
    edge   = vertex ("->" | "--") vertex        from one to the other, or either way
    vertex = a name, whose case does not matter, or a number
    shape  = name "(" number {"," number} ")"

The end of an edge that is not there may be `*`, any vertex. Spaces are free. Shapes stand for lists
of edges over the vertices a, b, c, ...
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from raydb.errors import ProgrammingError, did_you_mean
from raydb.kernels.motif.shape import MAX_EDGES, MAX_VERTICES, AbsentEdge, Motif
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.errors import Error

_TOKEN = re.compile(r"\s*(?:(?P<vertex>[^\W\d]\w*|\d+(?!\w))|(?P<sign>->|--|[{},()!*])|(?P<end>$))")
_LETTERS = "abcdefgh"
_EXAMPLE = "'a->b, b->c, c->a'"
_ANY = "*"

Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A named shape: how many vertices its sizes make, the edges, and the sizes that it takes.

    least: the smallest number for each size.
    """

    least: tuple[int, ...]
    vertex_count: Callable[..., int]
    edges: Callable[..., list[Pair]]


_SHAPES = {
    "bipartite": _Shape(
        (1, 1),
        lambda sources, targets: sources + targets,
        lambda sources, targets: [
            (one, sources + other) for one in range(sources) for other in range(targets)
        ],
    ),
    "clique": _Shape((2,), lambda size: size, lambda size: list(combinations(range(size), 2))),
    "cycle": _Shape(
        (2,), lambda size: size, lambda size: [(one, (one + 1) % size) for one in range(size)]
    ),
    "path": _Shape((2,), lambda size: size, lambda size: list(pairwise(range(size)))),
    "scatter_gather": _Shape(
        (1,),
        lambda size: size + 2,
        lambda size: [
            *((0, middle) for middle in range(1, size + 1)),
            *((middle, size + 1) for middle in range(1, size + 1)),
        ],
    ),
    "star_in": _Shape(
        (1,), lambda size: size + 1, lambda size: [(leaf, 0) for leaf in range(1, size + 1)]
    ),
    "star_out": _Shape(
        (1,), lambda size: size + 1, lambda size: [(0, leaf) for leaf in range(1, size + 1)]
    ),
}


@dataclass(frozen=True, slots=True)
class WrittenMotif:
    """A motif as it is written: its edges lead from the vertex that is written first.

    names: of its vertices, in the order in which the text has them. undirected: the numbers of the
    edges that may lead either way. absent: the edges that are not there.
    """

    motif: Motif
    names: tuple[str, ...]
    undirected: frozenset[int] = frozenset()
    absent: tuple[AbsentEdge, ...] = ()


def read_motif(text: str, function: str) -> WrittenMotif:
    """Return the motif that a text stands for; `function` is named in errors.

    Raises ProgrammingError for a text that is none, or whose motif is not connected, has an edge
    from a vertex to itself, or is too large.

    >>> read_motif("a->b, {b->c, B->D}", "motif_count").motif
    Motif(vertex_count=4, edges=((0, 1), (1, 2), (1, 3)), groups=(0, 1, 1))
    """
    if not text.strip():
        raise ProgrammingError(f"motif of {function}(): it has no edge; it is like {_EXAMPLE}")
    reader = _Reader(text, function)
    if reader.is_shape():
        return WrittenMotif(*_read_shape(reader))
    parts, gone = _read_parts(reader)
    named = [edge for part in parts for edge in part]
    names = tuple(dict.fromkeys(name for edge in named for name in edge.ends))
    edges = [(names.index(edge.ends[0]), names.index(edge.ends[1])) for edge in named]
    groups = [number for number, part in enumerate(parts) for _ in part]
    motif, names = _checked(names, edges, groups, function)
    undirected = frozenset(number for number, edge in enumerate(named) if edge.is_undirected)
    return WrittenMotif(motif, names, undirected, _absent_edges(gone, names, function))


class _Edge(NamedTuple):
    """An edge as it is written."""

    ends: tuple[str, str]
    is_undirected: bool


def _absent_edges(
    gone: Sequence[tuple[_Edge, int]], names: Sequence[str], function: str
) -> tuple[AbsentEdge, ...]:
    """Return the edges that are not there, each after a part."""
    found = []
    for (ends, is_undirected), after in gone:
        for name in ends:
            if name != _ANY and name not in names:
                raise ProgrammingError(
                    f"motif of {function}(): the vertex '{name}' of '!{ends[0]}->{ends[1]}' is in "
                    f"no other edge; {_ANY} stands for any vertex"
                )
        source, target = (None if name == _ANY else names.index(name) for name in ends)
        found.append(AbsentEdge(source, target, after))
        if is_undirected:
            found.append(AbsentEdge(target, source, after))
    return tuple(found)


class _Reader:
    """Reads a text from left to right, a token at a time."""

    def __init__(self, text: str, function: str) -> None:
        self.text = text
        self.function = function
        self._place = 0
        self._before = ""

    def peek(self) -> str:
        """Return the next token, '' at the end."""
        return self._match().group().strip()

    def is_shape(self) -> bool:
        """Say whether a name and a parenthesis come next."""
        return re.match(r"\s*\w+\s*\(", self.text) is not None

    def is_first(self) -> bool:
        """Say whether only one token has been read."""
        return self.text[: self._place].strip() == self._before

    def accept(self, sign: str) -> bool:
        """Read a sign if it comes next."""
        if self.peek() != sign:
            return False
        self._read()
        return True

    def expect(self, sign: str, more: str = "") -> None:
        """Read a sign, or raise the error that it is missing."""
        if not self.accept(sign):
            raise self.error(f"expected '{sign}'", more)

    def vertex(self, what: str) -> str:
        """Read a name, in lower case, or a number."""
        found = self._match()
        if found["vertex"] is None:
            raise self.error(f"expected {what}")
        self._read()
        return found["vertex"].lower()

    def error(self, expected: str, more: str = "") -> Error:
        """Return the syntax error at the next token."""
        start = self._match().end() - len(self.peek())
        found = f"found '{self.peek()}'" if self.peek() else "the text ends"
        after = f" after '{self._before}'" if self._before else ""
        return ProgrammingError(
            f"motif of {self.function}(), character {start + 1}: {expected}{after}, {found}{more}"
        )

    def _match(self) -> re.Match[str]:
        found = _TOKEN.match(self.text, self._place)
        if found is None:
            rest = self.text[self._place :]
            start = self._place + len(rest) - len(rest.lstrip())
            raise ProgrammingError(
                f"motif of {self.function}(), character {start + 1}: "
                f"unexpected '{self.text[start]}'; it is like {_EXAMPLE}"
            )
        return found

    def _read(self) -> None:
        found = self._match()
        self._before = found.group().strip()
        self._place = found.end()


def _read_parts(reader: _Reader) -> tuple[list[list[_Edge]], list[tuple[_Edge, int]]]:
    """Return the parts in the order of time, and absent edges with the part before, -1 for none."""
    parts: list[list[_Edge]] = []
    gone: list[tuple[_Edge, int]] = []
    while not (parts or gone) or reader.peek():
        if parts or gone:
            reader.expect(",", "; an edge is written 'a->b'")
        if reader.accept("!"):
            gone.append((_read_edge(reader, may_be_any=True), len(parts) - 1))
            continue
        in_any_order = reader.accept("{")
        part = [_read_edge(reader)]
        while in_any_order and reader.accept(","):
            part.append(_read_edge(reader))
        if in_any_order:
            reader.expect("}")
        parts.append(part)
    if not parts:
        raise ProgrammingError(
            f"motif of {reader.function}(): it has no edge but one that is not there"
        )
    return parts, gone


def _read_edge(reader: _Reader, *, may_be_any: bool = False) -> _Edge:
    source = _read_end(reader, may_be_any)
    hint = f"; a shape has its size with it, such as {source}(4)" if source in _SHAPES else ""
    if not hint and reader.is_first() and not reader.peek():
        hint = f"; a motif is like {_EXAMPLE} or 'cycle(3)'"
    is_undirected = reader.accept("--")
    if not is_undirected:
        reader.expect("->", hint)
    target = _read_end(reader, may_be_any)
    if source == target:
        ends = "from a vertex to itself" if source != _ANY else "between any vertices"
        arrow = "--" if is_undirected else "->"
        raise ProgrammingError(
            f"motif of {reader.function}(): the edge '{source}{arrow}{target}' leads {ends}"
        )
    return _Edge((source, target), is_undirected)


def _read_end(reader: _Reader, may_be_any: bool) -> str:
    return _ANY if may_be_any and reader.accept(_ANY) else reader.vertex("a vertex")


def _read_shape(reader: _Reader) -> tuple[Motif, tuple[str, ...]]:
    name = reader.vertex("the name of a shape")
    if name not in _SHAPES:
        near = did_you_mean(name, tuple(_SHAPES)) or f"; there are {', '.join(_SHAPES)}"
        raise ProgrammingError(f"motif of {reader.function}(): there is no shape '{name}'{near}")
    shape = _SHAPES[name]
    reader.expect("(")
    sizes = [_read_size(reader, name)]
    while reader.accept(","):
        sizes.append(_read_size(reader, name))
    reader.expect(")")
    if reader.peek():
        raise reader.error("expected the end of the motif")
    if len(sizes) != len(shape.least):
        counted = "one size" if len(shape.least) == 1 else f"{len(shape.least)} sizes"
        raise ProgrammingError(
            f"motif of {reader.function}(): {name}() takes {counted}, not {len(sizes)}"
        )
    for size, least in zip(sizes, shape.least, strict=True):
        if size < least:
            raise ProgrammingError(
                f"motif of {reader.function}(): the size of {name}() is at least {least}, "
                f"not {size}"
            )
    # Before the edges are made: a size may have any number of digits.
    vertex_count = shape.vertex_count(*sizes)
    _check_vertices(vertex_count, reader.function)
    edges = shape.edges(*sizes)
    return _checked(tuple(_LETTERS[:vertex_count]), edges, range(len(edges)), reader.function)


def _read_size(reader: _Reader, name: str) -> int:
    size = reader.peek()
    if size in ("", ")"):
        raise ProgrammingError(
            f"motif of {reader.function}(): {name}() has a size, such as {name}(3)"
        )
    if not size.isdecimal() or len(size) > 9:
        raise ProgrammingError(
            f"motif of {reader.function}(): the size of {name}() is a small whole number, "
            f"not '{size}'"
        )
    return int(reader.vertex("a size"))


def _check_vertices(count: int, function: str) -> None:
    if count > MAX_VERTICES:
        raise ProgrammingError(
            f"motif of {function}(): it has {count} vertices, and at most {MAX_VERTICES} are "
            "possible"
        )


def _checked(
    names: tuple[str, ...], edges: Sequence[Pair], groups: Sequence[int], function: str
) -> tuple[Motif, tuple[str, ...]]:
    """Return a motif, or raise ProgrammingError for one that is too large or not connected."""
    _check_vertices(len(names), function)
    if len(edges) > MAX_EDGES:
        raise ProgrammingError(
            f"motif of {function}(): it has {len(edges)} edges, and at most {MAX_EDGES} are "
            "possible"
        )
    reached = {0}
    for _ in names:
        reached |= {vertex for edge in edges if reached & set(edge) for vertex in edge}
    apart = [name for place, name in enumerate(names) if place not in reached]
    if apart:
        raise ProgrammingError(
            f"motif of {function}(): it is not connected, no edges lead from '{names[0]}' to "
            f"'{apart[0]}'"
        )
    return Motif(len(names), tuple(edges), tuple(groups)), names


def motif_text(written: WrittenMotif) -> str:
    """Return a motif as it is written.

    >>> motif_text(WrittenMotif(Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 1)), ("a", "b", "c")))
    'a->b, {b->c, c->a}'
    """
    motif, names = written.motif, written.names
    parts = _absent_texts(written, -1)
    for group in range(motif.groups[-1] + 1):
        texts = [
            f"{names[source]}{'--' if edge in written.undirected else '->'}{names[target]}"
            for edge, (source, target) in enumerate(motif.edges)
            if motif.groups[edge] == group
        ]
        parts.append(texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}")
        parts += _absent_texts(written, group)
    return ", ".join(parts)


def _absent_texts(written: WrittenMotif, after: int) -> list[str]:
    names: dict[int | None, str] = {None: _ANY, **dict(enumerate(written.names))}
    gone = [edge for edge in written.absent if edge.after == after]
    return [f"!{names[edge.source]}->{names[edge.target]}" for edge in gone]
