"""Columns of a table as narrow codes, one a row, for a scan; and conditions with OR over them.

    (a = 1 AND b = 2) OR (a = 3 AND c = 4)       a row has a bit for each branch, set at first

    a   codes 0 1 2 3 ..    bits 00 01 00 10     each code clears the bits of branches that it fails
    b   codes 0 1 2 ..      bits 10 10 11
    c   codes ..  4         bits 01 ..    11     the row passes where a bit is left

No value of the condition is computed for any row, only one for each code of each part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.fused.derived_cache import owned_bytes
from raydb.engine.operators.relation import joined
from raydb.interrupts import check_interrupt
from raydb.kernels.bvh.encode import BLOCK_ROWS, Hierarchy, encode_blocks, encode_column
from raydb.kernels.codecs.arrow_numbers import is_whole, words_of
from raydb.late import pc
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Attribute, Call, Literal, conjuncts, rewrite
from raydb.planner.stars.instants import MOMENT
from raydb.room import read_limit
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.planner.expressions.nodes import Expression

# So many days or hours between the first and the last are codes: a look-up table of 4 MiB.
DIRECT_CODES = 2**20

# To encode a column at once takes so many bytes a row; where these are more than a share of
# memory_limit it is read twice, block by block.
_ENCODING_BYTES = 16
_ENCODING_SHARE = 8

# Branches of a condition with OR have bits of one number.
MOST_BRANCHES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """Codes of rows (uint8, uint16 or int32), and for each attribute the value of every code."""

    codes: NDArray[Any]
    values: tuple[pa.Array, ...]

    @property
    def code_count(self) -> int:
        """The number of codes, one for NULL included."""
        return len(self.values[0])

    @property
    def size_bytes(self) -> int:
        """The bytes of what is not a view of a table's column."""
        return owned_bytes((self.codes, *self.values))


def hierarchy_of_codes(coded: Sequence[Coded]) -> Hierarchy:
    """Return the values of all codes of one source, or of all pairs of two, in one cell."""
    counts = [each.code_count for each in coded]
    levels: list[pa.Array] = []
    for place, each in enumerate(coded):
        if len(coded) == 1:
            levels += each.values
        else:
            inner = int(np.prod(counts[place + 1 :]))
            pairs = pa.array(np.arange(int(np.prod(counts))) // inner % counts[place])
            levels += [column.take(pairs) for column in each.values]
    codes = np.zeros(len(levels[0]), np.int32)
    return Hierarchy(tuple(range(len(levels))), tuple(levels), codes, 1)


def column_codes(column: pa.ChunkedArray) -> Coded:
    """Return a column as codes with the value of each code, NULL the last."""
    limit = read_limit()
    is_tight = limit is not None and _ENCODING_BYTES * len(column) > limit // _ENCODING_SHARE
    if is_whole(column.type) or (is_tight and not pa.types.is_dictionary(column.type)):
        encoded = encode_blocks(
            lambda low, high: column.slice(low, high - low), len(column), lambda _: None
        )
    else:
        encoded = encode_column(column)
    return Coded(narrow_codes(encoded.codes, encoded.cardinality), (encoded.values,))


def unit_codes(moments: pa.ChunkedArray, step: int) -> Coded | None:
    """Return the day, or the hour, of each TIMESTAMP as a code, with its first moment; NULL last.

    step: the microseconds of the unit. None where too many lie between the first and the last.
    """
    whole = moments.combine_chunks()
    numbers = words_of(whole) // step
    valid = None
    if whole.null_count:
        valid = pc.is_valid(whole).to_numpy(zero_copy_only=False)
    known = numbers if valid is None else numbers[valid]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, -1)
    count = high - low + 1
    if count >= DIRECT_CODES:
        return None
    codes = numbers - low if valid is None else np.where(valid, numbers - low, count)
    firsts = pa.array((np.arange(count) + low) * step).view(MOMENT)
    return Coded(narrow_codes(codes, count + 1), (pa.concat_arrays([firsts, pa.nulls(1, MOMENT)]),))


def narrow_codes(codes: NDArray[Any], code_count: int) -> NDArray[Any]:
    """Put codes into the narrowest type that holds them."""
    dtype = np.uint8 if code_count <= 2**8 else np.uint16 if code_count <= 2**16 else np.int32
    return codes.astype(dtype)


# -- expressions over codes


def value_of_codes(
    expression: Expression, source: tuple[Attribute, ...] | Expression | str, coded: Coded
) -> pa.Array:
    """Return the value of an expression over attributes, or over one of them, for each code.

    Raises DataError where it fails for one.
    """
    assert not isinstance(source, str)
    originals = source if isinstance(source, tuple) else (source,)
    names = {each: Attribute((), f"level {n}", each.type) for n, each in enumerate(originals)}
    inputs: dict[Expression, Any] = dict(zip(names.values(), coded.values, strict=True))
    return joined(evaluate(renamed(expression, names), inputs, coded.code_count))


def renamed(expression: Expression, names: Mapping[Expression, Attribute]) -> Expression:
    """Return an expression with attributes in the places of others, or of parts."""
    if expression in names:
        return names[expression]
    return rewrite(expression, lambda part: names.get(part, part))


# -- conditions with OR


@dataclass(frozen=True, eq=False, slots=True)
class CodedPart:
    """A part of a branch: the codes of all rows, and for which codes the part holds."""

    codes: NDArray[Any]
    holds: NDArray[np.bool_]


def without_null(condition: Expression) -> Expression:
    """Return a condition with OR as one that is false where it is NULL; any other as it is."""
    match condition:
        case Call(function="or", arguments=branches, type=kind) if len(branches) <= MOST_BRANCHES:
            return Call("coalesce", (condition, Literal(False, kind)), kind)
        case _:
            return condition


def branches_of(condition: Expression) -> tuple[tuple[Expression, ...], ...]:
    """Return the parts of each branch of what `without_null` returns; () for others."""
    match condition:
        case Call(
            function="coalesce",
            arguments=(Call(function="or", arguments=branches), Literal(value=False)),
        ):
            return tuple(map(conjuncts, branches)) if len(branches) <= MOST_BRANCHES else ()
        case _:
            return ()


def rows_of_any(
    branches: Sequence[Sequence[CodedPart | None]], row_count: int
) -> NDArray[np.uint8] | None:
    """Return 1 for each row for which all parts of some branch hold, 0 for others.

    None without branches, and where a part has no codes, as one that fails for some value. There
    are at most MOST_BRANCHES branches; parts of the same codes have the same array.
    """
    assert len(branches) <= MOST_BRANCHES
    if not branches or any(part is None for parts in branches for part in parts):
        return None
    dtype = np.dtype(np.uint8 if len(branches) <= 8 else np.uint64)
    tables: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
    every = dtype.type(2 ** len(branches) - 1)
    for number, parts in enumerate(branches):
        others = every ^ dtype.type(1 << number)
        for part in filter(None, parts):
            empty = np.full(len(part.holds), every, dtype)
            _, table = tables.setdefault(id(part.codes), (part.codes, empty))
            table[~part.holds] &= others
    passes = np.empty(row_count, np.uint8)
    for low in range(0, row_count, BLOCK_ROWS):
        check_interrupt()
        high = min(low + BLOCK_ROWS, row_count)
        bits = np.full(high - low, every, dtype)
        for codes, table in tables.values():
            bits &= table[codes[low:high]]
        passes[low:high] = bits != 0
    return passes
