"""The house is in order: packaging map, layers, types, sizes, names, dependencies.

The tests read the checkout that they lie in, and lay out its packages as they are installed:
neither mypy nor import-linter follows the map from `raydb.sql` to `sql/`.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Sequence

CHECKOUT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]

# Folders at the root that hold no part of the package; the last two are left by a build.
NOT_PACKAGES = {"docs", "tests", "build", "dist"}
# All that the root holds beside names with a dot in front; the last ones are left by a build and by
# the benchmark.
ROOT_FILES = {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml"}
ROOT_FOLDERS = {"docs", "engine", "kernels", "planner", "sql", "ssb", "storage", "tests"}
LEFT_AT_ROOT = {"build", "dist", "raydb.egg-info", "ssb-data"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
MAX_LINES_A_FILE = 500
MAX_LINES_A_FUNCTION = 70
MAX_ARGUMENTS = 8
MAX_FILES_A_FOLDER = 15

# Compiled loops that are slower, or compile longer, as several functions or with bundled arrays.
HOT_LOOPS = {
    "kernels/backends/cuda/list_scan.py": {"score_rows"},
    "kernels/backends/rt/buckets.py": {"fill_buckets"},
}
# What the bundle of the page's libraries is made with.
BUILD_FILES = {"build.mjs", "package.json", "package-lock.json"}
# One rule, or one encoding, a file.
LARGE_FOLDERS = {"planner/rules", "storage/flat/encodings"}
ROOT_PACKAGE = Path("engine/_root")


class Source(NamedTuple):
    """What the tests ask of a file: all of it is read at once, and its tree is not kept."""

    lines: int
    functions: list[tuple[str, int, int]]
    "(name, lines, arguments) of each function, methods too"
    imported: set[str]
    "the top-level names that it imports"
    imported_at_once: set[str]
    "those of them that it imports outside of functions"
    names_at_once: set[tuple[str, str]]
    "(module, name) of each name that it imports when it is imported itself"


@functools.cache
def read_source(file: Path) -> Source:
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    return Source(
        text.count("\n"),
        [
            size_of(node)
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ],
        packages_in(nodes, file),
        packages_in(tree.body, file),
        names_imported_at_once(tree),
    )


def size_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, int, int]:
    assert node.end_lineno is not None
    given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    arguments = [each for each in given if each.arg not in {"self", "cls"}]
    return node.name, node.end_lineno - node.lineno + 1, len(arguments)


def packages_in(nodes: Sequence[ast.AST], file: Path) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            names.add(str(node.module).partition(".")[0])
    return names


def names_imported_at_once(tree: ast.Module) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    waiting: list[ast.stmt] = list(tree.body)
    for node in waiting:
        if isinstance(node, ast.ImportFrom):
            found |= {(str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            waiting += [*node.body, *node.orelse]
        elif isinstance(node, ast.Try | ast.With):
            waiting += node.body
    return found


@functools.cache
def package_folders() -> dict[str, Path]:
    """Return the folders with Python files by the name of the package that each one is."""
    found = {
        "raydb": ROOT_PACKAGE,
        "dbt.adapters.raydb": Path("engine/dbt/adapter"),
        "dbt.include.raydb": Path("engine/dbt/include"),
    }
    for top in sorted(CHECKOUT.iterdir()):
        if not top.is_dir() or top.name in NOT_PACKAGES or top.name.startswith("."):
            continue
        for file in sorted(top.rglob("*.py")):
            folder = file.parent.relative_to(CHECKOUT)
            if folder not in found.values():
                within = folder.parts[2:] if folder.is_relative_to(ROOT_PACKAGE) else folder.parts
                found[f"raydb.{'.'.join(within)}"] = folder
    return found


def source_files() -> list[Path]:
    return sorted(
        file for folder in package_folders().values() for file in (CHECKOUT / folder).glob("*.py")
    )


def test_raydb_is_the_installed_package() -> None:
    text = importlib.metadata.distribution("raydb").read_text("direct_url.json")
    if text and json.loads(text).get("dir_info", {}).get("editable"):
        pytest.skip("the install is editable")
    assert Path(raydb.__file__).is_relative_to(sysconfig.get_path("purelib"))


def test_the_root_holds_what_belongs_there() -> None:
    if (CHECKOUT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files"], cwd=CHECKOUT, check=True, capture_output=True, text=True
        )
        found = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    else:
        found = {each.name for each in CHECKOUT.iterdir()} - LEFT_AT_ROOT
    assert {name for name in found if not name.startswith(".")} == ROOT_FILES | ROOT_FOLDERS


# Packaging


def test_pyproject_maps_every_package() -> None:
    folders = {name: folder.as_posix() for name, folder in package_folders().items()}
    assert SETUPTOOLS["package-dir"] == folders
    assert sorted(SETUPTOOLS["packages"]) == sorted(folders)


def test_every_package_has_an_init() -> None:
    missing = [f for f in package_folders().values() if not (CHECKOUT / f / "__init__.py").exists()]
    assert not missing


def test_package_data_exists() -> None:
    folders = package_folders()
    for package, patterns in SETUPTOOLS["package-data"].items():
        for pattern in patterns:
            assert list((CHECKOUT / folders[package]).glob(pattern)), (package, pattern)


def test_every_data_file_is_packaged() -> None:
    packaged = {
        file
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for file in (CHECKOUT / package_folders()[package]).glob(pattern)
    }
    data = {
        file
        for folder in package_folders().values()
        for file in (CHECKOUT / folder).rglob("*")
        if file.suffix != ".py" and file.name not in BUILD_FILES
        if not {"__pycache__", "node_modules"} & {*file.parts} and file.is_file()
    }
    assert data == packaged


def test_versions_agree() -> None:
    assert raydb.__version__ == PROJECT["project"]["version"]
    assert f"## {raydb.__version__}" in (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")


# Layers and types


@pytest.fixture(scope="module")
def installed_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which `raydb` lies as it is installed, made of links to the checkout."""
    tree = tmp_path_factory.mktemp("installed")
    for name, folder in package_folders().items():
        package = tree.joinpath(*name.split("."))
        package.mkdir(parents=True, exist_ok=True)
        for file in (CHECKOUT / folder).iterdir():
            if file.is_file():
                (package / file.name).symlink_to(file)
    return tree


def run_python(folder: Path, *arguments: str) -> str:
    """Run Python in a folder that is on its path; return its output, or fail with it."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
    return done.stdout


@pytest.mark.long
def test_types_are_strict(installed_tree: Path) -> None:
    configuration = str(CHECKOUT / "pyproject.toml")
    cache = str(installed_tree / ".mypy_cache")
    run_python(
        installed_tree,
        *("-m", "mypy", "--config-file", configuration, "--cache-dir", cache, "-p", "raydb"),
    )


def test_imports_point_down(installed_tree: Path) -> None:
    configuration = str(CHECKOUT / "pyproject.toml")
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    run_python(installed_tree, "-c", program, "--config", configuration, "--no-cache")


def test_importing_raydb_loads_no_engine(tmp_path: Path) -> None:
    program = (
        "import sys, raydb\n"
        "heavy = {'cupy', 'duckdb', 'numba', 'optix', 'pandas', 'pyarrow', 'rich', 'sqlglot'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    assert run_python(tmp_path, "-c", program).strip() == ""


# Import cycles


def module_files() -> dict[str, Path]:
    """Return the files of the package by the names of their modules."""
    return {
        (name if file.stem == "__init__" else f"{name}.{file.stem}"): file
        for name, folder in package_folders().items()
        for file in sorted((CHECKOUT / folder).glob("*.py"))
    }


@pytest.mark.long
def test_no_two_files_import_each_other() -> None:
    """No circle of imports at run time, however long: every module may be the first.

    Importing a module imports the packages that it lies in, but for those around the importer.
    """
    files = module_files()
    graph: dict[str, set[str]] = {}
    for name, file in files.items():
        names = read_source(file).names_at_once
        imported = {full if (full := f"{a}.{b}") in files else a for a, b in names} & files.keys()
        packages = {".".join(each.split(".")[:n]) for each in imported for n in range(2, 9)}
        around = {".".join(name.split(".")[:n]) for n in range(1, 9)}
        graph[name] = (imported | (packages & files.keys())) - around
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]), pytrace=False)


# Sizes and names


def test_files_and_functions_are_small() -> None:
    found = {file.relative_to(CHECKOUT).as_posix(): read_source(file) for file in source_files()}
    assert not [name for name, source in found.items() if source.lines > MAX_LINES_A_FILE]
    large = {
        name: functions
        for name, source in found.items()
        if (
            functions := {
                function
                for function, lines, arguments in source.functions
                if lines > MAX_LINES_A_FUNCTION or arguments > MAX_ARGUMENTS
            }
        )
    }
    assert large == HOT_LOOPS, "a hot loop that is small now leaves the list"


def test_folders_are_small() -> None:
    files = {
        folder: len(list((CHECKOUT / folder).glob("*.py"))) for folder in package_folders().values()
    }
    large = {folder.as_posix() for folder, count in files.items() if count - 1 > MAX_FILES_A_FOLDER}
    assert large == LARGE_FOLDERS


def test_names_say_something() -> None:
    files = source_files() + sorted((CHECKOUT / "tests").rglob("*.py"))
    vague = [
        file.relative_to(CHECKOUT)
        for file in files
        if FORBIDDEN_NAMES & {file.stem, *file.relative_to(CHECKOUT).parts}
    ]
    assert not vague


def test_readme_commands_exist() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|bash|shell)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"^\$ ([^\"]*)", text, re.MULTILINE)
    commands = {
        part.split()[0]
        for line in lines
        for part in re.split(r"&&|;|\|", line.partition("#")[0])
        if part.strip()
    }
    provided = {*PROJECT["project"]["scripts"], "pip", "pytest", ".ci/run"}
    assert commands <= provided
    assert {"pip", "raydb-ssb", "pytest"} <= commands


# Dependencies

# Imported inside the function that needs them, by users who have them.
OPTIONAL = {
    "agate",
    "alembic",
    "boto3",
    "botocore",
    "cloudpickle",
    "dbt",
    "dbt_common",
    "cuda",
    "cupy",
    "dask",
    "distributed",
    "duckdb",
    "ibis",
    "obstore",
    "openpyxl",
    "optix",
    "pandas",
    "polars",
    "snowballstemmer",
    "sqlalchemy",
    "starlette",
    "torch",
    "torch_geometric",
    "uvicorn",
}

# Imported by the one whom they serve, and by nobody else.
PLUGINS = {
    CHECKOUT / "engine/cluster/dask_plugin.py",
    *(CHECKOUT / f"engine/gnn/{name}.py" for name in ("layers", "training", "worker")),
    CHECKOUT / "engine/graphs/pyg.py",
    *(CHECKOUT / "engine/ui").glob("*.py"),
    CHECKOUT / "engine/_root/ibis/backend.py",
    CHECKOUT / "engine/_root/ibis/compiler.py",
    *(CHECKOUT / "engine/_root/sqlalchemy").glob("*.py"),
    *(CHECKOUT / "engine/dbt/adapter").glob("*.py"),
    CHECKOUT / "kernels/backends/rt/optix_tracer.py",
}


def imported_packages(files: list[Path], at_once: bool = False) -> set[str]:
    """Return the top-level names that files import, but for raydb and the standard library.

    `at_once` leaves out what is imported inside of functions.
    """
    names: set[str] = set()
    for source in map(read_source, files):
        names |= source.imported_at_once if at_once else source.imported
    return names - set(sys.stdlib_module_names) - {"raydb"}


def requirement_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}


def test_dependencies_are_those_imported() -> None:
    declared = requirement_names(PROJECT["project"]["dependencies"])
    # zoneinfo finds tzdata by itself.
    assert (imported_packages(source_files()) - OPTIONAL) | {"tzdata"} == declared
    others = [file for file in source_files() if file not in PLUGINS]
    assert not imported_packages(others, at_once=True) & OPTIONAL


def test_test_dependencies_are_those_imported() -> None:
    # dbt's tests need an environment of their own.
    files = [f for f in sorted((CHECKOUT / "tests").rglob("*.py")) if f.parent.name != "dbt"]
    requirements = PROJECT["project"]["optional-dependencies"]["test"]
    # An extra of our own has the name of what it brings.
    declared = requirement_names([re.sub(r"raydb\[(\w+)\]", r"\1", each) for each in requirements])
    runtime = requirement_names(PROJECT["project"]["dependencies"])
    programs = {"flask-cors", "import-linter", "ipykernel", "mypy", "pytest-xdist", "ruff"}
    programs |= {"tpchgen-cli", "cluster", "text", "ui"}  # Their tests import nothing of them.
    stubs = {"types-openpyxl"}
    # What is for devices, a cluster and torch imports what a machine with them has.
    modules = {name for file in files for name in (file.stem, file.parent.name)}
    modules |= {"cupy", "dask", "distributed", "torch", "torch_geometric"}
    modules |= {"axe_playwright_python", "playwright"}  # For those who have a browser.
    imported = {"scikit-learn" if name == "sklearn" else name for name in imported_packages(files)}
    assert imported - runtime - modules == declared - programs - stubs
