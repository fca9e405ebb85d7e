"""The progress of long steps: a bar on a terminal, one plain line a step elsewhere."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console


class Progress:
    """The steps of one command on one console, with the seconds that each took.

    >>> with progress.step("load", total=5) as advance:
    ...     for table in tables:
    ...         load(table)
    ...         advance()
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self.seconds: dict[str, float] = {}

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def step(self, name: str, total: int) -> Iterator[Callable[[], None]]:
        """Time a step of `total` parts; the caller calls what it is given after each part."""
        start = time.perf_counter()
        if self._console.is_terminal:
            columns = TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn()
            with Bars(*columns, TimeElapsedColumn(), console=self._console) as bars:
                task = bars.add_task(name, total=total)
                yield lambda: bars.advance(task)
        else:
            yield lambda: None
        self.seconds[name] = time.perf_counter() - start
        if not self._console.is_terminal:
            self.say(f"{name}: {self.seconds[name]:.1f} s")
