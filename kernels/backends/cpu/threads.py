"""Hands the parts of a launch to threads that wait for them.

A thread waits at a lock of its own, so that a part costs one wake-up: 6 us, where an executor's
queue and future take 15. Threads are made when they are first wanted. A launch that finds none free
does the part itself, so that several launches at once do not get in each other's way.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextvars import copy_context
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from raydb.interrupts import interrupt_check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = TypeVar("P")
T = TypeVar("T")


class _Task:
    """One part of a launch; `done` is locked until it has a result or an error."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()


class _Worker:
    """A thread that does a task whenever `wake` is released, and ends where there is none."""

    def __init__(self) -> None:
        self.task: _Task | None = None
        self.wake = threading.Lock()
        self.wake.acquire()
        self.thread = threading.Thread(target=self._work, name="raydb worker", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while True:
            self.wake.acquire()
            task, self.task = self.task, None
            if task is None:
                return
            try:
                task.result = task.run()
            except BaseException as error:  # noqa: BLE001  (the launch raises it)
                task.error = error
            # Free first: whoever waits for the task may have another one at once.
            _idle.append(self)
            task.done.release()
            del task  # or its arrays stay until the next one


_workers: list[_Worker] = []
_idle: list[_Worker] = []
_handing = threading.Lock()
_ending = threading.Event()


@cache
def machine_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_wanted = machine_processors()


def processor_count() -> int:
    """Return how many processors statements use."""
    return _wanted


def use_processors(count: int) -> None:
    """Let the statements of this process, and Arrow, use so many processors."""
    global _wanted  # noqa: PLW0603  (Arrow's own number belongs to the process as well)
    if count != _wanted:
        _wanted = count
        pa.set_cpu_count(count)


def run_parts(run: Callable[[P], T], parts: Sequence[P]) -> list[T]:
    """Return what `run` returns for each part: the first on this thread, others on their own.

    Raises what the first part that fails has raised.
    """
    tasks = [_hand_over(run, part) for part in parts[1:]]
    results = [run(parts[0])]
    for task, part in zip(tasks, parts[1:], strict=True):
        if task is None:
            results.append(run(part))
            continue
        task.done.acquire()
        if task.error is not None:
            raise task.error
        results.append(task.result)
    return results


def run_slices(
    run: Callable[[slice], None], count: int, least: int, most: int, threads: int | None = None
) -> None:
    """Run `run` on slices of 0 .. count: each thread takes the next one when it is free.

    least: how many of `count` are worth a thread. most: how long a slice may be. Each thread hears
    an interrupt of the statement that runs here before each slice.
    """
    check = interrupt_check()
    wanted = min(threads or processor_count(), max(count // least, 1))
    if wanted == 1 and count <= most:
        check()
        run(slice(0, count))
        return
    step = max(min(-(-count // wanted), most), 1)
    starts = iter(range(0, count, step))

    def work(_: int) -> None:
        # What one thread takes from an iterator of numbers no other gets.
        try:
            for start in starts:
                check()
                run(slice(start, min(start + step, count)))
        finally:
            list(starts)  # After an interrupt nobody goes on.

    run_parts(work, range(min(wanted, -(-count // step))) or range(1))


def _hand_over(run: Callable[[P], T], part: P) -> _Task | None:
    """Give a part to a free thread; return None where there is none."""
    # What the thread compiles is told to the statement that waits for it, and ends with it.
    context = copy_context()
    return _give(lambda: context.run(run, part))


def _give(run: Callable[[], Any]) -> _Task | None:
    # A thread that is found free here has not ended when it gets its task.
    with _handing:
        worker = _free_worker()
        if worker is None:
            return None
        worker.task = task = _Task(run)
        worker.wake.release()
        return task


def _free_worker() -> _Worker | None:
    if _ending.is_set():
        return None
    if _idle:
        return _idle.pop()
    if len(_workers) >= processor_count() - 1:
        return None
    try:
        worker = _Worker()
    except RuntimeError:  # The system has no thread left.
        return None
    _workers.append(worker)
    return worker


def _end() -> None:
    """Let every thread finish its task: an interpreter that ends under one may crash."""
    with _handing:
        _ending.set()
    for worker in _workers:
        while worker.thread.is_alive():
            if worker.wake.locked():
                worker.wake.release()
            worker.thread.join(0.01)


def _forget() -> None:
    """Forget the threads in a process that was forked, which does not have them."""
    global _handing  # noqa: PLW0603  (it may be locked for ever)
    _workers.clear()
    _idle.clear()
    _handing = threading.Lock()


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
