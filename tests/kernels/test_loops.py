"""Every compiled loop against its twin in NumPy, and the thread that gets the loops ready."""

import inspect
import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from random_jobs import random_case, random_job

from raydb.errors import OperationalError
from raydb.kernels.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.choice import load_backend
from raydb.kernels.cpu import backend as cpu
from raydb.kernels.cpu import compiled, plain, warm

NAMES = [
    name
    for name, loop in vars(plain).items()
    if inspect.isfunction(loop) and loop.__module__ == plain.__name__ and name[0] != "_"
]
ROWS, GROUPS, CODES = 400, 7, 12


def random_values(rng, dtype):
    if dtype == np.float64:
        values = rng.normal(size=ROWS)
        values[rng.random(ROWS) < 0.05] = np.nan
        values[rng.random(ROWS) < 0.05] = np.inf
        return values
    limit = np.iinfo(dtype)
    return rng.integers(limit.min, limit.max, ROWS, dtype, endpoint=True)


def random_arguments(name, rng, dtype, code_dtype):
    """Return arguments of a loop by the names of its parameters."""
    edges = np.sort(rng.choice(ROWS, 20, replace=False)).astype(np.int64)
    listed = np.sort(rng.choice(ROWS, 50, replace=False)).astype(np.int64)
    by_run = "starts" in inspect.signature(getattr(plain, name)).parameters
    state = np.float64 if dtype == np.float64 else np.int64
    row_count = int((edges[1::2] - edges[::2]).sum())
    # Groups of runs leave room for two parts of up to 2 each.
    return {
        "starts": edges[::2],
        "ends": edges[1::2],
        "groups": rng.integers(0, GROUPS - 4, 10 if by_run else 50),
        "run_groups": rng.integers(0, GROUPS, 10),
        "places": np.empty(row_count, np.int64) if name.startswith("list") else listed,
        "codes": rng.integers(0, CODES, ROWS).astype(code_dtype),
        "other_codes": rng.integers(0, CODES, ROWS).astype(code_dtype),
        "parts": rng.integers(-1, 3, CODES),
        "other_parts": rng.integers(-1, 3, CODES),
        "values": random_values(rng, dtype),
        "counts": rng.integers(0, 100, GROUPS),
        "highs": rng.integers(0, 100, GROUPS),
        "lows": rng.integers(0, 100, GROUPS),
        "sums": np.arange(GROUPS).astype(state),
        "least": np.full(GROUPS, np.nan if state is np.float64 else np.iinfo(state).max, state),
        "most": np.full(GROUPS, -np.inf if state is np.float64 else np.iinfo(state).min, state),
    } | ({"groups": np.empty(row_count, np.int64)} if name.startswith("list") else {})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_twins_do_the_same(name):
    rng = np.random.default_rng(7)
    parameters = inspect.signature(getattr(plain, name)).parameters
    dtypes = (
        [np.int8, np.int16, np.int32, np.int64, np.float64]
        if "values" in parameters
        else [np.int64]
    )
    if "highs" in parameters:
        dtypes = [np.int64]
    code_dtypes = [np.uint8, np.uint16, np.uint32] if "codes" in parameters else [np.uint8]
    for dtype, code_dtype in itertools.product(dtypes, code_dtypes):
        for _ in range(3):
            known = random_arguments(name, rng, dtype, code_dtype)
            arguments = [known[parameter] for parameter in parameters]
            copies = [argument.copy() for argument in arguments]
            found = getattr(compiled, name)(*arguments)
            wanted = getattr(plain, name)(*copies)
            assert found == wanted
            for parameter, one, other in zip(parameters, arguments, copies, strict=True):
                kept = slice(wanted if parameter in ("places", "groups") else None)
                assert np.array_equal(one[kept], other[kept], equal_nan=one.dtype.kind == "f")


def test_no_loop_lacks_a_twin():
    dispatchers = {name for name, loop in vars(compiled).items() if hasattr(loop, "py_func")}
    assert dispatchers == set(NAMES)


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_threads_and_blocks_gives_the_same(seed, monkeypatch):
    rng, hierarchies, codes, measures = random_case(seed)
    backend = load_backend("cpu")
    bvh = backend.build(hierarchies, codes, measures, len(codes[0]))
    for _ in range(5):
        job, _ = random_job(rng, bvh)
        prepared = backend.prepare(bvh, job)
        alone = backend.launch(bvh, job, prepared)
        with monkeypatch.context() as patch:
            patch.setattr(cpu, "THREAD_RUN_ROWS", 8)
            patch.setattr(cpu, "THREAD_CODE_ROWS", 8)
            patch.setattr(cpu, "processor_count", lambda: 3)
            patch.setattr(cpu, "CHUNK_ROWS", 100)
            patch.setattr(cpu, "BLOCK_ROWS", 37)
            together = backend.launch(bvh, job, prepared)
            located = backend.locate(bvh, job, prepared)
        assert alone.rows.tolist() == together.rows.tolist()
        assert alone.rows.tolist() == np.bincount(located[1], minlength=job.group_count).tolist()
        for accumulator, one, other in zip(
            job.accumulators, alone.values, together.values, strict=True
        ):
            used = alone.rows > 0
            assert one[used] == pytest.approx(other[used], rel=1e-12), accumulator


@pytest.mark.parametrize("map_count", [1, 2])
def test_one_sum_by_stored_codes(map_count):
    """The loop for the most common job, against the general one, which counts as well."""
    _, hierarchies, codes, measures = random_case(1)
    backend = load_backend("cpu")
    bvh = backend.build(hierarchies, codes, measures, len(codes[0]))
    parts = np.array([0, 1, -1, 2, 0, 1, -1, 2, 0, 1, 2, 0])
    maps = (
        CodeMap(0, by_cell=False, groups=parts, filters=True),
        CodeMap(2, by_cell=False, groups=parts[:6] * 3 % 9, filters=True),
    )[:map_count]
    everything = np.array([[0, bvh.cell_count]])
    for measure in range(3):
        sums = Accumulator("sum", measure), Accumulator("min", measure)
        job, other = (FusedJob(everything, maps, 9, sums[:count]) for count in (1, 2))
        one = backend.launch(bvh, job, backend.prepare(bvh, job))
        both = backend.launch(bvh, other, backend.prepare(bvh, other))
        assert one.rows.tolist() == both.rows.tolist()
        assert one.values[0] == pytest.approx(both.values[0], rel=1e-12)


def run_python(code):
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_twins_answer_before_the_loops_are_ready():
    done = run_python("""
        import sys
        import raydb
        from raydb.kernels.cpu import warm
        warm.DELAY_SECONDS = 60  # The end of the process must not wait for it.
        con = raydb.connect()
        assert warm.loops().__name__ == "raydb.kernels.cpu.plain"
        warm._warmup.stop.set()
        print("numba" in sys.modules)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


@pytest.mark.parametrize("delay", [0, 0.02, 0.3, 0.6])
def test_a_process_ends_cleanly_while_the_loops_get_ready(delay):
    done = run_python(f"""
        import time
        import raydb
        from raydb.kernels.cpu import warm
        warm.DELAY_SECONDS = 0
        raydb.connect().close()
        time.sleep({delay})
        print("done")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_what_goes_wrong_in_the_background_is_raised_by_the_next_query(monkeypatch):
    monkeypatch.setattr(warm, "_warmup", warm._Warmup())
    monkeypatch.setattr(warm, "DELAY_SECONDS", 0)

    def broken():
        raise ImportError("no LLVM here")
        yield

    monkeypatch.setattr(warm, "_calls", broken)
    with pytest.raises(OperationalError, match="cannot be loaded: no LLVM here"):
        warm.wait()
    with pytest.raises(OperationalError, match="no LLVM here"):
        warm.loops()
