"""What a predicate says of single columns beside constants: what files can find by zone maps.

id = 7 AND name LIKE 'R%' AND price IN (3, 9)    ->    id == 7, price >= 3, price <= 9
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Column, Expression, Literal, conjuncts
from raydb.planner.expressions.registry import may_raise
from raydb.storage.moments import is_moment
from raydb.storage.tables.parts import Comparison
from raydb.storage.tables.table import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.operators.join.key_set import KeySet

_OPERATORS = {"equal": "==", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def comparisons_of(predicate: Expression) -> list[Comparison]:
    """Return comparisons that hold for every row for which the predicate is true.

    What stands behind a part that may fail is left out: it must not keep that part from failing.
    Doubles are left out too, since files order NaN otherwise than SQL, and lists and intervals,
    which they do not compare.
    """
    found = []
    for part in conjuncts(predicate):
        if may_raise(part):
            break
        match part:
            case Call("is_key", (Column() as column, Literal(value=keys))):
                found += _bounds_of_keys(column, keys)
                continue
            case Call(function, (Column() as column, Literal() as literal)) if _is_plain(literal):
                operator = _OPERATORS.get(function)
            case Call(function, (Literal() as literal, Column() as column)) if _is_plain(literal):
                operator = _MIRRORED.get(_OPERATORS.get(function, ""))
            case Call("in", (Column() as column, *items)):
                found += _bounds(column, items)
                continue
            case _:
                continue
        if operator and column.type == literal.type and column.name != ROW_NUMBER:
            value = pa.scalar(literal.value, literal.type)
            found.append(Comparison(column.name, operator, value))
    return found


def _bounds_of_keys(column: Column, keys: KeySet) -> list[Comparison]:
    """Return that a column lies between the least and the greatest of some keys."""
    is_plain = not is_ordered_otherwise(column.type) and column.name != ROW_NUMBER
    if not is_plain or not keys.least.is_valid or keys.least.type != column.type:
        return []
    bounds = ((">=", keys.least), ("<=", keys.most))
    return [Comparison(column.name, sign, value) for sign, value in bounds]


def _bounds(column: Column, items: Sequence[Expression]) -> list[Comparison]:
    """Return that a column lies between the least and the greatest of some constants."""
    if not all(isinstance(each, Literal) and _is_plain(each) for each in items):
        return []
    constants = [each for each in items if isinstance(each, Literal)]
    if any(each.type != column.type for each in constants) or column.name == ROW_NUMBER:
        return []
    values = [pa.scalar(each.value, column.type) for each in constants]
    # Of a moment Python may have no value, so its number is compared.
    is_number = is_moment(column.type)
    values.sort(key=lambda value: value.value if is_number else value.as_py())
    bounds = ((">=", values[0]), ("<=", values[-1]))
    return [Comparison(column.name, sign, value) for sign, value in bounds]


def _is_plain(literal: Literal) -> bool:
    return literal.value is not None and not is_ordered_otherwise(literal.type)


def is_ordered_otherwise(kind: pa.DataType) -> bool:
    """Tell whether files order values of a type in another way than SQL, or not at all."""
    types = pa.types
    return bool(types.is_floating(kind) or types.is_nested(kind) or types.is_interval(kind))
