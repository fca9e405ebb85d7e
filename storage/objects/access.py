"""How an object store is reached: credentials, time-outs and retries, as the library wants them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raydb.remote import Access

# A request that fails for a moment is made again so many times.
_RETRIES = 4
_BACKOFF = {
    "init_backoff": timedelta(milliseconds=50),
    "max_backoff": timedelta(seconds=2),
    "base": 2,
}


def options_of(url: str, access: Access) -> tuple[Any, Any, Any]:
    """Return the library's options for a store: credentials, client, retries."""
    config = dict(_credentials(url, access))
    timeout = timedelta(milliseconds=access.timeout_ms)
    client = {"timeout": timeout, "connect_timeout": timeout, "allow_http": True}
    return config, client, {"max_retries": _RETRIES, "retry_timeout": timeout, "backoff": _BACKOFF}


def _credentials(url: str, access: Access) -> tuple[tuple[str, str], ...]:
    """Return the options of the secret whose scope is the longest that the URL begins with."""
    known = [each for each in access.secrets if url.startswith(each.scope.rstrip("/"))]
    return max(known, key=lambda each: len(each.scope)).options if known else ()
