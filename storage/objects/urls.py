"""URLs of objects: which paths are some, and the store that each is in.

s3://bucket/key    gs://bucket/key    az://container/key    https://host/key
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from raydb.errors import OperationalError

_URL = re.compile(r"([a-z0-9]{2,16})://([^/?#]*)/?(.*)", re.DOTALL)
# What follows the path behind http(s), which may be a token. In a bucket `?` may be in a name.
_WEB = re.compile(r"(https?://[^?#]*)([?#].*)?", re.DOTALL)
# What each scheme is called by the library.
SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "http": "http",
    "https": "https",
}
_WEB_SCHEMES = ("http", "https")


def is_url(path: str) -> bool:
    """Tell whether a path is the URL of an object.

    >>> is_url("s3://shop/sales.parquet"), is_url("sales.parquet"), is_url("ftp://shop/sales.csv")
    (True, False, False)
    """
    match = _URL.match(path) if "://" in path else None
    return match is not None and match.group(1) in SCHEMES


def is_listed(url: str) -> bool:
    """Tell whether a store can say which objects it has: http(s) cannot."""
    return not url.startswith(tuple(f"{scheme}://" for scheme in _WEB_SCHEMES))


def shown(path: str) -> str:
    """Return a path or URL as messages show it: without a query, which may hold a token.

    >>> shown("https://host/x.parquet?token=1"), shown("s3://shop/a?.csv")
    ('https://host/x.parquet', 's3://shop/a?.csv')
    """
    match = _WEB.match(path) if path.startswith("http") else None
    return path if match is None else match.group(1)


def split_url(url: str) -> tuple[str, str]:
    """Return the store of an object and its key there; the query of a web page is the store's.

    Raises OperationalError for a URL without a bucket, and for a name and password in one, which
    would be shown wherever the URL is.

    >>> split_url("s3a://shop/2026/sales.parquet")
    ('s3://shop', '2026/sales.parquet')
    >>> split_url("https://host/a%20b.csv?token=1")
    ('https://host?token=1', 'a b.csv')
    """
    plain = shown(url)
    match = _URL.match(plain)
    if match is None or match.group(1) not in SCHEMES:
        raise OperationalError(f"'{plain}' is not the URL of an object")
    scheme, host, key = match.groups()
    if "@" in host and SCHEMES[scheme] != "az":
        without = plain.replace(host, "..." + host[host.rindex("@") :], 1)
        raise OperationalError(f"'{without}' has a password in it; give it as a secret instead")
    if not host:
        missing = "host" if scheme in _WEB_SCHEMES else "bucket"
        raise OperationalError(f"'{plain}' names no {missing}")
    if scheme in _WEB_SCHEMES:
        query = url[len(plain) :].partition("#")[0]
        return f"{scheme}://{host}{query}", unquote(key)
    return f"{SCHEMES[scheme]}://{host}", key
