"""What `raydb compile` has compiled is all that the benchmark needs.

RAYDB_COMPILE=1 pytest tests/ssb/test_compiled_ahead.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(
    "RAYDB_COMPILE" not in os.environ,
    reason="every loop is compiled, in 3 minutes: RAYDB_COMPILE=1",
)
def test_the_benchmark_compiles_nothing_more(tmp_path: Path) -> None:
    folder = tmp_path / "loops"
    environment = os.environ | {"RAYDB_CACHE_DIR": str(folder)}

    def run(*arguments: str) -> set[str]:
        """Run a program; return the loops that are kept afterwards."""
        command = [sys.executable, "-m", *arguments]
        subprocess.run(command, check=True, cwd=tmp_path, env=environment, capture_output=True)
        return {path.name for path in folder.rglob("*.nbc")}

    compiled = run("raydb", "compile")
    assert compiled
    options = ("--sf", "0.01", "--repeat", "1", "--check", "none", "--beside", "none")
    assert run("raydb.ssb", "run", *options) == compiled
