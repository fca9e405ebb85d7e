"""The numbers that scores of queries are computed with, and the test that ends a search."""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

from raydb.kernels.jit import compiled, leaf
from raydb.kernels.vector.loops.ranking import COSINE, HAMMING, L1, L2
from raydb.kernels.vector.loops.simd import PRODUCTS, exact_sum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KTH = 0

# Half a unit in the last place of float32, relative; squares below the least float32 vanish.
_ROUNDING = 2.0**-24
_VANISHING = 1e-36


class Rule(NamedTuple):
    """A `StopRule`: a search ends at `least_probes` lists where the threshold is -inf."""

    least_probes: int
    score: int
    gamma: float
    kreg: int
    scale: float
    share: float
    threshold: float


class Prepared(NamedTuple):
    """Queries (q, d) and what their scores are computed with.

    scaled (q, d): the queries, unit vectors under cosine. slack (q, 2) float32: how far float32 may
    be off a score, in parts of it and beside. terms (q, 4) float64: how scores become squared
    distances: the factor and the summand for a list's score, those for a row's score.

    l2 and cosine are distances already, cosine of unit vectors. A sum of absolute differences, and
    a number of bits that differ, is the square of a Euclidean distance of what vectors are taken
    to (of (0, 0, 0) and (1, 1, 1) for numbers 0 and 3). Under ip the rows x are taken to
    (x, sqrt(longest^2 - |x|^2)) and queries to length `longest`, which orders rows by distance as
    products do (Bachrach et al., Speeding Up the Xbox Recommender System, RecSys 2014, section 3).
    A squared distance is then 2 longest (longest - q x / |q|), and a list's the mean of its rows'.
    """

    queries: NDArray[np.float32]
    scaled: NDArray[np.float32]
    slack: NDArray[np.float32]
    terms: NDArray[np.float64]


@compiled
def prepare(
    metric: int,
    longest: float,
    queries: NDArray[np.float32],
    scaled: NDArray[np.float32],
    slack: NDArray[np.float32],
    terms: NDArray[np.float64],
) -> None:
    """Write what `Prepared` has of queries (q, d); `scaled` may be they."""
    # A sum of n products is off by n roundings at most (Higham, Accuracy and Stability, 3.1).
    rounding = 2 * (queries.shape[1] + 8) * _ROUNDING
    doubled = 2 * longest
    for i in range(len(queries)):
        query = queries[i]
        norm = sqrt(exact_sum(PRODUCTS, query, query))
        # Squares are added up: the error is a part of the sum.
        slack[i, 0] = rounding if metric in (L1, L2) else 0.0
        slack[i, 1] = _VANISHING
        if metric == L2:
            terms[i, 0], terms[i, 1], terms[i, 2], terms[i, 3] = 1.0, norm * norm, 1.0, 0.0
        elif metric in (L1, HAMMING):
            terms[i, 0], terms[i, 1], terms[i, 2], terms[i, 3] = 1.0, 0.0, 1.0, 0.0
        elif metric == COSINE:
            for place in range(len(query)):
                scaled[i, place] = query[place] / norm if norm > 0.0 else query[place]
            slack[i, 1] += rounding
            terms[i, 0], terms[i, 1], terms[i, 2], terms[i, 3] = 1.0, 1.0, 2.0, 2.0
        else:
            slack[i, 1] += rounding * longest * norm
            factor, summand = doubled / norm if norm > 0.0 else 0.0, doubled * longest
            terms[i, 0], terms[i, 1], terms[i, 2], terms[i, 3] = factor, summand, factor, summand


@compiled
def squared(score: float, factor: float, summand: float) -> float:
    """Return the squared distance that a score stands for; see `Prepared`."""
    # Rounding may leave a little less than no distance.
    return max(score * factor + summand, 0.0)


@leaf
def stop_score(rule: Rule, lists: int, nearest: float, following: float, reached: float) -> float:
    """Return E_p of `raydb.kernels.vector.stop_rule.stop_scores` for one query that has k rows."""
    if rule.score == KTH:
        score = 1.0 - min(reached / rule.scale, 1.0)
    elif reached == 0.0:
        score = inf
    else:
        score = sqrt(max(following - rule.share * nearest, 0.0) / reached)
    return score + rule.gamma * max(0, lists - rule.kreg)


@compiled
def margin(nearest: float, following: float) -> float:
    """Return the distance of the nearest centroid in parts of that of the second, by their squares.

    1 where the query lies between two lists.
    """
    return 1.0 if following == 0.0 else min(sqrt(nearest / following), 1.0)
