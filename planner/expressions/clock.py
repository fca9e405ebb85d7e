"""The moment of a statement: what now() is, wherever a statement asks for it and however often.

A statement may be several plans, such as those of INSERT ... ON CONFLICT, and a plan may hold
queries that are optimized one by one.
"""

from __future__ import annotations

import datetime as dt
from contextvars import ContextVar

_known: ContextVar[list[dt.datetime] | None] = ContextVar("raydb moment", default=None)


def begin_moment() -> None:
    """Forget the moment of the statement before; that of this one is when it is first asked for."""
    _known.set([])


def moment() -> dt.datetime:
    """Return the moment of the statement that runs in this thread, in local time."""
    known = _known.get()
    if known is None:
        return dt.datetime.now()
    if not known:
        known.append(dt.datetime.now())
    return known[0]
