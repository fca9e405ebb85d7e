"""Files of a database in an object store that no version names any more, and their removal.

Nobody knows who still reads an older version, so that a file is removed a while after it was first
seen to be named by none. A sweep writes what it sees to an object of its own, and removes what such
objects of earlier sweeps name, if these are old enough and still no version names it. Moments are
those of the store, which tells when an object was written: clocks of machines differ.

A writer that has died leaves files that no version ever named; they go the same way.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from raydb.storage.durable.manifest import is_data_name
from raydb.storage.objects.store import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import timedelta

    from raydb.storage.objects.store import Entry, ObjectStore


def sweep(
    store: ObjectStore,
    prefix: str,
    named: Callable[[], set[str]],
    fence: Callable[[], None],
    retention: timedelta,
) -> list[str]:
    """Remove old garbage, note what is garbage now, and return the names of files removed.

    named: returns the files that the newest version names, or a version that is being made may.
    fence: writes HEAD as it is, so that no version that others are about to make can name a file
    which is removed. Raises OSError.
    """
    present = {each.key.rpartition("/")[2] for each in store.entries(f"{prefix}data/")}
    notes = list(store.entries(f"{prefix}garbage/"))
    noted = _read(store, notes)
    garbage = {name for name in present if is_data_name(name)} - named()
    new = garbage.difference(*noted.values()) if noted else garbage
    if not (new or noted):
        return []
    # One that notes nothing only tells the moment: where it stays, the next one overwrites it.
    key = f"{prefix}garbage/{uuid.uuid4().hex if new else 'none'}.json"
    store.put(key, json.dumps(sorted(new)).encode())
    now = store.head(key).last_modified
    old = [note.key for note in notes if now - note.last_modified >= retention]
    removed = sorted(garbage & set().union(*(noted[each] for each in old)))
    if removed:
        fence()
        removed = sorted(set(removed) - named())
        store.delete([f"{prefix}data/{name}" for name in removed])
    # What an old note names is gone now, or named by a version again.
    store.delete(sorted({*old, *(() if new else (key,))}))
    return removed


def _read(store: ObjectStore, notes: Sequence[Entry]) -> dict[str, set[str]]:
    """Return the names in notes by their keys, in one trip; one that is no note names none."""
    contents = store.get_ranges([Wanted(note.key, (0, note.size)) for note in notes])
    found: dict[str, set[str]] = {}
    for note, content in zip(notes, contents, strict=True):
        found[note.key] = set()
        with suppress(ValueError):
            found[note.key] = set(_texts(json.loads(bytes(content))))
    return found


def _texts(names: object) -> Iterable[str]:
    if not isinstance(names, list):
        raise ValueError("a note is a list of names")
    return (name for name in names if isinstance(name, str))
