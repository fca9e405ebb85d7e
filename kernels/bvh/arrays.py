"""A BVH as named arrays and back: what storage keeps, and maps again without a rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.bvh.bvh import Bvh, Measure
from raydb.kernels.bvh.encode import Hierarchy
from raydb.kernels.bvh.sieve import CellTotals, Sieve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


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


def from_arrays(arrays: Mapping[str, NDArray[Any]], properties: Mapping[str, Any]) -> Bvh:
    """Return the BVH of `to_arrays`; the arrays are used as they are, mapped ones too."""
    hierarchies = tuple(
        Hierarchy(
            columns=tuple(described["columns"]),
            levels=_levels_from_bytes(arrays[f"levels{number}"]),
            scan_codes=arrays[f"scan_codes{number}"],
            scan_count=described["scan_count"],
        )
        for number, described in enumerate(properties["hierarchies"])
    )
    measures = tuple(
        Measure(
            arrays[f"values{number}"],
            arrays.get(f"valid{number}"),
            described["low"],
            described["high"],
        )
        for number, described in enumerate(properties["measures"])
    )
    return Bvh(
        hierarchies=hierarchies,
        cell_count=properties["cell_count"],
        cells=arrays.get("cells"),
        offsets=arrays["offsets"],
        row_ids=arrays["row_ids"],
        stored=tuple(properties["stored"]),
        codes=tuple(arrays[f"codes{number}"] for number in range(len(properties["stored"]))),
        measures=measures,
        sieve=_sieve_from_arrays(arrays, len(measures)) if properties.get("is_sieved") else None,
    )


def _sieve_from_arrays(arrays: Mapping[str, NDArray[Any]], measure_count: int) -> Sieve:
    totals = tuple(
        CellTotals(
            arrays[f"cell_sums{number}"],
            arrays.get(f"cell_counts{number}"),
            arrays[f"cell_least{number}"],
            arrays[f"cell_most{number}"],
        )
        for number in range(measure_count)
    )
    return Sieve(totals)


def _levels_to_bytes(hierarchy: Hierarchy) -> NDArray[np.uint8]:
    names = [str(level) for level in range(len(hierarchy.levels))]
    table = pa.table(list(hierarchy.levels), names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _levels_from_bytes(data: NDArray[np.uint8]) -> tuple[pa.Array, ...]:
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    return tuple(
        column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        for column in table.columns
    )
