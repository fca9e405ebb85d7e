"""Traces rays with OptiX, through the module `optix`: some fifteen calls of it, all here.

No device has run this yet: what a machine without one can prove (the plan of rays and triangles,
the calls of the module, the program itself on the CPU, that it compiles) the tests prove; `raydb
doctor` proves the rest where there is one.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

# cupy comes first: OptiX works in the CUDA context that it makes.
import cupy
import numpy as np
import optix

from raydb.kernels.device import DeviceError, LibraryError
from raydb.kernels.rt.params import KINDS, MOST_IN_REGISTERS, MOST_TOTALS, PARAMS, PAYLOAD_COUNT
from raydb.kernels.rt.program import program_ptx
from raydb.kernels.rt.tracer import Traced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.device_totals import Totals
    from raydb.kernels.rt.rays import Rays
    from raydb.kernels.rt.scene import Scene

# OptiX launches this many rays at once at most.
MOST_RAYS = 2**30


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
        corners = cupy.asarray(scene.triangles.reshape(-1))
        options = optix.AccelBuildOptions(
            buildFlags=int(optix.BUILD_FLAG_PREFER_FAST_TRACE),
            operation=optix.BUILD_OPERATION_BUILD,
        )
        triangles = optix.BuildInputTriangleArray()
        triangles.vertexFormat = optix.VERTEX_FORMAT_FLOAT3
        triangles.numVertices = 3 * scene.bucket_count
        triangles.vertexBuffers = [corners.data.ptr]
        triangles.flags = [optix.GEOMETRY_FLAG_REQUIRE_SINGLE_ANYHIT_CALL]
        triangles.numSbtRecords = 1
        sizes = self._context.accelComputeMemoryUsage([options], [triangles])
        scratch = cupy.cuda.alloc(sizes.tempSizeInBytes)
        structure = cupy.cuda.alloc(sizes.outputSizeInBytes)
        handle = self._context.accelBuild(
            0,
            [options],
            [triangles],
            scratch.ptr,
            sizes.tempSizeInBytes,
            structure.ptr,
            sizes.outputSizeInBytes,
            [],
        )
        cupy.cuda.Stream.null.synchronize()
        # The program asks for no corner, so the triangles themselves are given back.
        buffers = {
            "structure": structure,
            "tuple_of": cupy.asarray(scene.tuple_of),
            "firsts": cupy.asarray(scene.firsts),
        }
        return LoadedScene(scene, handle, buffers)

    def upload(self, values: NDArray[Any]) -> Any:
        """Send a column to the device."""
        return cupy.asarray(values)

    def accumulate(
        self,
        loaded: LoadedScene,
        rays: Rays,
        inputs: Sequence[Any],
        totals: Totals,
        group_count: int,
    ) -> Traced:
        """Trace rays; add the rows of every bucket that is met to the totals of its group."""
        if len(totals.totals) > MOST_TOTALS:
            raise DeviceError(f"rt: a job has at most {MOST_TOTALS} totals on this backend")
        rows = cupy.zeros(group_count, np.int64)
        words = [cupy.full(group_count, total.neutral, np.int64) for total in totals.totals]
        params = np.zeros(1, PARAMS)
        params["rows"] = rows.data.ptr
        params["total_count"] = len(words)
        params["in_registers"] = group_count == 1 and len(words) <= MOST_IN_REGISTERS
        for number, (total, word) in enumerate(zip(totals.totals, words, strict=True)):
            values = inputs[total.input]
            valid = 0 if total.valid is None else inputs[total.valid].data.ptr
            width = values.dtype.itemsize if values.dtype.kind == "i" else 0
            described = (values.data.ptr, valid, word.data.ptr, total.neutral)
            params["totals"][0, number] = (*described, KINDS[total.kind], width, total.ordered, 0)
        hits, device_ms = self._launch(loaded, rays, params)
        return Traced(rows.get(), [word.get() for word in words], hits, device_ms)

    def list_rows(self, loaded: LoadedScene, rays: Rays) -> Traced:
        """Trace rays; return each scene row's group or -1 as the rows."""
        found = cupy.full(len(loaded.scene.places), -1, np.int64)
        params = np.zeros(1, PARAMS)
        params["row_groups"] = found.data.ptr
        hits, device_ms = self._launch(loaded, rays, params)
        return Traced(found.get(), [], hits, device_ms)

    def _launch(self, loaded: LoadedScene, rays: Rays, params: NDArray[Any]) -> tuple[int, float]:
        """Launch a ray for each segment and lane; return (hits, milliseconds)."""
        sent = {
            name: cupy.asarray(getattr(rays, name))
            for name in (
                *("origin_z", "lengths", "offset_x", "groups", "lane_x", "lane_y"),
                "tuple_groups",
            )
        }
        hit_count = cupy.zeros(1, np.uint64)
        sent |= {name: loaded.buffers[name] for name in ("tuple_of", "firsts")}
        sent["hit_count"] = hit_count
        if loaded.scene.encoding == "paper":
            sent["met"] = cupy.zeros(loaded.scene.bucket_count // 32 + 1, np.uint32)
        params["scene"] = loaded.handle
        for name, array in sent.items():
            params[name] = array.data.ptr
        lanes = len(rays.lane_x) * len(rays.lane_y)
        step = max(MOST_RAYS // lanes, 1)
        firsts = range(0, len(rays.origin_z), step)
        # All are sent before the clock starts, and are there until the last launch has ended.
        launches = []
        for first in firsts:
            params["first_segment"] = first
            launches.append(cupy.asarray(params.view(np.uint8)))
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for first, on_device in zip(firsts, launches, strict=True):
            optix.launch(
                self._pipeline.pipeline,
                cupy.cuda.Stream.null.ptr,
                on_device.data.ptr,
                PARAMS.itemsize,
                self._pipeline.records,
                len(rays.lane_x),
                len(rays.lane_y),
                min(step, len(rays.origin_z) - first),
            )
        end.record()
        end.synchronize()
        return int(hit_count.get()[0]), float(cupy.cuda.get_elapsed_time(begin, end))


def open_tracers() -> tuple[OptixTracer, ...]:
    """Return a tracer for each device that the driver shows to this process."""
    return tuple(map(OptixTracer, range(cupy.cuda.runtime.getDeviceCount())))


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
