"""The command `raydb ui`: where the page is, who may see it, and how it ends.

    raydb ui shop.raydb
    raydb ui shop.raydb --readonly --port 8080 --no-browser
    raydb ui shop.raydb --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem

Ctrl-C and SIGTERM end it: statements that run are ended, what is not committed is undone, and what
was acknowledged is durable already.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import webbrowser
from typing import TYPE_CHECKING

import raydb
from raydb.engine.serve.listening import contents_of, is_loopback
from raydb.errors import NotSupportedError, OperationalError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.api.connection import Connection
    from raydb.engine.ui.server import UiServer


def main(given: Sequence[str]) -> int:
    """Show a database until a signal ends it, and return the exit code.

    Raises OperationalError where the server cannot listen or a file cannot be read,
    ProgrammingError for options that would let strangers in, and NotSupportedError where the
    packages are missing.
    """
    options = _parser().parse_args(given)
    _check(options)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    with raydb.connect(options.database, read_only=options.readonly) as base:
        server = open_page(
            base,
            host=options.host,
            port=options.port,
            title=options.database or "",
            certificate=options.tls_cert,
            key=options.tls_key,
        )
        name = options.database or "a database in memory"
        sys.stdout.write(f"RayDB shows {name} at {server.url}\nCtrl-C ends it\n")
        sys.stdout.flush()
        if options.browser:
            show(server.url)
        try:
            while server.is_running and not done.wait(1.0):
                pass
        finally:
            server.close()
    return 0


def open_page(
    base: Connection,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    title: str = "",
    certificate: str | None = None,
    key: str | None = None,
) -> UiServer:
    """Return a server over a connection's database. Raises as `main` does."""
    try:
        import starlette  # noqa: F401, PLC0415  (an extra)
        import uvicorn  # noqa: F401, PLC0415  (an extra)
    except ImportError as error:
        raise NotSupportedError(
            f"the page needs the package {error.name}: pip install 'raydb[ui]'"
        ) from None
    from raydb.engine.ui.server import UiServer  # noqa: PLC0415  (it imports these)

    if port is not None and not (isinstance(port, int) and 0 <= port < 2**16):
        raise OperationalError(f"{port!r} is no port")

    return UiServer(base, host=host, port=port, title=title, certificate=certificate, key=key)


def show(url: str) -> None:
    """Open an address in the user's browser, where there is a screen to show it."""
    has_screen = sys.platform in {"darwin", "win32"} or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if has_screen:
        webbrowser.open(url)


def _check(options: argparse.Namespace) -> None:
    """Refuse what would let strangers read along, where nobody has said so plainly."""
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ProgrammingError("--tls-cert and --tls-key go together")
    for path in (options.tls_cert, options.tls_key):
        if path is not None:
            contents_of(path)
    if options.tls_cert is None and not (options.insecure or is_loopback(options.host)):
        raise ProgrammingError(
            f"'{options.host}' can be reached from other machines: give --tls-cert and --tls-key,"
            " or --insecure"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="raydb ui",
        description="Show a database on a page in the browser until Ctrl-C.",
        allow_abbrev=False,
    )
    parser.add_argument("database", nargs="?", help="a database directory; in memory without one")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at (%(default)s)"
    )
    parser.add_argument(
        "--port", type=int,
        help="the port, 0 for any that is free (31338, or any where that is taken)",
    )  # fmt: skip
    parser.add_argument(
        "--readonly", "--read-only", action="store_true", help="leave the database as it is"
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="open no browser"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="a certificate (chain) in PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key in PEM")
    parser.add_argument(
        "--insecure", action="store_true", help="listen to other machines without TLS"
    )
    return parser
