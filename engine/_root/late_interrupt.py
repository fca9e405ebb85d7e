"""Ctrl-C that comes too late: while a statement becomes durable, which nothing can undo.

A KeyboardInterrupt out of a statement would be taken to say that it has changed nothing. So the
signal waits until the statement has answered, and is sent again a moment later.
"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

# Much longer than the way from the end of a statement to the program that asked for it.
AFTER_S = 0.05


class LateInterrupt:
    """Holds SIGINT back, from `of_this_thread` on."""

    def __init__(self, handler: Callable[[int, FrameType | None], object]) -> None:
        self._handler = handler
        self._has_come = False

    @staticmethod
    def of_this_thread() -> LateInterrupt | None:
        """Prepare to hold SIGINT back where this thread is the one that hears it, else None."""
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            return None
        return LateInterrupt(handler)

    def hold(self) -> None:
        """Remember a signal instead of hearing it."""
        signal.signal(signal.SIGINT, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._has_come = True

    def release(self, *, at_once: bool) -> None:
        """Hear signals again, also one that has come: at once, or after the statement's answer."""
        signal.signal(signal.SIGINT, self._handler)
        if not self._has_come:
            return
        if not at_once:
            timer = threading.Timer(AFTER_S, _send)
            timer.daemon = True
            with suppress(RuntimeError):  # The system has no thread left.
                timer.start()
                return
        signal.raise_signal(signal.SIGINT)


def _send() -> None:
    """Send SIGINT to the main thread, whatever it waits for."""
    identity = threading.main_thread().ident
    assert identity is not None
    signal.pthread_kill(identity, signal.SIGINT)
