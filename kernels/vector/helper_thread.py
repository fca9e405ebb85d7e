"""The thread that helps with a search of few queries: who has it, and what it may look at.

It is one of those of `threads`, lent for as long as searches follow each other
within some 0.1 ms; then it is a launch's again. One search at a time has its help.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from raydb.kernels.backends.cpu.threads import lend_thread, processor_count
from raydb.kernels.vector.single_query import (
    IS_AWAKE,
    IS_CLOSED,
    JOB,
    MAX_K,
    NOBODYS,
    Help,
    help_searches,
)


class Helper:
    """Another thread's help. `kept`: the arrays that it may look at, for a moment longer too."""

    def __init__(self, is_coded: bool | None) -> None:
        self._help = Help()
        self.words = self._help.words
        self.is_coded = is_coded
        self.is_free = threading.Lock()
        self.kept: tuple[Any, ...] | None = None

    def wake(self) -> bool:
        """Have a thread look at the words; tell whether one does."""
        if self.words[IS_AWAKE]:
            return True
        self.words[IS_AWAKE] = 1
        if lend_thread(self._work):
            return True
        self.words[IS_AWAKE] = 0
        return False

    def _work(self) -> None:
        try:
            help_searches(self.words, self.is_coded)
        finally:
            self.words[IS_AWAKE] = 0


_helpers: dict[bool | None, Helper] = {}


def borrow(
    k: int, is_coded: bool | None, threads: int | None, kept: tuple[Any, ...]
) -> Helper | None:
    """Return the help of another thread, which may look at some arrays; None where there is none.

    is_coded: None for an index without codes. To be given back, or left.
    """
    if k > MAX_K or (threads or processor_count()) < 2:
        return None
    helper = _helpers.get(is_coded) or _helpers.setdefault(is_coded, Helper(is_coded))
    if not helper.is_free.acquire(blocking=False):
        return None
    # A thread that had to be left behind is not waited for.
    if helper.words[JOB] == NOBODYS and helper.wake():
        helper.kept = kept
        return helper
    helper.is_free.release()
    return None


def give_back(helper: Helper) -> None:
    """End the use of another thread's help."""
    if helper.words[JOB] == NOBODYS:
        helper.kept = None
    helper.is_free.release()


def leave(helper: Helper) -> None:
    """End the use of another thread's help after a search that failed: it is not used again."""
    helper.words[IS_CLOSED] = 1
    _helpers.pop(helper.is_coded, None)


if hasattr(os, "register_at_fork"):
    # The threads of the process that was forked are not there.
    os.register_at_fork(after_in_child=_helpers.clear)
