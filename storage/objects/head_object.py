"""HEAD in its store: read, and written on the condition that nobody else has written it.

A write whose reply is lost may have been done, and a write that was given up may be done later.
Each write has a number, one more than that of the one before, and a random name, and holds the
names of those before it. After any failure HEAD is read again: it holds this write, or one that
another writer has made after it, and this one has succeeded; or what was there before, and the
write is made again under the same name; or only another writer's, and this one has lost. Where the
store stays silent nobody knows: the next write settles it, since no earlier one can be done after
it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from raydb.errors import OperationalError
from raydb.storage.objects.head import Head, Parts, decode_head, decode_version, encode_head
from raydb.storage.objects.store import PreconditionError, Tag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.storage.objects.store import Content, ObjectStore

# Between two tries to write, which double.
_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 2.0
# A tag that no object has.
_NEVER = Tag('"0"', "1")
# So many names of earlier writes are kept.
_KEPT_NAMES = 256
_NOTHING = Head(0, b"", (), b"", b"", {})


class HeadObject:
    """The object, as it was read or written last; one thread writes at a time."""

    def __init__(self, name: str, store: ObjectStore, key: str) -> None:
        """Prepare. name: of the database, for messages."""
        self.url = store.url_of(key)
        self.known = _NOTHING
        self.is_overtaken = False
        self._name, self._store, self._key = name, store, key
        self._tag: Tag | None = None
        # Names of writes of ours whose end nobody knows.
        self._doubtful: set[bytes] = set()
        self._is_probed = False

    @property
    def is_there(self) -> bool:
        """Whether it was read or written."""
        return self._tag is not None

    def read(self) -> Head | None:
        """Read it, unless it is as it was; return what it holds where that is newer.

        Raises OperationalError where it cannot be read, and where it is no longer there.
        """
        return self._read(lambda: self._store.get(self._key, unless=self._tag))

    def read_later(self) -> Callable[[], Head | None]:
        """Ask for it now, and return the function that reads it when it has come."""
        found = self._store.get_later(self._key, self._tag)
        return lambda: self._read(found)

    def _read(self, get: Callable[[], Content | None]) -> Head | None:
        try:
            found = get()
        except FileNotFoundError as error:
            if self.is_there or "bucket" in (error.strerror or ""):
                raise self._error("read", error) from None
            return None
        except OSError as error:
            raise self._error("read", error) from None
        if found is None:
            return None
        head = decode_head(found.data, self.url)
        if head.number < self.known.number:
            return None  # an older reply, out of some cache
        self._tag, self.known, self.is_overtaken = found.entry.tag, head, False
        return head

    def write_log(self, log: bytes) -> None:
        """Make the log what it is now; see `write`."""
        if log != self.known.log or self._doubtful:
            self.write(self.known.manifest, log, self.known.parts)

    def write(self, manifest: bytes, log: bytes, parts: Mapping[str, Parts]) -> None:
        """Write it in the place of the one that is known.

        Raises OperationalError where another writer was faster; OSError where the store does not
        say within the time-out whether it was done.
        """
        if self.is_overtaken:
            raise self._overtaken("")
        self._check_conditions()
        known = self.known
        earlier = (known.write_id, *known.earlier)[:_KEPT_NAMES] if known.number else ()
        head = Head(known.number + 1, os.urandom(16), earlier, manifest, log, parts)
        self._doubtful.add(head.write_id)
        last = time.monotonic() + self._store.access.timeout_ms / 1000
        wait_s = _FIRST_WAIT_S
        content = encode_head(head)
        while (failure := self._try(content, head)) is not None:
            if time.monotonic() + wait_s > last:
                raise failure
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        # What was given up before can no longer be done: there is another tag.
        self._doubtful.clear()
        self.known = head

    def _try(self, content: bytes, head: Head) -> OSError | None:
        """Write it; return why nobody knows whether that was done, None where it was."""
        tag = self._tag
        try:
            self._tag = self._store.put(
                self._key, content, replaces=tag, is_new=tag is None, asks=False
            )
        except OSError as error:
            failure = error
        else:
            return None
        try:
            found = self._store.get(self._key, asks=False)
        except FileNotFoundError as error:
            if tag is not None or "bucket" in (error.strerror or ""):
                raise self._error("written", error) from None
            return failure
        except OSError:
            return failure
        assert found is not None
        if found.entry.tag == tag:
            return failure
        other = decode_head(found.data, self.url)
        if other.write_id == head.write_id or other.write_id in self._doubtful:
            self._tag = found.entry.tag
            return None if other.write_id == head.write_id else failure
        if other.number <= self.known.number:
            return failure  # an older reply, out of some cache
        self.is_overtaken = True
        if head.write_id in other.earlier:
            return None  # done, and another writer has gone on from it
        if other.number - head.number > len(other.earlier):
            return failure  # so many have gone on from there that nobody knows
        self._doubtful.clear()
        found_manifest, tail = decode_version(other, self.url)
        change = f", change {tail.sequence}" if tail.sequence else ""
        raise self._overtaken(f" version {found_manifest.version}{change}")

    def _overtaken(self, version: str) -> OperationalError:
        return OperationalError(
            f"another writer of database '{self._name}' has made{version or ' a version'}, so what"
            " was to be written now is not; the next statement begins from there"
        )

    def _check_conditions(self) -> None:
        """Raise OperationalError where the store writes whatever the condition; asked once.

        It is asked to write HEAD as it is, in the place of one that never was.
        """
        if self._is_probed or not self.is_there:
            return
        try:
            self._store.put(self._key, encode_head(self.known), replaces=_NEVER, asks=False)
        except PreconditionError:
            self._is_probed = True
            return
        except OSError as error:
            raise self._error("written", error) from None
        raise OperationalError(
            f"database '{self._name}' cannot be written: its store has no conditional writes, so"
            " that two writers would overwrite each other"
        )

    def _error(self, verb: str, error: OSError) -> OperationalError:
        reason = error.strerror or str(error)
        return OperationalError(f"database '{self._name}' cannot be {verb}: {reason}")


class HeadLog:
    """The log as `WalWriter` writes it: bytes, which a sync makes part of HEAD."""

    def __init__(self, content: bytes, write: Callable[[bytes], None]) -> None:
        self._content, self._write = bytearray(content), write

    def write(self, data: bytes | memoryview, offset: int) -> None:
        """Write bytes at an offset, behind which there are none."""
        self._content[offset:] = data

    def truncate(self, size: int) -> None:
        """Cut the log off."""
        del self._content[size:]

    def sync(self) -> None:
        """Return when the log is durable."""
        self._write(bytes(self._content))

    def close(self) -> None:
        """Do nothing."""
