"""The CUDA kernels against the CPU backend; run by `test_cuda_backend` in numba's simulator.

On a machine with a device, `pytest tests/kernels/cuda_in_simulator.py` runs them there.
"""

import threading
from concurrent.futures import wait
from dataclasses import replace

import agreement
import numpy as np
import pytest
from random_jobs import random_case, random_job
from random_rows import random_case as random_case_of_rows

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cuda import build as cuda_build
from raydb.kernels.backends.cuda import cuda_backend, launch
from raydb.kernels.backends.cuda import memory as cuda_memory
from raydb.kernels.backends.cuda import work as cuda_work
from raydb.kernels.backends.cuda.cuda_backend import CudaBackend
from raydb.kernels.backends.cuda.memory import Device, devices
from raydb.kernels.backends.device import DeviceError, NotReadyError
from raydb.kernels.bvh import partition as split
from raydb.kernels.bvh.arrays import to_arrays
from raydb.kernels.bvh.build_input import BuildControl, Room, source_of, unwatched
from raydb.running import DeviceMemory, Running, current

CUDA = CudaBackend()


@pytest.fixture(autouse=True)
def columns():
    """The columns on the first device, which has all of its memory again afterwards."""
    yield devices()[0].columns
    current.set(None)
    devices()[0].columns.clear()


def allow(size_bytes):
    current.set(Running(device_memory=DeviceMemory(size_bytes)))


@pytest.mark.parametrize("seed", range(6))
def test_random_jobs(seed):
    agreement.check_random(CUDA, seed, 500)


@pytest.mark.parametrize("seed", range(3))
def test_global_accumulators(seed, monkeypatch):
    monkeypatch.setattr(cuda_backend, "SHARED_BYTES", 0)
    agreement.check_random(CUDA, seed, 300, 2)


@pytest.mark.parametrize("seed", range(6))
def test_build(seed):
    agreement.check_build(CUDA, seed, 2_000)


@pytest.mark.parametrize("seed", range(12))
def test_a_build_from_blocks_has_the_cpu_s_bytes(seed, monkeypatch):
    monkeypatch.setattr(cuda_build, "BLOCK_ROWS", 61)
    rng = np.random.default_rng(seed)
    row_count = [0, 1, 500, 900][seed % 4]
    sizes = [[(7, 3), (300, 1)], [(2**14, 1), (2**14, 3), (1, 3)], []][seed % 3]
    kinds = [7, 30, 61, "float"][seed % 2 :]
    case = random_case_of_rows(rng, row_count, sizes, kinds, [1, 0.5][seed % 2], seed % 2)
    steps = []
    control = BuildControl(Room(2**20), lambda *step: steps.append(step))
    built, _ = to_arrays(CUDA.build(case.source, control))
    expected, _ = to_arrays(agreement.CPU.build(case.source, unwatched()))
    assert built.keys() == expected.keys()
    for name, array in built.items():
        assert array.dtype == expected[name].dtype, name
        assert array.tobytes() == expected[name].tobytes(), name
    assert ("sort", 1.0) in steps


def test_edges():
    agreement.check_edges(CUDA)


def test_signed_codes():
    agreement.check_signed_codes(CUDA)


@pytest.mark.parametrize("in_turns", [False, True])
def test_located_groups_need_more_than_32_bits(in_turns):
    _, hierarchies, codes, measures = random_case(1, 300)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 300), unwatched())
    cells = CodeMap(1, by_cell=True, groups=np.arange(-1, 4) * 2**40, filters=True)
    cells.groups[0] = -1
    rows = CodeMap(0, by_cell=False, groups=np.arange(-1, 11) * 2**33, filters=True)
    rows.groups[0] = -1
    outside = CodeMap(2, by_cell=False, groups=np.array([0, 1, -1, -1, -1, -1]), filters=True)
    everything = np.array([[0, bvh.cell_count]])
    # The last one by a test of few rows that pass; and just below and at the end of 32 bits.
    for maps in ((cells, rows), (cells,), (rows,), (rows, outside)):
        job = FusedJob(everything, maps, 2**43, ())
        if in_turns:
            allow(CUDA.prepare(bvh, job).shares[0].work.control.nbytes + 3_000)
        agreement.check_locate(CUDA, bvh, job)
    for most in (2**31 - 1, 2**31):
        groups = np.arange(6) * 0
        groups[5] = most
        by_code = CodeMap(2, by_cell=False, groups=groups, filters=False)
        agreement.check_locate(CUDA, bvh, FusedJob(everything, (by_code,), most + 1, ()))


def test_more_groups_or_intervals_than_a_kernel_has_numbers_for(monkeypatch):
    bvh = agreement.flat_bvh(np.arange(9))
    sums = (Accumulator("sum", 0),)
    job = FusedJob(np.array([[0, 1]]), (), 2**31 + 1, sums)
    monkeypatch.setattr(cuda_memory, "SIMULATED_BYTES", 2**50)
    with pytest.raises(DeviceError, match="2147483649 groups do not fit"):
        CUDA.prepare(bvh, job).launch()
    monkeypatch.setattr(cuda_work, "MAX_TOLD", 5)
    with pytest.raises(DeviceError, match="the 1 intervals of the job are too many"):
        CUDA.prepare(bvh, FusedJob(np.array([[0, 1]]), (), 1, sums))


def test_gathered_rows():
    agreement.check_gathered(CUDA, 5)


def test_several_blocks_share_groups(monkeypatch):
    monkeypatch.setattr(devices()[0], "multiprocessors", 1_000)
    agreement.check_random(CUDA, 11, 700, 2)


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_do_not_fit_are_sent_in_turns(seed):
    rng, hierarchies, codes, measures = random_case(seed, 400)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 400), unwatched())
    for _ in range(2):
        job, _ = random_job(rng, bvh)
        work = CUDA.prepare(bvh, job).shares[0].work
        # Room for the runs, the maps and about a hundred rows.
        allow(work.control.nbytes + 3_000)
        agreement.check_launch(CUDA, bvh, job)
        agreement.check_locate(CUDA, bvh, job)
    allow(100)
    with pytest.raises(DeviceError, match="do not fit the device's memory"):
        CUDA.prepare(bvh, job).launch()


def test_the_least_recently_used_columns_leave_first(columns):
    first, second, third = (np.zeros(100, np.int64) for _ in range(3))
    allow(1_700)
    columns.get(first)
    columns.get(second)
    kept = columns.get(first)
    columns.get(third)
    assert columns.size_bytes == 1_600
    assert columns.get(first)[0] is kept[0]
    del third
    assert columns.size_bytes == 800


@pytest.mark.parametrize("group_count", [2, 5, 20_000])
def test_a_job_is_launched_again(columns, group_count):
    """What it has in place stays right when others run, and when its columns have left."""
    rng = np.random.default_rng(group_count)
    codes = rng.integers(0, group_count, 700)
    bvh = agreement.flat_bvh(rng.normal(size=700), rng.random(700) < 0.9, codes, group_count)
    by_code = CodeMap(0, by_cell=False, groups=np.arange(group_count), filters=False)
    functions = ("sum", "count", "min", "max")
    job = FusedJob(
        np.array([[0, 1]]), (by_code,), group_count, tuple(Accumulator(f, 0) for f in functions)
    )
    other = agreement.flat_bvh(np.arange(900), None, codes[:900].repeat(2)[:900], group_count)
    prepared = CUDA.prepare(bvh, job)
    first = prepared.launch()

    def check_again():
        again = prepared.launch()
        assert again.rows.tolist() == first.rows.tolist()
        for mine, wanted in zip(again.values, first.values, strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-9)

    check_again()
    assert CUDA.prepare(other, job).launch().rows.sum() == 900
    check_again()
    columns.clear()
    check_again()
    allow(prepared.shares[0].work.control.nbytes + 5 * 8 * group_count + 3_000)
    check_again()
    assert ("turns" in prepared.figures) == (group_count < 700)
    current.set(None)
    check_again()
    assert first.rows.tolist() == np.bincount(codes, minlength=group_count).tolist()


def test_a_kernel_is_compiled_in_the_background(monkeypatch):
    """Until it is there the device is not ready; one that does not compile is tried once."""
    ready, tries = threading.Event(), []

    def compile_slowly(shape, kinds, _capability):
        tries.append(shape)
        ready.wait()
        if shape == "wrong":
            raise ValueError(kinds)

    monkeypatch.setattr(launch, "_compiling", {})
    monkeypatch.setattr(launch, "_capability", lambda number: "90")
    monkeypatch.setattr(launch, "_machine_code", compile_slowly)
    for _ in range(2):
        with pytest.raises(NotReadyError, match="is being compiled"):
            launch.check_compiled("right", (), 0)
    ready.set()
    wait(launch._compiling.values())
    launch.check_compiled("right", (), 0)
    for _ in range(2):
        with pytest.raises(ValueError, match="int8"):
            launch.check_compiled("wrong", "int8", 0)
    assert tries == ["right", "wrong"]


def test_a_long_run_and_many_short_ones():
    codes = np.arange(1_000) % 7
    bvh = agreement.flat_bvh(np.arange(1_000), None, codes, 7)
    by_code = CodeMap(0, by_cell=False, groups=np.arange(7), filters=False)
    job = FusedJob(np.array([[0, 1]]), (by_code,), 7, (Accumulator("sum", 0),))
    agreement.check_launch(CUDA, bvh, job)


@pytest.mark.parametrize("code_count", [2, 32, 64, 65])
@pytest.mark.parametrize("is_signed", [False, True])
def test_few_rows_pass(code_count, is_signed):
    """By bits in a register, in two, or in memory; then also by what passing rows add."""
    rng = np.random.default_rng(code_count)
    codes = np.where(rng.random(1_500) < 0.1, rng.integers(0, code_count, 1_500), 1)
    bvh = agreement.flat_bvh(rng.integers(-99, 99, 1_500), None, codes, code_count)
    if is_signed:
        # -1 stands for the last code.
        signed = codes.astype(np.int32)
        signed[codes == code_count - 1] = -1
        bvh = replace(bvh, codes=(signed,))
    for group_count in (1, 2):
        groups = np.full(code_count, -1)
        groups[[0, code_count - 1]] = 0, group_count - 1
        by_code = CodeMap(0, by_cell=False, groups=groups, filters=True)
        job = FusedJob(np.array([[0, 1]]), (by_code,), group_count, (Accumulator("sum", 0),))
        work = CUDA.prepare(bvh, job).shares[0].work
        assert work.is_sparse == (code_count > 16)
        agreement.check_launch(CUDA, bvh, job)
        agreement.check_locate(CUDA, bvh, job)


@pytest.mark.parametrize("group_count", [2, 700])
def test_sums_carry_from_their_low_half(group_count):
    rng = np.random.default_rng(group_count)
    codes = rng.integers(0, group_count, 2_000)
    by_code = CodeMap(0, by_cell=False, groups=np.arange(group_count), filters=False)
    totals = tuple(Accumulator(f, 0) for f in ("sum", "min", "max"))
    whole = np.array([[0, 1]])
    jobs = FusedJob(whole, (by_code,), group_count, totals), FusedJob(whole, (), 1, totals)
    for most in (2**31 - 1, 2**50):
        values = rng.choice([most, -most, most // 2, -1, 0, 1], 2_000)
        bvh = agreement.flat_bvh(values, None, codes, group_count)
        for job in jobs:
            agreement.check_launch(CUDA, bvh, job)


def test_more_rows_than_places_have_numbers_for(monkeypatch):
    monkeypatch.setattr(cuda_backend, "MAX_ROWS", 600)
    monkeypatch.setattr(cuda_work, "MAX_ROWS", 600)
    job = FusedJob(np.array([[0, 1]]), (), 1, (Accumulator("sum", 0),))
    bvh = agreement.flat_bvh(np.arange(1_900))
    prepared = CUDA.prepare(bvh, job)
    assert prepared.launch().values[0].tolist() == [1_900 * 1_899 // 2]
    assert prepared.figures["turns"] == 4
    agreement.check_locate(CUDA, bvh, job)


def test_a_smaller_limit_drops_columns_that_are_kept(columns):
    first, second = (np.zeros(100, np.int64) for _ in range(2))
    columns.get(first, second)
    allow(900)
    assert columns.get(second) is not None
    assert columns.size_bytes == 800
    assert columns.get(first, second) is None


@pytest.mark.parametrize("seed", range(3))
def test_dead_rows_are_left_out(seed):
    rng, hierarchies, codes, measures = random_case(seed, 400)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 400), unwatched())
    dead = np.sort(rng.permutation(400)[:90]).astype(np.int64)
    job, _ = random_job(rng, bvh)
    places, groups = CUDA.prepare(bvh, job).locate()
    left = replace(bvh, dead=dead)
    found, found_groups = CUDA.prepare(left, job).locate()
    alive = ~np.isin(places, dead)
    assert found.tolist() == places[alive].tolist()
    assert found_groups.tolist() == groups[alive].tolist()
    agreement.check_launch(CUDA, left, job)


@pytest.mark.parametrize("seed", range(4))
def test_several_devices_have_a_part_each(seed, monkeypatch):
    """Device 1 has little room, so that it sends its part in turns."""
    found = tuple(Device(0) for _ in range(3))
    found[1].columns.get = lambda *hosts: None
    monkeypatch.setattr(cuda_backend, "devices", lambda: found)
    monkeypatch.setattr(split, "PART_ROWS", 100)
    rng, hierarchies, codes, measures = random_case(seed, 400)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 400), unwatched())
    job, _ = random_job(rng, bvh)
    prepared = CUDA.prepare(bvh, job)
    assert [share.bvh.row_count > 0 for share in prepared.shares] == [True] * 3
    for each in (bvh, replace(bvh, dead=np.arange(0, 400, 3))):
        agreement.check_launch(CUDA, each, job)
        agreement.check_locate(CUDA, each, job)
    prepared.launch()
    assert prepared.figures["devices"] == 3
    assert found[0].columns.size_bytes > 0


def test_a_build_that_does_not_fit_is_refused_and_takes_no_room():
    _, hierarchies, codes, measures = random_case(1, 400)
    source = source_of(hierarchies, codes, measures, 400)
    allow(10_000)
    with pytest.raises(DeviceError, match="to sort 400 rows do not fit the device's memory"):
        CUDA.build(source, unwatched())
    allow(None)
    room = Room(100_000)

    def fail(low, high):
        raise DeviceError("cuda: the device's memory is full")

    with pytest.raises(DeviceError, match="memory is full"):
        CUDA.build(replace(source, measures=(fail,)), BuildControl(room, lambda *_: None))
    assert room.left() == 100_000
