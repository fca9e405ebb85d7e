"""Values as text, and the columns of a terminal that a text takes."""

from __future__ import annotations

import datetime as dt
import functools
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyarrow import MonthDayNano

from raydb.engine.session.python_values import interval_word, python_values, zoned_word

if TYPE_CHECKING:
    import pyarrow as pa

# Characters that move the cursor, change the direction of text or are not seen at all: controls,
# formats, surrogates, ends of lines and of paragraphs.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Formats that emoji and Persian are written with: joiners, and the tags of a flag.
_JOINERS = {"\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))}


def word(value: Any) -> str:
    """Return a value, which is not NULL, as text."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return f"\\x{value.hex()}"
        case Decimal():
            return format(value, "f")
        case dt.timedelta() | MonthDayNano():
            return interval_word(value)
        case dt.datetime() if value.tzinfo is not None:
            return zoned_word(value)
        case list() | tuple():
            return "[" + ", ".join("NULL" if v is None else word(v) for v in value) + "]"
        case dict():
            pairs = (f"'{key}': {'NULL' if v is None else word(v)}" for key, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return str(value)


def words_of(rows: pa.RecordBatch) -> list[list[str | None]]:
    """Return the values of rows as text, one list a column; None stands for NULL."""
    return [
        [None if value is None else word(value) for value in python_values(column)]
        for column in rows.columns
    ]


def plain(text: str) -> str:
    r"""Return a text without characters that would move a terminal's cursor.

    >>> print(plain("a\tb\x1b[2J"))
    a\tb\x1b[2J
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


@functools.lru_cache(4096)
def _shown(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    return ascii(character)[1:-1]


def width(text: str) -> int:
    r"""Return the columns that a plain text takes: two for CJK and emoji, none for marks.

    >>> width("Lyon"), width("東京"), width("e\u0301")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return int(_wcwidth().width(text))


def clipped(text: str, limit: int) -> str:
    """Return a plain text that takes at most `limit` columns; it ends with '…' if it was longer.

    >>> clipped("Reykjavik", 5)
    'Reyk…'
    """
    if width(text) <= limit:
        return text
    if text.isascii():
        return text[: limit - 1] + "…"
    return str(_wcwidth().clip(text, 0, limit - 1)).rstrip(" ") + "…"


@functools.cache
def _wcwidth() -> Any:
    import wcwidth  # noqa: PLC0415  (its tables are large, and most answers are ASCII)

    return wcwidth


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """Return a plain text with spaces behind it (or, if `right`, before it)."""
    spaces = " " * (columns - width(text))
    return spaces + text if right else text + spaces
