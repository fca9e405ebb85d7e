"""Functions of lists that take a lambda, which is computed for all elements of all rows at once.

    list_transform(l, lambda x: x + a)  ->  Call(list_transform, (l, Lambda((x, a'), x + a'), a))

What a lambda reads of the row beside (`a`) is an argument behind it, repeated for each element.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.columns.lists import Lists, array_of_lists, lists_of
from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Lambda,
    Literal,
    Subquery,
    rewrite,
)
from raydb.planner.expressions.registry import is_volatile, may_raise, scalar
from raydb.planner.expressions.types import closed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows

# The names of each function.
TRANSFORM = ("list_transform", "list_apply", "array_transform", "array_apply", "apply")
FILTER = ("list_filter", "array_filter", "filter")
REDUCE = ("list_reduce", "array_reduce", "reduce")


def close_over(
    parameters: Sequence[Column], body: Expression
) -> tuple[Lambda, tuple[Expression, ...]]:
    """Return the lambda of a body that reads parameters and a row, and what it reads of the row.

    What stands in the body without a parameter is read once a row, where it cannot fail.
    """
    numbers = itertools.count(-1, -1)
    own = {each: Column(next(numbers), each.name, each.type) for each in parameters}
    captured: dict[Expression, Column] = {}

    def lift(part: Expression) -> Expression:
        if isinstance(part, Column) and part in own:
            return own[part]
        if isinstance(part, Literal | Lambda):
            return part
        if not _reads(part, own) and not may_raise(part) and not is_volatile(part):
            name = part.name if isinstance(part, Column) else "value"
            return captured.setdefault(part, Column(next(numbers), name, part.type))
        if isinstance(part, Subquery):
            raise ProgrammingError("a subquery in a lambda cannot read its parameters")
        assert isinstance(part, Call), "columns and attributes cannot fail"
        return Call(part.function, tuple(map(lift, part.arguments)), part.type)

    lifted = lift(body)
    return Lambda((*own.values(), *captured.values()), lifted), tuple(captured)


def _reads(part: Expression, columns: Mapping[Column, Column]) -> bool:
    found = False

    def look(each: Expression) -> Expression:
        nonlocal found
        found = found or (isinstance(each, Column) and each in columns)
        return each

    rewrite(part, look)
    return found


def _refuse(name: str, *_: Expression) -> Expression:
    raise AssertionError(f"the binder makes calls of {name}() itself, for it binds their lambdas")


def _once_for_constants(
    compute: Callable[[Call, Rows], pa.Array],
) -> Callable[[Call, Rows], Values]:
    """Let a function of constants be computed once, not for each row."""

    def compute_once(call: Call, rows: Rows) -> Values:
        are_constant = all(isinstance(each, Literal | Lambda) for each in call.arguments)
        if are_constant and not is_volatile(call):
            return compute(call, type(rows)({}, 1))[0]
        return compute(call, rows)

    return compute_once


@scalar(
    ", ".join(f"{name}(list, lambda)" for name in TRANSFORM),
    "the value of the lambda for each element, whose place may be its second parameter:"
    " list_transform([1, 2], lambda x: x + 1) -> [2, 3]",
    bind=_refuse,
    takes="rows",
)
@_once_for_constants
def _transform(call: Call, rows: Rows) -> pa.Array:
    elements = _Elements(call, rows)
    return elements.lists_like(elements.values(), elements.lists.lengths)


@scalar(
    ", ".join(f"{name}(list, lambda)" for name in FILTER),
    "the elements for which the lambda is true: list_filter([1, 2, 3], lambda x: x > 1) -> [2, 3]",
    bind=_refuse,
    takes="rows",
)
@_once_for_constants
def _filter(call: Call, rows: Rows) -> pa.Array:
    elements = _Elements(call, rows)
    kept = pc.fill_null(elements.values(), False)
    parents = elements.parents[kept.to_numpy(zero_copy_only=False)]
    lengths = np.bincount(parents, minlength=rows.count)
    return elements.lists_like(elements.lists.elements.filter(kept), lengths)


@scalar(
    ", ".join(f"{name}(list, lambda [, initial])" for name in REDUCE),
    "the value of the lambda for the result so far and the next element, from the first one or an"
    " initial value on: list_reduce([1, 2, 3], lambda x, y: x + y) -> 6",
    bind=_refuse,
    takes="rows",
    can_fail=True,
)
@_once_for_constants
def _reduce(call: Call, rows: Rows) -> pa.Array:
    """Arguments: the list, the lambda, the initial value where there is one, what is captured.

    Its elements are taken place by place, those of all rows that have so many together.
    """
    elements = _Elements(call, rows)
    lists, function = elements.lists, elements.function
    is_given = len(call.arguments) - 2 > len(function.parameters) - _REDUCE_PARAMETERS
    first = 0 if is_given else 1
    if is_given:
        initial, *captured = elements.row_values
        result = cast_values(initial, call.type)
    else:
        captured = elements.row_values
        if (lists.valid & (lists.lengths == 0)).any():
            raise DataError("list_reduce() of an empty list needs an initial value")
        at = pa.array(lists.starts, mask=~lists.valid)
        result = cast_values(lists.elements.take(at), call.type)
    result = result.take(pa.array(np.arange(rows.count), mask=~lists.valid))
    for place in range(first, int(lists.lengths.max(initial=0))):
        check_interrupt()
        waiting = np.flatnonzero(lists.lengths > place)
        numbers = pa.array(waiting)
        values = (
            result.take(numbers),
            lists.elements.take(pa.array(lists.starts[waiting] + place)),
            pa.repeat(pa.scalar(place + 1, pa.int64()), len(waiting)),
            *(each.take(numbers) for each in captured),
        )
        inputs = dict(zip(function.parameters, values, strict=True))
        step = rows.value_on(function.body, inputs, len(waiting))
        newest = np.arange(rows.count)
        newest[waiting] = rows.count + np.arange(len(waiting))
        result = pa.concat_arrays([result, step]).take(pa.array(newest))
    return result


# The result so far, the element and its place.
_REDUCE_PARAMETERS = 3


class _Elements:
    """The elements of the list that a call is of, and what its lambda reads beside them."""

    def __init__(self, call: Call, rows: Rows) -> None:
        operand, function, *others = call.arguments
        assert isinstance(function, Lambda)
        self.function = function
        self._rows = rows
        values = as_array(rows.value(operand), rows.count)
        self.lists: Lists = lists_of(cast_values(values, closed(values.type)))
        self.row_values = [as_array(rows.value(each), rows.count) for each in others]
        self.parents: NDArray[np.int64] = self.lists.parents()

    def values(self) -> pa.Array:
        """Return the value of the lambda for each element."""
        places = np.arange(len(self.parents)) - self.lists.starts[self.parents] + 1
        parents = pa.array(self.parents)
        values = (
            self.lists.elements,
            pa.array(places),
            *(each.take(parents) for each in self.row_values),
        )
        inputs = dict(zip(self.function.parameters, values, strict=True))
        return self._rows.value_on(self.function.body, inputs, len(parents))

    def lists_like(self, elements: pa.Array, lengths: NDArray[np.int64]) -> pa.Array:
        """Return lists of other elements, NULL where these are."""
        return array_of_lists(elements, lengths, self.lists.valid)
