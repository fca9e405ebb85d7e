"""The process of the command `raydb`: it does without pandas, and looks for garbage less often.

Both are for a process that runs nothing else; `raydb.connect` leaves its host as it is.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


# New objects after which the collector looks for garbage among them; Python's default is 700.
_MANY_OBJECTS = 100_000


class _WithoutPandas:
    """Lets `import pandas` fail, as where it is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise ModuleNotFoundError for pandas; all else is found by others."""
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


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
    try:
        return main()
    finally:
        gc.freeze()
