"""The thread that helps with a search of few queries: who has it, and what it may look at.

It is one of those of `raydb.kernels.cpu.threads`, lent for as long as searches follow each other
within some 0.1 ms; then it is a launch's again. One search at a time has its help.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from raydb.kernels.cpu.alone import (
    IS_AWAKE,
    IS_CLOSED,
    JOB,
    MOST_K,
    NOBODYS,
    help_searches,
    new_help,
)
from raydb.kernels.cpu.threads import lend_thread, processor_count

if TYPE_CHECKING:
    from types import TracebackType

    from raydb.kernels.cpu.alone import Help

# Below so many bytes a search is over before another thread could have done a part of it.
LEAST_BYTES = 2**19

_NO_ROOM = new_help(False)


class _Helper:
    """Room for one thread's help. `kept`: the arrays that it may still look at."""

    def __init__(self, is_coded: bool | None) -> None:
        self.room = new_help(True)
        self.is_free = threading.Lock()
        self.kept: tuple[Any, ...] | None = None
        self._is_coded = is_coded

    def wake(self) -> bool:
        """Have a thread look at the room; tell whether one does."""
        words = self.room.words
        if words[IS_AWAKE]:
            return True
        words[IS_AWAKE] = 1
        if lend_thread(self._help):
            return True
        words[IS_AWAKE] = 0
        return False

    def _help(self) -> None:
        try:
            help_searches(self.room, self._is_coded)
        finally:
            self.room.words[IS_AWAKE] = 0


_helpers: dict[bool | None, _Helper] = {}


class Helped:
    """Within it a search may use `room`, which is empty where nobody helps.

    scanned_bytes: about how much is scanned. kept: what the other thread may look at, for a moment
    after the search too.
    """

    __slots__ = ("_helper", "_is_coded", "room")

    def __init__(
        self,
        scanned_bytes: float,
        k: int,
        is_coded: bool | None,
        threads: int | None,
        kept: tuple[Any, ...],
    ) -> None:
        self.room: Help = _NO_ROOM
        self._helper: _Helper | None = None
        self._is_coded = is_coded
        if scanned_bytes < LEAST_BYTES or k > MOST_K or (threads or processor_count()) < 2:
            return
        helper = _helpers.get(is_coded) or _helpers.setdefault(is_coded, _Helper(is_coded))
        if not helper.is_free.acquire(blocking=False):
            return
        # A thread that had to be left behind is not waited for.
        if helper.room.words[JOB] == NOBODYS and helper.wake():
            helper.kept = kept
            self._helper, self.room = helper, helper.room
        else:
            helper.is_free.release()

    def __enter__(self) -> Help:
        return self.room

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        helper = self._helper
        if helper is None:
            return
        if kind is not None:
            # The search may have ended anywhere: another room from now on.
            helper.room.words[IS_CLOSED] = 1
            _helpers.pop(self._is_coded, None)
        elif helper.room.words[JOB] == NOBODYS:
            helper.kept = None
        helper.is_free.release()


if hasattr(os, "register_at_fork"):
    # The threads of the process that was forked are not there.
    os.register_at_fork(after_in_child=_helpers.clear)
