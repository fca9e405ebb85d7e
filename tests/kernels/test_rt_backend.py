"""The RT backend over a ray simulator: every ray and triangle in float32, one hit a bucket."""

from dataclasses import replace

import agreement
import numpy as np
import pytest
from random_jobs import hierarchy, random_case, random_job
from ray_simulator import RaySimulator, intersect, load_scene, trace_rays

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.rt import rays as rays_module
from raydb.kernels.backends.rt.rays import HITS_A_RAY, LONGEST_SEGMENT, find_segments, plan_rays
from raydb.kernels.backends.rt.rt_backend import RtBackend, Scenes, Share
from raydb.kernels.backends.rt.scene import (
    MAX_HALVES,
    MAX_ROWS,
    MAX_WHOLE,
    MAX_X_LANES,
    SLAB_ENTRIES,
    build_scene,
    most_triangles,
    scene_bytes,
)
from raydb.kernels.bvh import partition as split
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.running import DeviceMemory, Running, current

ENCODINGS = ("lanes", "paper")
WHOLE = np.array([[0, 1]])
SUM = (Accumulator("sum", 0), Accumulator("count", 0))


@pytest.fixture(autouse=True)
def whole_device():
    yield
    current.set(None)


@pytest.fixture(params=ENCODINGS)
def backend(request):
    return RtBackend(request.param, [Scenes(RaySimulator())])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_random_jobs(backend, seed):
    agreement.check_random(backend, seed, 2_000, 4)


@pytest.mark.parametrize("seed", range(4))
def test_slabs_of_a_few_entries(backend, seed):
    backend.scenes[0].slab_entries = 7
    agreement.check_random(backend, seed, 900)


def test_edges():
    agreement.check_edges(RtBackend("lanes", [Scenes(RaySimulator())]))


def test_signed_codes(backend):
    agreement.check_signed_codes(backend)


def test_gathered_rows(backend):
    agreement.check_gathered(backend, 3)


def test_a_triangle_is_met_once_in_a_lane_and_up_to_three_times_in_the_paper():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 90, 3_000)
    bvh = agreement.flat_bvh(rng.integers(0, 10**6, 3_000), None, codes, 90)
    by_code = CodeMap(0, by_cell=False, groups=np.arange(90), filters=False)
    job = FusedJob(WHOLE, (by_code,), 90, SUM)
    most = {}
    for encoding in ENCODINGS:
        backend = RtBackend(encoding, [Scenes(RaySimulator())])
        agreement.check_launch(backend, bvh, job)
        most[encoding] = backend.scenes[0].tracer.most_hits
    assert most == {"lanes": 1, "paper": 3}


@pytest.mark.parametrize("width", [1, 2, 63, 64, 65, 127, 1_000, 4_097, 2**22, MAX_WHOLE - 2**20])
def test_no_value_of_the_paper_s_x_falls_through_the_gaps(width):
    rng = np.random.default_rng(width)
    values = np.unique(np.concatenate([[0, width - 1], rng.integers(0, width, 500)]))
    groups = rng.integers(0, 130, len(values))
    bvh = agreement.flat_bvh(values, None, groups, 130)
    by_code = CodeMap(0, by_cell=False, groups=np.arange(130), filters=False)
    backend = RtBackend("paper", [Scenes(RaySimulator())])
    agreement.check_launch(backend, bvh, FusedJob(WHOLE, (by_code,), 130, SUM))


def test_the_paper_s_x_has_an_end():
    backend = RtBackend("paper", [Scenes(RaySimulator())])
    wide = agreement.flat_bvh(np.array([0, MAX_WHOLE]))
    job = FusedJob(WHOLE, (), 1, SUM)
    with pytest.raises(DeviceError, match="SET rt_encoding = 'lanes'"):
        backend.prepare(wide, job).launch()
    floats = agreement.flat_bvh(np.array([0.5]))
    with pytest.raises(DeviceError, match="an integer on X"):
        backend.prepare(floats, job).launch()


def far_bvh(entries, last):
    """A BVH of `last` entries of which some have a row each."""
    bvh = agreement.flat_bvh(np.arange(1, len(entries) + 1) ** 2)
    offsets = np.zeros(last + 1, np.int64)
    offsets[np.asarray(entries) + 1] = 1
    return replace(bvh, cell_count=last, offsets=np.cumsum(offsets), hierarchies=())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_entries_around_the_last_that_float32_tells_apart(encoding):
    border = SLAB_ENTRIES
    entries = [0, 1, border - 2, border - 1, border, border + 1, 2 * border - 1, 2 * border]
    bvh = far_bvh(entries, 2 * border + 1)
    backend = RtBackend(encoding, [Scenes(RaySimulator())])
    for low, high in [
        (border - 1, border),
        (border, border + 1),
        (border - 2, border + 2),
        (1, border - 1),
        (border + 1, 2 * border),
        (2 * border - 1, 2 * border + 1),
        (0, 2 * border + 1),
    ]:
        job = FusedJob(np.array([[low, high]]), (), 1, SUM)
        result = agreement.check_launch(backend, bvh, job)
        met = [(n + 1) ** 2 for n, entry in enumerate(entries) if low <= entry < high]
        assert result.values[0].tolist() == [sum(met)], (low, high)
        agreement.check_locate(backend, bvh, job)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_slabs_as_far_out_on_x_as_float32_has_halves(encoding):
    """Slabs of one entry each, beside each other: the last one's triangle ends at 2**22 - 0.5."""
    last = MAX_HALVES if encoding == "lanes" else MAX_HALVES // 2 - 1
    entries = [0, 1, last // 2 - 1, last // 2, last - 2, last - 1]
    bvh = replace(far_bvh(entries, last), measures=())
    backend = RtBackend(encoding, [Scenes(RaySimulator())])
    backend.scenes[0].slab_entries = 1
    for low, high in [(0, 1), (last // 2, last // 2 + 1), (last - 1, last)]:
        job = FusedJob(np.array([[low, high]]), (), 1, ())
        assert agreement.check_launch(backend, bvh, job).rows.tolist() == [1]
    farther = far_bvh([0], last + 1 if encoding == "lanes" else MAX_WHOLE // 2)
    with pytest.raises(DeviceError, match="places side by side"):
        build_scene(replace(farther, measures=()), encoding, 1)


def test_segments_are_short_enough_for_float32():
    bvh = far_bvh([0, 5, 2**22], SLAB_ENTRIES)
    scene = build_scene(bvh, "lanes")
    job = FusedJob(np.array([[0, SLAB_ENTRIES]]), (), 1, SUM)
    rays = plan_rays(scene, bvh, job, find_segments(bvh, job))
    assert 0 < rays.lengths.max() <= LONGEST_SEGMENT


def test_rays_beside_a_triangle_miss_it():
    scene = build_scene(agreement.flat_bvh(np.arange(3)), "lanes")
    triangle, long = scene.points[0] + scene.corners, np.float32(1)
    for x, y, meets in [(0, 0, True), (1, 0, False), (-1, 0, False), (0, 1, False), (0, -1, False)]:
        met = intersect(triangle, np.float32(x), np.float32(y), np.float32(-0.5), long)
        assert met == meets, (x, y)
    for z, meets in [(-1.5, False), (-0.5, True), (0.5, False)]:
        assert intersect(triangle, np.float32(0), np.float32(0), np.float32(z), long) == meets


def test_rows_of_a_cell_and_group_share_triangles_of_few_rows():
    codes = np.repeat([0, 1, 2], [1, 32, 65])
    bvh = agreement.flat_bvh(np.arange(98), None, codes, 3)
    scene = build_scene(bvh, "lanes")
    assert scene.tuples[scene.firsts[:-1]].tolist() == [0, 1, 2, 2, 2]
    assert scene.points[:, 1].tolist() == [0, 1, 2, 2, 2]
    assert np.diff(scene.firsts).tolist() == [1, 32, 21, 22, 22]
    assert build_scene(bvh, "paper").bucket_count == 98


def test_a_crowded_cell_is_shared_out_among_rays():
    """One cell has 100,000 rows: as many rays as there are lanes beside each other, not one."""
    codes = np.zeros(100_000, np.int64)
    bvh = agreement.flat_bvh(np.arange(100_000), None, codes, 1)
    job = FusedJob(WHOLE, (), 1, SUM)
    backend = RtBackend("lanes", [Scenes(RaySimulator())])
    agreement.check_launch(backend, bvh, job)
    scene = build_scene(bvh, "lanes")
    assert scene.bucket_count == 100_000 // MAX_ROWS
    assert plan_rays(scene, bvh, job, find_segments(bvh, job)).count == MAX_X_LANES


def sparse_bvh(row_counts, codes, code_count):
    """A BVH of cells with so many rows each, and codes outside of Z."""
    bvh = agreement.flat_bvh(np.arange(len(codes)), None, codes, code_count)
    offsets = np.concatenate([[0], np.cumsum(row_counts)])
    return replace(bvh, cell_count=len(row_counts), offsets=offsets)


def test_no_ray_passes_lanes_of_x_that_its_cells_do_not_have():
    rows = np.array([320, 1, 0, 64, 5, 0])
    bvh = sparse_bvh(rows, np.zeros(rows.sum(), np.int64), 1)
    scene = build_scene(bvh, "lanes")
    job = FusedJob(np.array([[0, 1], [2, 3], [3, 4], [4, 6]]), (), 1, SUM)
    rays = plan_rays(scene, bvh, job, find_segments(bvh, job))
    assert len(scene.lane_x) == 10
    assert np.bincount(rays.segments).tolist() == [10, 2]
    assert rays.lengths.tolist() == [1, 2]


def test_rays_meet_more_the_more_there_is_to_meet(monkeypatch):
    rows = np.ones(4_096, np.int64)
    bvh = sparse_bvh(rows, np.zeros(4_096, np.int64), 1)
    scene = build_scene(bvh, "lanes")
    job = FusedJob(np.array([[0, 4_096]]), (), 1, SUM)
    segments = find_segments(bvh, job)
    for many, lengths in [(2**16, 1), (1_024, 4), (64, 64), (1, HITS_A_RAY)]:
        monkeypatch.setattr(rays_module, "MANY_RAYS", many)
        found = plan_rays(scene, bvh, job, segments)
        assert set(found.lengths.tolist()) == {lengths}, many
        assert found.count == 4_096 // lengths


def test_crowded_and_empty_cells_make_segments_of_as_many_rows(monkeypatch):
    monkeypatch.setattr(rays_module, "MANY_RAYS", 8)
    rng = np.random.default_rng(3)
    rows = np.where(rng.random(3_000) < 0.1, rng.integers(1, 60, 3_000), 0)
    bvh = sparse_bvh(rows, np.zeros(rows.sum(), np.int64), 1)
    job = FusedJob(np.array([[0, 3_000]]), (), 1, SUM)
    rays = plan_rays(build_scene(bvh, "lanes"), bvh, job, find_segments(bvh, job))
    starts = (rays.origin_z + 0.5).astype(np.int64)
    met = bvh.offsets[starts + rays.lengths.astype(np.int64)] - bvh.offsets[starts]
    assert met.sum() == rows.sum()
    assert met.max() - met.min() <= 2 * 60


def test_tuples_of_few_rows_share_a_triangle():
    """Of 40 tuples with two rows each in a cell, ten make a bucket of 20 rows."""
    codes = np.repeat(np.arange(40), 2)
    bvh = agreement.flat_bvh(np.arange(80), None, codes, 40)
    scene = build_scene(bvh, "lanes")
    assert np.diff(scene.firsts).tolist() == [20, 20, 20, 20]
    assert scene.tuples.tolist() == codes.tolist()
    groups = np.where(np.arange(40) % 3 == 0, -1, np.arange(40) % 2)
    by_code = CodeMap(0, by_cell=False, groups=groups, filters=True)
    backend = RtBackend("lanes", [Scenes(RaySimulator())])
    agreement.check_launch(backend, bvh, FusedJob(WHOLE, (by_code,), 2, SUM))
    agreement.check_locate(backend, bvh, FusedJob(WHOLE, (by_code,), 2, SUM))


def test_lanes_of_groups_that_are_filtered_out_get_no_rays():
    codes = np.arange(4_000) % 128
    bvh = agreement.flat_bvh(np.arange(4_000), None, codes, 128)
    scene = build_scene(bvh, "lanes")
    parts = np.full(128, -1)
    parts[77] = 0
    job = FusedJob(WHOLE, (CodeMap(0, by_cell=False, groups=parts, filters=True),), 1, SUM)
    rays = plan_rays(scene, bvh, job, find_segments(bvh, job))
    assert len(scene.lane_y) == 128
    assert (rays.lanes // len(rays.lane_x)).tolist() == [77]


def test_lanes_of_y_are_for_the_tuples_that_a_cell_may_have():
    """Of 100 cities an entry has ten, those of its nation: there are ten lanes, not 100."""
    nations = hierarchy(10, 10)
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 100, 3_000).astype(np.int32)
    source = source_of([nations], [codes], [(np.arange(3_000), None)], 3_000)
    bvh = agreement.CPU.build(source, unwatched())
    assert bvh.stored == (0,)
    scene = build_scene(bvh, "lanes")
    assert len(scene.lane_y) == 10
    groups = np.full(100, -1)
    groups[[7, 37, 92]] = 0, 1, 2
    cities = CodeMap(0, by_cell=False, groups=groups, filters=True)
    job = FusedJob(np.array([[0, 1], [3, 4], [9, 10]]), (cities,), 3, SUM)
    rays = plan_rays(scene, bvh, job, find_segments(bvh, job))
    assert set((rays.lanes // len(rays.lane_x)).tolist()) == {2, 7}
    agreement.check_launch(RtBackend("lanes", [Scenes(RaySimulator())]), bvh, job)


@pytest.mark.parametrize("row_count", [500, 5_000, 50_000])
def test_every_ray_meets_a_triangle(row_count):
    rng = np.random.default_rng(row_count)
    cells = rng.integers(0, 400, row_count) // rng.integers(1, 9, row_count)
    rows = np.bincount(cells, minlength=400)
    bvh = sparse_bvh(rows, rng.integers(0, 60, row_count), 60)
    scene = build_scene(bvh, "lanes")
    for low, high in [(0, 400), (7, 8), (30, 200)]:
        job = FusedJob(np.array([[low, high]]), (), 1, SUM)
        rays = plan_rays(scene, bvh, job, find_segments(bvh, job))
        _, tally = trace_rays(load_scene(scene), rays, np.empty((0, 2), np.int64))
        assert tally[:, 0].min() > 0
        assert tally[:, 2].sum() == rows[low:high].sum()


def test_rays_are_kept_while_a_job_is_prepared():
    bvh = agreement.flat_bvh(np.arange(500))
    job = FusedJob(WHOLE, (), 1, SUM)
    backend = RtBackend("lanes", [Scenes(RaySimulator())])
    tracer = backend.scenes[0].tracer
    prepared = backend.prepare(bvh, job)
    for _ in range(3):
        prepared.launch()
    assert (tracer.loads, tracer.sends) == (1, 1)
    assert prepared.figures["rays"] == 16
    again = backend.prepare(bvh, job)
    again.launch()
    assert "scene_ms" not in again.figures
    assert (tracer.loads, tracer.sends) == (1, 2)
    (kept,) = (loaded for _, loaded, _ in backend.scenes[0]._items.values())
    assert len(kept.rays) == 2
    del prepared
    assert len(kept.rays) == 1


def test_a_job_that_made_a_scene_says_how_long_that_took():
    bvh = agreement.flat_bvh(np.arange(500))
    job = FusedJob(WHOLE, (), 1, SUM)
    backend = RtBackend("lanes", [Scenes(RaySimulator())])
    prepared = backend.prepare(bvh, job)
    for _ in range(2):
        prepared.launch()
        assert prepared.figures["scene_ms"] > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_scene_has_no_more_triangles_than_is_weighed(encoding, seed):
    _, hierarchies, codes, measures = random_case(seed, 2_000)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 2_000), unwatched())
    most = most_triangles(bvh, encoding)
    assert build_scene(bvh, encoding).bucket_count <= most <= 2_000


@pytest.mark.parametrize("seed", range(3))
def test_a_scene_that_does_not_fit_is_cut_along_y(backend, seed):
    rng, hierarchies, codes, measures = random_case(seed, 1_500)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 1_500), unwatched())
    current.set(Running(device_memory=DeviceMemory(scene_bytes(bvh, "lanes") // 3)))
    job, _ = random_job(rng, bvh)
    agreement.check_launch(backend, bvh, job)
    assert backend.scenes[0].tracer.loads >= 2
    agreement.check_locate(backend, bvh, job)


def test_one_group_that_does_not_fit_is_said():
    backend = RtBackend("lanes", [Scenes(RaySimulator())])
    current.set(Running(device_memory=DeviceMemory(1_000)))
    bvh = agreement.flat_bvh(np.arange(500))
    job = FusedJob(WHOLE, (), 1, SUM)
    with pytest.raises(DeviceError, match="does not fit the device's memory"):
        backend.prepare(bvh, job).launch()


def test_the_least_recently_used_scene_leaves_first():
    first, second, third = (agreement.flat_bvh(np.arange(100)) for _ in range(3))
    scenes = Scenes(RaySimulator())
    current.set(Running(device_memory=DeviceMemory(2 * scene_bytes(first, "lanes") + 10)))
    for bvh in (first, second, first, third, first):
        list(scenes.parts(bvh, "lanes", Share(scenes, None, 100)))
    assert scenes.tracer.loads == 3
    list(scenes.parts(second, "lanes", Share(scenes, None, 100)))
    assert scenes.tracer.loads == 4
    size = scenes.size_bytes
    del first, bvh
    assert scenes.size_bytes < size


@pytest.mark.parametrize("seed", range(3))
def test_dead_rows_have_no_triangle(backend, seed):
    rng, hierarchies, codes, measures = random_case(seed, 900)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 900), unwatched())
    dead = np.sort(rng.permutation(900)[:200]).astype(np.int64)
    job, _ = random_job(rng, bvh)
    places, groups = backend.prepare(bvh, job).locate()
    left = replace(bvh, dead=dead)
    found, found_groups = backend.prepare(left, job).locate()
    alive = ~np.isin(places, dead)
    assert found.tolist() == places[alive].tolist()
    assert found_groups.tolist() == groups[alive].tolist()


def several(encoding, count=3):
    return RtBackend(encoding, [Scenes(RaySimulator()) for _ in range(count)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_several_devices_have_a_range_of_y_each(encoding, seed, monkeypatch):
    monkeypatch.setattr(split, "PART_ROWS", 300)
    backend = several(encoding)
    rng, hierarchies, codes, measures = random_case(seed, 1_000)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 1_000), unwatched())
    for _ in range(2):
        job, _ = random_job(rng, bvh)
        prepared = backend.prepare(bvh, job)
        assert len(prepared.shares) == 3
        assert sum(share.row_count for share in prepared.shares) == 1_000
        agreement.check_launch(backend, bvh, job)
        agreement.check_locate(backend, replace(bvh, dead=np.arange(0, 1_000, 7)), job)
    if seed % 3:  # Else some devices may have nothing to trace.
        assert [scenes.tracer.loads > 0 for scenes in backend.scenes] == [True] * 3
    # Each device cuts its own range further where that does not fit.
    current.set(Running(device_memory=DeviceMemory(scene_bytes(bvh, "lanes") // 7)))
    loads = sum(scenes.tracer.loads for scenes in backend.scenes)
    agreement.check_launch(backend, bvh, job)
    assert sum(scenes.tracer.loads for scenes in backend.scenes) > loads + 3


def test_what_cannot_be_cut_along_y_is_on_one_device(monkeypatch):
    monkeypatch.setattr(split, "PART_ROWS", 100)
    backend = several("lanes")
    bvh = agreement.flat_bvh(np.arange(500))
    job = FusedJob(WHOLE, (), 1, SUM)
    assert len(backend.prepare(bvh, job).shares) == 1
    agreement.check_launch(backend, bvh, job)


def test_a_smaller_limit_drops_scenes_that_are_kept():
    first, second = (agreement.flat_bvh(np.arange(100)) for _ in range(2))
    scenes = Scenes(RaySimulator())
    for bvh in (first, second):
        list(scenes.parts(bvh, "lanes", Share(scenes, None, 100)))
    assert scenes.size_bytes == 2 * scene_bytes(first, "lanes")
    current.set(Running(device_memory=DeviceMemory(scene_bytes(first, "lanes"))))
    list(scenes.parts(second, "lanes", Share(scenes, None, 100)))
    assert scenes.size_bytes == scene_bytes(first, "lanes")
    assert scenes.tracer.loads == 2
