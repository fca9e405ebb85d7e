"""Progress of long work: COPY, BVHs and vector indexes tell a listener of their connection.

    connection.progress = lambda step, share: print(step, share)
    connection.execute("COPY lineorder FROM 'lineorder.parquet'")

A listener gets the name of a step and the share of it that is done, from 0 to 1; the steps of a
statement come one after the other. It is called about a hundred times a second, and mostly on the
thread that runs the statement. What it raises ends the statement, which then has changed nothing.
"""

from __future__ import annotations

from functools import cache
from logging import getLogger

from raydb.interrupts import check_interrupt
from raydb.running import current

# The name of the step in which loops are compiled, before that of the loop.
COMPILING = "compile, once on a machine"


def report(step: str, share: float) -> None:
    """Tell the listener of the statement that runs, if there is one; hear an interrupt."""
    check_interrupt()
    running = current.get()
    if running is not None and running.listener is not None:
        running.listener(step, share)


@cache
def report_compiling() -> None:
    """Report, from now on, each loop that is compiled for the statement that runs.

    It is for work whose loops take long to compile, and comes before them: it imports numba.
    The logger `raydb` hears of the first one (INFO) and of each (DEBUG).
    """
    from raydb.kernels.compiling import tell_of_compiling  # noqa: PLC0415

    tell_of_compiling(_tell_of_loop)


def _tell_of_loop(loop: str) -> None:
    _log_once()
    getLogger("raydb").debug("compiling %s", loop)
    report(f"{COMPILING}: {loop}", 0.0)


@cache
def _log_once() -> None:
    getLogger("raydb").info("compiling loops, once on this machine: it takes 10 to 25 seconds")
