"""Who may ask: a request has to name this server, come from its own page, and have the token.

    Host            one of the server's own names: another site cannot pose as it (DNS rebinding)
    Origin          the server itself, where a browser tells it: no other site reads or writes
    Sec-Fetch-Site  likewise; a link to the page may come from anywhere
    X-RayDB-Token   for all that is asked; the page's own files hold nothing of anybody

The token is in the fragment of the page's address, which no browser sends to anyone. It is no
cookie: cookies are those of a machine, whatever the port.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-raydb-token"  # noqa: S105  (a name)

_SAFETY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}';"
        " img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Gate:
    """Lets requests pass to an application.

    names: the hosts that the server is known by beside addresses in digits. token: what has to come
    with each question. is_secure: whether it speaks TLS.
    """

    def __init__(self, app: ASGIApp, names: set[str], token: str, *, is_secure: bool) -> None:
        self._app = app
        self._names = names
        self._token = token.encode()
        self._scheme = "https" if is_secure else "http"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _SAFETY.items():
                    headers[name] = value.format(nonce=nonce)
                headers.setdefault("Cache-Control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope)
        if refusal:
            answer = JSONResponse({"sentence": refusal}, status_code=403)
            await answer(scope, receive, send_safely)
        else:
            await self._app(scope, receive, send_safely)

    def _refusal(self, headers: Headers, scope: Scope) -> str:
        """Return why a request is refused, '' where it is not."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return "the request is for another host"
        path, method = scope["path"], scope["method"]
        is_link = path == "/" and method == "GET" and "origin" not in headers
        if any(each != f"{self._scheme}://{hosts[0]}" for each in headers.getlist("origin")):
            return "the request comes from another site"
        if not is_link and headers.get("sec-fetch-site", "same-origin") not in {
            "same-origin",
            "none",
        }:
            return "the request comes from another site"
        if path.startswith("/api/"):
            given = headers.get(TOKEN_HEADER, "").encode("utf-8", "replace")
            if not hmac.compare_digest(given, self._token):
                return "the token is missing or wrong; open the address that the program has shown"
        return ""

    def _is_own(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() in self._names:
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        # An address is what it is: only names can be made to mean another one.
        return address.is_loopback or "*" in self._names


def names_of(host: str) -> set[str]:
    """Return the names that a server which listens at a host is known by.

    '*' stands for any address in digits.
    """
    names = {"localhost", host.lower()}
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    return names if is_local else {*names, "*", socket.gethostname().lower(), socket.getfqdn()}
