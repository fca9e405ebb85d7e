"""What every backend is held to: its answers to random jobs are those of the CPU backend."""

from dataclasses import replace
from functools import partial

import numpy as np
from random_jobs import hierarchy, random_case, random_job

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cpu.cpu_backend import CpuBackend
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.kernels.bvh.bvh import narrow_measure

CPU = CpuBackend()
EQUAL = np.testing.assert_array_equal


def check_launch(backend, bvh, job):
    """Run a job on both; values of groups without a valid row are arbitrary where least or most."""
    result = backend.prepare(bvh, job).launch()
    expected = CPU.prepare(bvh, job).launch()
    assert result.rows.dtype == np.int64
    assert result.rows.tolist() == expected.rows.tolist()
    for accumulator, got, want in zip(
        job.accumulators, result.values, expected.values, strict=True
    ):
        valid = expected.rows > 0
        if accumulator.function in ("min", "max"):
            measure = bvh.measures[accumulator.measure]
            if measure.valid is not None:
                one = FusedJob(
                    job.intervals,
                    job.maps,
                    job.group_count,
                    (Accumulator("count", accumulator.measure),),
                )
                valid = CPU.prepare(bvh, one).launch().values[0] > 0
        is_near = bvh.measures[accumulator.measure].is_float and accumulator.function == "sum"
        compare = partial(np.testing.assert_allclose, rtol=1e-9) if is_near else EQUAL
        compare(got[valid], want[valid], err_msg=str(accumulator))
    return result


def check_locate(backend, bvh, job):
    places, groups = backend.prepare(bvh, job).locate()
    expected_places, expected_groups = CPU.prepare(bvh, job).locate()
    order, expected_order = np.argsort(places), np.argsort(expected_places)
    assert places.dtype == groups.dtype == np.int64
    assert places[order].tolist() == expected_places[expected_order].tolist()
    assert groups[order].tolist() == expected_groups[expected_order].tolist()


def check_random(backend, seed, row_count, job_count=3):
    """Build on the CPU, and run random jobs on both."""
    print(f"seed {seed}")
    rng, hierarchies, codes, measures = random_case(seed, row_count)
    bvh = CPU.build(source_of(hierarchies, codes, measures, row_count), unwatched())
    for _ in range(job_count):
        job, _ = random_job(rng, bvh)
        check_launch(backend, bvh, job)
        check_locate(backend, bvh, job)


def check_build(backend, seed, row_count):
    """The arrays of a BVH are the same wherever it was built."""
    _, hierarchies, codes, measures = random_case(seed, row_count)
    ours = backend.build(source_of(hierarchies, codes, measures, row_count), unwatched())
    cpu = CPU.build(source_of(hierarchies, codes, measures, row_count), unwatched())
    assert ours.stored == cpu.stored
    assert ours.cell_count == cpu.cell_count
    arrays = [("offsets", ours.offsets, cpu.offsets), ("row_ids", ours.row_ids, cpu.row_ids)]
    assert (ours.cells is None) == (cpu.cells is None)
    if cpu.cells is not None:
        arrays.append(("cells", ours.cells, cpu.cells))
    for mine, theirs in zip(ours.codes, cpu.codes, strict=True):
        arrays.append(("codes", mine, theirs))
    for mine, theirs in zip(ours.measures, cpu.measures, strict=True):
        assert (mine.low, mine.high) == (theirs.low, theirs.high)
        arrays.append(("values", mine.values, theirs.values))
        if theirs.valid is not None:
            arrays.append(("valid", mine.valid, theirs.valid))
    for name, mine, theirs in arrays:
        assert mine.dtype == theirs.dtype, name
        np.testing.assert_array_equal(mine, theirs, err_msg=name)


def flat_bvh(values, valid=None, codes=None, code_count=0):
    """A BVH of one cell with one measure, and at most one stored hierarchy outside of Z."""
    hierarchies = [] if codes is None else [hierarchy(1, code_count)]
    row_codes = [] if codes is None else [codes.astype(np.int32)]
    return CPU.build(source_of(hierarchies, row_codes, [(values, valid)], len(values)), unwatched())


def check_edges(backend):
    """Sums beyond 64 bits, NaN, infinities, NULLs, no rows, no intervals, codes of -1."""
    whole = np.array([[0, 1]])
    everything = tuple(Accumulator(f, 0) for f in ("sum", "count", "min", "max"))
    job = FusedJob(whole, (), 1, everything)
    for sign in (1, -1):
        result = check_launch(backend, flat_bvh(np.full(5, sign * 2**62)), job)
        assert result.values[0].tolist() == [sign * 5 * 2**62]
    numbers = np.array([np.nan, -np.inf, 3.5, -3.5, -0.0, np.inf, -np.nan])
    codes = np.array([0, 1, 1, 1, 2, 3, 3])
    by_code = CodeMap(0, by_cell=False, groups=np.arange(4), filters=False)
    least_and_most = tuple(Accumulator(f, 0) for f in ("count", "min", "max"))
    for valid in (None, np.array([True, True, False, True, True, False, True])):
        bvh = flat_bvh(numbers, valid, codes, 4)
        check_launch(backend, bvh, FusedJob(whole, (by_code,), 4, least_and_most))
    empty = flat_bvh(np.empty(0, np.int64))
    check_launch(backend, empty, job)
    check_locate(backend, empty, job)
    none = FusedJob(np.empty((0, 2), np.int64), (), 1, everything)
    check_launch(backend, flat_bvh(np.arange(9)), none)


def check_signed_codes(backend):
    """In an int32 array of codes -1 is the last code."""
    codes = np.array([0, 1, -1, 2, -1, 0, -1], np.int32)
    bvh = flat_bvh(np.arange(7), None, np.zeros(7, np.int64), 4)
    bvh = replace(bvh, codes=(codes,))
    by_code = CodeMap(0, by_cell=False, groups=np.array([0, -1, 1, 2]), filters=True)
    job = FusedJob(np.array([[0, 1]]), (by_code,), 3, (Accumulator("sum", 0),))
    result = check_launch(backend, bvh, job)
    assert result.values[0].tolist() == [5, 3, 12]
    check_locate(backend, bvh, job)


def check_gathered(backend, seed):
    rng = np.random.default_rng(seed)
    print(f"seed {seed}")
    valid = rng.random(300) < 0.7
    measures = [
        narrow_measure(rng.integers(-100, 100, 300), None),
        narrow_measure(np.where(valid, rng.random(300), 0.0), valid),
        narrow_measure(np.where(valid, rng.integers(0, 9, 300), 0), valid),
    ]
    groups = rng.integers(0, 20, 300)
    bvh = flat_bvh(np.arange(9))
    job = FusedJob(np.array([[0, 1]]), (), 1, ())
    ours, theirs = backend.prepare(bvh, job), CPU.prepare(bvh, job)
    got = ours.accumulate(("sum", "sum", "count"), measures, groups, 20)
    want = theirs.accumulate(("sum", "sum", "count"), measures, groups, 20)
    assert got.rows.tolist() == want.rows.tolist()
    for mine, theirs in zip(got.values, want.values, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    none = np.empty(0, np.int64)
    nothing = ours.accumulate(("sum",), [narrow_measure(none, None)], none, 1)
    assert nothing.rows.tolist() == [0]


def told_by(work):
    """The sentence of a fault of the device, None where there is none."""
    try:
        work()
    except DeviceError as error:
        return str(error)
    return None
