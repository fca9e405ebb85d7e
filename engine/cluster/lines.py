"""Connections of our own beside Dask's, which carry questions, with a thread at each end.

    8 bytes     how many follow
    bytes       a question, or its answer

The thread that hears a question answers it, and no loop is between. The worker tells over Dask's
connection where it listens, a secret that is said first, and what it says to that: something else
that listens there, or that only takes what is sent, is no line. With TLS both ends have Dask's
keys here, too. A line has one question at a time, so there are as many as questions under way.

A line may be silent though what is sent there is acknowledged, as by a proxy that has lost the
other end. The worker then does not know of the question, or no more: who has heard that over Dask's
connection gives the answer up.
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
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from ssl import SSLContext

_SIZE = struct.Struct(">Q")
_SECRET_BYTES = 32

# How long a firewall that drops what is sent is waited for; a packet sent anew takes 1 s.
_CONNECT_S = 2.0

# How long either end waits for the other one at first.
_GREETING_S = 10.0

# How long a worker that cannot take a line, as its descriptors are used up, waits for better times.
_REST_S = 0.1

# Room that is made for what is announced; beyond, as much again as has come.
_ROOM_BYTES = 1 << 20

# A machine that has gone says nothing; it is noticed after a minute (the last one in ms).
_KEPT_ALIVE = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 60_000,
}

# What has begun to come goes on, or the line has ended without a word.
_SILENT_S = 60.0

# The kinds that need no descriptor of their own.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

# A question up to this is sent by who asks: the kernel takes it where nothing else is under way.
_SHORT_BYTES = 8192

# So long a worker is asked by Dask's connection where no line to it could be had.
_REFUSED_S = 60.0


def _send(line: socket.socket, data: bytes) -> None:
    line.sendall(_SIZE.pack(len(data)) + data)


def _receive(line: socket.socket) -> bytes:
    return _receive_rest(line, _receive_size(line))


def _receive_size(line: socket.socket) -> int:
    (size,) = _SIZE.unpack(_read(line, _SIZE.size))
    return int(size)


def _receive_rest(line: socket.socket, size: int) -> bytes:
    line.settimeout(_SILENT_S)
    data = _read(line, size)
    line.settimeout(None)
    return data


def _read(line: socket.socket, size: int) -> bytes:
    data = bytearray()
    while (start := len(data)) < size:
        data += bytes(min(size - start, max(start, _ROOM_BYTES)))
        _fill(line, memoryview(data)[start:])
    return bytes(data)


def _fill(line: socket.socket, rest: memoryview) -> None:
    while rest:
        count = line.recv_into(rest)
        if not count:
            raise ConnectionResetError("the connection has ended")
        rest = rest[count:]


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
        self._greeting = secrets.token_bytes(_SECRET_BYTES)
        self._is_closed = threading.Event()
        threading.Thread(target=self._accept, name="raydb lines", daemon=True).start()

    def place(self) -> bytes:
        """Return what a coordinator needs to know."""
        port = self._listening.getsockname()[1]
        said = {"secret": self._secret.hex(), "greeting": self._greeting.hex()}
        return json.dumps({"port": port, **said}).encode()

    def close(self) -> None:
        """Take no more lines; those that there are end with their coordinator."""
        self._is_closed.set()
        with suppress(OSError):  # It wakes who waits for one.
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while not self._is_closed.is_set():
            with suppress(OSError, RuntimeError):  # no descriptor is left, or no thread
                line, _ = self._listening.accept()
                self._begin(line)
                continue
            self._is_closed.wait(_REST_S)

    def _begin(self, line: socket.socket) -> None:
        try:
            threading.Thread(target=self._serve, args=[line], daemon=True).start()
        except RuntimeError:
            line.close()
            raise

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
            line.sendall(self._greeting)
            line.settimeout(None)
            while True:
                question = _receive(line)
                _send(line, self._answer(question))


def connect_line(host: str, place: bytes, keys: SSLContext | None) -> socket.socket:
    """Return the coordinator's end of a line; OSError where there is none, or no such worker."""
    told = json.loads(place)
    line = socket.create_connection((host, told["port"]), _CONNECT_S)
    try:
        line.settimeout(_GREETING_S)
        _set_up(line)
        if keys is not None:
            line = keys.wrap_socket(line)
        line.sendall(bytes.fromhex(told["secret"]))
        if not hmac.compare_digest(_read(line, _SECRET_BYTES), bytes.fromhex(told["greeting"])):
            raise ConnectionRefusedError(f"another program listens at {host}:{told['port']}")
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
        # By which line something was asked, where nothing of the answer has come.
        self._awaited: dict[Future[bytes], _Line] = {}
        self._is_closed = False

    def ask(self, worker: str, question: bytes) -> Future[bytes]:
        """Ask a worker; the future fails with OSError where it is lost."""
        answer: Future[bytes] = Future()
        if self._is_refused(worker):
            self.ask_otherwise(worker, question, answer)
        else:
            line = self._free_line(worker)
            try:
                line.ask(question, answer)
            except BaseException:
                line.give_up()
                raise
        return answer

    @contextmanager
    def awaiting(self, answer: Future[bytes], line: _Line) -> Iterator[None]:
        """Have an answer that may be given up: its question is sent, and nothing of it has come."""
        self._awaited[answer] = line
        try:
            yield
        finally:
            del self._awaited[answer]

    def lose(self, answer: Future[bytes]) -> None:
        """Let an answer fail with OSError whose question is sent and of which nothing has come.

        The worker is asked without lines for a while.
        """
        line = self._awaited.get(answer)
        if line is not None:
            self.refused(line.worker)
            line.break_off()

    def _is_refused(self, worker: str) -> bool:
        """Tell whether no line can be had; after a while one is tried that nobody waits for."""
        now = time.monotonic()
        with self._turn:
            since = self._refused.get(worker)
            is_tried = since is not None and now - since >= _REFUSED_S
            if is_tried:
                self._refused[worker] = now
        if is_tried:
            _Line(self, worker, is_asked=False)
        return since is not None

    def _free_line(self, worker: str) -> _Line:
        with self._turn:
            free = self._free.get(worker, [])
            while free:
                # It stays there until then, for an interrupt may come.
                if free[-1].is_open():
                    return free.pop()
                free.pop().close()
        return _Line(self, worker)

    def give_back(self, line: _Line) -> None:
        """Have a line for the next question, unless there will be none."""
        with self._turn:
            if self._is_closed:
                line.close()
            else:
                self._free.setdefault(line.worker, []).append(line)

    def accepted(self, line: _Line) -> None:
        """Have a line that was tried where none could be had before."""
        self.give_back(line)
        with self._turn:
            self._refused.pop(line.worker, None)

    def refused(self, worker: str) -> None:
        """Remember that no line could be had."""
        with self._turn:
            self._refused[worker] = time.monotonic()

    def keep(self, workers: Container[str]) -> None:
        """Close what leads to others, as far as nobody waits for an answer there."""
        with self._turn:
            gone = [each for each in self._free if each not in workers]
            for line in [line for each in gone for line in self._free.pop(each)]:
                line.close()

    def close(self) -> None:
        """Close all lines, those by which something is asked once it is answered."""
        with self._turn:
            self._is_closed = True
        self.keep(())


class _Line:
    """A line, and a thread that asks by it one question after another.

    is_asked: whether the first question follows, or it is only for later ones.
    """

    def __init__(self, lines: Lines, worker: str, *, is_asked: bool = True) -> None:
        self.worker = worker
        self._lines, self._is_asked = lines, is_asked
        self._line: socket.socket | None = None
        self._asked: SimpleQueue[tuple[bytes, Future[bytes], bool] | None] = SimpleQueue()
        try:
            threading.Thread(target=self._work, name="raydb line", daemon=True).start()
        except BaseException:
            self.close()
            raise

    def ask(self, question: bytes, answer: Future[bytes]) -> None:
        """Ask by a line that has no question.

        The thread would wait for a processor, which the worker that was asked before may have.
        """
        is_sent = False
        if self._line is not None and len(question) <= _SHORT_BYTES:
            with suppress(OSError):  # The thread meets it again.
                _send(self._line, question)
                is_sent = True
        self._asked.put((question, answer, is_sent))

    def close(self) -> None:
        """End it where nothing is asked."""
        self._asked.put(None)

    def break_off(self) -> None:
        """End it where something is asked, which fails."""
        if self._line is not None:
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)

    def give_up(self) -> None:
        """End it after an interrupt while it was asked: its thread may wait for the question."""
        self.break_off()
        self.close()

    def is_open(self) -> bool:
        """Tell whether the worker is there, of a line by which nothing is asked."""
        if self._line is None or self._line.fileno() < 0:
            return False
        with _Selector() as waiting:
            waiting.register(self._line, selectors.EVENT_READ)
            return not waiting.select(0)

    def _work(self) -> None:
        try:
            self._line = line = self._lines.connect(self.worker)
        except Exception:  # noqa: BLE001  (what is asked otherwise tells what is wrong)
            self._lines.refused(self.worker)
            if self._is_asked and (asked := self._asked.get()) is not None:
                self._lines.ask_otherwise(self.worker, *asked[:2])
            return
        if not self._is_asked:
            self._lines.accepted(self)
        with line:
            while (asked := self._asked.get()) is not None:
                question, answer, is_sent = asked
                try:
                    if not is_sent:
                        _send(line, question)
                    with self._lines.awaiting(answer, self):
                        size = _receive_size(line)
                    data = _receive_rest(line, size)
                except Exception as error:  # noqa: BLE001  (whoever waits for the answer raises it)
                    answer.set_exception(error)
                    return
                self._lines.give_back(self)
                answer.set_result(data)
                del asked, answer, data  # or an answer stays until the next one
