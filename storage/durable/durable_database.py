"""What databases on disk and in object stores have in common, as the engine uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class DurableDatabase:
    """A database that outlives its process: `DatabaseDirectory`, `DatabaseObjects`.

    local_folder: where temporary files may lie beside it. is_overtaken: whether another writer has
    made a version, which `refresh` reads.
    """

    # Larger changes go to files of their own instead of the log; a longer log is worth a new
    # manifest, as replaying it would delay the next open.
    most_logged_bytes = 1 << 22
    most_log_bytes = 1 << 26

    local_folder: str | None = None
    is_overtaken = False

    def prepare(self) -> None:
        """Bring what opening the files of the version that is shown reads."""

    def refresh_later(self) -> Callable[[], bool] | None:
        """Ask whether there is a newer version, where that takes a while.

        Returns the function that waits for the answer, moves to that version and tells whether
        there was one; None where `refresh` is to be called before anything is read.
        """
        return None

    def sweep(self) -> list[str]:
        """Remove what is kept for readers that nobody knows; return the names."""
        return []

    def append(self, record: bytes) -> None:
        """Add a record to the log, durable when this returns; see `queue`."""
        wait = self.queue(record)
        assert wait is not None
        wait()

    def queue(
        self,
        record: bytes,
        published: Callable[[], None] | None = None,
        failures: int | None = None,
    ) -> Callable[[], None] | None:
        """Give a record its place in the log; what is returned waits until it is durable."""
        raise NotImplementedError
