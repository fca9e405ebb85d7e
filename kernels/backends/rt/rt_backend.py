"""The RT backend: intervals become rays, buckets of rows become triangles (RayDB, section 3)."""

from __future__ import annotations

import time
import weakref
from dataclasses import field
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from raydb.kernels.backends.backend import PreparedJob
from raydb.kernels.backends.cpu.cpu_backend import CpuBackend
from raydb.kernels.backends.device import DeviceCache, DeviceError, at_once, faults
from raydb.kernels.backends.device_totals import answer, merge_words, plan_totals
from raydb.kernels.backends.rt.rays import Segments, find_segments, plan_rays
from raydb.kernels.backends.rt.scene import SLAB_ENTRIES, build_scene, scene_bytes
from raydb.kernels.bvh import partition as split
from raydb.kernels.bvh.partition import cut_tuples, number_tuples
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.kernels.backends.aggregates import Input
    from raydb.kernels.backends.backend import FusedJob, FusedResult, Located
    from raydb.kernels.backends.rt.scene import Encoding, Scene
    from raydb.kernels.backends.rt.tracer import Traced, Tracer
    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh, Measure

# A job's rays are kept on the device up to so many, 8 bytes each and 20 a segment.
KEPT_RAYS = 2**20

# The group tuples from a number to before another.
YRange: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True, eq=False, slots=True)
class Share:
    """What one device has of a BVH: all of it, or so many rows in a range of Y."""

    scenes: Scenes
    y_range: YRange | None
    row_count: int


@dataclass(frozen=True, eq=False, slots=True)
class _Loaded:
    """A scene on the device, and what was sent for it.

    columns: in the order of the scene's rows. rays: of the jobs that are still prepared.
    """

    scene: Scene
    handle: Any
    columns: dict[Input, Any] = field(default_factory=dict)
    rays: WeakKeyDictionary[RtJob, _Sent] = field(default_factory=WeakKeyDictionary)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A job's rays through a scene, on the device."""

    handle: Any
    count: int


class Scenes(DeviceCache):
    """The scenes on one device.

    made_seconds: what making scenes has taken so far.
    """

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer.free_bytes)
        self.tracer = tracer
        self.slab_entries = SLAB_ENTRIES
        self.made_seconds = 0.0

    def parts(self, bvh: Bvh, encoding: Encoding, share: Share) -> Iterator[_Loaded]:
        """Yield the scene of what this device has of a BVH, or the parts that it is cut into."""
        # Rows that die between two jobs make another scene.
        owner = bvh.offsets if bvh.dead is None else bvh.dead
        key = id(owner), id(bvh.offsets), encoding, share.y_range
        is_there = self.has(key)
        if not is_there or self.is_over_limit():
            size = scene_bytes(bvh, encoding) * share.row_count // max(bvh.row_count, 1)
            if not self.make_room(0 if is_there else size, (key,)):
                budget = self.budget_bytes
                self.clear()
                for y_range, _ in cut_y(bvh, -(-size // max(budget, 1)), share.y_range):
                    yield self._load(bvh, encoding, y_range)
                return
        if not is_there:
            self.keep(key, owner, self._load(bvh, encoding, share.y_range), size)
        yield self.find(key)

    def _load(self, bvh: Bvh, encoding: Encoding, y_range: YRange | None) -> _Loaded:
        start = time.perf_counter()
        scene = build_scene(bvh, encoding, self.slab_entries, y_range)
        loaded = _Loaded(scene, self.tracer.load(scene))
        self.made_seconds += time.perf_counter() - start
        return loaded


def cut_y(bvh: Bvh, part_count: int, within: YRange | None = None) -> list[tuple[YRange, int]]:
    """Cut group tuples into ranges with about as many rows each, which are told with them.

    RayDB, section 5. within: a range of the tuples, None for all. Raises DeviceError where one
    tuple has most of the rows.
    """
    tuples, _ = number_tuples(bvh)
    sizes = np.bincount(tuples, minlength=1)
    first, last = (0, len(sizes)) if within is None else within
    sizes = sizes[first:last]
    row_count = int(sizes.sum())
    parts = cut_tuples(sizes, part_count)
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(parts)) + 1, [len(sizes)]])
    ranges = [
        ((first + low, first + high), int(sizes[low:high].sum()))
        for low, high in pairwise(cuts.tolist())
    ]
    most = max(rows for _, rows in ranges)
    if most > 2 * -(-row_count // part_count):
        raise DeviceError(
            f"rt: the BVH does not fit the device's memory, and {most} of its rows have one group"
        )
    return ranges


@dataclass(frozen=True, eq=False, slots=True)
class RtJob(PreparedJob):
    """A job's segments on each device that has a share of the BVH."""

    bvh: Bvh
    job: FusedJob
    encoding: Encoding
    segments: Segments
    shares: tuple[Share, ...]
    figures: dict[str, float] = field(default_factory=dict)

    def launch(self) -> FusedResult:
        """Run the job. Raises DeviceError where the device, or the encoding, cannot."""
        job, measures = self.job, self.bvh.measures
        functions = [(each.function, each.measure) for each in job.accumulators]
        totals = plan_totals(functions, measures, self.bvh.count_rows(job.intervals))
        rows = np.zeros(job.group_count, np.int64)
        words = [np.full(job.group_count, total.neutral, np.int64) for total in totals.totals]

        def trace(tracer: Tracer, loaded: _Loaded, rays: _Sent) -> Traced:
            inputs = [_column(tracer, loaded, each, measures) for each in totals.inputs]
            return tracer.accumulate(loaded.handle, rays.handle, inputs, totals, job.group_count)

        for traced in self._trace(trace):
            rows += traced.rows
            merge_words(totals, words, traced.words)
        return answer(totals, rows, words)

    def locate(self) -> Located:
        """Return (places, groups) of the rows that pass the job's filters, in order of place."""
        groups = np.full(self.bvh.row_count, -1, np.int64)

        def trace(tracer: Tracer, loaded: _Loaded, rays: _Sent) -> Traced:
            listed = tracer.list_rows(loaded.handle, rays.handle)
            # No row is in two scenes.
            groups[loaded.scene.where] = listed.rows
            return listed

        self._trace(trace)
        places = np.flatnonzero(groups >= 0)
        return places.astype(np.int64), groups[places]

    def _trace(self, trace: Callable[[Tracer, _Loaded, _Sent], Traced]) -> list[Traced]:
        """Trace through all scenes, on each device at once; note and return the launches."""

        def run(share: Share) -> list[Traced]:
            tracer = share.scenes.tracer
            with tracer.current():
                return [
                    replace(trace(tracer, loaded, rays), ray_count=rays.count)
                    for loaded, rays in self._launches(share)
                ]

        before = self._made_seconds()
        with faults.translated("rt"):
            found = at_once([partial(run, share) for share in self.shares])
        self._note(found, self._made_seconds() - before)
        return list(chain.from_iterable(found))

    def _launches(self, share: Share) -> Iterator[tuple[_Loaded, _Sent]]:
        """Yield each part of a device's scene that rays pass, with them."""
        if not len(self.segments.lows):
            return
        for loaded in share.scenes.parts(self.bvh, self.encoding, share):
            if not loaded.scene.bucket_count:
                continue
            sent = loaded.rays.get(self)
            if sent is None:
                rays = plan_rays(loaded.scene, self.bvh, self.job, self.segments)
                sent = _Sent(share.scenes.tracer.send(rays) if rays.count else None, rays.count)
                if sent.count <= KEPT_RAYS:
                    loaded.rays[self] = sent
            if sent.count:
                yield loaded, sent

    def _made_seconds(self) -> float:
        return sum(share.scenes.made_seconds for share in self.shares)

    def _note(self, found: list[list[Traced]], made_seconds: float) -> None:
        """Keep the figures of a run: of the devices the slowest one's time, and all rays."""
        launches = list(chain.from_iterable(found))
        for name in self.figures.keys() - {"scene_ms"}:
            del self.figures[name]
        self.figures["device_ms"] = max(sum(each.device_ms for each in mine) for mine in found)
        self.figures["rays"] = float(sum(each.ray_count for each in launches))
        self.figures["hits"] = float(sum(each.hit_count for each in launches))
        turns = max(len(mine) for mine in found)
        if turns > 1:
            self.figures["turns"] = float(turns)
        if len(found) > 1:
            self.figures["devices"] = float(len(found))
        if made_seconds > 0:
            # It stays with the job: EXPLAIN ANALYZE launches one several times.
            self.figures["scene_ms"] = 1e3 * made_seconds


class RtBackend:
    """Runs fused jobs by tracing rays, on one device or on several at once."""

    def __init__(self, encoding: Encoding, scenes: Sequence[Scenes]) -> None:
        self.name = "rt"
        self.encoding: Encoding = encoding
        self.scenes = tuple(scenes)
        self._shares: dict[int, tuple[weakref.ref[Any], tuple[Share, ...]]] = {}

    def build(self, source: Source, control: BuildControl) -> Bvh:
        """Sort the rows by cell on the CPU; triangles are made when rays first need them."""
        return CpuBackend().build(source, control)

    def prepare(self, bvh: Bvh, job: FusedJob) -> RtJob:
        """Find the intervals of entries that rays will pass, and which device has which rows."""
        return RtJob(bvh, job, self.encoding, find_segments(bvh, job), self._shares_of(bvh))

    def _shares_of(self, bvh: Bvh) -> tuple[Share, ...]:
        """Return which device has which range of Y; they are found once for each BVH."""
        count = min(len(self.scenes), -(-bvh.row_count // split.PART_ROWS))
        if count <= 1:
            return (Share(self.scenes[0], None, bvh.row_count),)
        key = id(bvh.offsets)
        if key not in self._shares:
            try:
                ranges: Sequence[tuple[YRange | None, int]] = cut_y(bvh, count)
            except DeviceError:
                # What cannot be cut is left to one device.
                ranges = [(None, bvh.row_count)]
            shares = tuple(
                Share(scenes, y_range, rows)
                for scenes, (y_range, rows) in zip(self.scenes, ranges, strict=False)
            )
            gone = weakref.ref(bvh.offsets, lambda _: self._shares.pop(key, None))
            self._shares[key] = gone, shares
        return self._shares[key][1]


def _column(tracer: Tracer, loaded: _Loaded, each: Input, measures: Sequence[Measure]) -> Any:
    if each not in loaded.columns:
        host = each.array(measures)[loaded.scene.where]
        loaded.columns[each] = tracer.upload(host.view(np.int8) if host.dtype == np.bool_ else host)
    return loaded.columns[each]
