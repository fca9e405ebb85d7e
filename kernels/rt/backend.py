"""The RT backend: intervals become rays, buckets of rows become triangles (RayDB, section 3)."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cpu.backend import CpuBackend
from raydb.kernels.device import BUDGET_SHARE, DeviceError, faults
from raydb.kernels.device_totals import Input, answer, input_array, merge_words, plan_totals
from raydb.kernels.rt.rays import Segments, find_segments, plan_rays
from raydb.kernels.rt.scene import SLAB_ENTRIES, build_scene, number_tuples, scene_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob, FusedResult
    from raydb.kernels.bvh import Bvh, Measure
    from raydb.kernels.encode import Hierarchy
    from raydb.kernels.rt.rays import Rays
    from raydb.kernels.rt.scene import Encoding, Scene
    from raydb.kernels.rt.tracer import Tracer


@dataclass(frozen=True, eq=False, slots=True)
class Launch:
    """A job's segments, and what EXPLAIN ANALYZE shows of its last launch."""

    segments: Segments
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class _Loaded:
    """A scene on the device, and the columns that were sent in the order of its rows."""

    scene: Scene
    handle: Any
    columns: dict[Input, Any] = field(default_factory=dict)


class Scenes:
    """The scenes on the device, the least recently used ones dropped over a budget."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.limit_bytes: int | None = None
        self.slab_entries = SLAB_ENTRIES
        self._kept: OrderedDict[tuple[int, int, Encoding], tuple[Any, _Loaded, int]] = OrderedDict()

    @property
    def budget_bytes(self) -> int:
        """What all scenes may take together."""
        if self.limit_bytes is not None:
            return self.limit_bytes
        return int(BUDGET_SHARE * (self.tracer.free_bytes() + self.size_bytes))

    @property
    def size_bytes(self) -> int:
        """What the scenes take, about."""
        return sum(size for _, _, size in self._kept.values())

    def parts(self, bvh: Bvh, encoding: Encoding) -> Iterator[_Loaded]:
        """Yield a BVH's scene, or the parts that it is cut into along Y, one after the other."""
        size = scene_bytes(bvh)
        budget = self.budget_bytes
        if size > budget:
            self._kept.clear()
            for y_range in _y_ranges(bvh, -(-size // max(budget, 1))):
                yield self._load(build_scene(bvh, encoding, self.slab_entries, y_range))
            return
        # Rows that die between two jobs make another scene.
        owner = bvh.offsets if bvh.dead is None else bvh.dead
        key = id(owner), id(bvh.offsets), encoding
        kept = self._kept.pop(key, None)
        while kept is None and self._kept and self.size_bytes + size > budget:
            self._kept.popitem(last=False)
        if kept is None:
            loaded = self._load(build_scene(bvh, encoding, self.slab_entries))
            gone = weakref.ref(owner, lambda _: self._kept.pop(key, None))
            kept = gone, loaded, size
        self._kept[key] = kept
        yield kept[1]

    def _load(self, scene: Scene) -> _Loaded:
        return _Loaded(scene, self.tracer.load(scene))


def _y_ranges(bvh: Bvh, part_count: int) -> list[tuple[int, int]]:
    """Cut the group tuples into ranges with about as many rows each (RayDB, section 5)."""
    tuples, _ = number_tuples(bvh)
    whole = np.bincount(tuples, minlength=1)
    ends = np.cumsum(whole)
    wanted = np.arange(1, part_count + 1) * (ends[-1] / part_count)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, wanted) + 1]).clip(0, len(whole)))
    ranges = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    most = max(int(whole[low:high].sum()) for low, high in ranges)
    if most > 2 * -(-bvh.row_count // part_count):
        raise DeviceError(
            f"rt: the BVH does not fit the device's memory, and {most} of its rows have one group"
        )
    return ranges


class RtBackend:
    """Runs fused jobs by tracing rays."""

    def __init__(self, encoding: Encoding, scenes: Scenes) -> None:
        self.name = "rt"
        self.encoding: Encoding = encoding
        self.scenes = scenes

    def build(
        self,
        hierarchies: Sequence[Hierarchy],
        row_codes: Sequence[NDArray[np.int32]],
        measures: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None]],
        row_count: int,
    ) -> Bvh:
        """Sort the rows by cell as the CPU does; triangles are made when rays first need them."""
        return CpuBackend().build(hierarchies, row_codes, measures, row_count)

    def prepare(self, bvh: Bvh, job: FusedJob) -> Launch:
        """Find the intervals of entries that rays will pass."""
        return Launch(find_segments(bvh, job))

    def launch(self, bvh: Bvh, job: FusedJob, prepared: object) -> FusedResult:
        """Run a job. Raises DeviceError where the device, or the encoding, cannot."""
        assert isinstance(prepared, Launch)
        functions = [(each.function, each.measure) for each in job.accumulators]
        totals = plan_totals(functions, bvh.measures, bvh.count_rows(job.intervals))
        rows = np.zeros(job.group_count, np.int64)
        words = [np.full(job.group_count, total.neutral, np.int64) for total in totals.totals]
        prepared.figures.clear()
        with faults.translated(self.name):
            tracer = self.scenes.tracer
            for loaded, rays in self._launches(bvh, job, prepared):
                inputs = [_column(tracer, loaded, each, bvh.measures) for each in totals.inputs]
                traced = tracer.accumulate(loaded.handle, rays, inputs, totals, job.group_count)
                rows += traced.rows
                merge_words(totals, words, traced.words)
                _note(prepared, rays, traced.hit_count, traced.device_ms)
        return answer(totals, rows, words)

    def locate(
        self, bvh: Bvh, job: FusedJob, prepared: object
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (places, groups) of the rows that pass the job's filters, in order of place."""
        assert isinstance(prepared, Launch)
        prepared.figures.clear()
        groups = np.full(bvh.row_count, -1, np.int64)
        with faults.translated(self.name):
            for loaded, rays in self._launches(bvh, job, prepared):
                found, hits, device_ms = self.scenes.tracer.list_rows(loaded.handle, rays)
                groups[loaded.scene.places] = found
                _note(prepared, rays, hits, device_ms)
        places = np.flatnonzero(groups >= 0)
        return places.astype(np.int64), groups[places]

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate gathered values on the host, where they are: no ray has a part in it."""
        return CpuBackend().accumulate(functions, measures, groups, group_count)

    def _launches(
        self, bvh: Bvh, job: FusedJob, prepared: Launch
    ) -> Iterator[tuple[_Loaded, Rays]]:
        """Yield each part of the scene that rays pass, with them."""
        if not len(prepared.segments.lows):
            return
        entry_count = len(bvh.offsets) - 1
        for loaded in self.scenes.parts(bvh, self.encoding):
            rays = plan_rays(loaded.scene, entry_count, job, bvh.stored, prepared.segments)
            if rays.count and loaded.scene.bucket_count:
                yield loaded, rays


def _column(tracer: Tracer, loaded: _Loaded, each: Input, measures: Sequence[Measure]) -> Any:
    if each not in loaded.columns:
        host = input_array(each, measures)[loaded.scene.places]
        loaded.columns[each] = tracer.upload(host.view(np.int8) if host.dtype == np.bool_ else host)
    return loaded.columns[each]


def _note(prepared: Launch, rays: Rays, hits: int, device_ms: float) -> None:
    for name, figure in (("rays", rays.count), ("hits", hits), ("device_ms", device_ms)):
        prepared.figures[name] = prepared.figures.get(name, 0.0) + figure
