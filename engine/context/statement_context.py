"""The context of a statement: what it works with, handed down to whatever it calls."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from raydb.engine.context.memory import Memory, parse_limit
from raydb.engine.session.settings import MEMORY_LIMIT, TEMP_DIRECTORY
from raydb.planner.catalog import CATALOG
from raydb.storage.enums import stored_table
from raydb.storage.tables.decoded import decoded_columns
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.catalog.stored_rows import FilesAhead
    from raydb.engine.context.sequence_values import SequenceValues
    from raydb.engine.context.usage import Usage
    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.session.databases import Databases
    from raydb.engine.session.python_tables import PythonTables
    from raydb.engine.session.queries import Queries
    from raydb.engine.session.settings import Settings
    from raydb.planner.plan.nodes import Plan
    from raydb.running import Running
    from raydb.storage.tables.table import Table

    Parameters = Sequence[object] | Mapping[str, object]

# What is kept for later statements may take such a share of the limit.
_KEPT_SHARE = 2


@dataclass(frozen=True, eq=False, slots=True)
class StatementContext:
    """What one statement works with.

    snapshot: the database as it is. databases: it, and those that are attached to it. python: the
    Python objects that FROM may name, None for none. cache: what was made of whole tables before.
    folder: for temporary files, where no setting names another; None for the system's. queries:
    those of the session, which plan and run. running: the part of it that the layers below the
    engine ask about. sequences: those that it may take values of. files: what writes rows of a
    change, and indexes, to files before a commit, None in memory. warnings: what the text has to
    say beside its answer, such as a device that failed. whole_sample: whether the types of a text
    file's columns are those of all its rows, and not of the first ones. target: the name of the
    database that the snapshot is of, the one that the statement writes to. given: the rows of the
    parts of WITH that have run, by the names that the statement has for them. text: that of the
    statement, '' where it is one of several.
    """

    snapshot: Snapshot
    databases: Databases
    settings: Settings
    python: PythonTables | None
    usage: Usage
    cache: DerivedCache
    folder: str | None
    queries: Queries
    running: Running
    sequences: SequenceValues
    files: FilesAhead | None = None
    parameters: Parameters = ()
    warnings: list[str] = field(default_factory=list)
    whole_sample: bool = False
    target: str = CATALOG
    given: Mapping[str, Table] = field(default_factory=dict)
    text: str = ""

    @property
    def all_databases(self) -> Snapshot:
        """The database with those that are attached to it, which queries read as well."""
        return self.databases.beside(self.snapshot, self.target)

    def run(self, logical: Plan, tables: Mapping[str, Table]) -> pa.Table:
        """Return the rows of a bound query, which may scan some tables beside the snapshot's.

        They are as a table holds them: those of an ENUM are numbers.
        """
        rows = self.queries.run_bound(logical, tables, self).rows
        assert rows is not None
        return stored_table(rows)

    def run_in_blocks(self, logical: Plan, tables: Mapping[str, Table]) -> Iterator[pa.Table]:
        """Yield the rows of `run`, some at a time."""
        return map(stored_table, self.queries.run_bound_in_blocks(logical, tables, self))

    def memory_limit(self) -> int | None:
        """Return the bytes that the statement may hold beside what is kept, None for any number."""
        limit = parse_limit(self.settings[MEMORY_LIMIT])
        return None if limit is None else max(limit - self._kept_bytes(), limit // _KEPT_SHARE)

    def new_memory(self) -> Memory:
        """Return the memory of a plan or a job; columns that leave too little of it are dropped.

        Its files are in the database directory by default, whose disk has room for a database; the
        system's folder may itself be in memory.
        """
        limit = parse_limit(self.settings[MEMORY_LIMIT])
        if limit is not None:
            kept, most = self._kept_bytes(), limit // _KEPT_SHARE
            if kept > most:
                kept -= decoded_columns.drop(kept - most)
            limit = max(limit - kept, most)
        return Memory(limit, self.settings[TEMP_DIRECTORY] or self.folder)

    def _kept_bytes(self) -> int:
        return self.cache.size_bytes + decoded_columns.size_bytes

    @contextmanager
    def keeping_rows(self) -> Iterator[None]:
        """Let rows that wait in the layers below go to files where they would fill the memory.

        Whoever asks within another one's time shares its memory.
        """
        if self.running.keep_rows is not None:
            yield
            return
        with self.new_memory() as memory:
            self.running.keep_rows = memory.keep_rows
            try:
                yield
            finally:
                self.running.keep_rows = None
