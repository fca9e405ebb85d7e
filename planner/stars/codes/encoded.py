"""What a BVH encodes of expressions: their hierarchies, the codes that pass, the numbers of keys.

An expression whose attributes are all encoded in one hierarchy has a value for each of its codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.kernels.bvh.encode import EncodedColumn, Hierarchy, encode_column, join_codes
from raydb.late import pc
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Attribute, Call, Column, Expression, attributes_of
from raydb.planner.stars.codes.allowed_codes import allowed_codes, encoded_level
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.planner.catalog import BvhInfo
    from raydb.planner.plan.nodes.node import Items


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class KeyTuples:
    """The keys of one hierarchy: `values` has for each of them that of every key tuple.

    codes: int32, shape (code_count,): the tuple of each code.
    """

    hierarchy: int
    values: tuple[pa.Array, ...]
    codes: NDArray[np.int32]

    @property
    def count(self) -> int:
        """The number of tuples."""
        return len(self.values[0])


def hierarchy_of(expression: Expression, bvh: BvhInfo) -> int | None:
    """Return the one hierarchy that encodes all attributes of an expression."""
    if isinstance(expression, Attribute):  # most are
        place = bvh.levels.get(expression)
        return None if place is None else place[0]
    number = None
    for attribute in attributes_of(expression):
        place = bvh.levels.get(attribute)
        if place is None or place[0] != (place[0] if number is None else number):
            return None
        number = place[0]
    return number


def is_lacking(predicate: Expression, bvh: BvhInfo) -> bool:
    """Tell whether a predicate is fetched for certain: OR over hierarchies may be boxes of them."""
    if isinstance(predicate, Call) and predicate.function == "or":
        return not all(attribute in bvh.levels for attribute in attributes_of(predicate))
    return hierarchy_of(predicate, bvh) is None


def evaluate_codes(expression: Expression, number: int, bvh: BvhInfo) -> pa.Array | None:
    """Evaluate an expression for every code of a hierarchy; None where a value raises an error.

    The dictionary may hold values that no row of the query has: 1 / d_x is then left to the rows.
    """
    hierarchy = bvh.index.hierarchies[number]
    inputs: dict[Expression, pa.Array] = {
        attribute: hierarchy.levels[bvh.levels[attribute][1]]
        for attribute in attributes_of(expression)
    }
    try:
        return evaluate(expression, inputs, hierarchy.code_count)
    except DataError:
        return None


def predicate_mask(predicate: Expression, number: int, bvh: BvhInfo) -> NDArray[np.bool_] | None:
    """Return the codes of a hierarchy that a predicate allows; None where a value is an error."""
    mask: NDArray[np.bool_] | None
    mask = allowed_codes(predicate, bvh.index.hierarchies[number], bvh.levels)
    if mask is not None:
        return mask
    values = evaluate_codes(predicate, number, bvh)
    if values is None:
        return None
    # A comparison with NULL is NULL, which is not true.
    passed = pc.fill_null(values, fill_value=False) if values.null_count else values
    mask = passed.to_numpy(zero_copy_only=False)
    return mask


def split_keys(
    keys: Sequence[tuple[Column, Expression]], bvh: BvhInfo
) -> tuple[dict[int, list[tuple[Column, pa.Array]]], tuple[tuple[Column, Expression], ...]]:
    """Return the keys' values of each code by hierarchy, and the keys that none encodes."""
    keys_of: dict[int, list[tuple[Column, pa.Array]]] = {}
    residual = []
    for column, key in keys:
        number = hierarchy_of(key, bvh) if has_codes(key.type) else None
        values = None if number is None else evaluate_codes(key, number, bvh)
        if number is None or values is None:
            residual.append((column, key))
        else:
            keys_of.setdefault(number, []).append((column, values))
    return keys_of, tuple(residual)


def number_keys(keys: Items, bvh: BvhInfo) -> list[KeyTuples] | None:
    """Return the key tuples of all codes by hierarchy; None where a key is not encoded."""
    keys_of, residual = split_keys(keys, bvh)
    if residual:
        return None
    found = []
    for number, some in keys_of.items():
        hierarchy = bvh.index.hierarchies[number]
        every = np.arange(hierarchy.code_count)
        # All tuples are numbered, for every code is there.
        codes, values, _ = number_tuples([each for _, each in some], every, hierarchy)
        found.append(KeyTuples(number, values, codes.astype(np.int32, copy=False)))
    return found


def has_codes(kind: pa.DataType) -> bool:
    """Whether `encode_column` takes values of a type: Arrow puts no others in order."""
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind))


def number_tuples(
    keys: Sequence[pa.Array], allowed: NDArray[np.int64], hierarchy: Hierarchy
) -> tuple[NDArray[Any], tuple[pa.Array, ...], NDArray[np.int64] | None]:
    """Number the distinct tuples of keys among the allowed codes.

    Returns the number of each code's tuple, and tuples with those of them that are numbered; None
    where all are. Keys that are all levels together tell codes apart, so each code has a tuple of
    its own.
    """
    if {id(level) for level in hierarchy.levels} <= {id(key) for key in keys}:
        is_whole = len(allowed) == hierarchy.code_count
        return np.arange(len(allowed)), tuple(keys), None if is_whole else allowed
    numbered = [_occurring(key, allowed, hierarchy) for key in keys]
    if len(numbered) == 1:
        ((codes, values, chosen),) = numbered
        return codes, (values,), chosen
    columns = [
        EncodedColumn(codes, values.take(pa.array(some))) for codes, values, some in numbered
    ]
    codes, places = join_codes(columns)
    tuples = [column.values.take(places[:, place]) for place, column in enumerate(columns)]
    return codes, tuple(tuples), None


def _occurring(
    values: pa.Array, allowed: NDArray[np.int64], hierarchy: Hierarchy
) -> tuple[NDArray[np.int32], pa.Array, NDArray[np.int64]]:
    """Number a key's distinct values of some codes; `values` has one for each code.

    Returns the number of each code's value, and sorted values with those of them that occur.
    """
    level = next((i for i, each in enumerate(hierarchy.levels) if each is values), None)
    if level is None:
        encoded = encode_column(values.take(pa.array(allowed)))
        return encoded.codes, encoded.values, np.arange(encoded.cardinality)
    encoded = encoded_level(hierarchy, level)
    codes = encoded.codes[allowed]
    occurs = np.zeros(encoded.cardinality, np.bool_)
    occurs[codes] = True
    rank = np.cumsum(occurs, dtype=np.int32) - 1
    return rank[codes], encoded.values, np.flatnonzero(occurs)
