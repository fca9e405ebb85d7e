"""Python objects as tables: those that were registered, and variables that a FROM names.

    table = pa.table({"x": [1, 2]})
    con.execute("SELECT sum(x) FROM table")        a variable of whoever calls (replacement scan)
    con.register("numbers", frame)                 a name for as long as the connection lives

Arrow tables, batches, readers and datasets, pandas and Polars frames, NumPy arrays, dicts of
columns, and whatever speaks the Arrow C stream or array protocol can be tables. They are read where
they are, column by column, and only the columns that the statement asks for.
"""

from __future__ import annotations

import sys
from collections import ChainMap
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.names import Names, find_object
from raydb.storage.enums import enum_of_categories
from raydb.storage.fields import stored_schema
from raydb.storage.formats import file_parts
from raydb.storage.formats.arrow import object_columns, sql_types
from raydb.storage.tables.parts import ArrowPart, MadePart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import FrameType

    from raydb.storage.tables.parts import Part

_TABLES = (
    "an Arrow table, reader or dataset, a pandas or Polars frame, a NumPy array, a dict of columns,"
    " or an object with __arrow_c_stream__"
)


class PythonTables:
    """The tables of Python objects that the statements of one connection may name.

    variables: those to look among for a name that is no table, None for the variables where the
    connection is used.
    """

    def __init__(self) -> None:
        self.variables: Mapping[str, object] | None = None
        self._registered: dict[str, Table] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that were registered."""
        return tuple(self._registered)

    def register(self, name: str, data: object) -> None:
        """Give an object a name. Raises ProgrammingError for one that is no table."""
        table = as_table(name, data, f"table '{name}'")
        if table is None:
            raise ProgrammingError(
                f"'{name}' cannot be registered: a {type(data).__name__} is not {_TABLES}"
            )
        self._forget(name)
        self._registered[name] = table

    def unregister(self, name: str) -> None:
        """Forget a name. Raises ProgrammingError where there is none."""
        if not self._forget(name):
            raise ProgrammingError(f"'{name}' is not registered")

    def _forget(self, name: str) -> bool:
        registered = find_object(name, self._registered, "table")
        if registered is not None:
            del self._registered[registered]
        return registered is not None

    def find(self, names: Iterable[str], *, with_variables: bool) -> dict[str, Table]:
        """Return the tables of those names that have one: registered objects, and variables.

        Python minds the case: a variable that is written exactly so comes first. Raises
        ProgrammingError for a variable that is no table, and for a name that may mean several.
        """
        found: dict[str, Table] = {}
        wanted = []
        for name in names:
            registered = find_object(name, self._registered, "table")
            if registered is None:
                wanted.append(str(name))
            else:
                found[registered] = self._registered[registered]
        if not wanted or not with_variables:
            return found
        variables = _callers_variables() if self.variables is None else self.variables
        for name in sorted(wanted):
            made = name if name in variables else Names([*variables]).find(name, "variable")
            if made is not None:
                found[made] = _variable(made, variables[made])
        return found


def _callers_variables() -> Mapping[str, object]:
    """Return the local and global variables of the innermost frame that is not RayDB's own."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  (as documented for this use)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "raydb":
        frame = frame.f_back
    return {} if frame is None else ChainMap(frame.f_locals, frame.f_globals)


def _variable(name: str, value: object) -> Table:
    table = as_table(name, value, f"the variable '{name}'")
    if table is None:
        raise ProgrammingError(
            f"table '{name}' does not exist; the Python variable '{name}' is a"
            f" {type(value).__name__}, not {_TABLES}"
        )
    return table


def as_table(name: str, data: object, origin: str) -> Table | None:
    """Return an object's rows as a table, None where it is no table.

    origin: what the rows are of, for messages. Raises ProgrammingError for names that two columns
    have, DataError for what Arrow cannot read; a column of a type that SQL lacks raises
    NotSupportedError when it is read.
    """
    try:
        found = _read(data, origin)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{origin} cannot be read as a table: {reason}") from error
    if found is None:
        return None
    schema, part = found
    for place, column in enumerate(schema.names):
        if column in schema.names[:place]:
            raise ProgrammingError(f"{origin} has two columns named '{column}'")
    if not schema.names:
        raise ProgrammingError(f"{origin} has no columns")
    wanted = stored_schema(
        pa.schema([(each.name, sql_types.sql_type(each.type)) for each in schema])
    )
    rows = Rows(wanted, (file_parts.cast_part(origin, schema, wanted, part),))
    return Table(TableDefinition(name, wanted), rows, 0)


def _read(data: Any, origin: str) -> tuple[pa.Schema, Part] | None:
    """Return an object's columns and rows; `origin` names it in errors about a column."""
    match _library(data):
        # A series; an index has no samples.
        case "pandas" | "polars" if hasattr(data, "to_frame") and hasattr(data, "sample"):
            named = data if data.name not in (None, "") else data.rename("value")
            return _read(named.to_frame(), origin)
        case "pandas" if hasattr(data, "columns"):
            return _read_pandas(data, origin)
        case "polars" if hasattr(data, "collect"):
            return _read_polars(data.collect(), origin)
        case "polars" if hasattr(data, "get_column"):
            return _read_polars(data, origin)
        case "numpy" if isinstance(data, np.ndarray):
            return _whole(_from_array(data, origin))
    if isinstance(data, pa.RecordBatch):
        return _whole(pa.Table.from_batches([data]))
    if isinstance(data, pa.RecordBatchReader):
        return _whole(data.read_all())
    if hasattr(data, "to_table") and hasattr(data, "count_rows"):
        return data.schema, MadePart(data.count_rows(), lambda c: data.to_table([c]).column(0))
    if isinstance(data, dict) and data:
        columns = {str(key): _column(origin, key, values) for key, values in data.items()}
        return _whole(pa.table(columns))
    if isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
        return _whole(pa.table(data))
    if hasattr(data, "__arrow_c_array__") and not isinstance(data, pa.Array):
        return _whole(pa.Table.from_batches([pa.record_batch(data)]))
    return None


def _library(data: object) -> str:
    return type(data).__module__.split(".")[0]


def _whole(table: pa.Table) -> tuple[pa.Schema, Part]:
    return table.schema, ArrowPart(table)


def _read_pandas(frame: Any, origin: str) -> tuple[pa.Schema, Part]:
    """Return a frame's columns; its index is none. What a NaN stands for is NULL, as in pandas."""
    frame = frame.set_axis([str(column) for column in frame.columns], axis="columns")
    if frame.columns.has_duplicates:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise ProgrammingError(f"{origin} has two columns named '{repeated}'")
    made: dict[str, pa.ChunkedArray] = {}
    fields = []
    for name, kind in frame.dtypes.items():
        if isinstance(kind, np.dtype) and kind.hasobject:
            # Only the values tell the type, and then they are converted.
            values = object_columns.named_array(origin, name, frame[name], from_pandas=True)
            made[name] = _chunked(values)
            fields.append(pa.field(name, values.type))
        elif (labels := enum_of_categories(getattr(kind, "categories", None))) is not None:
            fields.append(pa.field(name, labels))
        else:
            fields.append(pa.field(name, _of_series(origin, frame[name].iloc[:0]).type))

    def make(name: str) -> pa.ChunkedArray:
        return _of_series(origin, frame[name])

    return pa.schema(fields), MadePart(len(frame), make, made)


def _of_series(origin: str, series: Any) -> pa.ChunkedArray:
    """Return a pandas column that is not of objects; a sparse one with the values it stands for."""
    try:
        dense = series.sparse.to_dense() if hasattr(series, "sparse") else series
        return _chunked(pa.Array.from_pandas(dense))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise object_columns.unreadable(f"{origin}, column '{series.name}'", error) from None


def _chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _read_polars(frame: Any, origin: str) -> tuple[pa.Schema, Part]:
    import polars as pl  # noqa: PLC0415  (it is there, as the frame is of it)

    made: dict[str, pa.ChunkedArray] = {}
    for name, kind in frame.schema.items():
        if kind == pl.Object:
            # Arrow would be given the addresses of the objects.
            values = object_columns.named_array(
                origin, name, frame[name].to_list(), from_pandas=False
            )
            made[name] = _chunked(values)
    # Arrow has no integers of 128 bits.
    wide = pl.selectors.by_dtype(pl.Int128, pl.UInt128)

    def read(rows: Any) -> pa.Table:
        return rows.with_columns(wide.cast(pl.Decimal(38, 0))).to_arrow()

    plain = read(frame.clear().drop(made)).schema
    fields = []
    for name, kind in frame.schema.items():
        labels = enum_of_categories(kind.categories if isinstance(kind, pl.Enum) else None)
        known = made[name].type if name in made else plain.field(name).type
        fields.append(pa.field(name, known if labels is None else labels))
    schema = pa.schema(fields)

    def make(name: str) -> pa.ChunkedArray:
        try:
            return read(frame.select(name)).column(0)
        except pl.exceptions.PolarsError as error:
            raise object_columns.unreadable(f"{origin}, column '{name}'", error) from None

    return schema, MadePart(frame.height, make, made)


def _from_array(array: np.ndarray[Any, Any], origin: str) -> pa.Table:
    """Return a structured array by its fields, another one by its columns: column0, column1, ..."""
    if array.dtype.names is not None:
        return pa.table({name: _column(origin, name, array[name]) for name in array.dtype.names})
    if array.ndim > 2 or array.ndim == 0:
        raise ValueError(f"an array of {array.ndim} dimensions is no table")
    columns = array.T if array.ndim == 2 else [array]
    names = [f"column{number}" for number in range(len(columns))]
    return pa.table(
        {name: _column(origin, name, each) for name, each in zip(names, columns, strict=True)}
    )


def _column(origin: str, name: object, values: Any) -> pa.Array | pa.ChunkedArray:
    """Return the values of a column; rows of a matrix are lists of one length."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, list | tuple):
        return object_columns.named_array(origin, name, values, from_pandas=False)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.hasobject:
        return object_columns.named_array(origin, name, values, from_pandas=False)
    try:
        return _of_numbers(values) if isinstance(values, np.ndarray) else pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise object_columns.unreadable(f"{origin}, column '{name}'", error) from None


def _of_numbers(values: np.ndarray[Any, Any]) -> pa.Array:
    if values.ndim == 2:
        flat = pa.array(np.ascontiguousarray(values).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return pa.array(np.ascontiguousarray(values))
