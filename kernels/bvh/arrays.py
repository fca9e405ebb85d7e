"""A BVH as named arrays and back: what storage keeps, and maps again without a rebuild."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.kernels.bvh.bvh import Bvh, Measure, code_type
from raydb.kernels.bvh.encode import Hierarchy
from raydb.kernels.bvh.sieve import CellTotals, Sieve
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.stored.ipc import read_table
from raydb.kernels.stored.stored_arrays import ascending, below, flags, rising, spans
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from raydb.kernels.stored.described import Described
    from raydb.kernels.stored.stored_arrays import Rule, StoredArrays

# What values of measures are stored as.
_VALUES = (np.int8, np.int16, np.int32, np.int64, np.float64)


def to_arrays(bvh: Bvh) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return a BVH's arrays by name, and its properties as JSON values.

    The levels of a hierarchy, which are Arrow arrays, become the bytes of one Arrow IPC stream.
    """
    arrays: dict[str, NDArray[Any]] = {
        "offsets": bvh.offsets,
        "row_ids": bvh.row_ids,
    }
    for number, codes in enumerate(bvh.codes):
        arrays[f"codes{number}"] = codes
    if bvh.cells is not None:
        arrays["cells"] = bvh.cells
    for number, hierarchy in enumerate(bvh.hierarchies):
        arrays[f"scan_codes{number}"] = hierarchy.scan_codes
        arrays[f"levels{number}"] = _levels_to_bytes(hierarchy)
    for number, measure in enumerate(bvh.measures):
        arrays[f"values{number}"] = measure.values
        if measure.valid is not None:
            arrays[f"valid{number}"] = measure.valid
    for number, totals in enumerate(() if bvh.sieve is None else bvh.sieve.totals):
        arrays[f"cell_sums{number}"] = totals.sums
        arrays[f"cell_least{number}"] = totals.least
        arrays[f"cell_most{number}"] = totals.most
        if totals.counts is not None:
            arrays[f"cell_counts{number}"] = totals.counts
    properties = {
        "cell_count": bvh.cell_count,
        "stored": bvh.stored,
        "is_sieved": bvh.sieve is not None,
        "hierarchies": [
            {"columns": hierarchy.columns, "scan_count": hierarchy.scan_count}
            for hierarchy in bvh.hierarchies
        ],
        "measures": [{"low": measure.low, "high": measure.high} for measure in bvh.measures],
    }
    return arrays, properties


def from_arrays(arrays: StoredArrays, properties: Described, row_limit: int) -> Bvh:
    """Return the BVH of `to_arrays`; the arrays are used as they are, mapped ones too.

    row_limit: the rows of the table, whose numbers are less. What a plan is made of is checked now,
    what there is of each entry and of each row when it is first read. Raises OperationalError.
    """
    hierarchies = tuple(
        _hierarchy(arrays, described, number)
        for number, described in enumerate(properties["hierarchies"].items())
    )
    cell_count = properties["cell_count"].integer()
    if cell_count != math.prod(hierarchy.scan_count for hierarchy in hierarchies):
        raise properties["cell_count"].fault("the product of the counts of coordinates")
    row_count = len(arrays.peek("row_ids", np.uint32, (-1,)))
    placed = _Rows(arrays)
    cells = None
    entry_count = cell_count
    if "cells" in arrays:
        cells = placed.take("cells", np.int64, -1, rising, below(cell_count))
        entry_count = len(cells)
    offsets = placed.take("offsets", np.int64, entry_count + 1, spans(row_count))
    stored = [n for n, hierarchy in enumerate(hierarchies) if not hierarchy.is_scan_only]
    if [each.integer() for each in properties["stored"].items()] != stored:
        raise properties["stored"].fault(str(stored))
    numbered = _Rows(arrays)
    rows = _Rows(arrays, row_count, entry_count)
    return Bvh(
        hierarchies=hierarchies,
        cell_count=cell_count,
        cells=cells,
        offsets=offsets,
        row_ids=numbered.take("row_ids", np.uint32, row_count, below(row_limit)),
        stored=tuple(stored),
        codes=tuple(
            rows.take(f"codes{place}", code_type(count), row_count, below(count))
            for place, count in enumerate(hierarchies[number].code_count for number in stored)
        ),
        measures=(
            measures := tuple(
                _measure(rows, described, number)
                for number, described in enumerate(properties["measures"].items())
            )
        ),
        sieve=_sieve(rows, measures) if _is_sieved(properties) else None,
        placed=Deferred(placed.check),
        checked=Deferred(rows.check),
        numbered=Deferred(numbered.check),
    )


@dataclass(eq=False, slots=True)
class _Rows:
    """Arrays with something of each row or entry, which are not checked before they are read."""

    arrays: StoredArrays
    row_count: int = 0
    entry_count: int = 0
    unchecked: list[tuple[str, tuple[Rule, ...]]] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def take(self, name: str, dtype: DTypeLike, length: int, *rules: Rule) -> NDArray[Any]:
        """Return an array that `check` is to look at."""
        self.unchecked.append((name, rules))
        return self.arrays.peek(name, dtype, (length,))

    def check(self) -> None:
        """Check all arrays that were taken. Raises OperationalError."""
        self.arrays.bring([name for name, _ in self.unchecked])
        for name, rules in self.unchecked:
            check_interrupt()
            self.arrays.check(name, *rules)


def _hierarchy(arrays: StoredArrays, described: Described, number: int) -> Hierarchy:
    name = f"scan_codes{number}"
    scan_codes = arrays.take(name, np.int32, (-1,), ascending)
    # Every coordinate occurs: a part of the codes lies at each.
    steps = np.flatnonzero(np.diff(scan_codes, prepend=-1))
    scan_count = described["scan_count"].integer(0 if len(scan_codes) == 0 else 1)
    is_whole = len(steps) == scan_count and np.array_equal(scan_codes[steps], np.arange(scan_count))
    if len(scan_codes) and not is_whole:
        raise arrays.fault(name, f"ascending, with each of {scan_count} coordinates", "others")
    columns = tuple(each.integer() for each in described["columns"].items())
    levels = _levels_from_bytes(arrays, f"levels{number}", len(columns), len(scan_codes))
    return Hierarchy(columns, levels, scan_codes, scan_count)


def _measure(rows: _Rows, described: Described, number: int) -> Measure:
    low, high = (described[name].integer(-(2**63)) for name in ("low", "high"))
    kind = rows.arrays.type_of(f"values{number}", *_VALUES)
    values = rows.take(f"values{number}", kind, rows.row_count)
    valid = None
    if f"valid{number}" in rows:
        valid = rows.take(f"valid{number}", np.bool_, rows.row_count, flags)
    return Measure(values, valid, low, high)


def _is_sieved(properties: Described) -> bool:
    is_sieved = properties.find("is_sieved")
    return is_sieved is not None and is_sieved.flag()


def _sieve(rows: _Rows, measures: tuple[Measure, ...]) -> Sieve:
    count = rows.entry_count

    def totals(number: int, measure: Measure) -> CellTotals:
        sums, counts = f"cell_sums{number}", None
        if measure.is_float:
            kind, sum_count = np.dtype(np.float64), count
        else:
            kind, sum_count = rows.arrays.type_of(sums, np.int32, np.int64), count + 1
        if measure.valid is not None:
            counts = rows.take(f"cell_counts{number}", np.uint32, count + 1)
        return CellTotals(
            rows.take(sums, kind, sum_count),
            counts,
            rows.take(f"cell_least{number}", measure.values.dtype, count),
            rows.take(f"cell_most{number}", measure.values.dtype, count),
        )

    return Sieve(tuple(totals(number, measure) for number, measure in enumerate(measures)))


def _levels_to_bytes(hierarchy: Hierarchy) -> NDArray[np.uint8]:
    names = [str(level) for level in range(len(hierarchy.levels))]
    table = pa.table(list(hierarchy.levels), names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _levels_from_bytes(
    arrays: StoredArrays, name: str, level_count: int, code_count: int
) -> tuple[pa.Array, ...]:
    table = read_table(arrays.take(name, np.uint8, (-1,)))
    if table is None or table.shape != (code_count, level_count):
        expected = f"a stream of {level_count} columns of {code_count} values"
        raise arrays.fault(name, expected, "other bytes" if table is None else table.shape)
    return tuple(
        column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        for column in table.columns
    )
