"""Parquet files: all rows for a table, or columns one by one for a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from raydb.errors import DataError
from raydb.storage.fit import fit_columns

if TYPE_CHECKING:
    from collections.abc import Callable


def read_parquet(
    path: str, schema: pa.Schema, exact: bool, report: Callable[[int], None] | None
) -> pa.Table:
    """Return the columns of a Parquet file that `schema` names, in its order and types.

    See `fit_columns`. `report` is called after each row group with the share of the file's bytes
    that are done. Raises DataError for a file that is no Parquet file, and OSError.
    """
    with Path(path).open("rb") as source:
        try:
            file = parquet.ParquetFile(source)
            size_bytes = Path(path).stat().st_size
            return fit_columns(
                path,
                file.schema_arrow,
                schema,
                exact,
                lambda names: _read_row_groups(file, names, size_bytes, report),
            )
        except (pa.ArrowInvalid, OSError) as error:
            raise not_parquet(path, error) from None


def not_parquet(path: str, error: Exception) -> DataError:
    """Return the error for a file that Arrow cannot read as Parquet."""
    return DataError(f"file '{path}' is not a Parquet file: {error}")


def _read_row_groups(
    file: parquet.ParquetFile,
    names: list[str],
    size_bytes: int,
    report: Callable[[int], None] | None,
) -> pa.Table:
    groups = []
    row_count = 0
    for number in range(file.num_row_groups):
        groups.append(file.read_row_group(number, columns=names))
        row_count += groups[-1].num_rows
        if report is not None:
            report(size_bytes * row_count // max(file.metadata.num_rows, 1))
    if not groups:
        return pa.schema([file.schema_arrow.field(name) for name in names]).empty_table()
    return pa.concat_tables(groups)
