"""Totals of cells against rows and against NumPy, on random cells, codes, maps and measures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_jobs import hierarchy, random_case, random_job
from test_cpu_backend import brute_force

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.fallback import prepare_job
from raydb.kernels.backends.registry import open_backend
from raydb.kernels.bvh import sieve
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.kernels.bvh.sieve import (
    SievedJob,
    build_sieve,
    may_overflow,
    sift,
    splits_every_cell,
    stale_entries,
)

FUNCTIONS = ("sum", "count", "min", "max")
ACCUMULATORS = tuple(Accumulator(f, m) for m in range(3) for f in FUNCTIONS)


def sieved(hierarchies, codes, measures, row_count):
    bvh = open_backend("cpu").build(source_of(hierarchies, codes, measures, row_count), unwatched())
    return replace(bvh, sieve=build_sieve(bvh))


def launch(bvh, job):
    return prepare_job(("cpu",), bvh, job).launch()


def check_same(bvh, job):
    """Compare a sieved job with the same job over rows; floats may differ in the last bits."""
    rows = launch(bvh, job)
    cells = launch(bvh, replace(job, sieved=True))
    assert cells.rows.tolist() == rows.rows.tolist()
    counts = {
        a.measure: values.tolist()
        for a, values in zip(job.accumulators, rows.values, strict=True)
        if a.function == "count"
    }
    for a, got, want in zip(job.accumulators, cells.values, rows.values, strict=True):
        assert got.dtype == want.dtype
        some = np.array(counts[a.measure]) > 0
        if a.function == "sum" and want.dtype.kind == "f":
            assert got == pytest.approx(want, rel=1e-12, abs=1e-9, nan_ok=True), a
        else:
            assert np.array_equal(got[some], want[some], equal_nan=want.dtype.kind == "f"), a


@pytest.mark.parametrize("seed", range(12))
def test_sieved_jobs_agree_with_rows_and_numpy(seed):
    rng, hierarchies, codes, measures = random_case(seed)
    bvh = sieved(hierarchies, codes, measures, len(codes[0]))
    covered = 0
    for _ in range(6):
        job, cells = random_job(rng, bvh)
        # Some coordinates on Z decide for all of their codes.
        uniform = rng.random(hierarchies[0].scan_count) < 0.6
        maps = tuple(
            replace(
                m, groups=np.where(np.repeat(uniform, len(m.groups) // len(uniform)), 3, m.groups)
            )
            if m.hierarchy == 0
            else m
            for m in job.maps
        )
        job = replace(job, maps=maps)
        job = replace(job, accumulators=ACCUMULATORS)
        check_same(bvh, job)
        covered += sift(bvh, job).row_count
        found = launch(bvh, replace(job, sieved=True))
        rows, expected = brute_force(job, cells, hierarchies, codes, measures)
        assert found.rows.tolist() == rows.tolist()
        for got, want in zip(found.values, expected, strict=True):
            for value, right in zip(got.tolist(), want, strict=True):
                assert right is None or value == pytest.approx(right, rel=1e-9, abs=1e-12)
    assert covered


# The borders of each integer type, and what lies far below them.
INTEGERS = st.sampled_from(
    [sign * (2**bits - below) for bits in (7, 15, 31, 60) for sign in (1, -1) for below in (0, 1)]
) | st.integers(-300, 300)
FLOATS = st.floats(-1e9, 1e9) | st.sampled_from([np.nan, np.inf, -0.0])


@st.composite
def tables(draw):
    """Return rows in few, in many or in almost no cells, with NULLs, and which intervals to ask."""
    row_count = draw(st.sampled_from([0, 1, 2, 7, 30]))
    radix = draw(st.sampled_from([1, 3, 8, 70_000]))
    numbers = st.lists(st.integers(0, min(radix, 9) - 1), min_size=row_count, max_size=row_count)
    codes = np.array(draw(numbers), np.int32) * max(radix // 9, 1)
    measures = []
    for values, dtype in ((INTEGERS, np.int64), (FLOATS, np.float64)):
        column = draw(st.lists(values, min_size=row_count, max_size=row_count))
        valid = None
        if draw(st.booleans()):
            valid = np.array(
                draw(st.lists(st.booleans(), min_size=row_count, max_size=row_count)), np.bool_
            )
        array = np.array(column, dtype)
        measures.append((array if valid is None else np.where(valid, array, dtype(0)), valid))
    edges = sorted(set(draw(st.lists(st.integers(0, radix), max_size=8))))
    intervals = np.array(edges[: len(edges) // 2 * 2], np.int64).reshape(-1, 2)
    return radix, codes, measures, intervals, draw(st.sampled_from([1, 2, 3]))


@settings(max_examples=150)
@given(tables())
def test_any_rows_in_any_cells(table):
    radix, codes, measures, intervals, group_count = table
    bvh = sieved([hierarchy(radix, 1)], [codes], measures, len(codes))
    groups = np.arange(radix) * 7 % (group_count + 1) - 1
    for maps in ((), (CodeMap(0, by_cell=True, groups=groups, filters=True),)):
        accumulators = tuple(Accumulator(f, m) for m in range(2) for f in FUNCTIONS)
        job = FusedJob(intervals, maps, group_count, accumulators)
        if may_overflow(bvh, job, bvh.count_rows(intervals)):
            accumulators = tuple(a for a in accumulators if (a.function, a.measure) != ("sum", 0))
        with np.errstate(invalid="ignore"):
            check_same(bvh, replace(job, accumulators=accumulators))


def test_a_sum_is_exact_though_the_sums_before_it_wrap_around():
    values = np.array([2**62, 2**62, 2**62, -5, 7, 2**62 - 1])
    cells = np.arange(6, dtype=np.int32)
    bvh = sieved([hierarchy(6, 1)], [cells], [(values, None)], 6)
    assert bvh.sieve.totals[0].sums[3] == 3 * 2**62 - 2**64
    for low, high in ((3, 5), (5, 6), (2, 3)):
        job = FusedJob(np.array([[low, high]]), (), 1, (Accumulator("sum", 0),), sieved=True)
        if not may_overflow(bvh, job, high - low):
            assert launch(bvh, job).values[0].tolist() == [sum(values[low:high].tolist())]
    assert not may_overflow(bvh, job, 1)
    assert may_overflow(bvh, job, 2)


def test_sums_and_extremes_are_narrow():
    cells = np.repeat(np.arange(5, dtype=np.int32), 20)
    for bound, sums, extremes in ((100, "i4", "i1"), (2**24, "i4", "i4"), (2**25, "i8", "i4")):
        values = np.full(100, bound)
        bvh = sieved([hierarchy(5, 1)], [cells], [(values, np.arange(100) % 3 > 0)], 100)
        totals = bvh.sieve.totals[0]
        assert (totals.sums.dtype, totals.least.dtype, totals.most.dtype) == (
            sums,
            extremes,
            extremes,
        )
        assert totals.counts.dtype == np.uint32
        assert bvh.sieve.size_bytes == 6 * (int(sums[1]) + 4) + 5 * 2 * int(extremes[1])
        assert bvh.size_bytes == replace(bvh, sieve=None).size_bytes + bvh.sieve.size_bytes


@pytest.mark.parametrize("seed", range(6))
def test_cells_with_dead_rows_are_read(seed):
    rng, hierarchies, codes, measures = random_case(seed)
    bvh = sieved(hierarchies, codes, measures, len(codes[0]))
    dead = np.sort(rng.choice(bvh.row_count, 3, replace=False))
    marked = replace(bvh, dead=dead)
    stale = stale_entries(marked)
    assert stale.tolist() == sorted({int((bvh.offsets <= place).sum()) - 1 for place in dead})
    cells = stale if bvh.cells is None else bvh.cells[stale]
    for _ in range(4):
        job, _ = random_job(rng, bvh)
        job = replace(job, accumulators=ACCUMULATORS)
        sifted = sift(marked, job)
        for first, last in sifted.ranges.tolist():
            assert not ((first <= stale) & (stale < last)).any()
        touched = in_intervals(cells, job.intervals)
        read = in_intervals(
            cells, np.empty((0, 2)) if sifted.rest is None else sifted.rest.intervals
        )
        assert job.maps or touched.tolist() == read.tolist()
        # No row is lost between the two parts.
        alive = replace(marked, dead=None)
        whole = launch(alive, job)
        parted = launch_sifted(alive, job, sifted)
        assert parted.rows.tolist() == whole.rows.tolist()
    assert not len(stale_entries(bvh))


def in_intervals(cells, intervals):
    return np.array([any(low <= cell < high for low, high in intervals) for cell in cells])


def launch_sifted(bvh, job, sifted):
    rest = None if sifted.rest is None else open_backend("cpu").prepare(bvh, sifted.rest)
    return SievedJob(bvh, job, sifted, rest).launch()


def test_a_map_that_splits_every_cell():
    _, hierarchies, codes, measures = random_case(1)
    bvh = sieved(hierarchies, codes, measures, len(codes[0]))

    def split(groups):
        return splits_every_cell(
            bvh, CodeMap(0, by_cell=False, groups=np.array(groups), filters=True)
        )

    assert split([0, 1, 2] * 4)
    assert split([-1, -1, -1] * 2 + [0, 1, -1] * 2)
    assert not split([0, 1, 2] * 3 + [4, 4, 4])


@pytest.mark.parametrize("block_rows", [1, 97, 4_999])
def test_blocks_of_any_size_make_the_same(block_rows, monkeypatch):
    for seed in (2, 3):
        _, hierarchies, codes, measures = random_case(seed)
        bvh = sieved(hierarchies, codes, measures, len(codes[0]))
        with monkeypatch.context() as patch:
            patch.setattr(sieve, "BLOCK_ROWS", block_rows)
            again = build_sieve(bvh)
        for one, other in zip(bvh.sieve.arrays, again.arrays, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
