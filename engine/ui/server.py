"""The server of a page, in a thread of its own.

    server = UiServer(connection)
    server.url                          http://127.0.0.1:PORT/#token=...
    server.close()

Whoever has the address may do with the database what its connection may.
"""

from __future__ import annotations

import atexit
import html
import secrets
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from raydb.engine.ui.gate import Gate, names_of
from raydb.engine.ui.pages import Pages
from raydb.engine.ui.routes import Routes
from raydb.errors import OperationalError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from raydb.engine.api.connection import Connection

# Where the page is unless somebody says otherwise: what it keeps in the browser belongs to a port.
PORT = 31338

# What requests that wait may take once the server is to end.
_STOP_S = 2


class UiServer:
    """A server over a connection's database; each tab of its pages has a connection of its own.

    port: 0 for any that is free; None for the usual one or, where that is taken, any.
    certificate, key: files in PEM, for TLS. Raises OperationalError where it cannot listen.
    """

    def __init__(
        self,
        base: Connection,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        title: str = "",
        certificate: str | None = None,
        key: str | None = None,
    ) -> None:
        self._base = base.duplicate()
        self._pages = Pages(self._base)
        self._socket = _listen(host, port)
        token = secrets.token_urlsafe(24)
        self.port = int(self._socket.getsockname()[1])
        scheme = "http" if certificate is None else "https"
        shown = "127.0.0.1" if host in ("", "0.0.0.0") else host  # noqa: S104  (it is shown alone)
        shown = f"[{shown}]" if ":" in shown else shown
        self.url = f"{scheme}://{shown}:{self.port}/#token={token}"
        self._routes = Routes(self._pages, title)
        gate = Gate(
            self._routes.application(), names_of(host), token, is_secure=certificate is not None
        )
        config = uvicorn.Config(
            gate,
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            server_header=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            timeout_graceful_shutdown=_STOP_S,
        )
        try:
            config.load()
        except OSError as error:  # ssl.SSLError is one.
            self._socket.close()
            self._base.close()
            raise OperationalError(
                f"'{certificate}' and '{key}' are no certificate and its key: {error}"
            ) from error
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="raydb-ui", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)
        while not self._server.started and self._thread.is_alive():
            self._thread.join(0.005)

    @property
    def is_running(self) -> bool:
        """Whether the server listens."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End what runs, undo what is not committed, and stop. Closing twice is harmless."""
        if self._base.is_closed:
            return
        atexit.unregister(self.close)
        self._pages.close()
        self._routes.close()
        self._server.should_exit = True
        self._thread.join(2 * _STOP_S)
        self._socket.close()
        self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<the page {self.url}>" if self.is_running else "<a page that is closed>"

    def _repr_html_(self) -> str:
        """Return a link for a notebook."""
        url = html.escape(self.url)
        return f'<a href="{url}" target="_blank" rel="noopener noreferrer">Open the page</a>'


def _listen(host: str, port: int | None) -> socket.socket:
    ports = [PORT, 0] if port is None else [port]
    for place, number in enumerate(ports):
        try:
            found = socket.getaddrinfo(
                host or None, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            family, kind, protocol, _, address = found[0]
            made = socket.socket(family, kind, protocol)
            try:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind(address)
                made.listen(128)
            except BaseException:
                made.close()
                raise
        except OSError as error:
            if place < len(ports) - 1:
                continue
            reason = (error.strerror or str(error)).lower()
            raise OperationalError(
                f"the server cannot listen at {host}:{number}: {reason}"
            ) from error
        return made
    raise AssertionError("a port is free or an error was raised")
