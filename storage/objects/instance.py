"""Whether this machine is an instance in a cloud that has a role, and where a bucket is.

The server of an instance tells its role. On any other machine nobody answers at that address: the
first request to a store without credentials waits for a second, and later ones for nothing.
"""

from __future__ import annotations

import http.client
import os
from functools import cache
from urllib.parse import urlsplit

_SERVER = "http://169.254.169.254"
# Amazon's own programs wait as long.
_WAIT_S = 1.0
_AZURE_PATH = "/metadata/instance?api-version=2021-02-01"
_GOOGLE_PATH = "/computeMetadata/v1/instance/service-accounts/default/email"
_TOKEN = "X-aws-ec2-metadata-token"  # noqa: S105


def is_amazon() -> bool:
    """Tell whether the instance has a role."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    server = os.environ.get("AWS_METADATA_ENDPOINT") or _SERVER
    return _has_role(server)


@cache
def _has_role(server: str) -> bool:
    token = _answer(server, "PUT", "/latest/api/token", {f"{_TOKEN}-ttl-seconds": "60"})
    if token is None:
        return False
    path = "/latest/meta-data/iam/security-credentials/"
    return bool(_answer(server, "GET", path, {_TOKEN: token}))


@cache
def is_google() -> bool:
    """Tell whether the instance has a service account."""
    return bool(_answer(_SERVER, "GET", _GOOGLE_PATH, {"Metadata-Flavor": "Google"}))


@cache
def is_azure() -> bool:
    """Tell whether it is an instance, or a service that names its server."""
    if os.environ.keys() & {"IDENTITY_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "AZURE_MSI_ENDPOINT"}:
        return True
    return bool(_answer(_SERVER, "GET", _AZURE_PATH, {"Metadata": "true"}))


def _answer(server: str, method: str, path: str, headers: dict[str, str]) -> str | None:
    """Return what a server answers, None for nothing of use; no proxy is asked."""
    place = urlsplit(server)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_WAIT_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode("latin-1")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return text.strip() if answer.status == http.client.OK else None


def region_of(bucket: str) -> str | None:
    """Return the region of a bucket of Amazon's, which it tells everybody; None where it does not.

    It is asked for once a request was refused.
    """
    connection = http.client.HTTPSConnection("s3.amazonaws.com", timeout=_WAIT_S)
    try:
        connection.request("HEAD", f"/{bucket}")
        return connection.getresponse().getheader("x-amz-bucket-region")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
