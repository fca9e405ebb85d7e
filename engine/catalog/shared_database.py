"""A database as the connections of a process share it: what is committed, and whose turn it is.

    committed     what a statement or a transaction reads that begins now
    commit(...)   one after the other: brought onto the newest commit, queued for the log, and read
                  by others once it is durable; meanwhile the next one is prepared (group commit)
    alone()       nobody else commits, and all that was queued is durable

A commit is a value that takes the place of another, so that who reads waits for nobody.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from raydb.engine.catalog.conflicts import Commit, rebased, redefined
from raydb.engine.catalog.merge import Merger
from raydb.engine.catalog.stored_bvh import is_merge_due
from raydb.engine.context.usage import Usage
from raydb.engine.fused.derived_cache import DerivedCache
from raydb.errors import InterfaceError, OperationalError, ProgrammingError
from raydb.interrupts import WAIT_S, check_interrupt, hold_interrupt
from raydb.names import is_same
from raydb.storage.durable.reserve import is_full
from raydb.storage.tables.file_merges import STATEMENT_BYTES
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.catalog.store import Store
    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.databases.attached import Attachment
    from raydb.storage.durable.version import Version
    from raydb.storage.tables.changes import Change


class SharedDatabase:
    """What the connections to a database share. store: where it is kept, None for one in memory.

    cache, usage, merger: what was made of its columns, how its BVHs were used, and the merge of one
    of them that is under way.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = store
        self.cache = DerivedCache()
        self.usage = Usage()
        self.merger = Merger()
        self.is_closed = False
        self._numbers = count(1)
        self._turn = threading.RLock()
        # For moments only: the two commits are replaced by whoever has the turn, by the thread that
        # has synced the log, and by readers that made a BVH ready.
        self._swap = threading.Lock()
        self._failures = 0
        # Of a reader: what was loaded last, and the version that it is of.
        self._loaded: tuple[Version, Snapshot] | None = None
        self._newest = self._durable = Commit()
        # The tables on which no merge is due, by the snapshot in which that was found.
        self._not_due: WeakKeyDictionary[Snapshot, set[frozenset[str]]] = WeakKeyDictionary()
        if store is not None:
            self._load(store)
        self._users: WeakSet[object] = WeakSet()
        # What its sessions have beside it, replaced as a whole.
        self.attachments: tuple[Attachment, ...] = ()

    # -- what is committed

    @property
    def committed(self) -> Commit:
        """The newest commit that is durable."""
        newest = self._newest
        # The same commit may say more there, such as of a BVH that is ready.
        return newest if newest.number == self._durable.number else self._durable

    def catch_up(self) -> None:
        """Go on with what others have made: another process's commits, BVHs that were merged."""
        if self.store is not None and self.store.directory.read_only:
            self.store.directory.refresh()
            self._load(self.store)
        elif self.store is not None and self.store.directory.is_overtaken:
            with self.alone():
                self.store.directory.refresh()
                self._load(self.store)
        if self.merger.is_done and self._turn.acquire(blocking=False):
            try:
                self._take_merged()
            finally:
                self._turn.release()

    def catch_up_later(self) -> Callable[[], bool] | None:
        """Ask what others have made, and return what waits for it; see `refresh_later`."""
        store = self.store
        if store is None or self.merger.is_done:
            return None
        # Another session may go on with the version that this one hears of.
        before = self._durable.number
        refresh = store.directory.refresh_later()
        if refresh is None:
            return None

        def catch_up() -> bool:
            refresh()
            self._load(store)
            return self._durable.number != before

        return catch_up

    def check_process(self) -> None:
        """Raise InterfaceError in a process that was forked from the one that writes."""
        if self.store is not None and not self.store.directory.read_only:
            self.store.directory.check_process()

    def exchange(self, before: Commit, snapshot: Snapshot) -> Commit:
        """Return a commit with a snapshot of the same rows, whose BVHs may be others.

        Who reads from now on has it too, unless there is a newer commit.
        """
        after = replace(before, snapshot=snapshot)
        with self._swap:
            if self._newest is before:
                self._newest = after
            elif self._durable is before:
                self._durable = after
        return after

    def _load(self, store: Store) -> None:
        """Go on with what the directory shows, unless that is what was loaded last."""
        shown, known = store.directory.shown, self._loaded
        if known is not None and known[0] is shown:
            return
        snapshot = store.load(shown, known)
        # In this order: after an interrupt between the two it is loaded again.
        self._newest = self._durable = Commit(snapshot, next(self._numbers))
        if store.directory.read_only:
            self._loaded = shown, snapshot

    @property
    def is_in_place(self) -> bool:
        """Whether the database is still locked where it was opened."""
        return self.store is not None and self.store.directory.is_locked

    # -- commits

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else commit meanwhile; what was queued before is durable, or has failed."""
        with self._waited_for():
            if self.store is not None:
                self.store.directory.drain()
            self._forget_failed()
            yield

    def commit(
        self,
        base: Commit,
        after: Snapshot,
        changes: Sequence[Change] | None,
        *,
        frees_space: bool = False,
    ) -> None:
        """Make a snapshot durable, and the one that others read.

        base: what it was made from. changes: all that changed, where nothing but rows did; else
        None. frees_space: on a full disk the reserve is there for it. Where this raises, all is as
        it was before: ConflictError and IntegrityError for what others have committed since the
        base, OperationalError where the disk fails.
        """
        try:
            self._commit(base, after, changes)
        except OperationalError as error:
            if not (frees_space and is_full(error)):
                raise
            with self.alone():
                self._make_room(error)
                self._commit(base, after, changes)

    def checkpoint(self, share: float, context: StatementContext, most: int) -> None:
        """Merge BVHs with newer or dead rows, and move the log's rows into files; be alone.

        share: how many of a large BVH's rows may be newer or dead without a merge. most: how many
        bytes of rows in files may be decoded at a time.
        """
        self._take_merged()
        merged = self._newest.snapshot.with_merged_bvhs(context, share)
        commit = replace(self._newest, snapshot=merged)
        try:
            self._write(commit, most)
        except OperationalError as error:
            if not is_full(error):
                raise
            self._make_room(error)
            self._write(commit, most)

    def _commit(self, base: Commit, after: Snapshot, changes: Sequence[Change] | None) -> None:
        store = self.store
        if store is None or changes is None or not store.takes(changes):
            with self.alone():
                self._take_merged()
                newest = self._newest
                made, _ = rebased(base, after, changes, newest)
                commit = Commit(made, next(self._numbers), newest.redefined)
                self._write(commit if changes is not None else redefined(newest.snapshot, commit))
            return
        wait = None
        with self._waited_for():
            while wait is None:
                self._forget_failed()
                self._take_merged()
                newest = self._newest
                made, moved = rebased(base, after, changes, newest)
                assert moved is not None
                commit = Commit(made, next(self._numbers), newest.redefined)
                hold_interrupt()
                wait = store.queue(moved, made, partial(self._publish, commit), self._failures)
            with self._swap:
                self._newest = commit
        wait()

    def _write(self, commit: Commit, most: int = STATEMENT_BYTES) -> None:
        """Make a commit durable by a manifest, and publish it; be alone."""
        store = self.store
        if store is None:
            hold_interrupt()
        else:
            position = store.position
            try:
                snapshot = store.checkpoint(commit.snapshot, most)
            except BaseException:
                # An interrupt may come right after the change became durable: then it stays.
                if store.position != position:
                    self._go_on(commit)
                raise
            commit = replace(commit, snapshot=snapshot)
        self._go_on(commit)

    def _publish(self, commit: Commit) -> None:
        """Let others read what has become durable."""
        with self._swap:
            self._durable = commit

    def _go_on(self, commit: Commit) -> None:
        with self._swap:
            self._newest = self._durable = commit

    def _forget_failed(self) -> None:
        """Go back to what is durable where commits that were queued have failed."""
        if self.store is not None and self.store.directory.failures != self._failures:
            self._failures = self.store.directory.failures
            with self._swap:
                self._newest = self._durable

    def _make_room(self, error: OperationalError) -> None:
        if self.store is None or not self.store.make_room():
            raise error

    @contextmanager
    def _waited_for(self) -> Iterator[None]:
        """Wait for the turn to commit, and have it; an interrupt ends the waiting."""
        while not self._turn.acquire(timeout=WAIT_S):
            check_interrupt()
        try:
            yield
        finally:
            self._turn.release()

    # -- merges of BVHs

    def begin_merge(self, tables: frozenset[str], context: StatementContext) -> None:
        """Begin the merge of a BVH on some tables that is due, unless somebody commits now."""
        newest = self._newest
        not_due = self._not_due.setdefault(newest.snapshot, set())
        if tables in not_due or not self.merger.is_idle or not self._turn.acquire(blocking=False):
            return
        try:
            if self._newest is not newest:
                return  # The next statement looks again.
            for bvh in newest.snapshot.bvhs.values():
                if bvh.definition.table in tables and is_merge_due(bvh, newest.snapshot.tables):
                    is_reader = self.store is not None and self.store.directory.read_only
                    store = None if is_reader else self.store
                    marked = self.merger.start(bvh, newest.snapshot, store, context)
                    self.exchange(newest, marked)
                    return
            not_due.add(tables)
        finally:
            self._turn.release()

    def _take_merged(self) -> None:
        """Go on with the BVH of a merge that has ended; have the turn."""
        if self.merger.is_done:
            newest = self._newest
            self.exchange(newest, self.merger.taken(newest.snapshot))

    def _keep_merged(self) -> None:
        """Make BVHs durable that were merged since the last manifest, as far as that is possible.

        They say nothing new, so that it is no error where it fails.
        """
        store, snapshot = self.store, self._newest.snapshot
        if store is None or store.directory.read_only:
            return
        files = store.directory.shown.files
        if all(store.file_of(bvh.info.index) in files for bvh in snapshot.bvhs.values()):
            return
        with suppress(OperationalError, InterfaceError):
            self._write(self._newest)

    # -- databases beside it

    def attach(self, added: Attachment | None, gone: Attachment | None = None) -> None:
        """Let sessions have another database beside this one from their next statements on.

        gone: one that they have no more. Raises ProgrammingError where another session has attached
        one of the name.
        """
        with self._swap:
            left = [each for each in self.attachments if each is not gone]
            if added is not None:
                if any(is_same(each.attach.name, added.attach.name) for each in left):
                    raise ProgrammingError(
                        f"a database is attached as '{added.attach.name}' already"
                    )
                left.append(added)
            self.attachments = tuple(left)

    # -- who uses it

    def join(self, user: object) -> None:
        """Be open for a user, until it leaves or is gone."""
        self._users.add(user)

    def leave(self, user: object) -> None:
        """Give the database directory back with the last user.

        A merge that is under way is given up then, one that has ended is made durable.
        """
        self._users.discard(user)
        if self._users or self.is_closed:
            return
        self.is_closed = True
        try:
            if self.store is not None:
                self._end()
            else:
                self.merger.cancel()
        finally:
            if self.store is not None:
                self.store.directory.close()

    def _end(self) -> None:
        """Keep what a merge has made, unless this is a copy in a process that was forked."""
        with suppress(InterfaceError):
            self.check_process()
            with self.alone():
                self._take_merged()
                self.merger.cancel()
                self._keep_merged()
