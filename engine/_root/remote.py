"""What a statement says of object stores, and what it has asked of them."""

from __future__ import annotations

from raydb.values import dataclass


class Hidden(str):
    """A text that is not shown where values are, as in the local variables of a traceback."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, slots=True)
class Secret:
    """Credentials and options for some URLs; shown by its name alone.

    kind: s3, gs, az or http. scopes: what the URLs begin with, such as 's3://bucket'. options:
    those of CREATE SECRET, by their names in lower case.
    """

    name: str
    kind: str
    scopes: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"


@dataclass(frozen=True, slots=True)
class Access:
    """What a connection says of object stores.

    timeout_ms: how long a request may take. requests: how many run side by side.
    cache_folder: where objects of databases are kept, None for the user's folder for caches.
    cache_bytes: how much of them, 0 for none. refresh_ms: for how long a reader may do with the
    version that it has seen last. retention_hours: for how long files stay that no version names
    any more, for readers of earlier ones.
    """

    secrets: tuple[Secret, ...] = ()
    timeout_ms: int = 30_000
    requests: int = 16
    cache_folder: str | None = None
    cache_bytes: int = 10 << 30
    refresh_ms: int = 0
    retention_hours: int = 168


@dataclass(slots=True)
class Traffic:
    """What was asked of object stores.

    trips: requests that are made side by side are one. received, sent: bytes of objects.
    """

    requests: int = 0
    trips: int = 0
    received: int = 0
    sent: int = 0
