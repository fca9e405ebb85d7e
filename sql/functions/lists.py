"""Functions of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal
from raydb.sql.bind.expression.literals import list_literal
from raydb.sql.bind.expression.operators import concatenate_lists
from raydb.sql.functions.signature import Signature, require_text, typed
from raydb.sql.types import common_type, is_decimal, is_integer, is_list, is_number
from raydb.sql.typing_rules import cast, unify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BIGINT, _DOUBLE, _TEXT = pa.int64(), pa.float64(), pa.string()


def list_of(elements: Sequence[Expression]) -> Expression:
    """Return [a, b, ...]: a list of the elements' common type."""
    if not elements:
        return Literal((), pa.list_(pa.null()))
    unified = unify(elements, "combine")
    constants = [each for each in unified if isinstance(each, Literal)]
    if len(constants) == len(unified):
        return list_literal(constants, unified[0].type)
    return Call("list_value", unified, pa.list_(unified[0].type))


def list_element(operand: Expression, index: Expression) -> Expression:
    """Return list[index], counted from 1; NULL outside of the list."""
    operand = _require_list("a subscript", operand)
    return Call("list_extract", (operand, _position(index)), operand.type.value_type)


def list_operand(operand: Expression) -> Expression:
    """Return the list that unnest() takes; raises ProgrammingError for what is none."""
    return _require_list("unnest()", operand)


def list_slice(
    operand: Expression, first: Expression | None, last: Expression | None
) -> Expression:
    """Return list[first:last], both ends included."""
    operand = _require_list("a slice", operand)
    start = Literal(1, _BIGINT) if first is None else _position(first)
    stop = Call("list_length", (operand,), _BIGINT) if last is None else _position(last)
    return Call("list_slice", (operand, start, stop), pa.list_(operand.type.value_type))


def _position(operand: Expression) -> Expression:
    operand = typed(operand, _BIGINT)
    if not is_integer(operand.type):
        raise ProgrammingError(f"a subscript is an integer, not {describe(operand)}")
    return cast(operand, _BIGINT)


def _require_list(name: str, operand: Expression) -> Expression:
    operand = typed(operand, pa.list_(pa.int32()))
    if not is_list(operand.type):
        raise ProgrammingError(f"{name} needs a list, not {describe(operand)}")
    return operand


def _list_value(_: str, *elements: Expression) -> Expression:
    return list_of(elements)


def _extract(_: str, operand: Expression, index: Expression) -> Expression:
    return list_element(operand, index)


def _slice(_: str, operand: Expression, first: Expression, last: Expression) -> Expression:
    return list_slice(operand, first, last)


def _length(name: str, operand: Expression, *dimension: Expression) -> Expression:
    if dimension and not (isinstance(dimension[0], Literal) and dimension[0].value == 1):
        raise NotSupportedError(f"{name}() of another dimension than 1 is not supported")
    return Call("list_length", (_require_list(f"{name}()", operand),), _BIGINT)


def length(name: str, operand: Expression) -> Expression:
    """Return len(): the length of a list, or of a string."""
    if is_list(operand.type):
        return _length(name, operand)
    return Call("length", (require_text(name, operand),), _BIGINT)


def _search(function: str, data_type: pa.DataType) -> Callable[..., Expression]:
    def bind(name: str, operand: Expression, wanted: Expression) -> Expression:
        operand = _require_list(f"{name}()", operand)
        # A constant adapts to the elements: NULL stands for them.
        element, wanted = unify((_element(operand), wanted), "compare")
        return Call(function, (cast(operand, pa.list_(element.type)), wanted), data_type)

    return bind


def _element(operand: Expression) -> Column:
    """Return what stands for an element of a list where types are compared."""
    return Column(-1, "element", operand.type.value_type)


def _append(name: str, operand: Expression, element: Expression) -> Expression:
    operand = _require_list(f"{name}()", operand)
    return concatenate_lists(operand, list_of((_adapted(element, operand),)))


def _prepend(name: str, element: Expression, operand: Expression) -> Expression:
    operand = _require_list(f"{name}()", operand)
    return concatenate_lists(list_of((_adapted(element, operand),)), operand)


def _adapted(element: Expression, operand: Expression) -> Expression:
    _, adapted = unify((_element(operand), element), "combine")
    return adapted


def _concat(name: str, left: Expression, right: Expression) -> Expression:
    for side in (left, right):
        if not pa.types.is_null(side.type):
            _require_list(f"{name}()", side)
    if pa.types.is_null(left.type) and pa.types.is_null(right.type):
        return Literal(None, pa.null())
    return concatenate_lists(left, right)


def _reordered(function: str) -> Callable[..., Expression]:
    def bind(name: str, operand: Expression) -> Expression:
        operand = _require_list(f"{name}()", operand)
        return Call(function, (operand,), pa.list_(operand.type.value_type))

    return bind


def _fold(name: str, operand: Expression) -> Expression:
    """Return list_min, list_max, list_sum or list_avg."""
    operand = _require_list(f"{name}()", operand)
    element = operand.type.value_type
    if name in ("list_min", "list_max"):
        return Call(name, (operand,), element)
    if not is_number(element):
        raise ProgrammingError(f"{name}() needs a list of numbers, not {describe(operand)}")
    if name == "list_avg":
        return Call(name, (operand,), _DOUBLE)
    exact = pa.decimal128(38, element.scale) if is_decimal(element) else _DOUBLE
    return Call(name, (operand,), _BIGINT if is_integer(element) else exact)


def _aggregate(name: str, operand: Expression, which: Expression, *more: Expression) -> Expression:
    """Return list_aggregate(list, 'sum'), for the aggregates that have a function of lists."""
    function = which.value if isinstance(which, Literal) else None
    match function, more:
        case "string_agg", (separator,):
            return _to_string(name, operand, separator)
        case (("min" | "max" | "sum" | "avg"), ()):
            return _fold(f"list_{function}", operand)
    raise NotSupportedError(f"{name}() with {describe(which)} is not supported")


def _to_string(name: str, operand: Expression, separator: Expression) -> Expression:
    operand = _require_list(f"{name}()", operand)
    return Call("array_to_string", (operand, require_text(name, separator)), _TEXT)


def _split(name: str, text: Expression, separator: Expression) -> Expression:
    separator = require_text(name, separator)
    if not isinstance(separator, Literal):
        raise NotSupportedError(f"{name}() needs a constant separator, not {describe(separator)}")
    return Call("string_split", (require_text(name, text), separator), pa.list_(_TEXT))


def _measure(function: str) -> Callable[..., Expression]:
    def bind(name: str, left: Expression, right: Expression) -> Expression:
        sides = [_require_list(f"{name}()", side) for side in (left, right)]
        for side in sides:
            if not is_number(side.type.value_type):
                raise ProgrammingError(f"{name}() needs lists of numbers, not {describe(side)}")
        target = common_type(sides[0].type, sides[1].type)
        if target is None:
            raise ProgrammingError(
                f"{name}() needs lists of one length, not {describe(left)} and {describe(right)}"
            )
        if not pa.types.is_floating(target.value_type):
            target = pa.list_(_DOUBLE)
        return Call(function, tuple(cast(side, target) for side in sides), _DOUBLE)

    return bind


def _named(stem: str, signature: Signature) -> dict[str, Signature]:
    """Return a function under the names that DuckDB has for it: of lists and of arrays."""
    return {f"list_{stem}": signature, f"array_{stem}": signature}


LISTS = {
    "list_value": Signature(_list_value, 0, None),
    "list_element": Signature(_extract, 2, 2),
    "len": Signature(length, 1, 1),
    "cardinality": Signature(_length, 1, 1),
    "list_length": Signature(_length, 1, 1),
    "array_length": Signature(_length, 1, 2),
    "list_has": Signature(_search("list_contains", pa.bool_()), 2, 2),
    "array_has": Signature(_search("list_contains", pa.bool_()), 2, 2),
    "array_cat": Signature(_concat, 2, 2),
    **_named("extract", Signature(_extract, 2, 2)),
    **_named("slice", Signature(_slice, 3, 3)),
    **_named("contains", Signature(_search("list_contains", pa.bool_()), 2, 2)),
    **_named("position", Signature(_search("list_position", pa.int64()), 2, 2)),
    **_named("append", Signature(_append, 2, 2)),
    **_named("prepend", Signature(_prepend, 2, 2)),
    **_named("concat", Signature(_concat, 2, 2)),
    **_named("sort", Signature(_reordered("list_sort"), 1, 1)),
    **_named("reverse_sort", Signature(_reordered("list_reverse_sort"), 1, 1)),
    **_named("reverse", Signature(_reordered("list_reverse"), 1, 1)),
    **_named("distinct", Signature(_reordered("list_distinct"), 1, 1)),
    **_named("aggregate", Signature(_aggregate, 2, 3)),
    **{name: Signature(_fold, 1, 1) for name in ("list_min", "list_max", "list_sum", "list_avg")},
    "array_to_string": Signature(_to_string, 2, 2),
    **dict.fromkeys(("string_split", "str_split", "split"), Signature(_split, 2, 2)),
    "string_to_array": Signature(_split, 2, 2),
    **_named("distance", Signature(_measure("list_distance"), 2, 2)),
    **_named("inner_product", Signature(_measure("list_inner_product"), 2, 2)),
    **_named("dot_product", Signature(_measure("list_inner_product"), 2, 2)),
    **_named("negative_inner_product", Signature(_measure("list_negative_inner_product"), 2, 2)),
    **_named("cosine_distance", Signature(_measure("list_cosine_distance"), 2, 2)),
    **_named("cosine_similarity", Signature(_measure("list_cosine_similarity"), 2, 2)),
}
