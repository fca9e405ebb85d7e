"""Changes of a session: rows and definitions, the transaction around them, and the disk below.

A statement changes the database at its end or not at all.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, assert_never

from raydb.engine.catalog.database import Database
from raydb.engine.catalog.merge import Merger
from raydb.engine.catalog.stored_bvh import is_merge_due
from raydb.engine.session.result import Result
from raydb.engine.session.settings import BVH_MERGE, BVH_MERGE_SHARE, parse_share
from raydb.engine.statements.definitions import apply_definition
from raydb.engine.statements.names import check_table
from raydb.engine.statements.runs import change_by_runs
from raydb.engine.statements.write import write
from raydb.sql import ParameterRows, ast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.catalog.store import Store
    from raydb.engine.context.statement_context import StatementContext


# They free space, at once or with the next CHECKPOINT or VACUUM.
FREEING = (ast.Delete, ast.Drop, ast.Truncate, ast.Vacuum)


class Changes:
    """The database of a session, and what statements do to it. store: None for one in memory."""

    def __init__(self, store: Store | None, *, read_only: bool) -> None:
        self.database = Database(store)
        self.merger = Merger()
        self._read_only = read_only

    @contextmanager
    def whole(self, statement: ast.Statement) -> Iterator[None]:
        """Make what one statement changes durable, or undo it where it fails."""
        database = self.database
        before, state = database.snapshot, database.state
        try:
            yield
            if not database.in_transaction:
                database.save(before, frees_space=isinstance(statement, FREEING))
        except BaseException:
            if database.in_transaction:
                database.restore(state)
            else:
                database.discard(before)
            raise

    # -- rows and definitions -------------------------------------------------------------------

    def write(self, statement: ast.Write, context: StatementContext) -> Result:
        """Change the rows of a table: all that the statement says, or nothing on any error."""
        check_table(statement.table, context.snapshot)
        changed = write(statement, context)
        self.database.apply(changed.changes)
        return Result(changed.returned, changed.names, changed.row_count, is_written=True)

    def write_runs(self, statement: ast.Write, context: StatementContext) -> Result | None:
        """Change rows as many runs of a statement would; None where they are to run one by one."""
        parameters = context.parameters
        assert isinstance(parameters, ParameterRows)
        if not isinstance(statement, ast.Update | ast.Delete):
            return self.write(statement, context)
        check_table(statement.table, context.snapshot)
        changed = change_by_runs(statement, parameters, context)
        if changed is None:
            return None
        self.database.apply(changed.changes)
        return Result(None, (), changed.row_count)

    def define(self, statement: ast.Definition, context: StatementContext) -> Result:
        """Create, change or drop tables, views, BVHs and indexes."""
        before = self.database.snapshot
        snapshot, row_count = apply_definition(statement, context)
        context.usage.forget(before.bvhs.keys() - snapshot.bvhs.keys())
        self.database.define(snapshot)
        return Result(None, (), row_count)

    # -- transactions ---------------------------------------------------------------------------

    def control(self, statement: ast.Control) -> None:
        """Begin, end or undo a transaction, or a part of it."""
        match statement:
            case ast.Begin():
                self.database.begin()
            case ast.Commit():
                self.database.commit()
            case ast.Rollback():
                self.database.rollback()
            case ast.Savepoint(name=name):
                self.database.savepoint(name)
            case ast.Release(name=name):
                self.database.release(name)
            case ast.RollbackTo(name=name):
                self.database.rollback_to(name)
            case _:
                assert_never(statement)

    # -- BVHs and the disk ----------------------------------------------------------------------

    def catch_up(self) -> None:
        """Go on with what others have made: the writer's commits, and BVHs that were merged."""
        if self._read_only:
            self.database.reload()
        self._take_merged()

    def _take_merged(self) -> None:
        """Go on with the BVH of a merge that has ended, between transactions."""
        if self.merger.is_done and not self.database.in_transaction:
            self.database.exchange(self.merger.taken(self.database.snapshot))

    def use_bvhs(self, tables: frozenset[str], context: StatementContext) -> None:
        """Make the BVHs on some tables ready, and begin the merge of one that is due."""
        self.database.use_bvhs(tables)
        in_background = context.settings[BVH_MERGE] == "background"
        if not in_background or not self.merger.is_idle or self.database.in_transaction:
            return
        snapshot = self.database.snapshot
        for bvh in snapshot.bvhs.values():
            if bvh.definition.table in tables and is_merge_due(bvh, snapshot.tables):
                store = None if self._read_only else self.database.store
                self.database.exchange(self.merger.start(bvh, snapshot, store, context))
                return

    def checkpoint(self, context: StatementContext) -> None:
        """Merge what is worth it and write everything; what a merge has built is of use."""
        if not self.database.in_transaction:
            self.merger.wait()
            self._take_merged()
        self.database.checkpoint(parse_share(context.settings[BVH_MERGE_SHARE]), context)

    def close(self) -> None:
        """Give the database directory back; an open transaction is rolled back.

        A merge that is under way is given up, one that has ended is made durable.
        """
        try:
            self._take_merged()
            self.merger.cancel()
            if not self._read_only:
                self.database.keep_merged()
        finally:
            self.database.close()
