"""Functions of structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import ProgrammingError, did_you_mean
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.casts.nested import field_place
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.types import TEXT, is_struct
from raydb.storage.nested import make_structs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expressions.columns.arrays import Values


def struct_of(fields: Mapping[str, Expression]) -> Expression:
    """Return {'a': x, ...}: a struct of those values."""
    values = list(fields.values())
    kind = pa.struct([(name, each.type) for name, each in zip(fields, values, strict=True)])
    constants = [each.value for each in values if isinstance(each, Literal)]
    if len(constants) == len(values):
        return Literal(tuple(constants), kind)
    return Call("struct_pack", tuple(values), kind)


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


@composed(
    "row(a, ...)",
    "a struct of values whose names are `f1`, `f2` and so on: row(1, 'a') -> {'f1': 1, 'f2': 'a'}",
)
def _row(_: str, *values: Expression) -> Expression:
    return struct_of({f"f{number}": each for number, each in enumerate(values, 1)})


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
    """Return a call of struct_extract(); a name that is no constant is a ProgrammingError."""
    if not is_struct(operand.type):
        raise ProgrammingError(f"{name}() needs a struct, not {describe(operand)}")
    if not isinstance(field, Literal) or not isinstance(field.value, str):
        raise ProgrammingError(f"{name}() needs the name of a field, not {describe(field)}")
    return struct_field(operand, field.value)


@scalar(
    "struct_extract(struct, text)",
    "a field of a struct, `struct.name`: struct_extract({'a': 1}, 'a') -> 1",
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


def _struct(name: str, operand: Expression) -> Expression:
    if not is_struct(operand.type):
        raise ProgrammingError(f"{name}() needs a struct, not {describe(operand)}")
    return operand
