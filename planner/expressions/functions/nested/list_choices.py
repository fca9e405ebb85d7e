"""Some elements of a list: the first and the last, those of a mask, those in two lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import ProgrammingError
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.lists import array_of_lists, is_missing, lists_of, nullable
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.nested.lists import list_element
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import BIGINT, BOOLEAN

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values

composed("list_first(list), array_first(list)", "the first element: list_first([10, 20]) -> 10")(
    lambda _, operand: list_element(operand, Literal(1, BIGINT))
)
composed("list_last(list), array_last(list)", "the last element: list_last([10, 20]) -> 20")(
    lambda _, operand: list_element(operand, Literal(-1, BIGINT))
)


@composed(
    "list_unique(list), array_unique(list)",
    "how many different values it has, without NULL: list_unique([1, 2, 1, NULL]) -> 2",
)
def _unique(name: str, operand: Expression) -> Expression:
    operand = require_list(f"{name}()", operand)
    distinct = Call("list_distinct", (operand,), pa.list_(operand.type.value_type))
    return Call("list_length", (distinct,), BIGINT)


def _bind_count(name: str, operand: Expression) -> Expression:
    return Call("list_count", (require_list(f"{name}()", operand),), BIGINT)


@scalar(
    "list_count(list), array_count(list)",
    "how many elements are not NULL: list_count([1, NULL]) -> 1",
    bind=_bind_count,
)
@of_columns
def _count(_: Call, array: pa.Array) -> Values:
    lists = lists_of(array)
    present = ~is_missing(lists.elements)
    counts = np.bincount(lists.parents()[present], minlength=len(array))
    return nullable(counts, lists.valid)


def _bind_where(name: str, operand: Expression, mask: Expression) -> Expression:
    operand, mask = (require_list(f"{name}()", each) for each in (operand, mask))
    if mask.type.value_type != BOOLEAN:
        raise ProgrammingError(f"{name}() needs a list of BOOLEAN, not {describe(mask)}")
    return Call("list_where", (operand, mask), pa.list_(operand.type.value_type))


@scalar(
    "list_where(list, mask), array_where(list, mask)",
    "the elements where a list of BOOLEAN is true: list_where([1, 2, 3], [true, false, true])"
    " -> [1, 3]",
    bind=_bind_where,
)
@of_columns
def _where(_: Call, array: pa.Array, mask: pa.Array) -> pa.Array:
    lists, chosen = lists_of(array), lists_of(mask)
    parents = lists.parents()
    own = np.arange(len(lists.elements)) - lists.starts[parents]
    inside = own < chosen.lengths[parents]
    places = np.where(inside, chosen.starts[parents] + own, 0)
    flags = np.append(pc.fill_null(chosen.elements, False).to_numpy(zero_copy_only=False), False)
    wanted = inside & flags[np.minimum(places, len(flags) - 1)]
    lengths = np.bincount(parents[wanted], minlength=len(array))
    valid = lists.valid & chosen.valid
    return array_of_lists(lists.elements.filter(pa.array(wanted)), lengths, valid)
