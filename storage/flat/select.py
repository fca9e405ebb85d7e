"""The rows for which a filter holds, found without touching many of the others.

    ranges   rows of chunks that zone maps and bloom filters do not rule out
    rows     of these, where `text == value` holds: compared in codes, nothing is decoded
    rows     of these, where the whole filter holds: evaluated by Arrow

Each column has chunks of its own size, so that what remains of one is intersected with what
remains of the next as ranges of rows.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from raydb.errors import ProgrammingError
from raydb.kernels.codecs.rows.entries import in_slices
from raydb.room import check_room, read_limit
from raydb.storage.flat import bloom
from raydb.storage.flat.encodings.encoding import Interval, Text
from raydb.storage.flat.encodings.find import find_rows
from raydb.storage.flat.encodings.taker import are_integers
from raydb.storage.flat.kinds import EXACT
from raydb.storage.flat.layout import Kind
from raydb.storage.flat.predicate import (
    STARTS_WITH,
    And,
    Comparison,
    Or,
    Predicate,
    build_expression,
    printed,
    read_comparisons,
    read_expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.column_reader import ColumnReader
    from raydb.storage.flat.encodings.encoding import Wanted
    from raydb.storage.flat.flat_table import FlatTable
    from raydb.storage.flat.metadata.column import Column
    from raydb.storage.flat.zone_map import Bounds

    Ranges = list[tuple[int, int]]

_TYPES = pa.types

# From the value of a comparison of integers to the least and the greatest one for which it holds.
_ENDS: dict[str, tuple[int | None, int | None]] = {
    "==": (0, 0),
    "<": (None, -1),
    "<=": (None, 0),
    ">": (1, None),
    ">=": (0, None),
}

# Rows are taken, and not their ranges read, where fewer than one in so many is selected; and where
# fewer than half are and there is room for all.
_SPARSE, _DENSE = 8, 2
# So many rows that follow each other are read and not taken.
_LONG = 2**13

# Of any column, where the time that they take is guessed.
_VALUE_BYTES = 8
# The numbers of rows are held three times: in ranges, joined, and those that match.
_NUMBER_BYTES = 24


def select_rows(source: FlatTable, wanted: Any) -> tuple[NDArray[np.int64], Ranges]:
    """Return the rows for which a filter holds, ascending, and the ranges that were not skipped.

    wanted: a pyarrow Expression, or a sequence of (column, operator, value).
    Raises ProgrammingError for a filter that cannot be evaluated.
    """
    schema = source.schema
    if hasattr(wanted, "to_substrait"):
        expression, predicate = wanted, read_expression(wanted, schema)
    elif isinstance(wanted, list | tuple):
        predicate = read_comparisons(wanted, schema)
        expression = None if predicate is None else build_expression(predicate)
    else:
        raise ProgrammingError(
            "a filter is a pyarrow Expression or a sequence of (column, operator, value), "
            f"not {wanted!r}"
        )
    everything = [(0, source.row_count)] if source.row_count else []
    if expression is None:
        return np.arange(source.row_count), everything
    if predicate is None:
        names = _names_in(printed(expression), schema)
        return _evaluate(source, expression, names, None, everything), everything
    source.bring(_columns_of(predicate), [])
    ranges = _possible_ranges(source, predicate)
    parts = _conjuncts(predicate)
    found = _first_wanted(source, [part for part in parts if isinstance(part, Comparison)])
    if found is None:
        return _evaluate(source, expression, _columns_of(predicate), None, ranges), ranges
    name, wanted, told = found
    rows = find_rows(source.reader(name), wanted, ranges)
    rest = [part for part in parts if all(part is not each for each in told)]
    if not rest:
        return rows, ranges
    left: Predicate = reduce(And, rest)
    return _evaluate(source, build_expression(left), _columns_of(left), rows, ranges), ranges


def possible_ranges(source: FlatTable, wanted: Sequence[tuple[str, str, Any]]) -> Ranges:
    """Return the ranges of rows that zone maps and bloom filters do not rule out.

    wanted: (column, operator, value) that must all hold; of none, all rows are left.
    """
    everything = [(0, source.row_count)] if source.row_count else []
    predicate = read_comparisons(list(wanted), source.schema) if wanted else None
    if predicate is not None:
        source.bring(_columns_of(predicate), [])
    return everything if predicate is None else _possible_ranges(source, predicate)


def _names_in(text: str, schema: Any) -> list[str]:
    """Return the columns that a printed expression may refer to: by name, or all if by number."""
    if "FieldPath" in text or not text:
        return list(schema.names)
    return [name for name in schema.names if name in text]


def _columns_of(predicate: Predicate) -> list[str]:
    match predicate:
        case Comparison(column, _, _):
            return [column]
        case And(left, right) | Or(left, right):
            return list(dict.fromkeys(_columns_of(left) + _columns_of(right)))


def _evaluate(
    source: FlatTable,
    expression: Any,
    names: Sequence[str],
    rows: NDArray[np.int64] | None,
    ranges: Ranges,
) -> NDArray[np.int64]:
    """Return those of `rows` (None: of the ranges) for which an expression holds, ascending."""
    if rows is None:
        count = sum(stop - start for start, stop in ranges)
        check_room(_NUMBER_BYTES * count, f"the rows of file '{source.path}' that may match")
        parts = [np.arange(start, stop) for start, stop in ranges]
        rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
        source.bring(names, ranges)
        columns = [_read(source.reader(name), ranges) for name in names]
    else:
        source.bring(names, rows)
        columns = [source.reader(name).take(rows) for name in names]
    number = "row"
    while number in source.schema.names:
        number += "_"
    table = pa.table([*columns, pa.array(rows)], names=[*names, number])
    try:
        kept = table.filter(expression).column(number)
    except (pa.ArrowException, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ProgrammingError(f"the filter {expression} cannot be evaluated: {reason}") from None
    # Arrow's threads may return batches in another order.
    return np.sort(kept.to_numpy())


def _conjuncts(predicate: Predicate) -> list[Predicate]:
    """Return the predicates that must all hold."""
    match predicate:
        case And(left, right):
            return _conjuncts(left) + _conjuncts(right)
        case _:
            return [predicate]


def _first_wanted(
    source: FlatTable, comparisons: list[Comparison]
) -> tuple[str, Wanted, list[Comparison]] | None:
    """Return a column that is searched without decoding it, for what, and what that answers.

    Few rows equal a text; more begin with one, or have an integer of some range.
    """
    columns = {each.column: source.reader(each.column).column for each in comparisons}
    for symbol in ("==", STARTS_WITH):
        for each in comparisons:
            column = columns[each.column]
            value = comparable(column, each.value) if column.kind is Kind.BYTES else None
            if each.operator == symbol and value is not None:
                return each.column, Text(value, symbol == STARTS_WITH), [each]
    for name, column in columns.items():
        if are_integers(column):
            told = [each for each in comparisons if each.column == name]
            interval, told = _interval(column, told)
            if told:
                return name, interval, told
    return None


def _interval(column: Column, comparisons: list[Comparison]) -> tuple[Interval, list[Comparison]]:
    """Return the integers for which comparisons hold, and which of them these are."""
    least, greatest = int(np.iinfo(column.dtype).min), int(np.iinfo(column.dtype).max)
    told = []
    for each in comparisons:
        value = comparable(column, each.value)
        if value is None or each.operator not in _ENDS:
            continue
        told.append(each)
        low, high = _ENDS[each.operator]
        least = least if low is None else max(least, value + low)
        greatest = greatest if high is None else min(greatest, value + high)
    return Interval(least, greatest), told


def _is_bytes(column: Column, data_type: Any) -> bool:
    """Tell whether a column and a value are both texts, or both bytes."""
    if column.kind is not Kind.BYTES:
        return False
    if column.is_text:
        return bool(_TYPES.is_string(data_type) or _TYPES.is_large_string(data_type))
    return bool(_TYPES.is_binary(data_type) or _TYPES.is_large_binary(data_type))


# The selected rows


def read_selected(
    readers: Sequence[ColumnReader], rows: NDArray[np.int64], ranges: Ranges
) -> list[Any]:
    """Return the selected rows of columns, of the ranges that were not skipped."""
    if len(rows) >= _LONG and rows[-1] - rows[0] == len(rows) - 1:
        all_of = [(int(rows[0]), int(rows[-1]) + 1)]
        return _by_column(lambda reader: _read(reader, all_of), readers, len(rows))
    spanned = sum(stop - start for start, stop in ranges)
    if len(rows) * _SPARSE < spanned or (len(rows) * _DENSE < spanned and _fit(readers)):
        return _by_column(lambda reader: reader.take(rows), readers, len(rows))
    # Arrow filters chunk by chunk; its take would join chunks, of 2 GiB at most.
    # A byte of the mask for each, and four numbers for each that matches.
    what = readers[0].column.file.path if readers else ""
    check_room(spanned + 32 * len(rows), f"the rows of file '{what}' that match")
    mask = np.zeros(spanned, np.bool_)
    mask[_places_in(rows, ranges)] = True
    selected = pa.array(mask)

    return _by_column(lambda reader: _read(reader, ranges).filter(selected), readers, len(rows))


def _read(reader: ColumnReader, ranges: Ranges) -> Any:
    return pa.chunked_array(reader.read(ranges), reader.column.field.type)


def _by_column(
    read: Callable[[ColumnReader], Any], readers: Sequence[ColumnReader], row_count: int
) -> list[Any]:
    """Return what `read` returns of each column, on several threads where that pays."""
    found: list[Any] = [None] * len(readers)

    def read_some(first: int, last: int) -> None:
        found[first:last] = map(read, readers[first:last])

    in_slices(read_some, len(readers), _VALUE_BYTES * row_count * len(readers), at_once=1)
    return found


def _fit(readers: Sequence[ColumnReader]) -> bool:
    """Tell whether all rows may be in memory: nobody need ask how much some of them take."""
    limit = read_limit()
    return limit is None or sum(reader.decoded_bytes(math.inf) for reader in readers) <= limit


def _places_in(rows: NDArray[np.int64], ranges: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Return where each row stands among the rows of ascending ranges."""
    starts = np.array([start for start, _ in ranges], np.int64)
    lengths = np.array([stop - start for start, stop in ranges], np.int64)
    shifts = starts - (np.cumsum(lengths) - lengths)
    return rows - shifts[np.searchsorted(starts, rows, "right") - 1]


# Chunks that are ruled out


def _possible_ranges(source: FlatTable, predicate: Predicate) -> Ranges:
    """Return the ranges of rows in which a predicate may hold."""
    match predicate:
        case And(left, right):
            return _intersect(_possible_ranges(source, left), _possible_ranges(source, right))
        case Or(left, right):
            return _unite(_possible_ranges(source, left) + _possible_ranges(source, right))
        case Comparison(name, symbol, scalar):
            return _comparison_ranges(source.reader(name), symbol, scalar)


def _comparison_ranges(reader: ColumnReader, symbol: str, scalar: Any) -> Ranges:
    column = reader.column
    entries = column.entries
    possible = entries["null_count"] < entries["row_count"]
    value = comparable(column, scalar)
    if value is not None:
        for number in np.flatnonzero(possible).tolist():
            bounds = reader.bounds[number]
            possible[number] = bounds is None or _may_hold(bounds, symbol, value)
        if symbol == "==" and len(column.bloom_starts):
            possible &= bloom.may_contain(
                reader.blooms, column.bloom_starts, _digest(column, value)
            )
    # Chunks that follow each other are one range.
    changes = np.flatnonzero(np.diff(possible, prepend=False, append=False))
    firsts = np.append(entries["first_row"].astype(np.int64), column.header.row_count)
    return [(start, stop) for start, stop in firsts[changes].reshape(-1, 2).tolist()]


def comparable(column: Column, scalar: Any) -> Any:
    """Return a value as the zone maps of a column have theirs; None if they cannot tell.

    Only values that compare the same way there and in Arrow: no integer beside a float column that
    rounds it, no text beside a number.
    """
    if not scalar.is_valid:
        return None
    data_type, wanted = column.field.type, scalar.type
    match column.kind:
        case Kind.BOOLEAN:
            return int(scalar.as_py()) if _TYPES.is_boolean(wanted) else None
        case Kind.BYTES:
            return scalar.as_buffer().to_pybytes() if _is_bytes(column, wanted) else None
        case Kind.FLOAT:
            return _float_value(column, scalar)
        case Kind.DECIMAL:
            return _decimal_value(data_type, scalar)
        case Kind.SIGNED | Kind.UNSIGNED if _TYPES.is_integer(data_type):
            return scalar.as_py() if _TYPES.is_integer(wanted) else None
        case Kind.SIGNED:
            return _temporal_value(data_type, scalar)
        case _:
            return None


def _float_value(column: Column, scalar: Any) -> float | None:
    if not (_TYPES.is_floating(scalar.type) or _TYPES.is_integer(scalar.type)):
        return None
    value = scalar.as_py()
    with np.errstate(over="ignore"):
        rounded = np.array([float(value)]).astype(column.dtype)[0].item()
    return float(value) if rounded == value or math.isnan(value) else None


def _decimal_value(data_type: Any, scalar: Any) -> int | None:
    if not (_TYPES.is_decimal(scalar.type) or _TYPES.is_integer(scalar.type)):
        return None
    try:
        value = scalar.cast(data_type).as_py()
    except pa.ArrowInvalid:
        return None
    return int(value.scaleb(data_type.scale, EXACT))


def _temporal_value(data_type: Any, scalar: Any) -> int | None:
    zone, other = getattr(data_type, "tz", None), getattr(scalar.type, "tz", None)
    if not _TYPES.is_temporal(scalar.type) or (zone is None) != (other is None):
        return None
    try:
        value = scalar.cast(data_type)
        # Arrow cuts a time of a day to the day, and a day off a time, without an error.
        is_exact = value.cast(scalar.type).equals(scalar)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return int(value.value) if is_exact else None


def _may_hold(bounds: Bounds, symbol: str, value: Any) -> bool:
    """Tell whether a comparison may hold for a value between the bounds."""
    least, greatest = bounds.minimum, bounds.maximum
    match symbol:
        case "==":
            return bool(least <= value and (greatest is None or value <= greatest))
        case "!=":
            is_one = bounds.minimum_exact and bounds.maximum_exact and not bounds.has_nan
            return not (is_one and least == value == greatest)
        case "<":
            return bool(least < value)
        case "<=":
            return bool(least <= value)
        case ">":
            return bool(greatest is None or greatest > value)
        case "starts_with":
            ends = greatest is None or greatest[: len(value)] >= value
            return bool(least[: len(value)] <= value and ends)
        case _:
            return bool(greatest is None or greatest >= value)


def _digest(column: Column, value: Any) -> int:
    if column.kind is Kind.BYTES:
        return xxh3_64_intdigest(value)
    words = np.array([value % 2**64], np.uint64).view(np.int64)
    return int(bloom.hash_integers(words)[0])


def _unite(ranges: Ranges) -> Ranges:
    """Return ranges in ascending order, those that touch or overlap joined."""
    joined: Ranges = []
    for start, stop in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _intersect(left: Ranges, right: Ranges) -> Ranges:
    """Return the rows that both of two ascending lists of disjoint ranges hold."""
    common: Ranges = []
    one = other = 0
    while one < len(left) and other < len(right):
        start = max(left[one][0], right[other][0])
        stop = min(left[one][1], right[other][1])
        if start < stop:
            common.append((start, stop))
        if left[one][1] < right[other][1]:
            one += 1
        else:
            other += 1
    return common
