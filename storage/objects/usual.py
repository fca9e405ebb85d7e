"""The usual credentials of a machine: its environment, a user's files, the role of an instance.

The library reads variables by itself (AWS_*, GOOGLE_*, AZURE_*), tokens of containers and of web
identities, and asks an instance for its role. It reads no AWS profile, and would ask machines that
are no instances for half a minute; both are done here. Where nothing is found, requests are not
signed, which public buckets allow.
"""

from __future__ import annotations

import configparser
import os
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raydb.errors import OperationalError
from raydb.remote import Hidden
from raydb.storage.objects.instance import is_amazon, is_azure, is_google
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

_UNSIGNED = {"skip_signature": "true"}
# What says in a profile that its keys come from elsewhere.
_SIGNED_IN = ("sso_session", "sso_start_url", "role_arn", "credential_process", "login_session")
_AWS_TOKENS = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_GOOGLE = (
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_BEARER_TOKEN",
    "GOOGLE_SKIP_SIGNATURE",
)
_GOOGLE_FILE = "~/.config/gcloud/application_default_credentials.json"
_AZURE = (
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_MASTER_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_USE_AZURE_CLI",
    "AZURE_SKIP_SIGNATURE",
)


@dataclass(frozen=True, slots=True)
class Found:
    """Options of the library. provider: returns keys, which it asks for again when they expire."""

    config: dict[str, str] = field(repr=False)
    provider: Callable[[], Any] | None = None


def environment_state() -> int:
    """Return another number where the variables and files that are read here may be others."""
    variables = [
        each for each in os.environ.items() if each[0].startswith(("AWS_", "GOOGLE_", "AZURE_"))
    ]
    return hash((tuple(variables), *map(_state, _profile_files())))


def _state(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def usual_s3(profile: str | None = None) -> Found:
    """Return what reaches S3. profile: that of a secret; it comes before variables.

    Raises OperationalError for a profile that is not there or needs another program.
    """
    is_named = profile is not None
    if not is_named and _is_on("AWS_SKIP_SIGNATURE"):
        return Found({})
    name = profile or os.environ.get("AWS_PROFILE") or "default"
    values = _profile(name, must_exist=is_named or name != "default")
    place = _place(values)
    if not is_named and "AWS_ACCESS_KEY_ID" in os.environ:
        return Found(place)
    is_chosen = is_named or "AWS_PROFILE" in os.environ
    if not is_chosen and "AWS_WEB_IDENTITY_TOKEN_FILE" in os.environ:
        return Found(place)
    if "aws_access_key_id" in values:
        keys = {
            "access_key_id": values["aws_access_key_id"],
            "secret_access_key": values.get("aws_secret_access_key", Hidden("")),
            "token": values.get("aws_session_token"),
            "expires_at": None,
        }
        return Found(place, keys.copy)
    if any(each in values for each in _SIGNED_IN):
        return Found(place, _boto3_provider(name))
    if any(each in os.environ for each in _AWS_TOKENS) or is_amazon():
        return Found(place)
    return Found({**place, **_UNSIGNED})


def _place(values: dict[str, Hidden]) -> dict[str, str]:
    """Return the region and the endpoint of a profile, where no variable says them."""
    place: dict[str, str] = {}
    if "region" in values and not os.environ.keys() & {"AWS_REGION", "AWS_DEFAULT_REGION"}:
        place["region"] = values["region"]
    variables = {"AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}
    if "endpoint_url" in values and not os.environ.keys() & variables:
        place["endpoint"] = values["endpoint_url"]
    return place


def _profile_files() -> tuple[Path, Path]:
    """Return the files of keys and of the rest."""
    keys = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials"
    rest = os.environ.get("AWS_CONFIG_FILE") or "~/.aws/config"
    return Path(os.path.expanduser(keys)), Path(os.path.expanduser(rest))  # noqa: PTH111


def _profile(name: str, *, must_exist: bool) -> dict[str, Hidden]:
    """Return what both files say of a profile; that of keys goes before."""
    keys, rest = _profile_files()
    in_rest = name if name == "default" else f"profile {name}"
    sections = [_section(rest, in_rest), _section(keys, name)]
    if must_exist and not any(sections):
        raise OperationalError(f"the AWS profile '{name}' is in neither '{keys}' nor '{rest}'")
    return {key: value for section in sections for key, value in (section or {}).items()}


def _section(path: Path, name: str) -> dict[str, Hidden] | None:
    parser = configparser.RawConfigParser(strict=False, default_section="")
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, configparser.Error):
        # The error has a line of the file in it.
        raise OperationalError(f"file '{path}' cannot be read as AWS profiles") from None
    if not parser.has_section(name):
        return None
    return {key: Hidden(value) for key, value in parser.items(name)}


def _boto3_provider(name: str) -> Callable[[], Any]:
    """Return what gets the keys of a profile that signs in, or takes a role."""
    try:
        import boto3  # noqa: PLC0415  (a user of such profiles may have it)
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415
    except ImportError:
        raise OperationalError(
            f"the AWS profile '{name}' signs in or takes a role, which needs boto3: pip install"
            " boto3"
        ) from None
    try:
        provider: Callable[[], Any] = Boto3CredentialProvider(boto3.Session(profile_name=name))
    except (BotoCoreError, ValueError):
        raise OperationalError(f"boto3 finds no keys for the AWS profile '{name}'") from None
    return provider


def usual_google() -> Found:
    """Return what reaches Google's store."""
    has_file = os.path.exists(os.path.expanduser(_GOOGLE_FILE))  # noqa: PTH110, PTH111
    is_known = has_file or any(each in os.environ for each in _GOOGLE) or is_google()
    return Found({} if is_known else _UNSIGNED)


def usual_azure() -> Found:
    """Return what reaches Azure's store, beside the name of the account."""
    is_known = any(each in os.environ for each in _AZURE) or is_azure()
    return Found({} if is_known else _UNSIGNED)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes", "on")
