"""Merges: BVHs are built anew in a thread, beside the statements that change their tables.

    start()   a snapshot's tables are values, so the thread needs no lock; the BVH is marked
    ...       statements go on with the BVH as it was and its newer rows, and move the mark along
    taken()   between statements; what was appended since `start` is newer than the new BVH

A merge that does not come to its end leaves nothing behind but a file that no manifest names, and
the BVH is as right as it was before.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from raydb.engine.catalog.stored_bvh import Merge, is_outdated, rebuilt
from raydb.engine.session.settings import BACKEND
from raydb.errors import Error, InternalError
from raydb.interrupts import WAIT_S, check_interrupt
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.catalog.store import Store
    from raydb.engine.catalog.stored_bvh import StoredBvh
    from raydb.engine.context.statement_context import StatementContext
    from raydb.storage.tables.table import Table


@dataclass(eq=False, slots=True)
class _Work:
    """A BVH under construction; `merged` or `failure` is there at the end, and `file` on disk."""

    bvh: StoredBvh
    token: object
    tables: Mapping[str, Table]
    store: Store | None
    thread: threading.Thread | None = None
    merged: StoredBvh | None = None
    failure: str | None = None
    file: str | None = None
    is_cancelled: bool = False
    is_done: bool = False


class Merger:
    """One merge at a time; everything but the building itself happens on the caller's thread."""

    def __init__(self) -> None:
        self._work: _Work | None = None

    @property
    def is_done(self) -> bool:
        """Whether a merge has ended and was not taken yet."""
        return self._work is not None and self._work.is_done

    @property
    def is_idle(self) -> bool:
        """Whether there is no merge, neither under way nor to be taken."""
        return self._work is None

    def start(
        self, bvh: StoredBvh, snapshot: Snapshot, store: Store | None, context: StatementContext
    ) -> Snapshot:
        """Begin to build a BVH anew, and return the snapshot in which it is marked.

        store: where its arrays are written, None where nothing is. context: of the statement that
        begins it, which may hold as much memory; the CPU builds, and devices are left to queries.
        """
        assert self.is_idle
        versions = {name: snapshot.tables[name].version for name in bvh.versions}
        merge = Merge(object(), versions)
        work = _Work(bvh, merge.token, snapshot.tables, store)
        self._work = work
        on_cpu = replace(context, settings=context.settings.with_text(BACKEND.name, "cpu"))
        # A daemon, so that a process that forgets to close its connection can end.
        work.thread = threading.Thread(
            target=_run, args=(work, on_cpu), name="raydb merge", daemon=True
        )
        try:
            work.thread.start()
        except RuntimeError as error:  # The system has no thread left.
            self._work = None
            merge = replace(merge, failure=str(error))
        return snapshot.with_stored(replace(bvh, merge=merge))

    def wait(self) -> None:
        """Wait until no merge is under way; an interrupt ends the waiting, not the merge."""
        if self._work is not None and self._work.thread is not None:
            while self._work.thread.is_alive():
                self._work.thread.join(WAIT_S)
                check_interrupt()

    def cancel(self) -> None:
        """Give up the merge that is under way."""
        if self._work is not None:
            self._work.is_cancelled = True
            self.wait()
            _discard(self._work)
            self._work = None

    def taken(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the BVH of a merge that has ended, where it still fits.

        A failure is kept with the BVH, which stays as it was.
        """
        work = self._work
        assert work is not None
        assert work.is_done
        name = work.bvh.definition.name
        bvh = snapshot.bvhs.get(name)
        if bvh is None or bvh.merge is None or bvh.merge.token is not work.token:
            _discard(work)
            after = snapshot
        elif work.merged is None:
            failed = replace(bvh.merge, failure=work.failure)
            after = snapshot.with_stored(replace(bvh, merge=failed))
        else:
            merged = replace(work.merged, versions=bvh.merge.versions)
            if is_outdated(merged, snapshot.tables):
                _discard(work)
                after = snapshot.with_stored(replace(bvh, merge=None))
            else:
                if work.store is not None and work.file is not None:
                    work.store.adopt_bvh(merged.info, work.file)
                after = snapshot.with_stored(merged)
        self._work = None
        return after


def _run(work: _Work, context: StatementContext) -> None:
    """Build a BVH and write its arrays; nothing is raised in a thread that nobody looks at."""
    try:
        merged = rebuilt(replace(work.bvh, merge=None), work.tables, context)
        if merged.merge is not None:
            work.failure = merged.merge.failure
        elif not work.is_cancelled:
            if work.store is not None:
                work.file = work.store.write_bvh(merged.info)
            work.merged = merged
    except Error as error:
        work.failure = str(error)
    except MemoryError:
        work.failure = "there is not enough memory to build it"
    except Exception as error:  # noqa: BLE001  (it is told by bvhs())
        work.failure = str(InternalError(f"{type(error).__name__}: {error}"))
    finally:
        work.is_done = True


def _discard(work: _Work) -> None:
    """Give up the file of a merge that nobody takes; garbage collection removes it."""
    if work.store is not None and work.file is not None:
        work.store.directory.discard_file(work.file)
