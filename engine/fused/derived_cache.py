"""The cache of what is derived from whole columns: codes, measures and graphs."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary, ref

import numpy as np
import pyarrow as pa

from raydb.interrupts import WAIT_S, check_interrupt
from raydb.kernels.bvh.bvh import Measure
from raydb.memory_release import give_back_dropped

if TYPE_CHECKING:
    from collections.abc import Callable

# The bytes that stay where nobody says more. A fact table of 60M rows takes 60 MB for each
# attribute of few values, and 240 MB for each measure.
CACHE_BYTES = 2**31

# The part of memory_limit that may stay, as its divisor.
CACHE_SHARE = 4

# What was asked for by one plan alone, and not by this one, has so many bytes: questions that
# nobody asks again leave little behind.
ONCE_BYTES = 2**27

# Of so many arrays it is known when they were asked for, those that were dropped included.
_MOST_ASKED = 4096


_caches: WeakSet[DerivedCache] = WeakSet()


def _renew_locks() -> None:
    for cache in _caches:
        cache._renew_locks()  # noqa: SLF001


os.register_at_fork(after_in_child=_renew_locks)


class DerivedCache:
    """Arrays made from rows that do not change, the least recently used of them dropped.

    limit: the most bytes that stay, beside the last array asked for. Of what one plan has asked for
    less stays, see `ONCE_BYTES`; what was dropped so and is asked for again counts as asked twice.
    It does not keep owners alive, but arrays may be views of their columns. Threads may share it:
    what several ask for at once is made by one of them.
    """

    def __init__(self) -> None:
        self.limit = CACHE_BYTES
        self._items: OrderedDict[object, tuple[tuple[ref[Any], ...], Any, int]] = OrderedDict()
        # By what was asked for: the last plan that did, and whether another one had before. What
        # was dropped is among them.
        self._plan = 0
        self._asked: OrderedDict[object, tuple[int, bool]] = OrderedDict()
        self._renew_locks()
        _caches.add(self)

    def _renew_locks(self) -> None:
        """Let nobody have a lock: in a child of a fork those that had one are no threads."""
        self._lock = threading.Lock()
        self._makers: WeakValueDictionary[object, Any] = WeakValueDictionary()

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays; added up anew, for an interrupt may come between two steps."""
        # The values of an OrderedDict are looked up key by key, a hash of an expression each.
        return sum([item[2] for item in list(dict.values(self._items))])

    def begin(self, limit: int | None) -> None:
        """Begin a plan under a memory limit; None for no limit."""
        self.limit = CACHE_BYTES if limit is None else limit // CACHE_SHARE
        self._plan += 1

    def get(self, owners: tuple[object, ...], what: object, make: Callable[[], Any]) -> Any:
        """Return what was made of the owners before, or make it; what others had is dropped."""
        if self.has(owners, what):
            return self._kept(owners, what, make)
        with self._lock:
            turn = self._makers.setdefault((what, *map(id, owners)), threading.Lock())
        while not turn.acquire(timeout=WAIT_S):
            check_interrupt()
        try:
            return self._kept(owners, what, make)
        finally:
            turn.release()

    def _kept(self, owners: tuple[object, ...], what: object, make: Callable[[], Any]) -> Any:
        item = self._items.get(what)
        is_new = item is None or not _are_same(item[0], owners)
        if item is None or is_new:
            self._items.pop(what, None)  # Its memory is free for what is made.
            made = make()
            item = tuple(map(ref, owners)), made, owned_bytes(made)
        with self._lock:
            self._items[what] = item
            self._items.move_to_end(what)
            self._note(what)
            dropped = self._drop_some() if is_new else 0
        give_back_dropped(dropped)
        return item[1]

    def _note(self, what: object) -> None:
        """Note that the plan has asked for an array."""
        plan, again = self._asked.get(what, (self._plan, False))
        self._asked[what] = self._plan, again or plan != self._plan
        self._asked.move_to_end(what)
        while len(self._asked) > _MOST_ASKED:
            self._asked.popitem(last=False)

    def _drop_some(self) -> int:
        """Drop the least recently used arrays that are too much; return their bytes."""
        dropped = 0
        while len(self._items) > 1 and self.size_bytes > self.limit:
            dropped += self._items.popitem(last=False)[1][2]
        once = [what for what in self._items if self._is_once(what)]
        excess = sum(self._items[what][2] for what in once) - ONCE_BYTES
        for what in once:
            if excess <= 0:
                break
            size_bytes = self._items.pop(what)[2]
            excess -= size_bytes
            dropped += size_bytes
        return dropped

    def _is_once(self, what: object) -> bool:
        """Tell whether one plan has asked for an array, and not this one."""
        plan, again = self._asked.get(what, (0, False))
        return not again and plan < self._plan

    def has(self, owners: tuple[object, ...], what: object) -> bool:
        """Tell whether `get` would return what was made before."""
        item = self._items.get(what)
        return item is not None and _are_same(item[0], owners)

    def forget_gone(self) -> None:
        """Drop what was made of rows that nobody has any more, such as those of dropped tables."""
        while gone := self._gone():  # What one array is made of may be another one.
            for what in gone:
                self._items.pop(what, None)

    def _gone(self) -> list[object]:
        return [
            what
            for what, (owners, *_) in list(self._items.items())
            if any(owner() is None for owner in owners)
        ]


def _are_same(known: tuple[ref[Any], ...], owners: tuple[object, ...]) -> bool:
    return len(known) == len(owners) and all(
        each() is owner for each, owner in zip(known, owners, strict=True)
    )


def owned_bytes(made: Any) -> int:
    """Return about the bytes that arrays take; a view of a table's column takes none."""
    match made:
        case None:
            return 0
        case np.ndarray():
            return made.nbytes if made.flags.owndata else 0
        case pa.Array():
            return int(made.nbytes)
        case tuple():
            return sum(map(owned_bytes, made))
        case Measure(values=values, valid=valid):
            return owned_bytes((values, valid))
        case _:
            return int(made.size_bytes)
