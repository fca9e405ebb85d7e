"""Files as the rows of a query, `FROM 'sales.parquet'`: opened, and read column by column.

.flat, .parquet    the file's own columns, in the SQL types that hold their values
.csv, .tbl         read whole; infer.py finds the names and types
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from raydb.errors import NotSupportedError, OperationalError, ProgrammingError
from raydb.storage.files import TBL, check_file, describe_failure, find_format
from raydb.storage.fit import cast_column
from raydb.storage.flat import open_table
from raydb.storage.infer import read_inferred
from raydb.storage.parquet import not_parquet
from raydb.storage.records import Layout
from raydb.storage.rows import ArrowPart, Comparison, FilePart, Part, Rows
from raydb.storage.table import ROW_NUMBER
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_CSV = Layout(",", quotes=True, null="", null_strings=True)
_SQL_TYPES = frozenset(
    {
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us")),
    }
)
# The narrowest SQL type with all the values of a type that SQL lacks.
_WIDENED = {
    pa.null(): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


def open_rows(path: str) -> Rows:
    """Open a file and return its rows; columns are read when they are asked for.

    Raises ProgrammingError for an unknown extension and a name that two columns have,
    OperationalError for a file that cannot be read or is damaged, DataError for what is wrong
    inside of it. A column of a type that SQL lacks raises NotSupportedError when it is read.
    """
    kind = find_format(path, None, ("flat", "parquet", "csv", "tbl"))
    try:
        check_file(path, kind)
        match kind:
            case "flat":
                flat = open_table(path)
                return _fit(path, flat.schema, FilePart(path, flat))
            case "parquet":
                part = ParquetPart(path, _open_parquet(path))
                return _fit(path, part.file.schema_arrow, part)
            case _:
                table = read_inferred(path, TBL if kind == "tbl" else _CSV)
                return _fit(path, table.schema, ArrowPart(table))
    except OSError as error:
        raise OperationalError(describe_failure(path, error)) from None


def _fit(path: str, found: pa.Schema, part: Part) -> Rows:
    """Return a file's rows in SQL types."""
    for place, name in enumerate(found.names):
        if name in found.names[:place]:
            raise ProgrammingError(f"file '{path}' has two columns named '{name}'")
        if name == ROW_NUMBER:
            raise NotSupportedError(f"file '{path}' has a column '{name}', a name that is reserved")
    schema = pa.schema([pa.field(field.name, _sql_type(field.type)) for field in found])
    if all(_is_sql_type(data_type) for data_type in found.types):
        return Rows(schema, (part,))
    return Rows(schema, (FittedPart(path, found, part),))


def _sql_type(found: pa.DataType) -> pa.DataType:
    """Return the SQL type that holds a type's values; the type itself where there is none."""
    types = pa.types
    if types.is_dictionary(found):
        return _sql_type(found.value_type)
    if types.is_fixed_size_binary(found):
        return pa.binary()
    if types.is_time(found):
        return pa.time64("us")
    if types.is_timestamp(found) and found.tz is None:
        return pa.timestamp("us")
    if types.is_decimal32(found) or types.is_decimal64(found):
        return pa.decimal128(found.precision, found.scale)
    return _WIDENED.get(found, found)


def _is_sql_type(found: pa.DataType) -> bool:
    return found in _SQL_TYPES or bool(pa.types.is_decimal128(found))


@dataclass(frozen=True, eq=False, slots=True)
class FittedPart:
    """Rows whose columns are cast to SQL types, without loss; `found` has their own types."""

    path: str
    found: pa.Schema
    part: Part

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.part.row_count

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""
        return self.part.is_decoded

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values in its SQL type.

        Raises NotSupportedError if there is none, DataError for a value that does not fit.
        """
        field = self._field(name)
        return cast_column(self.path, field, self.part.column(name))

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return self.part.null_count(name)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        if self._field(name).type == self.found.field(name).type:
            return self.part.take(name, row_numbers)
        # The whole column, so that a value that does not fit is named by its row.
        return self.column(name).take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match in columns that are not cast."""
        return self.part.matching_rows(
            [each for each in comparisons if self.found.field(each.column).type == each.value.type]
        )

    def _field(self, name: str) -> pa.Field:
        sql_type = _sql_type(self.found.field(name).type)
        if not _is_sql_type(sql_type):
            raise NotSupportedError(
                f"file '{self.path}', column '{name}': the type {sql_type_name(sql_type)} "
                "is not supported"
            )
        return pa.field(name, sql_type)


@dataclass(frozen=True, eq=False, slots=True)
class ParquetPart:
    """Rows in a Parquet file."""

    path: str
    file: parquet.ParquetFile

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self.file.metadata.num_rows)

    @property
    def is_decoded(self) -> bool:
        """False: the rows are in pages."""
        return False

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values. Raises DataError for a damaged file."""
        try:
            return self.file.read(columns=[name]).column(name)
        except (pa.ArrowInvalid, OSError) as error:
            raise not_parquet(self.path, error) from None

    def null_count(self, name: str) -> int:
        """Count a column's NULLs in the statistics; all rows where there are none."""
        metadata = self.file.metadata
        places = [n for n in range(metadata.num_columns) if metadata.schema.column(n).path == name]
        total = 0
        for group in range(metadata.num_row_groups):
            for place in places:
                statistics = metadata.row_group(group).column(place).statistics
                if statistics is None or not statistics.has_null_count:
                    return self.row_count
                total += statistics.null_count
        return total if places else self.row_count

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; pages hold too many rows to skip any."""
        return self.column(name).take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> None:
        """Return None: the rows are compared by whoever asks."""
        del comparisons


def _open_parquet(path: str) -> parquet.ParquetFile:
    try:
        return parquet.ParquetFile(path, memory_map=True)
    except pa.ArrowInvalid as error:
        raise not_parquet(path, error) from None
