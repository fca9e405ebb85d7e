"""The graph over the vectors of an index: which of them are joined.

    candidates of each vector, its nearest ones  ->  those that none before them is nearer to
    those, and those that chose it               ->  its neighbours, as many as there is room for
    starts, and what leads on from them          ->  all vectors

A row of the graph has the places of a vector's neighbours; what is left of it is its own place.
After Malkov and Yashunin, Hierarchical Navigable Small World Graphs (2018), whose upper levels the
lists stand for, and Jayaram Subramanya et al., DiskANN (2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, entry, leaf
from raydb.kernels.vector.loops.ranking import COSINE, kind_of
from raydb.kernels.vector.loops.simd import BITS, PRODUCTS, sum_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Graph = NDArray[np.uint32]

# A neighbour is left out where one that is kept is nearer to it than so many times its distance.
_NEARER = np.float32(1.2)


class Space(NamedTuple):
    """Vectors (n, d), and what makes distances of their products.

    sides (n): under cosine 1 / norm, under ip sqrt(longest^2 - norm^2), else none. square: under ip
    longest^2.
    """

    metric: int
    vectors: NDArray[np.float32]
    sides: NDArray[np.float32]
    square: np.float32


@leaf
def _apart(space: Space, one: Any, other: Any) -> Any:
    """Return a half of the squared distance of two vectors, in the space of `Prepared`.

    Under l2, l1 and hamming it is all of it.
    """
    kind = kind_of(space.metric)
    total = sum_of(kind, space.vectors[one], space.vectors[other])
    if kind != PRODUCTS:
        return total
    both = space.sides[one] * space.sides[other]
    if space.metric == COSINE:
        return np.float32(1) - total * both
    return space.square - total - both


@leaf
def _choose(
    space: Space, places: NDArray[np.uint32], away: NDArray[np.float32], count: int, row: Any
) -> int:
    """Write the neighbours of a vector, and return how many; the nearest of those that are near.

    places, away: the first `count` are those to choose from and how far they are; they are sorted.
    """
    for i in range(1, count):
        far, place, at = away[i], places[i], i
        while at > 0 and away[at - 1] > far:
            away[at], places[at] = away[at - 1], places[at - 1]
            at -= 1
        away[at], places[at] = far, place
    kept = 0
    for i in range(count):
        is_hidden = False
        for j in range(kept):
            if _NEARER * _apart(space, row[j], places[i]) < away[i]:
                is_hidden = True
                break
        if not is_hidden:
            row[kept] = places[i]
            kept += 1
            if kept == len(row):
                break
    return kept


@entry
def choose_neighbours(
    space: Any,
    candidates: NDArray[np.int64],
    own: NDArray[np.int64],
    graph: Graph,
    counts: NDArray[np.int32],
) -> None:
    """Write the neighbours of the vectors at the places `own` (m), and how many they are.

    candidates (m, c): places of vectors near each, -1 for none. space: a plain tuple.
    """
    given, width = Space(*space), candidates.shape[1]
    places, away = np.empty(width, np.uint32), np.empty(width, np.float32)
    for row in range(len(own)):
        count = 0
        for each in candidates[row]:
            if each >= 0 and each != own[row]:
                places[count], away[count] = each, _apart(given, own[row], each)
                count += 1
        counts[own[row]] = _choose(given, places, away, count, graph[own[row]])


@compiled
def note_choosers(
    own: NDArray[np.int64],
    graph: Graph,
    counts: NDArray[np.int32],
    choosers: Graph,
    chosen: NDArray[np.int32],
) -> None:
    """Write which of some vectors chose each, as far as there is room, and how many (n)."""
    for place in own:
        for i in range(counts[place]):
            other = graph[place, i]
            if chosen[other] < choosers.shape[1]:
                choosers[other, chosen[other]] = place
                chosen[other] += 1


@entry
def join_both_ways(
    space: Any,
    graph: Graph,
    counts: NDArray[np.int32],
    choosers: Graph,
    chosen: NDArray[np.int32],
    part: tuple[int, int],
) -> None:
    """Add those that chose a vector to its neighbours; where there is no room, choose among all.

    part: the first place, and that after the last. What is left of a row is the vector itself.
    """
    given, degree = Space(*space), graph.shape[1]
    places = np.empty(degree + choosers.shape[1], np.uint32)
    away = np.empty(len(places), np.float32)
    for place in range(part[0], part[1]):
        count = counts[place]
        places[:count] = graph[place, :count]
        for i in range(chosen[place]):
            other = choosers[place, i]
            is_new = True
            for j in range(counts[place]):
                is_new &= places[j] != other
            if is_new:
                places[count] = other
                count += 1
        kept = count
        if count <= degree:
            graph[place, :count] = places[:count]
        else:
            for i in range(count):
                away[i] = _apart(given, place, places[i])
            kept = _choose(given, places, away, count, graph[place])
        graph[place, kept:] = place


@entry
def bridge(
    space: Any,
    before: Graph,
    moved: NDArray[np.int64],
    graph: Graph,
    counts: NDArray[np.int32],
    part: tuple[int, int],
) -> None:
    """Write the neighbours of vectors that are kept: for one that is gone, the neighbours it had.

    before: the graph as it was; moved: where each of its vectors is now, -1 where it is gone. part:
    the first of its places, and that after the last.
    """
    given, degree = Space(*space), before.shape[1]
    places = np.empty(degree + degree * degree, np.uint32)
    away = np.empty(len(places), np.float32)
    for old in range(part[0], part[1]):
        place, count, is_whole = moved[old], 0, True
        if place < 0:
            continue
        for i in range(degree):
            other = before[old, i]
            if other == old:
                break
            if moved[other] >= 0:
                places[count] = moved[other]
                count += 1
            else:
                is_whole = False
        if is_whole:
            graph[place, :count] = places[:count]
            counts[place] = count
            continue
        for i in range(degree):
            gone = before[old, i]
            if gone == old or moved[gone] >= 0:
                continue
            for j in range(degree):
                other = before[gone, j]
                if other == gone:
                    break
                if moved[other] >= 0 and other != old:
                    places[count] = moved[other]
                    count += 1
        for i in range(count):
            away[i] = _apart(given, place, places[i])
        counts[place] = _choose_some(given, places, away, count, graph[place])


@leaf
def _choose_some(
    space: Space, places: NDArray[np.uint32], away: NDArray[np.float32], count: int, row: Any
) -> int:
    """Do as `_choose` where a place may be there twice."""
    seen = 0
    for i in range(count):
        is_new = True
        for j in range(seen):
            is_new &= places[j] != places[i]
        if is_new:
            places[seen], away[seen] = places[i], away[i]
            seen += 1
    return int(_choose(space, places, away, seen, row))


@leaf
def _is_another(
    vectors: NDArray[np.float32], graph: Graph, reached: NDArray[np.bool_], place: Any
) -> bool:
    """Tell whether a vector equals a neighbour that is reached, and so is found with it."""
    for other in graph[place]:
        if other == place:
            break
        if reached[other] and sum_of(BITS, vectors[place], vectors[other]) == 0.0:
            return True
    return False


@compiled
def reach_more(
    vectors: NDArray[np.float32],
    graph: Graph,
    is_start: NDArray[np.bool_],
    reached: NDArray[np.bool_],
    queue: NDArray[np.uint32],
    state: NDArray[np.int64],
    most: int,
) -> bool:
    """Make starts of vectors that no start leads to, in `most` steps; tell whether some are left.

    reached (n): whether a start leads to each; queue (n): the vectors that are reached, of which
    those before state[0] were followed, and state[1] are there. state[2]: how many were looked at.
    """
    first, last, place = state[0], state[1], state[2]
    for _ in range(most):
        if first < last:
            at = queue[first]
            first += 1
            for i in range(graph.shape[1]):
                other = graph[at, i]
                if other == at:
                    break
                if not reached[other]:
                    reached[other] = True
                    queue[last] = other
                    last += 1
        elif place < len(graph):
            if not reached[place]:
                reached[place] = True
                if not _is_another(vectors, graph, reached, place):
                    is_start[place] = True
                    queue[last] = place
                    last += 1
            place += 1
        else:
            return False
    state[0], state[1], state[2] = first, last, place
    return True
