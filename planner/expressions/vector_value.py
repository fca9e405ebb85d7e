"""The value of a literal that is a list of floating-point numbers: one array, not taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_DTYPES: dict[pa.DataType, np.dtype[Any]] = {
    pa.float32(): np.dtype(np.float32),
    pa.float64(): np.dtype(np.float64),
}


class Vector(Sequence[float]):
    """Numbers of float32 or float64, none of which is NULL; equal and hashed by their bits."""

    __slots__ = ("_bits", "numbers")

    def __init__(self, numbers: NDArray[Any]) -> None:
        self._bits = numbers.tobytes()
        self.numbers = np.frombuffer(self._bits, numbers.dtype)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> float: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[float]: ...

    def __getitem__(self, place: int | slice) -> float | Sequence[float]:
        found: float | list[float] = self.numbers[place].tolist()
        return found

    def __iter__(self) -> Iterator[float]:
        return iter(self.numbers.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.numbers.dtype == other.numbers.dtype and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    def __repr__(self) -> str:
        return repr(tuple(self))

    def scalar(self, data_type: pa.DataType) -> pa.Scalar:
        """Return the list as a scalar of its type."""
        elements = pa.array(self.numbers)
        if pa.types.is_fixed_size_list(data_type):
            return pa.FixedSizeListArray.from_arrays(elements, type=data_type)[0]
        return pa.ListArray.from_arrays([0, len(elements)], elements, type=data_type)[0]

    def converted(self, data_type: pa.DataType) -> Vector | None:
        """Return the nearest numbers of another type of elements.

        None where one becomes infinite, and for what is no type of floating-point numbers.
        """
        dtype = _DTYPES.get(data_type)
        if dtype is None:
            return None
        with np.errstate(over="ignore"):
            numbers = self.numbers.astype(dtype)
        same = bool((np.isinf(numbers) == np.isinf(self.numbers)).all())
        return Vector(numbers) if same else None


def vector_of(scalar: pa.Scalar) -> Vector | None:
    """Return a list as a vector; None for one that has NULL in it or no floating-point numbers."""
    elements = scalar.values
    if elements is None or elements.null_count or elements.type not in _DTYPES:
        return None
    return Vector(elements.to_numpy())
