"""Interrupts of the statement that runs: work that takes long asks now and then whether to end.

    check_interrupt()                   between two blocks of rows
    beside(lambda: sort(rows), count)   while one call takes long

Nothing is raised in a thread from outside: what is half done when an exception comes from nowhere
(an import, a compilation, a lock that was just taken) would stay half done. An interrupt is a new
moment, and a statement that began before it ends at its next question; one that begins later has
nothing to do with it, so none comes too late. Code that makes a change durable does not ask.
"""

from __future__ import annotations

import gc
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from raydb.memory_release import at_work, give_back
from raydb.running import Interrupt, Running, current

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# How often a thread that waits for another one asks.
WAIT_S = 0.05

# Work on fewer rows takes milliseconds, and a thread of its own 0.1.
_FEW_ROWS = 2**17


def check_interrupt() -> None:
    """Raise Interrupt where the statement that runs on this thread is to end: 0.1 us if not."""
    running = current.get()
    if running is not None and running.is_over():
        raise Interrupt


def hold_interrupt() -> None:
    """Let Ctrl-C wait for the end of the statement: it is about to become durable."""
    running = current.get()
    if running is not None:
        running.hold_interrupt()


def interrupt_check() -> Callable[[], None]:
    """Return `check_interrupt` of the statement that runs here, for any other thread."""
    running = current.get()

    def check() -> None:
        if running is not None and running.is_over():
            raise Interrupt

    return check


def beside(compute: Callable[[], T], row_count: int | None = None) -> T:
    """Return what a function of so many rows returns: of many, it runs on a thread of its own.

    None stands for any number. This thread waits and hears. The function must do nothing but
    compute, since an interrupt (Ctrl-C too) leaves it alone with its work, which ends where it
    asks for interrupts itself.
    """
    running = current.get()
    is_short = row_count is not None and row_count <= _FEW_ROWS
    if is_short or running is None:
        return compute()
    work = _Work(compute, running)
    thread = threading.Thread(target=copy_context().run, args=(work.run,), name="raydb work")
    try:
        thread.start()
    except RuntimeError:  # The system has no thread left; here an interrupt waits for the end.
        return compute()
    try:
        while not work.done.acquire(timeout=WAIT_S):
            check_interrupt()
    except BaseException:
        work.leave()
        raise
    # Nothing stays with the work, which refers to itself: its rows would wait for the collector.
    failure, work.failure = work.failure, None
    if failure is not None:
        raise failure
    return work.found.pop()


class _Work(Generic[T]):
    """A function that runs on a thread of its own; `done` is locked until it has ended."""

    def __init__(self, compute: Callable[[], T], running: Running) -> None:
        self._compute: Callable[[], T] | None = compute
        self._of = running
        self.is_left = False
        self.found: list[T] = []
        self.failure: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def leave(self) -> None:
        """Let it end alone: nobody wants what comes of it, or has come of it just now."""
        self.is_left = True
        self._forget()

    def run(self) -> None:
        """Compute, and keep what comes of it."""
        # Not an attribute: it refers to the work, and the two would wait for the collector.
        current.set(self._of.on_a_thread(lambda: self.is_left or self._of.is_over()))
        at_work.add(self)
        assert self._compute is not None
        try:
            self.found.append(self._compute())
        except BaseException as error:  # noqa: BLE001  (the thread that waits raises it)
            self.failure = error
        finally:
            self._compute = None
            at_work.discard(self)
            self.done.release()
            if self.is_left:
                self._forget()
                # Where numba compiled meanwhile, errors that it caught hold frames in cycles.
                gc.collect()
                give_back()

    def _forget(self) -> None:
        self.found.clear()
        self.failure = None
