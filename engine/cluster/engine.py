"""What carries questions to workers: all that RayDB asks of an engine such as Dask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future


class Engine(Protocol):
    """The workers, and the way to them. Its methods may be called by any thread."""

    is_local: bool
    """Whether all workers are processes of this connection, on this machine."""

    def workers(self, *, anew: bool = False) -> Mapping[str, str]:
        """Return the names of the workers by their addresses; anew: as they are at this moment."""

    def call(self, questions: Mapping[str, bytes]) -> Mapping[str, Future[bytes]]:
        """Ask workers; a future fails with OSError where its worker is lost."""

    def lose(self, answer: Future[bytes]) -> None:
        """Let an answer fail whose worker does not know of the call, unless it begins to come."""

    def end(self, worker: str, call: str) -> None:
        """Tell a worker that nobody waits for a call; what goes wrong with that does not matter."""

    def about(self, worker: str) -> Future[bytes]:
        """Ask a worker about itself, which it answers at once whatever it is doing."""

    def close(self) -> None:
        """Leave the workers, and end those that are the connection's own."""
