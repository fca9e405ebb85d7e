"""Programs of this folder, for some seconds each; docs/testing.md has the long runs.

reloads.py is a command alone: tests/engine/test_reload.py does its work within one process.

They are processes of their own, because they fork, and pytest's workers have several threads.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import system_calls

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="memory and descriptors are read from Linux's /proc"
)


def run(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / program), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if "not possible here" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("objects_commits.py", "--commits 20"),
        pytest.param("kills.py", "--kills 10 --steps 30", marks=pytest.mark.long),
        pytest.param("cluster_kills.py", "--kills 4 --stops 2", marks=pytest.mark.long),
        pytest.param("cluster_stars.py", "--queries 30", marks=pytest.mark.long),
        pytest.param("soak.py", "--commits 60 --seconds 2 --readers 2", marks=pytest.mark.long),
        pytest.param("kills.py", "--kills 6 --connections 4", marks=pytest.mark.long),
        pytest.param("power_loss.py", "--states 60 --steps 20", marks=pytest.mark.long),
        pytest.param("failing_calls.py", "--statements 20 --share 0.02", marks=pytest.mark.long),
        pytest.param("full_disk.py", "--statements 40", marks=pytest.mark.long),
        pytest.param(
            "shortages.py", "--most 2 --descriptors 12 --free 0 80000", marks=pytest.mark.long
        ),
    ],
    ids=lambda value: value.removesuffix(".py"),
)
def test_nothing_is_lost(program: str, options: str) -> None:
    done = run(program, *options.split())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_the_judge_of_power_loss_finds_syncs_that_are_left_out() -> None:
    done = run("power_loss.py", "--controls", "--steps", "10")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", found: ") == 4


def test_strace_may_say_more_than_a_pipe_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says a line for each thread that begins."""
    program = tmp_path / "strace"
    program.write_text(
        "#!/bin/sh\necho 'strace: Process 1 attached' >&2\nhead -c 300000 /dev/zero >&2\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(system_calls, "PATIENCE_S", 20)
    with system_calls.traced(SimpleNamespace(pid=1)):
        pass


def test_promises_name_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[a-z_/]+\.py)[^`]*`", page))
    assert len(named) > 10
    assert not [name for name in sorted(named) if not (root / name).exists()]
