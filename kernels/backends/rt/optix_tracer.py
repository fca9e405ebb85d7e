"""Traces rays with OptiX, through the module `optix`: some fifteen calls of it, all here.

No device has run this yet: what a machine without one can prove (the plan of rays and triangles,
the calls of the module, the program itself on the CPU, that it compiles) the tests prove; `raydb
doctor` proves the rest where there is one.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

# cupy comes first: OptiX works in the CUDA context that it makes.
import cupy
import numpy as np
import optix

from raydb.kernels.backends.aggregates import WORDS
from raydb.kernels.backends.device import DeviceError, LibraryError
from raydb.kernels.backends.device_totals import as_summed
from raydb.kernels.backends.rt.params import (
    HIT_COUNTS,
    KINDS,
    MAX_GROUPS,
    MAX_IN_REGISTERS,
    MAX_TOTALS,
    PARAMS,
    PAYLOAD_COUNT,
)
from raydb.kernels.backends.rt.program import program_ptx
from raydb.kernels.backends.rt.tracer import Traced
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.device_totals import Total, Totals
    from raydb.kernels.backends.rt.rays import Rays
    from raydb.kernels.backends.rt.scene import Scene

# OptiX launches this many rays at once at most.
MAX_RAYS = 2**30

# Groups have copies, for rays to add to: so many words of each total at most, which take the host
# some microseconds to get and add up, and so many of a group.
COPIED_WORDS = 2**12
MAX_COPIES = 2**10


@dataclass(frozen=True, eq=False, slots=True)
class _Pipeline:
    """The compiled program with its records; they are on the device as long as this is."""

    pipeline: Any
    records: Any
    kept: tuple[Any, ...]


@dataclass(frozen=True, eq=False, slots=True)
class LoadedScene:
    """A scene on the device: its acceleration structure, and what hits look up."""

    scene: Scene
    handle: int
    buffers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class SentRays:
    """Rays on the device: the arrays by their names in the parameters."""

    count: int
    lane_count: int
    buffers: dict[str, Any]


@contextmanager
def reported() -> Iterator[None]:
    """Tell what OptiX reports from mistakes of ours: its module raises bare RuntimeErrors."""
    try:
        yield
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise
        raise LibraryError(f"OptiX reports: {error}") from error


class OptixTracer:
    """Traces rays on a device. Made once a process and device: the program is compiled here."""

    def __init__(self, number: int) -> None:
        self._number = number
        with self.current():
            cupy.cuda.runtime.free(0)  # This makes the context that OptiX works in.
            self._context = optix.deviceContextCreate(0, optix.DeviceContextOptions())
            architecture = int(cupy.cuda.Device().compute_capability)
            ptx = program_ptx(architecture, cupy.cuda.runtime.driverGetVersion())
            self._pipeline = _make_pipeline(self._context, ptx)

    @property
    def core_version(self) -> int:
        """The version of the RT cores times ten; 0 on a chip without them."""
        with self.current():
            name = optix.DeviceProperty.DEVICE_PROPERTY_RTCORE_VERSION
            return int(self._context.getProperty(name))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make its device the current one of this thread, which all calls below ask for."""
        with reported(), cupy.cuda.Device(self._number):
            yield

    def free_bytes(self) -> int:
        """Return how many bytes of the device are free, cupy's own reserve among them."""
        free: int = cupy.cuda.runtime.memGetInfo()[0]
        return free + int(cupy.get_default_memory_pool().free_bytes())

    def load(self, scene: Scene) -> LoadedScene:
        """Build the acceleration structure of a scene's triangles, each met once a ray."""
        if not scene.bucket_count:
            return LoadedScene(scene, 0)  # No ray will be sent.
        # Three corners around each point: made here, a third of them need be sent.
        points = cupy.asarray(scene.points)
        corners = points[:, None, :] + cupy.asarray(scene.corners)
        triangles = optix.BuildInputTriangleArray()
        triangles.vertexFormat = optix.VERTEX_FORMAT_FLOAT3
        triangles.numVertices = 3 * scene.bucket_count
        triangles.vertexBuffers = [corners.data.ptr]
        # Without it one ray may call the any-hit program more than once for a triangle.
        triangles.flags = [optix.GEOMETRY_FLAG_REQUIRE_SINGLE_ANYHIT_CALL]
        triangles.numSbtRecords = 1
        handle, structure = _build_structure(self._context, triangles)
        # The program asks for no corner, so the triangles themselves are given back.
        buffers = {
            "structure": structure,
            "firsts": cupy.asarray(scene.firsts),
        }
        return LoadedScene(scene, handle, buffers)

    def upload(self, values: NDArray[Any]) -> Any:
        """Send a column to the device."""
        return cupy.asarray(values)

    def send(self, rays: Rays) -> SentRays:
        """Send the rays of a job to the device."""
        names = ["origin_z", "lengths", "offset_x", "groups", "lane_x", "lane_y"]
        names += ["segments", "lanes"]
        if rays.tuple_groups.any():
            names.append("tuple_groups")
        buffers = {name: cupy.asarray(getattr(rays, name)) for name in names}
        return SentRays(rays.count, len(rays.lane_x), buffers)

    def accumulate(
        self,
        loaded: LoadedScene,
        sent: SentRays,
        inputs: Sequence[Any],
        totals: Totals,
        group_count: int,
    ) -> Traced:
        """Trace rays; add the rows of every bucket that is met to the totals of its group."""
        if len(totals.totals) > MAX_TOTALS:
            raise DeviceError(f"rt: a job has at most {MAX_TOTALS} totals on this backend")
        if group_count > MAX_GROUPS:
            raise DeviceError(f"rt: a job has at most {MAX_GROUPS} groups on this backend")
        copies = min(max(COPIED_WORDS // max(group_count, 1), 1), MAX_COPIES)
        word_count = copies * group_count
        rows = cupy.zeros(word_count, np.int64)
        words = [cupy.full(word_count, total.neutral, np.int64) for total in totals.totals]
        params = np.zeros(1, PARAMS)
        params["rows"] = rows.data.ptr
        params["group_count"], params["copy_count"] = group_count, copies
        params["total_count"] = len(words)
        params["in_registers"] = len(words) <= MAX_IN_REGISTERS
        for number, (total, word) in enumerate(zip(totals.totals, words, strict=True)):
            values = inputs[total.input]
            valid = 0 if total.valid is None else inputs[total.valid].data.ptr
            width = values.dtype.itemsize if values.dtype.kind == "i" else 0
            described = (values.data.ptr, valid, word.data.ptr, total.neutral)
            params["totals"][0, number] = (*described, KINDS[total.kind], width, total.ordered, 0)
        hits, device_ms = self._launch(loaded, sent, params)
        merged = [word.get().reshape(copies, group_count) for word in words]
        return Traced(
            rows.get().reshape(copies, group_count).sum(axis=0),
            [add_copies(total, word) for total, word in zip(totals.totals, merged, strict=True)],
            hits,
            device_ms,
        )

    def list_rows(self, loaded: LoadedScene, sent: SentRays) -> Traced:
        """Trace rays; return each scene row's group or -1 as the rows."""
        found = cupy.full(loaded.scene.row_count, -1, np.int64)
        params = np.zeros(1, PARAMS)
        params["row_groups"] = found.data.ptr
        hits, device_ms = self._launch(loaded, sent, params)
        return Traced(found.get(), [], hits, device_ms)

    def _launch(
        self, loaded: LoadedScene, sent: SentRays, params: NDArray[Any]
    ) -> tuple[int, float]:
        """Launch rays; return (hits, milliseconds)."""
        hit_counts = cupy.zeros(HIT_COUNTS, np.uint64)
        used = sent.buffers | {"firsts": loaded.buffers["firsts"]}
        if "tuple_groups" in used:
            # Sent with the first job that asks for a code that is stored.
            if "tuples" not in loaded.buffers:
                loaded.buffers["tuples"] = cupy.asarray(loaded.scene.tuples)
            used["tuples"] = loaded.buffers["tuples"]
            params["tuple_width"] = loaded.scene.tuples.itemsize
        used["hit_counts"] = hit_counts
        if loaded.scene.encoding == "paper":
            used["met"] = cupy.zeros(loaded.scene.bucket_count // 32 + 1, np.uint32)
        params["scene"] = loaded.handle
        params["lane_count"] = sent.lane_count
        for name, array in used.items():
            params[name] = array.data.ptr
        firsts = range(0, sent.count, MAX_RAYS)
        # All are sent before the clock starts, and are there until the last launch has ended.
        launches = []
        for first in firsts:
            params["first_ray"] = first
            launches.append(cupy.asarray(params.view(np.uint8)))
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for first, on_device in zip(firsts, launches, strict=True):
            # One dimension: OptiX puts those of two and three into tiles.
            optix.launch(
                self._pipeline.pipeline,
                cupy.cuda.Stream.null.ptr,
                on_device.data.ptr,
                PARAMS.itemsize,
                self._pipeline.records,
                min(MAX_RAYS, sent.count - first),
                1,
                1,
            )
        end.record()
        end.synchronize()
        return int(hit_counts.get().sum()), float(cupy.cuda.get_elapsed_time(begin, end))


def add_copies(total: Total, copies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make one word a group (group_count) of the copies (copy_count, group_count) of a total."""
    merged = WORDS[total.kind].merge.reduce(as_summed(total, copies), axis=0)
    words: NDArray[np.int64] = merged.view(np.int64)
    return words


def open_tracers() -> tuple[OptixTracer, ...]:
    """Return a tracer for each device that the driver shows to this process."""
    return tuple(map(OptixTracer, range(cupy.cuda.runtime.getDeviceCount())))


def _build_structure(context: Any, triangles: Any) -> tuple[int, Any]:
    """Build an acceleration structure and compact it; return (handle, its memory)."""
    options = optix.AccelBuildOptions(
        buildFlags=int(optix.BUILD_FLAG_PREFER_FAST_TRACE) | int(optix.BUILD_FLAG_ALLOW_COMPACTION),
        operation=optix.BUILD_OPERATION_BUILD,
    )
    sizes = context.accelComputeMemoryUsage([options], [triangles])
    scratch = cupy.cuda.alloc(sizes.tempSizeInBytes)
    structure = cupy.cuda.alloc(sizes.outputSizeInBytes)
    compacted_size = cupy.zeros(1, np.uint64)
    emitted = optix.AccelEmitDesc(
        result=compacted_size.data.ptr, type=optix.PROPERTY_TYPE_COMPACTED_SIZE
    )
    handle = context.accelBuild(
        0,
        [options],
        [triangles],
        scratch.ptr,
        sizes.tempSizeInBytes,
        structure.ptr,
        sizes.outputSizeInBytes,
        [emitted],
    )
    size = int(compacted_size.get()[0])
    if size < sizes.outputSizeInBytes:
        # The memory of the first is given back when nothing in the stream needs it any more.
        compact = cupy.cuda.alloc(size)
        handle = context.accelCompact(0, handle, compact.ptr, size)
        structure = compact
    cupy.cuda.Stream.null.synchronize()
    return handle, structure


def _make_pipeline(context: Any, ptx: bytes) -> _Pipeline:
    """Link the program's three functions, and pack a record for each."""
    compile_options = optix.PipelineCompileOptions(
        usesMotionBlur=False,
        traversableGraphFlags=int(optix.TRAVERSABLE_GRAPH_FLAG_ALLOW_SINGLE_GAS),
        numPayloadValues=PAYLOAD_COUNT,
        numAttributeValues=2,
        exceptionFlags=int(optix.EXCEPTION_FLAG_NONE),
        pipelineLaunchParamsVariableName="params",
        usesPrimitiveTypeFlags=optix.PRIMITIVE_TYPE_FLAGS_TRIANGLE,
    )
    module, _ = context.moduleCreate(optix.ModuleCompileOptions(), compile_options, ptx)
    raygen, miss, hit = (optix.ProgramGroupDesc() for _ in range(3))
    raygen.raygenModule, raygen.raygenEntryFunctionName = module, "__raygen__lanes"
    miss.missModule, miss.missEntryFunctionName = module, "__miss__nothing"
    hit.hitgroupModuleAH, hit.hitgroupEntryFunctionNameAH = module, "__anyhit__bucket"
    groups = [context.programGroupCreate([described])[0][0] for described in (raygen, miss, hit)]
    link_options = optix.PipelineLinkOptions()
    link_options.maxTraceDepth = 1
    pipeline = context.pipelineCreate(compile_options, link_options, groups, "")
    stack = optix.StackSizes()
    for group in groups:
        optix.util.accumulateStackSizes(group, stack, pipeline)
    pipeline.setStackSize(*optix.util.computeStackSizes(stack, 1, 0, 0), 1)
    sent = [_record(group) for group in groups]
    size = sent[0].nbytes
    records = optix.ShaderBindingTable(
        raygenRecord=sent[0].data.ptr,
        missRecordBase=sent[1].data.ptr,
        missRecordStrideInBytes=size,
        missRecordCount=1,
        hitgroupRecordBase=sent[2].data.ptr,
        hitgroupRecordStrideInBytes=size,
        hitgroupRecordCount=1,
    )
    return _Pipeline(pipeline, records, (context, module, groups, sent))


def _record(group: Any) -> Any:
    """Return a program's record on the device: a header and nothing else."""
    alignment = optix.SBT_RECORD_ALIGNMENT
    size = -(-optix.SBT_RECORD_HEADER_SIZE // alignment) * alignment
    record = np.zeros(1, np.dtype([("header", f"{size}B")]))
    optix.sbtRecordPackHeader(group, record)
    return cupy.asarray(record.view(np.uint8))
