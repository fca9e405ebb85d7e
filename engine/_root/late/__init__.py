"""What few statements need is imported when it is first used, not when its users are imported.

    import_on_use(__name__)                         in a package's __init__.py
    from raydb.storage.formats import sources       in who uses it: imports nothing yet
    sources.open_rows(...)                          imports the module

A process that asks one question needs a third of the modules, and one that is imported takes 0.3
ms. Such a module is imported as a whole and named at each use: `from package.module import name`
imports it at once, as everywhere. Objects that register themselves by name stand in a `LateTable`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import html
    import pkgutil
    import shutil
    import subprocess
    import tempfile
    import zoneinfo
    from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
    from concurrent import futures
    from types import ModuleType

__all__ = [
    "LateModule",
    "LateTable",
    "futures",
    "html",
    "import_on_use",
    "pc",
    "pkgutil",
    "shutil",
    "subprocess",
    "tempfile",
    "zoneinfo",
]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def import_on_use(package: str, places: Mapping[str, str] | None = None) -> None:
    """Let `from package import module` import the module when a name of it is first asked for.

    places: further names that the package has, by the modules within it that they are imported from
    when they are asked for. AttributeError is raised for what is neither, as for any module.
    """
    module_of = {name: place for place, names in (places or {}).items() for name in names.split()}

    def find(name: str) -> object:
        found: object
        if name in module_of:
            found = getattr(import_module(f"{package}.{module_of[name]}"), name)
        elif name.startswith("__") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        else:
            found = LateModule(f"{package}.{name}")
        # In a module's place until it is imported.
        setattr(sys.modules[package], name, found)
        return found

    vars(sys.modules[package])["__getattr__"] = find


class LateModule:
    """Stands for a module that is imported when a name is first asked for; then has its names."""

    __slots__ = ("__dict__", "_full_name")

    _full_name: str

    def __init__(self, full_name: str) -> None:
        object.__setattr__(self, "_full_name", full_name)

    def __getattr__(self, name: str) -> object:
        return getattr(self._imported(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._imported(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._imported(), name)

    def _imported(self) -> ModuleType:
        module = import_module(self._full_name)
        object.__setattr__(self, "__dict__", vars(module))
        return module


# Arrow's functions, which take 25 ms to import and which not every question needs.
pc: Any = LateModule("pyarrow.compute")

# Python's own, which take 1 to 2 ms each.
if not TYPE_CHECKING:
    futures, html, pkgutil = map(LateModule, ("concurrent.futures", "html", "pkgutil"))
    shutil, subprocess = map(LateModule, ("shutil", "subprocess"))
    tempfile, zoneinfo = map(LateModule, ("tempfile", "zoneinfo"))


class LateTable(dict[_Key, _Value]):
    """Objects by name, which modules put here as they are imported: when one is looked for.

    fill: imports such modules, those that most statements need first; each is called when a name
    is not found before, or when all objects are asked for, and may be called again.
    """

    __slots__ = ("fill",)

    def __init__(self, *fill: Callable[[], object]) -> None:
        self.fill = fill

    def get(self, name: object, default: Any = None) -> Any:
        """Return the object of a name, or `default` where no module has it."""
        found = super().get(name)  # type: ignore[arg-type]
        return self._sought(name, default) if found is None else found

    def _sought(self, name: object, default: Any) -> Any:
        for fill in self.fill:
            fill()
            found = super().get(name)  # type: ignore[arg-type]
            if found is not None:
                return found
        return default

    def __missing__(self, name: _Key) -> _Value:
        found: _Value | None = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[_Key]:
        self._fill()
        return super().__iter__()

    def __len__(self) -> int:
        self._fill()
        return super().__len__()

    def keys(self) -> KeysView[_Key]:  # type: ignore[override]
        """Return every name."""
        self._fill()
        return super().keys()

    def items(self) -> ItemsView[_Key, _Value]:  # type: ignore[override]
        """Return every name with its object."""
        self._fill()
        return super().items()

    def values(self) -> ValuesView[_Value]:  # type: ignore[override]
        """Return every object, once a name."""
        self._fill()
        return super().values()

    def _fill(self) -> None:
        for fill in self.fill:
            fill()
