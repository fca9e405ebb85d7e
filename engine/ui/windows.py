"""Some rows as texts, as the page shows them: the shell's words, of long values the beginning.

A number is where the page draws, and there it asks SQL. What a reader sees of a value is the same
text in the shell and on the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.engine.session.python_values import python_values
from raydb.engine.shell.render.words import word
from raydb.errors import ProgrammingError
from raydb.late import pc
from raydb.storage.nested import is_list_like

if TYPE_CHECKING:
    from collections.abc import Iterable

# What is seen of a longer value; the whole of it is asked for by itself.
MAX_CHARACTERS = 400
MAX_ELEMENTS = 40

# How the pictures begin that browsers show: PNG and JPEG.
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


def shown_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows as texts, whose columns have their numbers for names; NULL stays NULL."""
    columns = [pa.array(words, pa.string()) for words in shown_columns(rows)]
    return pa.RecordBatch.from_arrays(columns, [str(place) for place in range(len(columns))])


def shown_columns(rows: pa.RecordBatch) -> list[list[str | None]]:
    """Return the beginning of each value of rows, one list a column; None stands for NULL."""
    return [list(_shown_words(column)) for column in rows.columns]


def _shown_words(column: pa.Array) -> Iterable[str | None]:
    """Yield the beginning of each value."""
    if is_list_like(column.type):
        sizes = pc.list_value_length(column).to_pylist()
        first = pc.list_slice(column, 0, MAX_ELEMENTS, return_fixed_size_list=False)
        for value, size in zip(python_values(first), sizes, strict=True):
            text = None if value is None else word(value)
            if text is not None and size > MAX_ELEMENTS:
                text = f"{text[:-1]}, … {size} in all]"
            yield _clipped(text)
        return
    if pa.types.is_binary(column.type):
        column = pc.binary_slice(column, 0, MAX_CHARACTERS)
    for value in python_values(column):
        yield None if value is None else _clipped(word(value))


def _clipped(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_CHARACTERS:
        return text
    return text[: MAX_CHARACTERS - 1] + "…"


def whole_value(column: pa.Array) -> tuple[bytes, str]:
    """Return the one value of a column as a browser takes it, and its media type.

    A picture is itself, anything else a text. Raises ProgrammingError where the row is gone.
    """
    if len(column) != 1:
        raise ProgrammingError("there is no such row")
    (value,) = python_values(column)
    if isinstance(value, bytes):
        for start, media_type in _PICTURES.items():
            if value.startswith(start):
                return value, media_type
    text = "NULL" if value is None else word(value)
    return text.encode("utf-8", "replace"), "text/plain; charset=utf-8"


def json_rows(rows: pa.Table) -> list[list[Any]]:
    """Return rows as JSON has them: numbers that it holds exactly, truth values, lists; else texts.

    NaN and infinity are None.
    """
    columns = [
        [_json_value(value) for chunk in column.chunks for value in python_values(chunk)]
        for column in rows.columns
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _json_value(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int() if abs(value) < 2**53:
            return value
        case float():
            return value if abs(value) < float("inf") else None
        case list() | tuple():
            return [_json_value(each) for each in value]
        case dict():
            return {str(key): _json_value(each) for key, each in value.items()}
        case _:
            return word(value)
