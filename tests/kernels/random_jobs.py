"""Random rows in cells, and random jobs over them."""

import numpy as np
import pyarrow as pa

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.bvh.encode import Hierarchy
from raydb.kernels.bvh.intervals import mask_intervals


def hierarchy(scan_count, codes_per_coordinate):
    codes = np.repeat(np.arange(scan_count, dtype=np.int32), codes_per_coordinate)
    return Hierarchy((0,), (pa.array(range(len(codes))),), codes, scan_count)


def random_case(seed, row_count=5_000):
    rng = np.random.default_rng(seed)
    hierarchies = [hierarchy(4, 3), hierarchy(5, 1), hierarchy(1, 6)]
    if seed % 3 == 0:
        # More cells than are addressed one by one.
        hierarchies = [hierarchy(400, 2), hierarchy(500, 1), hierarchy(1, 6)]
    codes = [rng.integers(0, h.code_count, row_count).astype(np.int32) for h in hierarchies]
    valid = rng.random(row_count) < 0.8
    measures = [
        (rng.integers(-50, 50, row_count), None),
        (np.where(valid, rng.integers(-(2**40), 2**40, row_count), 0), valid),
        (np.where(valid, rng.random(row_count), 0.0), valid),
    ]
    return rng, hierarchies, codes, measures


def random_job(rng, bvh):
    """A job with one map by cell and two by row, each a filter and a part of the group."""
    cells = rng.random(bvh.cell_count) < (0.5 if bvh.cells is None else 0.2)
    first, second, third = bvh.hierarchies
    by_cell = rng.integers(-1, 3, second.scan_count)
    by_row = rng.integers(-1, 2, first.code_count) * 3
    outside = rng.integers(-1, 2, third.code_count) * 6
    by_row[by_row < 0] = outside[outside < 0] = -1
    maps = (
        CodeMap(1, by_cell=True, groups=by_cell, filters=True),
        CodeMap(0, by_cell=False, groups=by_row, filters=True),
        CodeMap(2, by_cell=False, groups=outside, filters=True),
    )
    keep = int(rng.integers(0, 4))
    functions = ("sum", "count", "min", "max")
    accumulators = tuple(Accumulator(f, m) for m in range(3) for f in functions)
    if keep == 1:
        accumulators = tuple(a for a in accumulators if a.function in ("sum", "count"))
    return FusedJob(mask_intervals(cells), maps[:keep], 12, accumulators), cells
