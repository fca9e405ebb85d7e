"""What secrets say: their options and scopes, and which one a URL has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raydb.storage.objects.urls import SCHEMES

if TYPE_CHECKING:
    from raydb.remote import Secret

# The options of a secret, by the kind of its store.
OPTIONS = {
    "s3": (
        *("key_id", "secret", "session_token", "region", "endpoint", "url_style", "use_ssl"),
        *("profile", "kms_key_id", "requester_pays"),
    ),
    "gs": (
        *("key_id", "secret", "service_account_key", "service_account_path", "bearer_token"),
        *("region", "endpoint", "use_ssl"),
    ),
    "az": (
        *("connection_string", "account_name", "account_key", "sas_token", "access_token"),
        *("tenant_id", "client_id", "client_secret", "endpoint"),
    ),
    "http": ("bearer_token", "extra_http_headers"),
}
# What begins the URLs of a kind.
SCOPES = {
    kind: tuple(f"{scheme}://" for scheme, name in SCHEMES.items() if name == kind)
    for kind in ("s3", "gs", "az", "http")
}
SCOPES["http"] = ("http://", "https://")
# The name of an option that is a header of each request.
HEADER = "header:"

_SCHEME = re.compile(r"([a-z0-9]+)://(.*)", re.DOTALL)


def secret_of(url: str, secrets: tuple[Secret, ...]) -> Secret | None:
    """Return the secret whose scope is the longest that a URL begins with.

    Of two that are alike it is the first one.
    """
    plain, best, longest = _plain(url), None, -1
    for secret in secrets:
        for scope in map(_plain, secret.scopes):
            if len(scope) > longest and _begins(plain, scope):
                best, longest = secret, len(scope)
    return best


def _plain(url: str) -> str:
    """Return a URL, or what one begins with, with one name for each kind of store."""
    match = _SCHEME.match(url)
    return url if match is None else f"{SCHEMES.get(match[1], match[1])}://{match[2]}"


def _begins(url: str, scope: str) -> bool:
    """Tell whether a URL is in a scope: 's3://shop' is not what 's3://shopping' begins with."""
    if not url.startswith(scope):
        return False
    rest = url[len(scope) :]
    is_whole_bucket = "/" not in scope.partition("://")[2]
    return not rest or not is_whole_bucket or rest[0] == "/" or scope.endswith("://")
