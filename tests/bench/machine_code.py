"""The machine code of the CUDA kernels of SSB, read without a device.

    python tests/bench/machine_code.py [--sf 0.1] [--architectures 80 90 120] [--json results.json]

Each of the 13 queries is asked with the benchmark's BVHs and as a scan of whole tables; what the
kernel of its shape becomes is compiled by numba-cuda to PTX, assembled by ptxas and shown by
cuobjdump (pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump, or a CUDA
toolkit on the PATH). For each kernel:

    registers   of a thread, and what of them was spilled to memory, in bytes
    shared      bytes of a block in this job
    threads     on a multiprocessor at once, as registers, shared memory and our grids allow
    code        instructions of the kernel, and of its loop over tiles
    loads       the most that are begun before one of them is used, and their bytes
    in flight   these bytes of all threads of a multiprocessor
    atomics     ATOMS: native in shared memory; CAS: loops that compare and swap; RED: in memory

What a kernel takes on a device is not told by any of this: bench_gpu.py measures it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

import raydb
from raydb.kernels.backends.cuda import entry
from raydb.kernels.backends.registry import open_backend
from raydb.planner.stars import table_scan
from raydb.ssb import run, workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.kernels.backends.backend import FusedJob
    from raydb.kernels.bvh.bvh import Bvh

QUIET = Progress(Console(file=io.StringIO()))

PACKAGES = "nvidia-cuda-nvcc nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump"

# Threads, bytes of shared memory and 32-bit registers of a multiprocessor (CUDA's tables of compute
# capabilities).
LIMITS = {
    "80": (2048, 164 * 1024, 65_536),
    "86": (1536, 100 * 1024, 65_536),
    "89": (1536, 100 * 1024, 65_536),
    "90": (2048, 228 * 1024, 65_536),
    "100": (2048, 228 * 1024, 65_536),
    "120": (1536, 100 * 1024, 65_536),
}

INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\d+ )?(.*?);")
REGISTER = re.compile(r"\bR(\d+)\b")
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's figures; loads: the most in flight of a thread, and their bytes."""

    registers: int
    spilled_bytes: int
    instructions: int
    loop_instructions: int
    loads: int
    load_bytes: int
    atoms: int
    compare_and_swap: int
    red: int


def main() -> int:
    parser = argparse.ArgumentParser(description="Read the machine code of the CUDA kernels.")
    parser.add_argument("--sf", type=float, default=0.1)
    parser.add_argument("--architectures", nargs="+", default=["90"], choices=list(LIMITS))
    parser.add_argument("--json", type=Path, help="where the results are written")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name, jobs in ask(options.sf):
        for contender, (bvh, job) in jobs.items():
            for architecture in options.architectures:
                figures = examine(bvh, job, architecture)
                results.setdefault(architecture, {})[f"{name} {contender}"] = figures
    for architecture, found in results.items():
        show(architecture, found)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


def ask(scale: float) -> Iterator[tuple[str, dict[str, tuple[Bvh, FusedJob]]]]:
    """Yield each query with the jobs that a device would get of it; the processor answers."""
    # A job is noted where it would be prepared, on a machine that need not have a device.
    vars(entry)["cuda_lacks"] = lambda backend: iter(())
    vars(table_scan)["MIN_ROWS"] = 0
    device: Any = open_backend("cuda")
    cpu = open_backend("cpu")
    seen: list[tuple[Bvh, FusedJob]] = []

    def prepare_noted(bvh: Bvh, job: FusedJob) -> Any:
        seen.append((bvh, job))
        return cpu.prepare(bvh, job)

    device.prepare = prepare_noted
    indexed, plain = raydb.connect(), raydb.connect()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), DataSet(scale), QUIET)
        for connection in (indexed, plain):
            run.load(connection, Path(folder), QUIET)
    run.build_bvhs(indexed, QUIET)
    for name in workload.QUERIES:
        jobs = {}
        for contender, connection in (("bvh", indexed), ("scan", plain)):
            connection.execute("SET backend = 'cuda'")
            connection.execute(workload.query(name, "star")).fetchall()
            jobs[contender] = seen[-1]
        yield name, jobs


def examine(bvh: Bvh, job: FusedJob, architecture: str) -> dict[str, Any]:
    """Return the figures of the kernel of a job."""
    from raydb.kernels.backends.cuda.compiled import BLOCK_THREADS
    from raydb.kernels.backends.cuda.cuda_backend import WAVE_BLOCKS, plan_launch
    from raydb.kernels.backends.cuda.work import find_work
    from raydb.kernels.backends.device_totals import plan_totals

    work = find_work(bvh, job)
    functions = [(each.function, each.measure) for each in job.accumulators]
    totals = plan_totals(functions, bvh.measures, work.row_count)
    inputs = [each.array(bvh.measures) for each in totals.inputs]
    plan = plan_launch(work, inputs, totals.totals, job.group_count)
    codes = tuple(str(each.codes.dtype) for each in work.maps)
    kinds = tuple("int8" if str(each.dtype) == "bool" else str(each.dtype) for each in inputs)
    kernel = compiled(plan.shape, codes, kinds, architecture)
    threads, shared, registers = LIMITS[architecture]
    blocks = min(
        WAVE_BLOCKS,
        threads // BLOCK_THREADS,
        registers // (BLOCK_THREADS * -(-kernel.registers // 8) * 8),
        shared // (plan.shared_bytes + 1024),
    )
    return {
        "where": plan.shape.where,
        "rows": work.row_count,
        "runs": len(work.starts),
        **asdict(kernel),
        "shared_bytes": plan.shared_bytes,
        "threads": blocks * BLOCK_THREADS,
        "flight_bytes": kernel.load_bytes * blocks * BLOCK_THREADS,
    }


@cache
def compiled(
    shape: Any, codes: tuple[str, ...], inputs: tuple[str, ...], architecture: str
) -> Kernel:
    """Compile a shape for columns of some types, and read what became of it."""
    from numba import cuda, types
    from numba.cuda import dispatcher

    from raydb.kernels.backends.cuda.compiled import MAX_REGISTERS, kernel_function

    capability = int(architecture[:-1]), int(architecture[-1])
    # What a call in a kernel is compiled for; without a device there is none to ask.
    vars(dispatcher)["get_current_device"] = lambda: SimpleNamespace(compute_capability=capability)

    def array(kind: str) -> Any:
        return types.Array(getattr(types, kind), 1, "C")

    arguments = [array("int32"), *[types.int64] * 5]
    for lookup, kind in zip(shape.lookups, codes, strict=True):
        arguments += [array(kind), *[types.int64] * ((lookup.test != "none") + lookup.adds)]
    arguments += [array(kind) for kind in inputs] + [array("int64")]
    arguments += [array("float64")] * bool(shape.float_count)
    text, _ = cuda.compile_ptx(kernel_function(shape), types.void(*arguments), cc=capability)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text, encoding="utf-8")
        options = ["-v", f"-maxrregcount={MAX_REGISTERS}", f"-arch=sm_{architecture}"]
        told = call("ptxas", *options, str(source), "-o", str(made)).stderr
        return read(told, call("cuobjdump", "-sass", str(made)).stdout)


def call(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of the CUDA toolkit's wheels, which fit numba-cuda's compiler, or of the PATH."""
    folders = [str(Path(folder) / "nvidia" / "cu13" / "bin") for folder in sys.path]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    found = shutil.which(tool, path=path)
    if found is None:
        raise SystemExit(f"{tool} is not installed (pip install {PACKAGES})")
    # One of them calls another.
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        [found, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{tool}: {done.stderr or done.stdout}")
    return done


def read(told: str, code: str) -> Kernel:
    """Read what the assembler told, and the machine code."""
    found = [INSTRUCTION.match(line) for line in code.splitlines()]
    lines = [(int(m[1], 16), m[2]) for m in found if m and not m[2].startswith("NOP")]
    loops = [
        (int(to[1], 16), place)
        for place, text in lines
        if "BRA" in text and (to := re.search(r"0x([0-9a-f]+)", text)) and int(to[1], 16) < place
    ]
    low, high = max(loops, key=lambda loop: loop[1] - loop[0])
    loads, size_bytes = most_in_flight([text for _, text in lines])
    names = [text.split()[0] for _, text in lines]
    registers = re.search(r"Used (\d+) registers", told)
    spilled = re.search(r"(\d+) bytes spill stores", told)
    assert registers is not None
    assert spilled is not None
    swaps = sum(name.startswith(("ATOMS.CAS", "ATOM.CAS", "ATOMG.CAS")) for name in names)
    return Kernel(
        int(registers[1]),
        int(spilled[1]),
        len(lines),
        sum(low <= place <= high for place, _ in lines),
        loads,
        size_bytes,
        sum(name.startswith("ATOMS") and "CAS" not in name for name in names),
        swaps,
        sum(name.startswith("RED") and not name.startswith("REDUX") for name in names),
    )


def most_in_flight(code: list[str]) -> tuple[int, int]:
    """Return how many loads from memory are begun before one is used, and their bytes, at most."""
    best = count, size_bytes = 0, 0
    pending: set[int] = set()
    for text in code:
        name, _, operands = text.partition(" ")
        registers = [int(number) for number in REGISTER.findall(operands)]
        if pending.intersection(registers):
            best = max(best, (count, size_bytes), key=lambda found: found[1])
            pending, count, size_bytes = set(), 0, 0
        if name.startswith("LDG"):
            width = next((WIDTHS[part] for part in name.split(".") if part in WIDTHS), 4)
            pending.update(range(registers[0], registers[0] + -(-width // 4)))
            count, size_bytes = count + 1, size_bytes + width
    return max(best, (count, size_bytes), key=lambda found: found[1])


def show(architecture: str, found: dict[str, dict[str, Any]]) -> None:
    """Print a table."""
    table = Table(title=f"sm_{architecture}")
    for name in ("query", "where", "registers", "spilled", "shared", "threads", "code", "loop"):
        table.add_column(name)
    for name in ("loads", "in flight", "ATOMS", "CAS", "RED"):
        table.add_column(name)
    for name, each in found.items():
        table.add_row(
            name,
            each["where"],
            *(str(each[key]) for key in ("registers", "spilled_bytes", "shared_bytes", "threads")),
            *(str(each[key]) for key in ("instructions", "loop_instructions")),
            f"{each['loads']} ({each['load_bytes']} B)",
            f"{each['flight_bytes'] / 1024:.0f} KiB",
            *(str(each[key]) for key in ("atoms", "compare_and_swap", "red")),
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    sys.exit(main())
