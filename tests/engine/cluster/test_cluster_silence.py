"""A line that takes what is sent and says nothing: what was asked there is asked anew."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from contextlib import suppress

import pytest
from cluster_cases import STAR, in_a_thread

from raydb.engine.cluster import dask_engine
from raydb.engine.cluster import lines as module
from raydb.engine.cluster.lines import Lines, connect_line

WAIT_S = 20


def until(is_so):
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


class Wires:
    """What stands between a coordinator and its workers, and acknowledges all that is sent."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.count, self._silent, self._ports = 0, {}, []
        threading.Thread(target=self._accept, daemon=True).start()

    def connect(self, host, place, keys):
        """Connect to a worker as `connect_line` does."""
        told = json.loads(place)
        self._ports.append(told["port"])
        return connect_line(
            host, json.dumps(told | {"port": self.server.getsockname()[1]}).encode(), keys
        )

    def lose(self, what):
        """Lose the 'questions' or the 'answers' of the lines that there are, from now on."""
        self._silent = dict.fromkeys(range(self.count), what)

    def _accept(self):
        with suppress(OSError):
            while True:
                line, _ = self.server.accept()
                worker = socket.create_connection(("127.0.0.1", self._ports[-1]))
                for way in ((line, worker, "questions"), (worker, line, "answers")):
                    threading.Thread(target=self._pass_on, args=(*way, self.count)).start()
                self.count += 1

    def _pass_on(self, one, other, what, number):
        with suppress(OSError), other:
            while data := one.recv(1 << 16):
                if self._silent.get(number) != what:
                    other.sendall(data)


@pytest.fixture
def wires(monkeypatch):
    wires, one_by_one = Wires(), threading.Lock()

    def connect(*place):
        with one_by_one:
            return wires.connect(*place)

    monkeypatch.setattr(dask_engine, "connect_line", connect)
    yield wires
    wires.server.close()


@pytest.mark.parametrize("what", ["questions", "answers"])
def test_what_is_lost_on_the_way_is_asked_anew(wires, con, alone, what):
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    assert wires.count == 2
    wires.lose(what)
    con.execute("SET worker_timeout = 400")
    query = f"{STAR} LIMIT 3"
    thread, found = in_a_thread(lambda: con.execute(query).fetchall())
    thread.join(WAIT_S)
    con.interrupt()
    thread.join(WAIT_S)
    assert found == [alone.execute(query).fetchall()]
    engine = con._session.queries.cluster.engine
    assert set(engine._lines._refused) == set(engine.workers()), "Dask's connections carry them"


@pytest.fixture
def line():
    """Give both ends of a line by which something was asked, the answer, and the lines."""
    ours, others = socket.socketpair()
    lines = Lines(lambda _: ours, lambda *_: None)
    with ours, others:
        answer = lines.ask("here", b"12")
        assert module._receive(others) == b"12"
        yield others, answer, lines
        lines.close()


def test_an_answer_that_begins_to_come_is_not_lost(line):
    other, answer, lines = line
    other.sendall(struct.pack(">Q", 6) + b"abc")
    until(lambda: not lines._awaited)
    lines.lose(answer)
    other.sendall(b"def")
    assert answer.result(WAIT_S) == b"abcdef"
    assert not lines._refused


def test_an_answer_that_does_not_go_on_is_lost(line, monkeypatch):
    other, answer, _ = line
    monkeypatch.setattr(module, "_SILENT_S", 0.1)
    other.sendall(struct.pack(">Q", 6) + b"abc")
    with pytest.raises(TimeoutError):
        answer.result(WAIT_S)


def test_an_answer_is_lost_once(line):
    _, answer, lines = line
    until(lambda: lines._awaited)
    for _ in range(2):
        lines.lose(answer)
        with pytest.raises(OSError, match="the connection has ended"):
            answer.result(WAIT_S)
    assert list(lines._refused) == ["here"]
