"""The benchmark of the devices runs from end to end in the simulator, and says why not without."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench" / "bench_gpu.py"


def run_bench(tmp_path, *arguments, simulated):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1" if simulated else "0"}
    results = tmp_path / "results.json"
    done = subprocess.run(
        [sys.executable, str(BENCH), "--json", str(results), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, json.loads(results.read_text())


@pytest.mark.long
def test_it_runs_in_the_simulator(tmp_path):
    arguments = ["--sf", "0.01", "--queries", "q2.3"]
    done, results = run_bench(tmp_path, *arguments, simulated=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert results["simulated"] is True
    queries = results["scale_factors"]["0.01"]["queries"]
    assert list(queries) == ["q2.3"]
    assert set(queries["q2.3"]) >= {"cpu", "bvh", "scan"}


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a device")
def test_without_a_device_nothing_is_measured(tmp_path):
    done, results = run_bench(tmp_path, simulated=False)
    assert done.returncode == 2
    assert done.stdout.startswith("Nothing was measured: cuda: ")
    assert results["device"] is None
    assert results["lacks"]
