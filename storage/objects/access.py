"""How an object store is reached: credentials, time-outs and retries, as the library wants them.

A secret says how its URLs are reached. Without one it is what other programs on the machine use,
see `raydb.storage.objects.usual`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raydb.errors import OperationalError
from raydb.remote import Hidden
from raydb.storage.objects.secret_options import HEADER
from raydb.storage.objects.usual import Found, usual_azure, usual_google, usual_s3
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.remote import Access, Secret

# A request that fails for a moment is made again so many times.
_RETRIES = 4
_BACKOFF = {
    "init_backoff": timedelta(milliseconds=50),
    "max_backoff": timedelta(seconds=2),
    "base": 2,
}

_GOOGLE_BY_KEYS = "https://storage.googleapis.com"


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What a store of the library is made with. kind: s3, gs, az or http."""

    kind: str
    found: Found
    client: dict[str, Any]
    retries: dict[str, Any]


def options_of(root: str, secret: Secret | None, access: Access) -> StoreOptions:
    """Return what a store is made with. root: its URL, such as 's3://bucket'.

    Raises OperationalError where the files of credentials do not say what is needed.
    """
    timeout = timedelta(milliseconds=access.timeout_ms)
    client: dict[str, Any] = {"timeout": timeout, "connect_timeout": timeout, "allow_http": True}
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        client["root_certificate"] = _certificates(bundle)
    retries = {"max_retries": _RETRIES, "retry_timeout": timeout, "backoff": _BACKOFF}
    scheme, _, bucket = root.partition("://")
    kind = "http" if scheme == "https" else scheme
    given = {} if secret is None else dict(secret.options)
    chain = secret is None or given.pop("provider", "config") == "credential_chain"
    match kind:
        case "s3":
            found = _s3(bucket, given, usual_s3(given.get("profile")) if chain else None)
        case "gs" if "key_id" in given:
            kind, given = "s3", {"endpoint": _GOOGLE_BY_KEYS, **given}
            found = _s3(bucket, given, None)
        case "gs":
            found = _google(given, usual_google() if chain else None)
        case "az":
            found = _azure(given, usual_azure() if chain else None)
        case _:
            client["default_headers"] = _headers(given)
            found = Found({})
    return StoreOptions(kind, found, client, retries)


def _certificates(path: str) -> bytes:
    """Return the certificates of a file, which are trusted beside the system's."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise OperationalError(
            f"file '{path}', which AWS_CA_BUNDLE names, cannot be read: {error.strerror}"
        ) from None


def _s3(bucket: str, given: Mapping[str, str], usual: Found | None) -> Found:
    config = {} if usual is None else dict(usual.config)
    provider = None if usual is None else usual.provider
    if "key_id" in given:
        # A provider hides a token of the environment, which belongs to other keys.
        keys = {
            "access_key_id": given["key_id"],
            "secret_access_key": given.get("secret", Hidden("")),
            "token": given.get("session_token") or None,
            "expires_at": None,
        }
        provider = keys.copy
        config["skip_signature"] = "false"
    elif usual is None:
        config["skip_signature"] = "true"
    if "region" in given:
        config["region"] = given["region"]
    is_virtual = given.get("url_style") == "vhost"
    if is_virtual:
        config["virtual_hosted_style_request"] = "true"
    if "endpoint" in given:
        config["endpoint"] = _endpoint(given, bucket if is_virtual else "")
        if os.environ.get("AWS_ENDPOINT_URL_S3", config["endpoint"]) != config["endpoint"]:
            raise OperationalError(
                "the variable AWS_ENDPOINT_URL_S3 names another endpoint than the secret, which"
                " cannot take its place; AWS_ENDPOINT_URL may"
            )
    if "kms_key_id" in given:
        config |= {"server_side_encryption": "aws:kms", "sse_kms_key_id": given["kms_key_id"]}
    if given.get("requester_pays") == "true":
        config["request_payer"] = "true"
    return Found(config, provider)


def _endpoint(given: Mapping[str, str], bucket: str) -> str:
    written = given["endpoint"].rstrip("/")
    scheme, sign, host = written.partition("://")
    if not sign:
        scheme, host = "http" if given.get("use_ssl") == "false" else "https", written
    return f"{scheme}://{bucket}.{host}" if bucket else f"{scheme}://{host}"


def _google(given: Mapping[str, str], usual: Found | None) -> Found:
    names = {
        "service_account_key": "service_account_key",
        "service_account_path": "service_account",
        "bearer_token": "bearer_token",
    }
    config = {names[name]: value for name, value in given.items() if name in names}
    if "endpoint" in given:
        config["base_url"] = _endpoint(given, "")
    if usual is not None:
        return Found({**usual.config, **config})
    is_signed = names.keys() & given.keys()
    return Found(config if is_signed else {**config, "skip_signature": "true"})


# Names of Azure's in a connection string, and ours.
_IN_CONNECTION_STRING = {
    "accountname": "account_name",
    "accountkey": "account_key",
    "sharedaccesssignature": "sas_token",
    "blobendpoint": "endpoint",
}
_AZURE = {"sas_token": "sas_key", "access_token": "token"}


def _azure(given: Mapping[str, str], usual: Found | None) -> Found:
    given = dict(given)
    for part in given.pop("connection_string", "").split(";"):
        name, _, value = part.partition("=")
        if (known := _IN_CONNECTION_STRING.get(name.strip().lower())) is not None:
            given.setdefault(known, Hidden(value))
    config = {_AZURE.get(name, name): value for name, value in given.items()}
    if usual is not None:
        return Found({**usual.config, **config})
    is_signed = config.keys() & {"account_key", "sas_key", "token", "client_secret"}
    return Found(config if is_signed else {**config, "skip_signature": "true"})


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    headers = {
        name.removeprefix(HEADER): value for name, value in given.items() if name.startswith(HEADER)
    }
    if "bearer_token" in given:
        headers["Authorization"] = Hidden(f"Bearer {given['bearer_token']}")
    return headers
