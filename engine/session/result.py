"""The result of a statement: rows as an Arrow table, as Python tuples, or none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.session.python_values import python_values
from raydb.planner.expressions.columns import zones
from raydb.planner.expressions.types import TIMESTAMPTZ, is_zoned
from raydb.storage.nested import map_leaves, rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Rows become Python tuples this many at a time, so that a large result is not held twice.
FETCH_BATCH_ROWS = 4096


class LazyRows(ABC):
    """Rows straight from what a query has found, as tuples or as a table when it is asked for.

    None of their columns has a time zone.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def row_count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def python_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""

    @abstractmethod
    def table(self) -> pa.Table:
        """Return the rows as a table."""


class Result:
    """Rows with the names of their columns, or (rows is None) how many a statement wrote.

    row_count is -1 for statements that neither read nor write rows; types are None where there
    are no rows. warnings: what went otherwise than it was asked for, such as a device that failed.
    The table may be made when it is first asked for. is_written: whether the rows are those of
    RETURNING. last_identity: what the identity column of the one new row holds.
    """

    __slots__ = ("_rows", "is_written", "last_identity", "names", "row_count", "types", "warnings")

    def __init__(
        self,
        rows: pa.Table | None,
        names: tuple[str, ...],
        row_count: int,
        types: tuple[pa.DataType, ...] | None = None,
        *,
        is_written: bool = False,
    ) -> None:
        self._rows: pa.Table | LazyRows | None = rows
        self.names = names
        self.row_count = row_count
        self.is_written = is_written
        self.last_identity: int | None = None
        self.warnings: tuple[str, ...] = ()
        if types is None and rows is not None:
            types = tuple(rows.schema.types)
        self.types = types

    @staticmethod
    def of_lazy(rows: LazyRows, names: tuple[str, ...], types: tuple[pa.DataType, ...]) -> Result:
        """Return the result of a query whose rows come straight from what it has found."""
        result = Result(None, names, rows.row_count, types)
        result._rows = rows
        return result

    @property
    def has_rows(self) -> bool:
        """Whether the statement was a query."""
        return self._rows is not None

    @property
    def rows(self) -> pa.Table | None:
        """The rows; the columns' names are those of the plan, or any others."""
        # A local name, because threads may share a result.
        rows = self._rows
        if isinstance(rows, LazyRows):
            rows = self._rows = rows.table()
        return rows

    def show_in_zone(self, setting: str) -> None:
        """Give timestamps with a time zone the one that a setting means."""
        # Rows that come straight from a job or a search have none.
        if not isinstance(self._rows, pa.Table) or self.types is None:
            return
        types = shown_types(self.types, setting)
        if types is not None:
            columns = shown(self._rows.columns, types)
            self._rows = pa.Table.from_arrays(columns, self._rows.column_names)
            self.types = types

    def python_rows(self, *, at_once: bool = False) -> Iterator[tuple[Any, ...]]:
        """Return the rows as tuples of Python values, made when they are asked for.

        at_once: few rows that come straight from what the query has found are made now.
        """
        rows = self._rows
        assert rows is not None, "the statement was a query"
        if isinstance(rows, LazyRows):
            if at_once and rows.row_count <= FETCH_BATCH_ROWS:
                return iter(rows.python_rows())
            return chain.from_iterable(made() for made in (rows.python_rows,))
        return _python_rows(rows)


def _python_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    batches = table.to_batches(max_chunksize=FETCH_BATCH_ROWS)
    return chain.from_iterable(
        zip(*map(python_values, batch.columns), strict=True) for batch in batches
    )


# -- timestamps with a time zone, which leave the database in that of the session


def shown_types(types: Sequence[pa.DataType], setting: str) -> tuple[pa.DataType, ...] | None:
    """Return the types of columns with the zone that a setting means, None where none has one."""
    if not any(map(is_zoned, types)):
        return None
    zone = zones.zone_name(setting)
    return tuple(_shown_type(kind, zone) if is_zoned(kind) else kind for kind in types)


def _shown_type(kind: pa.DataType, zone: str) -> pa.DataType:
    return map_leaves(kind, lambda leaf: pa.timestamp("us", zone) if leaf == TIMESTAMPTZ else leaf)


def shown(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[pa.DataType]
) -> list[pa.ChunkedArray]:
    """Return columns with types of `shown_types`."""
    made = []
    for column, kind in zip(columns, types, strict=True):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        made.append(pa.chunked_array([_shown(chunk, kind) for chunk in chunks], kind))
    return made


def _shown(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    return rebuild(array, kind, _shown) if pa.types.is_nested(kind) else array.cast(kind)
