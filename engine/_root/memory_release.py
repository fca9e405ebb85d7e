"""Memory that statements have left goes back to the system.

    drop_rows(error)    what the frames of a failed statement hold
    give_back()         after a statement that took a while

Arrow's pool and the C library keep what is freed, for the next who asks. After a large sort, or one
that was interrupted, that would be gigabytes which nobody else on the machine can use.
"""

from __future__ import annotations

import ctypes
import functools
import os
import traceback
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

# Less than this is kept: the next statement is likely to want it.
_KEPT_BYTES = 2**26

# What the process held after a release while nothing was at work, beside Arrow's own.
_base_bytes = 0

# The statements that run, and the work that interrupted ones have left.
at_work: set[object] = set()


def give_back() -> None:
    """Return freed memory to the system where it is much: 20 us if not, else some ms a GB.

    While others are at work, what they hold cannot be told from what is kept for good, so whoever
    ends next asks again.
    """
    if _unused_bytes() >= _base_bytes + _KEPT_BYTES:
        _release()


def give_back_dropped(size_bytes: int) -> None:
    """Return freed memory to the system where so many bytes of what was kept for good are much."""
    if size_bytes >= _KEPT_BYTES:
        _release()


def _release() -> None:
    global _base_bytes  # noqa: PLW0603  (of the process, as its memory is)
    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    left = _unused_bytes()
    _base_bytes = min(_base_bytes, left) if at_work else left


def drop_rows(error: BaseException | None, *, is_ours: bool) -> None:
    """Cut off the frames that an error, and those before it, came through.

    Whoever keeps the error would keep the rows that the statement was at work on. is_ours: a
    defect of ours, of which the frames are all there is: they stay, without their variables.
    """
    while error is not None:
        if is_ours:
            traceback.clear_frames(error.__traceback__)
        else:
            error.__traceback__ = None
        error = error.__context__


def _unused_bytes() -> int:
    """Return the bytes of the process that are neither of files nor Arrow's."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  (4 us)
            resident, shared = map(int, file.read().split()[1:3])
    except OSError:  # not Linux: always worth a release
        return _base_bytes + _KEPT_BYTES
    own = (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return own - int(pa.total_allocated_bytes())


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return the function of glibc that gives back the free pages of all threads' heaps."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library
        return None
    return trim
