"""The loops that find all rows within a distance of queries.

    rows x queries  ->  scores (float32)  ->  those within a query's bound: entries
    entries  ->  distances (float64)  ->  those within its distance

The bound is the score of that distance, and no row moves it: else all is as where the nearest rows
are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import entry, inner
from raydb.kernels.vector.loops.distance_loops import (
    Entries,
    Pairs,
    Rows,
    Search,
    new_entries,
    new_room,
    scan,
)
from raydb.kernels.vector.loops.list_search import (
    Lists,
    codes_of,
    nearest_lists,
    scan_round,
    score_lists,
)
from raydb.kernels.vector.loops.ranking import distance
from raydb.kernels.vector.loops.simd import PADDED
from raydb.kernels.vector.loops.stop_loops import Prepared, prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inner
def _within(search: Search, pairs: Pairs, entries: Entries, most: NDArray[np.float64]) -> Any:
    """Return the queries, the row numbers and the distances of the entries that are within `most`.

    most (q): a distance for each query.
    """
    count = entries.used[0]
    queries, numbers = np.empty(count, np.int64), np.empty(count, np.int64)
    distances, used = np.empty(count, np.float64), 0
    for pair in range(len(pairs.heads)):
        query, head = pairs.numbers[pair], np.int64(pairs.heads[pair])
        while head >= 0:
            place = np.int64(entries.places[head])
            vector = search.rows.vectors[place]
            away = distance(search.metric, vector, search.targets.queries[query])
            if away <= most[query]:
                queries[used], distances[used] = query, away
                numbers[used] = search.rows.row_ids[place]
                used += 1
            head = np.int64(entries.before[head])
    return queries[:used], numbers[:used], distances[:used]


@entry
def rows_within(
    metric: int,
    compared: Any,
    asked: Any,
    bounds: Any,
) -> Any:
    """Return the pairs of a query and one of some rows that is within a distance of it.

    compared, asked: `Rows`, which all count, and `Prepared` as plain tuples. bounds: the score
    (q, 1) and the distance (q) up to which a row is found.
    """
    rows, targets, (scores, most) = Rows(*compared), Prepared(*asked), bounds
    count = len(most)
    room = new_room(count, rows.vectors.shape[1], False, False)
    search = Search(metric, rows, targets, scores, room)
    asking = np.arange(count)
    pairs = Pairs(asking, np.full(count, np.int32(-1)), False)
    entries = scan(search, None, pairs, asking, 0, 0, len(rows.row_ids), new_entries(count))
    return _within(search, pairs, entries, most)


@entry
def lists_within(
    metric: int,
    longest: float,
    compared: Any,
    listed: Any,
    coded: Any,
    asked: Any,
    list_count: int,
    bounds: Any,
) -> Any:
    """Return such pairs of the rows of the `list_count` lists nearest to each query.

    `Rows`, `Lists`, `Codes` or None and `Prepared`, into which `prepare` has written nothing yet,
    are plain tuples. bounds: as of `rows_within`.
    """
    prepare(metric, longest, asked[0], asked[1], asked[2], asked[3])
    rows, lists, codes = Rows(*compared), Lists(*listed), codes_of(coded)
    targets, (scores, most) = Prepared(*asked), bounds
    count, width = len(most), len(lists.squares)
    of_lists = np.empty((count, width + -width % PADDED), np.float32)
    score_lists(metric, lists, targets.scaled, of_lists)
    chosen, numbers = np.empty(count * list_count, np.int32), np.empty(count * list_count, np.int64)
    heap = np.empty(list_count, np.uint64)
    for query in range(count):
        first, last = query * list_count, (query + 1) * list_count
        nearest_lists(of_lists[query], heap, chosen[first:last])
        numbers[first:last] = query
    has_filter = len(rows.allowed) > 0
    room = new_room(count, rows.vectors.shape[1], has_filter, codes is not None)
    search = Search(metric, rows, targets, scores, room)
    pairs = Pairs(numbers, np.full(len(numbers), np.int32(-1)), False)
    entries = new_entries(count)
    entries = scan_round(search, codes, lists.offsets, pairs, chosen, entries)
    return _within(search, pairs, entries, most)
