"""Functions of sequences. Where a sequence stands is known to the statement that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.nodes import Call
from raydb.planner.expressions.registry import scalar
from raydb.running import sequences

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows
    from raydb.planner.expressions.nodes import Expression


@scalar(
    "nextval(text) -> BIGINT",
    "the next value of the sequence of that name, another one for each row and call:"
    " nextval('ticket') -> 1",
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _next_value(call: Call, rows: Rows) -> Values:
    name = rows.value(call.arguments[0])
    if isinstance(name, pa.Scalar):
        if not name.is_valid:
            return pa.scalar(None, call.type)
        return pa.array(sequences().take(name.as_py(), rows.count))
    return _each(name, rows.count, lambda each: int(sequences().take(each, 1)[0]))


@scalar(
    "currval(text) -> BIGINT",
    "the value that the connection took of it last: currval('ticket') -> 1",
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _current_value(call: Call, rows: Rows) -> Values:
    return _each(rows.value(call.arguments[0]), rows.count, lambda name: sequences().last(name))


@scalar(
    "setval(text, number: whole [, is_taken: condition]) -> BIGINT",
    "lets it go on behind the number, or with it where `is_taken` is false; gives the number:"
    " setval('ticket', 41) -> 41",
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _set_value(call: Call, rows: Rows) -> Values:
    name, value, *taken = (
        as_array(rows.value(argument), rows.count).to_pylist() for argument in call.arguments
    )
    flags = taken[0] if taken else [True] * rows.count
    for each, number, is_taken in zip(name, value, flags, strict=True):
        if None not in (each, number, is_taken):
            sequences().restart(each, number, is_taken=is_taken)
    return pa.array(value, call.type)


def takes_values(expression: Expression) -> bool:
    """Tell whether an expression takes values of a sequence, one after the other."""
    return isinstance(expression, Call) and (
        expression.function in ("nextval", "setval") or any(map(takes_values, expression.arguments))
    )


def _each(names: Values, count: int, value: Callable[[str], int]) -> Values:
    texts = as_array(names, count).to_pylist()
    return pa.array([None if each is None else value(each) for each in texts], pa.int64())
