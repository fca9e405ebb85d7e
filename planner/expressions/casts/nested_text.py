"""Lists, structs and maps read from text, as a cast writes them.

    [1, 2, NULL], {1,2,NULL}        lists, the second as in PostgreSQL
    {'a': 1, b: "x, y"}, (1, x)     structs, the second as rows are written
    {k=1, 'l'=2}                    maps

A part is cast from its own text. What stands in quotes is a text, in which a quote is doubled or
behind a backslash; NULL without quotes is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from raydb.planner.expressions.casts.nested import field_place
from raydb.storage.nested import (
    entries_type,
    make_lists,
    make_maps,
    make_structs,
    missing,
    offsets_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_Cast: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]
# The text of a part, None for NULL.
_Part: TypeAlias = str | None

_BRACKETS = {"[": "]", "{": "}", "(": ")"}
# A list without these has its elements between its commas.
_MARKS = frozenset("[]{}()'\"")
_TOKEN = re.compile(
    r"""'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"|[^\[\]{}()'",:=]+|[\[\]{}(),:=]""",
    re.DOTALL,
)


def conversions(cast: _Cast) -> Mapping[tuple[str, str], _Cast]:
    """Return the casts of texts to nested values, whose parts are cast by another function."""

    def lists(texts: pa.Array, target: pa.DataType) -> pa.Array:
        found = [None if text is None else _elements(text) for text in texts.to_pylist()]
        parts = pa.array(found, pa.list_(pa.string()))
        elements = cast(parts.flatten(), target.value_type)
        return make_lists(offsets_of(parts), elements, target, missing(parts))

    def structs(texts: pa.Array, target: pa.DataType) -> pa.Array:
        rows = [None if text is None else _fields(text, target) for text in texts.to_pylist()]
        fields = []
        for place, field in enumerate(target):
            parts = [None if row is None else row[place] for row in rows]
            fields.append(cast(pa.array(parts, pa.string()), field.type))
        return make_structs(fields, target, missing(texts))

    def maps(texts: pa.Array, target: pa.DataType) -> pa.Array:
        found = [None if text is None else _entries(text) for text in texts.to_pylist()]
        kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
        parts = pa.array(found, kind)
        keys, values = parts.flatten().flatten()
        entries = make_structs(
            [cast(keys, target.key_type), cast(values, target.item_type)],
            entries_type(target).value_type,
        )
        made = make_lists(offsets_of(parts), entries, entries_type(target), missing(parts))
        return make_maps(made, target)

    return {("text", "list"): lists, ("text", "struct"): structs, ("text", "map"): maps}


def _elements(text: str) -> list[_Part]:
    """Return the texts of the elements of a list. Raises pa.ArrowInvalid for no list."""
    words = text.strip()
    if words[:1] + words[-1:] not in ("[]", "{}"):
        raise pa.ArrowInvalid("no list")
    inner = words[1:-1].strip()
    if not inner:
        return []
    if not _MARKS.intersection(inner):
        return [_part(word) for word in inner.split(",")]
    return [_part(word) for (word,) in _split(inner, "")]


def _fields(text: str, target: pa.DataType) -> list[_Part]:
    """Return the texts of the fields of a struct. Raises pa.ArrowInvalid for no such struct."""
    words = text.strip()
    if words[:1] + words[-1:] == "()":
        parts = _split(words[1:-1], "")
        if len(parts) != len(target):
            raise pa.ArrowInvalid("another number of fields")
        return [_part(word) for (word,) in parts]
    found: list[_Part] = [None] * len(target)
    seen: set[int] = set()
    for name, *word in _pairs(text, ":"):
        place = field_place(target, _part(name) or "NULL")
        if place is None or place in seen:
            raise pa.ArrowInvalid("no such field")
        seen.add(place)
        found[place] = _part(word[0])
    return found


def _entries(text: str) -> list[tuple[_Part, _Part]]:
    """Return the texts of the keys and values of a map. Raises pa.ArrowInvalid for no map."""
    return [(_part(key), _part(value)) for key, value in _pairs(text, "=")]


def _pairs(text: str, between: str) -> list[list[str]]:
    words = text.strip()
    if words[:1] + words[-1:] != "{}":
        raise pa.ArrowInvalid("no braces")
    inner = words[1:-1].strip()
    pairs = _split(inner, between) if inner else []
    if any(len(pair) != 2 for pair in pairs):
        raise pa.ArrowInvalid("no pair")
    return pairs


def _split(inner: str, between: str) -> list[list[str]]:
    """Return what stands between commas, each split at the first mark `between`.

    Marks in quotes and in brackets do not count.
    """
    parts = [[""]]
    closing: list[str] = []
    place = 0
    while place < len(inner):
        token = _TOKEN.match(inner, place)
        if token is None:  # a quote without its end
            raise pa.ArrowInvalid("no end of a quote")
        place, word = token.end(), token[0]
        if word in _BRACKETS:
            closing.append(_BRACKETS[word])
        elif word in ("]", "}", ")") and (not closing or closing.pop() != word):
            raise pa.ArrowInvalid("a bracket too many")
        if word == "," and not closing:
            parts.append([""])
        elif word == between and not closing and len(parts[-1]) == 1:
            parts[-1].append("")
        else:
            parts[-1][-1] += word
    if closing:
        raise pa.ArrowInvalid("a bracket is open")
    return parts


def _part(word: str) -> _Part:
    """Return the text of a part, without its quotes."""
    word = word.strip()
    if not word:
        raise pa.ArrowInvalid("nothing between commas")
    if word.upper() == "NULL":
        return None
    quote = word[0]
    if quote in "'\"" and len(word) > 1 and word[-1] == quote:
        return re.sub(rf"\\(.)|{quote}{quote}", lambda found: found[1] or quote, word[1:-1])
    return word
