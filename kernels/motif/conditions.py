"""What is asked of a match beside its motif: of an edge, between edges, and of edges not there.

filters       an edge of the motif is one of some edges of the graph: found in lists of theirs
comparisons   a number of an edge beside a number of another one, as soon as both are bound
absent        no edge leads from a vertex to another one between two edges in time
judge         whatever else: asked of whole matches, many at a time
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.motif.shape import AbsentEdge, Motif

Operator: TypeAlias = Literal["<", "<=", "=", "<>"]

# The key of NULL, with which no comparison holds.
NULL_KEY = -(2**63)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number of one motif edge beside a number of another; keys: places in `Conditions.keys`.

    Both are multiplied by a factor before, not by 0, which gives less than 2**62.
    """

    edge: int
    key: int
    operator: Operator
    other_edge: int
    other_key: int
    factor: int = 1
    other_factor: int = 1


@dataclass(frozen=True, eq=False)
class Conditions:
    """The conditions on the matches of a motif in a graph of m edges.

    filters: bool, shape (m,). filter_of: for each edge of the motif the number of its filter, -1
    for none; empty for no filter at all. keys: int64, shape (m,) each, NULL_KEY for NULL.
    judge: which matches hold, from their edges, shape (n, e).
    """

    filters: tuple[NDArray[np.bool_], ...] = ()
    filter_of: tuple[int, ...] = ()
    keys: tuple[NDArray[np.int64], ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    absent: tuple[AbsentEdge, ...] = ()
    judge: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None = None

    @property
    def are_any(self) -> bool:
        """Whether anything is asked."""
        return bool(self.filter_of or self.comparisons or self.absent or self.judge)


NONE = Conditions()


def with_equal_twins(conditions: Conditions, motif: Motif) -> Conditions:
    """Return the same conditions, in which edges that may trade places have the same filter.

    Those of one group between the same vertices are counted as if each had the same candidates. If
    they have not, their filters become comparisons.
    """
    twins = [
        edge
        for edge, own in enumerate(conditions.filter_of)
        if any(
            motif.edges[other] == motif.edges[edge]
            and motif.groups[other] == motif.groups[edge]
            and conditions.filter_of[other] != own
            for other in range(len(motif.edges))
        )
    ]
    if not twins:
        return conditions
    filters, first = conditions.filters, len(conditions.keys)
    rows = (each.astype(np.int64) for each in (*filters, np.ones_like(filters[0])))
    tests = tuple(
        Comparison(edge, first + conditions.filter_of[edge], "=", edge, first + len(filters))
        for edge in twins
        if conditions.filter_of[edge] >= 0
    )
    return Conditions(
        filters,
        tuple(-1 if edge in twins else own for edge, own in enumerate(conditions.filter_of)),
        (*conditions.keys, *rows),
        (*conditions.comparisons, *tests),
        conditions.absent,
        conditions.judge,
    )
