"""The process of the command `raydb`: it leaves out what libraries import, and rarely collects.

All this is for a process that runs nothing else; `raydb.connect` leaves its host as it is.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


_METADATA = "importlib.metadata"
# New objects after which the collector looks for garbage among them; Python's default is 700.
_MANY_OBJECTS = 200_000


class _WithoutPandas:
    """Lets `import pandas` fail, as where it is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise ModuleNotFoundError for pandas; all else is found by others."""
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


class _LateMetadata(ModuleType):
    """Stands for `importlib.metadata`, which is imported when something of it is called.

    sqlglot imports it, 16 ms, for dialects that others have installed.
    """

    def entry_points(self, **chosen: str) -> object:
        """Return what the module's function of this name returns."""
        return self._imported().entry_points(**chosen)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # which the import statement asks for
            raise AttributeError(name)
        return getattr(self._imported(), name)

    @staticmethod
    def _imported() -> Any:
        sys.modules.pop(_METADATA, None)
        return import_module(_METADATA)


def main() -> int:
    """Run the command with the arguments of the process, and return its exit code."""
    return run_alone(_run)


def _run() -> int:
    # Imported when objects no longer count: it imports half of all modules.
    from raydb.engine.shell import cli  # noqa: PLC0415

    return cli.main(sys.argv[1:])


def run_alone(main: Callable[[], int]) -> int:
    """Run the command as all that its process does, and return its exit code.

    pyarrow imports pandas, where that is installed, with the first array that it makes: 0.3 s for a
    package that the command never uses. Modules that are imported make many objects and no garbage:
    looking through these again and again takes a fifth of the start. And an interpreter that ends
    looks through every object once more, which takes 0.08 s: frozen objects are left out.
    """
    gc.set_threshold(_MANY_OBJECTS)
    sys.meta_path.insert(0, _WithoutPandas())
    sys.modules.setdefault(_METADATA, _LateMetadata(_METADATA))
    try:
        return main()
    finally:
        gc.freeze()
