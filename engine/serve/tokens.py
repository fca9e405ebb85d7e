"""Who may speak: a token goes with each request, and a cookie says which client it is.

A token is the bearer token of a request, or the password of any user: for clients that ask for a
user and a password (JDBC, ADBC's username and password) a handshake makes one of the other.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from pyarrow import flight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The name by which a request finds its middleware.
GATE = "raydb"


class Handshake(flight.ServerAuthHandler):
    """Lets a handshake through: what it needs is in its headers, which `Gate` has looked at."""

    def authenticate(self, outgoing: object, incoming: object) -> None:
        """Do nothing."""

    def is_valid(self, token: bytes) -> bytes:
        """Return no name: who asks is known by the token in the headers."""
        return b""


class Gate(flight.ServerMiddlewareFactory):
    """Lets only those requests begin that have one of some tokens; any where there are none."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = [token.encode() for token in tokens]

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str]]) -> Visitor:
        """Return what the headers say. Raises FlightUnauthenticatedError without a token."""
        cookies = _cookies(headers.get("cookie", ()))
        given = _given(headers.get("authorization", ()))
        # Each is compared, and as a whole: the time tells nothing about where they differ.
        known = [hmac.compare_digest(given, token) for token in self._tokens]
        if self._tokens and not any(known):
            raise flight.FlightUnauthenticatedError("the request has no token that is known here")
        is_handshake = info.method == flight.FlightMethod.HANDSHAKE
        return Visitor(cookies, given if is_handshake else None)


class Visitor(flight.ServerMiddleware):
    """A request that may begin. cookies: by name. bearer: the token to answer a handshake with."""

    def __init__(self, cookies: Mapping[str, str], bearer: bytes | None) -> None:
        self.cookies = cookies
        self._bearer = bearer

    def sending_headers(self) -> Mapping[str, str]:
        """Return the token that the client is to send from now on."""
        return {} if self._bearer is None else {"authorization": f"Bearer {self._bearer.decode()}"}


def _given(headers: Sequence[str]) -> bytes:
    """Return the token of an authorization header, b"" where there is none."""
    for header in headers:
        kind, _, value = header.partition(" ")
        if kind.lower() == "bearer":
            return value.strip().encode()
        if kind.lower() == "basic":
            try:  # Clients in Go leave the padding out.
                padded = value + "=" * (-len(value) % 4)
                return base64.b64decode(padded, validate=True).partition(b":")[2]
            except binascii.Error:
                return b""
    return b""


def _cookies(headers: Sequence[str]) -> dict[str, str]:
    found: SimpleCookie = SimpleCookie()
    for header in headers:
        try:
            found.load(header)
        except CookieError:
            continue
    return {name: morsel.value for name, morsel in found.items()}
