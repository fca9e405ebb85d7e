"""Every compiled loop against its twin in NumPy, and the thread that gets the loops ready."""

import copy
import dataclasses
import errno
import inspect
import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from random_jobs import hierarchy, random_case, random_job

from raydb.errors import OperationalError
from raydb.kernels.backends.aggregates import STATES, WORDS
from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cpu import cpu_backend as cpu
from raydb.kernels.backends.cpu import numba_loops, numpy_loops, warm
from raydb.kernels.backends.registry import open_backend
from raydb.kernels.bvh.build_input import source_of, unwatched

NAMES = [
    name
    for name, loop in vars(numpy_loops).items()
    if inspect.isfunction(loop) and loop.__module__ == numpy_loops.__name__ and name[0] != "_"
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


def takes_lanes(name):
    return "lanes" in inspect.signature(getattr(numpy_loops, name)).parameters


def random_maps(name, rng, code_dtypes):
    """Return a map for each type; where lanes are taken, dropped rows have a group of their own."""
    maps = []
    for code_dtype in code_dtypes:
        codes, parts = (
            rng.integers(0, CODES, ROWS).astype(code_dtype),
            rng.integers(-1, 3, CODES + 1),
        )
        if takes_lanes(name):
            parts = np.where(parts < 0, GROUPS, parts).astype(np.int32)
        maps.append((codes, parts))
    return tuple(maps)


def random_arguments(name, rng, dtype, code_dtypes):
    """Return arguments of a loop by the names of its parameters."""
    edges = np.sort(rng.choice(ROWS, 20, replace=False)).astype(np.int64)
    listed = np.sort(rng.choice(ROWS, 50, replace=False)).astype(np.int64)
    float_state = dtype == np.float64
    kind = name.partition("_")[0]
    # Lanes have room for the groups, and for rows that one part or both have dropped.
    total_count = 4 * 3 * GROUPS if takes_lanes(name) else GROUPS
    row_count = int((edges[1::2] - edges[::2]).sum())
    maps = random_maps(name, rng, code_dtypes)
    state = np.stack(
        [
            np.full(GROUPS, none) if none else rng.integers(0, 100, GROUPS)
            for none in (WORDS[word].none[float_state] for word in STATES.get(kind, ()))
        ]
        or [np.empty(0)]
    )
    known = {
        # Groups of runs leave room for two parts of up to 2 each.
        "runs": np.stack([edges[::2], edges[1::2], rng.integers(0, GROUPS - 4, 10)]),
        "groups": rng.integers(0, GROUPS, 50),
        "places": listed,
        "lanes": (1 if float_state else int(rng.choice([1, 4])), 3 * GROUPS, GROUPS),
        "maps": maps,
        "codes": maps[0][0],
        "parts": maps[0][1],
        "values": random_values(rng, dtype),
        "counts": rng.integers(0, 100, total_count),
        "sums": np.arange(total_count).astype(np.float64 if float_state else np.int64),
        "state": state.astype(np.float64 if float_state else np.int64),
    }
    if takes_lanes(name) and rng.random() < 0.5:
        known["lanes"] = (*known["lanes"][:2], 3 * GROUPS)
    if name.startswith("list"):
        known |= {"places": np.empty(row_count, np.int64), "groups": np.empty(row_count, np.int64)}
    return known


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_twins_do_the_same(name):
    rng = np.random.default_rng(7)
    parameters = inspect.signature(getattr(numpy_loops, name)).parameters
    dtypes, code_types = [np.int64], [(np.uint8,)]
    if "values" in parameters and not name.startswith(("wide", "squares")):
        dtypes = [np.int8, np.int16, np.int32, np.int64, np.float64]
    if name.startswith("wide_squares"):
        dtypes = [np.int32]  # Whose squares fit 64 bits.
    if "maps" in parameters or "codes" in parameters:
        code_types = [(np.uint8,), (np.uint16,), (np.int32,)]
    if "maps" in parameters:
        code_types += [(np.uint8, np.uint8), (np.uint8, np.uint16), (np.int32, np.int32)]
    for dtype, code_dtypes in itertools.product(dtypes, code_types):
        for _ in range(3):
            known = random_arguments(name, rng, dtype, code_dtypes)
            arguments = [known[parameter] for parameter in parameters]
            copies = copy.deepcopy(arguments)
            found = getattr(numba_loops, name)(*arguments)
            wanted = getattr(numpy_loops, name)(*copies)
            assert found == wanted
            for parameter, one, other in zip(parameters, arguments, copies, strict=True):
                kept = slice(wanted if parameter in ("places", "groups") else None)
                if isinstance(one, np.ndarray):
                    assert np.array_equal(one[kept], other[kept], equal_nan=one.dtype.kind == "f")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
def test_long_runs_are_added_up_as_short_ones(dtype, monkeypatch):
    rng = np.random.default_rng(5)
    known = random_arguments("sum_runs", rng, dtype, (np.uint8,))
    sums = []
    for shortest in (0, ROWS):
        monkeypatch.setattr(numpy_loops, "LONG_RUN", shortest)
        state = known["state"].copy()
        numpy_loops.sum_runs(known["runs"], known["values"], state)
        sums.append(state)
    assert np.array_equal(*sums, equal_nan=dtype == np.float64)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
def test_runs_of_many_blocks_are_added_up_in_order(dtype):
    rng = np.random.default_rng(6)
    lengths = np.array([511, 512, 513, 768, 16_383, 16_640, 40_000, 1, 3000])
    ends = np.cumsum(lengths + rng.integers(0, 3, len(lengths)))
    runs = np.stack([ends - lengths, ends, rng.integers(0, 4, len(lengths))])
    values = warm.frozen((rng.normal(size=ends[-1]) * 50).astype(dtype))
    kind = np.float64 if dtype == np.float64 else np.int64
    found, wanted = np.zeros((2, 1, 4), kind)
    numba_loops.sum_runs(runs, values, found)
    numpy_loops._sum_rows_of(runs, values, wanted)
    assert np.array_equal(found, wanted)


def test_no_loop_lacks_a_twin():
    dispatchers = {
        name
        for name, loop in vars(numba_loops).items()
        if hasattr(loop, "py_func") and name[0] != "_"
    }
    assert dispatchers == set(NAMES)


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_threads_and_blocks_gives_the_same(seed, monkeypatch):
    rng, hierarchies, codes, measures = random_case(seed)
    backend = open_backend("cpu")
    bvh = backend.build(source_of(hierarchies, codes, measures, len(codes[0])), unwatched())
    for _ in range(5):
        job, _ = random_job(rng, bvh)
        alone = backend.prepare(bvh, job).launch()
        with monkeypatch.context() as patch:
            patch.setattr(cpu, "THREAD_RUN_ROWS", 8)
            patch.setattr(cpu, "THREAD_CODE_ROWS", 8)
            patch.setattr(cpu, "THREAD_BLOCK_ROWS", 8)
            patch.setattr(cpu, "processor_count", lambda: 3)
            patch.setattr(cpu, "CHUNK_ROWS", 100)
            patch.setattr(cpu, "BLOCK_ROWS", 37)
            patch.setattr(cpu, "LISTED_ROWS", 150)
            prepared = backend.prepare(bvh, job)
            together = prepared.launch()
            located = prepared.locate()
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
    backend = open_backend("cpu")
    bvh = backend.build(source_of(hierarchies, codes, measures, len(codes[0])), unwatched())
    parts = np.array([0, 1, -1, 2, 0, 1, -1, 2, 0, 1, 2, 0])
    maps = (
        CodeMap(0, by_cell=False, groups=parts, filters=True),
        CodeMap(2, by_cell=False, groups=parts[:6] * 3 % 9, filters=True),
    )[:map_count]
    everything = np.array([[0, bvh.cell_count]])
    for measure in range(3):
        sums = Accumulator("sum", measure), Accumulator("min", measure)
        job, other = (FusedJob(everything, maps, 9, sums[:count]) for count in (1, 2))
        one = backend.prepare(bvh, job).launch()
        both = backend.prepare(bvh, other).launch()
        assert one.rows.tolist() == both.rows.tolist()
        assert one.values[0] == pytest.approx(both.values[0], rel=1e-12)


def run_python(code):
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_twins_answer_before_the_loops_are_ready():
    done = run_python("""
        import sys
        import raydb
        from raydb.kernels.backends.cpu import warm
        warm.DELAY_SECONDS = 60  # The end of the process must not wait for it.
        con = raydb.connect()
        assert warm.loops().__name__ == "raydb.kernels.backends.cpu.numpy_loops"
        warm._warmup.stop.set()
        print("numba" in sys.modules)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


@pytest.mark.parametrize("delay", [0, 0.02, 0.3, 0.6])
def test_a_process_ends_cleanly_while_the_loops_get_ready(delay):
    done = run_python(f"""
        import time
        from raydb.kernels.backends.cpu import warm
        warm.DELAY_SECONDS = 0
        warm.start()
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


@pytest.mark.parametrize("lack", [OSError(errno.EMFILE, "too many open files"), MemoryError()])
def test_a_lack_that_passes_is_no_error(monkeypatch, lack):
    monkeypatch.setattr(warm, "_warmup", warm._Warmup())
    monkeypatch.setattr(warm, "DELAY_SECONDS", 0)

    def lacking():
        raise lack

    monkeypatch.setattr(warm, "_calls", lacking)
    warm.wait()
    assert warm.loops().__name__.endswith("numpy_loops")
    monkeypatch.setattr(warm, "_calls", lambda: iter(()))
    # What began before the lack had passed may still be under way.
    for _ in range(2):
        warm.wait()
    assert warm.loops().__name__.endswith("numba_loops")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
def test_runs_of_every_length_stop_at_their_end(dtype):
    """Short runs are read in tiles, which go beyond their end but not beyond the last value."""
    rng = np.random.default_rng(11)
    values = random_values(rng, dtype)[:100]
    for row_count in range(1, 41):
        starts = np.array([0, 30, 100 - row_count], np.int64)
        sums = np.zeros((1, 3), np.float64 if dtype is np.float64 else np.int64)
        wanted = sums.copy()
        runs = np.stack([starts, starts + row_count, np.arange(3)])
        numba_loops.sum_runs(runs, values, sums)
        numpy_loops.sum_runs(runs, values, wanted)
        assert np.array_equal(sums, wanted, equal_nan=True)


def test_launches_do_not_share_their_arrays():
    _, hierarchies, codes, measures = random_case(1)
    backend = open_backend("cpu")
    bvh = backend.build(source_of(hierarchies, codes, measures, len(codes[0])), unwatched())
    for maps in ((), (CodeMap(0, by_cell=False, groups=np.arange(12) % 3, filters=False),)):
        job = FusedJob(np.array([[0, bvh.cell_count]]), maps, 3, (Accumulator("sum", 0),))
        prepared = backend.prepare(bvh, job)
        first = prepared.launch()
        before = first.rows.tolist(), first.values[0].tolist()
        first.rows[:] = first.values[0][:] = -1
        again = prepared.launch()
        assert (again.rows.tolist(), again.values[0].tolist()) == before


def test_a_code_of_minus_1_is_the_last_one():
    """What lies behind a foreign key that is NULL, in an image of a table."""
    codes = np.array([0, 1, -1, 2, -1, 0], np.int32)
    bvh = open_backend("cpu").build(source_of([], [], [(np.arange(6), None)], 6), unwatched())
    outside = hierarchy(1, 3)
    bvh = dataclasses.replace(bvh, hierarchies=(outside,), stored=(0,), codes=(codes,))
    backend = open_backend("cpu")
    for functions in (("sum",), ("sum", "max")):
        accumulators = tuple(Accumulator(function, 0) for function in functions)
        for last, rows, sums in ((2, [2, 1, 3], [5, 1, 9]), (-1, [2, 1, 0], [5, 1, 0])):
            maps = (CodeMap(0, by_cell=False, groups=np.array([0, 1, last]), filters=last < 0),)
            job = FusedJob(np.array([[0, 1]]), maps, 3, accumulators)
            prepared = backend.prepare(bvh, job)
            found = prepared.launch()
            assert (found.rows.tolist(), found.values[0].tolist()) == (rows, sums)
            assert np.bincount(prepared.locate()[1], minlength=3).tolist() == rows


def test_runs_with_only_empty_cells_between_them_become_one():
    """Cells 0..4 with 3, 0, 2, 1 and 0 rows."""
    codes = [np.array([0, 0, 0, 2, 2, 3], np.int32)]
    backend = open_backend("cpu")
    bvh = backend.build(source_of([hierarchy(5, 1)], codes, [(np.arange(6), None)], 6), unwatched())
    for groups, runs in (([0, 0, 0, 0, 0], [[0, 6]]), ([0, 1, 0, 1, 1], [[0, 5], [5, 6]])):
        maps = (CodeMap(0, by_cell=True, groups=np.array(groups), filters=True),)
        job = FusedJob(np.array([[0, 5]]), maps, 2, (Accumulator("sum", 0),))
        found = backend.prepare(bvh, job).runs
        assert found.table[:2].T.tolist() == runs


@pytest.mark.parametrize("map_count", [1, 2])
@pytest.mark.parametrize("chunk", [300, 2**17])
def test_several_sums_by_codes_of_8_and_16_bits(map_count, chunk, monkeypatch):
    monkeypatch.setattr(cpu, "CODE_CHUNK_ROWS", chunk)
    rng = np.random.default_rng(5)
    row_count, hierarchies = 4_000, [hierarchy(4, 1), hierarchy(1, 300), hierarchy(1, 5)]
    codes = [rng.integers(0, h.code_count, row_count).astype(np.int32) for h in hierarchies]
    valid = rng.random(row_count) < 0.5
    first, second = rng.integers(-99, 99, row_count), rng.integers(0, 2**40, row_count) * valid
    backend = open_backend("cpu")
    bvh = backend.build(
        source_of(hierarchies, codes, [(first, None), (second, valid)], row_count), unwatched()
    )
    assert [held.dtype for held in bvh.codes] == [np.uint16, np.uint8]
    wide, narrow = rng.integers(-1, 3, 300), rng.integers(-1, 2, 5) * 3
    maps = (
        CodeMap(1, by_cell=False, groups=wide, filters=True),
        CodeMap(2, by_cell=False, groups=np.where(narrow < 0, -1, narrow), filters=True),
    )[:map_count]
    functions = (("sum", 0), ("count", 1), ("sum", 1), ("count", 0))
    accumulators = tuple(Accumulator(*function) for function in functions)
    job = FusedJob(np.array([[1, 3]]), maps, 6, accumulators)
    found = backend.prepare(bvh, job).launch()

    kept = (codes[0] >= 1) & (codes[0] < 3) & (wide[codes[1]] >= 0)
    groups = wide[codes[1]]
    if map_count == 2:
        kept &= narrow[codes[2]] >= 0
        groups = groups + narrow[codes[2]]
    rows = np.bincount(groups[kept], minlength=6)
    assert found.rows.tolist() == rows.tolist()
    for (function, measure), values in zip(functions, found.values, strict=True):
        numbers = (first, second)[measure]
        if function == "count":
            numbers = np.ones(row_count, np.int64) if measure == 0 else valid.astype(np.int64)
        wanted = [int(numbers[kept & (groups == group)].sum()) for group in range(6)]
        assert values.tolist() == wanted, (function, measure)


@pytest.mark.parametrize("loops", [numba_loops, numpy_loops])
def test_a_signalling_nan_is_no_number_either(loops):
    """Of one of them `fmin` makes a NaN, which a minimum would keep none of its numbers beside."""
    (signalling,) = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    values = np.array([signalling, -np.inf, signalling, 5.0, -1.0, signalling])
    state = np.full((1, 2), np.nan)
    groups = np.array([0, 0, 0, 1, 1, 1])
    with np.errstate(all="ignore"):
        loops.min_places(np.arange(6), groups, values, state)
        fold = np.array([[0.0], [np.nan], [-np.inf]])
        loops.fold_runs(np.array([[0], [3], [0]]), values, fold)
    assert state.tolist() == [[-np.inf, -1.0]]
    assert fold[1].tolist() == [-np.inf]
    first, second = np.full((2, 1, 1), np.nan)
    for place, each in ((2, first), (3, second)):
        loops.min_places(np.array([place]), np.zeros(1, np.int64), values, each)
    assert WORDS["least"].merge(first, second).tolist() == [[5.0]]
