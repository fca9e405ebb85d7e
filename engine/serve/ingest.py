"""Bulk ingestion: rows of a client into a table, which is made where it is not there.

    new, fail       CREATE TABLE t AS FROM rows
    there, append   INSERT INTO t (columns of the rows) FROM rows
    there, replace  CREATE OR REPLACE TABLE t AS FROM rows

It is one transaction: a failure leaves neither a table nor rows.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.api.transaction import whole
from raydb.engine.serve.catalog import quoted
from raydb.engine.serve.statements import sound
from raydb.errors import ProgrammingError
from raydb.planner.catalog import MAIN, TEMP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow import flight

    from raydb.engine.api.connection import Connection
    from raydb.engine.serve.messages import Message

# What a message says of a table that is not there, and of one that is.
_CREATE, _FAIL_WITHOUT = 1, 2
_FAIL, _APPEND, _REPLACE = 1, 2, 3

# The rows of a client as a table, while they are written.
_ROWS = "raydb rows of a client"
# How many bytes of them are held at a time.
_BLOCK_BYTES = 64 * 2**20


def ingest(
    connection: Connection, message: Message, reader: flight.MetadataRecordBatchReader
) -> int:
    """Write the rows of a stream into a table, and return their number.

    Raises ProgrammingError for a table that is there, or not, against what the message says.
    """
    is_temporary = bool(message.number(5))
    table = _path(connection, message, is_temporary=is_temporary)
    definition = message.message(1)
    blocks = _blocks(reader)
    first = next(blocks, reader.schema.empty_table())
    with whole(connection):
        is_there = _is_there(connection, table)
        how = definition.number(2 if is_there else 1)
        if is_there and how not in (_APPEND, _REPLACE):
            raise ProgrammingError(f"table '{message.text(2)}' exists already")
        if not is_there and how != _CREATE:
            raise ProgrammingError(f"table '{message.text(2)}' does not exist")
        if not is_there or how == _REPLACE:
            create = "CREATE OR REPLACE" if is_there else "CREATE"
            temporary = " TEMPORARY" if is_temporary else ""
            text = f"{create}{temporary} TABLE {table} AS FROM {quoted(_ROWS)} LIMIT 0"
            connection._run_on(text, _ROWS, first)  # noqa: SLF001
        columns = ", ".join(map(quoted, first.column_names))
        insert = f"INSERT INTO {table} ({columns}) FROM {quoted(_ROWS)}"
        row_count = 0
        for block in chain([first], blocks):
            connection._run_on(insert, _ROWS, block)  # noqa: SLF001
            row_count += block.num_rows
    return row_count


def _path(connection: Connection, message: Message, *, is_temporary: bool) -> str:
    """Return the name of the table with its catalog and schema: those in use if none are given.

    A temporary table may have the name of another one, which a bare name would not find.
    """
    catalog, schema, table = message.text(4), message.text(3), message.text(2)
    if is_temporary:
        catalog, schema = TEMP, MAIN
    elif catalog:
        schema = schema or MAIN
    else:
        used = connection._run("SELECT current_database(), current_schema()", ())  # noqa: SLF001
        ((catalog, used_schema),) = used.python_rows()
        schema = schema or used_schema
    return ".".join(map(quoted, (catalog, schema, table)))


def _is_there(connection: Connection, table: str) -> bool:
    try:
        connection._stream(f"FROM {table}", (), runs=False)  # noqa: SLF001
    except ProgrammingError:
        return False
    return True


def _blocks(reader: flight.MetadataRecordBatchReader) -> Iterator[pa.Table]:
    """Yield the rows in tables of some size."""
    held: list[pa.RecordBatch] = []
    for chunk in reader:
        held.append(sound(chunk.data))
        if sum(batch.nbytes for batch in held) >= _BLOCK_BYTES:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
