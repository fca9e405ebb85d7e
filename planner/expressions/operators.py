"""The operators + - * / % || & | # << >> and their results, by the kinds of their operands.

date + interval        TIMESTAMP     date - date            INTEGER, days
date + integer         DATE          timestamp - timestamp  INTERVAL, days and time
date + time            TIMESTAMP     time - time            INTERVAL
timestamp + interval   TIMESTAMP     interval + interval    INTERVAL
time + interval        TIME          interval * number      INTERVAL

What holds for TIMESTAMP holds for TIMESTAMP WITH TIME ZONE: months and days are those that clocks
show in the session's zone, and hours are hours that pass.
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import (
    convert,
    fits_integer,
    integer_literal,
    is_bare_null,
    is_bare_string,
    natural,
    read_string,
)
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.types import (
    BIGINT,
    BLOB,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    INTERVAL,
    MAX_PRECISION,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPS,
    TIMESTAMPTZ,
    as_decimal_type,
    common_type,
    is_decimal,
    is_float,
    is_integer,
    is_interval,
    is_list,
    is_moment,
    is_number,
    is_temporal,
    is_whole_unsigned,
)
from raydb.planner.expressions.typing_rules import (
    as_text,
    cast,
    in_microseconds,
    label,
    typed,
    unify,
    zone_literal,
)
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ
from raydb.storage.integers import UHUGEINT, wider_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERBS = {
    "add": "add {1} to {0}",
    "subtract": "subtract {1} from {0}",
    "multiply": "multiply {0} by {1}",
    "divide": "divide {0} by {1}",
    "modulo": "divide {0} by {1}",
}
# Which function an operator is for two kinds, and the type of its result.
_RULES: Mapping[tuple[str, str, str], tuple[str, pa.DataType]] = {
    ("add", "date", "interval"): ("add_interval", TIMESTAMP),
    ("add", "date", "integer"): ("add_days", DATE),
    ("add", "date", "time"): ("add_time", TIMESTAMP),
    ("add", "timestamp", "interval"): ("add_interval", TIMESTAMP),
    ("add", "zoned", "interval"): ("add_in_zone", TIMESTAMPTZ),
    ("add", "date", "timetz"): ("at_clock", TIMESTAMPTZ),
    ("add", "timetz", "interval"): ("add_to_clock", TIMETZ),
    ("subtract", "timetz", "interval"): ("subtract_from_clock", TIMETZ),
    ("add", "time", "interval"): ("add_interval", TIME),
    ("add", "interval", "interval"): ("add_intervals", INTERVAL),
    ("subtract", "date", "interval"): ("subtract_interval", TIMESTAMP),
    ("subtract", "date", "integer"): ("subtract_days", DATE),
    ("subtract", "date", "date"): ("days_apart", BIGINT),
    ("subtract", "timestamp", "timestamp"): ("moments_apart", INTERVAL),
    ("subtract", "timestamp", "interval"): ("subtract_interval", TIMESTAMP),
    ("subtract", "zoned", "zoned"): ("moments_apart", INTERVAL),
    ("subtract", "zoned", "interval"): ("subtract_in_zone", TIMESTAMPTZ),
    ("subtract", "time", "interval"): ("subtract_interval", TIME),
    ("subtract", "time", "time"): ("times_apart", INTERVAL),
    ("subtract", "interval", "interval"): ("subtract_intervals", INTERVAL),
    ("multiply", "interval", "integer"): ("scale_interval", INTERVAL),
    ("multiply", "interval", "number"): ("scale_interval", INTERVAL),
    ("divide", "interval", "integer"): ("divide_interval", INTERVAL),
    ("divide", "interval", "number"): ("divide_interval", INTERVAL),
}


def arithmetic(function: str, left: Expression, right: Expression) -> Expression:
    """Return add, subtract, multiply, divide or modulo of two values, or two lists joined by `+`.

    A string constant beside an interval, or behind the minus of a moment, is of the same type.
    """
    if function == "add" and is_list(left.type) and is_list(right.type):
        return concatenate_lists(left, right)
    if not (is_temporal(left.type) or is_temporal(right.type)):
        return _of_numbers(function, left, right)
    operands = left, right
    left, right = _beside(function, left, right.type), _beside(function, right, left.type)
    if is_interval(right.type) and left.type == TIMESTAMP_NS:
        return _with_nanoseconds(arithmetic(function, in_microseconds(left), right), left)
    if is_interval(left.type) and right.type == TIMESTAMP_NS and function == "add":
        return _with_nanoseconds(arithmetic(function, left, in_microseconds(right)), right)
    if left.type != right.type and is_moment(left.type) and is_moment(right.type):
        left, right = unify((left, right), "combine")
    left, right = (
        cast(each, TIMESTAMP) if each.type in TIMESTAMPS else each for each in (left, right)
    )
    rule = _RULES.get((function, _kind(left), _kind(right)))
    if rule is None and function in ("add", "multiply"):
        left, right = right, left
        rule = _RULES.get((function, _kind(left), _kind(right)))
    if rule is None:
        verb = _VERBS[function].format(*map(describe, operands))
        raise ProgrammingError(f"cannot {verb}")
    name, data_type = rule
    if name == "divide_interval" or _kind(right) == "number":
        right = cast(right, DOUBLE)
    elif is_integer(right.type):
        right = cast(right, BIGINT)
    zone = (zone_literal(),) if name.endswith("_in_zone") else ()
    return Call(name, (left, right, *zone), data_type)


def _with_nanoseconds(moment: Expression, fine: Expression) -> Expression:
    """Return a TIMESTAMP with the nanoseconds of another one, which no interval has."""
    return Call("with_nanoseconds", (moment, fine), TIMESTAMP_NS)


def _beside(function: str, operand: Expression, other: pa.DataType) -> Expression:
    """Return an operand in the type that it takes beside a value of another one."""
    if not isinstance(operand, Literal) or not (is_bare_null(operand) or is_bare_string(operand)):
        return operand
    if function not in ("add", "subtract") or not is_temporal(other):
        wanted = BIGINT
    else:
        wanted = other if is_interval(other) or function == "subtract" else INTERVAL
    if operand.value is None:
        return Literal(None, wanted)
    is_same = is_interval(other) or function == "subtract"
    return read_string(operand, wanted) if is_same and is_temporal(wanted) else operand


def _kind(operand: Expression) -> str:
    data_type = operand.type
    if is_interval(data_type):
        return "interval"
    names = {
        DATE: "date",
        TIME: "time",
        TIMETZ: "timetz",
        TIMESTAMP: "timestamp",
        TIMESTAMPTZ: "zoned",
    }
    if data_type in names:
        return names[data_type]
    return "integer" if is_integer(data_type) else "number" if is_number(data_type) else "other"


def concatenate(left: Expression, right: Expression) -> Expression:
    """Return `left || right`: strings and other values joined, or lists and their elements."""
    if is_list(left.type) or is_list(right.type):
        return concatenate_lists(left, right)
    left, right = label(left), label(right)
    if BLOB in (left.type, right.type) and all(_is_bytes(each) for each in (left, right)):
        return Call("blob_concat", (cast(left, BLOB), cast(right, BLOB)), BLOB)
    if left.type == BIT and right.type == BIT:
        return Call("bits_concat", (left, right), BIT)
    is_text = TEXT in (left.type, right.type) or (is_bare_null(left) and is_bare_null(right))
    if not is_text:
        raise ProgrammingError(f"cannot join {describe(left)} and {describe(right)} with ||")
    return Call("concat", (as_text(left), as_text(right)), TEXT)


def _is_bytes(operand: Expression) -> bool:
    return operand.type == BLOB or is_bare_string(operand) or is_bare_null(operand)


def concatenate_lists(left: Expression, right: Expression) -> Expression:
    """Return the elements of two lists, or of a list and an element, as one list.

    NULL beside a list is an empty list.
    """
    sides = [_as_list(left, right.type), _as_list(right, left.type)]
    element = common_type(sides[0].type.value_type, sides[1].type.value_type)
    if element is None:
        raise ProgrammingError(f"cannot join {describe(left)} and {describe(right)}")
    target = pa.list_(element)
    return Call("list_concat", tuple(cast(side, target) for side in sides), target)


def _as_list(operand: Expression, other: pa.DataType) -> Expression:
    if is_list(operand.type):
        return cast(operand, pa.list_(operand.type.value_type))
    if isinstance(operand, Literal) and operand.value is None:
        return Literal((), pa.list_(pa.null()))
    element = other.value_type
    if isinstance(operand, Literal) and is_bare_string(operand) and not pa.types.is_null(element):
        operand = read_string(operand, element)
    return Call("list_value", (operand,), pa.list_(operand.type))


# -- bits


def bitwise(operator: str, *operands: Expression) -> Expression:
    """Return the bits of one or two integers combined by `&`, `|`, `#` (exclusive or) or `~`."""
    function = {"&": "bit_and", "|": "bit_or", "#": "bit_xor", "~": "bit_not"}[operator]
    if any(each.type == BIT for each in operands):
        bits = unify(operands, "combine")
        return Call(function.replace("bit", "bits"), bits, BIT)
    integers = unify([_bits(operator, operand) for operand in operands], "combine")
    if not is_integer(integers[0].type):
        both = " and ".join(map(describe, operands))
        raise ProgrammingError(f"{operator} needs integers of one sign, not {both}")
    return Call(function, integers, integers[0].type)


def shift(operator: str, value: Expression, count: Expression) -> Expression:
    """Return an integer with its bits moved to the left, `<<`, or to the right, `>>`."""
    function = {"<<": "shift_left", ">>": "shift_right"}[operator]
    if value.type == BIT:
        return Call(f"bits_{function}", (value, cast(_bits(operator, count), BIGINT)), BIT)
    value, count = _bits(operator, value), _bits(operator, count)
    return Call(function, (value, cast(count, BIGINT)), value.type)


def _bits(operator: str, operand: Expression) -> Expression:
    operand = typed(operand, INTEGER)
    if not is_integer(operand.type):
        raise ProgrammingError(f"{operator} needs integers, not {describe(operand)}")
    return operand


# -- numbers


def _of_numbers(function: str, left: Expression, right: Expression) -> Expression:
    """Return add, subtract, multiply, divide or modulo of two numbers.

    Integers give the wider type, and divide truncates. A decimal beside a decimal or an integer
    gives an exact decimal, but for divide, which gives DOUBLE as it does where a result needs a
    scale of more than 38. DOUBLE and REAL give DOUBLE, unless both are REAL.
    """
    verb = _VERBS[function]
    left, right = (
        _as_number(left, right.type, verb, left, right),
        _as_number(right, left.type, verb, left, right),
    )
    types = (left.type, right.type)
    if any(is_float(each) for each in types):
        target = types[0] if types[0] == types[1] else DOUBLE
        return Call(function, (cast(left, target), cast(right, target)), target)
    if all(is_integer(each) for each in types):
        left, right = _beside_unsigned(left, right.type), _beside_unsigned(right, left.type)
        target = wider_integer((left.type, right.type))
        if not is_integer(target):
            return _of_numbers(function, cast(left, target), cast(right, target))
        return Call(function, (cast(left, target), cast(right, target)), target)
    if UHUGEINT in types:
        left, right = _beside_unsigned(left, right.type), _beside_unsigned(right, left.type)
        if all(is_whole_unsigned(each.type) for each in (left, right)):
            target = DOUBLE if function == "divide" else UHUGEINT
            return Call(function, (cast(left, target), cast(right, target)), target)
    left, right = _as_decimal(left), _as_decimal(right)
    exact = None if function == "divide" else _decimal_result(function, left.type, right.type)
    if exact is not None:
        return Call(function, (left, right), exact)
    return Call(function, (cast(left, DOUBLE), cast(right, DOUBLE)), DOUBLE)


def divide_whole(left: Expression, right: Expression) -> Expression:
    """Return left // right, which is left / right but for wide integers: these give a HUGEINT."""
    found = arithmetic("divide", left, right)
    if found.type != DOUBLE or not all(
        is_integer(each.type) or each.type in (HUGEINT, UHUGEINT) for each in (left, right)
    ):
        return found
    kind = HUGEINT
    if UHUGEINT in (left.type, right.type):
        left, right = _beside_unsigned(left, right.type), _beside_unsigned(right, left.type)
        kind = UHUGEINT if all(is_whole_unsigned(each.type) for each in (left, right)) else HUGEINT
    return Call("divide_whole", (cast(left, kind), cast(right, kind)), kind)


def _beside_unsigned(operand: Expression, beside: pa.DataType) -> Expression:
    """Return an integer constant in the unsigned type that it stands beside, if it fits."""
    if isinstance(operand, Literal) and is_whole_unsigned(beside) and is_integer(operand.type):
        return convert(operand, beside) or operand
    return operand


def _as_number(
    operand: Expression, beside: pa.DataType, verb: str, *operands: Expression
) -> Expression:
    if isinstance(operand, Literal) and (is_bare_null(operand) or is_bare_string(operand)):
        wanted = beside if is_number(beside) else INTEGER
        if operand.is_null:
            return Literal(None, wanted)
        if is_number(beside):
            return read_string(operand, wanted)
    if is_number(operand.type):
        return operand
    raise ProgrammingError(f"cannot {verb.format(*(describe(each) for each in operands))}")


def _as_decimal(operand: Expression) -> Expression:
    if isinstance(operand, Literal) and not operand.is_null:
        return natural(operand)
    return cast(operand, as_decimal_type(operand.type))


def _decimal_result(function: str, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type of an exact result, or None where its scale exceeds 38 digits.

    Sums have the larger scale and one digit more, products the sum of both scales and of both
    precisions, remainders the digits of both. The precision stops at 38: a result beyond that is
    an error at run time, never a rounded value.
    """
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if function == "multiply":
        scale = left.scale + right.scale
        precision = left.precision + right.precision
    if scale > MAX_PRECISION:
        return None
    extra = 0 if function == "modulo" else 1
    return pa.decimal128(min(precision + extra, MAX_PRECISION), scale)


def negate(operand: Expression) -> Expression:
    """Return `-operand`; the negative of a constant is a constant."""
    if is_interval(operand.type):
        return Call("negate_interval", (operand,), INTERVAL)
    operand = _as_number(operand, INTEGER, "negate {0}", operand)
    if operand.type == UHUGEINT:
        return arithmetic("subtract", Literal(decimal.Decimal(0), UHUGEINT), operand)
    if not isinstance(operand, Literal) or operand.value is None:
        return Call("negate", (operand,), operand.type)
    if is_integer(operand.type) or is_decimal(operand.type):
        return _negate_exact(operand)
    return Literal(-operand.value, operand.type)


def _negate_exact(operand: Literal) -> Expression:
    """Return the negative of an integer or a decimal; a cast has said which type it has."""
    value, data_type = operand.value, operand.type
    whole = is_integer(data_type) or (data_type.precision, data_type.scale) == (MAX_PRECISION, 0)
    # -9223372036854775808 is a BIGINT, though its digits alone are not.
    if whole and integer_literal(int(value)).type == data_type:
        return integer_literal(-int(value))
    if is_decimal(data_type):
        return Literal(value.copy_negate(), data_type)
    if not fits_integer(-value, data_type):
        return Call("negate", (operand,), data_type)
    return Literal(-value, data_type)
