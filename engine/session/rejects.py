"""The table of the records of files that a statement has left out: `ignore_errors => true`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from raydb.engine.context.statement_context import StatementContext

TABLE = "reject_errors"
_SCHEMA = pa.schema(
    [
        ("file_path", pa.string()),
        ("line", pa.int64()),
        ("column_idx", pa.int64()),
        ("column_name", pa.string()),
        ("error_type", pa.string()),
        ("csv_line", pa.string()),
        ("error_message", pa.string()),
    ]
)


def keep_rejects(context: StatementContext) -> None:
    """Make what a statement has left out a table of its connection, until the next one does.

    A warning tells how many records there are.
    """
    rejects = context.running.remarks.rejects
    if rejects is None or context.python is None:
        return
    found = [rejects[place] for place in sorted(rejects)]
    rows = pa.Table.from_pylist([asdict(each) for each in found], _SCHEMA)
    context.python.register(TABLE, rows)
    if found:
        first, count = found[0], len(found)
        context.warnings.append(
            f"{count} record{'s' if count > 1 else ''} of files {'are' if count > 1 else 'is'} left"
            f" out, the first is line {first.line} of '{first.file_path}'; table {TABLE} tells why"
        )
