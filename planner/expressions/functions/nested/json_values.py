"""JSON as values of a type, and the type that JSON has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.casts.cast import cast_values, try_cast_values
from raydb.planner.expressions.columns.adapters import of_columns, of_rows
from raydb.planner.expressions.functions.nested.json_texts import (
    as_json_text,
    read_json,
    write_json,
)
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.types import (
    BOOLEAN,
    HUGEINT,
    TEXT,
    is_integer,
    is_list,
    is_map,
    is_number,
    is_struct,
)
from raydb.storage.enums import has_enums, text_type
from raydb.storage.nested import (
    entries_type,
    make_lists,
    make_maps,
    make_structs,
    missing,
    offsets_of,
)
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_UBIGINT = 2**64 - 1


def json_values(name: str, json: Expression, kind: pa.DataType) -> Expression:
    """Return what JSON holds as values of a type.

    name: json_transform, which has NULL for what the type does not take, or json_transform_strict.
    """
    texts = text_type(kind)
    call = Call(name, (as_json_text(name, json), Literal(None, texts)), texts)
    if not has_enums(kind):
        return call
    to_value = "enum_value" if name == "json_transform_strict" else "try_enum_value"
    return Call(to_value, (call, Literal(None, kind)), kind)


def _bind_transform(name: str, *_: Expression) -> Expression:
    raise ProgrammingError(
        f"{name}() needs a structure that is a constant: the JSON of types, such as"
        ' \'{"a": "INTEGER", "b": ["VARCHAR"]}\''
    )


@scalar(
    "json_transform(json, structure), from_json(json, structure)",
    "values of types that JSON names, NULL for what has another:"
    ' json_transform(\'{"a": [1, "x"]}\', \'{"a": ["INTEGER"]}\')'
    " -> {'a': [1, None]}",
    bind=_bind_transform,
    takes="nulls",
    can_fail=True,
)
@of_columns
def _transform(call: Call, texts: pa.Array, _: pa.Array) -> pa.Array:
    return _values(texts, call.type, is_strict=False)


@scalar(
    "json_transform_strict(json, structure), from_json_strict(json, structure)",
    "likewise, an error for what has another:"
    " json_transform_strict('[1, 2]', '[\"INTEGER\"]') -> [1, 2]",
    bind=_bind_transform,
    takes="nulls",
    can_fail=True,
)
@of_columns
def _transform_strict(call: Call, texts: pa.Array, _: pa.Array) -> pa.Array:
    return _values(texts, call.type, is_strict=True)


def _values(texts: pa.Array, kind: pa.DataType, *, is_strict: bool) -> pa.Array:
    read = [None if text is None else read_json(text) for text in texts.to_pylist()]
    return _column(read, kind, is_strict)


def _column(values: Sequence[Any], kind: pa.DataType, is_strict: bool) -> pa.Array:
    """Return what JSON holds as a column; raises DataError for what is wrong where it is strict."""
    if is_struct(kind):
        rows = [
            {} if row is None and value is not None else row
            for row, value in zip(_only(values, dict, kind, is_strict), values, strict=True)
        ]
        names = [field.name for field in kind]
        if is_strict:
            _check_keys(rows, names)
        fields = [
            _column([_member(row, field.name) for row in rows], field.type, is_strict)
            for field in kind
        ]
        mask = pa.array([row is None for row in rows], BOOLEAN)
        return make_structs(fields, kind, mask)
    if is_map(kind):
        rows = _only(values, dict, kind, is_strict)
        pairs = [None if row is None else list(row.items()) for row in rows]
        return make_maps(_lists(pairs, entries_type(kind), is_strict), kind)
    if is_list(kind):
        return _lists(_only(values, list, kind, is_strict), kind, is_strict)
    cast = cast_values if is_strict else try_cast_values
    written = pa.array([_text(value, kind, is_strict) for value in values], TEXT)
    return cast(written, kind, "UTC")


def _member(row: dict[str, Any] | None, name: str) -> Any:
    return None if row is None else row.get(name)


def _lists(lists: Sequence[Any], kind: pa.DataType, is_strict: bool) -> pa.Array:
    """Return lists, of any or of a fixed length, or the entries of maps."""
    length = getattr(kind, "list_size", None)
    if length is not None:
        wrong = [each for each in lists if each is not None and len(each) != length]
        if wrong and is_strict:
            raise _misfit(wrong[0], kind)
        lists = [None if each is None or len(each) != length else each for each in lists]
    elements = [element for each in lists if each is not None for element in each]
    lengths = [None if each is None else [None] * len(each) for each in lists]
    shape = pa.array(lengths, pa.list_(pa.null()))
    if elements and isinstance(elements[0], tuple):
        parts = zip(zip(*elements, strict=True), kind.value_type, strict=True)
        fields = [_column(part, field.type, is_strict) for part, field in parts]
        column = make_structs(fields, kind.value_type)
    else:
        column = _column(elements, kind.value_type, is_strict)
    return make_lists(offsets_of(shape), column, kind, missing(shape))


def _only(values: Sequence[Any], python: type, kind: pa.DataType, is_strict: bool) -> list[Any]:
    """Return the values of a type of Python, None for others."""
    if is_strict:
        for value in values:
            if value is not None and not isinstance(value, python):
                raise _misfit(value, kind)
    return [value if isinstance(value, python) else None for value in values]


def _check_keys(rows: Sequence[dict[str, Any] | None], names: Sequence[str]) -> None:
    for row in rows:
        for name in names:
            if row is not None and name not in row:
                raise DataError(f"{_shown(row)} has no key '{name}'")


def _misfit(value: Any, kind: pa.DataType) -> DataError:
    return DataError(f"{_shown(value)} is no {sql_type_name(kind)}")


def _shown(value: Any) -> str:
    text = write_json(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _text(value: Any, kind: pa.DataType, is_strict: bool) -> str | None:
    """Return a value as the text that is cast to a type, None for what cannot be."""
    match value:
        case None | str():
            return value
        case bool():
            return str(int(value)) if is_number(kind) else str(value).lower()
        case int() | float() if kind == BOOLEAN:
            return str(value != 0).lower()
        case float() if is_integer(kind) or kind == HUGEINT:
            return str(round(value)) if math.isfinite(value) else None
        case dict() | list() if kind != TEXT:
            if is_strict:
                raise _misfit(value, kind)
            return None
        case _:
            return write_json(value)


@scalar(
    "json_structure(json)",
    "the types that JSON has, as JSON: json_structure('[1, 2.5]') -> '[\"DOUBLE\"]'",
    bind=lambda name, json: Call(name, (as_json_text(name, json),), TEXT),
    can_fail=True,
)
@of_rows
def _structure(text: str) -> str:
    return write_json(_named(_structure_of(read_json(text))))


def _structure_of(value: Any) -> Any:
    """Return the name of a value's type, or a list or an object of such."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case int() if -(2**63) <= value <= _MAX_UBIGINT:
            return "BIGINT" if value < 0 else "UBIGINT"
        case int() | float():
            return "DOUBLE"
        case str():
            return "VARCHAR"
        case list():
            merged: Any = "NULL"
            for element in value:
                merged = _merged(merged, _structure_of(element))
            return [merged]
        case _:
            return {key: _structure_of(part) for key, part in value.items()}


def _named(structure: Any) -> Any:
    """Return a structure with JSON for an object whose keys no value has told."""
    if isinstance(structure, list):
        return [_named(part) for part in structure]
    if isinstance(structure, dict):
        return {key: _named(part) for key, part in structure.items()} or "JSON"
    return structure


def _merged(one: Any, other: Any) -> Any:
    """Return the structure of values of two structures."""
    if other in (one, "NULL"):
        return one
    if one == "NULL":
        return other
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    if isinstance(one, dict) and isinstance(other, dict):
        added = {key: _merged(one.get(key, "NULL"), part) for key, part in other.items()}
        return {**one, **added}
    if isinstance(one, str) and isinstance(other, str):
        kinds = {one, other}
        if kinds == {"BIGINT", "UBIGINT"}:
            return "HUGEINT"
        if kinds <= {"BIGINT", "UBIGINT", "HUGEINT", "DOUBLE"}:
            return "DOUBLE" if "DOUBLE" in kinds else "HUGEINT"
    return "JSON"
