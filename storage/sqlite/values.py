"""SQLite's values as columns: a column of SQLite has a type that it prefers, and values of any.

INTEGER, BIGINT, ..       BIGINT          BOOLEAN                BOOLEAN, of 0 and 1
TEXT, VARCHAR(20), ..     VARCHAR         DATE                   DATE, of texts
REAL, DECIMAL(9, 2), ..   DOUBLE          DATETIME, TIMESTAMP    TIMESTAMP, of texts
BLOB                      BLOB            nothing                by the first values
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

TEXT, WHOLE, DOUBLE, BLOB = pa.string(), pa.int64(), pa.float64(), pa.binary()
_DATE, _MOMENT, _BOOLEAN = pa.date32(), pa.timestamp("us"), pa.bool_()

# The words are those by which SQLite itself finds the affinity of a column, and in its order.
_WORDS = (
    ("INT", WHOLE),
    *((word, TEXT) for word in ("CHAR", "CLOB", "TEXT")),
    ("BLOB", BLOB),
    *((word, DOUBLE) for word in ("REAL", "FLOA", "DOUB", "DEC", "NUM")),
    ("BOOL", _BOOLEAN),
    *((word, _MOMENT) for word in ("DATETIME", "TIMESTAMP")),
)

# What the values of a column are, by SQLite's names.
_CLASSES = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}


def declared_type(declared: str) -> pa.DataType | None:
    """Return the type of a column as it was declared, None where nothing was."""
    written = declared.upper()
    if not written:
        return None
    if written == "DATE":
        return _DATE
    return next((kind for word, kind in _WORDS if word in written), TEXT)


def type_of_classes(classes: Collection[str]) -> pa.DataType:
    """Return the type of a column that was declared without one, by the classes of its values.

    >>> type_of_classes({"integer", "null"})
    DataType(int64)
    """
    found = set(classes) - {"null"}
    if found == {"integer"}:
        return WHOLE
    if found and found <= {"integer", "real"}:
        return DOUBLE
    return BLOB if found == {"blob"} else TEXT


def column_of(values: Sequence[object], kind: pa.DataType, place: str, first: int) -> pa.Array:
    """Return values as a column. place: what it is, for errors; first: the number of their row.

    Raises DataError naming the first value of another class.
    """
    try:
        return _converted(values, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        number, value = next(
            (number, value) for number, value in enumerate(values) if not _fits(value, kind)
        )
        shown = repr(value) if len(repr(value)) < 80 else f"{repr(value)[:77]}..."
        raise DataError(
            f"{place}, row {first + number + 1}: {shown} is {_CLASSES[type(value)]}, and the"
            f" column {sql_type_name(kind)}; ATTACH ... (sqlite_all_varchar) reads texts"
        ) from None


def _fits(value: object, kind: pa.DataType) -> bool:
    try:
        _converted([value], kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def _converted(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    if kind in (WHOLE, BLOB):
        _require(values, int if kind == WHOLE else bytes)
        return pa.array(values, kind)
    if kind == TEXT:
        numbers = (int, float)
        texts = [str(value) if isinstance(value, numbers) else value for value in values]
        _require(texts, str)
        return pa.array(texts, kind)
    if kind == DOUBLE:
        _require(values, int, float)
        doubles = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
        return pa.array(doubles, kind)
    if kind == _BOOLEAN:
        _require([value for value in values if value not in (0, 1)])
        return pa.array([None if value is None else bool(value) for value in values], kind)
    _require(values, str)
    return pa.array(values, TEXT).cast(kind)


def _require(values: Sequence[object], *classes: type) -> None:
    """Raise TypeError for values of other classes, beside NULL."""
    found = set(map(type, values)) - {type(None), *classes}
    if found:
        raise TypeError(found)
