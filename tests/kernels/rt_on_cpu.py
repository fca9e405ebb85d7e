"""The RT backend over the module `optix` and `program.cu` itself, both on the CPU.

`test_rt_program` builds the OptiX of `optix_on_cpu.cpp` and runs this file with it.
"""

from dataclasses import replace

import agreement
import cupy_on_host
import numpy as np
import pytest
from random_jobs import random_case, random_job

cupy_on_host.install()

from raydb.kernels.bvh_rows import source_of, unwatched  # noqa: E402
from raydb.kernels.rt.backend import RtBackend, Scenes  # noqa: E402
from raydb.kernels.rt.optix_tracer import open_tracers  # noqa: E402

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


def test_a_chip_without_rt_cores():
    assert TRACER.core_version == 0
