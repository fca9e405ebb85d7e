"""The RT backend over the module `optix` and `program.cu` itself, both on the CPU.

`test_rt_program` builds the OptiX of `optix_on_cpu.cpp` and runs this file with it.
"""

from dataclasses import replace

import agreement
import cupy_on_host
import numpy as np
import pytest
from random_jobs import random_case, random_job
from ray_simulator import RaySimulator

cupy_on_host.install()

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob  # noqa: E402
from raydb.kernels.backends.device import DeviceError, faults  # noqa: E402
from raydb.kernels.backends.rt import optix_tracer, rays  # noqa: E402
from raydb.kernels.backends.rt.optix_tracer import open_tracers  # noqa: E402
from raydb.kernels.backends.rt.rt_backend import RtBackend, Scenes  # noqa: E402
from raydb.kernels.bvh.build_input import source_of, unwatched  # noqa: E402

(TRACER,) = open_tracers()


@pytest.fixture(params=["lanes", "paper"])
def backend(request):
    return RtBackend(request.param, [Scenes(TRACER)])


@pytest.mark.parametrize("seed", range(4))
def test_random_jobs(backend, seed):
    agreement.check_random(backend, seed, 300, 2)


def test_edges():
    agreement.check_edges(RtBackend("lanes", [Scenes(TRACER)]))


def test_signed_codes(backend):
    agreement.check_signed_codes(backend)


def test_dead_rows(backend):
    _, hierarchies, codes, measures = random_case(1, 300)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 300), unwatched())
    job, _ = random_job(np.random.default_rng(1), bvh)
    agreement.check_launch(backend, replace(bvh, dead=np.arange(0, 300, 4)), job)
    agreement.check_locate(backend, replace(bvh, dead=np.arange(0, 300, 4)), job)


@pytest.mark.parametrize("many", [1, 300])
@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_ray_adds_what_it_holds_when_another_group_comes(keep, many, monkeypatch):
    """Totals in registers, over rays that meet several groups or one, and rows that are dropped."""
    monkeypatch.setattr(rays, "MANY_RAYS", many)
    rng, hierarchies, codes, measures = random_case(1, 900)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 900), unwatched())
    job, _ = random_job(rng, bvh)
    by_row = CodeMap(0, by_cell=False, groups=np.arange(12) % 4 * 3 - 3, filters=True)
    by_row.groups[by_row.groups < 0] = -1
    outside = CodeMap(2, by_cell=False, groups=np.arange(6) % 2 * 20, filters=False)
    accumulators = {
        1: [("sum", 0), ("min", 1), ("max", 2), ("sum", 2)],
        2: [("sum", 1), ("count", 1)],
        3: [("count", 0)],
    }
    job = replace(
        job,
        maps=(by_row, outside),
        group_count=40,
        accumulators=tuple(Accumulator(*each) for each in accumulators[keep]),
    )
    for encoding in ("lanes", "paper"):
        agreement.check_launch(RtBackend(encoding, [Scenes(TRACER)]), bvh, job)


def test_more_rays_than_a_launch_takes(monkeypatch):
    """The 29 rays of a cell of 900 rows, in launches of three."""
    monkeypatch.setattr(optix_tracer, "MAX_RAYS", 3)
    bvh = agreement.flat_bvh(np.arange(900))
    totals = tuple(Accumulator(each, 0) for each in ("sum", "min", "max"))
    job = FusedJob(np.array([[0, 1]]), (), 1, totals)
    backend = RtBackend("lanes", [Scenes(TRACER)])
    agreement.check_launch(backend, bvh, job)
    agreement.check_locate(backend, bvh, job)
    prepared = backend.prepare(bvh, job)
    prepared.launch()
    assert prepared.figures["rays"] == 29


def test_located_groups_need_more_than_32_bits(backend):
    _, hierarchies, codes, measures = random_case(1, 300)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 300), unwatched())
    cells = CodeMap(1, by_cell=True, groups=np.arange(5) * 2**40, filters=False)
    rows = CodeMap(0, by_cell=False, groups=np.arange(12) * 2**33, filters=False)
    everything = np.array([[0, bvh.cell_count]])
    agreement.check_locate(backend, bvh, FusedJob(everything, (cells, rows), 2**43, ()))


def test_rays_and_hits_are_the_simulator_s():
    _, hierarchies, codes, measures = random_case(2, 2_000)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 2_000), unwatched())
    job, _ = random_job(np.random.default_rng(2), bvh)
    for encoding in ("lanes", "paper"):
        figures = []
        for tracer in (TRACER, RaySimulator()):
            backend = RtBackend(encoding, [Scenes(tracer)])
            prepared = backend.prepare(bvh, job)
            prepared.launch()
            figures.append((prepared.figures["rays"], prepared.figures["hits"]))
        assert figures[0] == figures[1]
        assert figures[0][1] > 0


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("memory", "rt: the device's memory is full"),
        ("launch", "rt: the device was lost: OptiX reports: Launch failure"),
    ],
)
def test_what_optix_reports_is_a_fault_of_the_device(fault, sentence, monkeypatch):
    backend = RtBackend("lanes", [Scenes(TRACER)])
    bvh = agreement.flat_bvh(np.arange(9))
    job = FusedJob(np.array([[0, 1]]), (), 1, (Accumulator("sum", 0),))
    monkeypatch.setenv("OPTIX_ON_CPU_FAULT", fault)
    with pytest.raises(DeviceError) as error:
        backend.prepare(bvh, job).launch()
    assert str(error.value) == sentence
    faults.lost.clear()


def device_error(name, module, text):
    return type(name, (Exception,), {"__module__": module})(text)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            device_error("OutOfMemoryError", "cupy.cuda.memory", "out of memory"),
            "rt: the device's memory is full",
        ),
        (
            device_error("CUDARuntimeError", "cupy_backends.cuda.api.runtime", "cudaErrorUnknown"),
            "rt: the device was lost: cudaErrorUnknown",
        ),
    ],
)
@pytest.mark.parametrize("way", [agreement.check_launch, agreement.check_locate])
def test_a_fault_wherever_memory_is_asked_for(backend, way, error, sentence, monkeypatch):
    """Corners, structure, compaction, rays, columns, totals and parameters, one after the other."""
    _, hierarchies, codes, measures = random_case(1, 300)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 300), unwatched())
    by_row = CodeMap(0, by_cell=False, groups=np.arange(12) % 4, filters=False)
    totals = tuple(Accumulator(each, 0) for each in ("sum", "min"))
    job = FusedJob(np.array([[0, bvh.cell_count]]), (by_row,), 4, totals)
    make = cupy_on_host.Array.__init__
    for number in range(100):
        left = [number]

        def fail(array, values, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise error
            make(array, values)

        backend = RtBackend(backend.encoding, [Scenes(TRACER)])
        with monkeypatch.context() as patch:
            patch.setattr(cupy_on_host.Array, "__init__", fail)
            told = agreement.told_by(lambda backend=backend: way(backend, bvh, job))
        if told is None:
            break
        assert told == sentence
        assert faults.lost == ({} if "memory" in sentence else {"rt": sentence})
        faults.lost.clear()
        # With what was sent before the fault.
        way(backend, bvh, job)
    assert 15 < number < 99


def test_a_chip_without_rt_cores():
    assert TRACER.core_version == 0
