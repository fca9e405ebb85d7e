"""An index that goes on with other rows: its lists are kept, and new rows look for theirs.

list   | kept rows, in order | added rows, in order |
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.vector.exact_search import frozen, norms_of
from raydb.kernels.vector.ivf import members_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl
    from raydb.kernels.vector.exact_search import Block
    from raydb.kernels.vector.ivf import Ivf

# Rows that are copied between two looks at an interrupt.
_PIECE = 2**14


def with_rows(
    index: Ivf,
    kept: NDArray[np.bool_],
    blocks: Sequence[Block],
    row_count: int,
    control: BuildControl,
) -> Ivf:
    """Return an index without some of its rows and with others; it has no graph.

    kept (n): whether each place still counts. blocks: the vectors of the rows that are added, whose
    numbers ascend from `index.row_count` on. Raises what `control` does where its room is too
    small, or to end the build.
    """
    from raydb.kernels.vector.loops.kmeans_loops import merge_places  # noqa: PLC0415  (numba)

    vectors, numbers = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    count = int(np.count_nonzero(kept)) + len(vectors)
    width = index.vectors.shape[1]
    held = count * (4 * width + 24 + (width + 4) * index.is_quantised) + vectors.nbytes
    control.room.take(held)
    norms = norms_of(vectors if index.metric != "hamming" else vectors[:0])
    members = members_of([(vectors, numbers)], index.centroids, index.metric, control)
    added = np.bincount(members, minlength=index.list_count)
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[index.offsets]
    starts = np.concatenate(([0], np.cumsum(added)))
    sources = np.empty(count, np.int64)
    order = np.argsort(members, kind="stable")
    merge_places(frozen(kept), index.offsets, order, starts, sources)
    scales = index.scales
    if index.metric == "cosine":
        scales = np.append(scales, (1 / norms).astype(np.float32))[sources]
    merged = replace(
        index,
        row_count=row_count,
        longest=max(index.longest, float(norms.max(initial=0.0))),
        offsets=before + starts,
        row_ids=np.append(index.row_ids, numbers.astype(np.uint32))[sources],
        vectors=_taken(index.vectors, vectors, sources, control),
        scales=scales,
        graph=None,
    )
    if index.is_quantised:
        merged = _with_codes(index, merged, sources, control)
    control.room.give(held - count * (4 * width + 4))
    return merged


def _taken(
    old: NDArray[Any], new: NDArray[Any], sources: NDArray[np.int64], control: BuildControl
) -> NDArray[Any]:
    """Return the rows that sources name, of old ones and behind these of new ones."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.kmeans_loops import take_rows  # noqa: PLC0415

    into, given = np.empty((len(sources), old.shape[1]), old.dtype), frozen(new)
    control.report("order", 0.0)

    def run(part: slice) -> None:
        take_rows(old, given, sources[part], into[part])

    run_slices(run, len(sources), _PIECE, _PIECE)
    return into


def _with_codes(index: Ivf, merged: Ivf, sources: NDArray[np.int64], control: BuildControl) -> Ivf:
    """Return an index with the codes that rows had, and those of the rows that were added."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.quantization import Codes, encode_added  # noqa: PLC0415

    known = len(index.row_ids)
    is_added = sources >= known
    new = int(np.count_nonzero(is_added))
    empty = np.zeros((new, index.codes.shape[1]), np.int8)
    into = Codes(
        _taken(index.codes, empty, sources, control),
        np.append(index.code_squares, np.zeros(new, np.float32))[sources],
        *(array.copy() for array in (index.code_centers, index.code_steps, index.code_errors)),
    )
    control.report("encode", 0.0)
    given = merged.vectors, merged.scales, merged.offsets, frozen(is_added)

    def run(part: slice) -> None:
        encode_added(*given, part.start, part.stop, into)

    lists = merged.list_count
    run_slices(run, lists, 1, max(lists * _PIECE // max(len(sources), 1), 1))
    fields = ("codes", "code_squares", "code_centers", "code_steps", "code_errors")
    changes: dict[str, Any] = dict(zip(fields, into, strict=True))
    return replace(merged, **changes)
