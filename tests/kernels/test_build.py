"""A build in blocks, by threads and in little room, against a stable sort of all rows by NumPy."""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rows import random_case

from raydb.kernels.backends.cpu import blocks, build, radix
from raydb.kernels.backends.cpu.build import build_from
from raydb.kernels.bvh.arrays import to_arrays
from raydb.kernels.bvh.build_input import BuildControl, Room, Source, unwatched
from raydb.kernels.bvh.bvh import narrow_measure


def check(bvh, case):
    """Compare all arrays of a BVH with those of a stable sort."""
    cells = np.zeros(len(case.row_ids), np.int64)
    for each, codes in zip(case.hierarchies, case.codes, strict=True):
        cells = cells * each.scan_count + each.scan_codes[codes]
    order = np.argsort(cells, kind="stable")
    assert np.array_equal(bvh.row_ids, case.row_ids[order])
    if bvh.cells is None:
        expected = np.searchsorted(cells[order], np.arange(bvh.cell_count + 1))
        assert np.array_equal(bvh.offsets, expected)
    else:
        distinct, firsts = np.unique(cells[order], return_index=True)
        assert np.array_equal(bvh.cells, distinct)
        assert np.array_equal(bvh.offsets, [*firsts, len(order)])
    assert bvh.stored == tuple(n for n, h in enumerate(case.hierarchies) if not h.is_scan_only)
    for number, stored in zip(bvh.stored, bvh.codes, strict=True):
        assert np.array_equal(stored, case.codes[number][order])
        assert np.iinfo(stored.dtype).max < 256 or case.hierarchies[number].code_count > 256
    for held, (values, valid) in zip(bvh.measures, case.measures, strict=True):
        expected = narrow_measure(values, valid)
        assert held.values.dtype == expected.values.dtype
        assert (held.low, held.high) == (expected.low, expected.high)
        assert np.array_equal(held.values, expected.values[order])
        has_null = valid is not None and not valid.all()
        assert (held.valid is not None) == has_null
        if has_null:
            assert np.array_equal(held.valid, valid[order])


@settings(max_examples=100, print_blob=True)
@given(data=st.data())
def test_a_build_is_a_stable_sort(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    row_count = data.draw(st.sampled_from([0, 1, 2, 63, 500, 3000]), label="rows")
    scan_counts = st.sampled_from([1, 2, 7, 300, 2**14])
    sizes = data.draw(
        st.lists(st.tuples(scan_counts, st.sampled_from([1, 3])), max_size=4), label="sizes"
    )
    kinds = st.sampled_from([3, 6, 7, 14, 15, 30, 40, 61, "float"])
    measures = data.draw(st.lists(kinds, max_size=3), label="measures")
    share_live = data.draw(st.sampled_from([1, 0.5]), label="live")
    case = random_case(rng, row_count, sizes, measures, share_live, data.draw(st.integers(0, 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "DENSE_CELLS", data.draw(st.sampled_from([0, 2**16]), label="dense"))
        patch.setattr(build, "COUNTED_CELLS", data.draw(st.sampled_from([0, 2**23]), label="count"))
        patch.setattr(blocks, "BLOCK_ROWS", data.draw(st.sampled_from([1000, 61]), label="block"))
        patch.setattr(blocks, "SUMMED_CELLS", data.draw(st.sampled_from([2**20, 1000])))
        patch.setattr(radix, "PARTITION_ROWS", data.draw(st.sampled_from([2**13, 16])))
        patch.setattr(radix, "SORTED_BLOCK_ROWS", data.draw(st.sampled_from([2**20, 17])))
        patch.setattr(radix, "DIGIT_BITS", data.draw(st.sampled_from([11, 3]), label="digit"))
        threads = data.draw(st.integers(1, 3), label="threads")
        patch.setattr(blocks, "thread_count", lambda _: threads)
        check(build_from(case.source, unwatched()), case)


def big_case(sizes=((2**13, 1), (2**12, 1), (9, 4)), row_count=40_000):
    rng = np.random.default_rng(5)
    return random_case(rng, row_count, sizes, [30, 7], 1, 0)


def test_any_number_of_threads_gives_the_same_bytes(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1000)
    for case in (big_case(), big_case(((40, 2), (50, 1)))):
        found = []
        for threads in (1, 2, 5):
            monkeypatch.setattr(blocks, "thread_count", lambda _, threads=threads: threads)
            arrays, _ = to_arrays(build_from(case.source, unwatched()))
            found.append({name: array.tobytes() for name, array in arrays.items()})
        assert found[0] == found[1] == found[2]


def least_room(case):
    """Return the least room that a build gets along with, by bisection."""
    low, high = 0, 2**27
    while high - low > 1000:
        middle = (low + high) // 2
        try:
            build_from(case.source, BuildControl(Room(middle), lambda *_: None))
        except MemoryError:
            low = middle
        else:
            high = middle
    return high


def test_a_build_in_little_room_passes_over_the_rows_more_often(monkeypatch):
    monkeypatch.setattr(radix, "PARTITION_ROWS", 256)
    case = big_case()
    steps = []
    room = least_room(case)
    bvh = build_from(case.source, BuildControl(Room(room), lambda step, _: steps.append(step)))
    check(bvh, case)
    assert steps.count("collect") >= 3
    wide = build_from(case.source, BuildControl(Room(), lambda *_: None))
    assert room < wide.size_bytes + (radix.SORTED_ROW_BYTES + 20) * wide.row_count


def test_a_build_says_how_much_room_it_lacks():
    needed = []

    def refuse(size_bytes):
        needed.append(size_bytes)
        return MemoryError(size_bytes)

    for sizes in (((40, 2), (50, 1)), ((2**13, 1), (2**12, 1))):
        source = big_case(sizes).source
        with pytest.raises(MemoryError):
            build_from(source, BuildControl(Room(200_000, refuse), lambda *_: None))
        assert needed.pop() > 200_000


def test_room_that_is_given_back_can_be_taken_again():
    room = Room(100)
    room.take(80)
    with pytest.raises(MemoryError):
        room.take(30)
    room.give(50)
    room.take(30)
    assert room.left() == 40
    assert Room().left() is None


@pytest.mark.parametrize("sizes", [((40, 2), (50, 1)), ((2**13, 1), (2**12, 1), (9, 4))])
def test_an_interrupt_at_any_report_ends_all_threads(sizes, monkeypatch):
    """What `report` raises comes out, from whichever step, and no thread goes on."""
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 5000)
    monkeypatch.setattr(blocks, "thread_count", lambda _: 3)
    case = big_case(sizes)
    steps = []
    build_from(case.source, BuildControl(Room(), lambda step, share: steps.append((step, share))))
    assert {"count", "place"} <= {step for step, _ in steps}
    for step in dict.fromkeys(step for step, _ in steps):
        assert [share for name, share in steps if name == step][-1] == 1.0
    for number in range(0, len(steps), max(len(steps) // 25, 1)):
        left = iter(range(number))

        def interrupt(*_, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_from(case.source, BuildControl(Room(), interrupt))
        assert not [name for name in thread_names() if name.startswith("raydb build")]


def thread_names():
    return [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("failing_row", [10, 39_990])
def test_what_one_thread_raises_comes_out(failing_row, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1000)
    monkeypatch.setattr(blocks, "thread_count", lambda _: 2)
    case = big_case()

    def read(low, high):
        if low <= failing_row < high:
            raise ValueError(failing_row)
        return np.zeros(high - low, np.int64), None

    source = Source(case.source.hierarchies, case.source.codes, (read,), case.source.row_count)
    with pytest.raises(ValueError, match=str(failing_row)):
        build_from(source, unwatched())


def test_arrays_are_counted_with_arrows():
    gc.collect()  # what other tests have left is not to go meanwhile
    before = pa.total_allocated_bytes()
    bvh = build_from(big_case().source, unwatched())
    assert pa.total_allocated_bytes() - before >= bvh.size_bytes
    assert sys.getrefcount(bvh) == 2
    del bvh
    assert pa.total_allocated_bytes() == before
