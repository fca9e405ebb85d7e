"""When a search of an IVF index has seen enough lists: the rule that calibration sets.

After p lists a query has a score E_p, which grows with p, and the search ends at the first p with
E_p >= threshold. With d_k the distance of the k-th row so far and c_p the p-th list's centroid:

    kth      E_p = 1 - min(d_k^2 / scale, 1)                                  + penalty
    ratio    E_p = sqrt(max(|q - c_(p+1)|^2 - share |q - c_1|^2, 0)) / d_k    + penalty
             penalty = gamma * max(0, p - kreg)

For a walk along a graph p is how many vectors it keeps instead, and the score is just that:

    ef       E_p = p

Squares of distances are taken in the space where each metric is Euclidean, see
`Prepared`. Lists come by distance and d_k falls, so that neither score needs
a running maximum.

Horchidan et al., ConANN (PVLDB 19, 2025), section 4, whose rule "first p with E_p <= threshold"
ends at the first list or never; gamma and kreg are those of Angelopoulos et al., Uncertainty Sets
for Image Classifiers using Conformal Prediction (ICLR 2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Metric

Score = Literal["kth", "ratio", "ef"]
LIST_SCORES: tuple[Score, ...] = ("kth", "ratio")
SCORES: tuple[Score, ...] = (*LIST_SCORES, "ef")


@dataclass(frozen=True, slots=True)
class StopRule:
    """Ends a search at the first p lists with E_p >= threshold; see the module.

    scale: the squared distance at which 'kth' is 0. share: of 'ratio', see there.
    """

    score: Score
    gamma: float
    kreg: int
    scale: float
    share: float
    threshold: float


# For a search of a fixed number of lists: it may end after any.
ANYWHERE = StopRule("kth", 0.0, 0, 1.0, 0.0, float("-inf"))


def stop_scores(
    rule: StopRule,
    lists: NDArray[np.integer],
    nearest: NDArray[np.float64],
    following: NDArray[np.float64],
    reached: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return E_p after some numbers of lists, -inf where the search goes on for k rows.

    nearest, following and reached are squared distances: of the nearest and the next list's
    centroid, and of the k-th row so far, infinity where there is none. All shapes are as NumPy
    broadcasts them.
    """
    scores: NDArray[np.float64]
    with np.errstate(divide="ignore", invalid="ignore"):
        match rule.score:
            case "kth":
                scores = 1.0 - np.minimum(reached / rule.scale, 1.0)
            case "ratio":
                beyond = np.maximum(following - rule.share * nearest, 0.0)
                scores = np.where(reached == 0.0, np.inf, np.sqrt(beyond / reached))
            case "ef":
                scores = lists.astype(np.float64)
    scores = np.where(np.isinf(reached), -np.inf, scores)
    scores += rule.gamma * np.maximum(0, lists - rule.kreg)
    return scores


def greatest_square(vectors: NDArray[np.float32], metric: Metric, longest: float) -> float:
    """Return a square that no squared distance of two rows exceeds: the scale of 'kth'.

    Under l2 that is the squared diagonal of the box around the vectors, as ConANN has it.
    """
    match metric:
        case "l2" | "l1":
            least, most = vectors.min(axis=0, initial=np.inf), vectors.max(axis=0, initial=-np.inf)
            sides = most.astype(np.float64) - least
            square = float(sides @ sides if metric == "l2" else sides.sum())
        case "cosine":
            square = 4.0
        case "ip":
            square = 4 * longest * longest
        case "hamming":
            square = float(32 * vectors.shape[1])
    return square if 0 < square < np.inf else 1.0
