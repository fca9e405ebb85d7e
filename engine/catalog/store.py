"""The store of a database: snapshots written to its directory, and read back at open.

    state    JSON in the manifest: tables, views, sequences, types, macros, BVHs, vector indexes,
             names of files
    .flat    rows of a table (FlatStor)        .keys   the rows that its foreign keys point to
    .live    which of a table's rows are visible
    .bvh     the arrays of a BVH               .ivf    those of a vector index
    .cal     the calibrations of a vector index  .fts   the arrays of a text index
    log      small changes of rows since the manifest

A statement that only changes a few rows is one log record; everything else is a new manifest.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np

from raydb.engine.catalog import stored_rows
from raydb.engine.catalog.array_files import ArrayFiles, content_of, write_arrays
from raydb.engine.catalog.bvh_file import bvh_content, describe_bvh, load_bvh
from raydb.engine.catalog.indexes import lent, stored_calibration, vector_index
from raydb.engine.catalog.indexes.lending import lenders_of
from raydb.engine.catalog.log_records import encode_changes, replay, size_bytes
from raydb.engine.catalog.snapshot import Snapshot
from raydb.engine.catalog.stored_sequence import Moved, describe_sequences, load_sequences
from raydb.engine.catalog.stored_table import (
    check_definitions,
    describe_comments,
    describe_definition,
    describe_parts,
    describe_types,
    load_comments,
    load_definition,
    load_macros,
    load_part,
    load_schemas,
    load_types,
    named_files,
)
from raydb.errors import NotSupportedError, OperationalError
from raydb.interrupts import hold_interrupt
from raydb.kernels.stored.deferred import Deferred, DeferredValues
from raydb.kernels.stored.described import Described
from raydb.kernels.stored.stored_arrays import between, flags
from raydb.kernels.text import text_index
from raydb.kernels.vector import ivf_merge
from raydb.storage.durable.sections import read_sections
from raydb.storage.flat import open_table
from raydb.storage.tables.changes import Load
from raydb.storage.tables.constraints import MAX_ROWS
from raydb.storage.tables.file_merges import STATEMENT_BYTES
from raydb.storage.tables.parts import FilePart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.array_files import Content
    from raydb.engine.catalog.indexes.lending import Lender
    from raydb.engine.catalog.indexes.lent import Vectors
    from raydb.engine.catalog.indexes.stored_calibration import Calibrations
    from raydb.kernels.bvh.bvh import Bvh
    from raydb.kernels.text.text_index import TextIndex
    from raydb.kernels.vector.ivf import Ivf
    from raydb.planner.catalog import BvhInfo, CatalogInfo
    from raydb.storage.durable.database_directory import DatabaseDirectory
    from raydb.storage.durable.version import Version
    from raydb.storage.mapped import Source
    from raydb.storage.objects.database_objects import DatabaseObjects
    from raydb.storage.tables.changes import Change

    Properties = dict[str, Any]

T = TypeVar("T")

STATE_VERSION = 9
# Version 4 has no vector indexes, version 5 no calibrations of them, version 6 no sequences, and
# up to version 8 no index lends a column to rows.
READ_VERSIONS = (4, 5, 6, 7, 8, STATE_VERSION)


class Store:
    """Saves snapshots in a database directory and loads them from it."""

    def __init__(self, directory: DatabaseDirectory | DatabaseObjects) -> None:
        self.directory = directory
        self._files = ArrayFiles()
        # What was made of each file of the version that is loaded, by its name. A reader keeps it:
        # the next version is likely to have most of these files, which never change.
        self._opened: dict[str, Any] = {}
        # The files of the checkpoint that is under way.
        self._written: list[str] = []

    @property
    def position(self) -> tuple[int, int]:
        """Where the durable database ends; it moves when a change has become durable."""
        return self.directory.version, self.directory.log_bytes

    def load(self, shown: Version, earlier: tuple[Version, Snapshot] | None = None) -> Snapshot:
        """Return the database as of what the directory shows.

        earlier: what was loaded before, and of which version; it is not read again.
        """
        try:
            return self._load(shown, earlier)
        finally:
            if not self.directory.read_only:
                self._opened = {}

    def _load(self, shown: Version, earlier: tuple[Version, Snapshot] | None) -> Snapshot:
        manifest, log = map(str, self.directory.paths)
        if earlier is not None and earlier[0].version == shown.version:
            return replay(shown.records[len(earlier[0].records) :], earlier[1], log)
        if not shown.state:
            return Snapshot()
        self._opened = {name: made for name, made in self._opened.items() if name in shown.files}
        self._files.keep(())
        self.directory.prepare()
        state = Described.parse(shown.state, manifest, "state")
        version = state["version"].integer()
        if version not in READ_VERSIONS:
            raise NotSupportedError(
                f"the database was written with state version {version}; "
                f"this RayDB reads version {STATE_VERSION}"
            )
        tables = self._load_tables(state["tables"].items())
        views = {name: text.text() for name, text in state["views"].entries().items()}
        sequences = load_sequences(state, tables)
        snapshot = Snapshot(tables, views, sequences=sequences, types=load_types(state))
        snapshot = replace(snapshot, schemas=load_schemas(state), macros=load_macros(state))
        snapshot = replace(snapshot, comments=load_comments(state))
        snapshot = self._load_vector_indexes(snapshot, state)
        snapshot = self._load_text_indexes(snapshot, state)
        catalog = snapshot.describe()
        for described in state["bvhs"].items():
            snapshot = self._load_bvh(snapshot, catalog, described)
        return replay(shown.records, snapshot, log)

    def _open(self, described: Described, make: Callable[[Source], T]) -> T:
        """Return what is made of a file that is named; what was made of it, if it is open."""
        name = described.text()
        if name not in self.directory.shown.files:
            raise described.fault("the name of a file of this version")
        made: T | None = self._opened.get(name)
        if made is None:
            made = self._opened[name] = make(self.directory.open_file(name))
        return made

    def takes(self, changes: Sequence[Change]) -> bool:
        """Whether changes of rows go to the log: they are few, and it is not long."""
        if any(isinstance(change, Load) for change in changes):
            return False
        size = sum(map(size_bytes, changes))
        directory = self.directory
        return (
            directory.takes_records
            and size <= directory.most_logged_bytes
            and directory.log_bytes + size <= directory.most_log_bytes
        )

    def queue(
        self,
        changes: Sequence[Change],
        after: Snapshot,
        published: Callable[[], None],
        failures: int,
    ) -> Callable[[], None] | None:
        """Give changes their place in the log, and what was taken of the sequences of `after`.

        See `DatabaseDirectory.queue`.
        """
        moved = Moved.of(after.sequences)

        def publish() -> None:
            moved.note_saved()
            published()

        return self.directory.queue(encode_changes(changes, moved.positions), publish, failures)

    def make_room(self) -> bool:
        """Give what a full disk can be given back; tell whether there was anything."""
        with suppress(OperationalError):  # What an attempt has written is in the way.
            self.directory.collect_garbage()
        return self.directory.give_space()

    def checkpoint(self, snapshot: Snapshot, most: int = STATEMENT_BYTES) -> Snapshot:
        """Write every row and BVH that is not in a file yet, and a manifest that names them.

        most: how many bytes of rows in files may be decoded at a time, to be merged.
        """
        self._written = []
        try:
            snapshot, state, files = self._write_files(snapshot, most)
            moved = Moved.of(snapshot.sequences)
            state["sequences"] = describe_sequences(snapshot.sequences)
            state["types"] = describe_types(snapshot.types)
            state["schemas"] = list(snapshot.schemas)
            state["macros"] = dict(snapshot.macros)
            state["comments"] = describe_comments(snapshot.comments)
            hold_interrupt()
            self.directory.commit(json.dumps(state).encode(), files)
            moved.note_saved()
        except BaseException:
            self._files.forget(self._discard_unnamed())
            raise
        self._files.keep(set(files))
        # The change is durable; what can't be removed now is removed after the next one.
        self._discard_unnamed()
        with suppress(OperationalError):
            self._read_merged(snapshot)
            self.directory.collect_garbage()
        return snapshot

    def _read_merged(self, snapshot: Snapshot) -> None:
        """Take the vectors of indexes that were just written from their files, not from memory."""
        indexes = snapshot.vector_indexes if self.directory.local_folder is not None else {}
        for index in indexes.values():
            name = self._files.find(index) if isinstance(index, ivf_merge.Merged) else None
            if isinstance(index, ivf_merge.Merged) and name in self._written:
                index.read_from(read_sections(self.directory.open_file(name)).arrays)

    def _discard_unnamed(self) -> set[str]:
        """Give up the files of the checkpoint that no version names, and return their names."""
        unnamed = set(self._written) - set(self.directory.shown.files)
        for name in unnamed:
            self.directory.discard_file(name)
        return unnamed

    def _write_files(self, snapshot: Snapshot, most: int) -> tuple[Snapshot, Properties, list[str]]:
        """Write what is not in a file yet; return the snapshot, its state and all its files."""
        vector_indexes = self._write_all("ivf", snapshot.vector_indexes)
        rows = stored_rows.Files(partial(self._write_file, "flat"), self._open_part, most)
        tables = {
            name: stored_rows.write_rows(
                table, rows, self._lenders(table, snapshot, vector_indexes)
            )
            for name, table in snapshot.tables.items()
        }
        snapshot = replace(snapshot, tables=tables)
        described = [self._describe_table(table) for table in tables.values()]
        bvhs = [
            describe_bvh(bvh, tables[bvh.definition.table].live, self._write_bvh(bvh.info))
            for bvh in snapshot.bvhs.values()
        ]
        text_indexes = self._write_all("fts", snapshot.text_indexes)
        calibrations = self._write_all("cal", snapshot.calibrations)
        state = {
            "version": STATE_VERSION,
            "tables": described,
            "views": dict(snapshot.views),
            "bvhs": bvhs,
            "vector_indexes": vector_indexes,
            "text_indexes": text_indexes,
            "calibrations": calibrations,
        }
        files = [name for table in described for name in named_files(table["files"])]
        files += [table[kind] for table in described for kind in ("keys", "live") if table[kind]]
        files += [bvh["file"] for bvh in bvhs]
        files += [*vector_indexes.values(), *text_indexes.values(), *calibrations.values()]
        return snapshot, state, files

    def _lenders(self, table: Table, snapshot: Snapshot, files: Mapping[str, str]) -> list[Lender]:
        """Return the indexes that lend columns to a table's rows.

        Those in an object store lend none: a point read would bring all vectors from there.
        """
        if self.directory.local_folder is None:
            return []
        return lenders_of(table, snapshot.vector_indexes, files, set(self._written))

    def files(self, written: list[str], most: int = STATEMENT_BYTES) -> stored_rows.FilesAhead:
        """Return what writes files before a commit; their names are added to `written`.

        What no change names later is to be given up, see `discard`.
        """

        def write(content: Callable[[BinaryIO], None], kind: str = "flat") -> str:
            written.append(self.directory.write_file(kind, content))
            return written[-1]

        def write_index(kind: str, index: Deferred[Any]) -> None:
            content = partial(write_arrays, *content_of(kind, index))
            self._files.note_ahead(index, write(content, kind))

        return stored_rows.FilesAhead(write, self._open_part, most, write_index)

    def discard(self, names: Sequence[str]) -> None:
        """Remove files unless a commit has made them part of the database."""
        self._files.forget_ahead(names)
        for name in names:
            self.directory.discard_file(name)
        if set(names) - set(self.directory.shown.files):
            with suppress(OperationalError):  # Then the next commit does.
                self.directory.collect_garbage()

    def _write_file(self, kind: str, write: Callable[[BinaryIO], None]) -> str:
        name = self.directory.write_file(kind, write)
        self._written.append(name)
        return name

    def _write_once(self, kind: str, value: object, content: Callable[[], Content]) -> str:
        """Write a value's arrays to a file unless they are in one; return the file's name."""
        name = self._files.find(value)
        if name is None and (name := self._files.adopt(value)) is not None:
            self._written.append(name)
        if name is None:
            name = self._write_file(kind, partial(write_arrays, *content()))
            self._files.note(value, name)
        return name

    def _write_all(self, kind: str, values: Mapping[str, Deferred[Any]]) -> dict[str, str]:
        """Return the file of each value by its name; those that are in none are written."""
        return {
            name: self._write_once(kind, value, partial(content_of, kind, value))
            for name, value in values.items()
        }

    # -- tables

    def _open_part(self, name: str) -> FilePart:
        return FilePart(name, open_table(self.directory.open_file(name)))

    def _describe_table(self, table: Table) -> dict[str, Any]:
        return {
            **describe_definition(table.definition),
            "version": table.version,
            "files": describe_parts(table),
            "keys": self._write_keys(table),
            "live": self._write_live(table),
        }

    def _write_keys(self, table: Table) -> str | None:
        """Write the rows that a table's foreign keys point to."""
        if not table.foreign_rows:
            return None
        keys = table.definition.foreign_keys
        arrays = {
            str(number): table.foreign_rows[key].astype(np.int32, copy=False)
            for number, key in enumerate(keys)
        }
        return self._write_once("keys", table.foreign_rows, lambda: (arrays, {}))

    def _write_live(self, table: Table) -> str | None:
        """Write which rows of a table are visible, where not all of them are."""
        live = table.live
        if live is None:
            return None
        return self._write_once("live", live, lambda: ({"live": live}, {}))

    def _load_tables(self, described: Sequence[Described]) -> dict[str, Table]:
        tables: dict[str, Table] = {}
        by_name: dict[str, Described] = {}
        for each in described:
            table = self._load_table(each)
            if table.name in tables:
                raise each["name"].fault("a name of its own")
            tables[table.name], by_name[table.name] = table, each
        check_definitions(tables, by_name)
        return {
            name: self._with_foreign_rows(table, tables, by_name[name])
            for name, table in tables.items()
        }

    def _load_table(self, described: Described) -> Table:
        definition = load_definition(described)
        schema = definition.schema
        required = frozenset(field.name for field in schema if not field.nullable)
        parts = tuple(
            load_part(each, self._open(each.items()[0], open_table), schema, required, self._lent)
            for each in described["files"].items()
        )
        rows, live = Rows(schema, parts), None
        if rows.row_count > MAX_ROWS:
            raise described["files"].fault(f"at most {MAX_ROWS} rows")
        file = described["live"].or_none()
        if file is not None:
            arrays = self._open(file, read_sections).arrays
            live = arrays.take("live", np.bool_, (rows.row_count,), flags)
            self._files.note(live, file.text())
        return Table(definition, rows, described["version"].integer(), live=live)

    def _lent(self, file: Described, width: int) -> Deferred[Vectors]:
        """Return what the file of an index lends to rows."""
        arrays = self._open(file, read_sections).arrays
        return Deferred(partial(lent.lent_arrays, arrays, width))

    def _with_foreign_rows(
        self, table: Table, tables: Mapping[str, Table], described: Described
    ) -> Table:
        """Return a table with the rows that its keys point to, checked when they are asked for."""
        keys = table.definition.foreign_keys
        if not keys:
            return table
        # An empty table may have been written without.
        file = described.find("keys")
        if file is None and table.row_count == 0:
            nothing = np.empty(0, np.int32)
            return replace(table, foreign_rows=dict.fromkeys(keys, nothing))
        arrays = self._open(described["keys"], read_sections).arrays

        def take(number: int) -> NDArray[Any]:
            # A key that is NULL points to row -1.
            inside = between(-1, tables[keys[number].table].row_count - 1)
            return arrays.take(str(number), np.int32, (table.row_count,), inside)

        found = DeferredValues(
            {key: Deferred(partial(take, number)) for number, key in enumerate(keys)}
        )
        self._files.note(found, described["keys"].text())
        return replace(table, foreign_rows=found)

    # -- text indexes, vector indexes and their calibrations

    def _load_text_indexes(self, snapshot: Snapshot, state: Described) -> Snapshot:
        """Return a snapshot with its text indexes, which are read when they are first asked for."""
        files = state.find("text_indexes")
        known = {} if files is None else files.entries()
        indexes: dict[str, Deferred[TextIndex]] = {}
        for table in snapshot.tables.values():
            for index in table.definition.text_indexes:
                if index.name not in known or index.name in indexes:
                    raise state.fault(f"a state with one index '{index.name}'")
                sections = self._open(known[index.name], read_sections)
                given = (sections.arrays, sections.properties, table.row_count)
                indexes[index.name] = found = Deferred(partial(text_index.from_arrays, *given))
                self._files.note(found, known[index.name].text())
        if indexes.keys() != known.keys():
            raise state["text_indexes"].fault("the indexes of its tables")
        return replace(snapshot, text_indexes=indexes)

    def _load_vector_indexes(self, snapshot: Snapshot, state: Described) -> Snapshot:
        """Return a snapshot with its indexes, which are read when they are first asked for."""
        files, calibrated = (state.find(name) for name in ("vector_indexes", "calibrations"))
        known = {} if files is None else files.entries()
        indexes: dict[str, Deferred[Ivf]] = {}
        for table in snapshot.tables.values():
            for index in table.definition.ivf_indexes:
                if index.name not in known or index.name in indexes:
                    raise state.fault(f"a state with one index '{index.name}'")
                sections = self._open(known[index.name], read_sections)
                given = sections.arrays, sections.properties, index, table
                indexes[index.name] = found = Deferred(partial(vector_index.load_index, *given))
                self._files.note(found, known[index.name].text())
        if indexes.keys() != known.keys():
            raise state["vector_indexes"].fault("the indexes of its tables")
        calibrations: dict[str, Deferred[Calibrations]] = {}
        for name, file in ({} if calibrated is None else calibrated.entries()).items():
            if name not in indexes:
                raise file.fault("that of an index")
            sections = self._open(file, read_sections)
            of_file = sections.arrays, sections.properties, indexes[name]
            made = Deferred(partial(stored_calibration.from_arrays, *of_file))
            calibrations[name] = made
            self._files.note(made, file.text())
        return replace(snapshot, vector_indexes=indexes, calibrations=calibrations)

    # -- BVHs

    def _write_bvh(self, info: BvhInfo) -> str:
        """Write a BVH's arrays unless they are in a file."""
        # The index is another value whenever rows are deleted, and its arrays are not.
        return self._write_once("bvh", info.index.row_ids, lambda: bvh_content(info))

    def write_bvh(self, info: BvhInfo) -> str:
        """Write a BVH's arrays to a file that `adopt_bvh` is told of; any thread may do so."""
        return self.directory.write_file("bvh", partial(write_arrays, *bvh_content(info)))

    def file_of(self, index: Bvh) -> str | None:
        """Return the file that a BVH's arrays are in, None where they are in none."""
        return self._files.find(index.row_ids)

    def adopt_bvh(self, info: BvhInfo, file: str) -> None:
        """Know the file that a BVH's arrays are in."""
        self._files.note(info.index.row_ids, file)

    def _load_bvh(self, snapshot: Snapshot, catalog: CatalogInfo, described: Described) -> Snapshot:
        """Return a snapshot with one more BVH; catalog: its tables as the binder sees them."""
        sections = self._open(described["file"], read_sections)
        bvh = load_bvh(snapshot, catalog, described, sections.arrays, sections.properties)
        if bvh.definition.name in snapshot.bvhs:
            raise described["text"].fault("a BVH with a name of its own")
        self.adopt_bvh(bvh.info, described["file"].text())
        return snapshot.with_stored(bvh)
