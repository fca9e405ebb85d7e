"""What is imported when it is first used: modules of packages, names of packages, tables."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from raydb.late import LateTable, import_on_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


# Those that give names of their modules.
PACKAGES = (
    "raydb.sql",
    "raydb.storage.flat",
    "raydb.storage.flat.encodings",
    "raydb.storage.formats",
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a package of two modules, `asked` and `failing`, whose name `answer` has a place."""
    folder = tmp_path / "late_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    text = "answer = 42\ndef change(to):\n    global answer\n    answer = to\n"
    (folder / "asked.py").write_text(text)
    (folder / "failing.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("late_package", "late_package.asked", "late_package.failing"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    made = import_module("late_package")
    import_on_use("late_package", {"asked": "answer"})
    return made


def test_a_module_is_imported_when_a_name_of_it_is_asked_for(package: ModuleType) -> None:
    names: dict[str, Any] = {}
    exec("from late_package import asked", names)
    assert "late_package.asked" not in sys.modules
    assert names["asked"].answer == 42
    assert "late_package.asked" in sys.modules
    assert package.asked is sys.modules["late_package.asked"]


def test_a_name_that_is_set_is_set_in_the_module(package: ModuleType) -> None:
    package.asked.answer = 43
    assert sys.modules["late_package.asked"].answer == 43
    del package.asked.answer
    assert not hasattr(sys.modules["late_package.asked"], "answer")


def test_names_are_those_of_the_module_for_ever(package: ModuleType) -> None:
    late = package.asked
    late.change(43)
    assert late.answer == sys.modules["late_package.asked"].answer == 43
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = late.other


def test_names_of_a_package_are_imported_once(package: ModuleType) -> None:
    assert package.answer == 42
    package.asked.change(43)
    assert package.answer == 42


def test_what_is_not_there_is_no_module(package: ModuleType) -> None:
    assert not hasattr(package, "other")
    assert not hasattr(package, "__path_hooks__")
    with pytest.raises(ImportError, match="cannot import name 'other'"):
        exec("from late_package import other", {})


def test_an_import_that_fails_is_tried_again(package: ModuleType) -> None:
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            _ = package.failing.answer


def test_a_table_is_filled_step_by_step() -> None:
    table = LateTable[str, int]()
    steps: list[str] = []

    def few() -> None:
        steps.append("few")
        table["one"] = 1

    def all_of_them() -> None:
        steps.append("all")
        table["two"] = 2

    table.fill = (few, all_of_them)
    table["none"] = 0
    assert (table["none"], steps) == (0, [])
    assert (table["one"], steps) == (1, ["few"])
    assert "one" in table
    assert table.get("two") == 2
    assert steps == ["few", "few", "all"]
    assert table.get("three", 3) == 3
    assert "three" not in table
    with pytest.raises(KeyError, match="three"):
        _ = table["three"]


@pytest.mark.parametrize(
    ("ask", "found"),
    [
        (list, ["one"]),
        (dict, {"one": 1}),
        (len, 1),
        (lambda table: [*table.values()], [1]),
        (lambda table: [*table.items()], [("one", 1)]),
        (lambda table: {**table}, {"one": 1}),
    ],
)
def test_a_table_is_whole_when_all_is_asked_for(ask: Callable[[Any], Any], found: object) -> None:
    table = LateTable[str, int]()
    table.fill = (lambda: table.setdefault("one", 1),)
    assert ask(table) == found


@pytest.mark.parametrize("name", PACKAGES)
def test_names_are_where_types_are_checked(name: str) -> None:
    """What a package is said to have under TYPE_CHECKING is what it gives."""
    package = import_module(name)
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    said = {each.name: node.module for node in checked.body for each in node.names}  # type: ignore[attr-defined]
    for each, module in said.items():
        assert getattr(package, each) is getattr(import_module(module), each), each
