"""Values that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
T = TypeVar("T")


class Deferred(Generic[T]):
    """A value that is made, and checked, when it is first asked for, and kept from then on.

    Where that raises, it is tried again the next time. Threads that come at once may make it twice.
    """

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make

    @staticmethod
    def of(value: T) -> Deferred[T]:
        """Return a value that is there already."""
        made = Deferred(lambda: value)
        made.get()
        return made

    def get(self) -> T:
        """Return the value."""
        make = self._make
        if make is not None:
            self._value = make()
            self._make = None
        return self._value


class DeferredValues(Mapping[K, T]):
    """A mapping whose values are each made when they are first asked for."""

    def __init__(self, values: Mapping[K, Deferred[T]]) -> None:
        self._values = values

    def __getitem__(self, key: K) -> T:
        return self._values[key].get()

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
