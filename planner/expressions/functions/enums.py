"""Functions of ENUMs, and the ways from texts to them and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import ProgrammingError
from raydb.planner.expressions.casts.cast import cast_values, try_cast_values
from raydb.planner.expressions.columns.arrays import each
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.nested.lists import list_slice
from raydb.planner.expressions.literals import is_bare_null
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.registry import SCALARS, composed, scalar
from raydb.planner.expressions.types import BIGINT, TEXT
from raydb.planner.expressions.typing_rules import cast
from raydb.storage.enums import EnumType, has_enums, stored_array, typed_array

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows

# The second argument of these is NULL of the type that the labels are of.


@scalar(name="enum_text", takes="rows")
def _text(call: Call, rows: Rows) -> Values:
    inner, said = call.arguments
    return cast_values(_with_type(rows.value(inner), said.type), call.type)


@scalar(name="enum_value", takes="rows", can_fail=True)
def _value(call: Call, rows: Rows) -> Values:
    inner, said = call.arguments
    return _with_type(cast_values(rows.value(inner), said.type), call.type)


@scalar(name="try_enum_value", takes="rows")
def _try_value(call: Call, rows: Rows) -> Values:
    inner, said = call.arguments
    return _with_type(try_cast_values(rows.value(inner), said.type), call.type)


def _with_type(values: Values, kind: pa.DataType) -> Values:
    """Return values as their numbers, or the other way round."""
    if values.type == kind or pt.is_null(values.type):
        return values
    convert = typed_array if has_enums(kind) else stored_array
    return each(values, lambda array: convert(array, kind), kind)


# -- what SQL calls


def _enum(name: str, operand: Expression) -> EnumType:
    if not isinstance(operand.type, EnumType):
        raise ProgrammingError(f"{name}() needs an ENUM, not {describe(operand)}")
    return operand.type


@scalar(
    "enum_code(enum)",
    "the number of its label, from 0: enum_code('b'::ENUM('a', 'b')) -> 1",
    bind=lambda name, operand: Call(name, (operand,), _enum(name, operand).storage_type),
)
def _code(_: Call, values: Values) -> Values:
    return values.cast(values.type.storage_type) if isinstance(values.type, EnumType) else values


@composed(
    "enum_range(enum)",
    "all labels of its type, in order: enum_range(NULL::ENUM('a', 'b')) -> ['a', 'b']",
)
def _range(name: str, operand: Expression) -> Expression:
    return Literal(_enum(name, operand).labels, pa.list_(TEXT))


@composed(
    "enum_first(enum)",
    "the first label of its type: enum_first(NULL::ENUM('a', 'b')) -> 'a'",
)
def _first(name: str, operand: Expression) -> Expression:
    return Literal(next(iter(_enum(name, operand).labels), None), TEXT)


@composed(
    "enum_last(enum)",
    "the last label of its type: enum_last(NULL::ENUM('a', 'b')) -> 'b'",
)
def _last(name: str, operand: Expression) -> Expression:
    return Literal(next(reversed(_enum(name, operand).labels), None), TEXT)


@composed(
    "enum_range_boundary(enum, enum)",
    "the labels from one to another; NULL is the first or the last:"
    " enum_range_boundary('b'::ENUM('a', 'b', 'c'), NULL) -> ['b', 'c']",
)
def _boundary(name: str, first: Expression, last: Expression) -> Expression:
    kind = _enum(name, last if is_bare_null(first) else first)
    for other in (first, last):
        if not is_bare_null(other) and other.type != kind:
            raise ProgrammingError(f"{name}() needs two of {kind.title}, not {describe(other)}")
    ends = (_place(first, kind, 1), _place(last, kind, len(kind.labels)))
    return list_slice(Literal(kind.labels, pa.list_(TEXT)), *ends)


def _place(operand: Expression, kind: EnumType, otherwise: int) -> Expression:
    """Return the place of a label, from 1."""
    if is_bare_null(operand):
        return Literal(otherwise, BIGINT)
    code = cast(Call("enum_code", (operand,), kind.storage_type), BIGINT)
    place = arithmetic("add", code, Literal(1, BIGINT))
    return SCALARS["coalesce"].call("coalesce", (place, Literal(otherwise, BIGINT)))
