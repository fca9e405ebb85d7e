"""Connections of our own beside Dask's, which carry questions, with a thread at each end.

    8 bytes     how many follow
    bytes       a question, or its answer

The thread that hears a question answers it, and no loop is between. The worker tells over Dask's
connection where it listens, and a secret that is said first; with TLS both ends have Dask's keys
here, too. A line has one question at a time, so there are as many as questions under way.
"""

from __future__ import annotations

import hmac
import json
import secrets
import selectors
import socket
import struct
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from ssl import SSLContext

_SIZE = struct.Struct(">Q")
_SECRET_BYTES = 32

# How long either end waits for the other one at first.
_GREETING_S = 10.0

# A machine that has gone says nothing; it is noticed after a minute.
_KEPT_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}

# So long a worker is asked by Dask's connection where no line to it could be had.
_REFUSED_S = 60.0


def _send(line: socket.socket, data: bytes) -> None:
    line.sendall(_SIZE.pack(len(data)) + data)


def _receive(line: socket.socket) -> bytes:
    (size,) = _SIZE.unpack(_read(line, _SIZE.size))
    return _read(line, size)


def _read(line: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = line.recv_into(rest)
        if not count:
            raise ConnectionResetError("the connection has ended")
        rest = rest[count:]
    return bytes(data)


def _set_up(line: socket.socket) -> None:
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEPT_ALIVE.items():
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Listener:
    """The worker's end. host: where Dask's worker listens; answer: what answers a question."""

    def __init__(
        self, host: str, keys: SSLContext | None, answer: Callable[[bytes], bytes]
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listening = socket.create_server((host, 0), family=family)
        self._keys, self._answer = keys, answer
        self._secret = secrets.token_bytes(_SECRET_BYTES)
        threading.Thread(target=self._accept, name="raydb lines", daemon=True).start()

    def place(self) -> bytes:
        """Return what a coordinator needs to know."""
        port = self._listening.getsockname()[1]
        return json.dumps({"port": port, "secret": self._secret.hex()}).encode()

    def close(self) -> None:
        """Take no more lines; those that there are end with their coordinator."""
        with suppress(OSError):  # It wakes who waits for one.
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[line], daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with suppress(OSError), line:
            line.settimeout(_GREETING_S)
            _set_up(line)
            if self._keys is None:
                self._talk(line)
            else:
                with self._keys.wrap_socket(line, server_side=True) as secured:
                    self._talk(secured)

    def _talk(self, line: socket.socket) -> None:
        if hmac.compare_digest(_read(line, _SECRET_BYTES), self._secret):
            line.settimeout(None)
            while True:
                question = _receive(line)
                _send(line, self._answer(question))


def connect_line(host: str, place: bytes, keys: SSLContext | None) -> socket.socket:
    """Return the coordinator's end of a line."""
    told = json.loads(place)
    line = socket.create_connection((host, told["port"]), _GREETING_S)
    try:
        _set_up(line)
        if keys is not None:
            line = keys.wrap_socket(line)
        line.sendall(bytes.fromhex(told["secret"]))
        line.settimeout(None)
    except BaseException:
        line.close()
        raise
    return line


class Lines:
    """The lines of a coordinator.

    connect: to a worker. ask_otherwise: asks it without a line, where none can be had.
    """

    def __init__(
        self,
        connect: Callable[[str], socket.socket],
        ask_otherwise: Callable[[str, bytes, Future[bytes]], None],
    ) -> None:
        self.connect, self.ask_otherwise = connect, ask_otherwise
        self._turn = threading.Lock()
        self._free: dict[str, list[_Line]] = {}
        self._refused: dict[str, float] = {}

    def ask(self, worker: str, question: bytes) -> Future[bytes]:
        """Ask a worker; the future fails with OSError where it is lost."""
        answer: Future[bytes] = Future()
        if time.monotonic() - self._refused.get(worker, -_REFUSED_S) < _REFUSED_S:
            self.ask_otherwise(worker, question, answer)
        else:
            self._free_line(worker).ask(question, answer)
        return answer

    def _free_line(self, worker: str) -> _Line:
        with self._turn:
            free = self._free.get(worker, [])
            while free:
                line = free.pop()
                if line.is_open():
                    return line
                line.close()
        return _Line(self, worker)

    def give_back(self, line: _Line) -> None:
        """Have a line for the next question."""
        with self._turn:
            self._free.setdefault(line.worker, []).append(line)

    def refused(self, worker: str) -> None:
        """Remember that no line could be had."""
        self._refused[worker] = time.monotonic()

    def keep(self, workers: Container[str]) -> None:
        """Close what leads to others, as far as nobody waits for an answer there."""
        with self._turn:
            gone = [each for each in self._free if each not in workers]
            for line in [line for each in gone for line in self._free.pop(each)]:
                line.close()


class _Line:
    """A line, and a thread that asks by it one question after another."""

    def __init__(self, lines: Lines, worker: str) -> None:
        self.worker = worker
        self._lines = lines
        self._line: socket.socket | None = None
        self._asked: SimpleQueue[tuple[bytes, Future[bytes]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="raydb line", daemon=True).start()

    def ask(self, question: bytes, answer: Future[bytes]) -> None:
        """Ask by a line that has no question."""
        self._asked.put((question, answer))

    def close(self) -> None:
        """End it where nothing is asked."""
        self._asked.put(None)

    def is_open(self) -> bool:
        """Tell whether the worker is there, of a line by which nothing is asked."""
        if self._line is None:
            return False
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._line, selectors.EVENT_READ)
            return not waiting.select(0)

    def _work(self) -> None:
        try:
            self._line = line = self._lines.connect(self.worker)
        except Exception:  # noqa: BLE001  (what is asked otherwise tells what is wrong)
            self._lines.refused(self.worker)
            if (asked := self._asked.get()) is not None:
                self._lines.ask_otherwise(self.worker, *asked)
            return
        with line:
            while (asked := self._asked.get()) is not None:
                question, answer = asked
                try:
                    _send(line, question)
                    data = _receive(line)
                except Exception as error:  # noqa: BLE001  (whoever waits for the answer raises it)
                    answer.set_exception(error)
                    return
                self._lines.give_back(self)
                answer.set_result(data)
                del asked, answer, data  # or an answer stays until the next one
