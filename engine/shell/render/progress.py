"""The progress bar of long work; it shows the time alone where nobody knows the end.

Where standard error is no terminal, a line says why a first search takes so long, and no more.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from raydb.engine.shell.render.colors import is_dumb, shows_colors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID

# A bar for work that is done at once would only flicker.
DELAY_S = 1.0

# A line for what is compiled in a moment would only be noise in a log.
COMPILING_DELAY_S = 2.0

# How the connection calls the step in which it compiles.
_COMPILING = "compile, once on a machine"


@contextmanager
def showing_progress(connection: Any) -> Iterator[None]:
    """Show how far a connection's statement is, on standard error, if that is a terminal.

    Only what takes long is shown. The connection tells the name of a step and its share that is
    done, from 0 to 1; until it does, only the time passes. What is no terminal gets a line where
    loops are compiled, once.
    """
    if not sys.stderr.isatty() or is_dumb():
        notice = _Notice()
        connection.progress = notice.update
        try:
            yield
        finally:
            connection.progress = None
            notice.stop()
        return
    bar = _Bar()
    timer = threading.Timer(DELAY_S, bar.start)
    timer.daemon = True
    connection.progress = bar.update
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        connection.progress = None
        bar.stop()


class _Notice:
    """Tells on standard error that loops are compiled, once a process and if that takes long."""

    _was_told = False

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def update(self, step: str, _: float) -> None:
        """Begin to wait with the first loop, and end with what is no compilation."""
        if not step.startswith(_COMPILING):
            self.stop()
        elif self._timer is None and not _Notice._was_told:
            self._timer = threading.Timer(COMPILING_DELAY_S, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Say nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        _Notice._was_told = True
        sys.stderr.write("compiling loops, once on this machine: it takes 10 to 25 seconds ...\n")
        sys.stderr.flush()


class _Bar:
    """A line on standard error, drawn by a thread of its own and gone at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._step: tuple[str, float | None] = ("running, Ctrl-C cancels", None)
        self._has_ended = False
        self._began = time.monotonic()

    def start(self) -> None:
        """Begin to draw, unless the work has ended."""
        # Few statements take so long that rich is worth its import.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        with self._lock:
            if self._has_ended:
                return
            console = Console(file=sys.stderr, no_color=not shows_colors(sys.stderr))
            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(show_speed=False),
                TimeElapsedColumn(),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            step, share = self._step
            self._task = self._progress.add_task(step, total=None)
            if share is not None:
                self._progress.update(self._task, total=1.0, completed=share)
            self._progress.tasks[0].start_time = self._began
            self._progress.start()

    def update(self, step: str, share: float) -> None:
        """Show a step and the share of it that is done, from 0 to 1."""
        self._step = (step, share)
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=step, total=1.0, completed=share)

    def stop(self) -> None:
        """Remove the line, if there is one."""
        with self._lock:
            self._has_ended = True
            if self._progress is not None:
                self._progress.stop()
