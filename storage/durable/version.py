"""Versions: what a database holds at one moment, and where in its files that is."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from raydb.errors import OperationalError
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.storage.durable.filesystem import Lock
    from raydb.storage.durable.manifest import Manifest
    from raydb.storage.durable.wal import Tail


@dataclass(frozen=True)
class Version:
    """What a database holds at one moment.

    state: what was given to the commit of this version; b"" in a new database. records: those after
    the manifest, in order; of a writer, those that were there when it opened: it knows what it
    appends itself. files: the sizes in bytes of the data files, by name.
    """

    version: int
    state: bytes
    records: tuple[bytes, ...]
    files: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Place:
    """A manifest, the log after it, what both show, and a reader's lock on the manifest.

    They are one value because an interrupt must not part them: what was shown before would pass for
    what is shown now.
    """

    manifest: Manifest
    tail: Tail
    shown: Version
    pin: Lock | None

    @staticmethod
    def of(manifest: Manifest, tail: Tail, pin: Lock | None = None) -> Place:
        """Return the place where a manifest and the whole frames of its log end."""
        sizes = MappingProxyType({name: file.size for name, file in manifest.files.items()})
        shown = Version(manifest.version, manifest.state, tail.records, sizes)
        return Place(manifest, tail, shown, pin)

    def check_pin(self, name: object) -> None:
        """Raise OperationalError where the manifest that is pinned is no longer at its path."""
        if self.pin is not None and not self.pin.is_in_place:
            raise OperationalError(
                f"database '{name}' is no longer the one that was opened: its directory was moved, "
                "removed or replaced; open it again"
            )
