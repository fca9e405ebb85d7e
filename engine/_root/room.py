"""The bytes that reading stored rows may take, for code that no context reaches.

    check_room(need, "column 'caption' of file 'pets.flat'")

A file of a few bytes may rightly stand for very many: one value for 2**24 rows. So whatever a file
makes memory of is counted first. What a statement's memory_limit allows is the limit, and that of
memory_limit's default where no statement runs.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from raydb.errors import OperationalError
from raydb.running import current

if TYPE_CHECKING:
    import pyarrow as pa

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

_MACHINE_SHARE = 0.8

# Less than this is not worth the question.
_SURE_BYTES = 2**24


def check_room(need: float, what: str) -> None:
    """Raise OperationalError where reading `what` needs more bytes than it may take."""
    if need <= _SURE_BYTES:
        return
    limit = read_limit()
    if limit is not None and need > limit:
        raise too_small(need, f"reading {what}", limit)


def keep_rows(rows: pa.Table, *, are_many: bool = False) -> pa.Table:
    """Return rows that wait for others, in a temporary file where they fill the memory.

    are_many: it is known that all of them together will.
    """
    running = current.get()
    if running is None or running.keep_rows is None:
        return rows
    return running.keep_rows(rows, are_many)


def read_limit() -> int | None:
    """Return how many bytes one read may take, None for any number."""
    running = current.get()
    if running is None or running.memory_limit is None:
        return int(_MACHINE_SHARE * machine_memory())
    return running.memory_limit()


def too_small(need: float, what: str, limit: int) -> OperationalError:
    """Return the error that says what a memory limit is too small for.

    limit: the bytes of it that are left beside what is kept for later statements.
    """
    running = current.get()
    known = running.memory_limit if running is not None else None
    whole = limit if known is None else known() or limit
    left = "" if whole == limit else f", of which {size_text(limit)} are left"
    return OperationalError(
        f"{what} needs about {size_text(need)}, and memory_limit is {size_text(whole)}{left};"
        " raise it with SET memory_limit or ask for less"
    )


@functools.cache
def machine_memory() -> int:
    """Return the bytes of memory of this machine, or of the control group that we are in.

    They are asked for once: files of the system may take longer to read than a query.
    """
    limits = [_physical_memory()]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if Path(path).is_file():
            text = Path(path).read_text(encoding="ascii").strip()
            limits += [int(text)] if text.isdigit() else []
    return min(limits)


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        import psutil  # noqa: PLC0415  (15 ms)

        return int(psutil.virtual_memory().total)


def size_text(size_bytes: float) -> str:
    """Return a number of bytes for a reader.

    >>> size_text(3_100_000_000)
    '3.1 GB'
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size_bytes >= UNITS[unit]:
            return f"{size_bytes / UNITS[unit]:.3g} {unit}"
    return f"{size_bytes:.0f} bytes"
