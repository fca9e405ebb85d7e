"""Whether the statement that runs is to end: work that takes long asks now and then.

    interrupts = Interrupts()               one for each connection
    with Hearing(interrupts):               a statement begins ... and ends
        check_interrupt()                   between two blocks of rows
        beside(lambda: sort(rows), count)   while one call takes long
    interrupts.interrupt()                  any thread, a signal's handler too

Nothing is raised in a thread from outside: what is half done when an exception comes from nowhere
(an import, a compilation, a lock that was just taken) would stay half done. An interrupt is a new
moment, and a statement that began before it ends at its next question; one that begins later has
nothing to do with it, so none comes too late. Code that makes a change durable does not ask.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from types import TracebackType

T = TypeVar("T")

# How often a thread that waits for another one asks.
WAIT_S = 0.05

# Work on fewer rows takes milliseconds, and a thread of its own 0.1.
_FEW_ROWS = 2**17


class Interrupt(BaseException):
    """Ends the statement that asked; no `except Exception` takes it for an error of its own."""


class Interrupts:
    """Tells the statements of one connection that they are to end."""

    def __init__(self) -> None:
        # One value, which is replaced as a whole, needs no lock.
        self.moment = object()

    def interrupt(self) -> None:
        """End what runs; it hears that when it asks."""
        self.moment = object()


# Whether the work of this thread is to end, as far as anybody can tell it; None for nobody.
_is_over: ContextVar[Callable[[], bool] | None] = ContextVar("raydb interrupts", default=None)


class Hearing:
    """Lets the work of a block hear interrupts: those from now on, or since a moment."""

    __slots__ = ("_before", "_interrupts", "moment")

    def __init__(self, interrupts: Interrupts, moment: object | None = None) -> None:
        self._interrupts = interrupts
        self.moment = interrupts.moment if moment is None else moment
        self._before: Token[Callable[[], bool] | None] | None = None

    def __enter__(self) -> Self:
        interrupts, moment = self._interrupts, self.moment
        self._before = _is_over.set(lambda: interrupts.moment is not moment)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._before is not None
        _is_over.reset(self._before)


def check_interrupt() -> None:
    """Raise Interrupt where the statement that runs on this thread is to end: 0.1 us if not."""
    is_over = _is_over.get()
    if is_over is not None and is_over():
        raise Interrupt


def interrupt_check() -> Callable[[], None]:
    """Return `check_interrupt` of the statement that runs here, for any other thread."""
    is_over = _is_over.get()

    def check() -> None:
        if is_over is not None and is_over():
            raise Interrupt

    return check


def beside(compute: Callable[[], T], row_count: int | None = None) -> T:
    """Return what a function of so many rows returns: of many, it runs on a thread of its own.

    None stands for any number. This thread waits and hears. The function must do nothing but
    compute, since an interrupt (Ctrl-C too) leaves it alone with its work, which ends where it
    asks for interrupts itself.
    """
    is_over = _is_over.get()
    is_short = row_count is not None and row_count <= _FEW_ROWS
    if is_short or is_over is None:
        return compute()
    work = _Work(compute, is_over)
    thread = threading.Thread(target=copy_context().run, args=(work.run,), name="raydb work")
    try:
        thread.start()
    except RuntimeError:  # The system has no thread left; here an interrupt waits for the end.
        return compute()
    try:
        while not work.done.acquire(timeout=WAIT_S):
            check_interrupt()
    except BaseException:
        work.is_left = True
        raise
    if work.failure is not None:
        raise work.failure
    return work.found[0]


class _Work(Generic[T]):
    """A function that runs on a thread of its own; `done` is locked until it has ended."""

    def __init__(self, compute: Callable[[], T], is_over: Callable[[], bool]) -> None:
        self._compute = compute
        self._is_over = is_over
        self.is_left = False
        self.found: list[T] = []
        self.failure: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        """Compute, and keep what comes of it."""
        _is_over.set(lambda: self.is_left or self._is_over())
        try:
            self.found.append(self._compute())
        except BaseException as error:  # noqa: BLE001  (the thread that waits raises it)
            self.failure = error
        finally:
            self.done.release()
