"""Who speaks to the server: each client has a connection of its own, and what belongs to it.

A client is known by the cookie that the server gave it or, where it sends none, by the address of
its network connection. Handles of statements, transactions and results begin with the client's id,
which nobody can guess.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING

from raydb.engine.serve.failures import InterruptedStatementError
from raydb.engine.serve.statements import Prepared, run
from raydb.errors import Error, OperationalError, ProgrammingError
from raydb.running import Interrupts
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyarrow import flight

    from raydb.engine.api.connection import Connection
    from raydb.engine.serve.statements import Result, Values

# How often the server looks whose client has gone.
_LOOK_S = 0.1


@dataclass(slots=True)
class Transaction:
    """A transaction of a client. It begins with its first statement, and sees what is there."""

    connection: Connection
    is_own: bool  # whether the connection is for the transaction alone
    has_begun: bool = False


class Call:
    """What works for a client: a statement, or a stream of rows; over when the client says so.

    context: that of the request that waits for it, None between two requests. handle: that of its
    result.
    """

    def __init__(self) -> None:
        self.handle = b""
        self.interrupts = Interrupts()
        self.context: flight.ServerCallContext | None = None
        self.is_over = False

    def end(self) -> None:
        """End the work."""
        self.is_over = True
        self.interrupts.interrupt()


@dataclass(slots=True)
class Pending:
    """A result that the client has not fetched yet, and the work that it is."""

    result: Result
    call: Call
    since: float


class Client:
    """A client: its connection, and what it has begun. All but `call` is one request's at a time.

    id: begins its handles, and is its cookie.
    """

    def __init__(self, connection: Connection) -> None:
        self.id = secrets.token_urlsafe(16)
        self.connection = connection
        self.lock = threading.RLock()
        self.used = time.monotonic()
        self.requests = 0
        self.prepared: dict[bytes, Prepared] = {}
        self.pending: dict[bytes, Pending] = {}
        self._transactions: dict[bytes, Transaction] = {}
        self._numbers = count(1)

    def new_handle(self) -> bytes:
        """Return a handle for something of this client's."""
        return f"{self.id}/{next(self._numbers)}".encode()

    # -- transactions ---------------------------------------------------------------------------

    def begin(self) -> bytes:
        """Begin a transaction and return its handle.

        The first has the client's connection with its temporary tables, others beside it have one
        each.
        """
        with self.lock:
            is_taken = bool(self.transaction)
            own = fresh(self.connection) if is_taken else self.connection
            handle = self.new_handle()
            self._transactions[handle] = Transaction(own, is_own=is_taken)
            return handle

    def end(self, handle: bytes, *, commit: bool) -> None:
        """Commit a transaction, or undo it; in either case it is over."""
        with self.lock:
            transaction = self._transaction(handle)
            del self._transactions[handle]
        connection = transaction.connection
        try:
            if commit:
                connection.commit()
            else:
                connection.rollback()
        finally:
            if transaction.is_own:
                connection.close()
            elif transaction.has_begun:
                connection.rollback()

    def execute(self, statement: Prepared, sets: Sequence[Values] | None, call: Call) -> Result:
        """Run a prepared statement.

        Where its transaction has ended it goes on in the one that the client has begun since: ADBC
        prepares a text once, and executes it in many.
        """
        with self.lock:
            own = statement.transaction
            if own and own not in self._transactions:
                own = self.transaction
        return self.run(statement.text, sets, own, call)

    def run(
        self, text: str, sets: Sequence[Values] | None, transaction: bytes, call: Call
    ) -> Result:
        """Run a text with sets of parameters, within a transaction unless its handle is empty."""
        with self.lent(transaction) as connection, hearing(connection, call):
            return run(connection, text, sets)

    @contextmanager
    def lent(self, handle: bytes) -> Iterator[Connection]:
        """Yield the connection for a statement of a transaction, or of none."""
        if not handle:
            with self.lock:
                connection = fresh(self.connection) if self.transaction else self.connection
            try:
                yield connection
            finally:
                if connection is not self.connection:
                    connection.close()
            return
        with self.lock:
            transaction = self._transaction(handle)
            if not transaction.has_begun:
                transaction.connection.begin()
                transaction.has_begun = True
        yield transaction.connection

    @property
    def transaction(self) -> bytes:
        """The handle of the transaction that has the client's connection, b"" without one."""
        return next((key for key, each in self._transactions.items() if not each.is_own), b"")

    def _transaction(self, handle: bytes) -> Transaction:
        if handle not in self._transactions:
            raise ProgrammingError("the transaction does not exist: it has ended, or was too idle")
        return self._transactions[handle]

    # -- results --------------------------------------------------------------------------------

    def keep(self, result: Result, call: Call) -> bytes:
        """Keep a result until the client fetches it, and return its handle."""
        handle = call.handle = self.new_handle()
        with self.lock:
            self.pending[handle] = Pending(result, call, time.monotonic())
        return handle

    def fetch(self, handle: bytes) -> Pending:
        """Return a result, which can be fetched once."""
        with self.lock:
            if handle not in self.pending:
                raise ProgrammingError("the result does not exist: it was fetched, or was too old")
            return self.pending.pop(handle)

    def cancel(self, handle: bytes) -> bool:
        """End the work for a result, and tell whether it was there."""
        with self.lock:
            pending = self.pending.pop(handle, None)
        if pending is not None:
            pending.call.end()
        return pending is not None

    def forget_before(self, moment: float) -> None:
        """Forget the results that nobody has fetched since."""
        with self.lock:
            for handle, pending in list(self.pending.items()):
                if pending.since < moment:
                    del self.pending[handle]

    def statement(self, handle: bytes) -> Prepared:
        """Return a prepared statement."""
        with self.lock:
            if handle not in self.prepared:
                raise ProgrammingError("the prepared statement does not exist: it was closed")
            return self.prepared[handle]

    def close(self) -> None:
        """Undo what is not committed, and forget the client."""
        with self.lock:
            own = [each.connection for each in self._transactions.values()]
            calls = [each.call for each in self.pending.values()]
        for call in calls:
            call.end()
        for connection in {*own, self.connection}:
            connection.close()


class Clients:
    """The clients of a server.

    base: the connection that theirs are made of. idle_s: how long a client, or a result, may be
    left alone before it is closed.
    """

    def __init__(self, base: Connection, idle_s: float) -> None:
        self._base = base
        self._idle_s = idle_s
        self._clients: dict[str, Client] = {}
        self._ids: dict[str, str] = {}  # by the address of a network connection
        self._calls: set[Call] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look_after, name="raydb serve", daemon=True)
        self._watch.start()

    @contextmanager
    def request(
        self, context: flight.ServerCallContext, cookie: str | None
    ) -> Iterator[tuple[Client, Call]]:
        """Yield the client that a request is from, and what is to work for it."""
        client = self._client(context, cookie)
        call = Call()
        try:
            with self.waiting(call, context):
                yield client, call
        finally:
            with self._lock:
                client.requests -= 1
                client.used = time.monotonic()

    @contextmanager
    def waiting(self, call: Call, context: flight.ServerCallContext) -> Iterator[None]:
        """End what works for a request when the client has cancelled it or has gone."""
        with self._lock:
            call.context = context
            self._calls.add(call)
        try:
            yield
        finally:
            # Until here the request lives, and its context.
            with self._lock:
                call.context = None
                self._calls.discard(call)

    def find(self, handle: bytes) -> Client:
        """Return the client of a handle. Raises ProgrammingError where it has gone."""
        with self._lock:
            client = self._clients.get(handle.partition(b"/")[0].decode(errors="replace"))
            if client is None:
                raise ProgrammingError("the handle belongs to no client of this server any more")
            client.used = time.monotonic()
            return client

    def cancel(self, handle: bytes) -> bool:
        """End the work for a result, fetched or not, and tell whether there is any."""
        with self._lock:
            fetched = [call for call in self._calls if call.handle == handle]
        for call in fetched:
            call.end()
        return bool(fetched) or self.find(handle).cancel(handle)

    def close(self, client: Client) -> None:
        """Close a client; its next request begins as a new one."""
        with self._lock:
            self._clients.pop(client.id, None)
            self._ids = {peer: each for peer, each in self._ids.items() if each != client.id}
        client.close()

    def close_all(self) -> None:
        """End what runs, undo what is not committed, and let no client begin any more."""
        self._over.set()
        with self._lock:
            clients, calls = list(self._clients.values()), list(self._calls)
        for call in calls:
            call.end()
        for client in clients:
            self.close(client)
        self._watch.join()

    def _client(self, context: flight.ServerCallContext, cookie: str | None) -> Client:
        with self._lock:
            if self._over.is_set():
                raise OperationalError("the server is shutting down")
            peer = context.peer()
            client = self._clients.get(cookie or self._ids.get(peer, ""))
            if client is None:
                client = Client(fresh(self._base))
                self._clients[client.id] = client
                self._ids[peer] = client.id
                context.add_header("set-cookie", f"{COOKIE}={client.id}; HttpOnly")
            client.requests += 1
            return client

    def _look_after(self) -> None:
        """End what works for clients that have gone, and close those that are idle."""
        while not self._over.wait(_LOOK_S):
            now = time.monotonic()
            with self._lock:
                for call in self._calls:
                    if call.context is not None and call.context.is_cancelled():
                        call.end()
                idle = [
                    each
                    for each in self._clients.values()
                    if not each.requests and now - each.used > self._idle_s
                ]
                others = list(self._clients.values())
            for client in idle:
                with suppress(Error):
                    self.close(client)
            for client in others:
                client.forget_before(now - self._idle_s)


COOKIE = "arrow_flight_session_id"


def fresh(connection: Connection) -> Connection:
    """Return another connection, to which the server's own Python variables are no tables."""
    made = connection.duplicate()
    made._open_session().python.variables = {}  # noqa: SLF001
    return made


@contextmanager
def hearing(connection: Connection, call: Call) -> Iterator[None]:
    """Let what runs on a connection end with a call."""
    with connection._heard_by(call.interrupts):  # noqa: SLF001
        try:
            if call.is_over:
                raise OperationalError("the statement was interrupted")
            yield
        except OperationalError as error:
            if call.is_over:
                raise InterruptedStatementError(error.sentence) from None
            raise


def batches(result: Result, call: Call) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a result; they end with the call."""
    try:
        yield from result.batches
    except OperationalError as error:
        if call.is_over:
            raise InterruptedStatementError(error.sentence) from None
        raise
