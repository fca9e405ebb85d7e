"""An index that goes on with other rows: its lists are kept, and new rows look for theirs.

list   | kept rows, in order | added rows, in order |

The vectors are most of an index. They can be written list by list, from where they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.stored.pieces import Pieces
from raydb.kernels.vector.exact_search import frozen, norms_of
from raydb.kernels.vector.ivf import members_of, to_arrays
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl
    from raydb.kernels.stored.stored_arrays import StoredArrays
    from raydb.kernels.vector.exact_search import Block
    from raydb.kernels.vector.ivf import Ivf

# Rows that are encoded between two looks at an interrupt.
_PIECE = 2**14


class Merged(Deferred["Ivf"]):
    """An index whose vectors are still where they were; they are put together when it is asked for.

    rest: the index without its vectors.
    """

    __slots__ = ("_vectors", "rest")

    def __init__(self, rest: Ivf, vectors: Pieces) -> None:
        super().__init__(lambda: replace(rest, vectors=vectors.whole()))
        self.rest, self._vectors = rest, vectors

    def to_arrays(self) -> tuple[Mapping[str, NDArray[Any] | Pieces], dict[str, Any]]:
        """Return the index's arrays by name, and its properties, as of an index that is there."""
        arrays, properties = to_arrays(self.rest)
        return {**arrays, "vectors": self._vectors}, properties

    def read_from(self, arrays: StoredArrays) -> None:
        """Take the vectors from the file that the index was written to, once it is asked for."""
        vectors = arrays.peek("vectors", self._vectors.dtype, self._vectors.shape)
        self._vectors = Pieces.of(vectors)
        if self._make is not None:
            self._make = lambda: replace(self.rest, vectors=vectors)


@dataclass(frozen=True, eq=False, slots=True)
class _Lists:
    """Where the rows of lists come from.

    kept (n): whether each place still counts; before, starts (lists + 1): where each list begins
    among these places and among the added rows, which are in `order` by list.
    """

    kept: NDArray[np.bool_]
    before: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    def pieces(self, old: NDArray[Any], new: NDArray[Any]) -> Pieces:
        """Return what old places and added rows have, list by list."""
        count = int(np.count_nonzero(self.kept)) + len(new)
        blocks = partial(self._blocks, old, new[self.order])
        return Pieces(old.dtype, (count, *old.shape[1:]), blocks)

    def _blocks(self, old: NDArray[Any], new: NDArray[Any]) -> Iterator[NDArray[Any]]:
        for each in range(len(self.before) - 1):
            run = slice(self.before[each], self.before[each + 1])
            kept = self.kept[run]
            yield old[run] if kept.all() else old[run][kept]
            yield new[self.starts[each] : self.starts[each + 1]]


def with_rows(
    index: Ivf,
    kept: NDArray[np.bool_],
    blocks: Sequence[Block],
    row_count: int,
    control: BuildControl,
) -> Merged:
    """Return an index without some of its rows and with others; it has no graph.

    kept (n): whether each place still counts. blocks: the vectors of the rows that are added, whose
    numbers ascend from `index.row_count` on. Raises what `control` does where its room is too
    small, or to end the build.
    """
    vectors, numbers = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    count = int(np.count_nonzero(kept)) + len(vectors)
    width = index.vectors.shape[1]
    held = count * (4 * width + 8 + (width + 4) * index.is_quantised) + 2 * vectors.nbytes
    control.room.take(held)
    norms = norms_of(vectors if index.metric != "hamming" else vectors[:0])
    members = members_of([(vectors, numbers)], index.centroids, index.metric, control)
    added = np.bincount(members, minlength=index.list_count)
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[index.offsets]
    starts = np.concatenate(([0], np.cumsum(added)))
    lists = _Lists(kept, index.offsets, np.argsort(members, kind="stable"), starts)
    control.report("order", 0.0)
    scales = index.scales
    if index.metric == "cosine":
        scales = lists.pieces(scales, (1 / norms).astype(np.float32)).whole()
    rest = replace(
        index,
        row_count=row_count,
        longest=max(index.longest, float(norms.max(initial=0.0))),
        offsets=before + starts,
        row_ids=lists.pieces(index.row_ids, numbers.astype(np.uint32)).whole(),
        vectors=np.empty((0, width), np.float32),
        scales=scales,
        graph=None,
    )
    pieces = lists.pieces(index.vectors, vectors)
    if index.is_quantised:
        rest, pieces = _with_codes(index, rest, pieces, lists, control)
    control.room.give(held - count * (4 * width + 4))
    return Merged(rest, pieces)


def _with_codes(
    index: Ivf, rest: Ivf, pieces: Pieces, lists: _Lists, control: BuildControl
) -> tuple[Ivf, Pieces]:
    """Return the rest of an index with the codes that rows had, and those of added ones.

    Its vectors are in one place then, as encoding takes them.
    """
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.quantization import Codes, encode_added  # noqa: PLC0415

    known, new = len(index.row_ids), len(lists.order)
    vectors = frozen(pieces.whole())
    is_added = lists.pieces(np.zeros(known, np.bool_), np.ones(new, np.bool_)).whole()
    into = Codes(
        lists.pieces(index.codes, np.zeros((new, index.codes.shape[1]), np.int8)).whole(),
        lists.pieces(index.code_squares, np.zeros(new, np.float32)).whole(),
        *(array.copy() for array in (index.code_centers, index.code_steps, index.code_errors)),
    )
    control.report("encode", 0.0)
    given = vectors, rest.scales, rest.offsets, frozen(is_added)

    def run(part: slice) -> None:
        encode_added(*given, part.start, part.stop, into)

    count = rest.list_count
    run_slices(run, count, 1, max(count * _PIECE // max(len(is_added), 1), 1))
    fields = ("codes", "code_squares", "code_centers", "code_steps", "code_errors")
    changes: dict[str, Any] = dict(zip(fields, into, strict=True))
    return replace(rest, **changes), Pieces.of(vectors)
