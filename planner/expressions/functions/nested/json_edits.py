"""Functions that change JSON: at a path of it, and by another JSON that is laid over it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.functions.nested.json_texts import (
    END,
    MISSING,
    as_json_text,
    path_of,
    read_json,
    steps_of,
    write_json,
)
from raydb.planner.expressions.nodes import Call, Expression
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.types import BOOLEAN, TEXT
from raydb.planner.expressions.typing_rules import choose

if TYPE_CHECKING:
    from collections.abc import Callable

# Whether what is there is replaced, and what is missing made.
_Edit = tuple[bool, bool]


def _place(value: Any, step: str | int, *, is_pointer: bool) -> str | int | None:
    """Return the key or the index that a step means in a value, None where it fits none.

    The index behind the last element is that of a new one.
    """
    match value:
        case dict() if isinstance(step, str):
            return step
        case list():
            if is_pointer and step == "-":
                return len(value)
            if isinstance(step, str) and not (is_pointer and step.isdecimal()):
                return None
            index = len(value) if step == END else int(step)
            index += len(value) if index < 0 else 0
            return index if 0 <= index <= len(value) else None
        case _:
            return None


def _edited(json: Any, path: str | int, value: Any, edit: _Edit) -> Any:
    """Return JSON with a value at a path, as far as the path leads to a place that there may be."""
    replaces, inserts = edit
    is_pointer = isinstance(path, str) and path[:1] == "/"
    steps = steps_of(path)
    if not steps:
        return value if replaces else json
    around, changed = json, json
    for number, step in enumerate(steps):
        place = _place(around, step, is_pointer=is_pointer)
        if place is None:
            return json
        if isinstance(around, dict):
            is_there = place in around
        else:
            assert isinstance(place, int)
            is_there = place < len(around)
        is_last = number == len(steps) - 1
        if not (is_there or inserts) or (is_last and is_there and not replaces):
            return json
        if is_there and not is_last:
            around = around[place]
            continue
        made = value if is_last else _built(steps[number + 1 :], value, is_pointer=is_pointer)
        if made is not MISSING:
            _put(around, place, made)
        return changed
    return changed


def _built(steps: tuple[str | int, ...], value: Any, *, is_pointer: bool) -> Any:
    """Return the objects and arrays around a value at the end of a path, MISSING if none fit."""
    for step in reversed(steps):
        if isinstance(step, int) or (is_pointer and step in ("-", "0")):
            if step not in (0, END, "0", "-"):
                return MISSING
            value = [value]
        else:
            value = {step: value}
    return value


def _put(around: Any, place: str | int, value: Any) -> None:
    if isinstance(around, list) and place == len(around):
        around.append(value)
    else:
        around[place] = value


def _bind_edit(name: str, json: Expression, path: Expression, value: Expression) -> Expression:
    arguments = as_json_text(name, json), path_of(name, path), as_json_text(name, value)
    return Call(name, arguments, TEXT)


def _edits(name: str, says: str, edit: _Edit) -> None:
    def compute(json: str, path: str | int, value: str) -> str:
        return write_json(_edited(read_json(json), path, read_json(value), edit))

    bind = functools.partial(_bind_edit, name)
    register = scalar(
        f"{name}(json, path, value)", says, bind=lambda _, *each: bind(*each), can_fail=True
    )
    register(of_rows(compute))


_edits(
    "json_set",
    "with the JSON `value` at a path, whatever was there:"
    " json_set('{\"a\": 1}', '$.b', '2') -> '{\"a\":1,\"b\":2}'",
    (True, True),
)
_edits(
    "json_insert",
    "the same where nothing was there: json_insert('{\"a\": 1}', '$.a', '2') -> '{\"a\":1}'",
    (False, True),
)
_edits(
    "json_replace",
    "the same where something was there: json_replace('{\"a\": 1}', '$.a', '2') -> '{\"a\":2}'",
    (True, False),
)


@scalar(
    "json_remove(json, path)",
    "without what lies at a path: json_remove('{\"a\": 1, \"b\": 2}', '$.a') -> '{\"b\":2}'",
    bind=lambda name, json, path: Call(name, (as_json_text(name, json), path_of(name, path)), TEXT),
    can_fail=True,
)
@of_rows
def _remove(text: str, path: str | int) -> str | None:
    json = read_json(text)
    is_pointer = isinstance(path, str) and path[:1] == "/"
    *before, last = steps_of(path) or (None,)
    if last is None:
        return None
    around = json
    for step in before:
        place = _place(around, step, is_pointer=is_pointer)
        is_there = place in around if isinstance(around, dict) else place not in (None, len(around))
        if place is None or not is_there:
            return write_json(json)
        around = around[place]
    place = _place(around, last, is_pointer=is_pointer)
    if isinstance(around, dict):
        around.pop(place, None)
    elif isinstance(place, int) and place < len(around):
        del around[place]
    return write_json(json)


def _each_value(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return JSON with a function applied to all objects in it."""
    match value:
        case dict():
            return change({key: _each_value(each, change) for key, each in value.items()})
        case list():
            return [_each_value(each, change) for each in value]
        case _:
            return value


def _of_objects(
    signature: str, says: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    name = signature.partition("(")[0]
    register = scalar(
        signature,
        says,
        bind=lambda _, json: Call(name, (as_json_text(name, json),), TEXT),
        can_fail=True,
    )
    register(of_rows(lambda text: write_json(_each_value(read_json(text), change))))


_of_objects(
    "json_strip_nulls(json)",
    'without keys whose value is null: json_strip_nulls(\'{"a": 1, "b": null}\') -> \'{"a":1}\'',
    lambda each: {key: value for key, value in each.items() if value is not None},
)
_of_objects(
    "json_normalize(json)",
    'with the keys in order: json_normalize(\'{"b": 1, "a": 2}\') -> \'{"a":2,"b":1}\'',
    lambda each: dict(sorted(each.items(), key=lambda pair: pair[0].encode())),
)


# -- one JSON over another


def _patched(json: Any, patch: Any) -> Any:
    """Return RFC 7396: members of the patch replace, are merged, and null takes one away."""
    if not isinstance(patch, dict):
        return patch
    old = json if isinstance(json, dict) else {}
    kept = {key: value for key, value in old.items() if key not in patch}
    for key, value in patch.items():
        if value is not None:
            kept[key] = _patched(old.get(key), value)
    return kept


def _merged(json: Any, other: Any) -> Any:
    """Return the same, but null changes nothing."""
    if other is None:
        return json
    if not (isinstance(json, dict) and isinstance(other, dict)):
        return other
    changed = {key for key, value in other.items() if value is not None or key not in json}
    kept = {key: value for key, value in json.items() if key not in changed}
    for key, value in other.items():
        if key in changed and not (value is None and key not in json):
            kept[key] = _merged(json.get(key), value)
    return kept


def _difference(json: Any, other: Any) -> Any:
    """Return the patch that makes one JSON of the other."""
    if not (isinstance(json, dict) and isinstance(other, dict)):
        return other
    gone = {key: None for key in json if key not in other}
    for key, value in other.items():
        if key not in json:
            gone[key] = value
        elif json[key] != value or type(json[key]) is not type(value):
            gone[key] = _difference(json[key], value)
    return gone


def _folds(signature: str, says: str, merge: Callable[[Any, Any], Any]) -> None:
    """Register a function that lays each JSON over what those before it give."""
    name = signature.partition("(")[0]
    kernel = of_rows(lambda *texts: write_json(merge(*map(read_json, texts))))
    scalar(name=f"{name}_of_two", can_fail=True)(kernel)

    def bind(_: str, first: Expression, second: Expression, *others: Expression) -> Expression:
        found = as_json_text(name, first)
        for each in (second, *others):
            over = as_json_text(name, each)
            merged = Call(f"{name}_of_two", (found, over), TEXT)
            compact = Call("json", (over,), TEXT)
            found = choose([Call("is_null", (found,), BOOLEAN)], [compact, merged])
        return found

    composed(signature, says)(bind)


_folds(
    "json_merge_patch(json, json, ...)",
    "the first with the members of the second, null taking one away:"
    ' json_merge_patch(\'{"a": 1, "b": 2}\', \'{"a": null, "c": 3}\') -> \'{"b":2,"c":3}\'',
    _patched,
)
_folds(
    "json_deep_merge(json, json, ...)",
    "the same, null changing nothing:"
    ' json_deep_merge(\'{"a": 1, "b": 2}\', \'{"a": null, "b": 3}\') -> \'{"a":1,"b":3}\'',
    _merged,
)
_folds(
    "json_merge_patch_diff(json, json)",
    "the patch that makes the second of the first:"
    ' json_merge_patch_diff(\'{"a": 1, "b": 2}\', \'{"a": 1}\') -> \'{"b":null}\'',
    _difference,
)
