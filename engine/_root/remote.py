"""What a statement says of object stores, and what it has asked of them."""

from __future__ import annotations

from raydb.values import dataclass


@dataclass(frozen=True, slots=True)
class Secret:
    """Credentials and options for the URLs that begin with `scope`; shown by its name alone.

    kind: s3, gs, az or http. options: those of the library, by their names.
    """

    name: str
    kind: str
    scope: str
    options: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"


@dataclass(frozen=True, slots=True)
class Access:
    """What a connection says of object stores.

    timeout_ms: how long a request may take. requests: how many run side by side.
    cache_folder: where objects of databases are kept, None for the user's folder for caches.
    cache_bytes: how much of them, 0 for none.
    """

    secrets: tuple[Secret, ...] = ()
    timeout_ms: int = 30_000
    requests: int = 16
    cache_folder: str | None = None
    cache_bytes: int = 10 << 30


@dataclass(slots=True)
class Traffic:
    """What was asked of object stores.

    trips: requests that are made side by side are one. received, sent: bytes of objects.
    """

    requests: int = 0
    trips: int = 0
    received: int = 0
    sent: int = 0
