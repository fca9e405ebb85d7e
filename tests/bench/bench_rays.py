"""The plan of rays and triangles for SSB: counts, which no device is needed for, and no times.

    python tests/bench/bench_rays.py [--sf 1] [--data FOLDER] [--encodings lanes paper]

The 13 queries and the others that a BVH serves run on the processor; of each, the rays are planned
as the `rt` backend does, and traced by the tests' simulator, which meets the actual float32
triangles. The rows that the rays find are compared with the processor's.

    rays      that are launched; missed: the share of them that meets nothing
    hits      calls of the any-hit program; dropped: rows that they read for nothing, since the
              query drops their group
    a ray     mean of those that meet any / 99th percentile / the most: what others wait for
    adds      to memory, each of a word for every total and one for the number of rows

A scene's line tells its triangles, the rows of one, lanes of X and Y, what is sent to a device, and
what the host takes to make it: seconds, and the most memory above what was in use (on Linux).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import io
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

import raydb
from raydb.kernels.backends import fallback
from raydb.kernels.backends.cpu.cpu_backend import CpuBackend
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.rt.rays import find_segments, plan_rays
from raydb.kernels.backends.rt.scene import build_scene
from raydb.ssb import run, workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

sys.path.insert(0, str(Path(__file__).parent.parent / "kernels"))

from ray_simulator import load_scene, trace_rays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob
    from raydb.kernels.backends.cpu.cpu_backend import CpuJob
    from raydb.kernels.backends.rt.scene import Encoding, Scene
    from raydb.kernels.bvh.bvh import Bvh

QUIET = Progress(Console(file=io.StringIO()))


class Recorder(CpuBackend):
    """The processor's backend, which keeps each job with the number of its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[tuple[Bvh, FusedJob, int]] = []

    def prepare(self, bvh: Bvh, job: FusedJob) -> CpuJob:
        """Prepare a job and keep it."""
        prepared = super().prepare(bvh, job)
        self.jobs.append((bvh, job, len(prepared.locate()[0])))
        return prepared


def main() -> int:
    parser = argparse.ArgumentParser(description="The plan of rays and triangles for SSB.")
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--data", type=Path, help="where the data are kept, made once")
    parser.add_argument("--encodings", nargs="+", default=["lanes", "paper"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data = DataSet(options.sf)
        folder = (options.data or Path(temporary)) / data.folder_name
        prepare(folder, data, QUIET)
        jobs = record(folder)
    agrees = [show(encoding, jobs) for encoding in options.encodings]
    return 0 if all(agrees) else 1


def record(folder: Path) -> list[tuple[str, str, Bvh, FusedJob, int]]:
    """Return (query, BVH's name, BVH, job, rows) of every query that a BVH serves, BVH by BVH."""
    recorder = Recorder()
    found = []
    bvhs = [statement.split()[2] for statement in workload.statements("bvhs.sql")]
    fallback.open_backend = lambda _: recorder  # type: ignore[assignment]
    with raydb.connect() as con:
        run.load(con, folder, QUIET)
        run.build_bvhs(con, QUIET)
        for name in (*workload.QUERIES, *workload.OTHERS):
            text = workload.find(name).star
            recorder.jobs.clear()
            con.execute(text).fetchall()
            bvh = run.explain(con, text).bvh
            if bvh is not None:
                found += [(name, bvh, *each) for each in recorder.jobs]
    return sorted(found, key=lambda job: bvhs.index(job[1]))


def show(encoding: Encoding, jobs: list[tuple[str, str, Bvh, FusedJob, int]]) -> bool:
    """Print an encoding's scenes and plans as Markdown; whether all rows were found."""
    columns = "| rows | rays | missed | hits | dropped | hits a ray | rows a ray | adds |"
    plans = [f"| {encoding} {columns}", "|---" * columns.count("|") + "|"]
    columns = "| entries | triangles | rows of one | lanes | MB | seconds | memory, MB |"
    print(f"| {encoding} {columns}\n" + "|---" * columns.count("|") + "|")
    loaded: dict[str, Any] = {}
    agrees = True
    for query, name, bvh, job, row_count in jobs:
        if name not in loaded:
            # One scene at a time: at scale factor 10 that of `profits` takes a gigabyte.
            loaded = {name: load(encoding, name, bvh)}
        if loaded[name] is None:
            continue
        rays = plan_rays(loaded[name][0], bvh, job, find_segments(bvh, job))
        _, tally = trace_rays(loaded[name], rays, np.empty((0, 2), np.int64))
        plans.append(describe_plan(query, tally))
        if tally[:, 2].sum() != row_count:
            agrees = False
            print(f"{query}: rays find {tally[:, 2].sum()} rows, the processor {row_count}")
    print("\n".join(["", *plans, ""]), flush=True)
    return agrees


def load(encoding: Encoding, name: str, bvh: Bvh) -> Any:
    """Make a scene and print its line; None where the encoding cannot."""
    try:
        build_scene(bvh, encoding)
    except DeviceError as error:
        print(f"| {name} | {error} |")
        return None
    before = forget_peak()
    start = time.perf_counter()
    scene = build_scene(bvh, encoding)
    seconds = time.perf_counter() - start
    memory = memory_of("VmHWM") - before
    print(
        f"| {name} | {len(bvh.offsets) - 1:,} | {scene.bucket_count:,} "
        f"| {scene.row_count / max(scene.bucket_count, 1):.1f} "
        f"| {len(scene.lane_x)} x {len(scene.lane_y)} | {sent_bytes(scene) / 1e6:.1f} "
        f"| {seconds:.3f} | {memory / 1e3:.0f} |",
        flush=True,
    )
    return load_scene(scene)


def forget_peak() -> int:
    """Give back what is free, and begin a new peak; return the kilobytes that are in use."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_of("VmRSS")


def memory_of(name: str) -> int:
    """Return a line of the process's status, in kilobytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def sent_bytes(scene: Scene) -> int:
    """Return what is sent to a device for a scene: its points, and what hits look up."""
    return scene.points.nbytes + scene.firsts.nbytes + scene.tuples.nbytes


def describe_plan(query: str, tally: NDArray[np.int64]) -> str:
    """Return a query's line; tally: of each ray what `ray_simulator.trace` tells."""
    hits, dropped, rows, adds = tally.T
    missed = np.count_nonzero(hits == 0) / max(len(hits), 1)
    return (
        f"| {query} | {rows.sum():,} | {len(hits):,} | {missed:.0%} | {hits.sum():,} "
        f"| {dropped.sum():,} | {describe_rays(hits)} | {describe_rays(rows)} | {adds.sum():,} |"
    )


def describe_rays(counts: NDArray[np.int64]) -> str:
    """Return the mean of the rays that have any, the 99th percentile, and the most."""
    some = counts[counts > 0]
    if not len(some):
        return "0"
    return f"{some.mean():.1f} / {np.percentile(some, 99):.0f} / {some.max()}"


if __name__ == "__main__":
    sys.exit(main())
