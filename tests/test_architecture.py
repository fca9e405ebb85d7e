"""The pages for contributors name files and functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
PAGES = [CHECKOUT / "docs" / "contributing.md", *sorted(CHECKOUT.glob("docs/architecture/*.md"))]
FOLDERS = "engine|kernels|planner|sql|ssb|storage|tests|docs"
# `folder/file.py`, or `folder/file.py: name` for a function, a class, a method or a constant of it.
NAMED = re.compile(rf"`((?:{FOLDERS})/[^`\s:]*)(?:: ([\w.]+))?`")


@cache
def names_in(file: Path) -> set[str]:
    """Return the names that a file defines, those of methods as Class.method."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = (each.name for each in body if isinstance(each, ast.FunctionDef))
                found |= {name, *(f"{name}.{method}" for method in methods)}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case _:
                pass
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert named
    missing = [
        f"{path}: {name}" if name else path
        for path, name in named
        if not (CHECKOUT / path).exists() or (name and name not in names_in(CHECKOUT / path))
    ]
    assert not missing


def test_every_folder_has_a_line() -> None:
    """Each package of two levels stands in the table of its component's page."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    packages = {
        init.parent.relative_to(CHECKOUT).as_posix()
        for top in ("engine", "kernels", "planner", "sql", "storage")
        for init in CHECKOUT.glob(f"{top}/*/__init__.py")
    }
    assert not [package for package in sorted(packages) if f"`{package}/" not in text]
