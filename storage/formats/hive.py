"""Columns in the names of folders, as Hive writes them: `sales/year=2026/city=Oslo/part.csv`.

The folders that all files have give the columns; whoever has such a folder has it for a value, so a
column of the file with that name is not read. A column is a BIGINT, a DATE or a TIMESTAMP where
all of its values are, else a VARCHAR; NULL is __HIVE_DEFAULT_PARTITION__. COPY writes them too.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import NotSupportedError, OperationalError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.names import known_name
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NULL = "__HIVE_DEFAULT_PARTITION__"
_TYPES = (pa.int64(), pa.date32(), pa.timestamp("us"))


def hive_columns(paths: Sequence[str]) -> dict[str, pa.Array]:
    """Return the columns in the names of folders, with a value for each path.

    >>> hive_columns(["s/year=2025/a.csv", "s/year=2026/b.csv"])["year"].to_pylist()
    [2025, 2026]
    """
    found = [_folders(path) for path in paths]
    names = [name for name in found[0] if all(name in each for each in found)] if found else []
    return {name: _typed([each[name] for each in found]) for name in names}


def _folders(path: str) -> dict[str, str | None]:
    pairs = [folder.partition("=") for folder in PurePath(path).parts[:-1]]
    return {
        unquote(name): None if value == _NULL else unquote(value)
        for name, sign, value in pairs
        if sign and name
    }


def _typed(values: Sequence[str | None]) -> pa.Array:
    """Return texts in the first type that all of them are written in."""
    texts = pa.array(values, pa.string())
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
    write: Callable[[str, pa.Table], None],
    *,
    may_replace: bool,
) -> None:
    """Write the rows of each value of some columns into a folder of its own, without the columns.

    write: writes rows into a folder. may_replace: whether the directory may hold something
    already, which stays unless it has the path of a new file. What was written before a failure is
    removed. Raises ProgrammingError for keys that are no columns, or that are all of them,
    NotSupportedError for keys without texts, and OperationalError where the disk fails.
    """
    names = [known_name(each, rows.column_names, "column", " in the rows of COPY") for each in keys]
    if len(set(names)) == len(rows.column_names):
        raise ProgrammingError("PARTITION_BY has to leave a column for the files")
    folders = pc.binary_join_element_wise(
        *(_folder_names(name, rows.column(name)) for name in names), "/"
    )
    codes = folders.dictionary_encode()
    indices = codes.indices.to_numpy()
    order = np.argsort(indices, kind="stable")
    ends = np.cumsum(np.bincount(indices, minlength=len(codes.dictionary)))
    rest = rows.drop_columns(list(dict.fromkeys(names)))
    root = Path(path)
    made: list[Path] = []
    try:
        if not may_replace and root.is_dir() and any(root.iterdir()):
            raise OperationalError(
                f"directory '{path}' is not empty; OVERWRITE_OR_IGNORE writes to it all the same"
            )
        for folder, start, end in zip(
            codes.dictionary.to_pylist(), [0, *ends[:-1]], ends, strict=True
        ):
            check_interrupt()
            _make_folder(root / folder, made)
            write(str(root / folder), rest.take(pa.array(order[start:end])))
    except BaseException as error:
        for each in reversed(made):
            with suppress(OSError):
                for file in each.glob("data_0.*"):
                    file.unlink()
                each.rmdir()
        if isinstance(error, OSError):
            reason = (error.strerror or str(error)).lower()
            raise OperationalError(f"directory '{path}' cannot be written: {reason}") from None
        raise


def _folder_names(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return the folder of each value: 'year=2026'."""
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise NotSupportedError(
            f"PARTITION_BY of '{name}', a {sql_type_name(column.type)}, is not supported"
        )
    texts = pc.cast(column, pa.string()).combine_chunks().dictionary_encode()
    known = [
        f"{quote(name, safe=' ')}={quote(each, safe=' ')}" for each in texts.dictionary.to_pylist()
    ]
    found = pa.array(known, pa.string()).take(texts.indices)
    return found.fill_null(f"{quote(name, safe=' ')}={_NULL}")


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and those that it is in, each noted in `made`."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        made.append(each)
