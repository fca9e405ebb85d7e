"""Distances, products and lengths of vectors, which are lists of numbers of one length."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.columns.adapters import of_columns
from raydb.planner.expressions.columns.arrays import as_array, side_by_side
from raydb.planner.expressions.columns.lists import (
    array_of_lists,
    is_missing,
    lists_of,
    nullable,
)
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string
from raydb.planner.expressions.nodes import Call, Expression
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import require_list
from raydb.planner.expressions.types import DOUBLE, common_type, is_number
from raydb.planner.expressions.typing_rules import cast, explicit_cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.columns.lists import Lists

# Rows whose vectors are widened to doubles at a time: 12 MB of 768 dimensions.
_BLOCK_ROWS = 2048


def _distance(measure: Callable[[Any, Any], Any], call: Call, *values: Values) -> Values:
    """Return a measure of two vectors of the same length, computed in doubles."""
    one, other = values
    array, vector = (other, one) if isinstance(one, pa.Scalar) else (one, other)
    # A constant is not repeated for each row.
    is_one = isinstance(vector, pa.Scalar) and not isinstance(array, pa.Scalar)
    if not is_one or not vector.is_valid or not len(vector.values):
        return side_by_side(functools.partial(_of_pairs, measure, call), one, other)
    rows, beside = lists_of(as_array(array, len(array))), vector.values
    if (rows.lengths[rows.valid] != len(beside)).any():
        raise DataError(f"{call.shown}() needs two lists of the same length")
    if is_missing(rows.elements).any() or is_missing(beside).any():
        raise DataError(f"{call.shown}() of a list that contains NULL is not defined")
    numbers = rows.elements.to_numpy().reshape(-1, len(beside))
    given = beside.to_numpy(zero_copy_only=False).astype(np.float64)
    found = np.zeros(len(numbers))
    for start in range(0, len(numbers), _BLOCK_ROWS):
        block = numbers[start : start + _BLOCK_ROWS].astype(np.float64)
        sides = block, np.broadcast_to(given, block.shape)
        found[start : start + _BLOCK_ROWS] = measure(*(sides if array is one else sides[::-1]))
    result = np.zeros(len(array))
    result[rows.valid] = found
    return nullable(result, rows.valid)


def _of_pairs(
    measure: Callable[[Any, Any], Any], call: Call, one: pa.Array, other: pa.Array
) -> pa.Array:
    left, right = lists_of(one), lists_of(other)
    valid = left.valid & right.valid
    if (valid & (left.lengths != right.lengths)).any():
        raise DataError(f"{call.shown}() needs two lists of the same length")
    for lists in (left, right):
        if is_missing(lists.elements).any():
            raise DataError(f"{call.shown}() of a list that contains NULL is not defined")
    result = np.zeros(len(valid))
    first, second = left.elements.to_numpy(), right.elements.to_numpy()
    for length in np.unique(left.lengths[valid]):
        rows = np.flatnonzero(valid & (left.lengths == length))
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            steps = np.arange(length)
            result[block] = measure(
                first[left.starts[block, None] + steps].astype(np.float64),
                second[right.starts[block, None] + steps].astype(np.float64),
            )
    return nullable(result, valid)


def _products(left: Any, right: Any) -> Any:
    return np.einsum("ij,ij->i", left, right)


def _euclidean(left: Any, right: Any) -> Any:
    difference = left - right
    return np.sqrt(_products(difference, difference))


def _cosine_similarity(left: Any, right: Any) -> Any:
    lengths = np.sqrt(_products(left, left)) * np.sqrt(_products(right, right))
    with np.errstate(invalid="ignore"):  # a vector of zeros has no direction: NaN
        return np.clip(_products(left, right) / lengths, -1.0, 1.0)


def _manhattan(left: Any, right: Any) -> Any:
    return np.abs(left - right).sum(axis=1)


def _negative_products(left: Any, right: Any) -> Any:
    return -_products(left, right)


def _cosine_distance(left: Any, right: Any) -> Any:
    return 1.0 - _cosine_similarity(left, right)


def _read_vector(side: Expression, other: Expression) -> Expression:
    """Return a vector that is written as a text beside an array, '[1, 2]', as one of its type."""
    is_text = is_bare_string(side) and pt.is_fixed_size_list(other.type)
    return explicit_cast(side, other.type) if is_text else side


def _bind_measure(function: str, name: str, left: Expression, right: Expression) -> Expression:
    sides = [
        require_list(f"{name}()", _read_vector(side, other))
        for side, other in ((left, right), (right, left))
    ]
    for side in sides:
        if not is_number(side.type.value_type):
            raise ProgrammingError(f"{name}() needs lists of numbers, not {describe(side)}")
    target = common_type(sides[0].type, sides[1].type)
    if target is None:
        raise ProgrammingError(
            f"{name}() needs lists of one length, not {describe(left)} and {describe(right)}"
        )
    if not pt.is_floating(target.value_type):
        target = pa.list_(DOUBLE)
    return Call(function, tuple(cast(side, target) for side in sides), DOUBLE, name)


# `beside`: the names that pgvector has for them.
for _stems, _beside, _says, _kernel in (
    (
        ("distance",),
        "l2_distance",
        "Euclidean distance of two vectors: list_distance([0, 0], [3, 4]) -> 5.0",
        _euclidean,
    ),
    (
        ("l1_distance",),
        "l1_distance",
        "sum of the absolute differences of two vectors: list_l1_distance([0, 0], [3, 4]) -> 7.0",
        _manhattan,
    ),
    (
        ("inner_product", "dot_product"),
        "inner_product",
        "inner product: list_inner_product([1, 2], [3, 4]) -> 11.0",
        _products,
    ),
    (
        ("negative_inner_product", "negative_dot_product"),
        "negative_inner_product",
        "the negative of it: list_negative_inner_product([1, 2], [3, 4]) -> -11.0",
        _negative_products,
    ),
    (
        ("cosine_similarity",),
        "",
        "cosine of the angle: list_cosine_similarity([1, 0], [2, 0]) -> 1.0",
        _cosine_similarity,
    ),
    (
        ("cosine_distance",),
        "cosine_distance",
        "1 minus that: list_cosine_distance([1, 0], [0, 2]) -> 1.0",
        _cosine_distance,
    ),
):
    _names = [f"{kind}_{stem}" for kind in ("list", "array") for stem in _stems]
    scalar(
        ", ".join(f"{name}(list, list)" for name in (*_names, *filter(None, [_beside]))),
        _says,
        bind=functools.partial(_bind_measure, f"list_{_stems[0]}"),
        can_fail=True,
    )(functools.partial(_distance, _kernel))


MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "list_distance": _euclidean,
    "list_inner_product": _products,
    "list_negative_inner_product": _negative_products,
    "list_cosine_similarity": _cosine_similarity,
    "list_cosine_distance": _cosine_distance,
    "list_l1_distance": _manhattan,
}
"""Measures of pairs of vectors, float64 (n, d), by the functions of the registry."""


def _bind_vector(name: str, vector: Expression) -> Expression:
    """Return a vector as a list of floating-point numbers."""
    vector = require_list(f"{name}()", vector)
    kind = vector.type
    if not is_number(kind.value_type):
        raise ProgrammingError(f"{name}() needs a list of numbers, not {describe(vector)}")
    if not pt.is_floating(kind.value_type):
        is_array = pt.is_fixed_size_list(kind)
        vector = cast(vector, pa.list_(DOUBLE, kind.list_size) if is_array else pa.list_(DOUBLE))
    return vector


def _bind_norm(name: str, vector: Expression) -> Expression:
    return Call("list_norm", (_bind_vector(name, vector),), DOUBLE, name)


def _bind_unit(name: str, vector: Expression) -> Expression:
    vector = _bind_vector(name, vector)
    return Call("list_normalize", (vector,), vector.type, name)


def _norms(call: Call, lists: Lists) -> Any:
    """Return the length of each vector, in doubles; 0 for NULL."""
    if is_missing(lists.elements).any():
        raise DataError(f"{call.shown}() of a list that contains NULL is not defined")
    numbers = lists.elements.to_numpy().astype(np.float64)
    # By their greatest number, so that no square leaves the doubles.
    rows = np.flatnonzero(lists.lengths)
    norms = np.zeros(len(lists.lengths))
    if len(rows):
        starts = lists.starts[rows]
        greatest = np.maximum.reduceat(np.abs(numbers), starts)
        with np.errstate(invalid="ignore", over="ignore"):
            parts = numbers / np.repeat(np.where(greatest > 0, greatest, 1), lists.lengths[rows])
            norms[rows] = greatest * np.sqrt(np.add.reduceat(parts * parts, starts))
    return norms


@scalar(
    "list_norm(list), array_norm(list), vector_norm(list), l2_norm(list)",
    "length of a vector: list_norm([3, 4]) -> 5.0",
    bind=_bind_norm,
    can_fail=True,
)
@of_columns
def _norm(call: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    return nullable(_norms(call, lists), lists.valid)


@scalar(
    "list_normalize(list), array_normalize(list), l2_normalize(list), normalize(list)",
    "the vector with length 1; one of length 0 stays: list_normalize([3, 4]) -> [0.6, 0.8]",
    bind=_bind_unit,
    can_fail=True,
)
@of_columns
def _normalize(call: Call, array: pa.Array) -> pa.Array:
    lists = lists_of(array)
    norms = _norms(call, lists)
    numbers = lists.elements.to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        made = numbers.astype(np.float64) / np.repeat(np.where(norms > 0, norms, 1), lists.lengths)
    elements = pa.array(made.astype(numbers.dtype))
    if not pt.is_fixed_size_list(call.type):
        return array_of_lists(elements, lists.lengths, lists.valid).cast(call.type)
    if not lists.valid.all():
        width = call.type.list_size
        whole = np.zeros((len(lists.valid), width), numbers.dtype)
        whole[lists.valid] = elements.to_numpy().reshape(-1, width)
        elements = pa.array(whole.ravel())
    mask = pa.array(~lists.valid)
    return pa.FixedSizeListArray.from_arrays(elements, type=call.type, mask=mask)


def _bind_cross(name: str, left: Expression, right: Expression) -> Expression:
    sides = [require_list(f"{name}()", side) for side in (left, right)]
    kind = common_type(sides[0].type, sides[1].type)
    if kind is None or not is_number(kind.value_type):
        raise ProgrammingError(
            f"{name}() needs two arrays of three numbers, not {describe(left)}"
            f" and {describe(right)}"
        )
    element = kind.value_type if pt.is_floating(kind.value_type) else DOUBLE
    target = pa.list_(element, 3)
    return Call(name, tuple(explicit_cast(side, target) for side in sides), target)


@scalar(
    "array_cross_product(array, array)",
    "the cross product of two arrays of three numbers:"
    " array_cross_product([1, 0, 0], [0, 1, 0]) -> (0.0, 0.0, 1.0)",
    bind=_bind_cross,
    can_fail=True,
)
@of_columns
def _cross(call: Call, left: pa.Array, right: pa.Array) -> pa.Array:
    one, other = lists_of(left), lists_of(right)
    valid = one.valid & other.valid
    found = np.zeros((len(valid), 3), call.type.value_type.to_pandas_dtype())
    sides = []
    for lists in (one, other):
        places = lists.starts[valid, None] + np.arange(3)
        if is_missing(lists.elements)[places].any():
            raise DataError(f"{call.shown}() of an array that contains NULL is not defined")
        sides.append(lists.elements.fill_null(0).to_numpy()[places])
    found[valid] = np.cross(*sides)
    elements = pa.array(found.ravel(), mask=np.repeat(~valid, 3))
    return pa.FixedSizeListArray.from_arrays(elements, type=call.type, mask=pa.array(~valid))
