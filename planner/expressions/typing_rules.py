"""Where casts are inserted, and what comparisons and conditions take.

The arguments of a call have the type that the function works on; a constant is converted here and
now, so that no cast hides it from the planner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.collations import collated_keys, compared_by
from raydb.planner.expressions.columns import zones
from raydb.planner.expressions.columns.nested_order import has_order
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import (
    convert,
    is_bare_null,
    is_bare_string,
    member,
    natural,
    read_string,
)
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal
from raydb.planner.expressions.types import (
    BOOLEAN,
    COMPARED_PRECISION,
    INTEGER,
    MAX_PRECISION,
    TEXT,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPS,
    can_cast,
    common_type,
    is_decimal,
    is_integer,
    is_number,
    is_whole_unsigned,
    is_zoned,
)
from raydb.storage.enums import has_enums, is_enum, text_type
from raydb.storage.integers import UHUGEINT
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence


def cast(expression: Expression, data_type: pa.DataType) -> Expression:
    """Return an expression in another type; a constant that stays the same is no call."""
    if expression.type == data_type:
        return expression
    if isinstance(expression, Literal):
        converted = convert(expression, data_type)
        if converted is not None:
            return converted
    return _cast_call("cast", expression, data_type)


def _cast_call(function: str, expression: Expression, data_type: pa.DataType) -> Call:
    """Return a call of `cast` or `try_cast`, which has the session's zone where it depends on it.

    So an expression has one value, whatever the time zone is when it is computed.
    """
    if has_enums(expression.type) or has_enums(data_type):
        return _cast_by_text(function, expression, data_type)
    known = pa.types.is_null(expression.type) or expression.type == data_type
    if known or not (is_zoned(expression.type) or is_zoned(data_type)):
        return Call(function, (expression,), data_type)
    return Call(f"{function}_in_zone", (expression, zone_literal()), data_type)


def _cast_by_text(function: str, expression: Expression, data_type: pa.DataType) -> Call:
    """Return a cast from and to types with ENUMs by way of their labels."""
    given, text = expression.type, text_type(expression.type)
    if has_enums(given):
        expression = Call("enum_text", (expression, Literal(None, given)), text)
    target = text_type(data_type)
    if expression.type != target:
        expression = _cast_call(function, expression, target)
    if not has_enums(data_type):
        assert isinstance(expression, Call)
        return expression
    to_value = "try_enum_value" if function == "try_cast" else "enum_value"
    return Call(to_value, (expression, Literal(None, data_type)), data_type)


def zone_literal() -> Literal:
    """Return the name of the session's time zone as an argument."""
    return Literal(zones.session_zone(), TEXT)


def in_microseconds(expression: Expression) -> Expression:
    """Return a timestamp of another unit as functions take it, as TIMESTAMP; others as they are.

    Nanoseconds are cut off: rounded, the last moments of a day would be of the next one.
    """
    if expression.type not in TIMESTAMPS or expression.type == TIMESTAMP:
        return expression
    if expression.type != TIMESTAMP_NS or (isinstance(expression, Literal) and expression.is_null):
        return cast(expression, TIMESTAMP)
    return Call("whole_microseconds", (expression,), TIMESTAMP)


def explicit_cast(expression: Expression, data_type: pa.DataType) -> Expression:
    """Return CAST(expression AS type), or raise ProgrammingError if there is no such cast.

    A constant cast to VARCHAR becomes a call: it no longer adapts to its neighbour.
    """
    if isinstance(expression, Literal) and expression.is_null:
        return Literal(None, data_type)
    if not can_cast(expression.type, data_type):
        raise ProgrammingError(f"cannot cast {describe(expression)} to {sql_type_name(data_type)}")
    if isinstance(expression, Literal) and data_type == TEXT:
        return _cast_call("cast", expression, data_type)
    return cast(expression, data_type)


def typed(expression: Expression, fallback: pa.DataType) -> Expression:
    """Give a bare NULL a type."""
    return Literal(None, fallback) if is_bare_null(expression) else expression


def label(expression: Expression) -> Expression:
    """Return an ENUM as its text, and others as they are."""
    return cast(expression, TEXT) if is_enum(expression.type) else expression


def as_text(expression: Expression) -> Expression:
    """Return a value as a string."""
    expression = typed(expression, TEXT)
    return expression if expression.type == TEXT else explicit_cast(expression, TEXT)


def try_cast(expression: Expression, data_type: pa.DataType) -> Expression:
    """Return TRY_CAST(expression AS type): NULL for a value that the type cannot hold."""
    if not can_cast(expression.type, data_type):
        raise ProgrammingError(f"cannot cast {describe(expression)} to {sql_type_name(data_type)}")
    return _cast_call("try_cast", expression, data_type)


def unify(
    operands: Sequence[Expression], verb: str, most_digits: int = MAX_PRECISION
) -> tuple[Expression, ...]:
    """Return the operands in their common type, see `common_type`.

    String constants and NULL take the type of the others; an integer constant takes the type of
    an integer column if it fits, so that the column needs no cast. Raises ProgrammingError,
    "cannot <verb> 'a' (VARCHAR) with 5 (INTEGER)", if there is no common type.
    """
    kind = operands[0].type if operands else pa.null()
    if not pa.types.is_null(kind) and all(each.type == kind for each in operands):
        return tuple(operands)
    firm: list[Expression] = [each for each in operands if not isinstance(each, Literal)]
    firm = firm or [operand for operand in operands if is_whole_unsigned(operand.type)]
    beside = _common(
        firm or [each for each in operands if not is_bare_string(each)], verb, most_digits
    )
    adapted = [_adapt(operand, beside) for operand in operands]
    target = _common(adapted, verb, most_digits)
    is_exact = is_decimal(target) and target != UHUGEINT
    if is_exact and not all(is_integer(each.type) for each in adapted):
        adapted = [natural(each) if isinstance(each, Literal) else each for each in adapted]
        target = _common(adapted, verb, most_digits)
    if pa.types.is_null(target):
        target = INTEGER  # NULL beside nothing but NULL: any type will do
    return tuple(cast(each, target) for each in adapted)


def _adapt(operand: Expression, beside: pa.DataType) -> Expression:
    if not isinstance(operand, Literal) or pa.types.is_null(beside):
        return operand
    if is_bare_null(operand):
        return Literal(None, beside)
    if is_bare_string(operand):
        # What is finer than a TIMESTAMP_S is compared as it is.
        wanted = TIMESTAMP if beside in TIMESTAMPS and beside != TIMESTAMP_NS else beside
        operand = operand if beside == TEXT or is_enum(beside) else read_string(operand, wanted)
    if operand.type in TIMESTAMPS and beside in TIMESTAMPS:
        return convert(operand, beside) or operand
    if is_integer(operand.type) and (is_integer(beside) or beside == UHUGEINT):
        return convert(operand, beside) or operand
    return operand


def _common(operands: Sequence[Expression], verb: str, most_digits: int) -> pa.DataType:
    result, carrier = pa.null(), None
    for operand in operands:
        both = common_type(result, operand.type, most_digits)
        if both is None:
            assert carrier is not None
            raise ProgrammingError(f"cannot {verb} {describe(carrier)} with {describe(operand)}")
        if both != result:
            result, carrier = both, operand
    return result


def comparable(*operands: Expression) -> tuple[Expression, ...]:
    """Return operands in the type in which they are compared: exactly, whatever their digits."""
    return unify(operands, "compare", COMPARED_PRECISION)


def _with_members(operands: Sequence[Expression]) -> Sequence[Expression]:
    """Return operands that are compared for being equal: texts beside an ENUM as its values.

    As they are where one is no label: then all are compared as texts.
    """
    kinds = {each.type for each in operands if is_enum(each.type)}
    if len(kinds) != 1:
        return operands
    (kind,) = kinds
    found = [
        member(each, kind) if isinstance(each, Literal) and is_bare_string(each) else each
        for each in operands
    ]
    return [each for each in found if each is not None] if None not in found else operands


_COMPARED_AS_THEY_ARE = frozenset(
    kind.id
    for kind in (
        *(BOOLEAN, pa.int8(), pa.int16(), INTEGER, pa.int64(), pa.float32(), pa.float64()),
        *(pa.decimal128(1), pa.date32(), TIMESTAMP),
    )
)
_PLAIN = (Column, Literal)
_WHOLE = frozenset(kind.id for kind in (pa.int8(), pa.int16(), INTEGER, pa.int64()))


def compare(function: str, left: Expression, right: Expression) -> Call:
    """Return a comparison: equal, not_equal, less, less_equal, greater or greater_equal."""
    kind = left.type
    is_computed = not isinstance(left, Literal)
    if is_computed and isinstance(right, Literal) and _WHOLE.issuperset((kind.id, right.type.id)):
        right = right if right.type == kind else convert(right, kind) or right
    if kind.id in _COMPARED_AS_THEY_ARE and kind == right.type:
        return Call(function, (left, right), BOOLEAN)
    both = left, right
    is_plain = isinstance(left, Column) and isinstance(right, _PLAIN)
    if is_plain and kind == TEXT and right.type == TEXT and not compared_by(both):
        return Call(function, both, BOOLEAN)
    operands = comparable(*(_with_members(both) if function in ("equal", "not_equal") else both))
    operands = collated_keys(operands, compared_by(both))
    if function not in ("equal", "not_equal") and not has_order(operands[0].type):
        raise NotSupportedError(f"maps have no order: {describe(left)} and {describe(right)}")
    return Call(function, operands, BOOLEAN)


def as_boolean(expression: Expression, clause: str) -> Expression:
    """Return a condition; raises ProgrammingError if it is neither true nor false."""
    if isinstance(expression, Literal) and expression.is_null:
        return Literal(None, BOOLEAN)
    if pa.types.is_null(expression.type):
        return cast(expression, BOOLEAN)
    if expression.type != BOOLEAN:
        raise ProgrammingError(f"{clause} needs a condition, not {describe(expression)}")
    return expression


def as_condition(expression: Expression, clause: str) -> Expression:
    """Return what a clause takes as a condition: a number is true unless it is 0.

    A string constant says which it is. Raises ProgrammingError for a value of any other type.
    """
    if not isinstance(expression, Literal) and expression.type == BOOLEAN:
        return expression
    if is_bare_string(expression):
        return explicit_cast(expression, BOOLEAN)
    if is_number(expression.type) and not is_bare_null(expression):
        return compare("not_equal", expression, Literal(0, INTEGER))
    return as_boolean(expression, clause)


def logical(function: str, operands: Sequence[Expression]) -> Call:
    """Return `and`, `or` (n-ary) or `not` of conditions."""
    clause = function.upper()
    return Call(function, tuple([as_condition(each, clause) for each in operands]), BOOLEAN)


def is_in(operand: Expression, items: Sequence[Expression]) -> Expression:
    """Return `operand IN (items)`; an item that is no constant becomes a comparison."""
    if compared_by((operand, *items)):
        return logical("or", [compare("equal", operand, item) for item in items])
    operand, *rest = comparable(*_with_members((operand, *items)))
    constants = [item for item in rest if isinstance(item, Literal) and not item.is_null]
    parts: list[Expression] = []
    if constants:
        parts.append(Call("in", (operand, *constants), BOOLEAN))
    parts += [
        Call("equal", (operand, item), BOOLEAN) for item in rest if not isinstance(item, Literal)
    ]
    if any(isinstance(item, Literal) and item.is_null for item in rest):
        parts.append(Literal(None, BOOLEAN))
    return parts[0] if len(parts) == 1 else Call("or", tuple(parts), BOOLEAN)


def is_distinct(left: Expression, right: Expression) -> Expression:
    """Return `left IS DISTINCT FROM right`: NULL equals NULL, and the answer is never NULL."""
    operands = comparable(*_with_members((left, right)))
    keys = collated_keys(operands, compared_by((left, right)))
    same = Call("not_distinct", keys, BOOLEAN)
    return Call("not", (same,), BOOLEAN)


def choose(conditions: Sequence[Expression], values: Sequence[Expression]) -> Expression:
    """Return CASE: the value of the first true condition, else the last value (one more)."""
    assert len(values) == len(conditions) + 1
    unified = unify(values, "combine")
    arguments = [each for pair in zip(conditions, unified, strict=False) for each in pair]
    return Call("case", (*arguments, unified[-1]), unified[0].type)
