"""An object store on this machine for tests: moto's S3 behind a lock, a log, delays and faults.

    server = StoreServer()
    server.faults.append(Fault("lost reply", "PUT", r"/HEAD$", at=2))

It speaks HTTP itself, so that connections are kept and cut as real ones are. Other processes use it
through `environment`. Its faults are in store_faults.py.
"""

from __future__ import annotations

import io
import logging
import os
import socket
import struct
import threading
import time
import urllib.parse
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from moto.server import DomainDispatcherApplication, create_backend_app
from store_faults import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from store_faults import Fault

logging.getLogger("werkzeug").setLevel(logging.ERROR)

# struct linger: what was not sent is thrown away.
_AT_ONCE = struct.pack("ii", 1, 0)
WRITES = ("PUT", "POST", "DELETE")


@dataclass
class Request:
    """What was asked, and what became of it.

    range: as in the header; condition: If-Match or If-None-Match. status: None where no reply was
    made. began, ended: seconds of a clock; sent, received: bytes of bodies, seen from the client.
    """

    method: str
    path: str
    range: str | None
    condition: str | None
    query: str = ""
    status: int | None = None
    began: float = 0.0
    ended: float = 0.0
    sent: int = 0
    received: int = 0


@dataclass
class StoreServer:
    """A server of S3; each instance of its process shares the buckets.

    delay_s: of each request. hook: called with each request before it is done, on a thread of its
    connection. faults: the first one that is due becomes of a request. keeps_versions: whether what
    was written is kept, for faults that read it later.
    """

    delay_s: float = 0.0
    log: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    hook: Callable[[Request], None] | None = None
    keeps_versions: bool = False

    def __post_init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        # moto looks whether a write may be done, and then does it.
        self._writing = threading.RLock()
        self._choosing = threading.Lock()
        self._late: list[Callable[[], object]] = []
        self.versions: dict[str, list[bytes]] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.store = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.environment = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }

    def make_bucket(self, name: str) -> None:
        """Make an empty bucket."""
        assert self.do("PUT", f"/{name}").status == 200

    def do(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """Do a request as no client asked it: it is not in the log, and has no fault."""
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": urllib.parse.unquote(path),
            "RAW_URI": path,
            "REQUEST_URI": path,
            "QUERY_STRING": "",
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self._server.server_port),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": f"127.0.0.1:{self._server.server_port}",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        environ |= {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        return self.perform(environ, body)

    def perform(self, environ: dict[str, Any], body: bytes) -> Reply:
        """Let the store do a request."""
        environ["wsgi.input"] = io.BytesIO(body)
        began: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            began[:] = int(status[:3]), headers

        if environ["REQUEST_METHOD"] not in WRITES:
            data = b"".join(self._app(environ, start))
        else:
            with self._writing:
                data = b"".join(self._app(environ, start))
                self._keep(environ, body, began[0])
        return Reply(began[0], began[1], data)

    def _keep(self, environ: dict[str, Any], body: bytes, status: int) -> None:
        plain = environ["REQUEST_METHOD"] == "PUT" and not environ["QUERY_STRING"]
        if self.keeps_versions and plain and status == 200:
            self.versions.setdefault(environ["PATH_INFO"], []).append(body)

    def answer(self, environ: dict[str, Any], body: bytes) -> Reply:
        """Return what a client gets."""
        request = Request(
            environ["REQUEST_METHOD"],
            environ["PATH_INFO"],
            environ.get("HTTP_RANGE"),
            environ.get("HTTP_IF_MATCH") or environ.get("HTTP_IF_NONE_MATCH"),
            environ["QUERY_STRING"],
            began=time.monotonic(),
            sent=len(body),
        )
        self.log.append(request)
        if self.hook is not None:
            self.hook(request)
        with self._choosing:
            # Each is asked, so that all of them count.
            due = [fault for fault in tuple(self.faults) if fault.is_due(request)]
        self._land()
        if self.delay_s:
            self.wait(self.delay_s)
        reply = due[0].reply(self, environ, body) if due else self.perform(environ, body)
        request.status = reply.status
        request.received = len(reply.data) - reply.missing
        request.ended = time.monotonic()
        return reply

    @staticmethod
    def wait(seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def postpone(self, write: Callable[[], object], requests: int) -> None:
        """Do a write when so many more requests have come, or `land_all` is called."""

        def wait(left: int = requests) -> object:
            if left <= 1:
                return write()
            return self.postpone(write, left - 1)

        with self._choosing:
            self._late.append(wait)

    def _land(self) -> None:
        with self._choosing:
            late, self._late = self._late, []
        for wait in late:
            wait()

    def land_all(self) -> None:
        """Do all writes that are late."""
        while self._late:
            self._land()

    def close(self) -> None:
        """End it; its buckets are kept by the process."""
        self._server.shutdown()
        self._server.server_close()


def trips(log: Sequence[Request]) -> int:
    """Return how many requests had to wait for another one, and one: those side by side are one."""
    count, end = 0, float("-inf")
    for request in sorted(log, key=lambda each: each.ended):
        if request.began >= end:
            count, end = count + 1, request.ended
    return count


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    store: StoreServer

    def handle_error(self, *_: object) -> None:
        """A client that is gone is no error."""


class _Handler(BaseHTTPRequestHandler):
    """One connection. http.server keeps it, reads the headers and writes the status line."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    server: _Server

    def _do(self) -> None:
        body = self._body()
        reply = self.server.store.answer(self._environ(len(body)), body)
        if reply.status is not None:
            self._send(reply)
        if reply.cut:
            self._cut(reply.cut)

    def _send(self, reply: Reply) -> None:
        given = {name.lower(): (name, value) for name, value in reply.headers}
        _, size = given.pop("content-length", ("", "0"))
        for name in ("connection", "transfer-encoding"):
            given.pop(name, None)
        self.send_response_only(reply.status)
        for name, value in given.values():
            self.send_header(name, value)
        if reply.status not in (204, 304):
            is_head = self.command == "HEAD"
            self.send_header("Content-Length", size if is_head else str(len(reply.data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.data[: len(reply.data) - reply.missing])
        self.wfile.flush()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _do  # noqa: N815

    def handle_expect_100(self) -> bool:
        """Tell a client that waits for it to send the body."""
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _environ(self, size: int) -> dict[str, Any]:
        path, _, query = self.path.partition("?")
        environ = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            # As WSGI has it: bytes in the place of characters.
            "PATH_INFO": urllib.parse.unquote(path, "latin-1"),
            "RAW_URI": self.path,
            "REQUEST_URI": self.path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(size),
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.server.server_port),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            if name.lower() not in ("content-type", "content-length", "transfer-encoding"):
                environ["HTTP_" + name.upper().replace("-", "_")] = value
        return environ

    def _cut(self, how: str) -> None:
        """End the connection: in order, or by a reset."""
        self.close_connection = True
        with suppress(OSError):
            if how == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                os.close(self.connection.detach())
            else:
                self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
