"""How far long work has come: COPY, BVHs and vector indexes tell a listener of their connection.

    connection.progress = lambda step, share: print(step, share)
    connection.execute("COPY lineorder FROM 'lineorder.parquet'")

A listener gets the name of a step and the share of it that is done, from 0 to 1; the steps of a
statement come one after the other. It is called about a hundred times a second, and mostly on the
thread that runs the statement. What it raises ends the statement, which then has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, float], None]

listener: ContextVar[Listener | None] = ContextVar("raydb listener", default=None)
"""Who listens to the statement that runs; each thread that runs statements has its own."""


def report(step: str, share: float) -> None:
    """Tell the listener of the statement that runs, if there is one."""
    told = listener.get()
    if told is not None:
        told(step, share)
