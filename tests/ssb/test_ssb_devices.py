"""The 13 queries at scale factor 0.01 have the CPU's answers on CUDA cores and by rays.

CUDA runs in numba's simulator, in a process of its own; rays are traced by the ray simulator.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ray_simulator import RaySimulator, forget_backends, simulate_rays

import raydb
from raydb.ssb import run, workload
from raydb.ssb.generate import DataSet, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.ssb.progress import Progress

# The product of price and discount has 94 million values, and float32 tells 16 million apart.
TOO_WIDE_FOR_X = {"q1.1", "q1.2", "q1.3"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Path:
    made = tmp_path_factory.mktemp("small") / "data"
    prepare(made, DataSet(0.01), progress)
    return made


@pytest.fixture(scope="module")
def con(folder: Path, progress: Progress) -> Iterator[Any]:
    tracer = RaySimulator()
    with pytest.MonkeyPatch.context() as patch:
        simulate_rays(patch, lambda: (tracer,))
        forget_backends()
        connection = raydb.connect()
        run.load(connection, folder, progress)
        run.build_bvhs(connection, progress)
        yield connection
        connection.close()
    forget_backends()


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["lanes", "paper"])
@pytest.mark.parametrize("name", workload.QUERIES)
def test_rays(con: Any, name: str, encoding: str) -> None:
    text = workload.query(name, "star")
    con.execute("SET backend = 'cpu'")
    expected = con.execute(text).fetchall()
    con.execute("SET backend = 'rt'")
    con.execute(f"SET rt_encoding = '{encoding}'")
    cursor = con.execute(text)
    assert cursor.fetchall() == expected
    assert bool(cursor.messages) == (encoding == "paper" and name in TOO_WIDE_FOR_X)
    backend = run.explain(con, text).backend
    assert backend is not None
    assert backend.startswith("rt-paper, else " if encoding == "paper" else "rt, else ")


@pytest.mark.long
def test_cuda_in_the_simulator(folder: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"),
            str(Path(__file__).parent / "ssb_on_cuda.py"),
        ],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "RAYDB_SSB_FOLDER": str(folder)},
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
