"""Turns: short statements of several threads run one after the other, in the order they came.

Python runs one thread at a time, and lets one go on for 5 ms where others wait, in no order. Where
each of many threads asks for some hundred microseconds, as in a web application, a turn costs less
than what they lose by that, and none waits much longer than the others.
"""

from __future__ import annotations

import os
from collections import deque
from threading import Lock, get_ident
from time import perf_counter

# A statement that takes longer keeps nobody waiting: its work is in loops that run beside others.
PATIENCE_SECONDS = 0.005


class Turns:
    """Who has the turn and who waits for it, by thread; `with turns:` is one.

    A turn excludes nobody: after PATIENCE_SECONDS the next one begins beside it.
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._waiting: deque[tuple[int, Lock]] = deque()
        self._holder: int | None = None
        self._since = 0.0

    def __enter__(self) -> None:
        thread = get_ident()
        with self._mutex:
            # A statement of a Python function that a statement calls is a part of its turn.
            if self._holder is None or self._holder == thread:
                self._give(thread)
                return
        called = Lock()
        called.acquire()
        own = thread, called
        try:
            patience = self._queue(own)
            while not called.acquire(timeout=patience):
                if self._goes_on(own):
                    return
                patience = PATIENCE_SECONDS
        except BaseException:
            self._give_up(own)
            raise

    def __exit__(self, *_: object) -> None:
        self.leave()

    @property
    def are_wanted(self) -> bool:
        """Whether other threads wait for a turn."""
        return bool(self._waiting)

    def leave(self) -> None:
        """End the turn of this thread, if it has it; the statement may go on."""
        with self._mutex:
            if self._holder == get_ident():
                self._pass_on()

    def _give(self, thread: int) -> None:
        self._holder, self._since = thread, perf_counter()

    def _queue(self, own: tuple[int, Lock]) -> float:
        """Wait behind the others; return for how many seconds nothing can be due."""
        with self._mutex:
            self._waiting.append(own)
            if self._holder is None:  # It has come meanwhile.
                self._pass_on()
            # Each of those before it may have the turn for so long.
            return PATIENCE_SECONDS * max(len(self._waiting), 1)

    def _pass_on(self) -> None:
        if self._waiting:
            thread, called = self._waiting.popleft()
            self._give(thread)
            called.release()
        else:
            self._holder = None

    def _goes_on(self, own: tuple[int, Lock]) -> bool:
        """Take the turn from a statement that has had it for long; say whether it was so."""
        with self._mutex:
            is_due = own in self._waiting and perf_counter() - self._since >= PATIENCE_SECONDS
            if is_due:
                self._waiting.remove(own)
                self._give(own[0])
            return is_due

    def _give_up(self, own: tuple[int, Lock]) -> None:
        """Give up waiting, or the turn that came meanwhile."""
        with self._mutex:
            if own in self._waiting:
                self._waiting.remove(own)
            elif self._holder == own[0]:
                self._pass_on()


turns = Turns()

# Who held the turn, or the mutex, is no thread of a child.
os.register_at_fork(after_in_child=turns.__init__)  # type: ignore[misc]
