"""Rows as the only sheet of a workbook.

A cell holds a double, a boolean, a text, or a moment in milliseconds since 1900. What it cannot
hold is refused by the name of the column, but for microseconds, which are cut and told.
"""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.running import current
from raydb.storage.formats.excel.read_sheet import MAX_ROWS, MAX_SHEET_COLUMNS
from raydb.storage.formats.write_lines import check_types, plain_text
from raydb.storage.uuids import UUID, uuid_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

_MAX_TEXT = 32_767
_NOT_XML = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"
_FIRST_DAY = dt.date(1900, 1, 1)
_BATCH_ROWS = 1024


def write_sheet(path: str, sink: BinaryIO, rows: pa.Table, name: str, header: bool) -> None:
    """Write rows as a workbook. name: the sheet's; header: whether the first row has the names.

    Raises NotSupportedError for types that cells cannot hold, and for more rows or columns than a
    sheet has; DataError for values that cells cannot hold.
    """
    from openpyxl import Workbook  # noqa: PLC0415  (only for who writes workbooks)

    _check_size(path, rows, header)
    check_types(rows.schema, "an .xlsx file", nested=False)
    for field, column in zip(rows.schema, rows.columns, strict=True):
        _check_column(field, column)
    book = Workbook(write_only=True)
    sheet = book.create_sheet(name)
    try:
        if header:
            sheet.append([_text_cell(sheet, each) for each in rows.column_names])
        for batch in rows.to_batches(_BATCH_ROWS):
            check_interrupt()
            for row in _cells(sheet, batch):
                sheet.append(row)
        book.save(sink)
    finally:
        # openpyxl writes the sheet to a temporary file first, which is gone once all is well.
        if sheet._writer is not None:  # noqa: SLF001
            with suppress(OSError, ValueError):
                sheet._writer.cleanup()  # noqa: SLF001


def _check_size(path: str, rows: pa.Table, header: bool) -> None:
    for what, count, most in (
        ("rows", rows.num_rows + header, MAX_ROWS),
        ("columns", rows.num_columns, MAX_SHEET_COLUMNS),
    ):
        if count > most:
            with_header = " with the header" if header and what == "rows" else ""
            raise NotSupportedError(
                f"file '{path}' would have {count} {what}{with_header}, where a sheet of Excel has"
                f" {most}; write several files, or .csv or .parquet"
            )


def _check_column(field: pa.Field, column: pa.ChunkedArray) -> None:
    """Raise for values that a cell cannot hold."""
    types, kind = pa.types, field.type
    fault = None
    if types.is_timestamp(kind) and kind.tz is not None:
        raise NotSupportedError(
            f"column '{field.name}' is TIMESTAMP WITH TIME ZONE, which cannot be written to an"
            " .xlsx file; cast it to TIMESTAMP or VARCHAR"
        )
    if types.is_string(kind):
        if _any(pc.match_substring_regex(column, _NOT_XML)):
            fault = "a text with a control character"
        elif _any(pc.greater(pc.utf8_length(column), _MAX_TEXT)):
            fault = f"a text of more than {_MAX_TEXT} characters"
    elif types.is_floating(kind):
        if _any(pc.invert(pc.is_finite(column))):
            fault = "NaN or an infinity"
    elif types.is_integer(kind) or types.is_decimal(kind):
        if not _are_doubles(column):
            fault = "a number with more digits than a double keeps"
    elif types.is_date(kind) or types.is_timestamp(kind):
        if _any(pc.less(column, pa.scalar(_FIRST_DAY).cast(kind))):
            fault = "a day before 1900"
        elif types.is_timestamp(kind):
            _warn_of_microseconds(field, column)
    elif types.is_time(kind):
        _warn_of_microseconds(field, column)
    if fault is not None:
        raise DataError(f"column '{field.name}' has {fault}, which a cell of Excel cannot hold")


def _any(values: pa.ChunkedArray) -> bool:
    return pc.any(values).as_py() is True


def _are_doubles(column: pa.ChunkedArray) -> bool:
    """Tell whether a double has all digits of each number."""
    try:
        doubles = column.cast(pa.float64())
        same = doubles.cast(column.type) if pa.types.is_decimal(column.type) else column
    except pa.ArrowInvalid:
        return False
    return not _any(pc.not_equal(same, column))


def _warn_of_microseconds(field: pa.Field, column: pa.ChunkedArray) -> None:
    running = current.get()
    coarse = pa.time32("ms") if pa.types.is_time(field.type) else pa.timestamp("ms")
    cut = column.cast(coarse, safe=False).cast(field.type)
    if running is not None and _any(pc.not_equal(cut, column)):
        running.remarks.warnings.append(
            f"column '{field.name}' has microseconds, of which a cell of Excel keeps milliseconds"
        )


def _cells(sheet: WriteOnlyWorksheet, batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """Yield the rows of a batch as openpyxl writes them."""
    columns = [_column_cells(sheet, column) for column in batch.columns]
    return map(list, zip(*columns, strict=True))


def _column_cells(sheet: WriteOnlyWorksheet, column: pa.Array) -> list[Any]:
    types, kind = pa.types, column.type
    if kind == UUID:
        return list(uuid_texts(column).to_pylist())
    if types.is_string(kind):
        return [None if text is None else _text_cell(sheet, text) for text in column.to_pylist()]
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        # openpyxl would write 16 digits.
        return [_number_cell(sheet, text) for text in plain_text(column).to_pylist()]
    return list(column.to_pylist())


def _text_cell(sheet: WriteOnlyWorksheet, text: str) -> Any:
    """Return a text, that stays one where openpyxl would take it for a formula or an error."""
    if not text.startswith(("=", "#")):
        return text
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415

    cell = WriteOnlyCell(sheet, value=text)
    cell.data_type = "s"
    return cell


def _number_cell(sheet: WriteOnlyWorksheet, digits: str | None) -> Any:
    if digits is None:
        return None
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415

    cell = WriteOnlyCell(sheet, value=digits)
    cell.data_type = "n"
    return cell
