"""A sheet of a workbook as a table: which rows and columns it has, and what they are called.

What is blank around the cells is no part of the table: it begins with the first row and the first
column that have a cell, unless a range says where. The first row is a header if all of its cells
are texts. Blank rows between others are rows of NULLs.
"""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from raydb.errors import DataError, Error, OperationalError, ProgrammingError, did_you_mean
from raydb.interrupts import check_interrupt
from raydb.room import check_room
from raydb.storage.formats.delimited.header import column_names, numbered_names
from raydb.storage.formats.excel.archive import Archive
from raydb.storage.formats.excel.cells import (
    DATE,
    TEXT,
    TIMESTAMP,
    TYPES,
    CellColumns,
    Cells,
    kind_of,
)
from raydb.storage.formats.room import Room
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openpyxl.reader.excel import ExcelReader

    from raydb.storage.formats.files.input_file import InputFile

MAX_ROWS, MAX_SHEET_COLUMNS = 1_048_576, 16_384
# How the files begin that programs write for a password, and wrote before there was .xlsx.
_OLD_FILE = b"\xd0\xcf\x11\xe0"
_FIRST_OWN_FORMAT = 164
# What a format of numbers has beside the letters that stand for parts of a moment.
_NOT_LETTERS = re.compile(r'\[[^\]]*\]|"[^"]*"|\\.|_.')
_HAS_TIME = re.compile("[hs]")
# What a row takes in each column that has a cell.
_PLACE_BYTES = 9


@dataclass(frozen=True, slots=True)
class Area:
    """Where a table is in a sheet: rows and columns from 1 on, None for what is not told."""

    first_row: int | None = None
    last_row: int | None = None
    first_column: int | None = None
    last_column: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say of a sheet. header: None where the cells tell whether there is one."""

    sheet: str | None
    header: bool | None
    area: Area
    stop_at_empty: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """The cells of a sheet's table, by column.

    place: what has the cells, for messages. names: those of the columns. first_row, first_column:
    where the first cell of a value is, from 1 on.
    """

    place: str
    names: tuple[str, ...]
    columns: tuple[dict[str, Cells], ...]
    row_count: int
    first_row: int
    first_column: int

    def cell(self, row: int, column: int) -> str:
        """Return what the cell of a value is called, for messages: "cell B17"."""
        return f"cell {_cell_name(self.first_row + row, self.first_column + column)}"


def read_sheet(source: InputFile, wanted: Wanted) -> Sheet:
    """Read a sheet. Raises DataError for a damaged file, ProgrammingError for an unknown sheet.

    Raises OperationalError where openpyxl is not installed, or memory_limit has no room, and
    OSError.
    """
    require_openpyxl()
    path = source.path
    with source.stream() as file, _reading(path):
        start = file.read(len(_OLD_FILE))
        if start == _OLD_FILE:
            raise DataError(
                f"file '{path}' is protected by a password, or of a version before .xlsx"
            )
        from openpyxl.reader.excel import ExcelReader  # noqa: PLC0415
        from openpyxl.styles.stylesheet import apply_stylesheet  # noqa: PLC0415

        reader = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
        reader.archive = Archive(path, file)
        reader.read_manifest()
        reader.read_strings()
        reader.read_workbook()
        apply_stylesheet(reader.archive, reader.wb)
        name, part = _find_sheet(path, reader, wanted.sheet)
        return _Reading(path, name, wanted).read(reader, part)


def require_openpyxl() -> None:
    """Raise OperationalError where the library is not installed."""
    try:
        import openpyxl  # noqa: F401, PLC0415  (0.2 s, only for who uses workbooks)
    except ImportError as error:
        raise OperationalError(
            "openpyxl, which reads and writes .xlsx files, is not installed:"
            " pip install 'raydb[excel]'"
        ) from error


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn whatever openpyxl raises about a damaged file into a DataError.

    Its warnings are about what it would not write again, such as charts.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (Error, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  (openpyxl promises none in particular)
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"file '{path}' is no .xlsx file or a damaged one: {reason}") from None


def _find_sheet(path: str, reader: ExcelReader, wanted: str | None) -> tuple[str, str]:
    """Return the name of a sheet and of its part; names match regardless of case."""
    sheets = {
        str(sheet.name): str(rel.target)
        for sheet, rel in reader.parser.find_sheets()
        if rel.target in reader.valid_files and "chartsheet" not in rel.Type
    }
    if not sheets:
        raise DataError(f"file '{path}' has no sheet")
    if wanted is None:
        return next(iter(sheets.items()))
    for name, part in sheets.items():
        if name.lower() == wanted.lower():
            return name, part
    raise ProgrammingError(f"file '{path}' has no sheet '{wanted}'{did_you_mean(wanted, sheets)}")


class _Reading:
    """A sheet that is being read."""

    def __init__(self, path: str, name: str, wanted: Wanted) -> None:
        self._path = path
        self._place = f"file '{path}', sheet '{name}'"
        self._wanted = wanted
        self._cells = CellColumns(Room(path))
        self._header: dict[int, str] | None = None
        # Rows are counted from the first one of values.
        self._first_row: int | None = None
        self._last_row = 0
        self._has_time: dict[int, bool] = {}

    def read(self, reader: ExcelReader, part: str) -> Sheet:
        """Read the rows of a part."""
        from openpyxl.worksheet._reader import WorkSheetParser  # noqa: PLC0415

        archive, book = reader.archive, cast("Any", reader.wb)
        assert isinstance(archive, Archive), "see `read_sheet`"
        area = self._wanted.area
        last_row = area.last_row or MAX_ROWS
        with archive.open(part) as source:
            parser = WorkSheetParser(
                source,
                reader.shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,  # noqa: SLF001
                timedelta_formats=book._timedelta_formats,  # noqa: SLF001
            )
            held = archive.held_bytes
            before = 0
            for number, row in parser.parse():
                check_interrupt()
                # The row is in columns now.
                archive.held_bytes = held
                self._check_place(number, before, "row", MAX_ROWS)
                before = number
                if number > last_row:
                    break
                if number < (area.first_row or 1):
                    continue
                cells = self._present(row, book)
                if not cells:
                    continue
                if self._wanted.stop_at_empty and 0 < self._last_row < number - 1:
                    break
                self._add(number, cells)
        return self._finish()

    def _check_place(self, number: int, before: int, what: str, most: int) -> None:
        """Raise DataError for rows, or cells of a row, that are out of order or beyond a sheet."""
        if before < number <= most:
            return
        fault = f"after {what} {before}" if number <= before else f"where a sheet has {most}"
        raise DataError(f"{self._place}: {what} {number} {fault}")

    def _present(self, row: list[dict[str, Any]], book: Any) -> dict[int, tuple[str, Any]]:
        """Return the kinds and values of a row's cells that are not blank, by their columns."""
        area = self._wanted.area
        first, last = area.first_column or 1, area.last_column or MAX_SHEET_COLUMNS
        present: dict[int, tuple[str, Any]] = {}
        before = 0
        for cell in row:
            column, value = cell["column"], cell["value"]
            self._check_place(column, before, "column", MAX_SHEET_COLUMNS)
            before = column
            if value is None or value == "" or not first <= column <= last:
                continue
            kind = kind_of(value, is_error=cell["data_type"] == "e")
            if kind == TIMESTAMP and self._is_date(value, cell["style_id"], book):
                kind = DATE
            present[column] = (kind, value)
        return present

    def _is_date(self, moment: Any, style: int, book: Any) -> bool:
        """Tell whether a moment is shown without its time, and has none."""
        if moment.hour or moment.minute or moment.second or moment.microsecond:
            return False
        if style not in self._has_time:
            self._has_time[style] = _shows_time(style, book)
        return not self._has_time[style]

    def _add(self, number: int, cells: dict[int, tuple[str, Any]]) -> None:
        """Add a row, which may be the header."""
        if self._first_row is None:
            self._first_row = self._wanted.area.first_row or number
            is_first = self._first_row == number
            header = self._wanted.header
            if header is None:
                header = is_first and all(kind == TEXT for kind, _ in cells.values())
            if header:
                self._header = _texts(cells) if is_first else {}
                self._first_row += 1
                self._last_row = number
                if is_first:
                    return
        self._last_row = number
        for column, (kind, value) in cells.items():
            self._cells.add(number - self._first_row, column, kind, value)

    def _finish(self) -> Sheet:
        found = self._cells.finish()
        area, used = self._wanted.area, [*found, *(self._header or {})]
        first = area.first_column or min(used, default=1)
        last = max(used, default=0)
        if area.last_column is not None and used:
            last = area.last_column
        columns = tuple(found.get(place, {}) for place in range(first, last + 1))
        if self._header is None:
            names = numbered_names(len(columns))
        else:
            header = self._header
            names = column_names([header.get(place, "") for place in range(first, last + 1)])
        first_row = self._first_row or 1
        row_count = max(self._last_row - first_row + 1, 0)
        check_room(row_count * len(found) * _PLACE_BYTES, self._place)
        return Sheet(self._place, tuple(names), columns, row_count, first_row, first)


def _texts(cells: dict[int, tuple[str, Any]]) -> dict[int, str]:
    """Return the cells of a header as the texts that they would be in a column."""
    return {
        column: Cells(kind, [], [pa.array([value], TYPES[kind])]).texts()[0].as_py().strip()
        for column, (kind, value) in cells.items()
    }


def _shows_time(style: int, book: Any) -> bool:
    """Tell whether the number format of a style has hours or seconds."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS  # noqa: PLC0415

    number = book._cell_styles[style].numFmtId  # noqa: SLF001
    if number < _FIRST_OWN_FORMAT:
        text = BUILTIN_FORMATS.get(number, "General")
    else:
        text = book._number_formats[number - _FIRST_OWN_FORMAT]  # noqa: SLF001
    return _HAS_TIME.search(_NOT_LETTERS.sub("", text.lower())) is not None


def _cell_name(row: int, column: int) -> str:
    """Return the name of a cell.

    >>> _cell_name(17, 28)
    'AB17'
    """
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"
