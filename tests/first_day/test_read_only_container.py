"""A container whose file systems are read-only: no home, no temporary files, no cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

import raydb

# Everything that can be mounted read-only is, so that even root writes nowhere.
READ_ONLY = """
set -e
awk '$3 !~ /^(proc|sysfs|devpts|mqueue|cgroup.*)$/ {print $2}' /proc/self/mounts |
while read place; do
    mount -o remount,bind,ro "$place" 2>/dev/null || true
done
cd /
exec "$@"
"""

BEGIN = """
import os, pathlib, sys, tempfile
import raydb

for folder in (raydb.__path__[0], *sys.argv[1:], "/", "/tmp"):
    try:
        pathlib.Path(folder, "written").touch()
    except OSError:
        continue
    sys.exit(f"77 {folder} can be written to")

"""

STATEMENTS = """
con = raydb.connect()
con.execute("CREATE TABLE sale (day INTEGER, city VARCHAR, amount INTEGER)")
con.execute("INSERT INTO sale SELECT range % 50, 'city ' || range % 5, range FROM range(1000)")
assert con.execute("SELECT sum(amount) FROM sale WHERE day < 10").fetchone() == (95900,)
con.execute("CREATE BVH days ON sale (SCAN (day), GROUP BY (city), AGGREGATE (amount))")
assert con.execute("SELECT sum(amount) FROM sale WHERE day < 10").fetchone() == (95900,)
print("scans")
"""

COMPILED = """
from raydb.kernels.backends.cpu import warm
warm.wait()
assert con.execute("SELECT sum(amount) FROM sale WHERE day < 20").fetchone() == (193800,)
print("compiled scans")
"""

FILES = """
try:
    con.execute("SET memory_limit = '20MB'")
    con.execute("SELECT range FROM range(3000000) ORDER BY range % 7, range").fetchone()
except raydb.OperationalError as error:
    print(error)
reader = raydb.connect(sys.argv[1], read_only=True)
assert reader.execute("SELECT count(*) FROM t").fetchone() == (3,)
try:
    raydb.connect(sys.argv[1])
except raydb.OperationalError as error:
    print(error)
"""


def run(tmp_path, *parts: str, **variables: str) -> tuple[str, str]:
    """Run a program where nothing can be written; return its outputs."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare may not make a namespace here")
    home = tmp_path / "home"
    home.mkdir()
    with raydb.connect(tmp_path / "d.raydb") as con:
        con.execute("CREATE OR REPLACE TABLE t AS SELECT range AS a FROM range(3)")
    program = tmp_path / "program.py"
    program.write_text("".join(map(textwrap.dedent, (BEGIN, *parts))), encoding="utf-8")
    done = subprocess.run(
        [
            *("unshare", "-rm", "sh", "-c", READ_ONLY, "sh", sys.executable, str(program)),
            *(str(tmp_path / "d.raydb"), str(home)),
        ],
        env={**os.environ, "HOME": str(home), "TMPDIR": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stderr.startswith("77 "):
        pytest.skip(f"unshare: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_statements_run_where_nothing_can_be_written(tmp_path):
    out, _ = run(tmp_path, STATEMENTS, FILES)
    scans, files, locked = out.splitlines()
    assert scans == "scans"
    assert files == (
        "temporary files have no folder: none of the system's can be written to;"
        " SET temp_directory or the variable TMPDIR names one"
    )
    assert locked.endswith(
        "read-only file system; to read it, open it with read_only=True (raydb --readonly)"
    )


@pytest.mark.long
def test_loops_are_compiled_in_memory_and_one_line_says_so(tmp_path):
    out, log = run(tmp_path, STATEMENTS, COMPILED, RAYDB_CACHE_DIR=str(tmp_path / "absent"))
    assert out == "scans\ncompiled scans\n"
    assert len(log.splitlines()) == 1, log
    assert "compiled loops cannot be kept" in log
