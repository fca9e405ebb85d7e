"""URLs of objects: which paths are some, and the store that each is in.

s3://bucket/key    gs://bucket/key    az://container/key    https://host/key
"""

from __future__ import annotations

import re

from raydb.errors import OperationalError

_URL = re.compile(r"([a-z0-9]{2,16})://([^/?#]*)/?(.*)", re.DOTALL)
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


def is_url(path: str) -> bool:
    """Tell whether a path is the URL of an object.

    >>> is_url("s3://shop/sales.parquet"), is_url("sales.parquet"), is_url("ftp://shop/sales.csv")
    (True, False, False)
    """
    match = _URL.match(path)
    return match is not None and match.group(1) in SCHEMES


def split_url(url: str) -> tuple[str, str]:
    """Return the store of an object and its key there.

    Raises OperationalError for a URL without a bucket, and for a name and password in one, which
    would be shown wherever the URL is.

    >>> split_url("s3a://shop/2026/sales.parquet")
    ('s3://shop', '2026/sales.parquet')
    """
    match = _URL.match(url)
    if match is None or match.group(1) not in SCHEMES:
        raise OperationalError(f"'{url}' is not the URL of an object")
    scheme, host, key = match.groups()
    if "@" in host and SCHEMES[scheme] != "az":
        shown = url.replace(host, "..." + host[host.rindex("@") :], 1)
        raise OperationalError(f"'{shown}' has a password in it; give it as a secret instead")
    if not host:
        raise OperationalError(f"'{url}' names no bucket")
    return f"{SCHEMES[scheme]}://{host}", key
