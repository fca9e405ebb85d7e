"""The cells of a sheet as columns: a cell has a kind of its own, and a column the type for all.

    integers                        BIGINT
    integers and other numbers      DOUBLE
    dates                           DATE
    dates and timestamps            TIMESTAMP
    times, durations, booleans      TIME, INTERVAL, BOOLEAN
    texts                           VARCHAR
    anything else side by side      VARCHAR, the texts of the values

A blank cell is NULL. The cells of each kind are kept with their rows, so that blank ones cost
nothing.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.late import pc
from raydb.storage.formats.cast_columns import cast_exactly, cast_texts
from raydb.storage.formats.delimited.faults import first_failure
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.storage.formats.room import Room

INTEGER, NUMBER, TEXT, BOOLEAN = "integer", "number", "text", "boolean"
DATE, TIMESTAMP, TIME, INTERVAL, ERROR = "date", "timestamp", "time", "interval", "error"
TYPES: Mapping[str, pa.DataType] = {
    INTEGER: pa.int64(),
    NUMBER: pa.float64(),
    TEXT: pa.string(),
    BOOLEAN: pa.bool_(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us"),
    TIME: pa.time64("us"),
    INTERVAL: pa.duration("us"),
    ERROR: pa.string(),
}
# Kinds that are in one column together, and the kind that holds both.
_WIDER = {frozenset({INTEGER, NUMBER}): NUMBER, frozenset({DATE, TIMESTAMP}): TIMESTAMP}
# Cells that wait as objects of Python, and what one of them takes.
_PENDING_CELLS, _CELL_BYTES = 1 << 18, 150
_LARGEST = 1 << 63
_NO_FRACTION = r"\.000000$"


@dataclass(slots=True)
class Cells:
    """The cells of one kind in a column: the rows that they are in, and their values."""

    kind: str
    rows: list[NDArray[np.int64]] = field(default_factory=list)
    values: list[pa.Array] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of cells."""
        return sum(map(len, self.rows))

    @property
    def first_row(self) -> int:
        """The row of the first cell."""
        return int(self.rows[0][0])

    def row(self, number: int) -> int:
        """Return the row of a cell."""
        return int(np.concatenate(self.rows)[number])

    def column(self) -> pa.ChunkedArray:
        """Return the values side by side."""
        return pa.chunked_array(self.values, TYPES[self.kind])

    def spread(self, values: pa.ChunkedArray, row_count: int) -> pa.ChunkedArray:
        """Return the values of the cells in their rows, NULL in the others."""
        if len(values) == row_count:
            return values
        places = np.full(row_count, -1, np.int64)
        places[np.concatenate(self.rows)] = np.arange(len(values))
        return values.take(pa.array(places, mask=places < 0))

    def texts(self) -> pa.ChunkedArray:
        """Return the values as texts, as a cast of SQL gives them."""
        values = self.column()
        if self.kind == INTERVAL:
            spans = [None if span is None else str(span) for span in values.to_pylist()]
            return pa.chunked_array([pa.array(spans, pa.string())])
        texts = values.cast(pa.string())
        if self.kind in (TIMESTAMP, TIME):
            return pc.replace_substring_regex(texts, _NO_FRACTION, "")
        return texts


class CellColumns:
    """The cells of a sheet, column by column, as they are read."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._pending: dict[tuple[int, str], tuple[list[int], list[Any]]] = {}
        self._pending_count = 0
        self._found: dict[int, dict[str, Cells]] = {}

    def add(self, row: int, column: int, kind: str, value: object) -> None:
        """Add a cell. Rows come in order. Raises OperationalError where memory is short."""
        pending = self._pending.get((column, kind))
        if pending is None:
            pending = self._pending[column, kind] = ([], [])
        pending[0].append(row)
        pending[1].append(value)
        self._pending_count += 1
        if self._pending_count >= _PENDING_CELLS:
            self._flush()

    def _flush(self) -> None:
        self._room.check(self._pending_count * _CELL_BYTES)
        for (column, kind), (rows, values) in self._pending.items():
            cells = self._found.setdefault(column, {}).setdefault(kind, Cells(kind))
            cells.rows.append(np.array(rows, np.int64))
            cells.values.append(pa.array(values, TYPES[kind]))
        self._pending, self._pending_count = {}, 0

    def finish(self) -> dict[int, dict[str, Cells]]:
        """Return the cells of each column that has some, by their kinds."""
        self._flush()
        return self._found


def kind_of(value: object, *, is_error: bool = False) -> str:
    """Return the kind of what openpyxl makes of a cell; a datetime is a timestamp."""
    match value:
        case bool():
            return BOOLEAN
        case int():
            return INTEGER if -_LARGEST <= value < _LARGEST else NUMBER
        case float():
            return NUMBER
        case dt.datetime():
            return TIMESTAMP
        case dt.date():
            return DATE
        case dt.time():
            return TIME
        case dt.timedelta():
            return INTERVAL
    return ERROR if is_error else TEXT


def common_kind(kinds: Mapping[str, Cells]) -> str | None:
    """Return the kind that holds all cells of a column, None where only texts do."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return _WIDER.get(frozenset(kinds))


def as_kind(kinds: Mapping[str, Cells], kind: str, row_count: int) -> pa.ChunkedArray:
    """Return the cells of a column as values of one kind; those of other kinds may be texts."""
    parts = []
    for cells in kinds.values():
        # A number of Excel is a double, however many digits its file has.
        values = cells.texts() if kind == TEXT else cells.column().cast(TYPES[kind], safe=False)
        parts.append(cells.spread(values, row_count))
    return parts[0] if len(parts) == 1 else pc.coalesce(*parts)


class CellError(Exception):
    """A cell does not fit the type that its column has in a table."""

    def __init__(self, row: int, value: object) -> None:
        super().__init__()
        self.row, self.value = row, value


def as_type(kinds: Mapping[str, Cells], want: pa.DataType, row_count: int) -> pa.ChunkedArray:
    """Return the cells of a column in the type of a table's. Raises CellError."""
    parts = [each.spread(_cast(each, want), row_count) for each in kinds.values()]
    if not parts:
        return pa.chunked_array([pa.nulls(row_count, want)])
    return parts[0] if len(parts) == 1 else pc.coalesce(*parts)


def _cast(cells: Cells, want: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_string(want):
        return cells.texts()
    values = cells.column()
    if cells.kind == NUMBER and pa.types.is_decimal(want):
        # By its digits: the double behind 0.1 has more than two of them.
        values = cells.texts()
    cast = _cast_all(values, want)
    if cast is not None:
        return cast

    def fails(count: int) -> bool:
        return _cast_all(values.slice(0, count), want) is None

    place = first_failure(len(values), fails)
    raise CellError(cells.row(place), cells.texts()[place].as_py())


def _cast_all(values: pa.ChunkedArray, want: pa.DataType) -> pa.ChunkedArray | None:
    """Return values in another type, None where one does not fit."""
    if values.type == want:
        return values
    if pa.types.is_binary(want):
        return None
    try:
        if pa.types.is_string(values.type):
            return None if pa.types.is_nested(want) else cast_texts(values, want)
        return cast_exactly(values, want) if _is_castable(values.type, want) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _is_castable(have: pa.DataType, want: pa.DataType) -> bool:
    types = pa.types
    if types.is_date(have) or types.is_timestamp(have):
        return bool(types.is_date(want) or (types.is_timestamp(want) and want.tz is None))
    if types.is_integer(have) or types.is_floating(have):
        return bool(types.is_integer(want) or types.is_floating(want) or types.is_decimal(want))
    return bool(
        (types.is_time(have) and types.is_time(want))
        or (types.is_duration(have) and types.is_interval(want))
    )
