"""Motif texts: 'a->b, b->c, {c->d, c->e}, d->a', or the name of a shape, 'cycle(5)'.

    motif  = shape | part {"," part}            the parts in the order of time
    part   = edge | "{" edge {"," edge} "}"     edges in braces in any order
    edge   = vertex "->" vertex
    vertex = a name, whose case does not matter, or a number
    shape  = name "(" number {"," number} ")"

Spaces are free. Shapes stand for lists of edges over the vertices a, b, c, ...
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, TypeAlias

from raydb.errors import ProgrammingError, did_you_mean
from raydb.kernels.motif.shape import MAX_EDGES, MAX_VERTICES, Motif
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.errors import Error

_TOKEN = re.compile(r"\s*(?:(?P<vertex>[^\W\d]\w*|\d+(?!\w))|(?P<sign>->|[{},()])|(?P<end>$))")
_LETTERS = "abcdefgh"
_EXAMPLE = "'a->b, b->c, c->a'"

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


def read_motif(text: str, function: str) -> tuple[Motif, tuple[str, ...]]:
    """Return the motif that a text stands for, and the names of its vertices.

    The vertices are in the order in which the text names them; `function` is named in errors.

    Raises ProgrammingError for a text that is none, or whose motif is not connected, has an edge
    from a vertex to itself, or is too large.

    >>> read_motif("a->b, {b->c, B->D}", "motif_count")
    (Motif(vertex_count=4, edges=((0, 1), (1, 2), (1, 3)), groups=(0, 1, 1)), ('a', 'b', 'c', 'd'))
    """
    if not text.strip():
        raise ProgrammingError(f"motif of {function}(): it has no edge; it is like {_EXAMPLE}")
    reader = _Reader(text, function)
    if reader.is_shape():
        return _read_shape(reader)
    parts = _read_parts(reader)
    named = [edge for part in parts for edge in part]
    names = tuple(dict.fromkeys(name for edge in named for name in edge))
    edges = [(names.index(source), names.index(target)) for source, target in named]
    groups = [number for number, part in enumerate(parts) for _ in part]
    return _checked(names, edges, groups, function)


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


def _read_parts(reader: _Reader) -> list[list[tuple[str, str]]]:
    parts: list[list[tuple[str, str]]] = []
    while not parts or reader.peek():
        if parts:
            reader.expect(",", "; an edge is written 'a->b'")
        in_any_order = reader.accept("{")
        part = [_read_edge(reader)]
        while in_any_order and reader.accept(","):
            part.append(_read_edge(reader))
        if in_any_order:
            reader.expect("}")
        parts.append(part)
    return parts


def _read_edge(reader: _Reader) -> tuple[str, str]:
    source = reader.vertex("a vertex")
    hint = f"; a shape has its size with it, such as {source}(4)" if source in _SHAPES else ""
    if not hint and reader.is_first() and not reader.peek():
        hint = f"; a motif is like {_EXAMPLE} or 'cycle(3)'"
    reader.expect("->", hint)
    target = reader.vertex("a vertex")
    if source == target:
        raise ProgrammingError(
            f"motif of {reader.function}(): the edge '{source}->{target}' leads from a vertex "
            "to itself"
        )
    return source, target


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


def motif_text(motif: Motif, names: Sequence[str]) -> str:
    """Return a motif as it is written.

    >>> motif_text(Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 1)), ("a", "b", "c"))
    'a->b, {b->c, c->a}'
    """
    parts = []
    for group in range(motif.groups[-1] + 1):
        edges = [e for e, number in zip(motif.edges, motif.groups, strict=True) if number == group]
        text = ", ".join(f"{names[source]}->{names[target]}" for source, target in edges)
        parts.append(text if len(edges) == 1 else "{" + text + "}")
    return ", ".join(parts)
