"""Functions of JSON, which is text: what lies at a path of it, what it is, and JSON of values.

A path is a key (`'a'`), an index from 0 or backwards from -1, JSONPath (`'$.a[0].b'`, `'$."a b"'`,
`'$[#-1]'`) or a JSON pointer (`'/a/0/b'`). A constant one may have wildcards (`'$.a[*]'`, `'$.*'`,
`'$..b'`): it has a list of values.
"""

from __future__ import annotations

import functools
import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.columns.adapters import of_columns, of_rows
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import concatenate
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_text
from raydb.planner.expressions.types import BIGINT, BOOLEAN, INTEGER, TEXT, is_integer, is_list
from raydb.planner.expressions.typing_rules import as_text, cast, choose, label, typed
from raydb.storage.formats.write_lines import json_text
from raydb.storage.nested import leaf_types
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values

_Step = str | int
_Path = str | int
MISSING = object()
# The index behind the last element, `$[#]`.
END = 2**62
_STEP = re.compile(
    r"""\.(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<key>[^.\[\]"*]+))"""
    r"""|\[(?:(?P<index>-?\d{1,18})|\#(?:-(?P<back>\d{1,18}))?|'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]"""
)
# What a path with wildcards has in place of a key or an index: any key, any index, any place at or
# below, and any place below. The second dot of `..key` is that of the key.
_WILDCARD = re.compile(
    r"(?P<any_key>\.\*)|(?P<any_index>\[\*\])|(?P<below>\.\.\*)|(?P<at_or_below>\.\.(?=\[)|\.(?=\.[^.]))"
)
_MOST_PLACES = 2**20
_INDEX = re.compile(r"[0-9]{1,18}")
_KINDS = {dict: "OBJECT", list: "ARRAY", str: "VARCHAR", float: "DOUBLE", bool: "BOOLEAN"}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def read_json(text: str) -> Any:
    """Return what a JSON text holds; raises DataError for what is none."""
    try:
        value = _decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # fails for half a pair of surrogates
        return value
    except (ValueError, RecursionError):
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise DataError(f"'{shown}' is not valid JSON") from None


def write_json(value: Any) -> str:
    """Return a value as JSON without blanks."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise DataError("a number in JSON is too large") from None


def steps_of(path: str | int) -> tuple[_Step, ...]:
    """Return the keys and indices of a path; raises DataError for what is none."""
    steps: tuple[_Step, ...] = _all_steps(path)
    if any(isinstance(step, _Wildcard) for step in steps):
        raise NotSupportedError(
            f"the path '{path}' is not supported here: wildcards are for constant paths of"
            " json_extract() and its kin"
        )
    return steps


@dataclass(frozen=True, slots=True)
class _Wildcard:
    """A step of a path to several places; kind: see `_WILDCARD`."""

    kind: str

    def places(self, value: Any) -> list[Any]:
        """Return what lies where the step leads to."""
        match self.kind:
            case "any_key":
                return list(value.values()) if isinstance(value, dict) else []
            case "any_index":
                return value if isinstance(value, list) else []
            case "below":
                return _below(value)
            case _:
                return [value, *_below(value)]


def _below(value: Any) -> list[Any]:
    """Return all that an array or an object has in it, each value before its own parts."""
    found: list[Any] = []
    waiting = _parts_of(value)
    while waiting:
        part = waiting.pop()
        found.append(part)
        waiting += _parts_of(part)
    return found


def _parts_of(value: Any) -> list[Any]:
    """Return the values of an object or an array, the last one first."""
    if isinstance(value, dict):
        return list(value.values())[::-1]
    return value[::-1] if isinstance(value, list) else []


def _has_wildcard(path: Expression) -> bool:
    """Tell whether a path is a constant with a wildcard."""
    text = path.value if isinstance(path, Literal) else None
    return isinstance(text, str) and any(isinstance(s, _Wildcard) for s in _all_steps(text))


@functools.lru_cache(maxsize=1024)
def _all_steps(path: str | int) -> tuple[Any, ...]:
    """Return the keys, indices and wildcards of a path."""
    if isinstance(path, int) or path[:1] not in ("$", "/"):
        return (path,) if path != "" else ()
    if path[0] == "/":
        keys = path[1:].split("/")
        return tuple(key.replace("~1", "/").replace("~0", "~") for key in keys)
    found: list[Any] = []
    place = 1
    while place < len(path):
        if wildcard := _WILDCARD.match(path, place):
            found.append(_Wildcard(wildcard.lastgroup or ""))
            place = wildcard.end()
            continue
        step = _STEP.match(path, place)
        if step is None:
            raise DataError(f"'{path}' is not a valid path of JSON")
        place = step.end()
        text = step[step.lastgroup or 0]
        match step.lastgroup:
            case "index":
                found.append(int(text))
            case "back":
                found.append(-int(text) or END)
            case None:
                found.append(END)
            case "quoted":
                found.append(re.sub(r"\\(.)", r"\1", text))
            case _:
                found.append(text)
    return tuple(found)


def _find(value: Any, path: str | int) -> Any:
    """Return what lies at a path, or that it is missing."""
    is_pointer = isinstance(path, str) and path[:1] == "/"
    for step in steps_of(path):
        value = _part(value, step, is_pointer=is_pointer)
    return value


def _find_all(value: Any, path: str) -> list[Any]:
    """Return what lies at a path with wildcards, in the order of the text."""
    found = [value]
    for step in _all_steps(path):
        if isinstance(step, _Wildcard):
            found = list(
                islice((part for each in found for part in step.places(each)), _MOST_PLACES + 1)
            )
        else:
            parts = [_part(each, step) for each in found]
            found = [part for part in parts if part is not MISSING]
        if len(found) > _MOST_PLACES:
            raise DataError(f"the path '{path}' leads to more than {_MOST_PLACES:,} places")
    return found


def _part(value: Any, step: _Step, *, is_pointer: bool = False) -> Any:
    """Return what an object has by a key or an array at an index, or that it is missing."""
    match value:
        case dict() if isinstance(step, str):
            return value.get(step, MISSING)
        case list() if isinstance(step, int) or (is_pointer and _INDEX.fullmatch(step)):
            place = int(step)
            return value[place] if -len(value) <= place < len(value) else MISSING
        case _:
            return MISSING


def as_json_text(name: str, operand: Expression) -> Expression:
    """Return a text, or the JSON of a value of another type."""
    operand = label(typed(operand, TEXT))
    return operand if operand.type == TEXT else _to_json(name, operand)


def path_of(name: str, path: Expression) -> Expression:
    """Return a path, a text or an index; raises ProgrammingError for another value."""
    path = typed(path, TEXT)
    return cast(path, BIGINT) if is_integer(path.type) else require_text(name, path)


def _bind_at_path(
    function: str, kind: pa.DataType, name: str, operand: Expression, *path: Expression
) -> Expression:
    if path and is_list(path[0].type):
        where: Expression = cast(path[0], pa.list_(TEXT))
        kind = pa.list_(kind)
    elif path and function in _OF_ALL and _has_wildcard(path[0]):
        return Call(_OF_ALL[function], (as_json_text(name, operand), path[0]), pa.list_(kind))
    else:
        where = path_of(name, path[0]) if path else Literal("$", TEXT)
    return Call(function, (as_json_text(name, operand), where), kind)


# Functions by name, and those of all that lies at a path with wildcards.
_OF_ALL: dict[str, str] = {}


def _of_paths(
    signature: str, says: str, kind: pa.DataType
) -> Callable[[Callable[[Any], Any]], Callable[..., Values]]:
    """Register a function of the value that lies at a path, which is NULL where there is none.

    Of a list of paths it gives the list of the values, and so of a path with wildcards.
    """
    name = signature.partition("(")[0]
    _OF_ALL[name] = f"{name}_of_all"

    def register(function: Callable[[Any], Any]) -> Callable[..., Values]:
        def compute(text: str, path: _Path | list[_Path | None]) -> Any:
            value = read_json(text)
            if isinstance(path, list):
                return [None if each is None else at(value, each) for each in path]
            return at(value, path)

        def at(value: Any, path: _Path) -> Any:
            found = _find(value, path)
            return None if found is MISSING else function(found)

        def compute_all(text: str, path: str) -> list[Any]:
            return [function(found) for found in _find_all(read_json(text), path)]

        scalar(name=_OF_ALL[name], can_fail=True)(of_rows(compute_all))
        bind = functools.partial(_bind_at_path, name, kind)
        return scalar(signature, says, bind=bind, can_fail=True)(of_rows(compute))

    return register


_of_paths(
    "json_extract(json, path), json_extract_path(json, path)",
    "the JSON at a path, `json -> path`: json_extract('{\"a\": [1, 2]}', '$.a[0]') -> '1'",
    TEXT,
)(write_json)


@_of_paths(
    "json_extract_string(json, path), json_extract_path_text(json, path)",
    "what is at a path as text, `json ->> path`, NULL for null:"
    " json_extract_string('{\"a\": \"x\"}', 'a') -> 'x'",
    TEXT,
)
def _text(value: Any) -> str | None:
    return _unquoted(value)


def _unquoted(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else write_json(value)


@_of_paths(
    "json_value(json, path)",
    "the same of what is no object and no array:"
    " json_value('{\"a\": \"x\"}', 'a'), json_value('{\"a\": [1]}', 'a') -> 'x' | NULL",
    TEXT,
)
def _plain_text(value: Any) -> str | None:
    return None if isinstance(value, dict | list) else _unquoted(value)


def json_type(value: Any) -> str:
    """Return what JSON calls a value's type."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "BIGINT" if value < 0 else "UBIGINT"
    return _KINDS.get(type(value), "NULL")


_of_paths(
    "json_type(json [, path])",
    "OBJECT, ARRAY, VARCHAR, BIGINT, UBIGINT, DOUBLE, BOOLEAN or NULL:"
    " json_type('{\"a\": 1.5}', 'a') -> 'DOUBLE'",
    TEXT,
)(json_type)


@_of_paths(
    "json_array_length(json [, path])",
    "the number of elements, 0 of what is no array: json_array_length('[1, 2]') -> 2",
    BIGINT,
)
def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


@_of_paths(
    "json_keys(json [, path])",
    "the keys of an object: json_keys('{\"a\": 1, \"b\": 2}') -> ['a', 'b']",
    pa.list_(TEXT),
)
def _keys(value: Any) -> list[str]:
    return list(value) if isinstance(value, dict) else []


@scalar(
    "json_exists(json, path)",
    "whether there is something at a path: json_exists('{\"a\": null}', 'a') -> true",
    bind=functools.partial(_bind_at_path, "json_exists", BOOLEAN),
    can_fail=True,
)
@of_rows
def _exists(text: str, path: _Path | list[_Path | None]) -> bool | list[bool | None]:
    value = read_json(text)
    if isinstance(path, list):
        return [None if each is None else _find(value, each) is not MISSING for each in path]
    return _find(value, path) is not MISSING


_OF_ALL["json_exists"] = "json_exists_of_all"


@scalar(name="json_exists_of_all", can_fail=True)
@of_rows
def _all_exist(text: str, path: str) -> list[bool]:
    """Return what json_exists() tells of each of the values at a path with wildcards."""
    return [True for _ in _find_all(read_json(text), path)]


@scalar("json_valid(text) -> BOOLEAN", "whether a text is JSON: json_valid('[1') -> false")
@of_rows
def _is_valid(text: str) -> bool:
    try:
        read_json(text)
    except DataError:
        return False
    return True


@scalar(
    "json_contains(json: text, part: text) -> BOOLEAN",
    "whether a JSON text has a part: a value anywhere in arrays and objects, keys with their values"
    ' in one object: json_contains(\'{"a": {"b": 1, "c": 2}}\', \'{"b": 1}\') -> true',
    can_fail=True,
)
@of_rows
def _contains_part(json_text: str, part: str) -> bool:
    return _has_part(read_json(json_text), read_json(part))


def _has_part(value: Any, part: Any) -> bool:
    if _covers(value, part):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_has_part(each, part) for each in inner)


def _covers(value: Any, part: Any) -> bool:
    """Whether a value is a part, or an array or an object with all that the part has."""
    if isinstance(value, dict) and isinstance(part, dict):
        return all(key in value and _covers(value[key], part[key]) for key in part)
    if isinstance(value, list) and isinstance(part, list):
        return all(any(_covers(mine, each) for mine in value) for each in part)
    return type(value) is type(part) and bool(value == part)


@scalar(
    "json(text) -> VARCHAR",
    "a JSON text without blanks: json('[1, 2]') -> '[1,2]'",
    can_fail=True,
)
@of_rows
def _compact(text: str) -> str:
    return write_json(read_json(text))


@scalar(name="checked_json", can_fail=True)
@of_rows
def _checked(text: str) -> str:
    read_json(text)
    return text


# -- JSON of values


def as_json(operand: Expression) -> Expression:
    """Return CAST(operand AS JSON): a text that is checked, or the JSON of another value."""
    operand = label(typed(operand, TEXT))
    if operand.type == TEXT:
        return Call("checked_json", (operand,), TEXT)
    if pa.types.is_null(operand.type):
        return Literal(None, TEXT)
    return _to_json("to_json", operand)


@composed(
    "to_json(a), json_quote(a), array_to_json(a), row_to_json(a)",
    "the JSON of a value: to_json({'a': [1, NULL], 'b': 'x'}) -> '{\"a\":[1,null],\"b\":\"x\"}'",
)
def _to_json(name: str, operand: Expression) -> Expression:
    nothing = Call("is_null", (operand,), BOOLEAN)
    return choose([nothing], [Literal(None, TEXT), _value(name, operand)])


def _value(name: str, operand: Expression) -> Expression:
    """Return the JSON of a value, `null` for NULL."""
    operand = label(typed(operand, INTEGER))
    for leaf in leaf_types(operand.type):
        if pa.types.is_binary(leaf) or pa.types.is_interval(leaf):
            raise NotSupportedError(f"{name}() of {sql_type_name(leaf)} is not supported")
    return Call("json_of", (operand,), TEXT)


@scalar(name="json_of", takes="nulls", can_fail=True)
@of_columns
def _json_of(_: Call, array: pa.Array) -> pa.Array:
    try:
        return json_text("value", array)
    except DataError:
        raise DataError("NaN and infinities are no numbers of JSON") from None


@scalar(
    "json_pretty(json: text) -> VARCHAR",
    "a JSON text over several lines: json_pretty('[1]') LIKE '[_    1_]' -> true",
    can_fail=True,
)
@of_rows
def _pretty(text: str) -> str:
    return json.dumps(read_json(text), indent=4, ensure_ascii=False)


def _joined(parts: list[Expression]) -> Expression:
    return functools.reduce(concatenate, parts)


@composed("json_array([a, ...])", "a JSON array of values: json_array(1, 'x') -> '[1,\"x\"]'")
def _array(name: str, *values: Expression) -> Expression:
    parts: list[Expression] = [Literal("[", TEXT)]
    for value in values:
        parts += [Literal(",", TEXT)] * (len(parts) > 1) + [_value(name, value)]
    return _joined([*parts, Literal("]", TEXT)])


@composed(
    "json_object([key, a, ...]), json_build_object([key, a, ...])",
    "a JSON object of keys and values: json_object('a', 1, 'b', NULL) -> '{\"a\":1,\"b\":null}'",
)
def _object(name: str, *pairs: Expression) -> Expression:
    if len(pairs) % 2:
        raise ProgrammingError(f"{name}() takes a value for each key")
    parts: list[Expression] = [Literal("{", TEXT)]
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        parts += [Literal(",", TEXT)] * (len(parts) > 1)
        parts += [_member(name, key, value)]
    return _joined([*parts, Literal("}", TEXT)])


def _member(name: str, key: Expression, value: Expression) -> Expression:
    """Return `"key":value`, NULL for a key that is."""
    nothing = Call("is_null", (key,), BOOLEAN)
    written = choose([nothing], [Literal(None, TEXT), _value(name, as_text(key))])
    return _joined([written, Literal(":", TEXT), _value(name, value)])
