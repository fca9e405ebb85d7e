"""Files of a database in an object store that no version names any more, and their removal.

Nobody knows who still reads an older version, so that a file is removed a while after it was first
seen to be named by none. A sweep notes in one object what it sees and since when, and removes what
was seen long enough ago and still no version names. Moments are those of the store, which tells
when an object was written: clocks of machines differ.

A writer that has died leaves files that no version ever named; they go the same way.
"""

from __future__ import annotations

import datetime as dt
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from raydb.storage.durable.manifest import is_data_name
from raydb.storage.objects.store import PreconditionError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from raydb.storage.objects.store import Content, ObjectStore


def sweep(
    store: ObjectStore,
    prefix: str,
    named: Callable[[], set[str]],
    fence: Callable[[], None],
    retention: dt.timedelta,
) -> list[str]:
    """Note what is garbage now, remove what has been for `retention`, and return the names removed.

    named: returns the files that the newest version names, or a version that is being made may.
    fence: writes HEAD as it is, so that no version that others are about to make can name a file
    which is removed. Raises OSError.
    """
    present = {each.key.rpartition("/")[2] for each in store.entries(f"{prefix}data/")}
    garbage = {name for name in present if is_data_name(name)} - named()
    key = f"{prefix}garbage.json"
    try:
        note: Content | None = store.get(key)
    except FileNotFoundError:
        note = None
    if not garbage:
        store.delete([] if note is None else [key])
        return []
    since = _moments(note, garbage)
    # What is new has the moment at which the note is written, which is known after that.
    noted = {name: since[name].isoformat() if name in since else None for name in sorted(garbage)}
    tag = None if note is None else note.entry.tag
    try:
        store.put(key, json.dumps(noted).encode(), is_new=note is None, replaces=tag)
    except PreconditionError:
        return []  # Another writer sweeps, or this note has been written and its reply was lost.
    now = store.head(key).last_modified
    removed = sorted(name for name in garbage if now - since.get(name, now) >= retention)
    if removed:
        fence()
        removed = sorted(set(removed) - named())
        store.delete([f"{prefix}data/{name}" for name in removed])
    return removed


def _moments(note: Content | None, names: Collection[str]) -> dict[str, dt.datetime]:
    """Return since when files have been garbage, as a note says; what is no note says nothing."""
    found: dict[str, dt.datetime] = {}
    if note is None:
        return found
    with suppress(ValueError, AttributeError, TypeError):
        for name, moment in json.loads(bytes(note.data)).items():
            if name in names:
                written = note.entry.last_modified
                since = written if moment is None else dt.datetime.fromisoformat(moment)
                found[name] = min(since, written)
    return found
