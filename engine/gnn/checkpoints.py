"""Checkpoints: a table with the loss of each epoch, and the state of the last one that was kept.

epoch   loss    state            the state is a message of arrays: parameters, buffers, and the
1       1.95    NULL             moments of Adam
2       1.71    b'...'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.api.transaction import whole
from raydb.errors import OperationalError, ProgrammingError
from raydb.keywords import quoted
from raydb.names import find_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.api.connection import Connection

_COLUMNS = ("epoch", "loss", "state")
# What new rows are called while they are written.
_ROWS = "rows of the checkpoint"


class Checkpoint:
    """A table of checkpoints. Raises ProgrammingError where it is another kind of table."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self.name = connection, name
        self._table = quoted(name)
        self._kept = 0

    def read(self) -> tuple[list[float], bytes] | None:
        """Return the losses and the state of the last epoch that was kept, None for none.

        Raises OperationalError for a table without a state.
        """
        if not self._exists():
            return None
        rows = self._connection.execute(
            f"SELECT epoch, loss, state FROM {self._table} ORDER BY epoch"  # noqa: S608  (quoted)
        ).fetchall()
        last = max((epoch for epoch, _, state in rows if state is not None), default=None)
        if last is None or [epoch for epoch, *_ in rows[:last]] != list(range(1, last + 1)):
            raise OperationalError(f"the checkpoint '{self.name}' has no state to go on from")
        self._kept = last
        return [loss for _, loss, _ in rows[:last]], rows[last - 1][2]

    def begin(self) -> None:
        """Make the table. Raises ProgrammingError where there is one."""
        if self._exists():
            raise ProgrammingError(
                f"the checkpoint '{self.name}' is there already; resume=True goes on from it"
            )

    def write(self, losses: Sequence[float], state: bytes) -> None:
        """Keep the state after the last of all epochs, in one transaction."""
        last = len(losses)
        if last == self._kept:
            return
        new = range(self._kept, last)
        rows = pa.table(
            {
                "epoch": pa.array([epoch + 1 for epoch in new], pa.int32()),
                "loss": pa.array([losses[epoch] for epoch in new], pa.float64()),
                "state": pa.array(
                    [state if epoch + 1 == last else None for epoch in new], pa.binary()
                ),
            }
        )
        with self._connection._lock, whole(self._connection):  # noqa: SLF001
            source = quoted(_ROWS)
            if self._kept:
                self._connection.execute(
                    f"UPDATE {self._table} SET state = NULL WHERE state IS NOT NULL"  # noqa: S608
                )
                text = f"INSERT INTO {self._table} FROM {source}"
            else:
                text = f"CREATE TABLE {self._table} AS FROM {source}"
            self._connection._run_on(text, _ROWS, rows)  # noqa: SLF001
        self._kept = last

    def _exists(self) -> bool:
        session = self._connection._open_session()  # noqa: SLF001
        tables = session.database.snapshot.tables
        found = find_object(self.name, tables, "table")
        if found is None:
            return False
        columns = tuple(each.name for each in tables[found].definition.schema)
        if columns != _COLUMNS:
            raise ProgrammingError(f"the table '{self.name}' is no checkpoint of a training")
        return True
