"""What may go wrong between a client and an object store, each time at requests that are named.

| kind | what the client gets | what the store has done | `value` |
|---|---|---|---|
| lost reply | its connection is cut | everything | |
| late reply | the reply, late | everything | seconds |
| cut | its connection is cut | nothing | |
| reset | its connection is reset | nothing | |
| status | an error | nothing | 409, 412, 500, 503 |
| status after | an error | everything | 500, 503 |
| truncated | fewer bytes than the header says | everything | bytes that are missing |
| flipped | a byte of the body is another one | everything | the byte's place |
| older | the version before that, or none | (a read) | how many versions back |
| zombie | its connection is cut | everything, but later | how many requests later |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from store_server import Request, StoreServer

# The bucket of versions that are read again.
OLDER = "older-versions"

CODES = {
    409: "ConditionalRequestConflict",
    412: "PreconditionFailed",
    500: "InternalError",
    503: "SlowDown",
}


@dataclass
class Reply:
    """What a client gets. missing: bytes that do not come; cut: how the connection ends, if so."""

    status: int | None
    headers: list[tuple[str, str]] = field(default_factory=list)
    data: bytes = b""
    missing: int = 0
    cut: str = ""


@dataclass
class Fault:
    """A fault of the n-th requests, counted from 1, whose method and path are as it says.

    method, path: regular expressions. met: how many such requests there were.
    """

    kind: str
    method: str = ""
    path: str = ""
    at: Container[int] = (1,)
    value: Any = None
    met: int = 0

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind

    def is_due(self, request: Request) -> bool:
        """Count a request, and tell whether it is one of those."""
        if not re.fullmatch(self.method or ".*", request.method):
            return False
        if not re.search(self.path, request.path):
            return False
        self.met += 1
        return self.met in self.at

    def reply(self, server: StoreServer, environ: dict[str, Any], body: bytes) -> Reply:
        """Do what a request asks for, as far as the fault lets it."""
        return KINDS[self.kind](server, environ, body, self.value)


def chosen(seed: int, share: float, most: int = 100_000) -> frozenset[int]:
    """Return numbers of requests of which each is taken with one chance."""
    random = Random(f"requests {seed}")
    return frozenset(number for number in range(1, most) if random.random() < share)


Environ = dict[str, Any]


def lost_reply(server: StoreServer, environ: Environ, body: bytes, _: Any) -> Reply:
    server.perform(environ, body)
    return Reply(None, cut="end")


def late_reply(server: StoreServer, environ: Environ, body: bytes, seconds: float) -> Reply:
    reply = server.perform(environ, body)
    server.wait(seconds)
    return reply


def cut(server: StoreServer, environ: Environ, body: bytes, _: Any) -> Reply:
    return Reply(None, cut="end")


def reset(server: StoreServer, environ: Environ, body: bytes, _: Any) -> Reply:
    return Reply(None, cut="reset")


def status(server: StoreServer, environ: Environ, body: bytes, number: int) -> Reply:
    text = f"<Error><Code>{CODES[number]}</Code><Message>a fault of the test</Message></Error>"
    return Reply(number, [("Content-Type", "application/xml")], text.encode())


def status_after(server: StoreServer, environ: Environ, body: bytes, number: int) -> Reply:
    server.perform(environ, body)
    return status(server, environ, body, number)


def truncated(server: StoreServer, environ: Environ, body: bytes, missing: int | None) -> Reply:
    reply = server.perform(environ, body)
    reply.missing = min(1 if missing is None else missing, len(reply.data))
    reply.cut = "end"
    return reply


def flipped(server: StoreServer, environ: Environ, body: bytes, place: int | None) -> Reply:
    reply = server.perform(environ, body)
    if reply.data:
        changed = bytearray(reply.data)
        changed[(place or 0) % len(changed)] ^= 1
        reply.data = bytes(changed)
    return reply


def older(server: StoreServer, environ: Environ, body: bytes, back: int | None) -> Reply:
    """Answer a read as it would have been before the newest writes of that object."""
    known = server.versions.get(environ["PATH_INFO"], [])
    server.do("PUT", f"/{OLDER}")
    place = f"/{OLDER}/{len(known)}-{back or 1}{environ['PATH_INFO'].replace('/', '-')}"
    if len(known) > (back or 1):
        server.do("PUT", place, known[-1 - (back or 1)])
    environ |= {"PATH_INFO": place, "RAW_URI": place, "REQUEST_URI": place}
    return server.perform(environ, body)


def zombie(server: StoreServer, environ: Environ, body: bytes, requests: int | None) -> Reply:
    server.postpone(lambda: server.perform(environ, body), requests or 1)
    return Reply(None, cut="end")


KINDS: dict[str, Callable[[StoreServer, Environ, bytes, Any], Reply]] = {
    "lost reply": lost_reply,
    "late reply": late_reply,
    "cut": cut,
    "reset": reset,
    "status": status,
    "status after": status_after,
    "truncated": truncated,
    "flipped": flipped,
    "older": older,
    "zombie": zombie,
}
