"""A backend is one entry in a table, and so is a kind of state that jobs accumulate."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import CPU, flat_bvh

from raydb.errors import OperationalError
from raydb.kernels.backends import aggregates, registry
from raydb.kernels.backends.aggregates import STATES, WORDS, Word
from raydb.kernels.backends.backend import Accumulator, Entry, FusedJob, PreparedJob
from raydb.kernels.backends.choice import TOO_SHORT, choose_backends, choose_by_cost
from raydb.kernels.backends.cpu import numpy_loops
from raydb.kernels.backends.cpu.states import CpuState, CpuStates
from raydb.kernels.backends.cuda.source import Shape, kernel_source
from raydb.kernels.backends.device import Columns, DeviceError, Faults, NotReadyError
from raydb.kernels.backends.device_totals import Total, Totals, merge_words
from raydb.kernels.backends.fallback import prepare_job


class ToyBackend:
    """Counts its launches, and leaves the work to the CPU."""

    name = "toy"
    launches = 0

    def build(self, source, control):
        return CPU.build(source, control)

    def prepare(self, bvh, job):
        return ToyJob(CPU.prepare(bvh, job))


class ToyJob(PreparedJob):
    def __init__(self, job):
        self.job = job

    @property
    def figures(self):
        return {"device_ms": 1.5}

    def launch(self):
        ToyBackend.launches += 1
        return self.job.launch()

    def locate(self):
        return self.job.locate()


@pytest.fixture
def tables(monkeypatch):
    registry.open_backend.cache_clear()
    registry.look_again()
    yield monkeypatch
    registry.open_backend.cache_clear()
    registry.look_again()


def toy(open_toy=ToyBackend):
    return Entry("toy", "toy", open_toy, lambda: "a toy", ("cpu",))


JOB = FusedJob(np.array([[0, 1]]), (), 1, (Accumulator("sum", 0),))


def test_a_backend_is_one_entry(tables):
    tables.setitem(registry.BACKENDS, "toy", toy())
    assert registry.obstacle("toy") is None
    job = prepare_job(("toy", "cpu"), flat_bvh(np.arange(9)), JOB)
    assert job.launch().values[0].tolist() == [36]
    assert ToyBackend.launches == 1
    assert job.ran_on() == "toy (1.500 ms on the device)"
    assert job.warnings() == []
    measures = flat_bvh(np.arange(9)).measures
    assert job.accumulate(("sum",), measures, np.zeros(9, np.int64), 1).values[0].tolist() == [36]


def test_a_backend_that_fails_leaves_the_job_to_the_next(tables):
    def broken():
        raise DeviceError("toy: it is broken")

    tables.setitem(registry.BACKENDS, "toy", toy(broken))
    job = prepare_job(("toy", "cpu"), flat_bvh(np.arange(9)), JOB)
    assert job.launch().values[0].tolist() == [36]
    assert job.ran_on() == "cpu (toy: it is broken)"
    assert job.warnings() == ["toy: it is broken; cpu answered"]
    alone = prepare_job(("toy",), flat_bvh(np.arange(9)), JOB)
    with pytest.raises(OperationalError, match="toy: it is broken; SET fallback"):
        alone.launch()


def test_a_backend_that_is_not_ready_leaves_the_job_to_the_next(tables):
    def unready():
        raise NotReadyError("toy: it warms up")

    tables.setitem(registry.BACKENDS, "toy", toy(unready))
    job = prepare_job(("toy", "cpu"), flat_bvh(np.arange(9)), JOB)
    assert job.launch().values[0].tolist() == [36]
    assert job.ran_on() == "cpu (toy: it warms up)"
    assert job.warnings() == []


def test_costs_choose_a_device_where_none_is_named(tables):
    cpu = ("cpu",), TOO_SHORT
    assert choose_backends("auto") == cpu
    assert choose_by_cost("auto", *cpu, 9e4, 1e5) == cpu
    assert choose_by_cost("cpu", ("cpu",), "SET", 1e9, 1e5) == (("cpu",), "SET")
    lacking = replace(registry.BACKENDS["cuda"], lacks=lambda: iter(["cuda: no device"]))
    tables.setitem(registry.BACKENDS, "cuda", replace(lacking, is_simulated=lambda: False))
    assert choose_by_cost("auto", *cpu, 1e5, 1e5) == (("cpu",), "auto; cuda: no device")
    registry.look_again()
    there = replace(registry.BACKENDS["cuda"], lacks=lambda: iter(()))
    tables.setitem(registry.BACKENDS, "cuda", there)
    names, reason = choose_by_cost("auto", *cpu, 3.14e6, 1e5)
    assert (names, reason) == (("cuda", "cpu"), "auto: about 3.14 ms on the processor")
    tables.setitem(registry.BACKENDS, "cuda", replace(there, is_simulated=lambda: True))
    assert choose_by_cost("auto", *cpu, 1e9, 1e5)[0] == ("cpu",)


def test_an_error_inside_a_library_of_the_device_is_a_fault_of_it():
    """numba-cuda raises AttributeError beside a NumPy that it does not know."""
    library = {"__name__": "numba.cuda.np.arrayobj", "np": np}
    exec("def row_stack(): return np.row_stack_of_old", library)
    ours = {"__name__": "raydb.kernels.backends.cuda.memory", "library": library}
    exec("def use(): library['row_stack']()\ndef slip(): return None.shape", ours)
    faults = Faults()
    with (
        pytest.raises(DeviceError, match="cuda: numba does not work here: module 'numpy' has no"),
        faults.translated("cuda"),
    ):
        ours["use"]()
    assert "cuda" in faults.lost
    with pytest.raises(AttributeError), Faults().translated("cuda"):
        ours["slip"]()


def test_a_view_of_a_whole_column_is_the_column():
    column = np.arange(9)
    columns = Columns(np.copy, lambda: 2**20)
    (kept,) = columns.get(column)
    frozen = column.view()
    frozen.flags.writeable = False
    assert columns.get(frozen, column)[0] is kept
    assert columns.get(column[1:])[0] is not kept
    assert columns.get(column[::-1])[0] is not kept
    assert columns.get(column.view(np.uint64))[0] is not kept
    dropped = columns.dropped
    del frozen, column
    assert columns.dropped > dropped


def test_what_a_backend_lacks_is_its_obstacle(tables):
    tables.setitem(
        registry.BACKENDS, "toy", replace(toy(), lacks=lambda: iter(["toy: no batteries"]))
    )
    assert registry.obstacle("toy") == "toy: no batteries"


def test_a_state_is_one_entry(monkeypatch):
    """NumPy's loop, merges and CUDA's kernels of a bitwise OR are made of its word."""
    monkeypatch.setitem(WORDS, "or", Word(np.bitwise_or, both="{} | {}", atomic="or_"))
    monkeypatch.setitem(STATES, "or", ("or",))
    monkeypatch.setattr(aggregates, "BY_ROW", (*aggregates.BY_ROW, "or"))
    monkeypatch.setattr(numpy_loops, "or_places", numpy_loops._over_rows("or"), raising=False)
    monkeypatch.setattr("raydb.kernels.backends.cpu.states.loops", lambda: numpy_loops)
    state = CpuState("or", np.array([1, 2, 4, 8, 1]), None)
    states = CpuStates((state,), ((0, 0),))
    first, second = states.new_arrays(2), states.new_arrays(2)
    state.add_places(first[0], np.arange(3), np.array([0, 1, 0]))
    state.add_places(second[0], np.arange(3, 5), np.array([1, 0]))
    states.merge(first, second)
    assert states.values(np.zeros(2, np.int64), first)[0].tolist() == [5, 10]
    total = Total("or", 0)
    words = [np.array([5, 2])]
    merge_words(Totals((), (total,), ((0,),)), words, [np.array([1, 8])])
    assert words[0].tolist() == [5, 10]
    text = kernel_source(Shape((), 1, (total,), "global", 1))
    assert "cuda.atomic.or_(out, " in text
    assert "total0 = total0 | int64(" in text
