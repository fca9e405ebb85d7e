"""Vector search on the device: the lists that the CPU would scan, and the CPU's answers.

    host     queries -> their lists, in the order and number that the CPU has
    device   rows of the lists -> scores (float32) -> the k-th score of each query, by radix
             -> rows within its bound: as many as k, and those that rounding leaves in doubt
    host     these rows -> distances (float64), ranked

A row among the k nearest is within the bound whoever adds up its score, and distances are the
host's, so that the answers are those of `search_ivf` on the CPU, to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.cuda.compiled import (
    INT32,
    ROW_LANES,
    SIMULATED,
    cuda,
    device_function,
    float32,
    int64,
    load_four,
    over_lanes,
)
from raydb.kernels.backends.cuda.memory import argument, devices, send, to_host, upload, xp
from raydb.kernels.backends.device import DeviceError, faults
from raydb.kernels.vector.exact_search import METRICS, frozen, no_neighbours, prepared
from raydb.kernels.vector.loops.distance_loops import Entries, Pairs, Rows, rank
from raydb.kernels.vector.loops.list_search import Lists, score_lists
from raydb.kernels.vector.loops.simd import PADDED
from raydb.kernels.vector.loops.stop_loops import Prepared, margin, squared
from raydb.kernels.vector.stop_rule import ANYWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.device import Columns
    from raydb.kernels.vector.exact_search import Neighbours, Vectors
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import StopRule

# Every thread of the simulator is one of the system's.
BLOCK_THREADS = 4 if SIMULATED else 256

# A row that is compared has a score, a mark, and room for its number where it is picked out.
SCORED_BYTES = 16

NAN = np.float32(np.nan)
DIGITS = 256

# Digits are first added up by so many.
DIGIT_STEP = 16

# The key of a score that is no number, above those of all others.
NO_KEY = 0xFFFFFFFF


@device_function
def added(total: Any, mine: Any, theirs: Any, is_squares: Any) -> Any:
    """Add to a score what four numbers of a row and of a query make."""
    for number in range(4):
        if is_squares:
            difference = mine[number] - theirs[number]
            total += difference * difference
        else:
            total -= mine[number] * theirs[number]
    return total


@cuda.jit
def score_rows(
    vectors: Any,
    width: Any,
    scales: Any,
    row_ids: Any,
    allowed: Any,
    queries: Any,
    pair_queries: Any,
    firsts: Any,
    lasts: Any,
    outs: Any,
    is_squares: Any,
    scores: Any,
) -> None:
    """Write the score of each row of each pair's list, NaN for one that does not count.

    vectors, queries: rows of `width` numbers, a multiple of four, one after the other. scales,
    allowed: empty where there are none. A block has a pair; neighbouring threads share a row, so
    that what they read lies together.
    """
    pair = cuda.blockIdx.x
    query = int64(pair_queries[pair]) * width
    lane = cuda.threadIdx.x % ROW_LANES
    last = lasts[pair]
    first = firsts[pair]
    step = cuda.blockDim.x // ROW_LANES
    # Threads behind the last row come along, as all of a warp add up together. Each has two rows.
    while first < last:
        row = first + cuda.threadIdx.x // ROW_LANES
        base = min(row, last - 1) * width
        other_base = min(row + step, last - 1) * width
        total = float32(0.0)
        other_total = float32(0.0)
        for place in range(4 * lane, width, 4 * ROW_LANES):
            theirs = load_four(queries, query + place)
            mine = load_four(vectors, base + place)
            other = load_four(vectors, other_base + place)
            total = added(total, mine, theirs, is_squares)
            other_total = added(other_total, other, theirs, is_squares)
        total = over_lanes(total)
        other_total = over_lanes(other_total)
        if lane == 0:
            for _ in range(2):
                if row < last:
                    if len(scales) > 0:
                        total *= scales[row]
                    if len(allowed) > 0 and allowed[row_ids[row]] == 0:
                        total = NAN
                    scores[outs[pair] + row - firsts[pair]] = total
                row += step
                total = other_total
        first += 2 * step


@cuda.jit(device=True)
def key_of(bits: Any) -> Any:
    """Return the bits of a float32 (int32) as a number of the same order, NaN as the greatest."""
    number = int64(bits) & 0xFFFFFFFF
    if (number & 0x7FFFFFFF) > 0x7F800000:
        return NO_KEY
    return number ^ 0xFFFFFFFF if number & 0x80000000 else number | 0x80000000


@cuda.jit
def find_kth(bits: Any, firsts: Any, k: Any, keys: Any) -> None:
    """Write the key of the k-th least score of each query; NO_KEY or above for fewer than k.

    bits: the scores as int32, those of query q from firsts[q] to before firsts[q + 1]. A block has
    a query: it counts the keys' digits of 8 bits from the first one down, as in a radix sort.
    """
    counts = cuda.shared.array(DIGITS, INT32)
    sums = cuda.shared.array(DIGIT_STEP, INT32)
    chosen = cuda.shared.array(2, INT32)
    query = cuda.blockIdx.x
    prefix = int64(0)
    left = int64(k)
    for step in range(4):
        shift = 24 - 8 * step
        digit = cuda.threadIdx.x
        while digit < DIGITS:
            counts[digit] = 0
            digit += cuda.blockDim.x
        cuda.syncthreads()
        place = firsts[query] + cuda.threadIdx.x
        while place < firsts[query + 1]:
            key = key_of(bits[place])
            if key >> (shift + 8) == prefix:
                cuda.atomic.add(counts, (key >> shift) & 255, 1)
            place += cuda.blockDim.x
        cuda.syncthreads()
        part = cuda.threadIdx.x
        while part < DIGIT_STEP:
            found = 0
            for digit in range(part * DIGIT_STEP, (part + 1) * DIGIT_STEP):
                found += counts[digit]
            sums[part] = found
            part += cuda.blockDim.x
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            before = 0
            part = 0
            while part < DIGIT_STEP - 1 and before + sums[part] < left:
                before += sums[part]
                part += 1
            last = part * DIGIT_STEP
            while last < DIGITS - 1 and before + counts[last] < left:
                before += counts[last]
                last += 1
            chosen[0] = last
            chosen[1] = before
        cuda.syncthreads()
        prefix = (prefix << 8) | int64(chosen[0])
        left -= int64(chosen[1])
        cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        keys[query] = prefix


@cuda.jit
def mark_rows(scores: Any, firsts: Any, bounds: Any, marks: Any) -> None:
    """Mark the scores within the bound of their query; a block has a query."""
    query = cuda.blockIdx.x
    place = firsts[query] + cuda.threadIdx.x
    while place < firsts[query + 1]:
        marks[place] = 1 if scores[place] <= bounds[query] else 0
        place += cuda.blockDim.x


def search_on_device(
    index: Ivf,
    queries: Vectors,
    k: int,
    nprobe: int,
    allowed: NDArray[np.bool_] | None = None,
    rule: StopRule = ANYWHERE,
) -> Neighbours:
    """Return what `search_ivf` does. Raises DeviceError where the device cannot.

    A rule looks at the scores of one list after the other, which is no work for a device.
    """
    if rule.threshold > ANYWHERE.threshold:
        raise DeviceError("cuda: where a search ends by a calibrated rule, the cpu follows it")
    if index.metric in ("l1", "hamming"):
        raise DeviceError(f"cuda: the cpu searches by {index.metric}")
    found = no_neighbours(len(queries), k)
    if not (index.list_count and len(queries)):
        return found
    metric = METRICS.index(index.metric)
    asked = prepared(queries, index.metric, index.longest)
    scaled, slack = asked.scaled, asked.slack
    order = _choose_lists(index, metric, asked, k, nprobe, allowed, found)
    permitted = np.empty(0, np.bool_) if allowed is None else allowed
    arrays: tuple[Any, ...] = index.vectors, index.row_ids, index.scales, permitted
    rows = Rows(*map(frozen, arrays))
    with faults.translated("cuda"):
        device = devices()[0]
        with device.current():
            held = device.columns.get(index.vectors, index.scales, index.row_ids)
            if held is None:
                raise DeviceError("cuda: the vectors of the index do not fit the device's memory")
            marked = upload(permitted)
            for part in _parts(index, order, found.probes, device.columns):
                pairs = _Pairs(index, order[part], found.probes[part])
                kths, hits, scores = _compare(
                    [*held, marked], index.metric == "l2", scaled[part], slack[part], k, pairs
                )
                targets = Prepared(*(frozen(each[part]) for each in (queries, *asked[1:])))
                heads, entries = pairs.entries(hits, scores)
                of_queries = Pairs(np.arange(len(heads)), heads, True)
                into = found.distances[part], found.rows[part]
                rank(metric, rows, targets, kths[:, None], of_queries, entries, *into)
    return found


def _choose_lists(
    index: Ivf,
    metric: int,
    asked: Prepared,
    k: int,
    nprobe: int,
    allowed: NDArray[np.bool_] | None,
    found: Neighbours,
) -> NDArray[np.int64]:
    """Return the lists of each query from the nearest one on; write how many, and the margins."""
    scaled, terms = asked.scaled, asked.terms
    padded = index.list_count + -index.list_count % PADDED
    scores = np.empty((len(scaled), padded), np.float32)
    arrays: tuple[Any, ...] = index.centroids, index.squares, index.offsets
    lists = Lists(*map(frozen, arrays))
    score_lists(metric, lists, frozen(scaled), scores)
    scores = np.ascontiguousarray(scores[:, : index.list_count])
    count = min(max(nprobe, 2), index.list_count)
    order = _nearest_first(scores, count)
    nearest_two = order[:, [0, min(1, index.list_count - 1)]]
    for query, pair in enumerate(nearest_two):
        factor, summand = terms[query, :2]
        found.margins[query] = margin(
            *(squared(score, factor, summand) for score in scores[query, pair])
        )
    sizes = np.diff(index.offsets)
    if allowed is not None:
        before = np.concatenate([[0], np.cumsum(allowed[index.row_ids])])
        sizes = before[index.offsets[1:]] - before[index.offsets[:-1]]
    # Further lists are scanned until there are k rows.
    if count < index.list_count and int(sizes[order].sum(axis=1).min()) < k:
        order = _nearest_first(scores, index.list_count)
    enough = 1 + (np.cumsum(sizes[order], axis=1) < k).sum(axis=1)
    found.probes[:] = np.minimum(np.maximum(enough, nprobe), index.list_count)
    return order


def _nearest_first(scores: Vectors, count: int) -> NDArray[np.int64]:
    """Return for each query the lists of the least scores, of equal ones the first in front.

    scores: shape (queries, lists), none of them NaN. To sort all of a thousand lists would take
    longer than the device takes for the rest.
    """
    bits = scores.view(np.uint32)
    keys = bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))
    numbered = keys.astype(np.uint64) << np.uint64(32)
    numbered |= np.arange(scores.shape[1], dtype=np.uint64)
    if count < scores.shape[1]:
        numbered = np.partition(numbered, count - 1, axis=1)[:, :count]
    numbered.sort(axis=1)
    return (numbered & np.uint64(0xFFFFFFFF)).astype(np.int64)


class _Pairs:
    """Pairs of a query and a list, by query: which rows are compared, and where scores go."""

    def __init__(self, index: Ivf, order: NDArray[np.int64], probes: NDArray[np.int64]) -> None:
        self.query_count = len(order)
        self.queries = np.repeat(np.arange(len(order)), probes)
        chosen = order[np.arange(order.shape[1]) < probes[:, None]]
        self.firsts, self.lasts = index.offsets[chosen], index.offsets[chosen + 1]
        ends = np.concatenate([[0], np.cumsum(self.lasts - self.firsts)])
        self.outs, self.row_count = ends[:-1], int(ends[-1])
        # The scores of query q lie from query_firsts[q] to before query_firsts[q + 1].
        self.query_firsts = ends[np.concatenate([[0], np.cumsum(probes)])]

    def entries(
        self, hits: NDArray[np.int64], scores: Vectors
    ) -> tuple[NDArray[np.int32], Entries]:
        """Return scores that were picked out as `rank` takes them: by query, from the last one."""
        pairs = np.searchsorted(self.outs, hits, side="right") - 1
        places = self.firsts[pairs] + hits - self.outs[pairs]
        queries = self.queries[pairs]
        before = np.arange(-1, len(hits) - 1, dtype=np.int32)
        before[np.concatenate([[True], queries[1:] != queries[:-1]])[: len(hits)]] = -1
        ends = np.searchsorted(queries, np.arange(self.query_count), side="right")
        is_empty = ends == np.searchsorted(queries, np.arange(self.query_count), side="left")
        heads = np.where(is_empty, -1, ends - 1).astype(np.int32)
        return heads, Entries(scores, places.astype(np.uint32), before, np.zeros(1, np.int64))


def _parts(
    index: Ivf, order: NDArray[np.int64], probes: NDArray[np.int64], columns: Columns
) -> list[slice]:
    """Cut the queries into parts whose scores fit the device beside what is kept."""
    room = (columns.budget_bytes - columns.size_bytes) // SCORED_BYTES
    sizes = np.diff(index.offsets)
    ends = np.cumsum(sizes[order], axis=1)
    rows = ends[np.arange(len(order)), probes - 1]
    if int(rows.max()) > room:
        raise DeviceError("cuda: the lists of a query do not fit the device's memory")
    parts, start, used = [], 0, 0
    for query, count in enumerate(rows.tolist()):
        if used + count > room:
            parts.append(slice(start, query))
            start, used = query, 0
        used += count
    return [*parts, slice(start, len(order))]


def _compare(
    held: list[Any], is_squares: bool, scaled: Vectors, slack: Vectors, k: int, pairs: _Pairs
) -> tuple[Vectors, NDArray[np.int64], Vectors]:
    """Return the k-th score of each query, and places and scores of those within its bound."""
    vectors, scales, row_ids, allowed = held
    width = -(-scaled.shape[1] // 4) * 4
    scores = xp.empty(pairs.row_count, np.float32)
    arrays = [
        argument(send(array)) for array in (pairs.queries, pairs.firsts, pairs.lasts, pairs.outs)
    ]
    firsts = argument(send(pairs.query_firsts))
    score_rows[len(pairs.queries), BLOCK_THREADS](
        vectors,
        width,
        scales,
        row_ids,
        allowed,
        upload(scaled),
        *arrays,
        is_squares,
        argument(scores),
    )
    keys = xp.empty(pairs.query_count, np.int64)
    find_kth[pairs.query_count, BLOCK_THREADS](
        argument(scores.view(np.int32)), firsts, k, argument(keys)
    )
    kths = _scores_of(to_host(keys))
    bounds = kths.copy()
    is_known = np.isfinite(kths)
    bounds[is_known] += np.abs(kths[is_known]) * slack[is_known, 0] + slack[is_known, 1]
    marks = xp.empty(pairs.row_count, np.int8)
    mark_rows[pairs.query_count, BLOCK_THREADS](
        argument(scores), firsts, argument(send(bounds)), argument(marks)
    )
    hits = xp.flatnonzero(marks)
    return kths, to_host(hits), to_host(scores[hits])


def _scores_of(keys: NDArray[np.int64]) -> Vectors:
    """Return the scores of keys, infinity for those of no number."""
    bits = np.where(keys & 0x80000000, keys ^ 0x80000000, keys ^ 0xFFFFFFFF).astype(np.uint32)
    scores = bits.view(np.float32)
    return np.where(keys >= NO_KEY, np.float32(np.inf), scores)
