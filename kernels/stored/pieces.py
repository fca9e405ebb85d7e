"""Arrays that lie in several places, and are written without being put together."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """An array of a type and shape; `blocks` gives its rows in order, as often as it is asked."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Callable[[], Iterable[NDArray[Any]]]

    @staticmethod
    def of(array: NDArray[Any]) -> Pieces:
        """Return an array that is in one place."""
        return Pieces(array.dtype, array.shape, lambda: (array,))

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.dtype.itemsize * prod(self.shape)

    def whole(self) -> NDArray[Any]:
        """Return the array in memory of its own."""
        return np.concatenate(tuple(self.blocks()))
