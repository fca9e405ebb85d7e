"""What JSON holds as rows, for json_each() and json_tree() in FROM."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import DataError
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.functions.nested.json_texts import (
    as_json_text,
    json_type,
    path_of,
    read_json,
    steps_of,
    write_json,
)
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.types import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_OF_JSON = ("json_each", "json_tree")
_ROW = pa.struct(
    {
        "key": TEXT,
        "value": TEXT,
        "type": TEXT,
        "atom": TEXT,
        "id": pa.uint64(),
        "parent": pa.uint64(),
        "fullkey": TEXT,
        "path": TEXT,
    }
)
_PLAIN = re.compile(r"\w+", re.ASCII)


def json_rows(name: str, operand: Expression, *path: Expression) -> Expression:
    """Return a list of structs: the members of JSON (json_each), or all values within it.

    They have DuckDB's and SQLite's fields. id: the number of the value in the whole JSON, in which
    keys count too. parent: that of what it is in, which json_each() does not tell.
    """
    where = path_of(name, path[0]) if path else Literal("$", TEXT)
    return Call(name, (as_json_text(name, operand), where), pa.list_(_ROW))


def _rows(text: str, path: str | int, *, whole: bool) -> list[dict[str, Any]]:
    if not isinstance(path, str) or path[:1] != "$":
        raise DataError(f"the path '{path}' of json_each() and json_tree() does not begin with '$'")
    found = _at(read_json(text), steps_of(path))
    if found is None:
        return []
    value, number, place = found
    root = _row(None, value, number, None, place, place)
    if whole:
        return [root, *_within(value, number, place, whole=True)]
    is_atom = not isinstance(value, dict | list)
    return [root] if is_atom else list(_within(value, number, place, whole=False))


def _at(value: Any, steps: tuple[str | int, ...]) -> tuple[Any, int, str] | None:
    """Return the value at a path, its number and its path; None where there is none."""
    number, place = 0, "$"
    for step in steps:
        wanted = step
        if isinstance(value, list) and isinstance(step, int) and step < 0:
            wanted = step + len(value)
        for key, part, own in _members(value, number):
            if key == wanted:
                value, number, place = part, own, place + _written(key)
                break
        else:
            return None
    return value, number, place


def _within(value: Any, number: int, place: str, *, whole: bool) -> Iterator[dict[str, Any]]:
    for key, part, own in _members(value, number):
        full = place + _written(key)
        yield _row(key, part, own, number if whole else None, full, place)
        if whole:
            yield from _within(part, own, full, whole=True)


def _members(value: Any, number: int) -> Iterator[tuple[str | int, Any, int]]:
    """Yield keys or indices, values and their numbers."""
    is_object = isinstance(value, dict)
    pairs = value.items() if is_object else enumerate(value) if isinstance(value, list) else ()
    number += 1
    for key, part in pairs:
        number += is_object
        yield key, part, number
        number += _size(part)


def _size(value: Any) -> int:
    """Return how many values and keys there are in a value, itself counted."""
    if isinstance(value, dict):
        return 1 + sum(1 + _size(part) for part in value.values())
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _written(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f".{json.dumps(key, ensure_ascii=False)}"


def _row(
    key: str | int | None, value: Any, number: int, parent: int | None, full: str, place: str
) -> dict[str, Any]:
    written = write_json(value)
    is_atom = value is not None and not isinstance(value, dict | list)
    return {
        "key": None if key is None else str(key),
        "value": written,
        "type": json_type(value),
        "atom": written if is_atom else None,
        "id": number,
        "parent": parent,
        "fullkey": full,
        "path": place,
    }


@scalar(name="json_each", can_fail=True)
@of_rows
def _each(text: str, path: str | int) -> list[dict[str, Any]]:
    return _rows(text, path, whole=False)


@scalar(name="json_tree", can_fail=True)
@of_rows
def _tree(text: str, path: str | int) -> list[dict[str, Any]]:
    return _rows(text, path, whole=True)
