"""The database as one session has it: what it reads, and what it has changed and not committed.

    begin()  change(...)  savepoint("a")  change(...)  rollback_to("a")  commit()

A snapshot is a value, so a rollback is the one from before. Other sessions commit meanwhile: a
transaction reads what it began from, and everything else the newest commit.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from raydb.engine.catalog.indexes import table_indexes, vector_index
from raydb.errors import InterfaceError, ProgrammingError, did_you_mean
from raydb.interrupts import beside
from raydb.storage.tables.changes import compact_tables
from raydb.storage.tables.file_merges import CHECKPOINT_BYTES, VACUUM_BYTES
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.engine.catalog.conflicts import Commit
    from raydb.engine.catalog.shared_database import SharedDatabase
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.catalog.stored_rows import FilesAhead
    from raydb.engine.context.statement_context import StatementContext
    from raydb.storage.tables.changes import Change


@dataclass(frozen=True, eq=False, slots=True)
class _State:
    """A snapshot, the commit that it began from, and what is not durable of it.

    unsaved: changes of rows, or None for anything else. They are one value because an interrupt
    must not part them: the log replays changes of rows by their numbers.
    """

    base: Commit
    snapshot: Snapshot
    unsaved: tuple[Change, ...] | None = ()

    @staticmethod
    def of(commit: Commit) -> _State:
        """Return the state in which nothing is changed."""
        return _State(commit, commit.snapshot)


class Database:
    """One session's view of a database that several may share."""

    def __init__(self, shared: SharedDatabase) -> None:
        self.shared = shared
        self._state = _State.of(shared.committed)
        self._in_transaction = False
        # Whether a statement of the transaction has settled which commit it reads.
        self._has_read = False
        self._savepoints: tuple[tuple[str, _State], ...] = ()
        # Files that a change may name; they are given up unless it is committed.
        self._written: list[str] = []
        shared.join(self)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that the next statement reads, as of the last one that began."""
        return self._state.snapshot

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is active."""
        return self._in_transaction

    @property
    def is_changed(self) -> bool:
        """Whether anything is not durable."""
        return self._state.unsaved != ()

    @property
    def savepoints(self) -> list[str]:
        """The names of the savepoints, in order."""
        return [name for name, _ in self._savepoints]

    def catch_up(self) -> None:
        """Go on with what others have committed, between transactions and as one begins to read."""
        self.shared.check_process()
        if not self._in_transaction or not (self._has_read or self.is_changed):
            self.shared.catch_up()
            self._go_on()
            self._has_read = self._in_transaction

    def catch_up_later(self) -> Callable[[], bool] | None:
        """Go on with what is known, and ask what others have committed; see `SharedDatabase`."""
        found = None if self._in_transaction else self.shared.catch_up_later()
        if found is not None:
            self._go_on()
        return found

    @property
    def files(self) -> FilesAhead | None:
        """What writes rows and indexes to files before a commit; None in memory."""
        store = self.shared.store
        return None if store is None else store.files(self._written)

    def _discard_files(self) -> None:
        """Give up files that were written for changes which are not committed."""
        written, self._written = self._written, []
        if written and self.shared.store is not None:
            self.shared.store.discard(written)

    def _go_on(self) -> None:
        committed = self.shared.committed
        if self._state.base is not committed or self._state.unsaved != ():
            self._state = _State.of(committed)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Read the newest commit while nobody else commits."""
        with self.shared.alone():
            self._go_on()
            yield

    # -- changes

    def use_bvhs(self, tables: frozenset[str]) -> None:
        """Let the BVHs on some tables leave deleted rows out."""
        state = self._state
        usable = state.snapshot.with_usable_bvhs(tables)
        if usable is state.snapshot:
            return
        if state.snapshot is state.base.snapshot:
            self._state = _State.of(self.shared.exchange(state.base, usable))
        else:
            self._state = replace(state, snapshot=usable)

    def define(self, snapshot: Snapshot) -> None:
        """Go on with a snapshot in which anything may be different."""
        if snapshot is not self.snapshot:
            self._state = _State(self._state.base, table_indexes.drop_lost_indexes(snapshot), None)

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes of rows, one after the other.

        Raises IntegrityError for a broken one, DataError for a vector that no index can hold.
        """
        snapshot = self.snapshot
        for change in changes:
            vector_index.check_change(change, snapshot)
            snapshot = beside(partial(snapshot.with_change, change), change.row_count)
        if changes:
            base, unsaved = self._state.base, self._state.unsaved
            self._state = _State(base, snapshot, None if unsaved is None else (*unsaved, *changes))

    # -- transactions

    def begin(self) -> None:
        """Begin a transaction, which reads the commit that is the newest at its first statement."""
        if self._in_transaction:
            raise ProgrammingError("a transaction is active already")
        self.catch_up()
        self._in_transaction, self._has_read = True, False

    def commit(self) -> None:
        """Make the transaction durable, and end it; where that fails it is rolled back."""
        self._check_active()
        try:
            self.save()
        finally:
            self._end()

    def rollback(self) -> None:
        """Undo the transaction, and end it."""
        self._check_active()
        self._end()

    def savepoint(self, name: str) -> None:
        """Remember the state within a transaction; a later savepoint hides one of its name."""
        self._check_active()
        self._savepoints = (*self._savepoints, (name, self._state))

    def release(self, name: str) -> None:
        """Forget a savepoint and those after it."""
        self._savepoints = self._savepoints[: self._place_of(name)]

    def rollback_to(self, name: str) -> None:
        """Go back to a savepoint, which stays; those after it are forgotten."""
        place = self._place_of(name)
        self._state = self._savepoints[place][1]
        self._savepoints = self._savepoints[: place + 1]

    def _check_active(self) -> None:
        if not self._in_transaction:
            raise ProgrammingError("no transaction is active")

    def _place_of(self, name: str) -> int:
        self._check_active()
        names = self.savepoints
        if name not in names:
            raise ProgrammingError(f"savepoint '{name}' does not exist{did_you_mean(name, names)}")
        return len(names) - 1 - names[::-1].index(name)

    def _end(self) -> None:
        self._savepoints = ()
        self._state = _State.of(self.shared.committed)
        self._in_transaction = False
        self._discard_files()

    # -- durability

    def save(self, *, frees_space: bool = False) -> None:
        """Make what has changed durable; where that fails, it is forgotten.

        frees_space: whether it may use the reserve of a full disk. Raises what
        `SharedDatabase.commit` does.
        """
        state = self._state
        sequences = state.snapshot.sequences.values() if self.shared.store is not None else ()
        if state.unsaved == () and not any(each.is_moved for each in sequences):
            return
        try:
            self.shared.commit(state.base, state.snapshot, state.unsaved, frees_space=frees_space)
        finally:
            self._state = _State.of(self.shared.committed)
            self._discard_files()

    @property
    def state(self) -> _State:
        """What `restore` goes back to."""
        return self._state

    def restore(self, state: _State) -> None:
        """Go back within a transaction: a statement failed or was interrupted after it."""
        self._state = state

    def discard(self) -> None:
        """Forget what is not saved, outside of a transaction: a statement failed after it."""
        if not self._in_transaction:
            self._go_on()
            self._discard_files()

    def checkpoint(self, share: float, context: StatementContext) -> None:
        """Merge BVHs with newer or dead rows, and move the log's rows into files.

        share: how many of a large BVH's rows may be newer or dead without a merge.
        """
        self.shared.checkpoint(share, context, _most(CHECKPOINT_BYTES, context))
        self._go_on()

    def vacuum(self, context: StatementContext) -> None:
        """Leave out the masked rows, in few files, and remove what nobody needs any more."""
        before = self.snapshot.tables
        after = self.snapshot.with_changes(compact_tables(before, _most(VACUUM_BYTES, context)))
        for table in before.values():
            if table.live is not None:
                after = table_indexes.renumber_rows(after, table.name, table.live)
        self.define(after.with_merged_bvhs(context))
        self.save(frees_space=True)
        if self.shared.store is not None:
            self.shared.store.directory.sweep()

    def close(self) -> None:
        """Leave the database; an open transaction is rolled back."""
        with suppress(InterfaceError):  # a copy in a process that was forked
            self._discard_files()
        self.shared.leave(self)


def _most(wanted: int, context: StatementContext) -> int:
    """Return how many bytes of rows in files a statement may decode at a time."""
    limit = context.memory_limit()
    return wanted if limit is None else min(wanted, limit // 4)
