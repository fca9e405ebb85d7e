"""The IVF index: vectors in lists, each around a centroid; a query scans the nearest lists.

    centroids   (lists, d)     k-means of a sample (Lloyd), seeded
    squares     (lists)        |c|^2 of each centroid
    offsets     (lists + 1)    list i holds the places offsets[i] .. offsets[i + 1]
    row_ids     (n)            the row of each place, ascending within a list
    vectors     (n, d)         its vector; a list is one run of memory
    scales      (n)            1 / norm under cosine, else empty
    codes       (n, d)         its vector as bytes where the index is quantised, else empty, with
    code_...                   what they stand for: see `raydb.kernels.vector.loops.quantization`

It may have a graph over the vectors, too: see `raydb.kernels.vector.graph`.

Centroids under cosine are those of unit vectors. After Sivic and Zisserman, Video Google (2003).
"""

from __future__ import annotations

from dataclasses import field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from raydb.interrupts import check_interrupt
from raydb.kernels.bvh.build_input import unwatched
from raydb.kernels.stored.stored_arrays import below, between, spans
from raydb.kernels.vector.exact_search import (
    EVERY,
    LARGEST,
    METRICS,
    SHORTEST,
    Metric,
    Neighbours,
    first_unusable,
    frozen,
    no_neighbours,
    norms_of,
    unit,
    unprepared,
)
from raydb.kernels.vector.graph import from_arrays as graph_from_arrays
from raydb.kernels.vector.kmeans import assign, squares_of, train, train_bits
from raydb.kernels.vector.stop_rule import ANYWHERE, SCORES, StopRule
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl
    from raydb.kernels.stored.described import Described
    from raydb.kernels.stored.stored_arrays import StoredArrays
    from raydb.kernels.vector.exact_search import Block
    from raydb.kernels.vector.graph import Graph

    Vectors = NDArray[np.float32]

_PROPERTIES = ("metric", "row_count", "longest")
_CODES = ("codes", "code_squares", "code_centers", "code_steps", "code_errors")
_ARRAYS = ("centroids", "squares", "offsets", "row_ids", "vectors", "scales", *_CODES)

# What k-means is trained with: so many vectors a list; for many lists fewer, as it takes so long.
SAMPLE_PER_LIST = 256
LEAST_PER_LIST = 64
MANY_SAMPLED = 2**17

# Rows that are put in lists between two reports.
_PIECE = 2**17

# Fewer queries share no lists to speak of: each is then searched alone, and scans none too many.
_SHARING = 16

# Fewer queries are not worth a thread; of more, the scores of all lists leave the cache.
_MIN_QUERIES = 16
_MAX_QUERIES = 1024

# Where the lists of so many queries have more numbers than this, fewer are searched at a time, for
# a statement hears an interrupt between two slices; with too few of them, each list is read anew.
# A rule is taken to scan at least this share of the lists.
_MAX_COMPARED = 2**32
_SHARING_QUERIES = 256
_RULE_SHARE = 1 / 16


@dataclass(frozen=True, eq=False, slots=True)
class Ivf:
    """Vectors in lists; see the module. `row_count` rows were there when it was built.

    longest: the greatest norm of a vector. bits: how many each row has under hamming, where
    vectors and centroids are words; else 0.
    """

    metric: Metric
    row_count: int
    longest: float
    centroids: Vectors
    squares: Vectors
    offsets: NDArray[np.int64]
    row_ids: NDArray[np.uint32]
    vectors: Vectors
    scales: Vectors
    codes: NDArray[np.int8]
    code_squares: Vectors
    code_centers: Vectors
    code_steps: Vectors
    code_errors: Vectors
    graph: Graph | None = None
    bits: int = 0
    loop_codes: tuple[NDArray[Any], ...] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only, as mapped ones are, and collect the codes, as loops take them.

        Each search would take 1 us for that.
        """
        for name in _ARRAYS:
            array = np.ascontiguousarray(getattr(self, name))
            object.__setattr__(self, name, frozen(array))
        codes = tuple(getattr(self, name) for name in _CODES) if self.is_quantised else None
        object.__setattr__(self, "loop_codes", codes)

    @property
    def list_count(self) -> int:
        """The number of lists."""
        return len(self.centroids)

    @property
    def is_quantised(self) -> bool:
        """Whether rows are scanned as bytes, and only those that may count as vectors."""
        return len(self.code_centers) > 0

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        own: int = sum(getattr(self, name).nbytes for name in _ARRAYS)
        return own + (self.graph.size_bytes if self.graph else 0)


def no_codes(width: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of `Codes` for rows without."""
    empty = np.empty((0, width), np.float32)
    return {
        "codes": empty.astype(np.int8),
        "code_squares": np.empty(0, np.float32),
        "code_centers": empty,
        "code_steps": empty,
        "code_errors": np.empty((0, 2), np.float32),
    }


def build_ivf(
    vectors: Vectors,
    row_ids: NDArray[np.uint32],
    row_count: int,
    lists: int,
    metric: Metric,
    seed: int,
    *,
    has_codes: bool = False,
) -> Ivf:
    """Put vectors (n, d), with the ascending numbers of their rows, in lists; see `build_from`."""
    blocks = [(vectors, row_ids)]
    return build_from(blocks, row_count, lists, metric, seed, unwatched(), has_codes=has_codes)


def build_from(
    blocks: Sequence[Block],
    row_count: int,
    lists: int,
    metric: Metric,
    seed: int,
    control: BuildControl,
    *,
    has_codes: bool = False,
    bits: int = 0,
) -> Ivf:
    """Put the vectors of some blocks, whose rows' numbers ascend, in lists.

    lists: at most as many as there are vectors. row_count: the rows of the table, those without a
    vector too. has_codes: whether rows are quantised to bytes. The same seed gives the same lists
    on the same machine, whatever the blocks and the threads. Raises what `control` does where its
    room is too small, or to end the build.
    """
    count, width = sum(len(block) for block, _ in blocks), blocks[0][0].shape[1]
    assert lists <= count, (lists, count)
    is_bits = metric == "hamming"
    wanted = max(min(lists * SAMPLE_PER_LIST, MANY_SAMPLED), lists * LEAST_PER_LIST)
    # Bits are trained as numbers, which take 32 times as long and as much room.
    sampled = min(count, lists * LEAST_PER_LIST if is_bits else wanted)
    trained = 32 * width if is_bits else width
    # The index, the list and the place of each row; the sample, its order and the sums.
    own_bytes = count * (4 * width + 4 + 4 * (metric == "cosine") + 8)
    sample_bytes = sampled * (4 * trained + 12) + lists * trained * 20
    if has_codes:
        own_bytes += count * (width + 4) + 8 * lists * (width + 1)
    control.room.take(own_bytes + sample_bytes)
    rng = np.random.default_rng(seed)
    sample = _sample(blocks, np.sort(rng.choice(count, sampled, replace=False)))
    if metric == "cosine":
        sample = unit(sample)
    told = partial(control.report, "train")
    if is_bits:
        centroids = train_bits(sample, lists, rng, told)
    else:
        centroids = train(sample, lists, metric, rng, told)
    del sample
    members = members_of(blocks, centroids, metric, control)
    control.room.give(sample_bytes)
    kept, numbers, offsets = _ordered(blocks, members, lists, control)
    measured = _pieces(kept[:0] if is_bits else kept)
    norms = np.concatenate([norms_of(each) for each in measured] or [np.empty(0)])
    scales = (1 / norms if metric == "cosine" else norms[:0]).astype(np.float32)
    squares = squares_of(centroids, metric)
    longest = float(norms.max(initial=0.0))
    arrays = (centroids, squares, offsets, numbers, kept, scales)
    codes = _encoded(kept, scales, offsets, control) if has_codes else no_codes(width)
    return Ivf(metric, row_count, longest, *arrays, **codes, graph=None, bits=bits)


def _encoded(
    vectors: Vectors, scales: Vectors, offsets: NDArray[np.int64], control: BuildControl
) -> dict[str, NDArray[Any]]:
    """Return the codes of vectors by list, and what they stand for."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.quantization import Codes, encode_lists  # noqa: PLC0415

    (count, width), lists = vectors.shape, len(offsets) - 1
    into = Codes(
        np.empty((count, width), np.int8),
        np.empty(count, np.float32),
        np.empty((lists, width), np.float32),
        np.empty((lists, width), np.float32),
        np.empty((lists, 2), np.float32),
    )
    given = frozen(vectors), frozen(scales), frozen(offsets)

    def run(part: slice) -> None:
        encode_lists(*given, part.start, part.stop, into)

    control.report("encode", 0.0)
    run_slices(run, lists, 1, max(lists * _PIECE // max(count, 1) // 8, 1))
    return dict(zip(_CODES, into, strict=True))


def _pieces(vectors: Vectors) -> Iterator[Vectors]:
    return (vectors[start : start + _PIECE] for start in range(0, len(vectors), _PIECE))


def _sample(blocks: Sequence[Block], chosen: NDArray[np.int64]) -> Vectors:
    """Return some vectors by their ascending places in all blocks."""
    ends = np.cumsum([len(block) for block, _ in blocks])
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    starts = np.concatenate(([0], ends[:-1]))
    found = [
        block[part - start] for (block, _), part, start in zip(blocks, parts, starts, strict=True)
    ]
    return np.concatenate(found)


def members_of(
    blocks: Sequence[Block], centroids: Vectors, metric: Metric, control: BuildControl
) -> NDArray[np.int32]:
    """Return the list of each vector."""
    members = np.empty(sum(len(block) for block, _ in blocks), np.int32)
    done = 0
    for block, _ in blocks:
        for piece in _pieces(block):
            control.report("assign", done / len(members))
            members[done : done + len(piece)] = assign(piece, centroids, metric)
            done += len(piece)
    return members


def _ordered(
    blocks: Sequence[Block], members: NDArray[np.int32], lists: int, control: BuildControl
) -> tuple[Vectors, NDArray[np.uint32], NDArray[np.int64]]:
    """Return the vectors and the rows' numbers by list, and where each list begins."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.kmeans_loops import list_places, put_rows  # noqa: PLC0415

    offsets = np.zeros(lists + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=lists), out=offsets[1:])
    places = np.empty(len(members), np.uint32)
    list_places(members, offsets[:-1].copy(), places)
    kept = np.empty((len(members), blocks[0][0].shape[1]), np.float32)
    numbers = np.empty(len(members), np.uint32)
    done = 0
    for block, row_ids in blocks:
        control.report("order", done / max(len(members), 1))
        some = places[done : done + len(block)]
        numbers[some] = row_ids
        given = frozen(np.ascontiguousarray(block))

        def run(part: slice, given: Vectors = given, some: NDArray[np.uint32] = some) -> None:
            put_rows(given[part], some[part], kept)

        run_slices(run, len(block), _PIECE // 8, _PIECE)
        done += len(block)
    return kept, numbers, offsets


def search_ivf(
    index: Ivf,
    queries: Vectors,
    k: int,
    nprobe: int,
    allowed: NDArray[np.bool_] | None = None,
    threads: int | None = None,
    rule: StopRule = ANYWHERE,
) -> Neighbours:
    """Return the k nearest rows of the `nprobe` lists nearest to each query (q, d).

    Further lists are scanned until there are k rows and the rule ends the search. allowed: whether
    a row counts, by its number; None for all. `first_unusable` finds none of the queries.
    """
    run_slices, search_lists = _search_loops()
    found, asked = no_neighbours(len(queries), k), unprepared(queries, index.metric)
    metric, longest = METRICS.index(index.metric), float(index.longest)
    rows, lists, codes = loop_arrays(index, allowed)
    score, numbers = SCORES.index(rule.score), (rule.gamma, rule.scale, rule.share, rule.threshold)
    gamma, scale, share, threshold = map(float, numbers)
    ends = (nprobe, score, gamma, int(rule.kreg), scale, share, threshold)

    def search(part: slice) -> None:
        some, into = asked, found
        if part.stop - part.start < len(queries):
            queried, scaled, slack, terms = asked
            some = queried[part], scaled[part], slack[part], terms[part]
            into = found.take(part)
        results = (into.distances, into.rows, into.probes, into.margins)
        search_lists(metric, longest, rows, lists, codes, some, ends, results)

    if len(queries) == 1:
        check_interrupt()
        search(slice(0, 1))
        return found
    most = 1
    if len(queries) >= _SHARING:
        scanned = min(nprobe / max(index.list_count, 1), 1.0)
        scanned = scanned if rule is ANYWHERE else max(scanned, _RULE_SHARE)
        compared = max(index.vectors.size * scanned, 1.0)
        most = min(max(int(_MAX_COMPARED / compared), _SHARING_QUERIES), _MAX_QUERIES)
    run_slices(search, len(queries), _MIN_QUERIES, most, threads)
    return found


@cache
def _search_loops() -> tuple[Any, Any]:
    """Return what a search runs; to import it in each search would take 2 us."""
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.list_search import search_lists  # noqa: PLC0415

    return run_slices, search_lists


def loop_arrays(index: Ivf, allowed: NDArray[np.bool_] | None) -> tuple[Any, Any, Any]:
    """Return `Rows`, `Lists` and `Codes` of the loops as plain tuples; None where it has no codes.

    allowed: whether a row counts, by its number; None for all.
    """
    counts = EVERY if allowed is None else frozen(np.ascontiguousarray(allowed))
    rows = index.vectors, index.row_ids, index.scales, counts
    return rows, (index.centroids, index.squares, index.offsets), index.loop_codes


def renumber(index: Ivf, live: NDArray[np.bool_]) -> Ivf:
    """Return the index once only the rows with `live` (bool, by row number) are left, in order.

    It has no graph.
    """
    numbers = np.cumsum(live, dtype=np.int64) - 1
    kept = live[index.row_ids]
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
    by_place = {
        name: array[kept] if len(array) else array
        for name in ("vectors", "scales", "codes", "code_squares")
        for array in (getattr(index, name),)
    }
    return replace(
        index,
        row_count=int(np.count_nonzero(live[: index.row_count])),
        offsets=before[index.offsets],
        row_ids=numbers[index.row_ids[kept]].astype(np.uint32),
        graph=None,
        **by_place,
    )


def to_arrays(index: Ivf) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return an index's arrays by name, and its properties as JSON values."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(index, name) for name in _ARRAYS}
    arrays |= index.graph.to_arrays() if index.graph else {}
    properties = {name: getattr(index, name) for name in _PROPERTIES}
    return arrays, properties | ({"bits": index.bits} if index.metric == "hamming" else {})


def from_arrays(
    arrays: StoredArrays,
    properties: Described,
    width: int,
    row_limit: int,
    *,
    has_codes: bool,
    has_graph: bool = False,
) -> Ivf:
    """Return the index of `to_arrays`; the arrays are used as they are, mapped ones too.

    width: the elements of a vector, 0 for bits. row_limit: the rows of the table, whose numbers are
    less. All of it is checked. Raises OperationalError.
    """
    metric = cast("Metric", properties["metric"].text(*METRICS))
    row_count = properties["row_count"].integer(0, row_limit)
    take, take_floats = arrays.take, partial(_floats, arrays)
    bits = properties["bits"].integer(0, 2**31) if metric == "hamming" else 0
    if metric == "hamming":
        vectors, centroids = (
            take(name, np.float32, (-1, -(-bits // 32))) for name in ("vectors", "centroids")
        )
    else:
        vectors, centroids = (
            take_floats(name, LARGEST, (-1, width)) for name in ("vectors", "centroids")
        )
    (count, _), (lists, _) = vectors.shape, centroids.shape
    offsets = take("offsets", np.int64, (lists + 1,), spans(count))
    row_ids = take("row_ids", np.uint32, (count,), below(row_count))
    seen = np.zeros(row_count, np.bool_)
    seen[row_ids] = True
    if np.count_nonzero(seen) != count:
        raise arrays.fault("row_ids", "rows, each once", "a row twice")
    is_cosine = metric == "cosine"
    if is_cosine and (unusable := first_unusable(vectors, metric)) is not None:
        raise arrays.fault("vectors", "directions", unusable[1])
    codes = no_codes(vectors.shape[1])
    if has_codes:
        codes = {
            "codes": take("codes", np.int8, (count, width)),
            "code_squares": take_floats("code_squares", width * LARGEST**2, (count,), 0.0),
            "code_centers": take_floats("code_centers", LARGEST, (lists, width)),
            "code_steps": take_floats("code_steps", LARGEST, (lists, width), 0.0),
            "code_errors": take_floats("code_errors", 2 * width * LARGEST, (lists, 2), 0.0),
        }
    return Ivf(
        metric,
        row_count,
        properties["longest"].number(0.0, width * LARGEST),
        centroids,
        take_floats("squares", width * LARGEST**2, (lists,), 0.0),
        offsets,
        row_ids,
        vectors,
        take_floats("scales", 1 / SHORTEST, (count if is_cosine else 0,), 0.0),
        **codes,
        graph=graph_from_arrays(arrays, count, offsets) if has_graph else None,
        bits=bits,
    )


def _floats(
    arrays: StoredArrays, name: str, most: float, shape: tuple[int, ...], low: float | None = None
) -> Vectors:
    """Return an array of numbers that loops may multiply and add up; each is `most` at most.

    What rounding adds to a mean of numbers is let pass.
    """
    most *= 1 + 1e-5
    return arrays.take(name, np.float32, shape, between(-most if low is None else low, most))
