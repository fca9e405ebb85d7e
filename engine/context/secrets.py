"""CREATE SECRET and DROP SECRET: credentials of a connection, which nothing writes or shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from raydb import sql
from raydb.errors import NotSupportedError, OperationalError, ProgrammingError, did_you_mean
from raydb.names import is_same
from raydb.remote import Hidden, Secret
from raydb.sql import ast
from raydb.storage.objects.secret_options import HEADER, OPTIONS, SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.session.settings import Settings

_KINDS = {"s3": "s3", "gcs": "gs", "gs": "gs", "azure": "az", "az": "az", "http": "http"}
_PROVIDERS = ("config", "credential_chain", "service_principal", "access_token")
_WITHOUT_EFFECT = ("chain", "refresh", "validation", "url_compatibility_mode")
_SWITCHES = ("use_ssl", "requester_pays")
_TOGETHER = (("key_id", "secret"), ("secret", "key_id"), ("session_token", "key_id"))
# A header that would begin another one, or end them all.
_NO_HEADER = re.compile(r"[\x00-\x1f\x7f]")


def with_secrets(statement: ast.Secret, context: StatementContext) -> Settings:
    """Return the settings of a connection with one secret more or less.

    Raises OperationalError where external_access is off, ProgrammingError for options that do not
    fit; no error shows a value.
    """
    settings = context.settings
    if not settings.has_external_access:
        raise OperationalError(
            "secrets cannot be changed: external_access is off for this connection"
        )
    if isinstance(statement, ast.DropSecret):
        return settings.with_secrets(_without(statement, settings.secrets))
    values = sql.bind_secret(statement, context.parameters)
    context.warnings.extend(
        f"the option '{name}' is DuckDB's and has no effect"
        for name in _WITHOUT_EFFECT
        if values.pop(name, None) is not None
    )
    secret = _secret(statement.name, values)
    known = [each for each in settings.secrets if is_same(each.name, secret.name)]
    if known and statement.if_not_exists:
        return settings
    if known and not statement.or_replace:
        raise ProgrammingError(f"the secret '{known[0].name}' exists already")
    others = tuple(each for each in settings.secrets if each not in known)
    return settings.with_secrets((*others, secret))


def _without(statement: ast.DropSecret, secrets: tuple[Secret, ...]) -> tuple[Secret, ...]:
    left = tuple(each for each in secrets if not is_same(each.name, statement.name))
    if len(left) == len(secrets) and not statement.if_exists:
        near = did_you_mean(statement.name, [each.name for each in secrets])
        raise ProgrammingError(f"the secret '{statement.name}' does not exist{near}")
    return left


def _secret(name: str | None, values: dict[str, Any]) -> Secret:
    written = _text("type", values.pop("type", None)).lower()
    if not written:
        raise ProgrammingError("a secret has a TYPE: s3, gcs, azure or http")
    if written not in _KINDS:
        # What stands there may be anything.
        raise NotSupportedError("secrets have the types s3, gcs, azure and http")
    kind = _KINDS[written]
    provider = _text("provider", values.pop("provider", "config")).lower()
    if provider not in _PROVIDERS:
        raise NotSupportedError(f"secrets have the providers {', '.join(_PROVIDERS)}")
    scopes = tuple(_scopes(kind, values.pop("scope", None)))
    for option in values:
        if option not in OPTIONS[kind]:
            near = did_you_mean(option, OPTIONS[kind])
            raise ProgrammingError(f"secrets of type {written} have no option '{option}'{near}")
    for one, other in _TOGETHER:
        if one in values and other not in values:
            raise ProgrammingError(f"a secret with {one} has {other}, too")
    if "profile" in values and provider != "credential_chain":
        raise ProgrammingError("a secret with profile has PROVIDER credential_chain")
    chain = "credential_chain" if provider == "credential_chain" else "config"
    options = (("provider", chain), *_options(values))
    return Secret(name or f"__default_{written}", kind, scopes, options)


def _scopes(kind: str, written: object) -> Iterator[str]:
    """Yield what URLs begin with; by default all of the kind."""
    if written is None:
        yield from SCOPES[kind]
        return
    for each in written if isinstance(written, list | tuple) else [written]:
        scope = _text("scope", each)
        if not scope.startswith(SCOPES[kind]):
            listed = " or ".join(f"'{begin}'" for begin in SCOPES[kind])
            raise ProgrammingError(f"the scope of such a secret begins with {listed}")
        yield scope


def _options(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if name == "extra_http_headers":
            yield from _headers(value)
        elif name in _SWITCHES:
            text = str(value).lower()
            if text not in ("true", "false"):
                raise ProgrammingError(f"the option '{name}' of a secret is true or false")
            yield name, text
        else:
            text = _text(name, value)
            if name == "url_style" and text not in ("path", "vhost"):
                raise ProgrammingError("the option 'url_style' of a secret is path or vhost")
            if name == "endpoint" and "@" in text:
                raise ProgrammingError("the endpoint of a secret has no password in it")
            yield name, Hidden(text)


def _headers(value: object) -> Iterator[tuple[str, str]]:
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list | tuple):
        raise ProgrammingError("the option 'extra_http_headers' is a map of texts")
    for header, content in pairs:
        text = _text("extra_http_headers", content)
        if _NO_HEADER.search(f"{header}{text}"):
            raise ProgrammingError("a header of a secret has no line breaks")
        yield f"{HEADER}{header}", Hidden(text)


def _text(name: str, value: object) -> str:
    if value is None and name == "type":
        return ""
    if not isinstance(value, str):
        raise ProgrammingError(f"the option '{name}' of a secret is a text")
    return value
