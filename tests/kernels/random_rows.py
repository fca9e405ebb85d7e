"""Random rows of a BVH to be: codes behind pointers or not, masked rows, measures with NULLs."""

from dataclasses import dataclass

import numpy as np
from random_jobs import hierarchy

from raydb.kernels.bvh.build_input import RowCodes, Source


@dataclass(frozen=True)
class Case:
    """Row codes of each hierarchy and measures, all rows at once, and the same as a source."""

    hierarchies: list
    codes: list
    measures: list
    row_ids: np.ndarray
    source: Source


def random_case(rng, row_count, sizes, measure_kinds, share_live, pointed):
    """Make rows over hierarchies of (scan_count, codes a coordinate)."""
    hierarchies = [hierarchy(*size) for size in sizes]
    table_rows = row_count if share_live == 1 else int(row_count / share_live) + 1
    row_ids = np.sort(rng.permutation(table_rows)[:row_count]).astype(np.uint32)
    numbers = None if share_live == 1 else row_ids
    codes, sources = [], []
    for number, each in enumerate(hierarchies):
        if (number + pointed) % 2:
            things = rng.integers(0, each.code_count, 1 + rng.integers(0, 40)).astype(np.uint16)
            pointers = rng.integers(-1, len(things), table_rows).astype(np.int32)
            codes.append(things[pointers[row_ids]])
            sources.append(RowCodes(things, pointers, numbers))
        else:
            # As in real data, a few codes have most rows.
            own = (rng.random(row_count) ** 4 * each.code_count).astype(np.int32)
            codes.append(own)
            sources.append(RowCodes(own))
    measures = [random_measure(rng, kind, row_count) for kind in measure_kinds]
    source = Source(
        tuple(hierarchies),
        tuple(sources),
        tuple(reader(*measure) for measure in measures),
        row_count,
        numbers,
    )
    return Case(hierarchies, codes, measures, row_ids, source)


def random_measure(rng, kind, row_count):
    if kind == "float":
        return rng.normal(size=row_count), None
    values = rng.integers(-(2**kind), 2**kind, row_count)
    if kind % 2:
        valid = rng.random(row_count) < 0.7
        return np.where(valid, values, 0), valid
    return values, None


def reader(values, valid):
    """Read blocks; one without NULLs does not say which values are valid."""

    def read(low, high):
        some = None if valid is None else valid[low:high]
        return values[low:high], None if some is None or some.all() else some

    return read
