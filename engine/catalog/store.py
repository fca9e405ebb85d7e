"""The store of a database: snapshots written to its directory, and read back at open.

    state    JSON in the manifest: tables, views, BVHs, vector indexes, and their files' names
    .flat    rows of a table (FlatStor)        .keys   the rows that its foreign keys point to
    .live    which of a table's rows are visible
    .bvh     the arrays of a BVH               .ivf    those of a vector index
    .cal     the calibrations of a vector index
    log      small changes of rows since the manifest

A statement that only changes a few rows is one log record; everything else is a new manifest.
"""

from __future__ import annotations

import base64
import io
import json
from contextlib import suppress
from dataclasses import astuple, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.catalog import stored_calibration
from raydb.engine.catalog.snapshot import Snapshot
from raydb.engine.catalog.stored_bvh import StoredBvh
from raydb.engine.catalog.stored_rows import Files, write_rows
from raydb.errors import NotSupportedError, OperationalError
from raydb.interrupts import hold_interrupt
from raydb.kernels.bvh.arrays import from_arrays, to_arrays
from raydb.kernels.vector import ivf
from raydb.planner.catalog import BvhInfo
from raydb.planner.stars.star import canonical_definition
from raydb.sql import ast
from raydb.storage.durable.reserve import is_full
from raydb.storage.durable.sections import read_sections, write_sections
from raydb.storage.flat import open_table
from raydb.storage.tables.changes import Append, Remove, Replace
from raydb.storage.tables.file_merges import STATEMENT_BYTES
from raydb.storage.tables.parts import FilePart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import (
    Check,
    FileLayout,
    ForeignKey,
    Index,
    IvfOptions,
    Table,
    TableDefinition,
    UniqueKey,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from raydb.kernels.bvh.bvh import Bvh
    from raydb.planner.catalog import BvhDefinition
    from raydb.storage.durable.database_directory import DatabaseDirectory
    from raydb.storage.durable.version import Version
    from raydb.storage.tables.changes import Change

    Arrays = dict[str, NDArray[Any]]
    Properties = dict[str, Any]

T = TypeVar("T")

STATE_VERSION = 6
# Version 4 has no vector indexes, version 5 no calibrations of them.
READ_VERSIONS = (4, 5, STATE_VERSION)

# Changes of more than this go to files of their own instead of the log.
LOGGED_BYTES = 2**22

# A longer log is worth a new manifest: replaying it would delay the next open.
LOG_BYTES = 2**26


class Store:
    """Saves snapshots in a database directory and loads them from it."""

    def __init__(self, directory: DatabaseDirectory) -> None:
        self.directory = directory
        # The files of arrays that are written already, by the identity of what they hold; the
        # value itself is kept beside the name, so that its identity is not given to another one.
        self._files: dict[int, tuple[object, str]] = {}
        # Of a reader: what was made of each file of the version that was loaded last, by its name.
        # The next version is likely to have most of these files, which never change.
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
        if earlier is not None and earlier[0].version == shown.version:
            return _replayed(earlier[1], shown.records[len(earlier[0].records) :])
        if not shown.state:
            return Snapshot()
        self._opened = {name: made for name, made in self._opened.items() if name in shown.files}
        self._files = {}
        state = json.loads(shown.state)
        if state["version"] not in READ_VERSIONS:
            raise NotSupportedError(
                f"the database was written with state version {state['version']}; "
                f"this RayDB reads version {STATE_VERSION}"
            )
        snapshot = Snapshot(
            {described["name"]: self._load_table(described) for described in state["tables"]},
            state["views"],
            vector_indexes=self._load_each(state.get("vector_indexes", {}), ivf.from_arrays),
            calibrations=self._load_each(
                state.get("calibrations", {}), stored_calibration.from_arrays
            ),
        )
        for described in state["bvhs"]:
            snapshot = self._load_bvh(snapshot, described)
        return _replayed(snapshot, shown.records)

    def _open(self, name: str, make: Callable[[Path], T]) -> T:
        """Return what is made of a file; of one that is open already, what was made of it."""
        made: T | None = self._opened.get(name)
        if made is None:
            made = make(self.directory.path_of(name))
            if self.directory.read_only:
                self._opened[name] = made
        return made

    def save(
        self,
        after: Snapshot,
        changes: Sequence[Change] | None,
        most: int = STATEMENT_BYTES,
        *,
        frees_space: bool = False,
    ) -> Snapshot:
        """Make a snapshot durable and return it, with its rows on disk where they were written.

        changes: all that changed, where nothing but rows did; else None. most: see `checkpoint`.
        frees_space: on a full disk the reserve is there for it.
        """
        try:
            return self._save(after, changes, most)
        except OperationalError as error:
            if not (frees_space and is_full(error)):
                raise
            with suppress(OperationalError):  # What the attempt has written is in the way.
                self.directory.collect_garbage()
            if not self.directory.give_space():
                raise
        return self._save(after, changes, most)

    def _save(self, after: Snapshot, changes: Sequence[Change] | None, most: int) -> Snapshot:
        if (
            changes is not None
            and self.directory.takes_records
            and sum(map(_size_bytes, changes)) <= LOGGED_BYTES
        ):
            record = _encode_changes(changes)
            if self.directory.log_bytes + len(record) <= LOG_BYTES:
                hold_interrupt()
                self.directory.append(record)
                return after
        return self.checkpoint(after, most)

    def checkpoint(self, snapshot: Snapshot, most: int = STATEMENT_BYTES) -> Snapshot:
        """Write every row and BVH that is not in a file yet, and a manifest that names them.

        most: how many bytes of rows in files may be decoded at a time, to be merged.
        """
        self._written = []
        try:
            snapshot, state, files = self._write_files(snapshot, most)
            hold_interrupt()
            self.directory.commit(json.dumps(state).encode(), files)
        except BaseException:
            unnamed = set(self._written) - set(self.directory.shown.files)
            for name in unnamed:
                self.directory.discard_file(name)
            self._files = {k: known for k, known in self._files.items() if known[1] not in unnamed}
            raise
        self._files = {k: known for k, known in self._files.items() if known[1] in set(files)}
        # The change is durable; what can't be removed now is removed after the next one.
        with suppress(OperationalError):
            self.directory.collect_garbage()
        return snapshot

    def _write_files(self, snapshot: Snapshot, most: int) -> tuple[Snapshot, Properties, list[str]]:
        """Write what is not in a file yet; return the snapshot, its state and all its files."""
        rows = Files(partial(self._write_file, "flat"), self._open_part, most)
        tables = {name: write_rows(table, rows) for name, table in snapshot.tables.items()}
        snapshot = replace(snapshot, tables=tables)
        described = [self._describe_table(table) for table in tables.values()]
        bvhs = [self._describe_bvh(bvh, tables) for bvh in snapshot.bvhs.values()]
        vector_indexes = {
            name: self._write_once("ivf", index, partial(ivf.to_arrays, index))
            for name, index in snapshot.vector_indexes.items()
        }
        calibrations = {
            name: self._write_once("cal", known, partial(stored_calibration.to_arrays, known))
            for name, known in snapshot.calibrations.items()
        }
        state = {
            "version": STATE_VERSION,
            "tables": described,
            "views": dict(snapshot.views),
            "bvhs": bvhs,
            "vector_indexes": vector_indexes,
            "calibrations": calibrations,
        }
        files = [name for table in described for name, *_ in table["files"]]
        files += [table[kind] for table in described for kind in ("keys", "live") if table[kind]]
        files += [bvh["file"] for bvh in bvhs]
        files += vector_indexes.values()
        files += calibrations.values()
        return snapshot, state, files

    def _write_file(self, kind: str, write: Callable[[BinaryIO], None]) -> str:
        name = self.directory.write_file(kind, write)
        self._written.append(name)
        return name

    def _write_once(
        self, kind: str, value: object, content: Callable[[], tuple[Arrays, Properties]]
    ) -> str:
        """Write a value's arrays to a file unless they are in one; return the file's name."""
        known = self._files.get(id(value))
        if known is None:
            arrays, properties = content()
            name = self._write_file(kind, lambda sink: write_sections(sink, arrays, properties))
            known = self._files[id(value)] = (value, name)
        return known[1]

    # -- tables

    def _open_part(self, name: str) -> FilePart:
        return FilePart(name, open_table(self.directory.path_of(name)))

    def _describe_table(self, table: Table) -> dict[str, Any]:
        definition = table.definition
        return {
            "name": table.name,
            "schema": base64.b64encode(definition.schema.serialize()).decode(),
            "primary_key": definition.primary_key and astuple(definition.primary_key),
            "unique_keys": [astuple(key) for key in definition.unique_keys],
            "foreign_keys": [astuple(key) for key in definition.foreign_keys],
            "checks": [astuple(check) for check in definition.checks],
            "defaults": definition.defaults,
            "layout": astuple(definition.layout),
            "indexes": [astuple(index) for index in definition.indexes],
            "version": table.version,
            "files": [
                [part.name, dict(part.renamed), list(part.absent)]
                for part in table.rows.parts
                if isinstance(part, FilePart)
            ],
            "keys": self._write_keys(table),
            "live": self._write_live(table),
        }

    def _write_keys(self, table: Table) -> str | None:
        """Write the rows that a table's foreign keys point to."""
        if not table.foreign_rows:
            return None
        keys = table.definition.foreign_keys
        arrays = {str(number): table.foreign_rows[key] for number, key in enumerate(keys)}
        return self._write_once("keys", table.foreign_rows, lambda: (arrays, {}))

    def _write_live(self, table: Table) -> str | None:
        """Write which rows of a table are visible, where not all of them are."""
        live = table.live
        if live is None:
            return None
        return self._write_once("live", live, lambda: ({"live": live}, {}))

    def _load_table(self, described: dict[str, Any]) -> Table:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(described["schema"])))
        primary_key = described["primary_key"]
        definition = TableDefinition(
            described["name"],
            schema,
            None if primary_key is None else UniqueKey(*_tuples(primary_key)),
            tuple(UniqueKey(*_tuples(key)) for key in described["unique_keys"]),
            tuple(ForeignKey(*_tuples(key)) for key in described["foreign_keys"]),
            tuple(Check(*_tuples(check)) for check in described["checks"]),
            tuple(map(tuple, described["defaults"])),
            FileLayout(*(tuple(map(tuple, part)) for part in described["layout"])),
            tuple(_load_index(*_tuples(index)) for index in described["indexes"]),
        )
        parts = tuple(
            FilePart(
                name,
                self._open(name, open_table),
                renamed,
                {column: schema.field(column).type for column in absent},
            )
            for name, renamed, absent in described["files"]
        )
        foreign_rows = {}
        if described["keys"] is not None:
            arrays = self._open(described["keys"], read_sections).arrays
            keys = definition.foreign_keys
            foreign_rows = {key: arrays[str(number)] for number, key in enumerate(keys)}
            self._files[id(foreign_rows)] = (foreign_rows, described["keys"])
        live = None
        if described["live"] is not None:
            live = self._open(described["live"], read_sections).arrays["live"]
            self._files[id(live)] = (live, described["live"])
        return Table(definition, Rows(schema, parts), described["version"], foreign_rows, live)

    # -- vector indexes and their calibrations

    def _load_each(
        self,
        files: Mapping[str, str],
        make: Callable[[Mapping[str, NDArray[Any]], Mapping[str, Any]], T],
    ) -> dict[str, T]:
        """Return what is made of the arrays in some files, which are given by name."""

        def read(path: Path) -> T:
            sections = read_sections(path)
            return make(sections.arrays, sections.properties)

        found = {name: self._open(file, read) for name, file in files.items()}
        self._files.update({id(found[name]): (found[name], file) for name, file in files.items()})
        return found

    # -- BVHs

    def _describe_bvh(self, bvh: StoredBvh, tables: Mapping[str, Table]) -> dict[str, Any]:
        is_whole = bvh.live is tables[bvh.definition.table].live and not bvh.dead_count
        return {
            "text": bvh.definition.text,
            "versions": dict(bvh.versions),
            "row_count": bvh.row_count,
            # Whether it is known to have no dead places: else they are looked for at first use.
            "is_whole": is_whole,
            "file": self._write_bvh(bvh.info),
            "obstacle": bvh.info.obstacle,
        }

    def _write_bvh(self, info: BvhInfo) -> str:
        """Write a BVH's arrays unless they are in a file."""
        # The index is another value whenever rows are deleted, and its arrays are not.
        return self._write_once("bvh", info.index.row_ids, lambda: _bvh_content(info))

    def write_bvh(self, info: BvhInfo) -> str:
        """Write a BVH's arrays to a file that `adopt_bvh` is told of; any thread may do so."""
        arrays, properties = _bvh_content(info)
        return self.directory.write_file(
            "bvh", lambda sink: write_sections(sink, arrays, properties)
        )

    def file_of(self, info: BvhInfo) -> str | None:
        """Return the file that a BVH's arrays are in, None where they are in none."""
        known = self._files.get(id(info.index.row_ids))
        return None if known is None else known[1]

    def adopt_bvh(self, info: BvhInfo, file: str) -> None:
        """Know the file that a BVH's arrays are in."""
        self._files[id(info.index.row_ids)] = (info.index.row_ids, file)

    def _load_bvh(self, snapshot: Snapshot, described: dict[str, Any]) -> Snapshot:
        (statement,) = sql.parse(described["text"])
        assert isinstance(statement, ast.CreateBvh)
        bound = sql.bind_bvh(statement, snapshot.describe())
        info = self._read_bvh(canonical_definition(bound), described)
        self.adopt_bvh(info, described["file"])
        fact = snapshot.tables[info.definition.table]
        live = fact.live if described["is_whole"] else None
        return snapshot.with_stored(
            StoredBvh(info, described["versions"], described["row_count"], live)
        )

    def _read_bvh(self, definition: BvhDefinition, described: dict[str, Any]) -> BvhInfo:
        index, levels = self._open(described["file"], _read_bvh)
        attributes = dict.fromkeys(definition.scan + definition.group_by)
        return BvhInfo(
            definition, index, dict(zip(attributes, levels, strict=True)), described["obstacle"]
        )


def _read_bvh(path: Path) -> tuple[Bvh, list[tuple[int, int]]]:
    """Return a BVH of its file, and the level of each attribute."""
    sections = read_sections(path)
    levels = [(place, level) for place, level in sections.properties["levels"]]
    return from_arrays(sections.arrays, sections.properties["bvh"]), levels


def _bvh_content(info: BvhInfo) -> tuple[Arrays, Properties]:
    """Return what a BVH's file holds."""
    arrays, properties = to_arrays(info.index)
    # The attribute of each level, by its position in the definition.
    attributes = dict.fromkeys(info.definition.scan + info.definition.group_by)
    levels = [info.levels[attribute] for attribute in attributes]
    return arrays, {"bvh": properties, "levels": levels}


def _tuples(described: list[Any]) -> Iterator[Any]:
    """Yield the fields of a constraint or an index, lists as tuples again."""
    return (tuple(field) if isinstance(field, list) else field for field in described)


def _load_index(
    name: str,
    columns: tuple[str, ...],
    descending: tuple[bool, ...],
    unique: bool,
    options: tuple[str, int, int] | tuple[str, int, int, str] | None = None,
) -> Index:
    """Return an index of its fields; version 4 has no options, version 5 no quantization."""
    return Index(name, columns, descending, unique, options and IvfOptions(*options))


def _size_bytes(change: Change) -> int:
    """Return about how much of the log a change takes."""
    numbers = 0 if isinstance(change, Append) else change.row_numbers.nbytes
    rows = 0 if isinstance(change, Remove) else change.rows.nbytes
    return int(numbers + rows)


def _encode_changes(changes: Sequence[Change]) -> bytes:
    """Return a log record: a line of JSON, then for each change its row numbers and its rows.

    The line has [table, bytes of row numbers (int32), bytes of rows (an IPC stream)] for each
    change; an Append has no row numbers (null) and a Remove has no rows (null).
    """
    line, content = [], []
    for change in changes:
        parts: list[bytes | None] = [None, None]
        if not isinstance(change, Append):
            parts[0] = change.row_numbers.astype("<i4").tobytes()
        if not isinstance(change, Remove):
            parts[1] = _encode_rows(change.rows)
        line.append([change.table, *(None if part is None else len(part) for part in parts)])
        content += [part for part in parts if part is not None]
    return json.dumps(line).encode() + b"\n" + b"".join(content)


def _encode_rows(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _replayed(snapshot: Snapshot, records: Sequence[bytes]) -> Snapshot:
    """Return a snapshot after the changes in some log records."""
    for record in records:
        for change in _decode_changes(record):
            snapshot = snapshot.with_change(change)
    return snapshot


def _decode_changes(record: bytes) -> Iterator[Change]:
    source = io.BytesIO(record)
    for table, number_bytes, row_bytes in json.loads(source.readline()):
        if number_bytes is not None:
            row_numbers = np.frombuffer(source.read(number_bytes), "<i4")
        if row_bytes is not None:
            rows = pa.ipc.open_stream(source.read(row_bytes)).read_all()
        if number_bytes is None:
            yield Append(table, rows)
        elif row_bytes is None:
            yield Remove(table, row_numbers)
        else:
            yield Replace(table, row_numbers, rows)
