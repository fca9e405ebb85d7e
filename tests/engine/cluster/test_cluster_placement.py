"""Workers have as many rows each, every row is scanned once, and most stay where they are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from cluster_cases import STAR
from hypothesis import given
from hypothesis import strategies as st

from raydb.engine.cluster import placement
from raydb.engine.cluster.placement import place
from raydb.engine.cluster.pruning import Segments, _overlapping
from raydb.planner.segments.nodes import ranges_of

SEGMENT = 1_000_000


def segments_of(row_count, read, rows=SEGMENT):
    ranges, read = ranges_of(row_count, rows), np.array(read, np.int64).reshape(-1, 2)
    return Segments(ranges, _overlapping(ranges, read), read)


def workers_of(count):
    return {f"tls://{number}": f"{number}" for number in range(count)}


def loads_of(placed):
    return sorted(
        sum(placed.pieces[number].rows for number in numbers) for numbers in placed.given.values()
    )


def test_workers_have_as_many_rows_where_the_last_segment_has_few():
    placed = place(segments_of(8_000_000, [[0, 7_290_000]]), workers_of(2), "f", may_cut=True)
    assert loads_of(placed) == [3_633_750, 3_656_250]
    whole = place(segments_of(8_000_000, [[0, 7_290_000]]), workers_of(2), "f", may_cut=False)
    assert loads_of(whole) == [3_290_000, 4_000_000]
    tiny = place(segments_of(8_000_100, [[0, 8_000_100]]), workers_of(2), "f", may_cut=False)
    assert loads_of(tiny) == [4_000_000, 4_000_100]


@given(
    rows=st.integers(1, 20_000_000),
    ends=st.lists(st.integers(0, 20_000_000), min_size=2, max_size=8, unique=True),
    count=st.integers(1, 9),
    may_cut=st.booleans(),
)
def test_each_row_that_may_pass_is_scanned_once(rows, ends, count, may_cut):
    ends = np.minimum(sorted(ends)[: len(ends) // 2 * 2], rows).reshape(-1, 2)
    segments = segments_of(rows, ends[ends[:, 1] > ends[:, 0]])
    placed = place(segments, workers_of(count), "f", may_cut=may_cut)
    assert sorted(n for own in placed.given.values() for n in own) == list(
        range(len(placed.pieces))
    )
    found = [(piece.segment, piece.first, piece.stop) for piece in placed.pieces]
    assert found == sorted(found)
    for number in segments.left:
        first, stop = segments.ranges[number]
        own = [(a, b) for segment, a, b in found if segment == number]
        assert [own[0][0], own[-1][1]] == [first, stop]
        assert all(one[1] == other[0] for one, other in pairwise(own))
        if not may_cut:
            assert len(own) == 1
    read = int((segments.read[:, 1] - segments.read[:, 0]).sum())
    assert sum(piece.rows for piece in placed.pieces) == pytest.approx(read, abs=len(found))


def test_ranges_that_are_read_are_counted_together(monkeypatch):
    calls = []
    passing = Segments.passing
    monkeypatch.setattr(Segments, "passing", lambda *each: calls.append(each) or passing(*each))
    ends = np.arange(0, 8_000_000, 1000)
    place(
        segments_of(8_000_000, np.stack([ends, ends + 500], axis=1)),
        workers_of(2),
        "f",
        may_cut=True,
    )
    assert len(calls) == 2, "what it costs for many ranges does not grow with the segments"


def test_most_segments_stay_where_they_are_when_a_worker_comes():
    segments = segments_of(60_000_000, [[0, 60_000_000]])
    before, after = (
        place(segments, workers_of(count), "f", may_cut=False).given for count in (5, 6)
    )
    kept = sum(len(set(before[worker]) & set(after[worker])) for worker in before)
    assert kept >= 40
    assert {len(own) for own in after.values()} == {10}


@pytest.mark.long
def test_an_answer_from_parts_of_segments(con, alone, stopped, monkeypatch):
    monkeypatch.setattr(placement, "_LEAST_CUT", 1000)
    con.execute("SET segment_rows = 150000")
    right = alone.execute(STAR).fetchall()
    assert con.execute(STAR).fetchall() == right
    (placed,) = con._session.queries.cluster._placed.values()
    assert len(placed.pieces) > 3
    floats = "SELECT name, sum(x) FROM f JOIN d USING (k) GROUP BY name ORDER BY name"
    con.execute(floats).fetchall()
    placed = list(con._session.queries.cluster._placed.values())[-1]
    assert len(placed.pieces) == 3, "sums of doubles are those of whole segments"
    con.execute("SET worker_timeout = 300")
    stopped(0)
    assert con.execute(STAR).fetchall() == right
