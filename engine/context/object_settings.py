"""The settings about object stores, and what they say together of how stores are reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.engine.context.memory import whole_limit
from raydb.engine.context.setting import Setting, one_of, parse_switch, whole_number
from raydb.errors import OperationalError, ProgrammingError
from raydb.remote import Access, Hidden, Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.session.settings import Settings

_CACHE_SIZE = "10GB"
# More would be a slip of the keyboard.
_MAX_REQUESTS = 1024
_MAX_TIMEOUT_MS = 3_600_000
_MAX_HOURS = 100_000


def _parse_cache_size(text: str, name: str) -> str:
    if text.strip() == "0":
        return "0"
    if text.lower() == "none" or text.strip().endswith("%"):
        raise ProgrammingError(f"{name} is like '10GB' or 0, not '{text}'")
    whole_limit(text, name)
    return text


def _check_external(settings: Settings, _: str) -> None:
    """Raise OperationalError where statements may not reach files and stores."""
    if not settings.has_external_access:
        raise OperationalError(
            "what reaches object stores cannot be changed: external_access is off for this"
            " connection"
        )


def _credential(name: str, meaning: str, *, is_hidden: bool = False) -> Setting[str]:
    """Return a setting as DuckDB has had it before secrets."""
    return Setting(
        name,
        Hidden(""),
        lambda text, _: Hidden(text),
        "a text",
        meaning,
        guard=_check_external,
        shown=(lambda value: "***" if value else "") if is_hidden else str,
    )


_TIMEOUT = Setting(
    "object_timeout",
    30_000,
    whole_number(1, _MAX_TIMEOUT_MS),
    "milliseconds",
    "how long a request to an object store may take, see [objects.md](../objects.md)",
)
_REQUESTS = Setting(
    "object_requests",
    16,
    whole_number(1, _MAX_REQUESTS),
    "a number from 1 to 1024",
    "how many such requests run side by side",
)
_REFRESH = Setting(
    "object_refresh",
    0,
    whole_number(0, _MAX_TIMEOUT_MS),
    "milliseconds",
    "for how long a reader of a database in a store may do with the version that it saw last;"
    " 0 asks the store before each statement",
)
_RETENTION = Setting(
    "object_retention",
    168,
    whole_number(0, _MAX_HOURS),
    "hours",
    "for how long VACUUM leaves files of a database in a store that no version names any more,"
    " for readers of earlier ones",
)
_CACHE_DIRECTORY = Setting(
    "cache_directory",
    "",
    lambda text, _: text,
    "a folder",
    "where objects of databases in stores are kept; empty is the user's folder for caches",
    guard=_check_external,
)
_CACHE = Setting(
    "cache_size",
    _CACHE_SIZE,
    _parse_cache_size,
    "such as `'10GB'`, 0",
    "how much of them; 0 keeps nothing on disk",
)
_REGION = _credential("s3_region", "the region of buckets, as in a [secret](../objects.md#secrets)")
_KEY = _credential("s3_access_key_id", "the name of the key", is_hidden=True)
_SECRET = _credential("s3_secret_access_key", "the key, which SHOW hides", is_hidden=True)
_TOKEN = _credential("s3_session_token", "the token of a session", is_hidden=True)
_ENDPOINT = _credential("s3_endpoint", "the server, such as `'127.0.0.1:9000'`")
_STYLE = Setting(
    "s3_url_style",
    "",
    lambda text, name: one_of(("", "path", "vhost"))(text.lower(), name),
    "`'path'`, `'vhost'`",
    "whether the bucket is in the path or in the name of the server",
    guard=_check_external,
)
_SSL = Setting(
    "s3_use_ssl",
    True,
    parse_switch,
    "`'on'`, `'off'`",
    "whether that server speaks TLS",
    guard=_check_external,
)

OBJECT_SETTINGS: tuple[Setting[Any], ...] = (
    *(_TIMEOUT, _REQUESTS, _REFRESH, _RETENTION, _CACHE_DIRECTORY, _CACHE),
    *(_REGION, _KEY, _SECRET, _TOKEN, _ENDPOINT, _STYLE, _SSL),
)


def access_of(value: Callable[[Setting[Any]], Any], secrets: tuple[Secret, ...]) -> Access:
    """Return how stores are reached; value: returns that of a setting.

    A secret of the settings comes after those of CREATE SECRET.
    """
    given = {
        "key_id": value(_KEY),
        "secret": value(_SECRET),
        "session_token": value(_TOKEN),
        "region": value(_REGION),
        "endpoint": value(_ENDPOINT),
        "url_style": value(_STYLE),
    }
    given = {name: each for name, each in given.items() if each}
    if given:
        given["use_ssl"] = "true" if value(_SSL) else "false"
        given["provider"] = "config" if "key_id" in given else "credential_chain"
        secrets = (*secrets, Secret("s3_ settings", "s3", ("s3://",), tuple(given.items())))
    size = value(_CACHE)
    return Access(
        secrets,
        value(_TIMEOUT),
        value(_REQUESTS),
        value(_CACHE_DIRECTORY) or None,
        0 if size == "0" else whole_limit(size, _CACHE.name) or 0,
        value(_REFRESH),
        value(_RETENTION),
    )
