"""Columns whose values are of several kinds, which Arrow does not read: they become texts.

    {"a": 1}                  {"a": "1"}
    {"a": "x"}                {"a": "x"}
    {"a": [1, 2]}             {"a": "[1, 2]"}

A string is its own text, all else is as the file writes it. The lines are taken apart one by one in
Python, which only files with such columns wait for.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_SPACES = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode
# Of a value whose parts are of several kinds.
_MIXED = "several kinds"


class Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, repeated keys included."""


def kind_of(value: object) -> str:
    """Return the kind of a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float() | Decimal():
            return "a number"
        case str():
            return "a string"
        case Pairs():
            return "an object"
        case _:
            return "a list"


def mixed_keys(objects: Iterable[Any], texts: Collection[str]) -> set[str]:
    """Return the keys whose values are of several kinds, or hold parts that are.

    texts: the keys of columns that are texts, whose values are to be strings.
    """
    shapes: dict[str, Any] = dict.fromkeys(texts, "a string")
    for found in objects:
        if isinstance(found, Pairs):
            for key, value in found:
                shapes[key] = _joined(shapes.get(key), _shape(value))
    return {key for key, shape in shapes.items() if _is_mixed(shape)}


def _shape(value: object) -> Any:
    """Return the kind of a value; of an object or a list, the kinds of its parts. None for null."""
    match value:
        case None:
            return None
        case Pairs():
            return {key: _shape(part) for key, part in value}
        case list():
            elements = None
            for part in value:
                elements = _joined(elements, _shape(part))
            return [elements]
    return kind_of(value)


def _joined(one: Any, other: Any) -> Any:
    """Return the shape of two values in one column."""
    if one is None or one == other:
        return other
    if other is None:
        return one
    match one, other:
        case dict(), dict():
            return {key: _joined(one.get(key), other.get(key)) for key in {**one, **other}}
        case [first], [second]:
            return [_joined(first, second)]
    return _MIXED


def _is_mixed(shape: Any) -> bool:
    match shape:
        case dict():
            return any(map(_is_mixed, shape.values()))
        case [elements]:
            return _is_mixed(elements)
    return bool(shape == _MIXED)


def with_texts(line: str, keys: Collection[str]) -> str:
    """Return a line of an object, or null, with the values of some keys as strings.

    >>> with_texts('{"a": [1, 2], "b": 2}', {"a"})
    '{"a": "[1, 2]", "b": 2}'
    """
    if line.strip() == "null":
        return line
    pieces: list[str] = []
    copied, place = 0, line.index("{") + 1
    while True:
        place = _behind_spaces(line, place)
        if line[place] == "}":
            return "".join(pieces) + line[copied:]
        key, place = _decode(line, place)
        start = _behind_spaces(line, _behind_spaces(line, place) + 1)
        value, place = _decode(line, start)
        if key in keys and value is not None and not isinstance(value, str):
            pieces += [line[copied:start], json.dumps(line[start:place], ensure_ascii=False)]
            copied = place
        place = _behind_spaces(line, place)
        place += line[place] == ","


def _behind_spaces(line: str, place: int) -> int:
    found = _SPACES.match(line, place)
    assert found is not None, "it matches no spaces too"
    return found.end()
