"""The database of a session: its current snapshot, the transaction around it, what is not saved.

    begin()  change(...)  savepoint("a")  change(...)  rollback_to("a")  commit()

A snapshot is a value, so a rollback is the one from before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from raydb.engine.catalog.snapshot import Snapshot
from raydb.engine.catalog.vector_index import check_change, drop_lost_indexes, renumber_rows
from raydb.errors import InterfaceError, OperationalError, ProgrammingError, did_you_mean
from raydb.interrupts import beside, hold_interrupt
from raydb.storage.tables.changes import compact_tables
from raydb.storage.tables.file_merges import CHECKPOINT_BYTES, VACUUM_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.catalog.store import Store
    from raydb.engine.context.statement_context import StatementContext
    from raydb.storage.durable.version import Version
    from raydb.storage.tables.changes import Change


@dataclass(frozen=True, eq=False, slots=True)
class _State:
    """A snapshot, and what is not durable of it: changes of rows, or None for anything else.

    They are one value because an interrupt must not part them: the log replays changes of rows by
    their numbers.
    """

    snapshot: Snapshot
    unsaved: tuple[Change, ...] | None = ()


class Database:
    """The current version of a database; `store` keeps it on disk, None is one in memory."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self._state = _State(Snapshot())
        # Of a reader: what was loaded last, and the version that it is of.
        self._loaded: tuple[Version, Snapshot] | None = None
        if store is not None:
            self._load(store)
        self._before: Snapshot | None = None
        self._savepoints: tuple[tuple[str, _State], ...] = ()

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot."""
        return self._state.snapshot

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is active."""
        return self._before is not None

    # -- changes

    def use_bvhs(self, tables: frozenset[str]) -> None:
        """Let the BVHs on some tables leave deleted rows out."""
        usable = self.snapshot.with_usable_bvhs(tables)
        if usable is not self.snapshot:
            self._state = replace(self._state, snapshot=usable)

    def keep_merged(self) -> None:
        """Make BVHs durable that were merged since the last manifest, as far as that is possible.

        They say nothing new, so that it is no error where it fails.
        """
        if self.store is None or self.in_transaction or self._state.unsaved != ():
            return
        files = self.store.directory.shown.files
        if all(self.store.file_of(bvh.info) in files for bvh in self.snapshot.bvhs.values()):
            return
        with suppress(OperationalError, InterfaceError):
            self.exchange(self.store.checkpoint(self.snapshot))

    def exchange(self, snapshot: Snapshot) -> None:
        """Go on with a snapshot of the same rows, whose BVHs may be others."""
        self._state = replace(self._state, snapshot=snapshot)

    def define(self, snapshot: Snapshot) -> None:
        """Go on with a snapshot in which anything may be different."""
        if snapshot is not self.snapshot:
            self._state = _State(drop_lost_indexes(snapshot), None)

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes of rows, one after the other.

        Raises IntegrityError for a broken one, DataError for a vector that no index can hold.
        """
        snapshot = self.snapshot
        for change in changes:
            check_change(change, snapshot)
            snapshot = beside(partial(snapshot.with_change, change), change.row_count)
        if changes:
            unsaved = self._state.unsaved
            self._state = _State(snapshot, None if unsaved is None else (*unsaved, *changes))

    # -- transactions

    def begin(self) -> None:
        """Begin a transaction."""
        if self.in_transaction:
            raise ProgrammingError("a transaction is active already")
        self._before = self.snapshot

    def commit(self) -> None:
        """Make the transaction durable, and end it; where that fails it is rolled back."""
        before = self._snapshot_before()
        try:
            self.save(before)
        finally:
            self._end()

    def rollback(self) -> None:
        """Undo the transaction, and end it."""
        self._state = _State(self._snapshot_before())
        self._end()

    def savepoint(self, name: str) -> None:
        """Remember the state within a transaction; a later savepoint hides one of its name."""
        self._snapshot_before()
        self._savepoints = (*self._savepoints, (name, self._state))

    def release(self, name: str) -> None:
        """Forget a savepoint and those after it."""
        self._savepoints = self._savepoints[: self._place_of(name)]

    def rollback_to(self, name: str) -> None:
        """Go back to a savepoint, which stays; those after it are forgotten."""
        place = self._place_of(name)
        self._state = self._savepoints[place][1]
        self._savepoints = self._savepoints[: place + 1]

    def _snapshot_before(self) -> Snapshot:
        if self._before is None:
            raise ProgrammingError("no transaction is active")
        return self._before

    def _place_of(self, name: str) -> int:
        self._snapshot_before()
        names = [known for known, _ in self._savepoints]
        if name not in names:
            raise ProgrammingError(f"savepoint '{name}' does not exist{did_you_mean(name, names)}")
        return len(names) - 1 - names[::-1].index(name)

    def _end(self) -> None:
        self._before = None
        self._savepoints = ()

    # -- durability

    def save(self, before: Snapshot, *, frees_space: bool = False) -> None:
        """Make what has changed durable; where that fails, the database is as it was before.

        frees_space: whether it may use the reserve of a full disk.
        """
        after, unsaved = self._state.snapshot, self._state.unsaved
        if unsaved == ():
            return
        position = None if self.store is None else self.store.position
        try:
            if self.store is None:
                hold_interrupt()
            else:
                after = self.store.save(after, unsaved, frees_space=frees_space)
        except BaseException:
            # An interrupt may come right after the change became durable: then it stays.
            if self.store is not None and self.store.position == position:
                after = before
            raise
        finally:
            self._state = _State(after)

    @property
    def state(self) -> _State:
        """What `restore` goes back to."""
        return self._state

    def restore(self, state: _State) -> None:
        """Go back within a transaction: a statement was interrupted after it."""
        self._state = state

    def discard(self, before: Snapshot) -> None:
        """Forget what is not saved: a statement was interrupted after it, outside a transaction."""
        if self._state.unsaved != ():
            self._state = _State(before)

    def checkpoint(self, share: float, context: StatementContext) -> None:
        """Merge BVHs with newer or dead rows, and move the log's rows into files.

        share: how many of a large BVH's rows may be newer or dead without a merge.
        """
        if self.in_transaction:
            raise ProgrammingError("CHECKPOINT cannot run inside a transaction")
        merged = self.snapshot.with_merged_bvhs(context, share)
        if self.store is not None:
            most = _most(CHECKPOINT_BYTES, context)
            merged = self.store.save(merged, None, most, frees_space=True)
        self.exchange(merged)

    def vacuum(self, context: StatementContext) -> None:
        """Leave out the masked rows, in few files; the caller makes it durable by a manifest."""
        if self.in_transaction:
            raise ProgrammingError("VACUUM cannot run inside a transaction")
        before = self.snapshot.tables
        after = self.snapshot.with_changes(compact_tables(before, _most(VACUUM_BYTES, context)))
        for table in before.values():
            if table.live is not None:
                after = renumber_rows(after, table.name, table.live)
        self.define(after.with_merged_bvhs(context))

    def reload(self) -> None:
        """Let a reader see what the writer has committed since, between transactions."""
        if self.store is not None and not self.in_transaction:
            self.store.directory.refresh()
            self._load(self.store)

    def _load(self, store: Store) -> None:
        """Go on with what the directory shows, unless that is what was loaded last."""
        shown, known = store.directory.shown, self._loaded
        if known is not None and known[0] is shown:
            return
        snapshot = store.load(shown, known)
        # In this order: after an interrupt between the two it is loaded again.
        self._state = _State(snapshot)
        if store.directory.read_only:
            self._loaded = shown, snapshot

    def close(self) -> None:
        """Give the directory back; an open transaction is rolled back."""
        if self.store is not None:
            self.store.directory.close()


def _most(wanted: int, context: StatementContext) -> int:
    """Return how many bytes of rows in files a statement may decode at a time."""
    limit = context.memory_limit()
    return wanted if limit is None else min(wanted, limit // 4)
