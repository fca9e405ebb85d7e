"""The CPU backend against NumPy, on random cells, codes, maps and measures."""

from dataclasses import replace

import numpy as np
import pytest
from random_jobs import hierarchy, random_case, random_job

import raydb
from raydb.errors import DataError
from raydb.kernels.backends.backend import Accumulator, FusedJob
from raydb.kernels.backends.choice import choose_backends
from raydb.kernels.backends.cpu.runs import find_runs
from raydb.kernels.backends.registry import open_backend
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.kernels.bvh.bvh import count_cells, narrow_measure

SEEDS = range(12)


def brute_force(job, cells, hierarchies, codes, measures):
    """Row by row: (rows of each group, values of each accumulator)."""
    z = np.zeros(len(codes[0]), np.int64)
    for h, c in zip(hierarchies, codes, strict=True):
        z = z * h.scan_count + h.scan_codes[c]
    alive, groups = cells[z], np.zeros(len(z), np.int64)
    for m in job.maps:
        h, c = hierarchies[m.hierarchy], codes[m.hierarchy]
        part = m.groups[h.scan_codes[c] if m.by_cell else c]
        alive &= part >= 0
        groups += part
    rows = np.bincount(groups[alive], minlength=job.group_count)
    values = []
    for a in job.accumulators:
        numbers, valid = measures[a.measure]
        used = alive if valid is None else alive & valid
        per_group = [numbers[used & (groups == g)] for g in range(job.group_count)]
        reduce = {"sum": sum, "count": len, "min": min, "max": max}[a.function]
        values.append(
            [
                reduce(v.tolist())
                if len(v) or (a.function != "min" and a.function != "max")
                else None
                for v in per_group
            ]
        )
    return rows, values


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_agree_with_numpy(seed):
    rng, hierarchies, codes, measures = random_case(seed)
    backend = open_backend("cpu")
    bvh = backend.build(source_of(hierarchies, codes, measures, len(codes[0])), unwatched())
    assert (bvh.cells is None) == (seed % 3 != 0)
    for _ in range(5):
        job, cells = random_job(rng, bvh)
        prepared = backend.prepare(bvh, job)
        result = prepared.launch()
        rows, expected = brute_force(job, cells, hierarchies, codes, measures)
        assert result.rows.tolist() == rows.tolist()
        for accumulator, got, want in zip(job.accumulators, result.values, expected, strict=True):
            for value, right in zip(got.tolist(), want, strict=True):
                if right is not None:
                    assert value == pytest.approx(right, rel=1e-12), accumulator
        places, groups = prepared.locate()
        assert np.bincount(groups, minlength=12).tolist() == rows.tolist()
        assert len(np.unique(places)) == len(places)
        assert bvh.count_rows(job.intervals) >= len(places)


@pytest.mark.parametrize("share", [0.0005, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_dead_places_are_left_out_of_every_job(seed, share):
    rng, hierarchies, codes, measures = random_case(seed)
    backend = open_backend("cpu")
    bvh = backend.build(source_of(hierarchies, codes, measures, len(codes[0])), unwatched())
    dead = np.flatnonzero(rng.random(bvh.row_count) < share)
    alive = np.ones(bvh.row_count, np.bool_)
    alive[bvh.row_ids[dead]] = False
    holed = replace(bvh, dead=dead)
    rest = [(values[alive], None if valid is None else valid[alive]) for values, valid in measures]
    for _ in range(5):
        job, cells = random_job(rng, bvh)
        prepared = backend.prepare(holed, job)
        result = prepared.launch()
        rows, expected = brute_force(job, cells, hierarchies, [c[alive] for c in codes], rest)
        assert result.rows.tolist() == rows.tolist()
        for accumulator, got, want in zip(job.accumulators, result.values, expected, strict=True):
            for value, right in zip(got.tolist(), want, strict=True):
                if right is not None:
                    assert value == pytest.approx(right, rel=1e-12), accumulator
        places, groups = prepared.locate()
        assert not np.isin(places, dead).any()
        assert np.bincount(groups, minlength=12).tolist() == rows.tolist()


def test_runs_are_split_at_dead_places():
    bvh = open_backend("cpu").build(
        source_of([hierarchy(4, 1)], [np.repeat(np.arange(4), 3)], [], 12), unwatched()
    )
    job = FusedJob(np.array([[0, 2], [3, 4]]), (), 1, ())

    def runs(*dead):
        found = find_runs(replace(bvh, dead=np.array(dead, np.int64)), job)
        starts, ends, _ = found.table
        assert found.bounds.tolist() == [0, *np.cumsum(ends - starts)]
        return list(zip(starts.tolist(), ends.tolist(), strict=True))

    assert runs() == runs(7, 8) == [(0, 6), (9, 12)]
    assert runs(0) == [(1, 6), (9, 12)]
    assert runs(5, 6) == [(0, 5), (9, 12)]
    assert runs(2, 3, 10) == [(0, 2), (4, 6), (9, 10), (11, 12)]
    assert runs(0, 5, 9, 11) == [(1, 5), (10, 11)]
    assert runs(*range(6)) == [(9, 12)]
    assert runs(*range(12)) == []


def test_every_row_is_in_the_bvh_once_and_in_its_cell():
    _, hierarchies, codes, measures = random_case(1)
    bvh = open_backend("cpu").build(
        source_of(hierarchies, codes, measures, len(codes[0])), unwatched()
    )
    assert sorted(bvh.row_ids.tolist()) == list(range(5_000))
    z = (hierarchies[0].scan_codes[codes[0]] * 5 + codes[1])[bvh.row_ids]
    assert np.all(np.diff(z) >= 0)
    assert bvh.offsets.tolist() == np.searchsorted(z, np.arange(21)).tolist()


def test_a_sum_beyond_64_bits_is_exact():
    big = np.full(4, 2**62)
    backend = open_backend("cpu")
    for sign in (1, -1):
        bvh = backend.build(source_of([], [], [(sign * big, None)], 4), unwatched())
        job = FusedJob(np.array([[0, 1]]), (), 1, (Accumulator("sum", 0),))
        result = backend.prepare(bvh, job).launch()
        assert result.values[0].tolist() == [sign * 2**64]


def test_measures_take_the_narrowest_integer():
    for value, dtype in ((127, "int8"), (128, "int16"), (-(2**31), "int32"), (2**31, "int64")):
        assert narrow_measure(np.array([0, value]), None).values.dtype == dtype


def test_too_many_cells_is_an_error():
    wide = hierarchy(2**11, 1)
    with pytest.raises(DataError, match="more than 2\\*\\*63"):
        count_cells([wide] * 6)


def test_a_backend_that_does_not_exist_is_named():
    assert choose_backends("auto")[0] == ("cpu",)
    with pytest.raises(raydb.ProgrammingError, match="did you mean 'cuda'"):
        choose_backends("cudda")
