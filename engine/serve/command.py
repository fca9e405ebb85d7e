"""The command `raydb serve`: where it listens, who may speak, and how it ends.

    raydb serve shop.raydb
    raydb serve shop.raydb --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --token-file tokens

Ctrl-C and SIGTERM end it: statements that run are ended, what is not committed is undone, and what
was acknowledged is durable already.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING

import raydb
from raydb.engine.serve.listening import contents_of, is_loopback
from raydb.engine.serve.server import FlightSqlServer
from raydb.errors import OperationalError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PORT = 31337
_IDLE_MINUTES = 30.0


def main(given: Sequence[str]) -> int:
    """Serve a database until a signal ends it, and return the exit code.

    Raises OperationalError where the server cannot listen or a file cannot be read, and
    ProgrammingError for options that would let strangers in.
    """
    options = _parser().parse_args(given)
    _check(options)
    # Else pyarrow sends tracebacks to clients, with the paths of this machine.
    sys.tracebacklimit = 0
    certificates, tokens = _certificates(options), _tokens(options.token_file)
    _check_free(options.host, options.port)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    base = raydb.connect(
        options.database, read_only=options.read_only, external_access=options.external_access
    )
    host = f"[{options.host}]" if ":" in options.host else options.host
    scheme = "grpc+tls" if certificates else "grpc"
    try:
        server = _listen(base, f"{scheme}://{host}:{options.port}", tokens, certificates, options)
        name = options.database or "a database in memory"
        sys.stdout.write(
            f"RayDB serves {name} at {scheme}://{host}:{server.port}; Ctrl-C ends it\n"
        )
        sys.stdout.flush()
        while not done.wait(1.0):
            pass
        has_ended = server.close()
    finally:
        base.close()
    if not has_ended:  # A client reads rows and does not go on; nothing is lost.
        os._exit(0)
    return 0


def _listen(
    base: raydb.Connection,
    location: str,
    tokens: Sequence[str],
    certificates: Sequence[tuple[bytes, bytes]],
    options: argparse.Namespace,
) -> FlightSqlServer:
    try:
        return FlightSqlServer(
            base,
            location,
            tokens=tokens,
            certificates=certificates,
            idle_s=60 * options.idle_minutes,
        )
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise OperationalError(f"the server cannot listen at {location}: {reason}") from error


def _check(options: argparse.Namespace) -> None:
    """Refuse what would let strangers in, or read along, where nobody has said so plainly."""
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ProgrammingError("--tls-cert and --tls-key go together")
    if options.insecure or is_loopback(options.host):
        return
    lacking = [
        name
        for name, value in (("--tls-cert", options.tls_cert), ("--token-file", options.token_file))
        if value is None
    ]
    if lacking:
        raise ProgrammingError(
            f"'{options.host}' can be reached from other machines: give {' and '.join(lacking)},"
            " or --insecure"
        )


def _check_free(host: str, port: int) -> None:
    """Raise OperationalError where another program listens: gRPC would share the port with it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OperationalError(f"the server cannot listen at {host}:{port}: {reason}") from error


def _certificates(options: argparse.Namespace) -> list[tuple[bytes, bytes]]:
    if options.tls_cert is None:
        return []
    return [(contents_of(options.tls_cert), contents_of(options.tls_key))]


def _tokens(path: str | None) -> list[str]:
    """Return the tokens of a file, one a line; a line that begins with # is a remark."""
    if path is None:
        return []
    try:
        lines = contents_of(path).decode().splitlines()
    except UnicodeDecodeError:
        raise ProgrammingError(f"file '{path}' is not UTF-8") from None
    tokens = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not tokens:
        raise ProgrammingError(f"file '{path}' has no token; it has one a line")
    return tokens


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="raydb serve",
        description="Serve a database to Flight SQL clients (ADBC, JDBC) until Ctrl-C.",
        allow_abbrev=False,
    )
    parser.add_argument("database", nargs="?", help="a database directory; in memory without one")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at (%(default)s)"
    )
    parser.add_argument(
        "--port", type=int, default=_PORT, help="the port (%(default)s), 0 for any that is free"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="a certificate (chain) in PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key in PEM")
    parser.add_argument(
        "--token-file", metavar="FILE",
        help="tokens, one a line: a client sends one, as its bearer token or its password",
    )  # fmt: skip
    parser.add_argument(
        "--read-only", "--readonly", action="store_true", help="leave the database as it is"
    )
    parser.add_argument(
        "--external-access", action="store_true",
        help="let statements read and write files of this machine",
    )  # fmt: skip
    parser.add_argument(
        "--idle-minutes", type=float, default=_IDLE_MINUTES, metavar="MINUTES",
        help="close clients that were idle for so long (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--insecure", action="store_true",
        help="listen to other machines without TLS or tokens",
    )  # fmt: skip
    return parser
