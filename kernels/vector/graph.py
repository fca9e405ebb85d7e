"""A graph over the vectors of an IVF index: each is joined to some near it, and a search walks.

    neighbours  (n, degree)    the places of vectors near each, and then its own
    starts      (m)            the places that a walk begins at, ascending: some of each list
    offsets     (lists + 1)    those of list i are starts[offsets[i]] .. starts[offsets[i + 1]]

From the starts of all lists together each vector is reached, or one that equals it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.stored.stored_arrays import below, rising
from raydb.kernels.vector.exact_search import frozen
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.stored.stored_arrays import StoredArrays

# Neighbours of a vector at most, in any index.
MOST_DEGREE = 256

# Vectors that a walk keeps where nobody says it, and at most: to compare all takes little longer.
USUAL_EF = 100
MOST_EF = 2000


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A graph; see the module. list_offsets (lists + 1): the places of each list of the index."""

    neighbours: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    list_offsets: NDArray[np.int64]
    loop_arrays: tuple[NDArray[Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only, and collect them as loops take them."""
        offsets = np.searchsorted(self.starts, self.list_offsets).astype(np.int64)
        arrays = (np.ascontiguousarray(each) for each in (self.neighbours, self.starts, offsets))
        object.__setattr__(self, "loop_arrays", tuple(map(frozen, arrays)))

    @property
    def size_bytes(self) -> int:
        """The bytes of what is stored."""
        return self.neighbours.nbytes + self.starts.nbytes

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is stored, by name."""
        return {"neighbours": self.neighbours, "starts": self.starts}


def from_arrays(arrays: StoredArrays, count: int, list_offsets: NDArray[np.int64]) -> Graph:
    """Return the graph of `Graph.to_arrays` over `count` vectors. Raises OperationalError."""
    neighbours = arrays.take("neighbours", np.uint32, (count, -1), below(count))
    if neighbours.shape[1] > MOST_DEGREE:
        expected = f"of {MOST_DEGREE} columns at most"
        raise arrays.fault("neighbours", expected, neighbours.shape[1])
    starts = arrays.take("starts", np.uint32, (-1,), rising, below(count))
    return Graph(neighbours, starts, list_offsets)
