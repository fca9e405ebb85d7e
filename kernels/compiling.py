"""A listener to the compilation of loops, which takes up to half a minute, once on a machine.

    tell_of_compiling(report)       report("first_between") before each loop, on its thread

What it raises ends the compilation, so that Ctrl-C need not wait; the loops that were compiled
before are kept on disk, and the next call goes on with the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# All of it, before a part: what another thread has begun to import is then waited for. Where both
# import parts, each meets some of which only the beginning is there, and one may wait for ever.
import numba

if TYPE_CHECKING:
    from collections.abc import Callable


class _Listener(numba.core.event.Listener):
    """Passes on the names of the loops whose compilation begins."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def on_start(self, begun: Any) -> None:
        self._tell(begun.data["dispatcher"].py_func.__name__)

    def on_end(self, _: Any) -> None:
        """Nothing: the next loop, or the work itself, has its own to tell."""


def tell_of_compiling(tell: Callable[[str], None]) -> None:
    """Tell a function the name of each loop of this process that is compiled from now on.

    It is called on the thread that compiles, and not for loops that are only loaded from disk.
    """
    register: Callable[[str, _Listener], None] = numba.core.event.register
    register("numba:compile", _Listener(tell))
