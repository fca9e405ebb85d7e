"""Excel workbooks as files of rows, .xlsx: a sheet is a table.

A formula has the value that was saved with it. An error such as #DIV/0! is NULL, and told. Sheets
have numbers of one kind, doubles, so that integers are those without a fraction.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.running import current
from raydb.storage.formats.cast_columns import match_names
from raydb.storage.formats.excel.cells import (
    ERROR,
    TEXT,
    CellError,
    Cells,
    as_kind,
    as_type,
    common_kind,
)
from raydb.storage.formats.excel.read_sheet import (
    MAX_ROWS,
    MAX_SHEET_COLUMNS,
    Area,
    Sheet,
    Wanted,
    read_sheet,
    require_openpyxl,
)
from raydb.storage.formats.excel.write_sheet import write_sheet
from raydb.storage.formats.format import ANY, Format, Setting, Use
from raydb.storage.formats.options import switch, text_of
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.format import Report
    from raydb.storage.formats.options import Options

_READING = (Use.READ, Use.QUERY)
_CORNER = re.compile(r"\$?([A-Za-z]{0,3})\$?([0-9]{0,7})")
_BAD_IN_NAMES = re.compile(r"[\\*?:/\[\]]")
_MAX_NAME = 31


class _Xlsx(Format):
    name, extensions, copy_place = "xlsx", ("xlsx",), 6
    empty = "is no .xlsx file: it is empty"
    options = {
        "sheet": Setting("the sheet's name; the first one if not given", ANY),
        "header": Setting("whether the first row has the names", ANY),
        "range": Setting("the cells of the table: 'B2:D20', 'B:D' or 'B2:'", _READING),
        "stop_at_empty": Setting("whether the table ends at its first blank row", _READING),
        "all_varchar": Setting("whether all columns are VARCHAR", (Use.QUERY,)),
        "ignore_errors": Setting(
            "whether cells of another kind than a column's first one are NULL", (Use.QUERY,)
        ),
    }

    def open(self, file: InputFile, settings: Options) -> tuple[pa.Schema, ArrowPart]:
        """Return the columns of a sheet and its rows, which are read at once."""
        all_text = switch(settings, "all_varchar") is True
        ignore_errors = switch(settings, "ignore_errors") is True
        sheet = read_sheet(file, _wanted(settings))
        if not sheet.names:
            raise DataError(f"{sheet.place} is empty")
        columns = []
        for place, kinds in enumerate(sheet.columns):
            check_interrupt()
            columns.append(_column(sheet, place, kinds, all_text, ignore_errors))
        rows = pa.table(columns, names=list(sheet.names))
        return rows.schema, ArrowPart(rows)

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[InputFile], Iterator[pa.Table]]:
        wanted = _wanted(settings)

        def read(file: InputFile) -> Iterator[pa.Table]:
            sheet = read_sheet(file, wanted)
            if not sheet.names:
                return
            names = list(sheet.names)
            if wanted.header is False:
                places = _by_place(sheet, schema)
            else:
                places = [names.index(name) for name in match_names(path, names, schema, exact)]
            columns = [
                _typed(sheet, place, field) for place, field in zip(places, schema, strict=True)
            ]
            yield pa.Table.from_arrays(columns, schema=schema)

        return read

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        require_openpyxl()
        name = text_of(settings, "sheet", "Sheet1")
        if not 0 < len(name) <= _MAX_NAME or _BAD_IN_NAMES.search(name):
            raise ProgrammingError(
                f"option sheet is a name of at most {_MAX_NAME} characters without any of"
                f" \\ * ? : / [ ], not '{name}'"
            )
        header = switch(settings, "header") is not False
        return lambda sink: write_sheet(path, sink, rows, name, header)


XLSX = _Xlsx()


def _wanted(settings: Options) -> Wanted:
    sheet = text_of(settings, "sheet", "") if "sheet" in settings else None
    stop_at_empty = switch(settings, "stop_at_empty") is True
    return Wanted(sheet, switch(settings, "header"), _area(settings), stop_at_empty)


def _area(settings: Options) -> Area:
    """Return where the option range says that the table is."""
    if "range" not in settings:
        return Area()
    written = text_of(settings, "range", "")
    start, colon, stop = written.strip().partition(":")
    corners = [_CORNER.fullmatch(each) for each in (start, stop)]
    if corners[0] is not None and corners[1] is not None and start and colon:
        (first_column, first_row), (last_column, last_row) = (
            (_column_number(each[1]), int(each[2] or 0) or None) for each in corners if each
        )
        rows = (first_row or 1, last_row or MAX_ROWS, MAX_ROWS)
        columns = (first_column or 1, last_column or MAX_SHEET_COLUMNS, MAX_SHEET_COLUMNS)
        if all(list(each) == sorted(each) for each in (rows, columns)):
            return Area(first_row, last_row, first_column, last_column)
    raise ProgrammingError(f"option range is a range of cells such as 'B2:D20', not '{written}'")


def _column_number(letters: str) -> int | None:
    """Return the number of a column, from 1 on, None for no letters.

    >>> _column_number("AB")
    28
    """
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number or None


def _column(
    sheet: Sheet, place: int, kinds: dict[str, Cells], all_text: bool, ignore_errors: bool
) -> pa.ChunkedArray:
    """Return a column in the type that all of its cells have, and say where that is a text."""
    if all_text:
        return as_kind(kinds, TEXT, sheet.row_count) if kinds else _nulls(sheet)
    kinds = _without_errors(sheet, place, kinds, ignore_errors)
    if ignore_errors and kinds:
        first = min(kinds.values(), key=lambda cells: cells.first_row)
        kinds = {
            cells.kind: cells
            for cells in kinds.values()
            if common_kind({first.kind: first, cells.kind: cells}) is not None
        }
    if not kinds:
        return _nulls(sheet)
    kind = common_kind(kinds)
    if kind is None:
        one, other = sorted(kinds.values(), key=lambda cells: cells.first_row)[:2]
        _warn(
            f"{sheet.place}: column '{sheet.names[place]}' is VARCHAR, for"
            f" {sheet.cell(one.first_row, place)} is {_called(one)} and"
            f" {sheet.cell(other.first_row, place)} is {_called(other)}"
        )
    return as_kind(kinds, kind or TEXT, sheet.row_count)


def _without_errors(
    sheet: Sheet, place: int, kinds: dict[str, Cells], silent: bool = False
) -> dict[str, Cells]:
    """Return the cells of a column that are no errors, and say that the others are NULL."""
    errors = kinds.get(ERROR)
    if errors is None:
        return kinds
    if not silent:
        cells = "a cell" if errors.count == 1 else f"{errors.count} cells"
        _warn(
            f"{sheet.place}: {cells} of column '{sheet.names[place]}' with an error, such as"
            f" {errors.column()[0]} in {sheet.cell(errors.first_row, place)}, read as NULL"
        )
    return {kind: cells for kind, cells in kinds.items() if cells is not errors}


def _nulls(sheet: Sheet) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(sheet.row_count)])


def _called(cells: Cells) -> str:
    return f"{'an' if cells.kind[0] in 'aeiou' else 'a'} {cells.kind}"


def _warn(text: str) -> None:
    running = current.get()
    if running is not None:
        running.remarks.warnings.append(text)


def _by_place(sheet: Sheet, schema: pa.Schema) -> list[int]:
    """Return the places of a table's columns in a sheet without a header: the same ones."""
    found, expected = len(sheet.names), len(schema)
    if found != expected:
        raise DataError(f"{sheet.place} has {found} columns where {expected} are expected")
    return list(range(expected))


def _typed(sheet: Sheet, place: int, field: pa.Field) -> pa.ChunkedArray:
    """Return a column in the type of a table's. Raises DataError naming the cell."""
    check_interrupt()
    try:
        kinds = _without_errors(sheet, place, sheet.columns[place])
        return as_type(kinds, field.type, sheet.row_count)
    except CellError as error:
        what = sql_type_name(field.type)
        raise DataError(
            f"{sheet.place}, {sheet.cell(error.row, place)} ({field.name}): '{error.value}' is not"
            f" {'an' if what[0] in 'AEIO' else 'a'} {what}"
        ) from None
