"""Scans of rows in their order: the compiled loop and its twin, against sums in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cpu import warm
from raydb.kernels.backends.cpu.scans import scan
from raydb.kernels.bvh.bvh import Measure

ROWS = 5_000
# More than a block has, and than are counted together with their first sum.
MANY_ROWS, MANY_GROUPS = 40_000, 3_000
SEED = 20_250_917
CASES = 150


def random_column(rng, row_count):
    """Return codes of one column or of a pair, what is known of them, and each row's place."""
    counts, arrays = [], []
    for _ in range(rng.choice([1, 1, 2])):
        count = int(rng.choice([1, 2, 7, 25, 64, 65, 200, 300, 5_000]))
        codes = rng.integers(0, count, row_count)
        if rng.random() < 0.5:
            codes = np.sort(codes)
        dtype = np.uint8 if count <= 2**8 else rng.choice([np.uint16, np.int32])
        counts.append(count)
        arrays.append(codes.astype(dtype))
    if np.prod(counts) > 2**16:
        counts, arrays = counts[:1], arrays[:1]
    zones = scan.zones_of(arrays[0]) if len(arrays) == 1 else None
    places = arrays[0].astype(np.int64)
    if len(arrays) > 1:
        places = places * counts[1] + arrays[1]
    return tuple(arrays), scan.ScanColumn(tuple(counts), zones), places


def random_map(rng, hierarchy, code_count, stride):
    """Return a map that filters, groups or does both, and the number of its parts."""
    most = 9 if stride > 1 or rng.random() < 0.8 else MANY_GROUPS
    groups = np.zeros(code_count, np.int64)
    parts = 1
    if rng.random() < 0.5:
        parts = int(rng.integers(1, min(code_count, most) + 1))
        groups = rng.integers(0, parts, code_count) * stride
    shape = rng.random()
    if shape < 0.3:
        low, high = np.sort(rng.integers(0, code_count, 2))
        groups[:low] = groups[high + 1 :] = -1
    elif shape < 0.7:
        groups[rng.random(code_count) < rng.choice([0.1, 0.5, 0.95])] = -1
    return CodeMap(hierarchy, by_cell=False, groups=groups, filters=True), parts


def random_measure(rng, row_count):
    kind = rng.choice(["i1", "i2", "i4", "i8", "wide", "f8"])
    valid = rng.random(row_count) < 0.8 if rng.random() < 0.4 else None
    if kind == "f8":
        # Multiples of 1/4: their sums are exact in any order.
        values = rng.integers(-400, 400, row_count) / 4
        return Measure(np.where(valid, values, 0.0) if valid is not None else values, valid)
    limit = 2**62 if kind == "wide" else np.iinfo(kind).max // (2**20 if kind == "i8" else 1)
    values = rng.integers(-limit, limit, row_count).astype("i8" if kind == "wide" else kind)
    if valid is not None:
        values = np.where(valid, values, 0).astype(values.dtype)
    return Measure(values, valid, int(values.min(initial=0)), int(values.max(initial=0)))


def right_answer(job, places, measures, row_count):
    """Return the rows of each group and the accumulators, by group in a loop."""
    group = np.zeros(row_count, np.int64)
    passed = np.full(row_count, bool(len(job.intervals)))
    for code_map in job.maps:
        parts = code_map.groups[places[code_map.hierarchy]]
        passed &= parts >= 0
        group += parts
    rows = np.bincount(group[passed], minlength=job.group_count)
    values = []
    for accumulator in job.accumulators:
        measure = measures[accumulator.measure]
        valid = passed if measure.valid is None else passed & measure.valid
        chosen, of = measure.values[valid], group[valid]
        order = np.argsort(of, kind="stable")
        edges = np.searchsorted(of[order], np.arange(job.group_count + 1))
        found = []
        for low, high in itertools.pairwise(edges.tolist()):
            some = chosen[order[low:high]]
            match accumulator.function:
                case "count":
                    found.append(len(some))
                case "sum":
                    found.append(sum(some.tolist()))
                case function:
                    found.append(getattr(np, function)(some) if len(some) else None)
        values.append(found)
    return rows, values


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_scan_adds_up_what_passes(is_compiled, monkeypatch):
    warm.wait()
    if not is_compiled:
        monkeypatch.setattr(warm, "scan_loops", lambda: None)
    for number in range(CASES):
        rng = np.random.default_rng([SEED, number])
        monkeypatch.setattr(scan, "CHUNK_ROWS", int(rng.choice([64, 1000, 16_384])))
        monkeypatch.setattr(scan, "THREAD_ROWS", int(rng.choice([100, 2**18])))
        monkeypatch.setattr(scan, "SLICE_PIECES", int(rng.choice([1, 32])))
        row_count = int(rng.choice([0, 1, 63, 64, 2_048, ROWS, MANY_ROWS]))
        columns = [random_column(rng, row_count) for _ in range(rng.integers(0, 4))]
        maps, group_count = [], 1
        for hierarchy, (_, column, _) in enumerate(columns):
            code_map, parts = random_map(rng, hierarchy, column.code_count, group_count)
            maps.append(code_map)
            group_count *= parts
        measures = [random_measure(rng, row_count) for _ in range(3)]
        accumulators = tuple(
            Accumulator(str(rng.choice(["sum", "min", "max", "count"])), int(rng.integers(3)))
            for _ in range(rng.integers(0, 5))
        )
        intervals = np.array([[0, 1]] if rng.random() < 0.95 else np.empty((0, 2)), np.int64)
        job = FusedJob(intervals, tuple(maps), group_count, accumulators)
        known = [column for _, column, _ in columns]
        plan = scan.prepare_scan(job, known, row_count)
        result = scan.launch_scan(plan, job, known, [arrays for arrays, _, _ in columns], measures)
        rows, values = right_answer(job, [places for *_, places in columns], measures, row_count)
        assert result.rows.tolist() == rows.tolist(), number
        for found, right in zip(result.values, values, strict=True):
            for value, wanted in zip(found.tolist(), right, strict=True):
                assert wanted is None or value == wanted, number


def test_zone_maps_leave_out_chunks_and_filters(monkeypatch):
    monkeypatch.setattr(scan, "CHUNK_ROWS", 4)
    codes = np.array([2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4], np.uint8)
    column = scan.ScanColumn((5,), scan.zones_of(codes))
    code_map = CodeMap(0, by_cell=False, groups=np.array([-1, -1, 5, 5, -1]), filters=True)
    job = FusedJob(np.array([[0, 1]]), (code_map,), 6, ())
    plan = scan.prepare_scan(job, [column], len(codes))
    assert plan.pieces.tolist() == [[0, 4], [4, 8], [8, 12]]
    assert plan.active.ravel().tolist() == [0, 0, 0]
    assert plan.bases.tolist() == [5, 5, 5]
    some = CodeMap(0, by_cell=False, groups=np.array([-1, -1, -1, 1, 0]), filters=True)
    plan = scan.prepare_scan(FusedJob(job.intervals, (some,), 2, ()), [column], len(codes))
    assert plan.pieces.tolist() == [[4, 8], [8, 12], [12, 14]]
    assert plan.active.ravel().tolist() == [scan.FILTERS | scan.ADDS, 0, 0]
    assert plan.bases.tolist() == [0, 1, 0]
