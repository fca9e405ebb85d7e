"""Functions of structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.late import pc
from raydb.names import find_name, fold
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.casts.nested import field_place
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.types import BOOLEAN, INTEGER, TEXT, is_integer, is_row, is_struct
from raydb.planner.expressions.typing_rules import choose, compare
from raydb.storage.nested import make_structs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raydb.planner.expressions.columns.arrays import Values


def struct_of(fields: Mapping[str, Expression]) -> Expression:
    """Return {'a': x, ...}: a struct of those values."""
    values = list(fields.values())
    kind = pa.struct([(name, each.type) for name, each in zip(fields, values, strict=True)])
    constants = [each.value for each in values if isinstance(each, Literal)]
    if len(constants) == len(values):
        return Literal(tuple(constants), kind)
    return Call("struct_pack", tuple(values), kind)


def struct_of_pairs(pairs: Iterable[tuple[str, Expression]], what: str) -> Expression:
    """Return the struct of named fields; what: how an error calls it.

    Raises ProgrammingError where two have one name, and where there is none.
    """
    fields: dict[str, Expression] = {}
    used = set()
    for name, value in pairs:
        if fold(name) in used:
            raise ProgrammingError(f"{what} has two fields named '{name}'")
        used.add(fold(name))
        fields[name] = value
    if not fields:
        raise ProgrammingError(f"{what} needs a field, as in {{'a': 1}}")
    return struct_of(fields)


@scalar(
    "{name: a}, struct_pack(name := a)",
    "a struct of named values: {'a': 1, 'b': 'x'} -> {'a': 1, 'b': 'x'}",
    name="struct_pack",
    bind=lambda _, **fields: struct_of(fields),
    takes="nulls",
)
@of_columns
def _pack(call: Call, *values: pa.Array) -> pa.Array:
    fields = [
        as_array(cast_values(array, field.type), len(array))
        for array, field in zip(values, call.type, strict=True)
    ]
    return make_structs(fields, call.type)


def row_of(values: Sequence[Expression]) -> Expression:
    """Return (a, b, ...): a struct whose fields are numbered."""
    return struct_of({f"f{number}": each for number, each in enumerate(values, 1)})


composed(
    "row(a, ...), (a, b, ...)",
    "a struct of values whose names are `f1`, `f2` and so on: row(1, 'a') -> {'f1': 1, 'f2': 'a'}",
)(lambda _, *values: row_of(values))


def struct_field(operand: Expression, name: str) -> Expression:
    """Return operand.name, a field of a struct; raises ProgrammingError where it has none."""
    place = field_place(operand.type, name)
    if place is None:
        names = [field.name for field in operand.type]
        raise ProgrammingError(
            f"{describe(operand)} has no field '{name}'{did_you_mean(name, names)}"
        )
    field = operand.type.field(place)
    if isinstance(operand, Literal):
        value = None if operand.is_null else operand.value[place]
        return Literal(value, field.type)
    return Call("struct_extract", (operand, Literal(field.name, TEXT)), field.type)


def bind_extract(name: str, operand: Expression, field: Expression) -> Expression:
    """Return a call of struct_extract(); a name that is no constant is a ProgrammingError.

    A field of row() has a place instead, counted from 1.
    """
    if not is_struct(operand.type):
        raise ProgrammingError(f"{name}() needs a struct, not {describe(operand)}")
    if is_row(operand.type) and isinstance(field, Literal) and is_integer(field.type):
        return struct_field(operand, f"f{field.value}")
    if not isinstance(field, Literal) or not isinstance(field.value, str):
        raise ProgrammingError(f"{name}() needs the name of a field, not {describe(field)}")
    return struct_field(operand, field.value)


@scalar(
    "struct_extract(struct, text)",
    "a field of a struct, `struct.name`, or one of row() by its place:"
    " struct_extract({'a': 1}, 'a') -> 1",
    bind=bind_extract,
)
def _extract(_: Call, structs: Values, name: Values) -> Values:
    return pc.struct_field(structs, structs.type.get_field_index(name.as_py()))


@scalar(
    "struct_keys(struct)",
    "the names of the fields: struct_keys({'a': 1, 'b': 2}) -> ['a', 'b']",
    bind=lambda name, operand: Call("struct_keys", (_struct(name, operand),), pa.list_(TEXT)),
)
@of_columns
def _struct_keys(call: Call, structs: pa.Array) -> pa.Array:
    names = pa.scalar([field.name for field in structs.type], call.type)
    return pc.if_else(structs.is_valid(), names, pa.scalar(None, call.type))


def _position(name: str, operand: Expression, wanted: Expression) -> Expression:
    """Return the place of the first field that has a value, NULL if none has it."""
    fields = _fields(name, operand).values()
    found = [compare("equal", field, wanted) for field in fields]
    places = [Literal(place, INTEGER) for place in range(1, len(found) + 1)]
    return choose(found, [*places, Literal(None, INTEGER)])


composed(
    "struct_position(struct, a), struct_indexof(struct, a)",
    "the place of the first field of a value, NULL if none: struct_position(row('x', 'y'), 'y')"
    " -> 2",
)(_position)


@composed(
    "struct_values(struct)",
    "a struct of the same values without their names: struct_values({'a': 1}) -> {'f1': 1}",
)
def _values(name: str, operand: Expression) -> Expression:
    fields = _fields(name, operand).values()
    return _unless_null(operand, {f"f{place}": each for place, each in enumerate(fields, 1)})


@composed(
    "struct_contains(struct, a), struct_has(struct, a)",
    "whether a field has a value: struct_contains(row('x', 'y'), 'y') -> true",
)
def _contains(name: str, operand: Expression, wanted: Expression) -> Expression:
    missing = [Call("is_null", (each,), BOOLEAN) for each in (operand, wanted)]
    place = Call("is_null", (_position(name, operand, wanted),), BOOLEAN)
    return choose(missing, [Literal(None, BOOLEAN)] * 2 + [Call("not", (place,), BOOLEAN)])


def _struct(name: str, operand: Expression) -> Expression:
    if not is_struct(operand.type):
        raise ProgrammingError(f"{name}() needs a struct, not {describe(operand)}")
    return operand


def _fields(name: str, operand: Expression) -> dict[str, Expression]:
    """Return what each field of a struct is."""
    names = [field.name for field in _struct(name, operand).type]
    return {each: struct_field(operand, each) for each in names}


def _unless_null(operand: Expression, fields: Mapping[str, Expression]) -> Expression:
    nothing = Call("is_null", (operand,), BOOLEAN)
    return choose([nothing], [Literal(None, pa.null()), struct_of(fields)])


@composed(
    "struct_insert(struct, values)",
    "with more fields: struct_insert({'a': 1}, b := 2) -> {'a': 1, 'b': 2}",
)
def _struct_insert(name: str, operand: Expression, values: Expression) -> Expression:
    known, added = _fields(name, operand), _fields(name, values)
    for field in added:
        if find_name(field, known, "field") is not None:
            raise ProgrammingError(f"{describe(operand)} has a field '{field}' already")
    return _unless_null(operand, known | added)


@composed(
    "struct_update(struct, values)",
    "with other values of fields, or more fields: struct_update({'a': 1}, a := 'x') -> {'a': 'x'}",
)
def _struct_update(name: str, operand: Expression, values: Expression) -> Expression:
    known, changed = _fields(name, operand), _fields(name, values)
    named = {find_name(field, known, "field") or field: each for field, each in changed.items()}
    return _unless_null(operand, known | named)


@composed(
    "struct_concat(struct, ...)",
    "the fields of all: struct_concat({'a': 1}, {'b': 2}) -> {'a': 1, 'b': 2}",
)
def _struct_concat(name: str, *operands: Expression) -> Expression:
    fields: dict[str, Expression] = {}
    for operand in operands:
        for field, each in _fields(name, operand).items():
            if find_name(field, fields, "field") is not None:
                raise ProgrammingError(f"{name}() would have a field '{field}' twice")
            fields[field] = each
    return struct_of(fields)


@composed(
    "struct_extract_at(struct, n)",
    "a field by its place, from 1: struct_extract_at({'a': 10, 'b': 20}, 2) -> 20",
)
def _struct_extract_at(name: str, operand: Expression, place: Expression) -> Expression:
    names = list(_fields(name, operand))
    if not isinstance(place, Literal) or not isinstance(place.value, int):
        raise ProgrammingError(f"{name}() needs the number of a field, not {describe(place)}")
    if not 1 <= place.value <= len(names):
        raise ProgrammingError(f"{describe(operand)} has {len(names)} fields, not {place.value}")
    return struct_field(operand, names[place.value - 1])
