"""The memory that an engine needs at most, each in a process of its own, and RayDB's cold start.

    python -m raydb.ssb.footprint FOLDER raydb
    {"loaded_bytes": 612000000, "peak_bytes": 1100000000, "build_peak_bytes": 790000000}

A process's peak is for its whole life, so one that has asked other engines cannot tell.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

import raydb
from raydb.ssb import rivals
from raydb.ssb.flat import FlatTable
from raydb.ssb.machine import forget_peak, median_ms, resident_bytes
from raydb.ssb.progress import Progress
from raydb.ssb.run import build_bvhs, load

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLD_RUNS: Final = 5

# The command `raydb` of this interpreter, whatever PATH says.
COMMAND = (sys.executable, "-m", "raydb")


def measure_memory(folder: Path, name: str) -> dict[str, int]:
    """Return the peak of a process that loads 'raydb' or a rival, and what it then holds."""
    command = [sys.executable, "-m", "raydb.ssb.footprint", str(folder), name]
    return dict(json.loads(_run(command, f"the memory of {name}")))


def cold_start_ms(folder: Path, text: str, progress: Progress) -> float:
    """Return the median wall time of `raydb DATABASE -c TEXT`, a new process each, in ms.

    The database is written for it and removed. Raises OperationalError where the command fails.
    """
    with tempfile.TemporaryDirectory(prefix="raydb-ssb-") as temporary:
        database = Path(temporary) / "ssb.raydb"
        with contextlib.closing(raydb.connect(database)) as connection:
            load(connection, folder, progress)
            build_bvhs(connection, progress)

        command = [*COMMAND, str(database), "-c", text]
        return median_ms(lambda: _run(command, "the cold start"), _COLD_RUNS, float("inf"))


def _run(command: list[str], what: str) -> str:
    """Return what a command prints; raises OperationalError, naming what is measured."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        raise raydb.OperationalError(f"cannot measure {what}: {last}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Load one engine and print its memory as JSON."""
    parser = argparse.ArgumentParser(prog="python -m raydb.ssb.footprint")
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", choices=("raydb", *rivals.NAMES))
    options = parser.parse_args(arguments)
    if options.name == "raydb":
        progress = Progress(Console(stderr=True))
        with contextlib.closing(raydb.connect()) as connection:
            load(connection, options.folder, progress)
            found = _memory()
            forget_peak()
            build_bvhs(connection, progress)
            found["build_peak_bytes"] = resident_bytes(peak=True)
            found["peak_bytes"] = max(found["peak_bytes"], found["build_peak_bytes"])
    else:
        rival = rivals.make(options.name, "star")
        rival.load(FlatTable(options.folder), lambda: None)
        found = _memory()
        rival.close()
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


def _memory() -> dict[str, int]:
    return {
        "loaded_bytes": resident_bytes(peak=False),
        "peak_bytes": resident_bytes(peak=True),
    }


if __name__ == "__main__":
    sys.exit(main())
