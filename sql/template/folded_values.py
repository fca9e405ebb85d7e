"""INSERT with many rows of parameters, as object mappers write it, as that of one row.

INSERT INTO t VALUES (?, ?), (?, ?), (?, ?)    6 values
INSERT INTO t VALUES (?, ?)                    3 sets of 2 values

A statement of hundreds of rows takes the parser and the binder a millisecond for each few of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.sql.template.parameters import Parameters

_INSERT = re.compile(r"\s*INSERT\b", re.IGNORECASE)
_ROW = re.compile(r"\bVALUES\s*(\([^()]*\))(\s*,\s*)(?=\()", re.IGNORECASE)
# Fewer are read as they are.
_MIN_VALUES = 16


def fold_values(text: str, parameters: Parameters) -> tuple[str, Sequence[Parameters]] | None:
    """Return the statement of one row and the sets of parameters; None where the rows differ.

    >>> fold_values("INSERT INTO t VALUES (?), (?), ...", [1, 2, ...])
    ('INSERT INTO t VALUES (?)', [[1], [2], ...])
    """
    if not isinstance(parameters, tuple | list) or len(parameters) < _MIN_VALUES:
        return None
    found = _ROW.search(text) if _INSERT.match(text) else None
    if found is None:
        return None
    row, comma = found.groups()
    width = row.count("?")
    if not width or len(parameters) % width:
        return None
    rows = comma.join([row] * (len(parameters) // width))
    start = found.start(1)
    if not text.startswith(rows, start) or "?" in text[start + len(rows) :]:
        return None
    sets = [parameters[at : at + width] for at in range(0, len(parameters), width)]
    return text[:start] + row + text[start + len(rows) :], sets
