"""What a new process imports, and how the command ends it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

# What no process needs that asks one question; each takes from 5 ms to half a second.
NEVER = (
    *("numba", "llvmlite", "pandas", "polars", "psutil", "secrets"),
    *("pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "numpy.random", "prompt_toolkit"),
    *("email", "importlib.metadata._meta"),
    *("sqlite3", "hashlib", "subprocess", "tempfile"),
)
# What of RayDB no query needs that is not about it.
FOR_FEW = (
    *("raydb.engine.operators.window.window", "raydb.engine.shell.commands"),
    *("raydb.engine.statements.definitions", "raydb.engine.table_functions.registered"),
    *("raydb.kernels.motif.graph", "raydb.kernels.vector.ivf", "raydb.planner.advisor.advise"),
    *("raydb.planner.decorrelate.pull_up", "raydb.planner.expressions.functions.text"),
    *("raydb.sql.bind.statements.insert", "raydb.storage.flat.metadata.drawing"),
    *("raydb.storage.flat.write", "raydb.storage.formats.known"),
)
# The modules of RayDB that a question needs, and some more: each takes 0.3 ms.
MOST_MODULES = 410

SCHEMA = """
    CREATE TABLE d (id INTEGER PRIMARY KEY, year INTEGER);
    CREATE TABLE f (id INTEGER REFERENCES d (id), price INTEGER);
    INSERT INTO d VALUES (1, 1993), (2, 1994);
    INSERT INTO f VALUES (1, 10), (1, 20), (2, 40);
    CREATE BVH by_year ON f (SCAN (year), GROUP BY (year), AGGREGATE (price))
"""
QUERY = "SELECT year, sum(price) FROM f, d WHERE f.id = d.id GROUP BY year ORDER BY year"


def imported(statements: str) -> set[str]:
    """Return the modules that a process has imported after some statements of Python."""
    code = f"import json, sys\n{statements}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_loads_no_engine() -> None:
    modules = imported("import raydb")
    assert not modules & {"numpy", "pyarrow", "sqlglot", "rich", *NEVER}
    assert {name for name in modules if name.startswith("raydb")} == {
        *("raydb", "raydb.dbapi", "raydb.errors")
    }


ARROW = {"numpy.ma", "pyarrow.compute"}
FOR_TABLES = {*ARROW, "raydb.storage.flat.encodings.known"}
ONE_GROUP = "SELECT sum(price) FROM f, d WHERE f.id = d.id AND year = 1993"


@pytest.mark.parametrize(
    ("statement", "more"), [("SELECT 1", FOR_TABLES), (ONE_GROUP, ARROW), (QUERY, set())]
)
def test_command_loads_what_it_needs(tmp_path: Path, statement: str, more: set[str]) -> None:
    database = tmp_path / "shop.raydb"
    with raydb.connect(database) as con:
        con.execute(SCHEMA)
    code = f"""
from raydb.engine.shell.process import main
from raydb.kernels.backends.cpu import warm
warm.DELAY_SECONDS = 60  # a busy machine takes longer than half a second
sys.argv[1:] = [{str(database)!r}, "--json", "-c", {statement!r}]
assert main() == 0
"""
    modules = imported(code)
    assert modules & {"rich", *NEVER, *FOR_FEW, *more} == set()
    assert sum(name.partition(".")[0] == "raydb" for name in modules) < MOST_MODULES


def test_objects_do_not_count_while_the_command_imports(tmp_path: Path) -> None:
    assert "raydb.sql" not in imported("from raydb.engine.shell.process import main")
    code = """
import gc
collected = []
gc.callbacks.append(lambda phase, _: collected.append(phase))
from raydb.engine.shell.process import main
sys.argv[1:] = ["--json", "-c", "SELECT 1"]
collected.clear()
assert main() == 0
assert len(collected) < 10, len(collected)
"""
    assert "raydb.sql" in imported(code)


def test_reading_text_files_loads_no_compiled_loops(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    rows = "".join(f"{n},1992-0{n % 9 + 1}-01 00:0{n % 7}:00,0.5,a\n" for n in range(100_000))
    path.write_text(f"id,at,part,name\n{rows}")
    modules = imported(f"""
import raydb, time
from raydb.kernels.backends.cpu import warm
warm.DELAY_SECONDS = 0
con = raydb.connect()
for _ in range(3):
    assert con.execute("SELECT sum(id), sum(part) FROM {str(path)!r}").fetchall()
time.sleep(0.1)
""")
    assert "numba" not in modules


def test_module_is_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "raydb", "--csv", "-c"]
    done = subprocess.run([*command, "SELECT 1 AS one"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["one", "1"]
    failed = subprocess.run([*command, "SELEC 1"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: ")
