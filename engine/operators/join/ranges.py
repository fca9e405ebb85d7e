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
    order: NDArray[np.int64] | None = None
    for number, comparison in enumerate(comparisons):
        codes = encode(one_after_the_other(comparison.build, comparison.probe))
        build, probe = codes.codes[:build_count], codes.codes[build_count:]
        if number == 0:
            order = _order(build, None if codes.valid is None else codes.valid[:build_count])
        # The codes may differ between comparisons, but not the order that they give.
        if order is not None:
            build = build[order]
        match comparison.function:
            case "less":
                np.maximum(start, np.searchsorted(build, probe, "right"), out=start)
            case "less_equal":
                np.maximum(start, np.searchsorted(build, probe, "left"), out=start)
            case "greater":
                np.minimum(stop, np.searchsorted(build, probe, "left"), out=stop)
            case _:
                np.minimum(stop, np.searchsorted(build, probe, "right"), out=stop)
        np.minimum(stop, len(build), out=stop)
        if codes.valid is not None:
            stop[~codes.valid[build_count:]] = 0
    return Ranges(start, np.maximum(start, stop, out=stop), order)


def _order(codes: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> NDArray[np.int64] | None:
    """Return the places of the codes that are valid, in order; None for all as they are."""
    known = None if valid is None or valid.all() else np.flatnonzero(valid)
    if known is not None:
        codes = codes[known]
    if bool((codes[1:] >= codes[:-1]).all()):
        return known
    order = np.argsort(codes, kind="stable")
    return order if known is None else known[order]


def one_after_the_other(
    first: pa.ChunkedArray | pa.Array, second: pa.ChunkedArray | pa.Array
) -> pa.ChunkedArray:
    """Return the values of both sides as one column."""
    chunks: list[pa.Array] = []
    for values in (first, second):
        chunks += values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return pa.chunked_array(chunks, first.type)
