"""Changes of a session: rows and definitions, and the transaction around them.

A statement changes the database at its end or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, assert_never

from raydb.engine.catalog.database import Database
from raydb.engine.session.databases import Databases
from raydb.engine.session.result import Result
from raydb.engine.session.settings import BVH_MERGE, BVH_MERGE_SHARE, parse_share
from raydb.engine.statements import names as statement_names
from raydb.engine.statements import runs
from raydb.engine.statements import write as writing
from raydb.errors import (
    ConflictError,
    DataError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
)
from raydb.sql import ast
from raydb.sql.template import parameter_rows
from raydb.storage.enums import typed_table
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.catalog.shared_database import SharedDatabase
    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext

T = TypeVar("T")

# They free space, at once or with the next CHECKPOINT or VACUUM.
FREEING = (ast.Delete, ast.Drop, ast.Truncate, ast.Vacuum)


# They write all tables, so that they are no transaction, and nobody else commits meanwhile.
ALONE = (ast.Checkpoint, ast.Vacuum)


def _frees_space(statement: ast.Statement) -> bool:
    return isinstance(statement, FREEING)


class Changes:
    """The database of a session, and what statements do to it."""

    def __init__(self, shared: SharedDatabase) -> None:
        self.database = Database(shared)
        self.databases = Databases(self.database)

    def whole(self, statement: ast.Statement, run: Callable[[], T]) -> T:
        """Run a statement; what it changes becomes durable, or is undone where it fails.

        Outside of a transaction it waits for its turn where others were faster: it is run again, on
        what they have committed, while nobody else commits.
        """
        databases = self.databases
        if databases.in_transaction:
            return self._whole_part(statement, run)
        try:
            if isinstance(statement, ALONE):
                if isinstance(statement, ast.Checkpoint):
                    self.database.shared.merger.wait()
                return self._whole_alone(statement, run)
            result = run()
            try:
                databases.save(frees_space=_frees_space(statement))
            except (ConflictError, IntegrityError, DataError, NotSupportedError):
                # It was right on its own snapshot.
                return self._whole_alone(statement, run)
            return result
        except BaseException:
            databases.discard()
            raise

    def _whole_part(self, statement: ast.Statement, run: Callable[[], T]) -> T:
        """Run a statement of a transaction, or the one that ends it."""
        if isinstance(statement, ALONE):
            name = type(statement).__name__.upper()
            raise ProgrammingError(f"{name} cannot run inside a transaction")
        restore = self.databases.states()
        try:
            return run()
        except BaseException:
            restore()
            raise

    def _whole_alone(self, statement: ast.Statement, run: Callable[[], T]) -> T:
        """Run a statement while nobody else commits."""
        with self.databases.alone():
            result = run()
            self.databases.save(frees_space=_frees_space(statement))
            return result

    def save_sequences(self) -> None:
        """Make durable what a query has taken of sequences, before anyone sees it.

        In a transaction COMMIT does so.
        """
        if not self.databases.in_transaction:
            self.databases.save()

    # -- rows and definitions -------------------------------------------------------------------

    def write(self, statement: ast.Write, context: StatementContext) -> Result:
        """Change the rows of a table: all that the statement says, or nothing on any error."""
        statement = replace(
            statement, table=statement_names.table_called(statement.table, context.snapshot)
        )
        with context.keeping_rows():
            changed = writing.write(statement, context)
            self.databases.database(context.target).apply(changed.changes)
        returned, columns = changed.returned, changed.columns
        if returned is not None:
            returned = typed_table(returned, [column.type for column in columns])
        names = tuple(column.name for column in columns)
        result = Result(returned, names, changed.row_count, is_written=True)
        result.last_identity = changed.last_identity
        return result

    def write_runs(self, statement: ast.Write, context: StatementContext) -> Result | None:
        """Change rows as many runs of a statement would; None where they are to run one by one."""
        parameters = context.parameters
        assert isinstance(parameters, parameter_rows.ParameterRows)
        if not isinstance(statement, ast.Update | ast.Delete):
            return self.write(statement, context)
        statement = replace(
            statement, table=statement_names.table_called(statement.table, context.snapshot)
        )
        changed = runs.change_by_runs(statement, parameters, context)
        if changed is None:
            return None
        self.databases.database(context.target).apply(changed.changes)
        return Result(None, (), changed.row_count)

    def define(self, statement: ast.Definition, context: StatementContext) -> Result:
        """Create, change or drop tables, views, BVHs and indexes."""
        from raydb.engine.statements.definitions import apply_definition  # noqa: PLC0415  (no query)

        before = context.snapshot
        snapshot, row_count = apply_definition(statement, context)
        context.usage.forget(before.bvhs.keys() - snapshot.bvhs.keys())
        self.databases.database(context.target).define(snapshot)
        return Result(None, (), row_count)

    # -- transactions ---------------------------------------------------------------------------

    def control(self, statement: ast.Control) -> None:
        """Begin, end or undo a transaction, or a part of it."""
        match statement:
            case ast.Begin(read_only=read_only):
                self.databases.begin(read_only=read_only)
            case ast.Commit():
                self.databases.commit()
            case ast.Rollback():
                self.databases.rollback()
            case ast.Savepoint(name=name):
                self.databases.savepoint(name)
            case ast.Release(name=name):
                self.databases.release_savepoint(name)
            case ast.RollbackTo(name=name):
                self.databases.rollback_to(name)
            case _:
                assert_never(statement)

    # -- BVHs and the disk ----------------------------------------------------------------------

    def use_bvhs(self, tables: frozenset[str], context: StatementContext) -> None:
        """Make the BVHs on some tables ready, and begin the merge of one that is due."""
        self.databases.use_bvhs(tables, context.target)
        if context.settings[BVH_MERGE] == "background" and not self.databases.in_transaction:
            self.databases.database(context.target).shared.begin_merge(tables, context)

    def newest(self, context: StatementContext) -> Snapshot:
        """Return all databases as a statement sees them, with BVHs that it has made ready."""
        written = self.databases.database(context.target).snapshot
        return self.databases.beside(written, context.target)

    def checkpoint(self, context: StatementContext) -> None:
        """Merge what is worth it and write everything."""
        self.database.checkpoint(parse_share(context.settings[BVH_MERGE_SHARE]), context)
