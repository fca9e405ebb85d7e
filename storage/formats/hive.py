"""Columns in the names of folders, as Hive writes them: `sales/year=2026/city=Oslo/part.csv`.

The folders that all files have give the columns; whoever has such a folder has it for a value, so a
column of the file with that name is not read. A column is a BIGINT, a DATE or a TIMESTAMP where
all of its values are, else a VARCHAR; NULL is __HIVE_DEFAULT_PARTITION__.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

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
