"""Builds a BVH on the device: a sort by cell, prefix sums, and a gather of the payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.bvh import (
    DENSE_CELLS,
    Bvh,
    Measure,
    count_cells,
    narrow_codes,
    narrow_measure,
)
from raydb.kernels.cuda.memory import to_host, xp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.encode import Hierarchy


def build_bvh(
    hierarchies: Sequence[Hierarchy],
    row_codes: Sequence[NDArray[np.int32]],
    measures: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None]],
    row_count: int,
) -> Bvh:
    """Return the same BVH as `CpuBackend.build`, array by array."""
    cell_count = count_cells(hierarchies)
    keys = xp.zeros(row_count, np.int64)
    for hierarchy, codes in zip(hierarchies, row_codes, strict=True):
        if hierarchy.scan_count > 1:
            keys *= hierarchy.scan_count
            keys += xp.asarray(hierarchy.scan_codes)[xp.asarray(codes)]
    order = xp.argsort(keys, kind="stable")
    cells, offsets = _find_offsets(keys[order], cell_count)
    del keys

    def gather(values: NDArray[Any]) -> NDArray[Any]:
        return to_host(xp.asarray(values)[order])

    stored = tuple(
        position for position, hierarchy in enumerate(hierarchies) if not hierarchy.is_scan_only
    )
    gathered_codes = tuple(
        gather(narrow_codes(row_codes[position], hierarchies[position].code_count))
        for position in stored
    )
    gathered = []
    for values, valid in measures:
        measure = narrow_measure(values, valid)
        kept = None if valid is None else gather(valid)
        gathered.append(Measure(gather(measure.values), kept, measure.low, measure.high))
    row_ids = to_host(order.astype(np.uint32))
    return Bvh(
        tuple(hierarchies),
        cell_count,
        cells,
        offsets,
        row_ids,
        stored,
        gathered_codes,
        tuple(gathered),
    )


def _find_offsets(
    sorted_keys: Any, cell_count: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """Return (cells, offsets) of sorted cell numbers, as a Bvh has them."""
    row_count = len(sorted_keys)
    if cell_count <= max(DENSE_CELLS, 2 * row_count):
        counts = xp.bincount(sorted_keys, minlength=cell_count)
        offsets = xp.zeros(cell_count + 1, np.int64)
        offsets[1:] = xp.cumsum(counts)
        return None, to_host(offsets)
    changes = xp.flatnonzero(sorted_keys[1:] != sorted_keys[:-1]) + 1
    firsts = xp.concatenate([xp.zeros(1, np.int64), changes])
    ends = xp.concatenate([firsts, xp.full(1, row_count, np.int64)]).astype(np.int64)
    return to_host(sorted_keys[firsts]), to_host(ends)
