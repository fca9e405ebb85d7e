"""Lines carry questions, whoever else knocks at their port; without them Dask's connections do."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from concurrent.futures import Future
from contextlib import suppress

import pytest
from cluster_cases import STAR, in_a_thread
from distributed import Client, LocalCluster

import raydb
from raydb.engine.cluster import lines as module
from raydb.engine.cluster.cluster import Cluster
from raydb.engine.cluster.lines import Lines, Listener, connect_line
from raydb.engine.cluster.worker import Worker
from raydb.storage.durable.database_directory import DatabaseDirectory

WAIT_S = 30


def until(is_so):
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


class Ends:
    """A worker's end that answers backwards, and what a coordinator opens to it."""

    def __init__(self):
        self.opened, self.otherwise = [], []
        self.listener = Listener("127.0.0.1", None, lambda question: question[::-1])
        self.lines = Lines(self._connect, self._ask_otherwise)

    def _connect(self, worker):
        if worker == "closed":
            raise OSError("no way there")
        self.opened.append(connect_line("127.0.0.1", self.listener.place(), None))
        return self.opened[-1]

    def _ask_otherwise(self, worker, question, answer):
        self.otherwise.append(worker)
        answer.set_result(question)

    def ask(self, question, worker="open"):
        return self.lines.ask(worker, question).result(WAIT_S)


@pytest.fixture
def ends():
    ends = Ends()
    yield ends
    ends.lines.keep(())
    ends.listener.close()


@pytest.mark.parametrize("size", [0, 1, 5_000, 3_000_000])
def test_questions_of_any_size_take_one_line(ends, size):
    for number in range(3):
        question = bytes([number]) + b"x" * size
        assert ends.ask(question) == question[::-1]
    assert len(ends.opened) == 1
    assert not ends.otherwise


def test_questions_at_once_have_lines_of_their_own(ends):
    together = threading.Barrier(4)
    ends.listener._answer = lambda question: (together.wait(WAIT_S), question)[1]
    for _ in range(2):
        answers = [ends.lines.ask("open", b"%d" % number) for number in range(4)]
        assert [each.result(WAIT_S) for each in answers] == [b"0", b"1", b"2", b"3"]
    assert len(ends.opened) == 4


@pytest.mark.parametrize("is_sent", [False, True])
def test_an_interrupt_while_a_line_is_asked_ends_it(ends, monkeypatch, is_sent):
    assert ends.ask(b"12") == b"21"
    (line,) = ends.lines._free["open"]

    def interrupted(*asked):
        if is_sent:
            put(*asked)
        raise KeyboardInterrupt

    put = line.ask
    monkeypatch.setattr(line, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ends.lines.ask("open", b"34")
    until(lambda: ends.opened[0].fileno() < 0)
    assert ends.ask(b"56") == b"65"
    assert len(ends.opened) == 2


def test_without_a_line_workers_are_asked_otherwise(ends, monkeypatch):
    assert [ends.ask(b"1", "closed"), ends.ask(b"2", "closed")] == [b"1", b"2"]
    assert ends.otherwise == ["closed", "closed"]
    assert list(ends.lines._refused) == ["closed"]
    monkeypatch.setattr(module, "_REFUSED_S", 0)
    going = threading.Event()
    ends.lines.connect = lambda _: (going.wait(WAIT_S), ends._connect("open"))[1]
    assert ends.ask(b"12", "closed") == b"12", "nobody waits for the trial"
    going.set()
    until(lambda: not ends.lines._refused)
    assert ends.ask(b"12", "closed") == b"21"
    assert len(ends.opened) == 1


def test_a_line_that_ended_is_not_asked(ends):
    assert ends.ask(b"12") == b"21"
    ends.opened[0].shutdown(socket.SHUT_RDWR)
    assert ends.ask(b"12") == b"21"
    assert len(ends.opened) == 2


def test_who_waits_hears_that_a_line_has_ended(ends):
    ends.ask(b"12")

    def fail(_):
        raise OSError

    ends.listener._answer = fail
    with pytest.raises(OSError, match="the connection has ended"):
        ends.ask(b"12")


@pytest.mark.parametrize("said", [b"x" * 32, b"x" * 100_000])
def test_strangers_are_not_answered(ends, said):
    port = json.loads(ends.listener.place())["port"]
    # What is not read ends the connection.
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as it, suppress(ConnectionError):
        it.sendall(said)
        assert it.recv(100) == b""
    assert ends.ask(b"12") == b"21"


@pytest.mark.parametrize("said", [b"", b"x" * 32, struct.pack(">Q", 1 << 40) + b"x" * 24, None])
def test_another_program_at_the_port_is_no_line(ends, monkeypatch, said):
    monkeypatch.setattr(module, "_GREETING_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = json.loads(ends.listener.place()) | {"port": other.getsockname()[1]}

        def connect(_):
            line, heard = in_a_thread(
                lambda: connect_line("127.0.0.1", json.dumps(place).encode(), None)
            )
            with other.accept()[0] as it:
                if said is not None:  # Otherwise it takes all and says nothing.
                    it.sendall(said)
                    it.shutdown(socket.SHUT_WR)
                line.join(WAIT_S)
            raise heard[0]

        ends.lines.connect = connect
        assert ends.ask(b"12") == b"12"
    assert ends.otherwise == ["open"]


def test_room_is_not_made_for_what_is_only_announced():
    ours, others = socket.socketpair()
    with ours, others:
        others.sendall(struct.pack(">Q", 1 << 50) + b"x" * 100)
        others.close()
        with pytest.raises(ConnectionResetError):
            module._receive(ours)


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), RuntimeError("no thread")])
def test_a_listener_without_descriptors_or_threads_goes_on(ends, monkeypatch, error):
    begin, failed = ends.listener._begin, []

    def fail(line):
        if len(failed) < 3:
            failed.append(line.close())
            raise error
        begin(line)

    monkeypatch.setattr(ends.listener, "_begin", fail)
    assert [ends.ask(b"12") for _ in range(3)] == [b"12"] * 3
    for _ in range(2):
        with suppress(OSError):
            ends._connect("open")
    ends.lines._refused.clear()
    assert ends.ask(b"12") == b"21"


def test_a_line_that_is_asked_at_the_end_is_closed(ends):
    going = threading.Event()
    ends.listener._answer = lambda question: (going.wait(WAIT_S), question)[1]
    answer = ends.lines.ask("open", b"12")
    until(lambda: ends.opened)
    ends.lines.close()
    going.set()
    assert answer.result(WAIT_S) == b"12"
    until(lambda: ends.opened[0].fileno() < 0)


@pytest.mark.long
def test_workers_are_asked_by_lines_with_tls(con, alone):
    engine = con._session.queries.cluster.engine
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    until(lambda: sum(map(len, engine._lines._free.values())) == 2)
    assert {each._line.version() for (each,) in engine._lines._free.values()} == {"TLSv1.3"}
    assert not engine._lines._refused


@pytest.mark.long
def test_closed_ports_change_no_answer(con, alone, monkeypatch):
    engine = con._session.queries.cluster.engine

    def refuse(_):
        raise ConnectionRefusedError

    monkeypatch.setattr(engine._lines, "connect", refuse)
    monkeypatch.setattr(engine._lines, "_free", {})
    for _ in range(2):
        assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    assert set(engine._lines._refused) == set(engine.workers())


@pytest.mark.long
def test_workers_within_a_process_open_no_port(path, alone):
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as inside,
        Client(inside, set_as_default=False) as client,
        raydb.connect(path, read_only=True, cluster=client) as con,
    ):
        assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
        engine = con._session.queries.cluster.engine
        assert list(engine._lines._refused) == list(engine.workers())


@pytest.mark.long
def test_tls_refuses_whom_it_does_not_know(con):
    engine = con._session.queries.cluster.engine
    worker = next(iter(engine.workers()))
    place = engine._run(engine._client.rpc(worker).raydb_line()).result(WAIT_S)
    with pytest.raises(ConnectionError):
        connect_line("127.0.0.1", place, None)


class Beside:
    """A cluster of one worker in this process, which counts how often it looks for a commit."""

    is_local = True

    def __init__(self, monkeypatch):
        self.worker, self.looks = Worker(), 0
        refresh = DatabaseDirectory.refresh

        def counted(directory):
            self.looks += self.asks
            return refresh(directory)

        self.asks = False
        monkeypatch.setattr(DatabaseDirectory, "refresh", counted)

    def workers(self, *, anew=False):
        return {"here": "0"}

    def call(self, questions):
        answer = Future()
        self.asks = True
        answer.set_result(self.worker.answer(questions["here"]))
        self.asks = False
        return {"here": answer}

    def close(self):
        self.worker.close()


def test_a_commit_that_is_known_is_not_looked_for(tmp_path, monkeypatch):
    path = str(tmp_path / "known.raydb")
    with raydb.connect(path) as writer, raydb.connect(path) as con:
        writer.execute("CREATE TABLE t (a INTEGER)")
        writer.execute("INSERT INTO t SELECT range FROM range(150000)")
        engine = Beside(monkeypatch)
        con._session.queries.cluster = Cluster(engine, path)

        def ask():
            engine.looks = 0
            cursor = con.execute("SELECT count(*), sum(a) FROM t WHERE a >= 0")
            assert not cursor.messages
            return cursor.fetchall()[0], engine.looks

        assert ask() == ((150000, 11249925000), 0), "it has just been opened"
        assert ask() == ((150000, 11249925000), 0)
        writer.execute("INSERT INTO t VALUES (1)")
        assert ask() == ((150001, 11249925001), 1)
        assert ask() == ((150001, 11249925001), 0)
        writer.execute("CHECKPOINT")
        assert ask() == ((150001, 11249925001), 1)
        writer.execute("DELETE FROM t WHERE a = 1")
        assert ask() == ((149999, 11249924999), 1)
        assert ask() == ((149999, 11249924999), 0)


@pytest.mark.long
def test_a_client_that_is_closed_is_an_error(workers, path, alone):
    with Client(workers.client.scheduler.address, security=workers.client.security) as client:
        con = raydb.connect(path, read_only=True, cluster=client, config={"segment_rows": 50_000})
        assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    con._session.queries.cluster.engine._asked = float("-inf")
    for query in (STAR, "SELECT * FROM workers()"):
        with pytest.raises(raydb.OperationalError, match="the dask Client of the connection is"):
            con.execute(query)
    con.close()
