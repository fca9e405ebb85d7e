"""Joins by comparisons: each row's partners are a range of the other side's sorted rows.

probe.x < build.y                               the build rows whose y is above x
probe.low <= build.y AND probe.high > build.y   the build rows between two places

So they are found by two binary searches a row, and no pair is made that is no pair of partners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.codes import encode
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Ranges:
    """The partners of probe row `rows[i]` are the build rows `order[start[i]:stop[i]]`.

    Without `rows` it is row i; without `order` the partners are the rows of those numbers.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    order: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None

    def pair_count(self) -> int:
        """Return the number of pairs."""
        return int((self.stop - self.start).sum())


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """`probe <function> build`, row by row of each side."""

    function: str
    probe: pa.ChunkedArray | pa.Array
    build: pa.ChunkedArray | pa.Array


def find_ranges(comparisons: Sequence[Comparison]) -> Ranges:
    """Return the partners by comparisons that all have the same build side.

    NULL compares with nothing.
    """
    build_count = len(comparisons[0].build)
    start = np.zeros(len(comparisons[0].probe), np.int64)
    stop = np.full(len(start), build_count)
    order = np.arange(0)
    for comparison in comparisons:
        codes = encode(one_after_the_other(comparison.build, comparison.probe))
        valid = np.ones(len(codes.codes), np.bool_) if codes.valid is None else codes.valid
        build, probe = codes.codes[:build_count], codes.codes[build_count:]
        known = np.flatnonzero(valid[:build_count])
        # The codes may differ between comparisons, but not the order that they give.
        order = known[np.argsort(build[known], kind="stable")]
        stop = np.where(valid[build_count:], np.minimum(stop, len(order)), 0)
        match comparison.function:
            case "less":
                start = np.maximum(start, np.searchsorted(build[order], probe, "right"))
            case "less_equal":
                start = np.maximum(start, np.searchsorted(build[order], probe, "left"))
            case "greater":
                stop = np.minimum(stop, np.searchsorted(build[order], probe, "left"))
            case _:
                stop = np.minimum(stop, np.searchsorted(build[order], probe, "right"))
    return Ranges(start, np.maximum(start, stop), order)


def one_after_the_other(
    first: pa.ChunkedArray | pa.Array, second: pa.ChunkedArray | pa.Array
) -> pa.ChunkedArray:
    """Return the values of both sides as one column."""
    chunks: list[pa.Array] = []
    for values in (first, second):
        chunks += values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return pa.chunked_array(chunks, first.type)
