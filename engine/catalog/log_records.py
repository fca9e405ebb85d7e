"""Records of the log: changes of rows as bytes, and back.

a line of JSON     [table, bytes of row numbers (int32), bytes of rows (an IPC stream)] of each
                   change; an Append has no row numbers (null), and a Remove has no rows (null)
                   {"sequence": name, "next": n, "stamp": n} of each sequence that went on
row numbers, rows  of one change after the other
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.catalog.indexes import vector_index
from raydb.engine.catalog.stored_sequence import replay_position
from raydb.errors import DataError, IntegrityError, NotSupportedError
from raydb.kernels.stored.described import Described
from raydb.kernels.stored.ipc import read_table
from raydb.storage.tables.changes import Append, Load, Remove, Replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.storage.tables.changes import Change
    from raydb.storage.tables.table import Table


def size_bytes(change: Change) -> int:
    """Return about how much of the log a change takes."""
    assert not isinstance(change, Load), "its rows are in files"
    numbers = 0 if isinstance(change, Append) else change.row_numbers.nbytes
    rows = 0 if isinstance(change, Remove) else change.rows.nbytes
    return int(numbers + rows)


def encode_changes(
    changes: Sequence[Change], positions: Sequence[Mapping[str, object]] = ()
) -> bytes:
    """Return a log record; positions: those of sequences, see `sequence_positions`."""
    line: list[object] = []
    content: list[bytes] = []
    for change in changes:
        assert not isinstance(change, Load), "its rows are in files"
        parts: list[bytes | None] = [None, None]
        if not isinstance(change, Append):
            parts[0] = change.row_numbers.astype("<i4").tobytes()
        if not isinstance(change, Remove):
            parts[1] = _encode_rows(change.rows)
        line.append([change.table, *(None if part is None else len(part) for part in parts)])
        content += [part for part in parts if part is not None]
    return json.dumps([*line, *positions]).encode() + b"\n" + b"".join(content)


def _encode_rows(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def replay(records: Sequence[bytes], snapshot: Snapshot, file: str) -> Snapshot:
    """Return a snapshot after the changes of the log `file`.

    Raises OperationalError for one that no statement can have made.
    """
    for number, record in enumerate(records, 1):
        line, _, _ = record.partition(b"\n")
        content = memoryview(record)[len(line) + 1 :]
        for described in Described.parse(line, file, f"record {number}").items():
            if described.is_object:
                replay_position(described, snapshot)
                continue
            name, *sizes = described.items(3)
            table = snapshot.tables.get(name.text())
            if table is None:
                raise name.fault("the name of a table")
            parts: list[memoryview | None] = []
            for size in sizes:
                length = 0 if size.or_none() is None else size.integer(0, len(content))
                parts.append(None if size.or_none() is None else content[:length])
                content = content[length:]
            change = _change(table, parts, described)
            try:
                vector_index.check_change(change, snapshot)
                snapshot = snapshot.with_change(change)
            except (IntegrityError, DataError, NotSupportedError) as error:
                raise described.fault(f"a change that can be ({error})") from error
    return snapshot


def _change(table: Table, parts: Sequence[memoryview | None], described: Described) -> Change:
    numbers, stream = parts
    if numbers is None and stream is None:
        raise described.fault("a change with row numbers or rows")
    rows = None
    if stream is not None:
        rows = read_table(stream)
        schema = table.definition.schema
        if rows is None or (rows.schema.names, rows.schema.types) != (schema.names, schema.types):
            raise described.fault(f"rows of table '{table.name}'")
    if numbers is None:
        assert rows is not None
        return Append(table.name, rows)
    if len(numbers) % 4:
        raise described.fault("row numbers of 4 bytes")
    row_numbers = np.frombuffer(numbers, "<i4")
    _check_visible(row_numbers, table, described)
    if rows is None:
        return Remove(table.name, row_numbers)
    if rows.num_rows != len(row_numbers):
        raise described.fault(f"{len(row_numbers)} rows")
    return Replace(table.name, row_numbers, rows)


def _check_visible(row_numbers: NDArray[np.int32], table: Table, described: Described) -> None:
    """Raise where row numbers are not those of visible rows, each once."""
    if len(row_numbers) == 0:
        return
    in_range = row_numbers.min() >= 0 and row_numbers.max() < table.row_count
    if (
        not in_range
        or (table.live is not None and not table.live[row_numbers].all())
        or len(np.unique(row_numbers)) < len(row_numbers)
    ):
        raise described.fault(f"numbers of visible rows of table '{table.name}', each once")
