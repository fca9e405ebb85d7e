"""Columns in the names of folders, as Hive writes them: `sales/year=2026/city=Oslo/part.csv`.

The folders that all files have give the columns; whoever has such a folder has it for a value, so a
column of the file with that name is not read. A column is a BIGINT, a DATE or a TIMESTAMP where
all of its values are, else a VARCHAR; NULL is __HIVE_DEFAULT_PARTITION__. COPY writes them too.
"""

from __future__ import annotations

from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from raydb.interrupts import beside, check_interrupt
from raydb.late import pc
from raydb.names import known_name
from raydb.room import keep_rows
from raydb.storage.formats.files.output_file import folders_at, not_written
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Found: TypeAlias = Literal["refused", "kept", "removed"]

_NULL = "__HIVE_DEFAULT_PARTITION__"
_TYPES = (pa.int64(), pa.date32(), pa.timestamp("us"))
# Rows are put into folders so many at a time.
_PIECE_ROWS = 2**18


def hive_columns(
    paths: Sequence[str],
    types: Mapping[str, pa.DataType] = MappingProxyType({}),
    *,
    is_typed: bool = True,
) -> dict[str, pa.Array]:
    """Return the columns in the names of folders, with a value for each path.

    types: those that are given by name. is_typed: whether the others may be other than text.
    Raises ProgrammingError for a type of no such column, DataError for a value of another type.

    >>> hive_columns(["s/year=2025/a.csv", "s/year=2026/b.csv"])["year"].to_pylist()
    [2025, 2026]
    """
    found = [_folders(path) for path in paths]
    names = [name for name in found[0] if all(name in each for each in found)] if found else []
    known = {known_name(name, names, "folder", " in the path"): name for name in types}
    columns = {}
    for name in names:
        texts = pa.array([each[name] for each in found], pa.string())
        if name in known:
            columns[name] = _cast(name, texts, types[known[name]])
        else:
            columns[name] = _typed(texts) if is_typed else texts
    return columns


def _cast(name: str, texts: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return texts.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"folders '{name}=' do not all name a {sql_type_name(kind)}") from None


def _folders(path: str) -> dict[str, str | None]:
    pairs = [folder.partition("=") for folder in PurePath(path).parts[:-1]]
    return {
        unquote(name): None if value == _NULL else unquote(value)
        for name, sign, value in pairs
        if sign and name
    }


def _typed(texts: pa.Array) -> pa.Array:
    """Return texts in the first type that all of them are written in."""
    for kind in _TYPES if texts.null_count < len(texts) else ():
        try:
            typed = texts.cast(kind)
        except pa.ArrowInvalid:
            continue
        # 007 is no number.
        if kind != _TYPES[0] or pc.all(pc.equal(typed.cast(pa.string()), texts)).as_py():
            return typed
    return texts


def write_folders(
    path: str,
    rows: pa.Table,
    keys: Sequence[str],
    write: Callable[[str, pa.Table], str],
    *,
    found: Found = "refused",
    keeps_keys: bool = False,
) -> None:
    """Write the rows of each value of some columns into a folder of its own.

    write: writes rows into a folder and returns the path of the file. found: what becomes of what
    the directory holds already: "refused"; "kept", unless it has the path of a new file; "removed"
    when all rows are written. keeps_keys: whether the files hold the columns of the keys too. What
    was written before a failure is removed. Raises ProgrammingError for keys that are no columns,
    or that are all of them where the files do not hold them, NotSupportedError for keys without
    texts, and OperationalError where the disk fails.
    """
    names = [known_name(each, rows.column_names, "column", " in the rows of COPY") for each in keys]
    if len(set(names)) == len(rows.column_names) and not keeps_keys:
        raise ProgrammingError("PARTITION_BY has to leave a column for the files")
    folders, numbers = _folders_of(rows.select(list(dict.fromkeys(names))), names)
    order = beside(lambda: np.argsort(numbers, kind="stable"), len(numbers))
    ends = np.cumsum(np.bincount(numbers, minlength=len(folders)))
    rest = rows if keeps_keys else rows.drop_columns(list(dict.fromkeys(names)))
    place = folders_at(path)
    written: set[str] = set()
    try:
        before = place.files() if found != "kept" else []
        if before and found == "refused":
            raise OperationalError(
                f"directory '{path}' is not empty; OVERWRITE_OR_IGNORE writes to it all the same"
            )
        for folder, start, end in zip(folders, [0, *ends[:-1]], ends, strict=True):
            written.add(write(place.make(folder), _taken(rest, order[start:end])))
        place.remove([each for each in before if each not in written])
    except BaseException as error:
        place.undo(written)
        if isinstance(error, OSError):
            raise not_written("directory", path, error) from None
        raise


def _folders_of(rows: pa.Table, names: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the folders of rows in the order in which they occur, and the number of each row's."""
    known: dict[str, int] = {}
    numbers = np.empty(rows.num_rows, np.int32)
    first = 0
    for batch in rows.to_batches(_PIECE_ROWS):
        check_interrupt()
        texts = pc.binary_join_element_wise(
            *(_folder_names(name, batch.column(name)) for name in names), "/"
        ).dictionary_encode()
        own = [known.setdefault(each, len(known)) for each in texts.dictionary.to_pylist()]
        stop = first + batch.num_rows
        numbers[first:stop] = np.array(own, np.int32)[texts.indices.to_numpy()]
        first = stop
    return list(known), numbers


def _taken(rows: pa.Table, numbers: NDArray[np.int64]) -> pa.Table:
    """Return some rows, which go to temporary files where they would fill the memory."""
    pieces = [rows.slice(0, 0)]
    # From a piece of the table each time: of many chunks Arrow makes one to take from.
    cuts = np.searchsorted(numbers, np.arange(0, rows.num_rows + _PIECE_ROWS, _PIECE_ROWS))
    for piece in np.flatnonzero(np.diff(cuts)):
        check_interrupt()
        first = int(piece) * _PIECE_ROWS
        places = pa.array(numbers[cuts[piece] : cuts[piece + 1]] - first)
        pieces.append(keep_rows(rows.slice(first, _PIECE_ROWS).take(places)))
    return pa.concat_tables(pieces)


def _folder_names(name: str, column: pa.Array) -> pa.Array:
    """Return the folder of each value: 'year=2026'."""
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise NotSupportedError(
            f"PARTITION_BY of '{name}', a {sql_type_name(column.type)}, is not supported"
        )
    texts = pc.cast(column, pa.string()).dictionary_encode()
    known = [
        f"{quote(name, safe=' ')}={quote(each, safe=' ')}" for each in texts.dictionary.to_pylist()
    ]
    found = pa.array(known, pa.string()).take(texts.indices)
    return found.fill_null(f"{quote(name, safe=' ')}={_NULL}")
