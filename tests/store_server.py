"""An object store on this machine for tests: moto's S3 behind a lock, with a log of requests."""

from __future__ import annotations

import logging
import threading
import time
import urllib.request
from dataclasses import dataclass, field

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Request:
    """What was asked. range: as in the header; condition: If-Match or If-None-Match."""

    method: str
    path: str
    range: str | None
    condition: str | None


@dataclass
class StoreServer:
    """A server of S3; each instance of its process shares the buckets. delay_s: of each request."""

    delay_s: float = 0.0
    log: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        # moto looks whether a write may be done, and then does it.
        self._writing = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.environment = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }

    def _answer(self, environ, start_response):
        condition = environ.get("HTTP_IF_MATCH") or environ.get("HTTP_IF_NONE_MATCH")
        self.log.append(
            Request(
                environ["REQUEST_METHOD"],
                environ["PATH_INFO"],
                environ.get("HTTP_RANGE"),
                condition,
            )
        )
        if self.delay_s:
            time.sleep(self.delay_s)
        if environ["REQUEST_METHOD"] in ("PUT", "POST", "DELETE"):
            with self._writing:
                return list(self._app(environ, start_response))
        return self._app(environ, start_response)

    def make_bucket(self, name: str) -> None:
        """Make an empty bucket."""
        request = urllib.request.Request(f"{self.url}/{name}", method="PUT")
        urllib.request.urlopen(request).close()

    def close(self) -> None:
        """End it; its buckets are kept by the process."""
        self._server.shutdown()
